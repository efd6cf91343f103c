//! Expected times of messages, computed by hand, on machines with L3 domains and with groups of nodes. A byte takes 1
//! ns.

use crate::support::Do::{Compute, Irecv, Isend, Recv, Send, WaitAll, Work};
use crate::support::{Do, clocks, run_with};
use mcpsim::config::{Document, Override};
use mcpsim::platform::{Level, MapBy, MemoryShares, Platform, Shape, Site};
use mcpsim::profile::SharedKind;

/// Platform file of nodes with one CMP of four cores. Latencies are 10 ns within a CMP and 1000 ns between nodes.
const MACHINE: &str = r#"
name = "tree"
nct = [8, 1, 4]
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
"#;

/// Loads the machine with the places `places` and other settings.
fn machine(places: &str, settings: &[&str]) -> Platform {
    load(places, settings).unwrap_or_else(|error| panic!("{error}"))
}

fn load(places: &str, settings: &[&str]) -> Result<Platform, mcpsim::config::ConfigError> {
    let settings: Vec<Override> = settings.iter().map(|setting| Override::parse(setting).unwrap()).collect();
    Platform::load(Document::parse("tree.toml", &format!("{MACHINE}{places}")).unwrap(), &settings)
}

/// Returns the time in ns at which a message of `bytes` bytes from rank `from` arrives at rank `to`. There are no other
/// messages and one rank per core.
fn arrival(platform: &Platform, (from, to): (u32, u32), bytes: u64) -> u64 {
    let mut scripts: Vec<Vec<Do>> = vec![Vec::new(); platform.shape.total_cores() as usize];
    scripts[from as usize] = vec![Send(to, bytes)];
    scripts[to as usize] = vec![Recv(from)];
    clocks(platform, &scripts)[to as usize]
}

const DOMAINS: &str = r#"
[places.l3]
cores = 2
latency = "4 ns"
bandwidth = "2 GB/s"
"#;

const GROUPS: &str = r#"
[places.switch]
nodes = 2
uplink_latency = "100 ns"
[places.group]
nodes = 4
uplink_latency = "250 ns"
"#;

#[test]
fn a_message_costs_what_the_least_common_place_of_its_cores_states() {
    let platform = machine(DOMAINS, &[]);
    // Cores 0 and 1 share an L3 domain: a message of 100 bytes at 2 GB/s takes 4 + 50 ns. Cores 1 and 2 do not share an
    // L3 domain: the message takes 10 + 100 ns.
    assert_eq!([(0, 1), (2, 3), (1, 2), (0, 3)].map(|pair| arrival(&platform, pair, 100)), [54, 54, 110, 110]);
    // Cores 4 and 5 of the next node share an L3 domain, too. Cores 3 and 4 are on different nodes.
    assert_eq!([(4, 5), (3, 4)].map(|pair| arrival(&platform, pair, 100)), [54, 1100]);
}

#[test]
fn uplinks_add_their_latency_on_the_way_up_and_on_the_way_down() {
    let platform = machine(GROUPS, &[]);
    let node = |node: u32| 4 * node;
    // Nodes 0 and 1 share a switch. Nodes 0 and 2 share only a group, so a message passes two uplinks of 100 ns. Nodes
    // 0 and 4 share neither a switch nor a group, so a message also passes two uplinks of 250 ns.
    let pairs = [1, 2, 3, 4, 7].map(|to| arrival(&platform, (node(0), node(to)), 50));
    assert_eq!(pairs, [1050, 1250, 1250, 1750, 1750]);
    // A factor on the latency between nodes also scales uplinks.
    let half = machine(GROUPS, &["platform.inter_node.latency_factor=0.5"]);
    assert_eq!(arrival(&half, (node(0), node(4)), 50), 500 + 350 + 50);
}

#[test]
fn control_messages_of_a_rendezvous_travel_the_same_distance() {
    let platform = machine(GROUPS, &["platform.inter_node.eager_threshold=10"]);
    // The request, the grant and the transfer of a rendezvous take one latency each.
    assert_eq!(arrival(&platform, (0, 4), 50), 3 * 1000 + 50);
    assert_eq!(arrival(&platform, (0, 16), 50), 3 * 1700 + 50);
}

#[test]
fn a_place_with_costs_replaces_those_of_all_intervals_and_smaller_places_inherit_them() {
    let places = r#"
[places.switch]
nodes = 2
[places.group]
nodes = 4
latency = "600 ns"
interval = [{ up_to = 99, bandwidth = "1 GB/s" }, { bandwidth = "2 GB/s" }]
"#;
    let platform = machine(places, &[]);
    // Messages between nodes 0 and 1, and between nodes 0 and 3, have the costs of the group. Messages between nodes 0
    // and 4 have the costs of the level.
    let pairs = [4, 12, 16];
    assert_eq!(pairs.map(|to| arrival(&platform, (0, to), 50)), [650, 650, 1050]);
    assert_eq!(pairs.map(|to| arrival(&platform, (0, to), 100)), [650, 650, 1100]);
}

#[test]
fn a_list_assigns_nodes_in_any_order() {
    let directory = tempfile::tempdir().unwrap();
    let list =
        "# racks of the machine room\nnode switch group\n0 a x\n1 b x\n2 a x\n3 b x\n4 c y\n5 d y\n6 c y\n7 d y\n";
    std::fs::write(directory.path().join("nodes.txt"), list).unwrap();
    let places = GROUPS.replace("nodes = 2", "nodes = \"nodes.txt\"").replace("nodes = 4", "nodes = \"nodes.txt\"");
    let name = directory.path().join("tree.toml").display().to_string();
    let platform = Platform::load(Document::parse(&name, &format!("{MACHINE}{places}")).unwrap(), &[]).unwrap();
    let pairs = [2, 1, 3, 4, 6].map(|to| arrival(&platform, (0, 4 * to), 50));
    assert_eq!(pairs, [1050, 1250, 1250, 1750, 1750]);
    // The list has eight nodes, so a machine of four nodes fits, and a machine of nine does not.
    let shape = |nodes| Shape { nodes, cmps: 1, cores: 4 };
    assert_eq!(arrival(&platform.with_shape(shape(4)), (0, 8), 50), 1050);
    let error = platform.places.check(shape(9)).unwrap_err().to_string();
    assert!(error.contains("has 8 nodes: expected all 9 nodes of the machine"), "{error}");
    let small = format!("{MACHINE}{places}").replace("nct = [8, 1, 4]", "nct = [2, 1, 4]");
    let platform = Platform::load(Document::parse(&name, &small).unwrap(), &[]).unwrap();
    assert_eq!(arrival(&platform.with_shape(shape(8)), (0, 24), 50), 1750);
}

/// Creates scripts of two senders of switch 0 and their receivers on switch 1. If `both` is true, two ranks of switch 1
/// also send to switch 0.
fn across(both: bool, bytes: u64) -> Vec<Vec<Do>> {
    let mut scripts: Vec<Vec<Do>> = vec![Vec::new(); 32];
    for (from, to) in [(0, 8), (4, 12)] {
        scripts[from] = vec![Send(to as u32, bytes)];
        scripts[to] = vec![Recv(from as u32)];
        if both {
            scripts[from + 1] = vec![Recv(to as u32 + 1)];
            scripts[to + 1] = vec![Send(from as u32 + 1, bytes)];
        }
    }
    scripts
}

fn near(found: u64, expected: u64, within: u64) {
    assert!(found.abs_diff(expected) <= within, "{found}, expected {expected}");
}

#[test]
fn transfers_share_an_uplink() {
    let uplink = |bandwidth: &str| {
        let places = format!("[places.switch]\nnodes = 2\nuplink_bandwidth = \"{bandwidth}\"\n");
        machine(&places, &["platform.inter_node.contention=fair"])
    };
    // Each rank sends 100 MB through an adapter of 1 GB/s, so together 2 GB/s pass an uplink of 2 GB/s. With half of
    // this uplink bandwidth the messages take twice as long. The reverse direction of the uplink has a bandwidth of its
    // own.
    for (bandwidth, both, expected) in [
        ("2 GB/s", false, 100_001_000),
        ("1 GB/s", false, 200_001_000),
        ("1 GB/s", true, 200_001_000),
        ("500 MB/s", true, 400_001_000),
    ] {
        let platform = uplink(bandwidth);
        let (outcome, _) = run_with(&platform, &across(both, 100_000_000), 1).unwrap();
        near(outcome.per_rank[8].clock.as_ps() / 1000, expected, 2000);
        let (again, _) = run_with(&platform, &across(both, 100_000_000), 3).unwrap();
        assert_eq!(outcome.per_rank, again.per_rank, "the number of workers counts");
    }
}

#[test]
fn an_uplink_delays_only_transfers_that_leave_the_group() {
    let places = "[places.switch]\nnodes = 2\nuplink_bandwidth = \"500 MB/s\"\n";
    let platform = machine(places, &["platform.inter_node.contention=fair"]);
    let mut scripts: Vec<Vec<Do>> = vec![Vec::new(); 32];
    // Node 0 sends 10 MB to node 1 at 1 GB/s, and node 2 sends 10 MB to node 4 at 500 MB/s, to which its uplink limits
    // the message.
    (scripts[0], scripts[4]) = (vec![Send(4, 10_000_000)], vec![Recv(0)]);
    (scripts[8], scripts[16]) = (vec![Send(16, 10_000_000)], vec![Recv(8)]);
    let found = clocks(&platform, &scripts);
    near(found[4], 10_001_000, 1000);
    near(found[16], 20_001_000, 1000);
}

#[test]
fn uplinks_of_two_kinds_both_count() {
    let places = r#"
[places.switch]
nodes = 2
uplink_bandwidth = "1500 MB/s"
[places.group]
nodes = 4
uplink_bandwidth = "2 GB/s"
"#;
    let platform = machine(places, &["platform.inter_node.contention=fair"]);
    // Nodes 0 to 3 send to nodes 4 to 7. Each pair of nodes may transfer 1.5 GB/s, and all four pairs together 2 GB/s.
    // Each pair transfers 100 MB, which takes 200 ms.
    let mut scripts: Vec<Vec<Do>> = vec![Vec::new(); 32];
    for node in 0..4 {
        scripts[4 * node] = vec![Send(4 * node as u32 + 16, 100_000_000)];
        scripts[4 * node + 16] = vec![Recv(4 * node as u32)];
    }
    let found = clocks(&platform, &scripts);
    (0..4).for_each(|node| near(found[4 * node + 16], 200_001_000, 2000));
}

#[test]
fn the_critical_path_and_the_report_name_the_uplink() {
    let places = "[places.switch]\nnodes = 2\nuplink_bandwidth = \"1 GB/s\"\n";
    let platform = machine(places, &["platform.inter_node.contention=fair"]);
    let (outcome, _) = run_with(&platform, &across(false, 100_000_000), 1).unwrap();
    let charged = outcome.contention.expect("fair charges causes").level(Level::InterNode).uplink;
    near(charged.as_ps() / 1000, 100_000_000, 2000);
    let uses: Vec<_> = outcome.utilisation.iter().filter(|of| of.resource == SharedKind::UplinkOut).collect();
    assert_eq!(uses.len(), 1);
    assert!((uses[0].busiest - 1.0).abs() < 1e-3 && uses[0].greatest == Some(1.0), "{:?}", uses[0]);
}

#[test]
fn a_late_transfer_slows_an_uplink_from_its_start() {
    let places = "[places.switch]\nnodes = 2\nuplink_bandwidth = \"1 GB/s\"\n";
    let platform = machine(places, &["platform.inter_node.contention=fair"]);
    let mut scripts = across(false, 100_000_000);
    scripts[4].insert(0, Compute(50_000_000));
    let found = clocks(&platform, &scripts);
    // The first message is alone for 50 ms, and then both messages have half of the bandwidth. The first message ends
    // after 150 ms. The second message has 50 MB left and ends after 200 ms.
    near(found[8], 150_001_000, 2000);
    near(found[12], 200_001_000, 2000);
}

/// Settings of the machine with the contention model `fair` within a CMP and with 100 GB/s of memory bandwidth per CMP.
const FAIR_NODE: [&str; 3] = [
    "platform.intra_cmp.contention=fair",
    "platform.cmp.memory_bandwidth=\"100 GB/s\"",
    "platform.core.memory_bandwidth=\"1 GB/s\"",
];

#[test]
fn each_l3_domain_holds_its_own_buffers() {
    // Cores 0 and 1 exchange ten messages of 600 kB, and so do cores 2 and 3. The two buffers of a pair have 1.2 MB.
    // The memory moves 2 bytes per copied byte at 0.5 GB/s, so a copy whose buffers are not in the cache takes 4 ns per
    // byte instead of 1 ns.
    let mut scripts: Vec<Vec<Do>> = vec![Vec::new(); 4];
    for first in [0_usize, 2] {
        scripts[first] = vec![Isend(first as u32 + 1, 600_000); 10];
        scripts[first + 1] = vec![Irecv(first as u32); 10];
        scripts[first].push(WaitAll);
        scripts[first + 1].push(WaitAll);
    }
    let received = |places: &str, cmp: &[&str]| {
        let all: Vec<&str> = FAIR_NODE.into_iter().chain(cmp.iter().copied()).chain(["platform.nct=[1,1,4]"]).collect();
        let found = clocks(&machine(places, &all), &scripts);
        [found[1], found[3]]
    };
    let domain = |cache: &str| format!("[places.l3]\ncores = 2\ncache = \"{cache}\"\n");
    let slow = ["platform.cmp.copy_bandwidth=\"500 MB/s\""];
    // A cache of 1.3 MB per domain holds the buffers of a pair of cores.
    assert_eq!(received(&domain("1300 kB"), &slow), [6_000_010; 2]);
    // A single cache of 1.3 MB for the CMP does not hold the buffers of both pairs, and caches of 1.1 MB per domain do
    // not hold the buffers of a pair.
    let whole = received("", &["platform.cmp.cache=\"1300 kB\"", slow[0]]);
    assert!(whole.iter().all(|end| *end > 12_000_000), "{whole:?}");
    let small = received(&domain("1100 kB"), &slow);
    assert!(small.iter().all(|end| *end > 12_000_000), "{small:?}");
}

#[test]
fn cores_of_a_numa_domain_share_its_memory() {
    // The memory of a domain of two cores moves 1 GB/s, as much as one core. Two blocks of 1 MB in one domain take
    // twice as long as in two domains. The result is the same whether the shares are fixed by placement or change with
    // the blocks.
    let places = "[places.numa]\ncores = 2\nmemory_bandwidth = \"1 GB/s\"\n";
    for sharing in ["placed", "fair"] {
        let sharing = format!("platform.cmp.memory_sharing={sharing}");
        let all: Vec<&str> = FAIR_NODE.into_iter().chain(["platform.nct=[1,1,4]", sharing.as_str()]).collect();
        let platform = machine(places, &all);
        let block = || vec![Work(0, 1_000_000)];
        if sharing.ends_with("fair") {
            assert_eq!(clocks(&platform, &[block(), block(), vec![], vec![]])[..2], [2_000_000; 2]);
            assert_eq!(clocks(&platform, &[block(), vec![], block(), vec![]])[..3], [1_000_000, 0, 1_000_000]);
        } else {
            let part = |cores: &[u32]| {
                let sites: Vec<Site> = cores.iter().map(|core| Site { node: 0, cmp: 0, core: *core }).collect();
                MemoryShares::of_ranks(&platform, &sites).iter().map(|part| part.bandwidth).collect::<Vec<_>>()
            };
            assert_eq!(part(&[0, 1, 2]), [0.5e9, 0.5e9, 1e9]);
            assert_eq!(part(&[0, 2]), [1e9, 1e9]);
        }
    }
}

#[test]
fn blocks_in_caches_have_an_equal_part_of_the_cache_of_their_domain() {
    let places = "[places.l3]\ncores = 2\ncache = \"1 MB\"\n";
    let in_cache = "platform.core.in_cache={memory_bandwidth=\"4 GB/s\"}";
    let all: Vec<&str> = FAIR_NODE.into_iter().chain(["platform.nct=[1,1,4]", in_cache]).collect();
    let platform = machine(places, &all);
    let sites: Vec<Site> = [0, 1, 2].into_iter().map(|core| Site { node: 0, cmp: 0, core }).collect();
    let parts = MemoryShares::of_ranks(&platform, &sites);
    assert_eq!(parts.iter().map(|part| part.cache).collect::<Vec<_>>(), [0.5e6, 0.5e6, 1e6]);
}

#[test]
fn equal_domains_are_two_names_of_one_place() {
    // Either name may state the costs. The cache belongs to one name and the memory to the other.
    for (l3, numa) in [("latency = \"4 ns\"\n", ""), ("", "latency = \"4 ns\"\n")] {
        let places = format!(
            "[places.l3]\ncores = 2\ncache = \"1 MB\"\n{l3}[places.numa]\ncores = 2\nmemory_bandwidth = \"1 GB/s\"\n\
             {numa}[cmp]\nmemory_bandwidth = \"2 GB/s\"\n"
        );
        let platform = machine(&places, &[]);
        let arrivals = [(0, 1), (1, 2)].map(|ranks| arrival(&platform, ranks, 100));
        assert_eq!(arrivals, [4 + 100, 10 + 100], "{places}");
        let [cache, memory] = [platform.places.cache().unwrap().0, platform.places.memory().unwrap().0];
        assert_eq!([cache, memory].map(|of| of.name.as_str()), ["l3", "numa"]);
        for name in ["l3", "numa"] {
            let domain = MapBy::Domain { cores: 2 };
            assert_eq!(MapBy::named(name, platform.shape, &platform.places), Ok(domain));
        }
    }
}

#[test]
fn places_that_cannot_be_are_refused_with_their_key() {
    let fair = "platform.inter_node.contention=fair";
    for (places, settings, expected) in [
        ("[places.l3]\ncores = 3\n", &[][..], "expected a divisor of 4, the cores of a CMP in places.l3.cores"),
        ("[places.l3]\ncores = 0\n", &[], "expected a divisor of 4, the cores of a CMP in places.l3.cores"),
        ("[places.node]\nnodes = 2\n", &[], "expected a name other than core, cmp, socket, node and machine"),
        ("[places.l3]\n", &[], "expected \"cores\" for a domain within a CMP, or \"nodes\" for a group of nodes,"),
        ("[places.l3]\ncores = 2\nnodes = 2\n", &[], "in places.l3 of tree.toml"),
        ("[places.l3]\ncores = 2\nuplink_latency = \"1 us\"\n", &[], "expected no \"uplink_latency\""),
        (
            "[places.l3]\ncores = 2\nlatency = \"4 ns\"\n[places.numa]\ncores = 2\nlatency = \"5 ns\"\n",
            &[],
            "expected no costs of messages, which places.l3 of the same cores states, in places.numa of tree.toml",
        ),
        ("[places.l3]\ncores = 2\ncache = \"1 MiB\"\n", &[], "expected also [cmp] with its memory_bandwidth"),
        (
            "[places.l3]\ncores = 2\ncache = \"1 MiB\"\n[cmp]\nmemory_bandwidth = \"1 GB/s\"\ncache = \"4 MiB\"\n",
            &[],
            "expected no \"cache\" in [cmp], because places.l3 states",
        ),
        (
            "[places.n]\ncores = 2\nmemory_bandwidth = \"3 GB/s\"\n[cmp]\nmemory_bandwidth = \"2 GB/s\"\n",
            &[],
            "expected at most 2.000 GB/s, the memory_bandwidth of a CMP, in places.n.memory_bandwidth",
        ),
        ("[places.rack]\nnodes = 0\n", &[], "expected at least 1 node in places.rack.nodes"),
        ("[places.rack]\nnodes = 2\ncache = \"1 MiB\"\n", &[], "expected no \"cache\", which only domains"),
        ("[places.rack]\nnodes = 2\nuplink_bandwidth = \"1 GB/s\"\n", &[], "expected contention = \"fair\""),
        ("[places.a]\nnodes = 2\n[places.b]\nnodes = 3\n", &[fair], "expected a multiple of 2, the nodes of places.a"),
        ("[places.rack]\nnodes = \"none.txt\"\n", &[], "none.txt: no such file"),
        ("[places.rack]\nnodes = 2\nlatency = \"x\"\n", &[], "places.rack.latency"),
        ("[places.rack]\nnodes = 2\nwidth = 3\n", &[], "unknown"),
    ] {
        let error = load(places, settings).expect_err(places).to_string();
        assert!(error.contains(expected), "{places}: {error}");
    }
}

#[test]
fn lists_of_nodes_that_are_wrong_are_refused_with_their_line() {
    for (list, expected) in [
        ("", "a first line that names the columns"),
        ("node rack\n", "expected columns \"node\" and \"switch\""),
        ("node switch\n0 a\n1 a b\n", "2 words, as in the first line,"),
        ("node switch\nx a\n", "expected the number of a node, from 0,"),
        ("node switch\n0 a\n0 b\n", "expected each node once"),
        ("node switch\n0 a\n", "expected a line for each of the machine's 8 nodes"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("n.txt"), list).unwrap();
        let name = directory.path().join("tree.toml").display().to_string();
        let text = format!("{MACHINE}[places.switch]\nnodes = \"n.txt\"\n");
        let error = Platform::load(Document::parse(&name, &text).unwrap(), &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{list}: {error}");
    }
    // The nodes of switch a, and the nodes of switch b, must be in a single group.
    let directory = tempfile::tempdir().unwrap();
    let list = "node switch group\n0 a x\n1 a y\n2 b x\n3 c y\n4 d z\n5 e z\n6 f z\n7 g z\n";
    std::fs::write(directory.path().join("n.txt"), list).unwrap();
    let name = directory.path().join("tree.toml").display().to_string();
    let text = format!("{MACHINE}[places.switch]\nnodes = \"n.txt\"\n[places.group]\nnodes = \"n.txt\"\n");
    let error = Platform::load(Document::parse(&name, &text).unwrap(), &[]).unwrap_err().to_string();
    assert!(error.contains("nodes 0 and 1, which share a group of switch and no group of group"), "{error}");
}
