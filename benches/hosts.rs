//! Speed of several host processes: the same runs in one process and in two processes under a real `mpirun`.
//!
//! `cargo bench --bench hosts [-- FILTER] [--runs N]` builds mcpsim with the feature `mpi` (in `target/mpi-bench`) for
//! the MPI library of `mpicc` or of the command in `MPICC`, and launches it with `mpirun` or the command in `MPIRUN`.
//! The bench prints a table, and whether all Outcomes are equal.

#[expect(dead_code, reason = "the bench has a build of its own")]
mod runs;

use std::process::Command;

use serde_json::Value;

use runs::{ALLTOALL, Asked, HALO, HALO_8_KIB, HALO_65536, HALO_1048576, Work, median, rate};

/// Rows of the table, each with the ratio that is the goal.
const ROWS: [(Work, &str); 5] =
    [(HALO, ">= 1.5"), (HALO_8_KIB, ""), (ALLTOALL, ""), (HALO_65536, ""), (HALO_1048576, "")];

const BINARY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/mpi-bench/release/mcpsim");

fn build() {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "--features", "mpi", "--target-dir", "target/mpi-bench"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(status.expect("cargo starts").success(), "mcpsim is not built with the feature mpi");
}

fn one(work: Work) -> (Value, Value) {
    runs::run(Command::new(BINARY), work, &["--workers", "1"])
}

fn two(work: Work, options: &[&str]) -> (Value, Value) {
    let mut command = Command::new(std::env::var("MPIRUN").unwrap_or_else(|_| "mpirun".to_owned()));
    command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
    command.args(["-n", "2", BINARY]);
    runs::run(command, work, &[&["--workers", "1"], options].concat())
}

/// Returns the shares of windows, code, exchange and idle time in the workers' time, in percent.
fn shares(host: &Value) -> String {
    let profile = host["profile"].as_array().expect("a host profile");
    let sum = |part: &str| profile.iter().map(|time| time[part].as_u64().expect("nanoseconds")).sum::<u64>() as f64;
    let parts = ["windows_ns", "code_ns", "exchange_ns", "idle_ns"].map(sum);
    let all: f64 = parts.iter().sum();
    parts.map(|part| format!("{:>4.0}", 100.0 * part / all)).join(" ")
}

fn main() {
    let asked = Asked::or(3);
    build();
    println!(
        "{:<36} {:>8} {:>8} {:>6} {:>6}  of two: % windows, code, exchange, idle; MB a process",
        "M msg/s", "1", "2", "ratio", "wanted"
    );
    for (work, target) in ROWS.into_iter().filter(|(work, _)| asked.for_row(work.name)) {
        let mut pairs = Vec::new();
        // Runs with one and with two processes alternate, so that a change of the machine's speed affects both equally.
        for _ in 0..asked.runs {
            let ((outcome, alone), (same, together)) = (one(work), two(work, &[]));
            assert!(outcome == same, "{}: two processes do not predict what one does", work.name);
            pairs.push((rate(&alone), rate(&together)));
        }
        let ratio = median(pairs.iter().map(|(one, two)| two / one).collect());
        let [one, two_of] = [|pair: &(f64, f64)| pair.0, |pair: &(f64, f64)| pair.1]
            .map(|rate| median(pairs.iter().map(rate).collect()));
        let (_, host) = two(work, &["--host-profile"]);
        let memory = host["peak_rss_bytes"].as_u64().expect("bytes") / 2_000_000;
        let shares = shares(&host);
        println!("{:<36} {one:>8.2} {two_of:>8.2} {ratio:>6.2} {target:>6}  {shares}  {memory:>6}", work.name);
    }
}
