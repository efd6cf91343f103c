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
    assert!(import("<platform version=\"4.1\"><cluster></platform>").unwrap_err().contains("expected XML of SimGrid"));
}

fn zone(routing: &str, content: &str) -> String {
    format!(
        "<?xml version='1.0'?>\n<platform version=\"4.1\"><zone id=\"z\" routing=\"{routing}\">\n{content}\n</zone></platform>\n"
    )
}

/// Returns four hosts, and links of 1 GB/s and 1 us between them and two switches, which have a link of 2 GB/s.
fn tree_of_links() -> String {
    let hosts = ["a", "b", "c", "d"].map(|of| format!("<host id=\"{of}\" speed=\"1Gf\" core=\"2\"/>")).concat();
    let link =
        |id: &str| format!("<link id=\"{id}\" bandwidth=\"1GBps\" latency=\"1us\" sharing_policy=\"SPLITDUPLEX\"/>\n");
    let links = ["la", "lb", "lc", "ld"].map(link).concat();
    format!("{hosts}\n{links}<link id=\"up\" bandwidth=\"2e9\" latency=\"0.000003\" sharing_policy=\"FATPIPE\"/>\n")
}

fn route(from: &str, to: &str, links: &[&str]) -> String {
    let links = links.iter().map(|id| format!("<link_ctn id=\"{id}\"/>")).collect::<String>();
    format!("<route src=\"{from}\" dst=\"{to}\">{links}</route>\n")
}

#[test]
fn explicit_routes_of_simgrid_become_switches() {
    let pairs = [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")];
    let all = pairs.map(|(from, to)| {
        let own = [format!("l{from}"), format!("l{to}")];
        let is_far = "ab".contains(from) && "cd".contains(to);
        let links = if is_far { vec![own[0].as_str(), "up", &own[1]] } else { vec![own[0].as_str(), &own[1]] };
        route(from, to, &links)
    });
    let content = tree_of_links() + &all.concat() + &route("a", "a", &["la"]);
    let found = import(&zone("Full", &content)).unwrap();
    let platform = loaded(&found, "");
    assert_eq!((platform.shape.nodes, platform.shape.cores), (4, 2));
    let found_network = network(&platform);
    assert_eq!([1, 2, 3].map(|to| found_network.path(0, to).len()), [0, 1, 1]);
    assert_eq!((found_network.switches(), found_network.links().count()), (2, 2));
    let between = platform.link(crate::platform::Level::InterNode).row(crate::units::Bytes::new(1));
    assert_eq!((between.latency.as_ps(), between.bandwidth.get()), (2_000_000, 1_000_000_000));
    let far = found_network.class(0, 2);
    assert_eq!((found_network.added_latency(far).as_ps(), found_network.layers()[0].bandwidth), (3_000_000, None));
    assert!(found.notes.iter().any(|note| note.starts_with("1 routes of hosts to themselves")), "{:?}", found.notes);
    // Routers and Floyd describe the same network.
    let own =
        ["a", "b", "c", "d"].map(|of| route(of, if "ab".contains(of) { "r0" } else { "r1" }, &[&format!("l{of}")]));
    let routers = "<router id=\"r0\"/><router id=\"r1\"/>";
    let content = tree_of_links() + routers + &own.concat() + &route("r0", "r1", &["up"]);
    let floyd = loaded(&import(&zone("Floyd", &content)).unwrap(), "");
    assert_eq!([1, 2, 3].map(|to| network(&floyd).path(0, to).len()), [0, 1, 1]);
    // A link that all routes pass is a backbone.
    let star = pairs.map(|(from, to)| route(from, to, &[&format!("l{from}"), "up", &format!("l{to}")])).concat();
    let star = import(&zone("Full", &(tree_of_links() + &star))).unwrap();
    assert!(star.notes.iter().any(|note| note.contains("(backbones) are left out")), "{:?}", star.notes);
    // Hosts whose links differ are switches of their own.
    let unequal = content.replacen("1GBps", "3GBps", 1);
    let unequal = loaded(&import(&zone("Floyd", &unequal)).unwrap(), "");
    assert_eq!([1, 2, 3].map(|to| network(&unequal).path(0, to).len()), [2, 3, 3]);
}

#[test]
fn routes_of_simgrid_that_cannot_be_are_refused_with_their_line() {
    let with = |content: &str| import(&zone("Full", &(tree_of_links() + content))).unwrap_err();
    for (content, expected) in [
        (route("a", "x", &["la"]), "in.xml:9: expected a host or router as dst; found \"x\""),
        (route("a", "b", &["l"]), "in.xml:9: expected the id of a link; found \"l\""),
        (route("a", "b", &[]), "expected <link_ctn id=\"…\"/> in a route; found none"),
        ("<link id=\"la\" bandwidth=\"1\"/>".to_owned(), "an id that no other link has"),
        ("<link id=\"x\" bandwidth=\"wide\"/>".to_owned(), "bandwidth=\"1GBps\"; found \"wide\""),
        ("<host id=\"a\"/>".to_owned(), "an id that no other host or router has"),
        ("<host id=\"e\" core=\"3\"/>".to_owned(), "as many cores as the other hosts have; found 3"),
        ("<peer id=\"p\"/>".to_owned(), "hosts, routers, links and routes of one zone; found <peer>"),
        ("<zone id=\"y\"><host id=\"e\"/></zone>".to_owned(), "all hosts in one zone"),
        (
            route("a", "b", &["la", "lb"])
                + &route("b", "c", &["lb", "lc"])
                + &route("a", "c", &["la", "ld", "up", "lc"]),
            "in.xml:11: expected routes with the fewest links",
        ),
    ] {
        let error = with(&content);
        assert!(error.contains(expected), "{content}: {error}");
    }
    let none = import("<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"></zone></platform>").unwrap_err();
    assert!(none.contains("one element <cluster>, or a zone with <host>"), "{none}");
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
