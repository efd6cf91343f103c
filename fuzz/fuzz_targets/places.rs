//! Readers of places, networks and hosts: files of Slurm, ibnetdiscover, hwloc and SimGrid, lists of switches and links,
//! and placements. What a reader accepts, the next step accepts too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpsim_core::config::{Document, Lines};
use mcpsim_core::platform::{LinkNetwork, Placement, Places, Shape, expand_hosts, import_places};

/// Greatest number of nodes whose paths are followed.
const MOST_NODES: u32 = 12;

fuzz_target!(|text: &str| {
    if let Ok(found) = import_places("in.txt", text, "list.txt") {
        Document::parse("part.toml", &found.toml).expect("an imported part is TOML");
        if let Some(list) = found.list.filter(|_| found.toml.contains("topology = \"graph\"")) {
            let _ = LinkNetwork::of_list("list.txt", &list).map(|network| follow(&network));
        }
    }
    let _ = LinkNetwork::of_list("list.txt", text).map(|network| follow(&network));
    let _ = expand_hosts(text);
    let shape = Shape { nodes: 4, cmps: 2, cores: 2 };
    if let Ok(sites) = Placement::of_hosts(&Lines::parse("ranks.txt", text), shape, &Places::default()) {
        assert!(sites.iter().all(|site| shape.contains(*site)));
    }
});

/// Follows the path between each pair of nodes.
fn follow(network: &LinkNetwork) {
    let nodes = network.nodes().min(MOST_NODES);
    for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
        let mut at = network.switch(from);
        for link in network.path(from, to) {
            let [start, end] = network.ends(link).expect("a path has links of the network");
            assert_eq!(at, start, "consecutive links share a switch");
            at = end;
        }
        assert_eq!(at, network.switch(to), "a path ends at its receiver");
    }
}
