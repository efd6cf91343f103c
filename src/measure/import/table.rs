//! Output of a benchmark in a common form: the test, the number of pairs, and one value per size.

use mcpsim_core::config::ConfigError;

use super::{imb, osu};

/// A test that both suites have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Benchmark {
    /// Half a round trip of one message, seconds: osu_latency, IMB PingPong.
    PingPong,
    /// Windows of messages one way, messages per second of all pairs: osu_bw, osu_mbw_mr, IMB Uniband.
    OneWay,
    /// Windows of messages both ways, messages per second of all pairs and both directions: osu_bibw, IMB Biband.
    BothWays,
}

impl Benchmark {
    /// Returns the name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Benchmark::PingPong => "ping-pong",
            Benchmark::OneWay => "windows one way",
            Benchmark::BothWays => "windows both ways",
        }
    }
}

/// Values of one test with one number of processes.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchmarkTable {
    /// The test.
    pub benchmark: Benchmark,
    /// Program and version, from its output.
    pub program: String,
    /// Number of processes: two per pair.
    pub processes: u32,
    /// Number of messages that a pair has in flight in windows.
    pub window: u32,
    /// Bytes per message, in increasing order, and the value, above zero.
    pub rows: Vec<(u64, f64)>,
}

/// Window of both suites if the output does not state it.
pub(super) const WINDOW: u32 = 64;

impl BenchmarkTable {
    /// Returns the value at a size.
    pub fn at(&self, bytes: u64) -> Option<f64> {
        self.rows.iter().find(|(size, _)| *size == bytes).map(|(_, figure)| *figure)
    }

    /// Returns the value at the greatest size.
    pub fn last(&self) -> (u64, f64) {
        self.rows.last().copied().unwrap_or((0, 0.0))
    }

    /// Returns the number of pairs of processes.
    pub const fn pairs(&self) -> u32 {
        self.processes / 2
    }
}

/// Returns the tables in `text`; `name` is the file name in messages.
///
/// # Errors
/// Output of other programs, tests without pairs, rows without their values, truncated output.
pub fn tables(name: &str, text: &str) -> Result<Vec<BenchmarkTable>, ConfigError> {
    let lines = TableLines { name, text };
    if !text.is_empty() && !text.ends_with('\n') {
        let last = text.lines().count();
        return Err(lines.wrong(last, "the last line does not end: the file is cut"));
    }
    if let Some((_, line)) = lines.iter().find(|(_, line)| line.contains("Intel(R) MPI Benchmarks")) {
        return imb::tables(&lines, line);
    }
    if lines.iter().any(|(_, line)| line.starts_with(osu::TITLE)) {
        return osu::tables(&lines);
    }
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let first: String = first.chars().filter(|c| !c.is_control()).take(60).collect();
    let expected =
        "expected the output of osu_latency, osu_bw, osu_bibw, osu_mbw_mr, or of IMB's PingPong, Uniband, Biband";
    Err(ConfigError::new(format!("{name}: {expected}; found \"{first}\"")))
}

/// Lines of a file, and its name in messages.
pub(super) struct TableLines<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

impl<'a> TableLines<'a> {
    /// Iterates over the lines with their numbers from 1.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    pub fn wrong(&self, line: usize, what: impl std::fmt::Display) -> ConfigError {
        ConfigError::new(format!("{}:{line}: {what}", self.name))
    }

    /// Parses the numbers of a row with at least as many cells as `columns`.
    pub fn numbers(&self, line: usize, text: &str, columns: &[&str]) -> Result<Vec<f64>, ConfigError> {
        let cells: Vec<&str> = text.split_whitespace().collect();
        if cells.len() < columns.len() {
            let expected = format!("expected {} columns ({})", columns.len(), columns.join(", "));
            return Err(self.wrong(line, format!("{expected}; found \"{}\"", text.trim())));
        }
        let number = |(cell, column): (&&str, &&str)| {
            let number = cell.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
            number.ok_or_else(|| {
                self.wrong(line, format!("expected a number, not negative, in column \"{column}\"; found \"{cell}\""))
            })
        };
        cells.iter().zip(columns).map(number).collect()
    }

    /// Adds a row; a value of 0 is omitted, because it carries no information.
    pub fn push(&self, line: usize, table: &mut BenchmarkTable, bytes: f64, figure: f64) -> Result<(), ConfigError> {
        let size = Some(bytes).filter(|bytes| bytes.fract() == 0.0 && *bytes < 9e18).map(|bytes| bytes as u64);
        let Some(size) = size else {
            return Err(self.wrong(line, format!("expected whole bytes; found {bytes}")));
        };
        if let Some((before, _)) = table.rows.last().filter(|(before, _)| *before >= size) {
            return Err(
                self.wrong(line, format!("expected a size above {before} B, of the row before; found {size} B"))
            );
        }
        if figure > 0.0 {
            table.rows.push((size, figure));
        }
        Ok(())
    }
}
