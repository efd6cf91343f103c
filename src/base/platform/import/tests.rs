//! Imports of small descriptions, and of damaged ones.

mod networks;

use proptest::prelude::*;

use crate::config::{Document, Override};
use crate::platform::{Level, Members, Platform};

use super::*;

/// A machine without places, to which imported tables are added.
const MACHINE: &str = r#"
name = "imported"
nct = [8, 2, 16]
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

const TREE: &str = "\
# Two levels below the core switch.
SwitchName=s0 Nodes=n[01-03] LinkSpeed=100
switchname=s1 nodes=n[04,06]
SwitchName=s2 Nodes=n05,gpu1 \\
    LinkSpeed=100
SwitchName=s3 Nodes=gpu2
SwitchName=g0 Switches=s[0-1]
SwitchName=g1 Switches=s[2-3]
SwitchName=top Switches=g[0-1]
";

fn import(text: &str) -> Result<ImportedPlaces, String> {
    import_places("in.txt", text, "nodes.txt").map_err(|error| error.to_string())
}

/// Loads the imported places with a machine of `nodes` nodes.
fn loaded(found: &ImportedPlaces, nodes: u32) -> Platform {
    let directory = tempfile::tempdir().unwrap();
    if let Some(list) = &found.list {
        std::fs::write(directory.path().join("nodes.txt"), list).unwrap();
    }
    let name = directory.path().join("platform.toml").display().to_string();
    let document = Document::parse(&name, &format!("{MACHINE}{}", found.toml)).unwrap();
    let nct = Override::parse(&format!("platform.nct=[{nodes},2,16]")).unwrap();
    Platform::load(document, &[nct]).unwrap()
}

#[test]
fn a_tree_of_switches_becomes_groups() {
    let found = import(TREE).unwrap();
    let list = found.list.clone().unwrap();
    let rows: Vec<&str> = list.lines().skip(1).collect();
    let expected = [
        "node switch group",
        "0 s0 g0 # n01",
        "1 s0 g0 # n02",
        "2 s0 g0 # n03",
        "3 s1 g0 # n04",
        "4 s1 g0 # n06",
        "5 s2 g1 # n05",
        "6 s2 g1 # gpu1",
        "7 s3 g1 # gpu2",
    ];
    assert_eq!(rows, expected);
    for note in ["top contains all nodes", "LinkSpeed (2 times)", "latencies and bandwidths are not in the file"] {
        assert!(found.notes.iter().any(|found| found.contains(note)), "{note} in {:?}", found.notes);
    }
    let groups = &loaded(&found, 8).places.groups;
    assert_eq!(groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>(), ["switch", "group"]);
    assert_eq!(groups[0].members, Members::List(vec![0, 0, 0, 1, 1, 2, 2, 3]));
    assert_eq!(groups[1].members, Members::List(vec![0, 0, 0, 0, 0, 1, 1, 1]));
}

#[test]
fn a_switch_beside_a_tree_stands_for_the_missing_larger_group() {
    let found =
        import("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\nSwitchName=c Switches=a,b\nSwitchName=d Nodes=n3")
            .unwrap();
    let list = found.list.clone().unwrap();
    assert_eq!(list.lines().skip(2).collect::<Vec<_>>(), ["0 a c # n1", "1 b c # n2", "2 d d # n3"]);
    assert!(found.notes.iter().any(|note| note.contains("different heights")), "{:?}", found.notes);
    loaded(&found, 3);
}

#[test]
fn blocks_become_groups() {
    let found = import("BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2,4\n").unwrap();
    assert_eq!(found.list.clone().unwrap().lines().nth(1), Some("node block"));
    assert!(found.notes.iter().any(|note| note.contains("BlockSizes (1 times)")), "{:?}", found.notes);
    assert_eq!(loaded(&found, 4).places.groups[0].members, Members::List(vec![0, 0, 1, 1]));
}

#[test]
fn one_switch_is_the_machine() {
    let found = import("SwitchName=s Nodes=n[1-4]").unwrap();
    assert_eq!((found.list.as_deref(), found.toml.contains("[places")), (None, false));
}

#[test]
fn wrong_topologies_are_refused_with_their_line() {
    for (text, expected) in [
        ("", "in.txt: expected SwitchName="),
        ("\n{\"a\": 1}", "in.txt:2: expected SwitchName="),
        ("SwitchName=a Nodes=n[1-", "in.txt:1: expected brackets in pairs"),
        ("SwitchName=a Nodes=n[2-1]", "in.txt:1: expected a range from a smaller"),
        ("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1", "in.txt:2: expected each node once (also in line 1)"),
        ("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2", "in.txt:2: expected each switch once"),
        ("SwitchName=a Nodes=n1\nSwitchName=b Switches=c", "in.txt:2: expected switches that have a line of their own"),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a", "expected a tree without cycles of switches"),
        ("SwitchName=a Switches=a Nodes=n", "expected a tree without cycles of switches"),
        (
            "SwitchName=a Nodes=n1\nSwitchName=b Switches=a\nSwitchName=c Switches=a",
            "in.txt:3: expected a tree, in which a is below one switch (also in line 2)",
        ),
        ("SwitchName=a Nodes=n1\nBlockName=b Nodes=n2", "in.txt:2: expected only switches or only blocks"),
        ("SwitchName=a BlockName=b Nodes=n1", "in.txt:1: expected one name"),
        ("Nodes=n1", "in.txt:1: expected SwitchName="),
        ("SwitchName=a", "in.txt: expected Nodes="),
    ] {
        let error = import(text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

/// Returns XML of hwloc for nested objects: type, number, and attributes.
fn xml(objects: &[(&str, usize, &str)]) -> String {
    fn inside(objects: &[(&str, usize, &str)]) -> String {
        let Some(((of, count, attributes), below)) = objects.split_first() else { return String::new() };
        // Memory lies beside the cores of the same object.
        let (memory, content) = match of.strip_prefix('+') {
            Some(of) => (format!("<object type=\"{of}\" {attributes}/>\n").repeat(*count), inside(below)),
            None => {
                let object = format!("<object type=\"{of}\" {attributes}>\n{}</object>\n", inside(below));
                (object.repeat(*count), String::new())
            }
        };
        memory + &content
    }
    format!(
        "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n{}</topology>\n",
        inside(&[&[("Machine", 1, "")], objects].concat())
    )
}

const CACHE: &str = "cache_size=\"16777216\"";

#[test]
fn a_node_has_processors_domains_and_threads() {
    let text = xml(&[
        ("Package", 2, ""),
        ("Group", 2, ""),
        ("+NUMANode", 1, ""),
        ("L3Cache", 2, CACHE),
        ("L2Cache", 4, "cache_size=\"524288\""),
        ("Core", 1, ""),
        ("PU", 2, ""),
    ]);
    let found = import(&text).unwrap();
    let expected = "\
# A node, from in.txt
nct = [1, 2, 16]

[core]
threads = 2

[places.l3]
cores = 4
cache = \"16 MiB\"

[places.numa]
cores = 8
";
    assert_eq!(found.toml, expected);
    assert!(found.notes.iter().any(|note| note == "objects left out: L2Cache"), "{:?}", found.notes);
    assert_eq!(found.list, None);
}

#[test]
fn a_cache_of_the_whole_processor_is_that_of_the_cmp() {
    let text = xml(&[("Package", 2, ""), ("+NUMANode", 1, ""), ("L3Cache", 1, CACHE), ("Core", 6, ""), ("PU", 1, "")]);
    let found = import(&text).unwrap();
    assert_eq!(found.toml, "# A node, from in.txt\nnct = [1, 2, 6]\n\n[cmp]\ncache = \"16 MiB\"\n");
}

#[test]
fn numa_domains_of_the_size_of_caches_are_a_second_name() {
    let text = xml(&[("Package", 1, ""), ("L3Cache", 4, CACHE), ("+NUMANode", 1, ""), ("Core", 4, "")]);
    let found = import(&text).unwrap();
    assert!(found.toml.contains("[places.l3]\ncores = 4\ncache"), "{}", found.toml);
    assert!(found.toml.ends_with("[places.numa]\ncores = 4\n"), "{}", found.toml);
}

#[test]
fn uneven_domains_and_several_memories_are_notes() {
    let core = "<object type=\"Core\"/>";
    let text = format!(
        "<topology version=\"2.0\"><object type=\"Machine\"><object type=\"Package\"><object type=\"NUMANode\"/>\
         <object type=\"NUMANode\"/><object type=\"L3Cache\" {CACHE}>{core}{core}</object><object type=\"L3Cache\" \
         {CACHE}>{core}</object></object></object></topology>"
    );
    let found = import(&text).unwrap();
    assert_eq!(found.toml, "# A node, from in.txt\nnct = [1, 1, 3]\n");
    for note in ["objects L3Cache do not divide the cores of each processor evenly", "HBM and DRAM"] {
        assert!(found.notes.iter().any(|found| found.contains(note)), "{note} in {:?}", found.notes);
    }
}

#[test]
fn wrong_xml_is_refused_with_its_line() {
    let two = "<topology version=\"2.0\">\n<object type=\"Package\"><object type=\"Core\"/></object>\n<object \
               type=\"Package\"><object type=\"Core\"/><object type=\"Core\"/></object></topology>";
    for (text, expected) in [
        ("<topology", "in.txt:1: expected XML of hwloc"),
        ("<topology version=\"2.0\">\n<object>\n</topology>", "in.txt:3: expected XML of hwloc"),
        ("<html/>", "in.txt:1: expected the element <topology> of hwloc"),
        ("\n<topology/>", "in.txt:2: expected version 2 of hwloc's XML"),
        ("<topology version=\"2.0\"/>", "in.txt:1: expected objects of the type Core"),
        (two, "in.txt:3: expected 1 core in each processor"),
    ] {
        let error = import(text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn deep_xml_is_no_crash() {
    let deep = "<object>".repeat(20_000) + &"</object>".repeat(20_000);
    assert!(import(&format!("<topology version=\"2.0\">{deep}</topology>")).is_err());
    assert!(import(&"<a>".repeat(100_000)).is_err());
}

#[test]
fn imported_domains_fit_a_machine() {
    let text = xml(&[("Package", 2, ""), ("Group", 2, ""), ("+NUMANode", 1, ""), ("Core", 8, "")]);
    let found = import(&text).unwrap();
    let tables = found.toml.replace("nct = [1, 2, 16]\n", "");
    let platform = loaded(&ImportedPlaces { toml: tables, ..found }, 1);
    assert_eq!(platform.places.domains[0].cores, 8);
    assert_eq!(platform.link(Level::IntraCmp).rows().len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_descriptions_are_no_crash(
        is_xml: bool,
        cuts in prop::collection::vec((0.0..1.0_f64, 0_usize..12, "[<>=\\[\\],0-9a-z \\\\\n\"/-]{0,6}"), 1..5),
    ) {
        let sound = [("Package", 2, ""), ("+NUMANode", 1, ""), ("L3Cache", 2, CACHE), ("Core", 2, ""), ("PU", 2, "")];
        let mut text = if is_xml { xml(&sound) } else { TREE.to_owned() };
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
