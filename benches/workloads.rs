//! Throughput and memory of whole runs: described workloads as a user runs them, in a process of their own.
//!
//! `cargo bench --bench workloads [-- FILTER] [--runs N]` prints a table; README.md beside this file keeps the measured ones.

use std::process::Command;

/// A run: a name, options, and what the table asks for.
struct Case {
    name: &'static str,
    options: &'static str,
    /// Messages a second, in millions, and bytes a rank at most.
    target: &'static str,
}

const CASES: [Case; 10] = [
    Case {
        name: "ring, 1024 ranks, 8 B, one token",
        options: "--nct 64,2,8 workloads/ring.toml --set app.rounds=3000",
        target: ">= 10",
    },
    Case { name: "halo, 64 ranks", options: "--nct 4,2,8 workloads/halo3d.toml --set app.iterations=8000", target: "" },
    Case {
        name: "halo, 4096 ranks, 6 neighbours",
        options: "--nct 256,2,8 workloads/halo3d.toml --set app.bytes=1KiB --set app.iterations=150",
        target: ">= 5",
    },
    Case {
        name: "the same, 8 KiB: half rendezvous",
        options: "--nct 256,2,8 workloads/halo3d.toml --set app.bytes=8KiB --set app.iterations=150",
        target: "",
    },
    Case {
        name: "halo, 65536 ranks",
        options: "--nct 4096,2,8 workloads/halo3d.toml --set app.bytes=1KiB --set app.iterations=10",
        target: "",
    },
    Case {
        name: "halo, 1048576 ranks",
        options: "--nct 65536,2,8 workloads/halo3d.toml --set app.bytes=1KiB --set app.iterations=2",
        target: "",
    },
    Case {
        name: "pairwise alltoall, 1024 ranks, 1 KB",
        options: "--nct 64,2,8 workloads/alltoall.toml --set app.iterations=3 --set app.bytes=1000 \
                  --set platform.collectives.alltoall=[{algorithm=\"pairwise\"}]",
        target: ">= 5",
    },
    Case {
        name: "barrier, 1024 ranks",
        options: "--nct 64,2,8 workloads/barrier.toml --set app.iterations=300",
        target: "",
    },
    Case {
        name: "barrier, 1048576 ranks",
        options: "--nct 65536,2,8 workloads/barrier.toml --set app.iterations=1",
        target: ">= 3, <= 1 KB",
    },
    Case {
        name: "jacobi3d, 4096 ranks",
        options: "--nct 256,2,8 workloads/jacobi3d.toml --set app.n=512 --set app.iterations=60",
        target: "",
    },
];

/// What every bench runs on: load law `share` at every level, so that each message meets a port.
const SHARED: &str =
    "--set platform.intra_cmp.law=share --set platform.inter_cmp.law=share --set platform.inter_node.law=share";

/// Messages a second, peak bytes, ranks.
fn measure(case: &Case, workers: u32) -> (f64, u64, u64) {
    let output = Command::new(env!("CARGO_BIN_EXE_mcpsim"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["--quiet", "--json", "-", "--workers", &workers.to_string()])
        .args(SHARED.split_whitespace())
        .args(case.options.split_whitespace())
        .output()
        .expect("mcpsim starts");
    assert!(output.status.success(), "{}: {}", case.name, String::from_utf8_lossy(&output.stderr));
    let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).expect("an Outcome");
    let host = &outcome["host"];
    let number = |value: &serde_json::Value| value.as_u64().expect("a whole number");
    (host["messages_per_s"].as_f64().expect("a rate"), number(&host["peak_rss_bytes"]), number(&outcome["ranks"]))
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let runs =
        args.iter().position(|arg| arg == "--runs").map_or(5, |at| args[at + 1].parse().expect("a number of runs"));
    let filter = args.first().filter(|arg| !arg.starts_with('-'));
    println!("{:<36} {:>14} {:>8} {:>8} {:>6} {:>9}", "", "M msg/s wanted", "1 worker", "2", "ratio", "B a rank");
    for case in CASES.iter().filter(|case| filter.is_none_or(|filter| case.name.contains(filter.as_str()))) {
        // In turns, so that a drift of the machine's speed meets both alike.
        let pairs: Vec<_> = (0..runs).map(|_| (measure(case, 1), measure(case, 2))).collect();
        let median = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let one = median(pairs.iter().map(|(one, _)| one.0 / 1e6).collect());
        let two = median(pairs.iter().map(|(_, two)| two.0 / 1e6).collect());
        let ratio = median(pairs.iter().map(|(one, two)| two.0 / one.0).collect());
        let (_, peak, ranks) = pairs[0].0;
        println!("{:<36} {:>14} {one:>8.2} {two:>8.2} {ratio:>6.2} {:>9}", case.name, case.target, peak / ranks.max(1));
    }
}
