//! Message rates and memory of whole runs: described workloads, real programs, and a replay, each run of mcpsim in a
//! separate process.
//!
//! `cargo bench --bench rates [-- FILTER] [--runs N]` prints the first table of `benches/README.md`. With `MCPSIM=FILE`
//! in the environment, the bench measures this mcpsim.

#[expect(dead_code, reason = "the benches of several processes use the rest")]
mod runs;

use std::path::Path;

use serde_json::Value;

use runs::{ALLTOALL, Asked, HALO, HALO_8_KIB, HALO_65536, HALO_1048576, Work, median, rate};

/// A row of the table.
struct Row {
    name: &'static str,
    kind: Kind,
    /// Options of mcpsim, and the application; of a real program its name and arguments come last.
    line: &'static str,
    /// Goal in millions of messages per second with contention model `fair` and one worker.
    target: &'static str,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Described,
    /// Described, on a network of links, which the contention model `share` does not know.
    Network,
    /// A program of `workloads/c`.
    Real,
    /// The replay of a described run.
    Replay,
}

const fn row(name: &'static str, kind: Kind, line: &'static str, target: &'static str) -> Row {
    Row { name, kind, line, target }
}

const fn described(work: Work, target: &'static str) -> Row {
    row(work.name, Kind::Described, work.options, target)
}

use Kind::{Described, Network, Real, Replay};

const ROWS: [Row; 32] = [
    row("real ping-pong, 8 B", Real, "--nct 1,1,2 --compute skip pingpong 8 1000000", "6"),
    row("real ping-pong, measured blocks", Real, "--nct 1,1,2 --compute measure pingpong 8 500000", "4.5"),
    row("real ring, 1024 ranks", Real, "--nct 64,2,8 --compute skip ring 1000", "2.5"),
    row("real ring, 4096 ranks", Real, "--nct 256,2,8 --compute skip ring 300", "1.6"),
    row("real halo, 512 ranks, 8 B", Real, "--nct 32,2,8 --compute skip halo3d 8 200", "2.8"),
    row("real halo, 512 ranks, 1 KiB", Real, "--nct 32,2,8 --compute skip halo3d 1024 200", "2.2"),
    row("real halo, 512 ranks, 8 KiB", Real, "--nct 32,2,8 --compute skip halo3d 8192 100", "0.9"),
    row("real halo, 512 ranks, --data none", Real, "--nct 32,2,8 --compute skip --data none halo3d 8192 100", "1.5"),
    row("real halo, 4096 ranks, 8 B", Real, "--nct 256,2,8 --compute skip halo3d 8 25", "1.3"),
    row("real halo, 4096 ranks, 1 KiB", Real, "--nct 256,2,8 --compute skip halo3d 1024 25", "1.0"),
    row("real halo, 4096 ranks, 8 KiB", Real, "--nct 256,2,8 --compute skip halo3d 8192 25", "0.45"),
    row("real halo, 4096 ranks, --data none", Real, "--nct 256,2,8 --compute skip --data none halo3d 8192 25", "0.7"),
    row("real alltoall, 1024 ranks, 1 KiB", Real, "--nct 64,2,8 --compute skip alltoall 1024 3", "1.2"),
    row("real start, 4096 ranks", Real, "--nct 256,2,8 --compute skip empty", ""),
    row("ring, 1024 ranks", Described, "--nct 64,2,8 workloads/ring.toml --set app.rounds=3000", "9"),
    row("halo, 64 ranks, 8 KiB", Described, "--nct 4,2,8 workloads/halo3d.toml --set app.iterations=3000", ""),
    described(HALO, ""),
    described(HALO_8_KIB, "5"),
    described(HALO_65536, ""),
    row("halo, 65536 ranks, 8 KiB", Described, "--nct 4096,2,8 workloads/halo3d.toml", "2.5"),
    row("halo, 262144 ranks, 8 KiB", Described, "--nct 16384,2,8 workloads/halo3d.toml --set app.iterations=4", "2"),
    described(HALO_1048576, ""),
    described(ALLTOALL, ""),
    row("barrier, 1024 ranks", Described, "--nct 64,2,8 workloads/barrier.toml --set app.iterations=300", ""),
    row("barrier, 1048576 ranks", Described, "--nct 65536,2,8 workloads/barrier.toml --set app.iterations=1", "3.5"),
    row(
        "jacobi3d, 4096 ranks",
        Described,
        "--nct 256,2,8 workloads/jacobi3d.toml --set app.n=512 --set app.iterations=60",
        "",
    ),
    row("replay of halo, 4096 ranks, 8 KiB", Replay, HALO_8_KIB.options, "6"),
    row("replay of halo, 4096 ranks, 1 KiB", Replay, HALO.options, "6"),
    row(
        "alltoall, 64 nodes of a 4:1 tree",
        Network,
        "--nct 64,1,16 --ranks 64 --ranks-per-node 1 workloads/alltoall.toml --set app.iterations=20 \
         --set app.bytes=100000 --set platform.collectives.alltoall=[{algorithm=\"pairwise\"}] \
         --set platform.network={topology=\"fat_tree\",down=[16,4],up=[4],bandwidth=\"12.5GB/s\"}",
        "0.2",
    ),
    row(
        "the same, 16 ranks per node",
        Network,
        "--nct 64,1,16 workloads/alltoall.toml --set app.iterations=1 --set app.bytes=100000 \
         --set platform.collectives.alltoall=[{algorithm=\"pairwise\"}] \
         --set platform.network={topology=\"fat_tree\",down=[16,4],up=[4],bandwidth=\"12.5GB/s\"}",
        "1",
    ),
    row(
        "halo, 4096 nodes, 3-level fat tree",
        Network,
        "--nct 4096,1,1 workloads/halo3d.toml --set app.bytes=8KiB \
         --set platform.network={topology=\"fat_tree\",down=[16,16,16],up=[16,16],bandwidth=\"12.5GB/s\"}",
        "0.1",
    ),
    row(
        "halo, 65536 nodes, dragonfly",
        Network,
        "--nct 65536,1,1 workloads/halo3d.toml --set app.iterations=1 --set platform.network={topology=\
         \"dragonfly\",groups=256,switches=16,nodes_per_switch=16,bandwidth=\"12.5GB/s\"}",
        "",
    ),
];

/// A directory with what the rows need: compiled programs and traces.
struct Prepared<'a>(&'a Path);

impl Prepared<'_> {
    /// Returns the arguments of mcpsim for a row, and prepares its program or trace.
    fn arguments(&self, row: &Row) -> Vec<String> {
        let mut arguments: Vec<String> = row.line.split_whitespace().map(String::from).collect();
        match row.kind {
            Described | Network => {}
            Real => {
                let program = arguments.iter_mut().find(|word| is_program(word)).expect("a program");
                let source = format!("workloads/c/{program}.c");
                *program = self.0.join(&program).display().to_string();
                if !Path::new(program).exists() {
                    succeed(&["cc", "-O2", "-o", program, &source, "-lm"].map(String::from));
                }
            }
            Replay => {
                let trace = self.0.join("trace").display().to_string();
                succeed(
                    &[arguments.clone(), vec!["--quiet".to_owned(), "--record".to_owned(), trace.clone()]].concat(),
                );
                arguments.truncate(2);
                arguments.push(trace);
            }
        }
        arguments
    }
}

fn is_program(word: &str) -> bool {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads/c").join(word).with_extension("c").exists()
}

fn succeed(arguments: &[String]) {
    let output = runs::mcpsim().args(arguments).output().expect("mcpsim starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn main() {
    let asked = Asked::or(3);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let prepared = Prepared(directory.path());
    println!(
        "{:<36} {:>7} {:>7} {:>7} {:>9} {:>7} {:>12}",
        "M msg/s", "target", "fair", "share", "2 workers", "ratio", "KiB per rank"
    );
    for row in ROWS.iter().filter(|row| asked.for_row(row.name)) {
        let arguments = prepared.arguments(row);
        let line: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let run = |workers: &str, options: &[&str]| {
            runs::run_line(runs::mcpsim(), &[&["--workers", workers], options, &line].concat())
        };
        let shares = || -> Vec<&str> { runs::SHARED.split_whitespace().collect() };
        // The three kinds of runs alternate, so that a change of the machine's speed affects all equally.
        let rounds: Vec<[Option<(Value, Value)>; 3]> = (0..asked.runs)
            .map(|_| {
                let share = (row.kind != Network).then(|| run("1", &shares()));
                let two = (row.kind == Network || !row.line.starts_with("--nct 1,")).then(|| run("2", &[]));
                [Some(run("1", &[])), share, two]
            })
            .collect();
        let rates = |kind: usize| -> Option<Vec<f64>> {
            rounds.iter().map(|round| round[kind].as_ref().map(|(_, host)| rate(host))).collect()
        };
        let cell = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.2}"));
        let [fair, share, two] = [0, 1, 2].map(|kind| rates(kind).map(median));
        let (outcome, host) = rounds[0][0].as_ref().expect("a run under `fair`");
        let number = |value: &Value| value.as_u64().expect("a whole number") as f64;
        // The memory of a few ranks is that of mcpsim itself.
        let ranks = Some(number(&outcome["ranks"])).filter(|ranks| *ranks >= 64.0);
        let memory = ranks.map(|ranks| number(&host["peak_rss_bytes"]) / ranks / 1024.0);
        let ratio = two.zip(fair).map(|(two, fair)| two / fair);
        println!(
            "{:<36} {:>7} {:>7} {:>7} {:>9} {:>7} {:>12}",
            row.name,
            row.target,
            cell(fair),
            cell(share),
            cell(two),
            cell(ratio),
            cell(memory)
        );
    }
}
