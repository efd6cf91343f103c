//! Error messages for invalid jobs.

use super::*;

/// Asserts the error of each jobs file with its arguments. The directory has an application `a.toml`, a list `free.txt`
/// and a list of cores `cores.txt`.
fn files(cases: &[(&str, &str, &str)]) {
    let directory = directory();
    let here = directory.path();
    write(here, "a.toml", "main = [\"barrier\"]\nparams.n = 1\n");
    write(here, "stuck.toml", "main = [{ recv = { from = \"(rank + 1) % size\" } }]\n");
    write(here, "free.txt", "0\n2-x\n");
    write(here, "cores.txt", "0 0 0\n3 0 1\n");
    for (text, line, error) in cases {
        write(here, "jobs.toml", text);
        says(&run(here, &format!("jobs.toml --nct 4,1,2 {line}")), error, &format!("{text} {line}"));
    }
}

/// Returns a jobs file with the jobs `a` and `b` of the application `a.toml` and these keys.
fn two(a: &str, b: &str) -> String {
    format!("[jobs.a]\napp = \"a.toml\"\n{a}\n[jobs.b]\napp = \"a.toml\"\n{b}\n")
}

#[test]
fn allocations_that_do_not_fit() {
    let overlap = two("hosts = \"0-1\"", "hosts = [1, 2]");
    let shared = two("hosts = 3\ncores = 1", "placement = \"cores.txt\"");
    let twice = two("hosts = \"0,1,0\"", "ranks = 1");
    let large = two("ranks = 4", "ranks = 5");
    let list = "numbers from 0 such as \"0-3,8\", or a file with such lines";
    files(&[
        (
            &overlap,
            "",
            "jobs a and b overlap: both have node 1, CMP 0, core 0; give other hosts or cores, or --oversubscribe",
        ),
        (
            &shared,
            "",
            "jobs a and b overlap: both have node 3, CMP 0, core 1; give other hosts or cores, or --oversubscribe",
        ),
        (&twice, "", &format!("expected {list} in jobs.a.hosts of jobs.toml:3; found 0 twice")),
        (&large, "", "job b needs 3 of the 4 nodes, and 2 are free: give fewer ranks or nodes, or a larger --nct"),
        (
            &two("hosts = \"n[1-2]\"", "ranks = 1"),
            "",
            "job a: hosts: expected numbers of nodes, because the platform has no key hosts with names; found \"n1\"",
        ),
        (
            &two("hosts = \"n[1-2]\"", "ranks = 1"),
            "--set platform.hosts=n[2-17]",
            "job a: hosts: expected names that the key hosts of the platform has; found \"n1\"",
        ),
        (
            &two("hosts = \"n[1-\"", "ranks = 1"),
            "",
            "expected brackets in pairs in \"n[1-\" in jobs.a.hosts of jobs.toml:3; found \"n[1-\"",
        ),
        (
            &two("hosts = \"n1,n1\"", "ranks = 1"),
            "",
            "expected each host once in jobs.a.hosts of jobs.toml:3; found \"n1\" twice",
        ),
        (&two("hosts = 4", "ranks = 1"), "", "job a names node 4: the machine has nodes 0 to 3"),
        (
            &format!("free_nodes = \"0-2\"\n{}", two("hosts = 3", "ranks = 1")),
            "",
            "job a names node 3, which free_nodes does not contain",
        ),
        (&two("hosts = 3\ncores = \"1-2\"", "ranks = 1"), "", "job a: cores names core 2: a node has cores 0 to 1"),
        (
            &two("hosts = 3\nranks = 3", "ranks = 1"),
            "",
            "job a: 3 ranks on 2 cores: give fewer --ranks, a larger --nct, or --oversubscribe",
        ),
        (
            &two("hosts = 3\ncores = 0\nranks = 2", "ranks = 1"),
            "",
            "job a: 2 ranks on 1 node with at most 1 rank each: give fewer ranks, more nodes or cores, or --oversubscribe",
        ),
        (
            &two("ranks = 1\nallocation = \"pack rack\"", "ranks = 1"),
            "",
            "allocation of job a: the machine has no groups of nodes such as \"rack\"",
        ),
        (
            &two("", "ranks = 1"),
            "",
            "job a: expected ranks, nodes or hosts, because jobs share the machine; found none",
        ),
        (
            &two("ranks = 2\nhosts = 0", "ranks = 1\nhosts = 0\nstart = \"1 us\""),
            "--oversubscribe",
            "job b: expected no start, because ranks of this run share cores, and a rank that has not started would occupy \
             its core",
        ),
    ]);
}

#[test]
fn keys_of_jobs_files() {
    let list = "numbers from 0 such as \"0-3,8\", or a file with such lines";
    files(&[
        ("jobs = {}", "", "expected a table for each job, such as [jobs.halo] in jobs of jobs.toml:1; found none"),
        (&two("hosts = \"1,x\"", "ranks = 1"), "", "1,x: no such file"),
        (
            &two("hosts = \"3-1\"", "ranks = 1"),
            "",
            &format!("expected {list} in jobs.a.hosts of jobs.toml:3; found \"3-1\""),
        ),
        (&two("hosts = -1", "ranks = 1"), "", &format!("expected {list} in jobs.a.hosts of jobs.toml:3; found -1")),
        (
            "free_nodes = \"free.txt\"\njobs.a = { app = \"a.toml\", ranks = 1 }",
            "",
            "free.txt:2: expected numbers from 0 such as \"0-3,8\"; found \"2-x\"",
        ),
        (&two("ranks = 0", "ranks = 1"), "", "expected a number from 1 in jobs.a.ranks of jobs.toml:3; found \"0\""),
        (
            &two("ranks = 1\nallocation = \"near\"", "ranks = 1"),
            "",
            "expected contiguous, random, pack PLACE or spread PLACE in jobs.a.allocation of jobs.toml:4; found \"near\"",
        ),
        (
            &two("hosts = 0\nallocation = \"random\"", "ranks = 1"),
            "",
            "expected no rule, because hosts states the nodes in jobs.a.allocation of jobs.toml:4; found \"random\"",
        ),
        (
            &two("ranks = 1\narguments = [\"x\"]", "ranks = 1"),
            "",
            "expected arguments only for a real program in jobs.a.arguments of jobs.toml:4; found \"x\"",
        ),
        (
            &two("ranks = 1", "ranks = 1"),
            "--ranks 4",
            "--ranks 4: expected no number of ranks, because each job states its own",
        ),
        (
            &two("ranks = 1", "ranks = 1"),
            "--record a.trace",
            "--record, OTF2: expected one application, because a trace has one; found several jobs",
        ),
        ("jobs.a.app = \"no.toml\"", "", "no.toml: no such file"),
    ]);
}

#[test]
fn jobs_on_the_command_line() {
    let form = "expected APP[:KEY=VALUE]..., such as halo.toml:ranks=64:nodes=4";
    lines(&[
        ("--job a.toml:4", &format!("--job a.toml:4: \"4\" has no \"=\"; {form}")),
        ("--job :ranks=4", &format!("--job :ranks=4: no application; {form}")),
        ("--job a.toml:ranks=x", "expected a whole number that is not negative in jobs.a.ranks of --job; found \"x\""),
    ]);
}

#[test]
fn a_deadlock_names_the_ranks_of_each_job() {
    let directory = directory();
    let here = directory.path();
    write(here, "a.toml", "main = [\"barrier\"]\n");
    write(here, "stuck.toml", "main = [{ recv = { from = \"(rank + 1) % size\" } }]\n");
    let ran = run(here, "--nct 4,1,2 --job a.toml:ranks=2 --job stuck.toml:ranks=2");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let first = "error: at job a = ranks 0 to 1, job stuck = ranks 2 to 3: ";
    assert!(ran.stderr.starts_with(first) && ran.stderr.contains("rank 2"), "{}", ran.stderr);
}

#[test]
fn a_whole_configuration_of_jobs_gives_the_same_prediction() {
    let directory = directory();
    let here = directory.path();
    write(here, "a.toml", "main = [{ compute = { time = \"n * 1 us\" } }, \"barrier\"]\nparams.n = 1\n");
    let jobs = "--job a.toml:ranks=2:set.n=3 --job a.toml:ranks=4:start=1us:hosts=2-3:name=late";
    let shown = run(here, &format!("--nct 4,1,2 {jobs} --show-config"));
    write(here, "whole.toml", &shown.stdout);
    let [first, again] = [format!("--nct 4,1,2 {jobs}"), "whole.toml".to_owned()].map(|line| {
        let ran = run(here, &format!("{line} --quiet --json -"));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        let mut outcome: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        outcome["host"].take();
        outcome
    });
    assert_eq!(first, again);
    assert_eq!(first["jobs"][1]["name"], "late");
    assert_eq!(first["jobs"][1]["nodes"], "2-3");
    assert_eq!(first["jobs"][0]["alone_ps"], first["jobs"][0]["outcome"]["predicted_ps"]);
}
