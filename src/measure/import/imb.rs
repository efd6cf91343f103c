//! Output of the Intel MPI Benchmarks: one section per test and number of processes.

use mcpsim_core::config::ConfigError;

use super::table::{Benchmark, BenchmarkTable, TableLines, WINDOW};

/// Supported tests. Other tests, which a full run also contains, are skipped.
const TESTS: [(&str, Benchmark); 3] =
    [("PingPong", Benchmark::PingPong), ("Uniband", Benchmark::OneWay), ("Biband", Benchmark::BothWays)];

/// Last line of complete output.
const END: &str = "# All processes entering MPI_Finalize";

const TIMES: [&str; 4] = ["#bytes", "#repetitions", "t[usec]", "Mbytes/sec"];
const RATES: [&str; 4] = ["#bytes", "#repetitions", "Mbytes/sec", "Msg/sec"];

/// Returns the tables of a file, one per section.
pub(super) fn tables(lines: &TableLines, title: &str) -> Result<Vec<BenchmarkTable>, ConfigError> {
    let version = title.trim_start_matches('#').trim().trim_start_matches("Intel(R) MPI Benchmarks");
    let version = version.split(',').next().unwrap_or_default().trim();
    let mut most = None;
    let mut sections: Vec<(usize, BenchmarkTable)> = Vec::new();
    let mut others: Vec<&str> = Vec::new();
    // Whether rows of a supported section may follow.
    let mut reads = false;
    for (number, line) in lines.iter() {
        let trimmed = line.trim();
        if let Some(size) = trimmed.strip_prefix("# Maximum message length in bytes:") {
            most = size.trim().parse::<u64>().ok();
        } else if let Some(test) = trimmed.strip_prefix("# Benchmarking ") {
            let found = TESTS.iter().find(|(name, _)| *name == test.trim());
            reads = found.is_some();
            match found {
                Some((name, benchmark)) => {
                    let program = format!("IMB {version} {name}");
                    let table = BenchmarkTable {
                        benchmark: *benchmark,
                        program,
                        processes: 0,
                        window: WINDOW,
                        rows: Vec::new(),
                    };
                    sections.push((number, table));
                }
                None => others.push(test.trim()),
            }
        } else if let Some((_, table)) = sections.last_mut().filter(|_| reads) {
            if let Some(processes) = trimmed.strip_prefix("# #processes =") {
                table.processes = processes.trim().parse().unwrap_or(0);
            } else if trimmed.starts_with("#bytes") {
                let expected = columns(table.benchmark);
                if trimmed.split_whitespace().ne(expected) {
                    let expected = format!("expected the columns {}", expected.join(" "));
                    return Err(lines.wrong(number, format!("{expected}; found \"{trimmed}\"")));
                }
            } else if trimmed.starts_with(|c: char| c.is_ascii_digit()) {
                let row = lines.numbers(number, trimmed, &columns(table.benchmark))?;
                let figure = if table.benchmark == Benchmark::PingPong { row[2] / 1e6 } else { row[3] };
                lines.push(number, table, row[0], figure)?;
            }
        }
    }
    if sections.is_empty() {
        let found = if others.is_empty() { "no section \"# Benchmarking\"".to_owned() } else { others.join(", ") };
        let expected = "expected IMB's PingPong, Uniband or Biband";
        return Err(ConfigError::new(format!("{}: {expected}; found {found}", lines.name)));
    }
    for (number, table) in &sections {
        check(lines, *number, table, most)?;
    }
    if !lines.iter().any(|(_, line)| line.trim() == END) {
        let last = lines.iter().count();
        return Err(lines.wrong(last, format!("expected \"{END}\" at the end; found none: the file is cut")));
    }
    Ok(sections.into_iter().map(|(_, table)| table).collect())
}

fn columns(benchmark: Benchmark) -> [&'static str; 4] {
    if benchmark == Benchmark::PingPong { TIMES } else { RATES }
}

/// Checks that a section states an even number of processes and reaches the size in the header of the file.
fn check(lines: &TableLines, number: usize, table: &BenchmarkTable, most: Option<u64>) -> Result<(), ConfigError> {
    let BenchmarkTable { program, processes, .. } = table;
    if *processes < 2 || processes % 2 == 1 {
        return Err(lines.wrong(number, format!("expected \"# #processes =\" and an even number in {program}")));
    }
    let (last, _) = table.last();
    if table.rows.is_empty() || most.is_some_and(|most| last != most) {
        let expected = most.map_or_else(|| "rows".to_owned(), |most| format!("sizes up to {most} B, as its head says"));
        let found = if table.rows.is_empty() { "none".to_owned() } else { format!("sizes up to {last} B") };
        let what = format!("{program} of {processes} processes: expected {expected}; found {found}: the file is cut");
        return Err(lines.wrong(number, what));
    }
    Ok(())
}
