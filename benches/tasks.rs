//! Cost per fragment in programs of a task runtime with a thousand to a million code fragments, on 1,024 processes.
//!
//! `cargo bench --bench tasks [-- FILTER] [--runs N]` prints a table; `benches/README.md` contains measured tables.

// This bench does not use the workloads and rates in the module.
#[allow(dead_code)]
mod runs;

use std::process::Command;

use serde_json::Value;

use runs::{Asked, Work, median};

const ROWS: [(Work, &str); 6] = [
    (Work { name: "lu, a thousand", options: "--nct 64,4,4 workloads/lu-tasks.toml --set app.n=14" }, ""),
    (Work { name: "lu, thirty thousand", options: "--nct 64,4,4 workloads/lu-tasks.toml --set app.n=44" }, ""),
    (Work { name: "lu, a million", options: "--nct 64,4,4 workloads/lu-tasks.toml --set app.n=144" }, "< 8 s, < 2 GB"),
    (
        Work {
            name: "poisson, twelve thousand",
            options: "--nct 64,4,4 workloads/poisson3d-tasks.toml --set app.blocks=16 --set app.steps=2",
        },
        "",
    ),
    (
        Work {
            name: "poisson, a million",
            options: "--nct 64,4,4 workloads/poisson3d-tasks.toml --set app.blocks=16 --set app.steps=243",
        },
        "< 8 s, < 2 GB",
    ),
    (
        Work {
            name: "tree, a million, stealing",
            options: "--nct 64,4,4 workloads/tree-tasks.toml --set app.depth=18 --set app.tasks.take=half",
        },
        "< 8 s, < 2 GB",
    ),
];

fn main() {
    let asked = Asked::or(3);
    let heads = ["wanted", "fragments", "messages", "s", "us each", "MB"];
    println!(
        "{:<26} {:>13} {:>9} {:>9} {:>6} {:>7} {:>5}",
        "", heads[0], heads[1], heads[2], heads[3], heads[4], heads[5]
    );
    for (work, target) in ROWS.into_iter().filter(|(work, _)| asked.for_row(work.name)) {
        let program = || Command::new(env!("CARGO_BIN_EXE_mcpsim"));
        let runs: Vec<(Value, Value)> =
            (0..asked.runs).map(|_| runs::run(program(), work, &["--workers", "1"])).collect();
        let number = |value: &Value| value.as_f64().expect("a number");
        let seconds = median(runs.iter().map(|(_, host)| number(&host["wall_s"])).collect());
        let (outcome, host) = &runs[0];
        let fragments = number(&outcome["tasks"]["total"]);
        println!(
            "{:<26} {target:>13} {fragments:>9} {:>9} {seconds:>6.2} {:>7.2} {:>5.0}",
            work.name,
            number(&outcome["messages"]["count"]),
            1e6 * seconds / fragments,
            number(&host["peak_rss_bytes"]) / 1e6,
        );
    }
}
