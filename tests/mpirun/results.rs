//! Tests every result option in two processes. A run in two processes must have the same results and files as a run in
//! one process.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::hosts::{HostMpi, host_mpis};
use super::real::{compile, directory, file, told};

/// Result options with their values. OUT represents the name of an output file. The options after `|` work only in one
/// process and print an error in several processes.
const OPTIONS: &str = "--intervals=1KiB,64KiB --pairs --json=OUT --profile=OUT.csv --record=OUT.trace --per-rank \
                       --functions --sites --histogram=OUT --histogram=OUT.csv --latency-tolerance --critical-path \
                       --timeline=OUT.json --timeline=OUT.paje --host-profile --show-config --quiet \
                       | --efficiencies --other-algorithms --what-if=exact --task-logs=OUT";

/// Returns the Outcome without its data about the host, the contents of the file that the option writes, and the
/// printed lines without data about the host.
fn results(mpi: &HostMpi, processes: u32, option: &str, program: &str) -> (Value, Option<Vec<u8>>, BTreeSet<String>) {
    let directory = directory();
    let [json, out] = ["outcome.json", "out"].map(|name| directory.path().join(name).display().to_string());
    let option = option.replacen('=', " ", 1);
    let own =
        option.split_whitespace().nth(1).filter(|value| value.contains("OUT")).map(|name| name.replace("OUT", &out));
    let option = option.replace("OUT", &out);
    let json_option = if option.starts_with("--json") { String::new() } else { format!("--json {json}") };
    let line = format!("--nct 3,1,2 --workers 1 {option} {json_option} {program}");
    let ran = mpi.run(processes, &line);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", told(&format!("{processes} {line}"), &ran));
    let shown = option == "--show-config";
    let mut outcome: Value = match (&own, shown) {
        (_, true) => Value::Null,
        (Some(own), _) if option.starts_with("--json") => serde_json::from_slice(&fs::read(own).unwrap()).unwrap(),
        _ => serde_json::from_slice(&fs::read(&json).unwrap()).unwrap(),
    };
    let _ = outcome.as_object_mut().map(|outcome| outcome.remove("host"));
    let content = own.filter(|_| !option.starts_with("--json")).map(|own| fs::read(own).unwrap());
    // Lines about memory use, events per second and host times differ between runs.
    let of_host = |line: &&str| shown || line.starts_with("predicted");
    let lines =
        ran.stdout.lines().filter(of_host).map(|line| line.replace(&directory.path().display().to_string(), ""));
    (outcome, content, lines.collect())
}

/// Returns the options that `--help` lists under the heading `heading`.
fn listed(mpi: &HostMpi, heading: &str) -> BTreeSet<String> {
    let help = mpi.run(1, "--help").stdout;
    let section = help.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !line.ends_with(':'));
    let words = section.filter(|line| line.trim_start().starts_with('-')).flat_map(str::split_whitespace);
    words.filter(|word| word.starts_with("--")).map(|word| word.trim_end_matches(',').to_owned()).collect()
}

#[test]
fn every_option_of_results_gives_in_two_processes_what_it_gives_in_one() {
    if host_mpis().is_empty() {
        return;
    }
    let directory = directory();
    let real = directory.path().join("halo3d");
    compile(&file("workloads/c/halo3d.c"), "-O1", &real).unwrap();
    let real = format!("--compute skip {} 20000 2", real.display());
    let (several, alone) = OPTIONS.split_once('|').unwrap();
    for mpi in host_mpis() {
        let known: BTreeSet<String> = OPTIONS
            .split_whitespace()
            .filter(|word| *word != "|")
            .map(|word| word.split('=').next().unwrap().to_owned())
            .collect();
        let unknown: Vec<String> = listed(mpi, "Results:").difference(&known).cloned().collect();
        assert_eq!(unknown, [""; 0], "options of results that are not compared");
        for option in several.split_whitespace() {
            for program in ["workloads/jacobi3d.toml --set app.n=30 --set app.iterations=3", real.as_str()] {
                let expected = results(mpi, 1, option, program);
                let found = results(mpi, 2, option, program);
                assert!(found == expected, "{}: {option} {program}: {:?}", mpi.name, found.2);
            }
        }
        for option in alone.split_whitespace() {
            let line = option.replacen('=', " ", 1).replace("OUT", &directory.path().join("out").display().to_string());
            let ran = mpi.run(2, &format!("--nct 2,1,1 {line} workloads/ring.toml"));
            assert_eq!(ran.code, Some(2), "{}", told(option, &ran));
            assert!(ran.stderr.contains("works in one process"), "{}", told(option, &ran));
        }
    }
}
