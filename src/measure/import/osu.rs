//! Output of the OSU micro-benchmarks: a title, comments, and rows of a size and its values.

use mcpsim_core::config::ConfigError;

use super::table::{Benchmark, BenchmarkTable, TableLines, WINDOW};

/// Prefix of a title.
pub(super) const TITLE: &str = "# OSU MPI ";

/// Tests, by the text between "OSU MPI" and the version.
const TESTS: [(&str, &str, Benchmark); 4] = [
    ("Latency Test", "osu_latency", Benchmark::PingPong),
    ("Bandwidth Test", "osu_bw", Benchmark::OneWay),
    ("Bi-Directional Bandwidth Test", "osu_bibw", Benchmark::BothWays),
    ("Multiple Bandwidth / Message Rate Test", "osu_mbw_mr", Benchmark::OneWay),
];

/// Columns of each kind of output.
const LATENCY: [&str; 2] = ["Size", "Latency (us)"];
const BANDWIDTH: [&str; 2] = ["Size", "Bandwidth (MB/s)"];
const RATE: [&str; 3] = ["Size", "MB/s", "Messages/s"];

/// Returns the tables of a file, one per title.
pub(super) fn tables(lines: &TableLines) -> Result<Vec<BenchmarkTable>, ConfigError> {
    let mut tables: Vec<(usize, bool, BenchmarkTable)> = Vec::new();
    for (number, line) in lines.iter() {
        if let Some(title) = line.strip_prefix(TITLE) {
            let (test, version) = title.rsplit_once(" v").unwrap_or((title, ""));
            let Some((_, program, benchmark)) = TESTS.iter().find(|(name, ..)| *name == test.trim()) else {
                let expected = "expected osu_latency, osu_bw, osu_bibw or osu_mbw_mr";
                return Err(lines.wrong(number, format!("{expected}; found \"OSU MPI {}\"", test.trim())));
            };
            let program = format!("{program} {}", version.trim());
            let is_rate = test.contains("Message Rate");
            let table =
                BenchmarkTable { benchmark: *benchmark, program, processes: 2, window: WINDOW, rows: Vec::new() };
            tables.push((number, is_rate, table));
            continue;
        }
        let Some((_, is_rate, table)) = tables.last_mut() else { continue };
        if let Some(comment) = line.trim_start().strip_prefix('#') {
            if *is_rate && let Some((pairs, window)) = bracketed(comment) {
                (table.processes, table.window) = (pairs.saturating_mul(2), window);
            }
            continue;
        }
        if line.trim().is_empty() {
            continue;
        }
        let row = |columns: &[&str]| lines.numbers(number, line, columns);
        let (bytes, figure) = match table.benchmark {
            Benchmark::PingPong => {
                let row = row(&LATENCY)?;
                (row[0], row[1] / 1e6)
            }
            _ if *is_rate => {
                let row = row(&RATE)?;
                (row[0], row[2])
            }
            _ => {
                let row = row(&BANDWIDTH)?;
                (row[0], row[1] * 1e6 / row[0].max(1.0))
            }
        };
        lines.push(number, table, bytes, figure)?;
    }
    if let Some((number, _, table)) = tables.iter().find(|(.., table)| table.rows.is_empty()) {
        let what = format!("{} has no figures: the file is cut", table.program);
        return Err(lines.wrong(*number, what));
    }
    Ok(tables.into_iter().map(|(.., table)| table).collect())
}

/// Parses pairs and window in "[ pairs: 32 ] [ window size: 64 ]".
fn bracketed(comment: &str) -> Option<(u32, u32)> {
    let number = |key: &str| {
        let (_, rest) = comment.split_once(key)?;
        rest.split(']').next()?.trim().parse::<u32>().ok().filter(|number| *number > 0)
    };
    Some((number("pairs:")?, number("window size:")?))
}
