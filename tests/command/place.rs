//! `mcpsim place`: the placement that it finds, its rank files, and its errors.

use crate::support::run;

/// Ranks r and r + 2 exchange messages, so they belong on one node.
const APP: &str = "main = [{ repeat = 5, do = [{ sendrecv = { to = \"(rank + 2) % size\", from = \"(rank + 2) % size\", \
                   bytes = 100000 } }] }]\n";

#[test]
fn partners_are_placed_on_one_node() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(here.join("a.toml"), APP).unwrap();
    let predicted = |line: &str| {
        let ran = run(here, &format!("--nct 2,1,2 {line} --quiet --json - a.toml"));
        let outcome: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        outcome["predicted_ps"].as_u64().unwrap()
    };
    let ran = run(here, "place --nct 2,1,2 --tries 20 a.toml -o ranks.txt");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
    assert!(ran.stdout.contains("  placements tried  20, "), "{}", ran.stdout);
    assert_eq!(std::fs::read_to_string(here.join("ranks.txt")).unwrap(), "0 0 0\n1 0 0\n0 0 1\n1 0 1\n");
    assert!(predicted("--placement ranks.txt") < predicted(""));
    for (format, expected) in [
        ("openmpi", "rank 0=a slot=0:0\nrank 1=b slot=0:0\nrank 2=a slot=0:1\nrank 3=b slot=0:1\n"),
        ("mpich", "a:1\nb:1\na:1\nb:1\n"),
        ("slurm", "a\nb\na\nb\n"),
    ] {
        let ran = run(here, &format!("place --nct 2,1,2 --tries 2 --host-names a,b --format {format} a.toml -o -"));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), expected), "{}", ran.stderr);
    }
}

#[test]
fn wrong_input_is_explained() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(here.join("a.toml"), APP).unwrap();
    std::fs::write(here.join("jobs.toml"), "jobs.a = { app = \"a.toml\", ranks = 4 }\n").unwrap();
    for (line, error) in [
        ("--host-names a a.toml", "--host-names: expected 2 names, one per node; found 1"),
        ("jobs.toml", "jobs.toml: expected one application; found several jobs"),
        ("--model loggp a.toml", "--model loggp: expected mcpsim, because other models do not distinguish all cores"),
    ] {
        let ran = run(here, &format!("place --nct 2,1,2 {line}"));
        assert_eq!((ran.code, ran.stderr.trim_end()), (Some(2), format!("error: {error}").as_str()));
    }
}
