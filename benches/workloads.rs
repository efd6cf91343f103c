//! Throughput and memory of described workloads, each run of mcpsim in a separate process.
//!
//! `cargo bench --bench workloads [-- FILTER] [--runs N]` prints a table; `benches/README.md` contains measured tables.

mod runs;

use std::process::Command;

use serde_json::Value;

use runs::{ALLTOALL, Asked, HALO, HALO_8_KIB, HALO_65536, HALO_1048576, Work, median, rate};

/// Rows of the table, each with its goals: millions of messages per second, and the greatest number of bytes per rank.
const ROWS: [(Work, &str); 14] = [
    (
        Work {
            name: "ring, 1024 ranks, 8 B, one token",
            options: "--nct 64,2,8 workloads/ring.toml --set app.rounds=3000",
        },
        ">= 10",
    ),
    (Work { name: "halo, 64 ranks", options: "--nct 4,2,8 workloads/halo3d.toml --set app.iterations=8000" }, ""),
    (HALO, ">= 5"),
    (HALO_8_KIB, ""),
    (HALO_65536, ""),
    (HALO_1048576, ""),
    (ALLTOALL, ">= 5"),
    (Work { name: "barrier, 1024 ranks", options: "--nct 64,2,8 workloads/barrier.toml --set app.iterations=300" }, ""),
    (
        Work {
            name: "barrier, 1048576 ranks",
            options: "--nct 65536,2,8 workloads/barrier.toml --set app.iterations=1",
        },
        ">= 3, <= 1 KB",
    ),
    (
        Work {
            name: "jacobi3d, 4096 ranks",
            options: "--nct 256,2,8 workloads/jacobi3d.toml --set app.n=512 --set app.iterations=60",
        },
        "",
    ),
    (
        Work {
            name: "alltoall, 64 nodes of a 4:1 tree",
            options: "--nct 64,1,16 --ranks 64 --ranks-per-node 1 workloads/alltoall.toml --set app.iterations=20 \
                --set app.bytes=100000 --set platform.collectives.alltoall=[{algorithm=\"pairwise\"}] \
                --set platform.network={topology=\"fat_tree\",down=[16,4],up=[4],bandwidth=\"12.5GB/s\"}",
        },
        ">= 0.2",
    ),
    (
        Work {
            name: "the same, 16 ranks per node",
            options: "--nct 64,1,16 workloads/alltoall.toml --set app.iterations=1 --set app.bytes=100000 \
                --set platform.collectives.alltoall=[{algorithm=\"pairwise\"}] \
                --set platform.network={topology=\"fat_tree\",down=[16,4],up=[4],bandwidth=\"12.5GB/s\"}",
        },
        ">= 1",
    ),
    (
        Work {
            name: "halo, 4096 nodes, 3-level fat tree",
            options: "--nct 4096,1,1 workloads/halo3d.toml --set app.bytes=8KiB \
                --set platform.network={topology=\"fat_tree\",down=[16,16,16],up=[16,16],bandwidth=\"12.5GB/s\"}",
        },
        ">= 0.1",
    ),
    (
        Work {
            name: "halo, 65536 nodes, dragonfly",
            options: "--nct 65536,1,1 workloads/halo3d.toml --set app.iterations=1 --set platform.network={topology=\
                \"dragonfly\",groups=256,switches=16,nodes_per_switch=16,bandwidth=\"12.5GB/s\"}",
        },
        "< 122 KB",
    ),
];

fn measure(work: Work, workers: &str) -> (Value, Value) {
    runs::run(Command::new(env!("CARGO_BIN_EXE_mcpsim")), work, &["--workers", workers])
}

fn main() {
    let asked = Asked::or(5);
    println!("{:<36} {:>14} {:>8} {:>8} {:>6} {:>9}", "", "M msg/s wanted", "1 worker", "2", "ratio", "B a rank");
    for (work, target) in ROWS.into_iter().filter(|(work, _)| asked.for_row(work.name)) {
        // Runs with one and with two workers alternate, so that a change of the machine's speed affects both equally.
        let pairs: Vec<_> = (0..asked.runs).map(|_| (measure(work, "1"), measure(work, "2"))).collect();
        let one = median(pairs.iter().map(|((_, one), _)| rate(one)).collect());
        let two = median(pairs.iter().map(|(_, (_, two))| rate(two)).collect());
        let ratio = median(pairs.iter().map(|((_, one), (_, two))| rate(two) / rate(one)).collect());
        let ((outcome, host), _) = &pairs[0];
        let number = |value: &Value| value.as_u64().expect("a whole number");
        let share = number(&host["peak_rss_bytes"]) / number(&outcome["ranks"]).max(1);
        println!("{:<36} {target:>14} {one:>8.2} {two:>8.2} {ratio:>6.2} {share:>9}", work.name);
    }
}
