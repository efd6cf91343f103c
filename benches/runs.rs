//! Common code of the benches that run mcpsim: workloads, arguments, and the start of a separate process for each run.

use std::process::Command;

use serde_json::Value;

/// A described workload: its name and the options of mcpsim.
#[derive(Clone, Copy)]
pub struct Work {
    pub name: &'static str,
    pub options: &'static str,
}

const fn work(name: &'static str, options: &'static str) -> Work {
    Work { name, options }
}

pub const HALO: Work = work(
    "halo, 4096 ranks, 1 KiB",
    "--nct 256,2,8 workloads/halo3d.toml --set app.bytes=1KiB --set app.iterations=150",
);
pub const HALO_8_KIB: Work = work(
    "halo, 4096 ranks, 8 KiB",
    "--nct 256,2,8 workloads/halo3d.toml --set app.bytes=8KiB --set app.iterations=150",
);
pub const HALO_65536: Work = work(
    "halo, 65536 ranks, 1 KiB",
    "--nct 4096,2,8 workloads/halo3d.toml --set app.bytes=1KiB --set app.iterations=10",
);
pub const HALO_1048576: Work = work(
    "halo, 1048576 ranks, 1 KiB",
    "--nct 65536,2,8 workloads/halo3d.toml --set app.bytes=1KiB --set app.iterations=2",
);
pub const ALLTOALL: Work = work(
    "pairwise alltoall, 1024 ranks, 1 KB",
    "--nct 64,2,8 workloads/alltoall.toml --set app.iterations=3 --set app.bytes=1000 \
     --set platform.collectives.alltoall=[{algorithm=\"pairwise\"}]",
);

/// Settings of contention model `share` at each level: each message between ranks of the level uses a port.
pub const SHARED: &str = "--set platform.intra_cmp.contention=share --set platform.inter_cmp.contention=share --set platform.inter_node.contention=share";

/// Arguments of the bench.
pub struct Asked {
    filter: Option<String>,
    /// Number of pairs of runs per row of the table.
    pub runs: usize,
}

impl Asked {
    /// Parses `[FILTER] [--runs N]`; `runs` is the default number of runs.
    pub fn or(runs: usize) -> Asked {
        let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
        let at = args.iter().position(|arg| arg == "--runs");
        let runs = at.map_or(runs, |at| args[at + 1].parse().expect("a number of runs"));
        Asked { filter: args.into_iter().next().filter(|arg| !arg.starts_with('-')), runs }
    }

    /// Returns whether FILTER selects the row of this name.
    pub fn for_row(&self, name: &str) -> bool {
        self.filter.as_ref().is_none_or(|filter| name.contains(filter))
    }
}

/// Returns a command for the mcpsim of this build, or for the one that the environment variable `MCPSIM` names.
pub fn mcpsim() -> Command {
    let file = std::env::var("MCPSIM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_mcpsim").to_owned());
    let mut command = Command::new(file);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

/// Runs `work` under contention model `share` with the mcpsim in `command` and further options. Returns the Outcome and
/// its part `host`.
pub fn run(command: Command, work: Work, options: &[&str]) -> (Value, Value) {
    let words = [SHARED, work.options].map(str::split_whitespace).into_iter().flatten();
    run_line(command, &options.iter().copied().chain(words).collect::<Vec<_>>())
}

/// Runs the mcpsim in `command` with these arguments. Returns the Outcome and its part `host`. With `--data none`, a
/// program may find that its results are wrong.
pub fn run_line(mut command: Command, arguments: &[&str]) -> (Value, Value) {
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command.args(["--quiet", "--json", "-"]).args(arguments);
    let output = command.output().expect("mcpsim starts");
    let fails = !output.status.success() && !arguments.windows(2).any(|pair| pair == ["--data", "none"]);
    assert!(!fails, "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let mut outcome: Value = serde_json::from_slice(&output.stdout).expect("an Outcome");
    let host = outcome.as_object_mut().expect("an object").remove("host").expect("a host");
    (outcome, host)
}

/// Returns millions of messages per second.
pub fn rate(host: &Value) -> f64 {
    host["messages_per_s"].as_f64().expect("a rate") / 1e6
}

/// Returns the median.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
