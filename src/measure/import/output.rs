//! Parser of benchmark output: output of benchmark programs, alone or in the log of a job, and CSV with named columns.

use mcpsim_core::config::ConfigError;
use mcpsim_core::platform::Level;

use super::named;
use super::section::Section;
use super::table::{Benchmark, BenchmarkTable, TableLines};
use super::{imb, osu};
use crate::{SampleSeries, Samples, Test};

/// Tables in a benchmark file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BenchmarkOutput {
    /// Benchmark tables in the order of the file.
    pub tables: Vec<BenchmarkTable>,
    /// Sections of the benchmark file that are not read, each with its line number and the reason why it is not read.
    pub skipped: Vec<String>,
}

impl BenchmarkOutput {
    /// Reads the benchmark file with the text `text`. `name` is the file name in error messages. Text before, between
    /// and after tables is ignored.
    ///
    /// # Errors
    /// The benchmark file has no readable table, a damaged row, or truncated output.
    pub fn read(name: &str, text: &str) -> Result<BenchmarkOutput, ConfigError> {
        let lines = TableLines { name, text };
        let output = match named::read(&lines) {
            Some(output) => output?,
            None => read_log(&lines)?,
        };
        if output.tables.is_empty() {
            return Err(match output.skipped.first() {
                Some(first) => ConfigError::new(first.clone()),
                None => unknown(&lines),
            });
        }
        Ok(output)
    }

    /// Returns the ping-pongs of one pair of processes as samples of a network level.
    pub fn samples(&self, level: Level) -> Samples {
        let tables = self.tables.iter().filter(|table| table.benchmark == Benchmark::PingPong && !table.together);
        let rows = tables.flat_map(|table| &table.rows);
        let series = |&(bytes, seconds): &(u64, f64)| SampleSeries {
            level: Some(level),
            test: Test::PingPong,
            bytes,
            load: 1,
            count: 2,
            seconds: vec![seconds],
        };
        Samples { series: rows.map(series).collect(), ..Samples::default() }
    }
}

/// Creates the error for a file that no supported program has written.
fn unknown(lines: &TableLines<'_>) -> ConfigError {
    let name = lines.name;
    if let Some(foreign) = mcpsim_core::config::foreign_file(name, lines.text.as_bytes()) {
        return ConfigError::new(foreign);
    }
    let first = lines.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let first: String = first.chars().filter(|c| !c.is_control()).take(60).collect();
    let expected = "expected the output of osu_latency, osu_bw, osu_bibw, osu_mbw_mr, of IMB's PingPong, Uniband, \
                    Biband, or CSV with columns such as bytes,latency_us";
    ConfigError::new(format!("{name}: {expected}; found \"{first}\""))
}

/// Benchmark program that wrote a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Suite {
    Imb,
    Osu,
}

fn read_log(lines: &TableLines<'_>) -> Result<BenchmarkOutput, ConfigError> {
    let mut head = imb::ImbHead::default();
    let (mut heads, mut ends) = (0, 0);
    let mut sections: Vec<(Suite, Section)> = Vec::new();
    let mut skipped = Vec::new();
    // True if the lines belong to the last benchmark section that was found.
    let mut reads = false;
    for (number, line) in lines.iter() {
        let started = head.section(number, line).map(|section| (Suite::Imb, section));
        let started = started.or_else(|| osu::section(number, line).map(|section| (Suite::Osu, section)));
        if let Some((suite, section)) = started {
            reads = section.is_ok();
            match section {
                Ok(section) => sections.push((suite, section)),
                Err(test) => skipped.push(format!(
                    "{}:{number}: {test} is skipped: it measures neither messages of pairs nor a collective that mcpsim \
                     compares",
                    lines.name
                )),
            }
            continue;
        }
        if let Some(titled) = imb::ImbHead::titled(line) {
            (head, reads) = (titled, false);
            heads += 1;
            continue;
        }
        ends += usize::from(line.trim() == imb::END);
        if head.limit(line) {
            continue;
        }
        let Some((suite, section)) = sections.last_mut().filter(|_| reads) else { continue };
        let text = line.trim();
        match suite {
            Suite::Imb if text.starts_with('#') || imb::is_header(text) => {
                imb::comment(section, lines, number, line)?;
            }
            Suite::Osu if text.starts_with('#') => osu::comment(section, line),
            _ if text.starts_with(|c: char| c.is_ascii_digit()) => section.row(lines, number, text)?,
            _ => section.interrupt(),
        }
    }
    check_last_row(lines, sections.last().filter(|_| reads))?;
    let mut tables = Vec::new();
    for (suite, section) in sections {
        if let Some(table) = checked(lines, suite, section, &mut skipped)? {
            tables.push(table);
        }
    }
    if heads > ends && !tables.is_empty() {
        let last = lines.iter().count();
        skipped.push(format!("{}:{last}: no \"{}\" at the end: later tables may be missing", lines.name, imb::END));
    }
    Ok(BenchmarkOutput { tables, skipped })
}

/// Rejects a last table row without a line end if the value in the row has fewer digits than the value in the previous
/// row.
fn check_last_row(lines: &TableLines<'_>, last: Option<&(Suite, Section)>) -> Result<(), ConfigError> {
    if lines.text.ends_with('\n') || last.is_none() {
        return Ok(());
    }
    let is_row = |line: &&str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let rows: Vec<&str> = lines.iter().map(|(_, line)| line).collect();
    let Some((end, before)) = rows.split_last().filter(|(end, _)| is_row(end)) else { return Ok(()) };
    let form = |line: &str| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let digits = cells.last().and_then(|cell| cell.split_once('.')).map_or(0, |(_, digits)| digits.len());
        (cells.len(), digits)
    };
    match before.iter().rev().find(|line| is_row(line)) {
        Some(other) if form(other) != form(end) => {
            Err(lines.wrong(rows.len(), "the last line is incomplete: the file is truncated"))
        }
        _ => Ok(()),
    }
}

/// Returns the table of a benchmark section, unless the section has no values.
fn checked(
    lines: &TableLines<'_>,
    suite: Suite,
    section: Section,
    skipped: &mut Vec<String>,
) -> Result<Option<BenchmarkTable>, ConfigError> {
    let Section { line, table, most, without, .. } = section;
    let program = &table.program;
    let of_pairs = table.benchmark.is_of_pairs();
    let odd = of_pairs && (table.processes < 2 || table.processes % 2 == 1);
    if suite == Suite::Imb && (odd || table.processes == 0) {
        let number = if of_pairs { "an even number" } else { "a number" };
        return Err(lines.wrong(line, format!("expected \"# #processes =\" and {number} in {program}")));
    }
    let name = match suite {
        Suite::Imb => format!("{program} of {} processes", table.processes),
        Suite::Osu => program.clone(),
    };
    if !without.is_empty() {
        skipped.push(format!("{}:{line}: {name}: no results for {}", lines.name, without.join(", ")));
    }
    let (last, _) = table.last();
    let is_short = table.benchmark != Benchmark::Call("barrier") && without.is_empty();
    if let Some(most) = most.filter(|most| is_short && last != *most) {
        let found = if table.rows.is_empty() { "none".to_owned() } else { format!("sizes up to {last} B") };
        let what = format!(
            "{name}: expected sizes up to {most} B, as its header states; found {found}: the file is \
                            truncated"
        );
        if of_pairs {
            return Err(lines.wrong(line, what));
        }
        skipped.push(format!("{}:{line}: {what}", lines.name));
    } else if table.rows.is_empty() && without.is_empty() {
        skipped.push(format!("{}:{line}: {name} has no results: the file is truncated", lines.name));
    }
    Ok(Some(table).filter(|table| !table.rows.is_empty()))
}
