//! Tests of `mcpsim platform`.

use std::path::Path;

use crate::bad_input::says;
use crate::support::{Ran, run};

/// Nodes of two CMPs of 4 cores, which share L3 caches in pairs, and switches of two nodes.
const TREE: &str = r#"
name = "tree"
nct = [4, 2, 4]
[core]
flops = "1 Gflop/s"
instructions = "1 Ginstr/s"
memory_bandwidth = "1 GB/s"
[cmp]
memory_bandwidth = "3 GB/s"
[intra_cmp]
latency = "10 ns"
bandwidth = "1 GB/s"
[inter_cmp]
latency = "100 ns"
bandwidth = "2 GB/s"
[inter_node]
contention = "fair"
capacity = "4 GB/s"
latency = "1 us"
bandwidth = "1 GB/s"
send_overhead = "200 ns"
recv_overhead = "300 ns"
eager_threshold = "64 KiB"
[places.l3]
cores = 2
cache = "1 MiB"
latency = "4 ns"
[places.switch]
nodes = 2
uplink_latency = "150 ns"
uplink_bandwidth = "6 GB/s"
"#;

fn shown(line: &str) -> Ran {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("tree.toml"), TREE).unwrap();
    run(directory.path(), line)
}

/// Returns the lines of the output, with single blanks between words.
fn lines(line: &str) -> Vec<String> {
    let Ran { code, stdout, stderr } = shown(line);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{line}");
    assert!(stdout.lines().all(|line| line.chars().count() <= 80), "{stdout}");
    stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn show_prints_places_and_costs() {
    let found = lines("platform show tree.toml");
    for expected in [
        "tree: 4 nodes x 2 CMPs x 4 cores = 32 cores",
        "core 32 1 core - 1.000 GB/s - -",
        "l3 16 2 cores 1 MiB - - -",
        "cmp 8 4 cores - 3.000 GB/s - -",
        "node 4 8 cores - - - -",
        "switch 2 2 nodes - - 150.0 ns 6.000 GB/s",
        "machine 1 4 nodes - - - -",
        "l3 8 B 4.000 ns 1.000 GB/s 0 s eager ideal",
        "cmp 1 MiB 10.00 ns 1.000 GB/s 0 s eager ideal",
        "node 8 B 100.0 ns 2.000 GB/s 0 s eager ideal",
        "switch 8 B 1.000 us 1.000 GB/s 500.0 ns eager fair",
        "machine 1 MiB 1.300 us 1.000 GB/s 500.0 ns rendezvous fair",
    ] {
        assert!(found.iter().any(|line| line == expected), "{expected} in\n{}", found.join("\n"));
    }
}

#[test]
fn show_prints_the_route_of_a_pair() {
    for cores in ["0,31", "0.0.0,3.1.3"] {
        let found = lines(&format!("platform show tree.toml --pair {cores}"));
        let at = found.iter().position(|line| line.starts_with("core 0.0.0 to core 3.1.3")).expect(cores);
        assert!(found[at].ends_with("least common place machine"), "{}", found[at]);
        let route = [
            "adapter, out node 0 - 4.000 GB/s",
            "uplink, out switch 0 150.0 ns 6.000 GB/s",
            "uplink, in switch 1 150.0 ns 6.000 GB/s",
            "adapter, in node 3 - 4.000 GB/s",
        ];
        assert_eq!(found[found.len() - 4..], route, "{}", found.join("\n"));
    }
    assert!(
        lines("platform show tree.toml --pair 0,1")
            .contains(&"core 0.0.0 to core 0.0.1: least common place l3".to_owned())
    );
}

#[test]
fn show_follows_settings_and_shapes() {
    let found = lines("platform show tree.toml --nct 3,1,4 --set platform.places.switch.uplink_latency=1us");
    assert!(found.contains(&"tree: 3 nodes x 1 CMP x 4 cores = 12 cores".to_owned()), "{found:?}");
    assert!(found.contains(&"switch 2 1 to 2 nodes - - 1.000 us 6.000 GB/s".to_owned()), "{found:?}");
    assert!(found.iter().any(|line| line.starts_with("machine 8 B 3.000 us")), "{found:?}");
}

#[test]
fn show_draws_a_node_and_its_groups() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("tree.toml"), TREE).unwrap();
    let ran = run(directory.path(), "platform show tree.toml --figures drawn --format svg");
    assert!(ran.stdout.ends_with("in drawn: machine-node, machine-network\n"), "{}", ran.stdout);
    let text = std::fs::read_to_string(directory.path().join("drawn/machine-network.svg")).unwrap();
    assert!(["switch 0", "switch 1", "uplinks of switch: 150.0 ns"].iter().all(|word| text.contains(word)), "{text}");
    assert!(directory.path().join("drawn/machine-node.svg").exists());
}

#[test]
fn ranks_are_on_the_hosts_that_files_name() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(here.join("tree.toml"), TREE).unwrap();
    std::fs::write(here.join("a.toml"), "main = [\"barrier\"]").unwrap();
    std::fs::write(here.join("ranks"), "rank 1=n3 slot=1:2\nrank 0=n2 slot=3\n").unwrap();
    std::fs::write(here.join("hosts"), "n4 slots=2\n").unwrap();
    let placed = |options: &str| {
        let line = format!("--platform tree.toml --set platform.hosts=n[1-4] --ranks 2 --json - {options} a.toml");
        let ran = run(here, &line);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        ["node", "cmp", "core"].map(|key| [0, 1].map(|rank| json["per_rank"][rank][key].as_u64().unwrap()))
    };
    assert_eq!(placed("--placement ranks"), [[1, 2], [0, 1], [3, 2]]);
    assert_eq!(placed("--placement hosts"), [[3, 3], [0, 0], [0, 1]]);
    let job = run(here, "--platform tree.toml --set platform.hosts=n[1-4] --json - --job a.toml:ranks=2:hosts=n[3-4]");
    let job: serde_json::Value = serde_json::from_str(&job.stdout).unwrap();
    assert_eq!(job["jobs"][0]["nodes"], "2");
}

#[test]
fn show_writes_json() {
    let Ran { code, stdout, .. } = shown("platform show tree.toml --pair 0,8 --json -");
    assert_eq!(code, Some(0));
    let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(json["nct"], serde_json::json!([4, 2, 4]));
    assert_eq!(json["places"][4]["uplink_latency_ps"], 150_000);
    assert_eq!(json["costs"][4]["messages"][1]["latency_ps"], 1_300_000);
    assert_eq!(json["pair"]["costs"]["place"], "switch");
    assert_eq!(json["pair"]["resources"][0]["resource"], "adapter_out");
}

#[test]
fn every_included_machine_is_shown() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs");
    let mut count = 0;
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if path.extension().is_some_and(|ending| ending == "toml") && text.contains("[inter_node") {
            lines(&format!("platform show {} --pair 0,1", path.display()));
            count += 1;
        }
    }
    assert!(count >= 6, "{count} machines");
}

/// Two switches of two nodes below a core switch.
const SLURM: &str = "SwitchName=s0 Nodes=n[1-2]\nSwitchName=s1 Nodes=n[3-4]\nSwitchName=top Switches=s[0-1]\n";

#[test]
fn import_writes_tables_and_the_list_that_they_name() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(here.join("topology.conf"), SLURM).unwrap();
    std::fs::create_dir(here.join("out")).unwrap();
    let Ran { code, stdout, stderr } = run(here, "platform import topology.conf -o out/lab");
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(
        stdout.starts_with("wrote out/lab.toml\nwrote out/lab.nodes.txt\nnote: top contains all nodes"),
        "{stdout}"
    );
    let list = std::fs::read_to_string(here.join("out/lab.nodes.txt")).unwrap();
    assert!(list.ends_with("node switch\n0 s0 # n1\n1 s0 # n2\n2 s1 # n3\n3 s1 # n4\n"), "{list}");
    let places = std::fs::read_to_string(here.join("out/lab.toml")).unwrap();
    let machine = TREE.split("[places.switch]").next().unwrap();
    std::fs::write(here.join("out/machine.toml"), format!("{machine}{places}")).unwrap();
    let shown = run(here, "platform show out/machine.toml --pair 0,31").stdout;
    assert!(shown.contains("least common place machine"), "{shown}");
    assert!(shown.lines().any(|line| line.contains("switch") && line.contains("2 nodes")), "{shown}");
}

#[test]
fn import_prints_tables_list_and_notes() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(here.join("topology.conf"), SLURM).unwrap();
    let Ran { code, stdout, .. } = run(here, "platform import topology.conf");
    assert_eq!(code, Some(0));
    for part in
        ["[places.switch]\nnodes = \"nodes.txt\"\n", "# Save the following lines as nodes.txt.", "\n# note: top"]
    {
        assert!(stdout.contains(part), "{part} in\n{stdout}");
    }
    std::fs::write(here.join("wrong.conf"), "SwitchName=s0 Nodes=n[1-").unwrap();
    let error = "wrong.conf:1: expected brackets in pairs in \"n[1-\"; found \"Nodes=n[1-\"";
    says(&run(here, "platform import wrong.conf"), error, "wrong.conf");
    says(
        &run(here, "platform import topology.conf -o no/lab"),
        "--output no/lab.toml: no such directory: no",
        "no such directory",
    );
}

#[test]
fn bad_input_is_refused() {
    for (line, error) in [
        (
            "platform show tree.toml --pair 0",
            "--pair 0: expected two cores, each a number or NODE.CMP.CORE, such as 0,5 or 0.0.0,1.0.3",
        ),
        ("platform show tree.toml --pair 0,32", "--pair 0,32: expected cores from 0 to 31, or 0.0.0 to 3.1.3"),
        ("platform show none.toml", "none.toml: no such file"),
        (
            "platform show tree.toml --set run.ranks=3",
            "--set run.ranks: expected a platform key, which begins with \"platform.\"",
        ),
        (
            "platform show tree.toml --nct 4,2,3",
            "--nct (4, 2, 3): places.l3 has 2 cores: expected a divisor of the 3 cores of a CMP",
        ),
    ] {
        says(&shown(line), error, line);
    }
}
