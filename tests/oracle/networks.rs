//! Expected times of messages, computed by hand, on machines with a network of switches and links. A byte takes 1 ns.

use crate::support::Do::{Compute, Recv, Send};
use crate::support::{Do, clocks, run_as, run_with};
use mcpsim::config::{ConfigError, Document, Override};
use mcpsim::engine::RunOptions;
use mcpsim::platform::{Level, Platform, Shape};
use mcpsim::profile::{Change, LinkTraffic, SharedKind, WhatIf};
use mcpsim::units::SimSpan;

/// Platform file of eight nodes with one core.
const MACHINE: &str = r#"
name = "network"
nct = [8, 1, 1]
[core]
flops = "1 Gflop/s"
instructions = "1 Ginstr/s"
memory_bandwidth = "1 GB/s"
[intra_cmp]
latency = "10 ns"
bandwidth = "1 GB/s"
[inter_cmp]
latency = "100 ns"
bandwidth = "1 GB/s"
[inter_node]
latency = "1 us"
bandwidth = "1 GB/s"
[network]
"#;

const TREE: &str =
    "topology = \"fat_tree\"\ndown = [2, 2, 2]\nlatency = [\"100 ns\", \"250 ns\"]\nswitch_latency = \"50 ns\"";

fn load(network: &str, settings: &[&str]) -> Result<Platform, ConfigError> {
    let settings: Vec<Override> = settings.iter().map(|setting| Override::parse(setting).unwrap()).collect();
    Platform::load(Document::parse("network.toml", &format!("{MACHINE}{network}\n")).unwrap(), &settings)
}

fn machine(network: &str, settings: &[&str]) -> Platform {
    load(network, settings).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns a machine with the contention model `fair` between nodes.
fn fair(network: &str) -> Platform {
    machine(network, &["platform.inter_node.contention=fair"])
}

/// Creates scripts of messages of `bytes` bytes between pairs of nodes.
fn scripts(pairs: &[(usize, usize)], bytes: u64) -> Vec<Vec<Do>> {
    let mut scripts: Vec<Vec<Do>> = vec![Vec::new(); 8];
    for (from, to) in pairs {
        scripts[*from].push(Send(*to as u32, bytes));
        scripts[*to].push(Recv(*from as u32));
    }
    scripts
}

/// Returns the time in ns at which a message of 50 bytes arrives.
fn arrival(platform: &Platform, from: usize, to: usize) -> u64 {
    clocks(platform, &scripts(&[(from, to)], 50))[to]
}

/// Returns the times in ms at which messages of 100 MB arrive. The number of workers does not change the times.
fn milliseconds(platform: &Platform, pairs: &[(usize, usize)]) -> Vec<u64> {
    let scripts = scripts(pairs, 100_000_000);
    let (outcome, _) = run_with(platform, &scripts, 1).unwrap();
    for workers in [2, 3, 8] {
        let (other, _) = run_with(platform, &scripts, workers).unwrap();
        assert_eq!(outcome.per_rank, other.per_rank, "{workers} workers");
    }
    let arrived = |to: usize| (outcome.per_rank[to].clock.as_ps() + 500_000_000) / 1_000_000_000;
    pairs.iter().map(|(_, to)| arrived(*to)).collect()
}

#[test]
fn each_link_and_switch_adds_its_latency_under_every_contention_model() {
    for contention in ["ideal", "share", "queue", "fair"] {
        let setting = format!("platform.inter_node.contention={contention}");
        let platform = machine(TREE, &[&setting]);
        // Nodes 0 and 1 have the same leaf switch. A message to node 2 passes two links of 100 ns and two more switches;
        // a message to node 4 also passes two links of 250 ns and two more switches.
        assert_eq!([1, 2, 3, 4, 7].map(|to| arrival(&platform, 0, to)), [1050, 1350, 1350, 1950, 1950], "{contention}");
    }
    let half = machine(TREE, &["platform.inter_node.latency_factor=0.5"]);
    assert_eq!(arrival(&half, 0, 4), 500 + 450 + 50);
}

#[test]
fn control_messages_of_a_rendezvous_travel_over_the_same_links() {
    let platform = machine(TREE, &["platform.inter_node.eager_threshold=10"]);
    assert_eq!([1, 4].map(|to| arrival(&platform, 0, to)), [3 * 1000 + 50, 3 * 1900 + 50]);
}

#[test]
fn neighbours_of_a_torus_have_the_costs_between_nodes_and_each_further_link_adds_its_latency() {
    let platform = machine("topology = \"torus\"\ndimensions = [4, 2]\nlatency = \"100 ns\"", &[]);
    // Nodes 1, 3 and 4 are neighbours of node 0; nodes 2, 5, 7 are two links away, and node 6 is three links away.
    assert_eq!([1, 3, 4].map(|to| arrival(&platform, 0, to)), [1050; 3]);
    assert_eq!([2, 5, 7, 6].map(|to| arrival(&platform, 0, to)), [1150, 1150, 1150, 1250]);
    let platform = machine("topology = \"mesh\"\ndimensions = [4, 2]\nlatency = \"100 ns\"", &[]);
    assert_eq!([1, 3, 7].map(|to| arrival(&platform, 0, to)), [1050, 1250, 1350]);
}

#[test]
fn transfers_share_a_link_and_receivers_with_other_parents_do_not() {
    let tree = |up: u32, bandwidth: &str| {
        fair(&format!("topology = \"fat_tree\"\ndown = [4, 2]\nup = [{up}]\nbandwidth = \"{bandwidth}\""))
    };
    // Each node sends 100 MB at 1 GB/s. One link of 1 GB/s carries two messages in 200 ms and three in 300 ms.
    assert_eq!(milliseconds(&tree(1, "1 GB/s"), &[(0, 4), (1, 5)]), [200, 200]);
    assert_eq!(milliseconds(&tree(1, "1 GB/s"), &[(0, 4), (1, 5), (2, 6)]), [300, 300, 300]);
    assert_eq!(milliseconds(&tree(1, "1500 MB/s"), &[(0, 4), (1, 5), (2, 6)]), [200, 200, 200]);
    // The two directions of a link are independent, and a message within a leaf switch passes no link.
    assert_eq!(milliseconds(&tree(1, "1 GB/s"), &[(0, 4), (5, 1), (2, 3)]), [100, 100, 100]);
    // With two parents, receivers 4 and 6 have the parent 0, and receiver 5 has the parent 1.
    assert_eq!(milliseconds(&tree(2, "1 GB/s"), &[(0, 4), (1, 5)]), [100, 100]);
    assert_eq!(milliseconds(&tree(2, "1 GB/s"), &[(0, 4), (1, 6)]), [200, 200]);
}

#[test]
fn a_taper_of_two_doubles_the_time_of_a_permutation() {
    let tree = |up: u32| fair(&format!("topology = \"fat_tree\"\ndown = [4, 2]\nup = [{up}]\nbandwidth = \"1 GB/s\""));
    let pairs = [(0, 4), (1, 5), (2, 6), (3, 7)];
    assert_eq!([4, 2, 1].map(|up| milliseconds(&tree(up), &pairs)[0]), [100, 200, 400]);
    // Two parallel links to one parent carry as much as two parents.
    let parallel = "topology = \"fat_tree\"\ndown = [4, 2]\nparallel = [2]\nbandwidth = \"1 GB/s\"";
    assert_eq!(milliseconds(&fair(parallel), &pairs), [200; 4]);
}

#[test]
fn a_node_gets_the_rate_that_two_links_of_equal_level_leave() {
    let tree = fair("topology = \"fat_tree\"\ndown = [4, 2]\nbandwidth = \"1 GB/s\"");
    // Four messages share the link up and the link down, 250 MB/s each. The message to node 1 gets 750 MB/s.
    assert_eq!(milliseconds(&tree, &[(0, 4), (1, 5), (2, 6), (3, 7), (0, 1)]), [400, 400, 400, 400, 133]);
}

#[test]
fn a_torus_shares_the_links_that_paths_have_in_common() {
    let ring = fair("topology = \"torus\"\ndimensions = [8]\nbandwidth = \"1 GB/s\"");
    // The message from node 0 to node 2 and that from node 1 to node 3 have the link from 1 to 2 in common.
    assert_eq!(milliseconds(&ring, &[(0, 2), (1, 3), (4, 5)]), [200, 200, 100]);
    // Node 0 reaches node 6 downwards.
    assert_eq!(milliseconds(&ring, &[(0, 6), (1, 3)]), [100, 100]);
}

#[test]
fn valiant_paths_avoid_the_only_link_between_two_groups() {
    let dragonfly = |routing: &str, seed: u32| {
        let routing = format!("routing = \"{routing}\"\nseed = {seed}\nlatency = \"100 ns\"\nbandwidth = \"1 GB/s\"");
        fair(&format!("topology = \"dragonfly\"\ngroups = 4\nswitches = 1\nnodes_per_switch = 2\n{routing}"))
    };
    // Both nodes of group 0 send to group 1, over the link between the groups.
    let pairs = [(0, 2), (1, 3)];
    let minimal = dragonfly("minimal", 1);
    assert_eq!(milliseconds(&minimal, &pairs), [200, 200]);
    assert_eq!(arrival(&minimal, 0, 2), 1150);
    // Valiant paths pass group 2 or group 3. The messages share links only if both pass the same group.
    let mut found = [0, 0];
    for seed in 0..8 {
        let valiant = dragonfly("valiant", seed);
        assert_eq!(arrival(&valiant, 0, 2), 1250);
        let network = valiant.places.network.as_ref().unwrap();
        let same = network.path(0, 2)[0] == network.path(1, 3)[0];
        assert_eq!(milliseconds(&valiant, &pairs), [if same { 200 } else { 100 }; 2], "seed {seed}");
        found[usize::from(same)] += 1;
    }
    assert!(found.iter().all(|count| *count > 0), "{found:?}");
}

#[test]
fn an_adaptive_routing_avoids_a_loaded_link_from_the_next_slot_on() {
    let dragonfly = |routing: &str| {
        let links = "latency = \"100 ns\"\nbandwidth = \"1 GB/s\"";
        let shape = "groups = 4\nswitches = 1\nnodes_per_switch = 4";
        fair(&format!("topology = \"dragonfly\"\n{shape}\nrouting = \"{routing}\"\n{links}"))
    };
    // Nodes 0 to 2 send 100 MB each over the link to group 1. Node 3 starts 1 ms later. Times are in units of 100 ns.
    let run = |routing: &str, workers: u32| {
        let mut all = scripts(&[(0, 4), (1, 5), (2, 6)], 100_000_000);
        all[3] = vec![Compute(1_000_000), Send(7, 100_000_000)];
        all[7] = vec![Recv(3)];
        let (outcome, _) = run_with(&dragonfly(routing), &all, workers).unwrap();
        [4, 7].map(|rank: usize| outcome.per_rank[rank].clock.as_ps() / 100_000)
    };
    let near = |found: [u64; 2], expected: [u64; 2]| {
        assert!(found.iter().zip(expected).all(|(found, expected)| found.abs_diff(expected) < 100), "{found:?}");
    };
    for workers in [1, 2, 4] {
        // Three transfers share the link for 1 ms, then four. The last third of a MB of node 3 has the link alone.
        near(run("minimal", workers), [3_996_667, 4_000_000]);
        // The share of the link is a third. Both links over a third group are free: 1/2 > 1/3.
        near(run("adaptive", workers), [3_000_000, 1_010_000]);
    }
    // Messages that start together take the shortest path.
    assert_eq!(milliseconds(&dragonfly("adaptive"), &[(0, 4), (1, 5)]), [200, 200]);
}

#[test]
fn adapters_on_two_planes_do_not_share_links() {
    let network = |planes: u32| {
        let tree = format!("topology = \"fat_tree\"\ndown = [4, 2]\nbandwidth = \"1 GB/s\"\nplanes = {planes}");
        load(&tree, &["platform.inter_node.contention=fair", "platform.inter_node.rails={count=2}"])
    };
    // Both messages of node 0 leave by different adapters, over one uplink or over one uplink per plane.
    let twice = |planes: u32| {
        let mut all = scripts(&[(0, 4), (0, 5)], 100_000_000);
        all[0].truncate(2);
        let (outcome, _) = run_with(&network(planes).unwrap(), &all, 1).unwrap();
        [4, 5].map(|to: usize| (outcome.per_rank[to].clock.as_ps() + 500_000_000) / 1_000_000_000)
    };
    assert_eq!(twice(1), [200, 200]);
    assert_eq!(twice(2), [100, 100]);
    let error = network(3).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("planes = 2, one for each of the rails of [inter_node], in network.planes"), "{error}");
}

#[test]
fn a_graph_has_the_links_of_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let list = "# two racks and a slow detour\nnodes 0-3 a\nnodes 4-6 b\nnode 7 c\nlink a b 2 500MB/s\n\
        link a c 1GB/s 300ns\nlink c b 1GB/s\n";
    std::fs::write(directory.path().join("graph.txt"), list).unwrap();
    let name = directory.path().join("network.toml").display().to_string();
    let text = format!("{MACHINE}topology = \"graph\"\nfile = \"graph.txt\"\nlatency = \"100 ns\"\n");
    let fair = Override::parse("platform.inter_node.contention=fair").unwrap();
    let platform = Platform::load(Document::parse(&name, &text).unwrap(), &[fair]).unwrap();
    assert_eq!([1, 4, 7].map(|to| arrival(&platform, 0, to)), [1050, 1050 + 100 + 50, 1050 + 300]);
    // Receivers 4 and 5 have a link of 500 MB/s each, receivers 4 and 6 share one.
    assert_eq!(milliseconds(&platform, &[(0, 4), (1, 5)]), [200, 200]);
    assert_eq!(milliseconds(&platform, &[(0, 4), (1, 6)]), [400, 400]);
    assert_eq!(milliseconds(&platform, &[(0, 7)]), [100]);
}

#[test]
fn adapters_of_a_node_are_on_different_switches() {
    let directory = tempfile::tempdir().unwrap();
    let load = |list: &str, rails: &str| {
        std::fs::write(directory.path().join("graph.txt"), list).unwrap();
        let name = directory.path().join("network.toml").display().to_string();
        let text = format!("{MACHINE}topology = \"graph\"\nfile = \"graph.txt\"\nbandwidth = \"1 GB/s\"\n");
        let set = ["inter_node.contention=fair", rails].map(|of| Override::parse(&format!("platform.{of}")).unwrap());
        Platform::load(Document::parse(&name, &text).unwrap(), &set)
    };
    let rails = "inter_node.rails={count=2}";
    let twice = |list: &str| {
        let mut all = scripts(&[(0, 4), (0, 5)], 100_000_000);
        all[0].truncate(2);
        let run = |workers| run_with(&load(list, rails).unwrap(), &all, workers).unwrap().0;
        assert_eq!(run(1).per_rank, run(4).per_rank);
        [4, 5].map(|to: usize| (run(1).per_rank[to].clock.as_ps() + 500_000_000) / 1_000_000_000)
    };
    // Both messages of node 0 leave by different adapters, over one link from switch a or over a link from a and one from b.
    assert_eq!(twice("nodes 0-3 a a\nnodes 4-7 c c\nlink a c\n"), [200, 200]);
    assert_eq!(twice("nodes 0-3 a b\nnodes 4-7 c d\nlink a c\nlink b d\nlink c d\n"), [100, 100]);
    // Both first adapters have the link from a to c. The second adapters need no link.
    assert_eq!(twice("nodes 0-3 a b\nnodes 4-7 c b\nlink a c\nlink b c\n"), [100, 100]);
    for (list, rails, expected) in [
        ("nodes 0-3 a b\nnodes 4-7 c\nlink a b\nlink b c\n", rails, "graph.txt:2: expected as many switches as other"),
        ("nodes 0-7 a b\nlink a b\n", "inter_node.rails={count=3}", "one switch per node, or 3 for the rails"),
        ("nodes 0-7 a b\nlink a c\n", rails, "a path of links between all nodes"),
    ] {
        let error = load(list, rails).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(expected), "{list}: {error}");
    }
}

#[test]
fn the_critical_path_and_the_report_name_links() {
    let platform = fair("topology = \"fat_tree\"\ndown = [4, 2]\nbandwidth = \"1 GB/s\"");
    let (outcome, _) = run_with(&platform, &scripts(&[(0, 4), (1, 5)], 100_000_000), 1).unwrap();
    let charged = outcome.contention.expect("fair charges causes").inter_node.uplink;
    assert!(charged.as_ps().abs_diff(100_000_000_000) < 10_000_000, "{charged}");
    // The two messages pass the link of the first leaf switch up, and that of the second leaf switch down.
    let uses: Vec<_> = outcome.utilisation.iter().filter(|of| of.resource == SharedKind::Link).collect();
    assert_eq!((uses.len(), uses[0].count, uses[0].greatest), (1, 2, Some(1.0)));
}

/// Returns a tree of three levels. The lower links have 1 GB/s, and the upper links have `upper`.
fn tapered(upper: &str) -> Platform {
    let bandwidth = format!("bandwidth = [\"1 GB/s\", \"{upper}\"]");
    machine(&format!("{TREE}\n{bandwidth}"), &["platform.inter_node.contention=fair"])
}

#[test]
fn contention_and_what_if_distinguish_kinds_of_links() {
    let platform = tapered("500 MB/s");
    // A message of 100 MB from node 0 to node 4 gets 500 MB/s at the upper links. Then messages of nodes 4 and 5 share
    // a lower link for 200 ms. The last MB of the longer one has the link alone.
    let mut all: Vec<Vec<Do>> = vec![Vec::new(); 8];
    all[0] = vec![Send(4, 100_000_000)];
    all[4] = vec![Recv(0), Send(6, 101_000_000)];
    all[5] = vec![Compute(200_002_000), Send(7, 100_000_000)];
    (all[6], all[7]) = (vec![Recv(4)], vec![Recv(5)]);
    for workers in [1, 2, 8] {
        let (outcome, _) = run_with(&platform, &all, workers).unwrap();
        let near = |found: u64, ms: u64| found.abs_diff(ms * 1_000_000_000) < 100_000_000;
        assert!(near(outcome.predicted.as_ps(), 401), "{}", outcome.predicted);
        let rows: Vec<_> = outcome.uplink_contention.iter().map(|of| of.kind.as_str()).collect();
        assert_eq!(rows, ["leaf to level 2", "level 2 to 3"]);
        assert!(outcome.uplink_contention.iter().all(|of| near(of.contention.as_ps(), 100)), "{workers} workers");
        let saved = |change, links: Option<&str>| {
            let is = |what: &&WhatIf| what.change == change && what.links.as_deref() == links;
            outcome.what_if.iter().find(is).map_or(0, |what| what.saved.as_ps())
        };
        assert!(near(saved(Change::UplinksDoubled, None), 100));
        assert!(near(saved(Change::UplinksDoubled, Some("level 2 to 3")), 50));
        assert!(near(saved(Change::UplinksUnlimited, None), 200));
        let upper = outcome.what_if.iter().find(|what| what.links.as_deref() == Some("level 2 to 3")).unwrap();
        assert_eq!(upper.changed(&platform).places, tapered("1 GB/s").places);
    }
    let unlimited = WhatIf::new(Some(Level::InterNode), Change::UplinksUnlimited, SimSpan::ZERO);
    assert_eq!(milliseconds(&unlimited.changed(&platform), &[(0, 4), (1, 5)]), [100, 100]);
    // Links and switches add 900 ns to the latency between nodes 0 and 4.
    let halved = WhatIf::new(Some(Level::InterNode), Change::HopLatencyHalved, SimSpan::ZERO);
    assert_eq!([1, 4].map(|to| arrival(&halved.changed(&machine(TREE, &[])), 0, to)), [1050, 1000 + 450 + 50]);
}

#[test]
fn short_messages_between_switches_are_counted_apart() {
    let platform = fair("topology = \"fat_tree\"\ndown = [4, 2]\nbandwidth = \"1 GB/s\"");
    // A slot is half of the latency, so messages below 500 / 16 bytes queue. Nodes 0 and 1 have the same switch.
    let mut all = scripts(&[(0, 4), (0, 1)], 20);
    all[2].push(Send(6, 100_000));
    all[6].push(Recv(2));
    for workers in [1, 2, 8] {
        let (outcome, _) = run_with(&platform, &all, workers).unwrap();
        let traffic = outcome.links.expect("messages pass links").traffic;
        let expected =
            LinkTraffic { messages: 2, bytes: 100_020, short_messages: 1, short_bytes: 20, longest_short_bytes: 20 };
        assert_eq!(traffic, expected, "{workers} workers");
    }
}

#[test]
fn loads_over_time_add_up_to_the_mean_and_do_not_depend_on_workers() {
    let platform = fair("topology = \"fat_tree\"\ndown = [4, 2]\nbandwidth = \"1 GB/s\"");
    let scripts = scripts(&[(0, 4), (1, 5)], 10_000_000);
    let run = |workers| {
        let options = RunOptions { workers: Some(workers), load_over_time: true, ..RunOptions::default() };
        run_as(&platform, &scripts, options).unwrap().0
    };
    let outcome = run(2);
    let load = outcome.load_over_time.clone().expect("loads are recorded");
    assert!([3, 8].iter().all(|workers| run(*workers).load_over_time == outcome.load_over_time));
    // The link from leaf 0 carries 20 MB in 20 ms, which is nearly the whole run.
    let up = load.links.iter().find(|of| of.link == "leaf 0 to switch 0 of level 2").unwrap();
    assert_eq!((load.links.len(), up.layer.as_str()), (2, "leaf to level 2"));
    assert!(up.load[1..up.load.len() - 1].iter().all(|load| *load == 1.0), "{:?}", up.load);
    let span = load.span.as_seconds();
    let work: f64 =
        up.load.iter().enumerate().map(|(at, load)| load * (outcome.predicted_s - span * at as f64).min(span)).sum();
    assert!((work - 20e-3).abs() < 1e-5, "{work}");
    // Each of two adapters sends half of the time at full rate.
    let adapters = load.kinds.iter().find(|of| of.kind == "adapters, out").unwrap();
    assert_eq!((adapters.count, adapters.mean[1], adapters.busiest[1]), (8, 0.125, 0.5));
}

#[test]
fn networks_that_cannot_be_are_refused_with_their_key() {
    for (network, expected) in [
        ("topology = \"ring\"", "crossbar"),
        ("topology = \"crossbar\"\ndown = [2]", "no other key with topology = \"crossbar\""),
        ("topology = \"torus\"\ndown = [8]", "expected one of bandwidth, latency, switch_latency, planes, dimensions,"),
        ("topology = \"torus\"", "\"dimensions\""),
        ("topology = \"torus\"\ndimensions = [4, 0]", "numbers of at least 1 in network.dimensions"),
        ("topology = \"torus\"\ndimensions = [7]", "expected a network of at least 8 nodes, as in nct,"),
        (
            "topology = \"mesh\"\ndimensions = [4, 2]\nlatency = [\"1 ns\"]",
            "one value, or 2, as many as kinds of links",
        ),
        ("topology = \"fat_tree\"\ndown = [4, 2]\nup = [1, 1]", "a list of one number in network.up"),
        ("topology = \"fat_tree\"\ndown = [4, 2]\nrouting = \"valiant\"", "\"d_mod_k\", \"s_mod_k\" or \"random\""),
        ("topology = \"fat_tree\"\ndown = [65536, 65536]", "fewer than 67108864 nodes and links"),
        ("topology = \"dragonfly\"\ngroups = 4\nswitches = 2", "\"nodes_per_switch\""),
        ("topology = \"dragonfly_plus\"\ngroups = 0", "a number of at least 1 in network.groups"),
        (
            "topology = \"dragonfly\"\ngroups = 4\nswitches = 2\nnodes_per_switch = 1\nrouting = \"random\"",
            "\"minimal\", \"valiant\" or \"adaptive\"",
        ),
        ("topology = \"graph\"", "\"file\""),
        (
            "topology = \"torus\"\ndimensions = [1000, 1000]\nlatency = [\"1 ns\", \"1 us\"]",
            "at most 4096 different latencies",
        ),
        (
            "topology = \"torus\"\ndimensions = [8]\n[places.rack]\nnodes = 2\nuplink_latency = \"1 ns\"",
            "either [network], or",
        ),
    ] {
        let error = load(network, &[]).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(expected), "{network}: {error}");
    }
    // A machine with more nodes than the network does not fit.
    let platform = machine("topology = \"torus\"\ndimensions = [4, 2]", &[]);
    let error = platform.places.check(Shape { nodes: 9, cmps: 1, cores: 1 }).unwrap_err().to_string();
    assert_eq!(error, "the network has 8 nodes: expected all 9 nodes of the machine");
    // Only `fair` shares links.
    let unread = machine("topology = \"torus\"\ndimensions = [8]\nbandwidth = \"1 GB/s\"", &[]).unread;
    assert_eq!(unread.iter().map(|of| (of.table.as_str(), of.keys.len())).collect::<Vec<_>>(), [("network", 1)]);
}

#[test]
fn lists_of_switches_that_are_wrong_are_refused_with_their_line() {
    for (list, expected) in [
        ("", "consecutive numbers of nodes from 0; found no node 0"),
        ("nodes 0-7 a\nswitch b\n", "graph.txt:2: expected \"link SWITCH SWITCH"),
        ("nodes 0-7 a\nlink a a\n", "graph.txt:2: expected a link between two switches"),
        ("nodes 0-7 a\nlink a b fast\n", "a number of links, a bandwidth such as 25GB/s, or a latency such as 100ns"),
        ("nodes 7-0 a\n", "an ascending range of nodes"),
        ("node 0-7 a\n", "the number of a node, or FIRST-LAST after \"nodes\","),
        ("nodes 0-7 a\nnode 7 b\n", "each node once"),
        ("nodes 0-3 a\nnodes 5-8 a\n", "found no node 4"),
        ("nodes 0-3 a\nnodes 4-7 b\nlink a c\n", "a path of links between all nodes; found none between nodes 0 and 4"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("graph.txt"), list).unwrap();
        let name = directory.path().join("network.toml").display().to_string();
        let text = format!("{MACHINE}topology = \"graph\"\nfile = \"graph.txt\"\n");
        let error = Platform::load(Document::parse(&name, &text).unwrap(), &[]).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(expected), "{list}: {error}");
    }
}
