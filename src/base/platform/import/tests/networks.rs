//! Imports of networks: clusters of SimGrid, output of ibnetdiscover, Slurm's topology.yaml.

use proptest::prelude::*;

use crate::config::Document;
use crate::platform::{LinkNetwork, Platform, import_places};

use super::super::ImportedPlaces;

/// The tables that imported parts lack.
const REST: &str = r#"
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
"#;

fn import(text: &str) -> Result<ImportedPlaces, String> {
    import_places("in.xml", text, "nodes.txt").map_err(|error| error.to_string())
}

fn loaded(found: &ImportedPlaces, rest: &str) -> Platform {
    let directory = tempfile::tempdir().unwrap();
    if let Some(list) = &found.list {
        std::fs::write(directory.path().join("nodes.txt"), list).unwrap();
    }
    let name = directory.path().join("platform.toml").display().to_string();
    let text = format!("name = \"imported\"\n{}{REST}{rest}", found.toml);
    Platform::load(Document::parse(&name, &text).unwrap(), &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn cluster(attributes: &str) -> String {
    format!(
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
         <platform version=\"4.1\">\n<cluster id=\"c\" speed=\"1Gf\" bw=\"125MBps\" lat=\"50us\" {attributes}/>\n\
         </platform>\n"
    )
}

fn network(platform: &Platform) -> &LinkNetwork {
    platform.places.network.as_ref().expect("a network")
}

#[test]
fn clusters_of_simgrid_become_networks() {
    let platform = |attributes: &str| loaded(&import(&cluster(attributes)).unwrap(), "");
    let tree = platform("radical=\"0-15\" topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1,2;1,2\" core=\"4\"");
    assert_eq!((tree.shape.nodes, tree.shape.cores, network(&tree).links().count()), (16, 4, 2 * 4 * 2 * 2));
    assert_eq!([1, 4].map(|to| network(&tree).path(0, to).len()), [0, 2]);
    let inter_node = tree.link(crate::platform::Level::InterNode).row(crate::units::Bytes::new(1));
    assert_eq!((inter_node.latency.as_ps(), inter_node.bandwidth.get()), (100_000_000, 125_000_000));
    let torus = platform("radical=\"0-11\" topology=\"TORUS\" topo_parameters=\"3,2,2\"");
    assert_eq!((network(&torus).nodes(), network(&torus).path(0, 11).len()), (12, 3));
    let dragonfly = "radical=\"0-63\" topology=\"DRAGONFLY\" topo_parameters=\"4,3;1,1;8,2;2\"";
    assert_eq!(network(&platform(dragonfly)).links().count(), 4 * 8 * 7 * 2 + 4 * 3 * 3);
    let star = import(&cluster("radical=\"0-3,7\" bb_bw=\"1GBps\" bb_lat=\"1us\" sharing_policy=\"SHARED\"")).unwrap();
    assert_eq!((loaded(&star, "").shape.nodes, star.notes.len()), (5, 3));
}

#[test]
fn clusters_that_cannot_be_are_refused_with_their_line() {
    for (attributes, expected) in [
        ("radical=\"0-16\" topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1,2;1,2\"", "in.xml:4: expected 16 hosts"),
        ("radical=\"0-15\" topology=\"FAT_TREE\" topo_parameters=\"2;4,4;2,2;1,2\"", "one link per host"),
        ("radical=\"0-15\" topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1\"", "LEVELS;DOWN;UP;PARALLEL"),
        ("radical=\"0-15\" topology=\"FAT_TREE\"", "topo_parameters=\"…\" in <cluster>; found none"),
        ("radical=\"0-15\" topology=\"TORUS\" topo_parameters=\"4,x\"", "lists of numbers"),
        ("radical=\"0-15\" topology=\"TORUS\" topo_parameters=\"65536,65536\"", "at least one host"),
        ("radical=\"0-15\" topology=\"DRAGONFLY\" topo_parameters=\"4,3;2,1;8,2;2\"", "groups of one chassis"),
        ("radical=\"0-15\" topology=\"RING\"", "FLAT, FAT_TREE, TORUS or DRAGONFLY"),
        ("radical=\"9-3\"", "numbers and ranges of hosts"),
        ("", "radical=\"…\" in <cluster>; found none"),
    ] {
        let error = import(&cluster(attributes)).unwrap_err();
        assert!(error.contains(expected), "{attributes}: {error}");
    }
    let hosts =
        "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/></zone></platform>";
    assert!(import(hosts).unwrap_err().contains("hosts with routes of their own are not read"));
    assert!(import("<platform version=\"4.1\"><cluster></platform>").unwrap_err().contains("expected XML of SimGrid"));
}

const FABRIC: &str = "\
# Topology file: generated on a day
vendid=0x2c9
switchguid=0xa(a)
Switch\t4 \"S-00a\"\t\t# \"MF0;leaf a:MQM8700/U1\" enhanced port 0 lid 2 lmc 0
[1]\t\"H-001\"[1](1) \t\t# \"n01 HCA-1\" lid 4 4xHDR
[2]\t\"H-002\"[1](2) \t\t# \"n02 HCA-1\" lid 5 4xHDR
[3]\t\"S-00b\"[3]\t\t# \"MF0;leaf b:MQM8700/U1\" lid 7 4xHDR
[4]\t\"S-00b\"[4]\t\t# \"MF0;leaf b:MQM8700/U1\" lid 7 2xHDR

switchguid=0xb(b)
Switch\t4 \"S-00b\"\t\t# \"MF0;leaf b:MQM8700/U1\" enhanced port 0 lid 7 lmc 0
[1]\t\"H-003\"[1](3) \t\t# \"n03 HCA-1\" lid 6 4xHDR
[2]\t\"H-004\"[1](4) \t\t# \"n02 HCA-2\" lid 6 4xHDR
[3]\t\"S-00a\"[3]\t\t# \"MF0;leaf a:MQM8700/U1\" lid 2 4xHDR
[4]\t\"S-00a\"[4]\t\t# \"MF0;leaf a:MQM8700/U1\" lid 2 2xHDR

caguid=0x1
Ca\t1 \"H-001\"\t\t# \"n01 HCA-1\"
[1](1) \t\"S-00a\"[1]\t\t# lid 4 lmc 0 \"MF0;leaf a:MQM8700/U1\" lid 2 4xHDR
";

#[test]
fn ibnetdiscover_becomes_a_list_of_switches_and_links() {
    let found = import(FABRIC).unwrap();
    assert!(found.notes[0].contains("1 further adapters"), "{:?}", found.notes);
    let between = "[inter_node]\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\n";
    let platform = loaded(&found, between);
    let network = network(&platform);
    assert_eq!((network.nodes(), network.switches(), network.links().count()), (3, 2, 4));
    let bandwidths: Vec<_> = network.layers().iter().map(|layer| layer.bandwidth.unwrap().get()).collect();
    assert_eq!(bandwidths, [12_500_000_000, 25_000_000_000]);
    assert_eq!([1, 2].map(|to| network.path(0, to).len()), [0, 1]);
    for (from, to, expected) in [
        ("\"S-00b\"[3]", "S-00b[3]", "in.xml:7: expected [PORT] \"S-GUID\"[PORT]"),
        ("Switch\t4 \"S-00a\"", "Switch\t4", "in.xml:4: expected Switch PORTS"),
        ("[1]\t\"H-001\"", "[x]\t\"H-001\"", "in.xml:5: expected [PORT]"),
    ] {
        let error = import(&FABRIC.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(expected), "{to}: {error}");
    }
    assert!(import("switchguid=0xa(a)\n").unwrap_err().contains("a port of a switch with the adapter of a node"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_networks_are_no_crash(
        kind in 0..5_usize,
        cuts in prop::collection::vec((0.0..1.0_f64, 0_usize..12, "[<>=\\[\\],;0-9a-zA-Z \\\\\n\"/-]{0,6}"), 1..5),
    ) {
        let topologies = [
            "radical=\"0-15\" topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1,2;1,2\"",
            "radical=\"0-11\" topology=\"TORUS\" topo_parameters=\"3,2,2\"",
            "radical=\"0-63\" topology=\"DRAGONFLY\" topo_parameters=\"4,3;1,1;8,2;2\"",
        ];
        let mut text = match kind {
            0..3 => cluster(topologies[kind]),
            3 => FABRIC.to_owned(),
            _ => YAML.to_owned(),
        };
        for (place, length, new) in cuts {
            let start = (text.len() as f64 * place) as usize;
            let end = (start + length).min(text.len());
            text.replace_range(start..end, &new);
        }
        if let Ok(found) = import(&text) {
            found.toml.parse::<toml::Table>().unwrap();
        }
    }
}

const YAML: &str = "---
- topology: tree
  cluster_default: true
  tree:
    switches:
      - switch: root
        children: s[0-1]
      - switch: s0
        nodes: n[01-02]
      - switch: s1
        nodes: \"n[03-04]\"
";

#[test]
fn topology_yaml_is_read_as_topology_conf() {
    let conf = "SwitchName=root Switches=s[0-1]\nSwitchName=s0 Nodes=n[01-02]\nSwitchName=s1 Nodes=n[03-04]\n";
    assert_eq!(import(YAML), import(conf));
    let block = "- topology: b\n  block:\n    block_sizes:\n      - 2\n    blocks:\n      - block: b1\n        \
        nodes: n[01-02]\n      - block: b2\n        nodes: n[03-04]\n";
    assert_eq!(import(block), import("BlockName=b1 Nodes=n[01-02]\nBlockName=b2 Nodes=n[03-04]\n"));
    let error = import(&YAML.replace("n[01-02]", "n[01-")).unwrap_err();
    assert!(error.starts_with("in.xml:8:"), "{error}");
}
