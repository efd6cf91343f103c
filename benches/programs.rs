//! Throughput and memory of real programs: the kernels in `workloads/c`, each run in a separate process.
//!
//! `cargo bench --bench programs [-- FILTER] [--runs N]` prints a table; `benches/README.md` contains measured tables.
//! If SMPI of SimGrid is installed, a second table compares whole runs of the same programs, start included, under both
//! simulators in alternation.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

/// A row of the table: its name, the options of mcpsim, the program with its arguments, and the goal.
struct Case {
    name: &'static str,
    options: &'static str,
    program: &'static str,
    /// Goal in millions of messages per second.
    target: &'static str,
}

const CASES: [Case; 9] = [
    case("ping-pong, 8 B, 2 ranks", "--nct 1,1,2", "pingpong 8 2000000", ">= 5"),
    case("the same, timer on", "--nct 1,1,2 --compute measure", "pingpong 8 1000000", ""),
    case("the same, wall clock", "--nct 1,1,2 --compute measure --clock wall", "pingpong 8 1000000", ""),
    case("ring, 1024 ranks, one token", "--nct 64,2,8", "ring 3000", ">= 4"),
    case("halo, 512 ranks, 1 KiB", "--nct 32,2,8", "halo3d 1024 300", ">= 2"),
    case("halo, 4096 ranks, 1 KiB", "--nct 256,2,8", "halo3d 1024 40", ">= 1"),
    case("alltoall, 1024 ranks, 1 KiB", "--nct 64,2,8", "alltoall 1024 5", ">= 2"),
    case("empty, 4096 ranks", "--nct 256,2,8", "empty", ""),
    case("empty, 8192 ranks", "--nct 512,2,8", "empty", ""),
];

/// Programs of the comparison with SMPI: name, number of ranks, and the program with its arguments.
const COMPARED: [(&str, u32, &str); 5] = [
    ("ping-pong, 200,000 round trips", 2, "pingpong 8 200000"),
    ("ring, 1024 ranks, 100 rounds", 1024, "ring 100"),
    ("halo, 512 ranks, 8 KiB", 512, "halo3d 8192 10"),
    ("halo, 512 ranks, 8 B", 512, "halo3d 8 10"),
    ("alltoall, 256 ranks, 1 KiB", 256, "alltoall 1024 1"),
];

/// Hosts and platform of SMPI: a cluster whose hosts have a core each.
const CLUSTER: &str = r#"<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="h" suffix="" radical="0-1023" speed="1Gf" bw="12.5GBps" lat="1us" bb_bw="1000GBps" bb_lat="1us"/>
</platform>
"#;

const fn case(name: &'static str, options: &'static str, program: &'static str, target: &'static str) -> Case {
    Case { name, options, program, target }
}

fn mcpsim(directory: &Path, line: &str) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_mcpsim"))
        .current_dir(directory)
        .args(line.split_whitespace())
        .output()
        .expect("mcpsim starts");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Returns the number of messages, the seconds, the peak memory in bytes, and the number of ranks.
fn measure(directory: &Path, case: &Case) -> (u64, f64, u64, u64) {
    let (options, program) = (case.options, case.program);
    let compute = if options.contains("--compute") { "" } else { "--compute skip" };
    mcpsim(directory, &format!("--quiet --workers 1 --json out.json {compute} {options} ./{program}"));
    let text = std::fs::read_to_string(directory.join("out.json")).expect("an Outcome");
    let outcome: serde_json::Value = serde_json::from_str(&text).expect("an Outcome");
    let host = &outcome["host"];
    (
        outcome["messages"]["count"].as_u64().expect("messages"),
        host["wall_s"].as_f64().expect("seconds"),
        host["peak_rss_bytes"].as_u64().expect("bytes"),
        outcome["ranks"].as_u64().expect("ranks"),
    )
}

/// Returns the seconds that `command` takes from its start to its end.
fn seconds(command: &mut Command) -> f64 {
    let began = Instant::now();
    let output = command.output().expect("the simulator starts");
    let took = began.elapsed().as_secs_f64();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    took
}

/// Prints the times of whole runs under mcpsim and SMPI, and the median of their ratios.
fn compare(directory: &Path, sources: &Path, filters: &[String], runs: usize) {
    let wanted = |name: &str| filters.iter().all(|filter| name.contains(filter.as_str()));
    let rows: Vec<_> = COMPARED.iter().filter(|(name, ..)| wanted(name)).collect();
    if rows.is_empty() || Command::new("smpirun").arg("-version").output().is_err() {
        return;
    }
    std::fs::write(directory.join("cluster.xml"), CLUSTER).expect("a file");
    let hosts: String = (0..1024).map(|host| format!("h{host}\n")).collect();
    std::fs::write(directory.join("hosts"), hosts).expect("a file");
    println!("\n{:<32} {:>9} {:>9} {:>8}", "program, whole run", "mcpsim s", "SMPI s", "ratio");
    for (name, ranks, program) in rows {
        let (file, arguments) = program.split_once(' ').expect("arguments");
        let smpi = format!("{file}.smpi");
        let source = sources.join(file).with_extension("c");
        if !directory.join(file).exists() {
            mcpsim(directory, &format!("cc -O2 -o {file} {} -lm", source.display()));
        }
        seconds(Command::new("smpicc").current_dir(directory).args(["-O2", "-o", &smpi]).arg(&source).arg("-lm"));
        let mut all = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..runs {
            let line = format!("--quiet --workers 1 --compute skip --nct {ranks},1,1 ./{program}");
            let mut ours = Command::new(env!("CARGO_BIN_EXE_mcpsim"));
            let ours = seconds(ours.current_dir(directory).args(line.split_whitespace()));
            let line = format!(
                "-np {ranks} -platform cluster.xml -hostfile hosts --cfg=smpi/simulate-computation:no \
                 --log=root.thres:critical ./{smpi} {arguments}"
            );
            let theirs = seconds(Command::new("smpirun").current_dir(directory).args(line.split_whitespace()));
            all.iter_mut().zip([ours, theirs, theirs / ours]).for_each(|(all, one)| all.push(one));
        }
        let [ours, theirs, ratio] = all.map(median);
        println!("{name:<32} {ours:>9.3} {theirs:>9.3} {ratio:>8.1}");
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let mut runs = 3;
    if let Some(at) = arguments.iter().position(|argument| argument == "--runs") {
        runs = arguments.get(at + 1).and_then(|runs| runs.parse().ok()).expect("--runs N, a number");
        arguments.drain(at..at + 2);
    }
    let wanted = |case: &&Case| arguments.iter().all(|filter| case.name.contains(filter.as_str()));
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads/c");
    println!("{:<30} {:>9} {:>7} {:>9} {:>10}", "program", "M msg/s", "wanted", "seconds", "KiB a rank");
    for case in CASES.iter().filter(wanted) {
        let name = case.program.split_whitespace().next().expect("a program");
        if !temporary.path().join(name).exists() {
            let source = sources.join(name).with_extension("c");
            mcpsim(temporary.path(), &format!("cc -O2 -o {name} {} -lm", source.display()));
        }
        let measured: Vec<(u64, f64, u64, u64)> = (0..runs).map(|_| measure(temporary.path(), case)).collect();
        let rate = median(measured.iter().map(|&(messages, seconds, ..)| messages as f64 / seconds / 1e6).collect());
        let seconds = median(measured.iter().map(|&(_, seconds, ..)| seconds).collect());
        let (_, _, bytes, ranks) = measured[0];
        let each = bytes as f64 / ranks as f64 / 1024.0;
        println!("{:<30} {rate:>9.2} {:>7} {seconds:>9.3} {each:>10.1}", case.name, case.target);
    }
    compare(temporary.path(), &sources, &arguments, runs);
}
