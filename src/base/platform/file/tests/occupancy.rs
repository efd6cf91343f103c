//! Tests of the keys of platform files about adapters, copies, caches and memory.

use crate::platform::{Copies, CopyMemory, CopyTraffic, InNodeTransport, MemorySharing, Occupancy, Rails, Tolerance};
use crate::units::Bandwidth;

use super::*;

fn rate(gigabytes: f64) -> Option<Bandwidth> {
    Bandwidth::new((gigabytes * 1e9) as u64)
}

#[test]
fn without_keys_an_adapter_carries_the_greatest_bandwidth_and_the_receiver_copies_within_a_node() {
    let platform = network("contention = \"fair\"\nlatency = \"2 us\"\nbandwidth = \"1 GB/s\"").unwrap();
    let node = Occupancy { copies: Copies::Receiver, ..Occupancy::default() };
    assert_eq!(*platform.link(Level::IntraCmp).occupancy(), node);
    assert_eq!(*platform.link(Level::InterCmp).occupancy(), node);
    let network = Occupancy { capacity: rate(1.0), ..Occupancy::default() };
    assert_eq!(*platform.link(Level::InterNode).occupancy(), network);
    assert_eq!(platform.link(Level::InterNode).rows()[0].copy_bandwidth, None);
}

#[test]
fn what_is_stated_holds_and_bandwidth_factor_scales_it() {
    let text = "contention = \"fair\"\nlatency = \"2 us\"\nbandwidth = \"1 GB/s\"\ncopies = \"both\"\ncapacity = \"2 GB/s\"\n\
                duplex = \"3 GB/s\"\npair_duplex = \"2 GB/s\"\nrails = { count = 2, cmp = [0, 1] }\nslot = \"100 ns\"\ntolerance = 0.01\n\
                copy_bandwidth = \"4 GB/s\"\nbandwidth_factor = 0.5\n";
    let platform = network(text).unwrap();
    let link = platform.link(Level::InterNode);
    let expected = Occupancy {
        copies: Copies::Both,
        transport: InNodeTransport::Memory,
        capacity: rate(1.0),
        duplex: rate(1.5),
        duplex_gap: None,
        pair_duplex: rate(1.0),
        rails: Rails { count: 2, of_cmp: vec![0, 1] },
        slot: Some(SimSpan::from_ns(100)),
        tolerance: Tolerance::new(0.01).unwrap(),
    };
    assert_eq!(*link.occupancy(), expected);
    assert_eq!(link.rows()[0].copy_bandwidth, rate(2.0));
    assert_eq!(link.rows()[0].copy(Bytes::new(1000)), SimSpan::from_ns(500));
}

#[test]
fn a_capacity_below_the_pace_of_a_message_is_its_pace_under_fair_only() {
    for (contention, expected) in [("ideal", 1.0), ("share", 1.0), ("queue", 1.0), ("fair", 0.5)] {
        let text = "latency = \"2 us\"\nbandwidth = \"1 GB/s\"\ncapacity = \"0.5 GB/s\"\n";
        let platform = network(&format!("contention = \"{contention}\"\n{text}")).unwrap();
        assert_eq!(Some(platform.link(Level::InterNode).rows()[0].bandwidth), rate(expected), "{contention}");
    }
}

#[test]
fn contradictions_are_refused() {
    let fair = "contention = \"fair\"\nlatency = \"2 us\"\nbandwidth = \"1 GB/s\"\n";
    for (keys, error) in [
        (
            "duplex = \"0.9 GB/s\"",
            "expected at least 1.000 GB/s, the level's bandwidth, in inter_node.duplex of x.toml; \
             found 900.0 MB/s",
        ),
        (
            "gap = \"10 ns\"\nduplex_gap = \"11 ns\"",
            "expected from half of 10.00 ns, the gap of the smallest messages in one direction, to all of it in \
             inter_node.duplex_gap of x.toml; found 11.00 ns",
        ),
        (
            "duplex_gap = \"1 ns\"",
            "expected from half of 0 s, the gap of the smallest messages in one direction, to all of it in \
             inter_node.duplex_gap of x.toml; found 1.000 ns",
        ),
        (
            "capacity = \"2 GB/s\"\nbandwidth_factor = 0.5\npair_duplex = \"0.9 GB/s\"",
            "expected at least 1.000 GB/s, the capacity of one direction, in inter_node.pair_duplex of x.toml; \
             found 450.0 MB/s",
        ),
        ("rails = { count = 0 }", "expected 1 to 64 adapters in inter_node.rails.count of x.toml; found 0"),
        (
            "rails = { count = 2, cmp = [0] }",
            "expected an adapter for each of the node's 2 CMPs in inter_node.rails.cmp of x.toml; found [0]",
        ),
        (
            "slot = \"1.5 us\"",
            "expected at most 1.000 us, half the least latency between nodes, in inter_node.slot of x.toml; \
             found 1.500 us",
        ),
        ("tolerance = 0.5", "expected a part from 0.001 to 0.1 in inter_node.tolerance of x.toml; found 0.5"),
        (
            "rails = { count = 2, cmp = [0, 2] }",
            "expected adapters from 0 to 1 in inter_node.rails.cmp of x.toml; found 2",
        ),
    ] {
        assert_eq!(network_error(&format!("{fair}{keys}")), error);
    }
}

#[test]
fn levels_within_a_node_have_no_adapters() {
    let near = |level: &str, key: &str| error_replacing(&format!("{level} = {{ "), &format!("{level} = {{ {key}, "));
    let expected = "expected no \"duplex\", which only inter_node has, in inter_cmp.duplex of \
                    x.toml; found 1.000 GB/s";
    assert_eq!(near("inter_cmp", "duplex = \"1 GB/s\""), expected);
    let expected = "expected no \"rails\", which only inter_node has, in intra_cmp.rails of \
                    x.toml; found 2";
    assert_eq!(near("intra_cmp", "rails = { count = 2 }"), expected);
    let expected = "expected no \"capacity\", which only inter_cmp and inter_node have, in intra_cmp.capacity of \
                    x.toml; found 9.000 GB/s";
    assert_eq!(near("intra_cmp", "capacity = \"9 GB/s\""), expected);
}

#[test]
fn messages_within_a_node_may_pass_the_adapter() {
    let stating = |level: &str, keys: &str| format!("{MACHINE}{NETWORK}").replacen(level, &format!("{level}{keys}"), 1);
    let load = |text: &str| Platform::load(document(text), &[]).map_err(|error| said(&error));
    let near = |keys: &str| stating("inter_cmp = { ", &format!("transport = \"adapter\", {keys}"));
    let fair = near("contention = \"fair\", ").replace("[inter_node]", "[inter_node]\ncontention = \"fair\"");
    let platform = load(&fair).unwrap();
    let occupancy = platform.link(Level::InterCmp).occupancy();
    assert_eq!((occupancy.transport, occupancy.copies), (InNodeTransport::Adapter, Copies::None));
    let passes = Level::ALL.map(|level| platform.passes_adapters(level));
    assert_eq!((passes, unread(&platform)), ([false, true, true], Vec::new()));
    // Adapters exist only under the contention model `fair` between nodes.
    let within = load(&near("contention = \"fair\", ")).unwrap();
    assert_eq!(
        (within.passes_adapters(Level::InterCmp), unread(&within)),
        (false, vec!["inter_cmp: transport".into()])
    );
    assert_eq!(unread(&load(&near("")).unwrap()), ["inter_cmp: transport"]);
    let expected = "expected no \"transport\", which only levels within a node have, in inter_node.transport of x.toml; \
                    found this key";
    assert_eq!(load(&stating("[inter_node]\n", "transport = \"memory\"\n")).unwrap_err(), expected);
}

#[test]
fn what_is_between_cmps_is_stated_by_their_level() {
    let near = |keys: &str| {
        let text = format!("{MACHINE}{NETWORK}").replacen("inter_cmp = { ", &format!("inter_cmp = {{ {keys}, "), 1);
        Platform::load(document(&text), &[]).map_err(|error| said(&error))
    };
    let stated = near("contention = \"fair\", copy_bandwidth = \"8 GB/s\", capacity = \"30 GB/s\"").unwrap();
    assert_eq!(stated.heeded_memory(), rate(30.0).map(CopyMemory::of_interconnect));
    assert!(!stated.heeded_memory().unwrap().has_caches());
    // The capacity of the adapter may be less than the copy bandwidth of a core.
    let narrow = near("contention = \"fair\", copy_bandwidth = \"8 GB/s\", capacity = \"7 GB/s\"").unwrap();
    assert_eq!(narrow.heeded_memory(), rate(7.0).map(CopyMemory::of_interconnect));
    // Other contention models than `fair` ignore the capacity.
    let other = near("copy_bandwidth = \"8 GB/s\", capacity = \"30 GB/s\"").unwrap();
    assert_eq!(other.heeded_memory(), None);
    assert_eq!(unread(&other), ["inter_cmp: copy_bandwidth capacity"]);
    for (keys, error) in [
        (
            "contention = \"fair\", copies = \"none\", capacity = \"90 GB/s\"",
            "expected copies = \"receiver\" with it in inter_cmp.capacity of x.toml; found 90.00 GB/s and \
             copies = \"none\"",
        ),
        (
            "contention = \"fair\", copies = \"sender\", capacity = \"90 GB/s\"",
            "expected \"receiver\" or \"none\" with \"capacity\" in [inter_cmp] in inter_cmp.copies of x.toml; found \
             copies by the sender",
        ),
    ] {
        assert_eq!(near(keys).unwrap_err(), error);
    }
}

#[test]
fn caches_and_memory_of_copies() {
    let cmp = "[cmp]\nmemory_bandwidth = \"60 GB/s\"\n";
    let memory = |extra: &str| Platform::load(document(&format!("{MACHINE}{NETWORK}{extra}")), &[]).unwrap().memory;
    assert_eq!(memory(cmp), None);
    let stated = memory(&format!("{cmp}cache = \"40 MB\"\n")).unwrap();
    assert_eq!((stated.cache, stated.traffic), (Bytes::new(40_000_000), CopyTraffic::Two));
    assert_eq!((stated.cmp.map(Bandwidth::get), stated.node), (Some(60_000_000_000), None), "its memory's bandwidth");
    let node = "[node]\nmemory_bandwidth = \"90 GB/s\"\ncopy_bandwidth = \"80 GB/s\"";
    let keys = "cache = \"40 MB\"\ncopy_bandwidth = \"50 GB/s\"\ncopy_traffic = 3\n";
    let stated = memory(&format!("{cmp}{keys}{node}")).unwrap();
    assert_eq!([stated.cmp, stated.node].map(|rate| rate.unwrap().get()), [50_000_000_000, 80_000_000_000]);
    assert_eq!(stated.traffic, CopyTraffic::Three);

    let error = |extra: &str| error_with(&format!("{cmp}{extra}"));
    assert_eq!(
        error("copy_bandwidth = \"50 GB/s\""),
        "expected also \"cache\" in [cmp], beyond which copies use memory, in cmp.copy_bandwidth of x.toml; \
         found 50.00 GB/s and no \"cache\""
    );
    assert_eq!(
        error_with(node),
        "expected also \"cache\" in [cmp], beyond which copies use memory, in node.copy_bandwidth of x.toml; \
         found 80.00 GB/s and no \"cache\""
    );
    assert_eq!(
        error("cache = \"40 MB\"\ncopy_bandwidth = \"61 GB/s\""),
        "expected at most 60.00 GB/s, the memory_bandwidth there, in cmp.copy_bandwidth of x.toml; found 61.00 GB/s"
    );
    assert_eq!(
        error("cache = \"40 MB\"\ncopy_traffic = 1"),
        "expected 2 bytes moved per copied byte, or 3 with write-allocate, in cmp.copy_traffic of x.toml; found 1"
    );
    assert_eq!(error("cache = \"65 GiB\""), "expected at most 64 GiB of caches in cmp.cache of x.toml; found 65 GiB");
    let text = format!("{MACHINE}{NETWORK}{cmp}cache = \"40 MB\"");
    let text =
        text.replacen("latency = \"400 ns\"", "contention = \"fair\", copies = \"both\", latency = \"400 ns\"", 1);
    assert_eq!(
        said(&Platform::load(document(&text), &[]).unwrap_err()),
        "expected \"receiver\" or \"none\" with \"cache\" in [cmp] in intra_cmp.copies of x.toml; \
         found copies by the sender"
    );
}

#[test]
fn bytes_are_copied_once_or_through_a_segment() {
    let level = |keys: &str| {
        let level = format!("inter_cmp = {{ contention = \"fair\", {keys} }}");
        let text = format!("{MACHINE}{NETWORK}");
        let stated = text.lines().find(|line| line.starts_with("inter_cmp = ")).unwrap();
        load_with(&text.replace(stated, &level), &[])
    };
    let counts = |keys: &str| {
        let link = level(keys).unwrap().platform.link(Level::InterCmp).clone();
        link.rows().iter().map(|row| row.copy_count).collect::<Vec<_>>()
    };
    let costs = "latency = \"1 us\", bandwidth = \"1 GB/s\"";
    assert_eq!(counts(costs), [1]);
    assert_eq!(counts(&format!("{costs}, copy_count = 2")), [2]);
    let of_one = format!("{costs}, copy_count = 1, interval = [{{ up_to = 64, copy_count = 2 }}, {{}}]");
    assert_eq!(counts(&of_one), [2, 1]);
    let error = |keys: &str| level(&format!("{costs}, {keys}")).unwrap_err();
    assert_eq!(
        error("copy_count = 3"),
        "expected 1 copy of each byte, or 2 through a segment that both ranks share, in inter_cmp.copy_count of x.toml; \
         found 3"
    );
    assert_eq!(
        network_error("latency = \"1 us\"\nbandwidth = \"1 GB/s\"\ncopy_count = 1\n"),
        "expected no \"copy_count\", which only levels within a node have, in inter_node.copy_count of x.toml; found 1"
    );
}

#[test]
fn memory_is_shared_by_who_is_placed_there_or_by_who_uses_it() {
    let cmp = |more: &str| format!("{MACHINE}{NETWORK}[cmp]\nmemory_bandwidth = \"60 GB/s\"\n{more}");
    let sharing = |more: &str| Platform::load(document(&cmp(more)), &[]).unwrap().core.memory_sharing;
    assert_eq!(sharing(""), MemorySharing::Placed);
    assert_eq!(sharing("memory_sharing = \"placed\""), MemorySharing::Placed);
    assert_eq!(sharing("memory_sharing = \"fair\""), MemorySharing::Fair);
    let error = said(&Platform::load(document(&cmp("memory_sharing = \"free\"")), &[]).unwrap_err());
    assert_eq!(error, "expected \"placed\" or \"fair\" in cmp.memory_sharing of x.toml; found \"free\"");
}

#[test]
fn a_core_may_be_faster_within_caches() {
    let text = |in_cache: &str, cmp: &str| {
        let machine = MACHINE.replacen("core = {", &format!("core = {{ in_cache = {{ {in_cache} }},"), 1);
        format!("{machine}{NETWORK}[cmp]\nmemory_bandwidth = \"60 GB/s\"\n{cmp}")
    };
    let load = |in_cache, cmp| Platform::load(document(&text(in_cache, cmp)), &[]);
    let cache = "cache = \"40 MB\"";
    let rates = load("flops = \"12 Gflop/s\"", cache).unwrap().core.in_cache.unwrap();
    assert_eq!((rates.size.get(), rates.flops.get(), rates.instructions.get()), (40_000_000, 12e9, 3e9));
    assert_eq!(rates.bandwidth.get(), 5_000_000_000, "as beyond caches");
    let error = |in_cache, cmp| said(&load(in_cache, cmp).unwrap_err());
    assert_eq!(
        error("", ""),
        "expected also \"cache\" in [cmp], the size of the caches, in core.in_cache of x.toml; found no \"cache\""
    );
    assert_eq!(
        error("flops = \"9 Gflop/s\"", cache),
        "expected at least 10.00 G/s, the rate beyond caches, in core.in_cache.flops of x.toml; found 9.000 G/s"
    );
    assert_eq!(
        error("memory_bandwidth = \"1 GB/s\"", cache),
        "expected at least 5.000 GB/s, the bandwidth beyond caches, in core.in_cache.memory_bandwidth of x.toml; \
         found 1.000 GB/s"
    );
}

/// Returns the tables of a platform file that have keys without effect, each table with these keys.
fn unread(platform: &Platform) -> Vec<String> {
    platform.unread.iter().map(|of| format!("{}: {}", of.table, of.keys.join(" "))).collect()
}

#[test]
fn keys_that_only_fair_reads_are_told_where_another_law_holds() {
    let keys =
        "latency = \"2 us\"\nbandwidth = \"1 GB/s\"\ngap = \"5 ns\"\ncapacity = \"2 GB/s\"\nduplex = \"3 GB/s\"\n";
    let with = |contention: &str| unread(&network(&format!("contention = \"{contention}\"\n{keys}")).unwrap());
    assert_eq!(with("share"), ["inter_node: gap capacity duplex"]);
    assert_eq!(with("queue"), ["inter_node: capacity duplex"], "this model reads the gap");
    assert_eq!(with("fair"), [""; 0]);
    // The key `loads` belongs to the contention model `measured`.
    let loads = "loads = [1, 2]\nlatency = \"2 us\"\nbandwidth = \"1 GB/s\"\n";
    let of = |contention: &str| unread(&network(&format!("contention = \"{contention}\"\n{loads}")).unwrap());
    assert_eq!([of("fair"), of("share")], [["inter_node: loads"]; 2]);
    assert_eq!(of("measured"), [""; 0]);
    // A size interval of a level within a node states the key.
    let level = "intra_cmp = { copies = \"none\", interval = [{ latency = \"1 us\", bandwidth = \"1 GB/s\", copy_bandwidth = \"1 GB/s\", copy_count = 2 }] }";
    let text =
        format!("{MACHINE}{NETWORK}").replace("intra_cmp = { latency = \"400 ns\", bandwidth = \"4 GB/s\" }", level);
    assert_eq!(unread(&Platform::load(document(&text), &[]).unwrap()), ["intra_cmp: copies copy_bandwidth copy_count"]);
}

#[test]
fn caches_count_where_a_level_within_a_node_is_fair() {
    let memory = "[cmp]\nmemory_bandwidth = \"9 GB/s\"\ncache = \"1 MB\"\ncopy_traffic = 3\n\
                  [node]\nmemory_bandwidth = \"9 GB/s\"\ncopy_bandwidth = \"8 GB/s\"\n";
    let load = |text: &str| unread(&load_with(text, &[]).unwrap().platform);
    let text = format!("{MACHINE}{NETWORK}{memory}");
    assert_eq!(load(&text), ["cmp: cache copy_traffic", "node: copy_bandwidth"]);
    assert_eq!(load(&text.replace("inter_cmp = {", "inter_cmp = { contention = \"fair\", ")), [""; 0]);
    // Computing blocks whose data fit into a cache need the size of the cache under every contention model.
    let text = text.replace("memory_bandwidth = \"5 GB/s\" }", "memory_bandwidth = \"5 GB/s\", in_cache = {} }");
    assert_eq!(load(&text), ["cmp: copy_traffic", "node: copy_bandwidth"]);
}

#[test]
fn ranks_that_share_a_core_switch_where_any_level_is_fair() {
    let text = format!("{MACHINE}{NETWORK}").replace("flops =", "context_switch = \"5 us\", flops =");
    let load = |text: &str| load_with(text, &[]).unwrap().platform;
    assert_eq!(load(&text).core.context_switch, SimSpan::from_us(5));
    assert_eq!(unread(&load(&text)), ["core: context_switch"]);
    assert_eq!(unread(&load(&text.replace("inter_cmp = {", "inter_cmp = { contention = \"fair\", "))), [""; 0]);
}

#[test]
fn machines_that_come_with_mcpsim_state_nothing_in_vain() {
    for directory in ["configs", "configs/studies", "configs/studies/paper"] {
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(directory);
        for file in std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().path()) {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            if text.contains("[inter_node]") {
                let document = Document::parse(&file.display().to_string(), &text).unwrap();
                assert_eq!(unread(&Platform::load(document, &[]).unwrap()), [""; 0], "{}", file.display());
            }
        }
    }
}

#[test]
fn costs_by_ranks_per_node_are_lists_of_equal_length() {
    let text = "contention = \"fair\"\nlatency = \"2 us\"\nbandwidth = \"1 GB/s\"\nranks_per_node = [2, 8]\n";
    let platform = network(&format!("{text}gap = [\"1 ns\", \"4 ns\"]\nlatency_factor = 0.5")).unwrap();
    let link = platform.link(Level::InterNode);
    let gap = |ranks| link.clone().at_ranks(ranks).rows()[0].gap.as_ps();
    assert_eq!([1, 2, 4, 8, 9].map(gap), [1000, 1000, 2000, 4000, 4000]);
    assert_eq!(link.clone().at_ranks(8).rows()[0].latency, SimSpan::from_us(1));
    // The gap of an interval replaces the list of the level.
    let interval = "interval = [{ up_to = 8, gap = \"7 ns\" }, { send_overhead = [\"5 ns\", \"6 ns\"] }]";
    let platform = network(&format!("{text}gap = [\"1 ns\", \"4 ns\"]\n{interval}")).unwrap();
    let rows = platform.link(Level::InterNode).clone().at_ranks(8);
    let costs = |row: usize| (rows.rows()[row].gap.as_ps(), rows.rows()[row].send_overhead.as_ps());
    assert_eq!([costs(0), costs(1)], [(7000, 0), (4000, 6000)]);
    // The stated gap of both directions belongs to eight ranks. Half the gap gives half the gap of both directions.
    let both = format!("{text}gap = [\"2 ns\", \"4 ns\"]\nduplex_gap = \"3 ns\"");
    let link = network(&both).unwrap().link(Level::InterNode).clone();
    let both = [8, 2].map(|ranks| link.clone().at_ranks(ranks).occupancy().duplex_gap.map(SimSpan::as_ps));
    assert_eq!(both, [Some(3000), Some(1500)]);
    let plain = "contention = \"fair\"\nlatency = \"2 us\"\nbandwidth = \"1 GB/s\"\n";
    for (keys, error) in [
        (
            format!("{text}gap = [\"1 ns\"]"),
            "expected as many times as \"ranks_per_node\" has entries, which is 2, in inter_node.gap of x.toml; \
             found 1 times",
        ),
        (
            format!("{plain}interval = [{{ gap = [\"1 ns\", \"2 ns\"] }}]"),
            "expected one time, or a list beside \"ranks_per_node\", in inter_node.interval[0].gap of x.toml; \
             found 2 times",
        ),
        (
            format!("{plain}ranks_per_node = [8, 2]"),
            "expected 1 to 64 increasing numbers of ranks, such as [2, 16, 32], in inter_node.ranks_per_node of \
             x.toml; found [8, 2]",
        ),
        (
            format!("{plain}ranks_per_node = []"),
            "expected 1 to 64 increasing numbers of ranks, such as [2, 16, 32], in inter_node.ranks_per_node of \
             x.toml; found []",
        ),
        (
            format!("{text}loads = [1, 2]"),
            "expected either \"ranks_per_node\" or \"loads\" in inter_node.ranks_per_node of x.toml; found both",
        ),
    ] {
        assert_eq!(network(&keys).unwrap_err(), error);
    }
}
