//! What several host processes bring: whole runs in one process and in two, under a real `mpirun`.
//!
//! `cargo bench --bench hosts [-- FILTER] [--runs N]` builds mcpsim with the feature `mpi` (in `target/mpi-bench`) for the library of
//! `mpicc`, or of what `MPICC` names, and launches it with `mpirun`, or with what `MPIRUN` names. It prints a table, and whether all
//! Outcomes were the same.

use std::process::Command;

use serde_json::Value;

/// A run: a name, options, and the wanted ratio.
struct Case {
    name: &'static str,
    options: &'static str,
    target: &'static str,
}

const CASES: [Case; 5] = [
    Case {
        name: "halo, 4096 ranks, 6 neighbours",
        options: "--nct 256,2,8 workloads/halo3d.toml --set app.bytes=1KiB --set app.iterations=150",
        target: ">= 1.5",
    },
    Case {
        name: "the same, 8 KiB: half rendezvous",
        options: "--nct 256,2,8 workloads/halo3d.toml --set app.bytes=8KiB --set app.iterations=150",
        target: "",
    },
    Case {
        name: "pairwise alltoall, 1024 ranks, 1 KB",
        options: "--nct 64,2,8 workloads/alltoall.toml --set app.iterations=3 --set app.bytes=1000 \
                  --set platform.collectives.alltoall=[{algorithm=\"pairwise\"}]",
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
];

/// As in the bench `workloads`: each message meets a port.
const SHARED: &str =
    "--set platform.intra_cmp.law=share --set platform.inter_cmp.law=share --set platform.inter_node.law=share";

const BINARY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/mpi-bench/release/mcpsim");

fn build() {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "--features", "mpi", "--target-dir", "target/mpi-bench"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(status.expect("cargo starts").success(), "mcpsim is not built with the feature mpi");
}

/// The Outcome, and what it says of the host.
fn run(case: &Case, processes: u32, options: &str) -> (Value, Value) {
    let launcher = std::env::var("MPIRUN").unwrap_or_else(|_| "mpirun".to_owned());
    let mut command = match processes {
        1 => Command::new(BINARY),
        _ => Command::new(launcher),
    };
    if processes > 1 {
        command.args(["-n", &processes.to_string(), BINARY]);
        command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
    }
    command.args(["--quiet", "--json", "-", "--workers", "1"]).args(options.split_whitespace());
    command.args(SHARED.split_whitespace()).args(case.options.split_whitespace());
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("mpirun starts");
    assert!(output.status.success(), "{}: {}", case.name, String::from_utf8_lossy(&output.stderr));
    let mut outcome: Value = serde_json::from_slice(&output.stdout).expect("an Outcome");
    let host = outcome.as_object_mut().expect("an object").remove("host").expect("a host");
    (outcome, host)
}

/// The shares of windows, code, exchange and idle in the workers' time, in percent.
fn shares(host: &Value) -> String {
    let profile = host["profile"].as_array().expect("a host profile");
    let sum = |part: &str| profile.iter().map(|time| time[part].as_u64().expect("nanoseconds")).sum::<u64>() as f64;
    let parts = ["windows_ns", "code_ns", "exchange_ns", "idle_ns"].map(sum);
    let all: f64 = parts.iter().sum();
    parts.map(|part| format!("{:>4.0}", 100.0 * part / all)).join(" ")
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let runs =
        args.iter().position(|arg| arg == "--runs").map_or(3, |at| args[at + 1].parse().expect("a number of runs"));
    let filter = args.first().filter(|arg| !arg.starts_with('-'));
    build();
    println!(
        "{:<36} {:>8} {:>8} {:>6} {:>6}  of two: % windows, code, exchange, idle",
        "M msg/s", "1", "2", "ratio", "wanted"
    );
    for case in CASES.iter().filter(|case| filter.is_none_or(|filter| case.name.contains(filter.as_str()))) {
        let rate = |host: &Value| host["messages_per_s"].as_f64().expect("a rate") / 1e6;
        let mut pairs = Vec::new();
        // In turns, so that a drift of the machine's speed meets both alike.
        for _ in 0..runs {
            let ((one, one_host), (two, two_host)) = (run(case, 1, ""), run(case, 2, ""));
            assert!(one == two, "{}: two processes do not predict what one does", case.name);
            pairs.push((rate(&one_host), rate(&two_host)));
        }
        pairs.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
        let (one, two) = pairs[pairs.len() / 2];
        let (_, host) = run(case, 2, "--host-profile");
        println!("{:<36} {one:>8.2} {two:>8.2} {:>6.2} {:>6}  {}", case.name, two / one, case.target, shares(&host));
    }
}
