//! Speed of recording and replaying: the 3-D halo exchange as a described application, with recording, and as a
//! replayed trace, each in a separate process.
//!
//! `cargo bench --bench replay [-- --runs N]` prints a table; `benches/README.md` contains measured tables.

use std::path::Path;
use std::process::Command;

/// Rows of the table: name, and options of mcpsim.
const CASES: [(&str, &str); 4] = [
    ("halo, 4096 ranks, 1 KiB", "--nct 256,2,8 workloads/halo3d.toml --set app.bytes=1KiB --set app.iterations=150"),
    ("halo, 65536 ranks, 1 KiB", "--nct 4096,2,8 workloads/halo3d.toml --set app.bytes=1KiB --set app.iterations=10"),
    ("jacobi3d, 4096 ranks", "--nct 256,2,8 workloads/jacobi3d.toml --set app.n=512 --set app.iterations=60"),
    (
        "halo, real, 64 ranks, measured",
        "--nct 4,2,8 workloads/halo3d-c.toml --set app.program.arguments=[\"8192\",\"300\"]",
    ),
];

/// Settings with which each message uses a port, as in the bench `rates`.
const SHARED: &str = "--set platform.intra_cmp.contention=share --set platform.inter_cmp.contention=share --set platform.inter_node.contention=share";

/// Returns millions of messages per second, the number of messages, and the peak memory in bytes per rank.
fn measure(line: &str) -> (f64, u64, u64) {
    let output = Command::new(env!("CARGO_BIN_EXE_mcpsim"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["--quiet", "--workers", "1", "--json", "-"])
        .args(SHARED.split_whitespace())
        .args(line.split_whitespace())
        .output()
        .expect("mcpsim starts");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).expect("an Outcome");
    let number = |value: &serde_json::Value| value.as_u64().expect("a whole number");
    let rate = outcome["host"]["messages_per_s"].as_f64().expect("a rate") / 1e6;
    let messages = number(&outcome["messages"]["count"]);
    (rate, messages, number(&outcome["host"]["peak_rss_bytes"]) / number(&outcome["ranks"]))
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let runs =
        args.iter().position(|arg| arg == "--runs").map_or(5, |at| args[at + 1].parse().expect("a number of runs"));
    let directory = tempfile::tempdir().expect("a directory");
    let trace = directory.path().join("trace");
    println!(
        "{:<31} {:>9} {:>9} {:>9} {:>6} {:>9} {:>9}",
        "M msg/s", "run", "recorded", "replayed", "ratio", "B a msg", "B a rank"
    );
    for (name, options) in CASES {
        // The runs alternate, so that a change of the machine's speed affects all of them equally.
        let rounds: Vec<_> = (0..runs).map(|_| round(options, &trace)).collect();
        let median = |value: fn(&[f64; 4]) -> f64| {
            let mut values: Vec<f64> = rounds.iter().map(|(rates, _)| value(rates)).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let [run, recorded, replayed] = [|r: &[f64; 4]| r[0], |r: &[f64; 4]| r[1], |r: &[f64; 4]| r[2]].map(median);
        let (ratio, size) = (median(|rates| rates[2] / rates[0]), median(|rates| rates[3]));
        println!("{name:<31} {run:>9.2} {recorded:>9.2} {replayed:>9.2} {ratio:>6.2} {size:>9.3} {:>9}", rounds[0].1);
    }
}

/// Returns the rates of a described run, of the run with recording and of its replay, the trace bytes per message, and
/// the replay's memory per rank.
fn round(options: &str, trace: &Path) -> ([f64; 4], u64) {
    let (run, ..) = measure(options);
    let (recorded, messages, _) = measure(&format!("{options} --record {}", trace.display()));
    let shape: String = options.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    let (replayed, _, memory) = measure(&format!("{shape} {}", trace.display()));
    let size = std::fs::metadata(trace).expect("it was written").len();
    ([run, recorded, replayed, size as f64 / messages as f64], memory)
}
