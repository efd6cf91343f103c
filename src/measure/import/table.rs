//! A benchmark table in a common form: the test, the number of processes, and one measured value per message size.

use mcpsim_core::config::ConfigError;

/// A test of a benchmark program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Benchmark {
    /// Half a round trip of one message, seconds: osu_latency, IMB PingPong.
    PingPong,
    /// Windows of messages in one direction: osu_bw, osu_mbw_mr, IMB Uniband. The measured value is the number of
    /// messages per second of all pairs.
    OneWay,
    /// Windows of messages in both directions: osu_bibw, IMB Biband. The measured value is the number of messages per
    /// second of all pairs and both directions.
    BothWays,
    /// Two messages in opposite directions at the same time, seconds: IMB PingPing.
    PingPing,
    /// Time of a collective call in seconds. The string is the name of the collective call in TOML applications.
    Call(&'static str),
}

impl Benchmark {
    /// Returns the name of the test in error messages.
    pub const fn name(self) -> &'static str {
        match self {
            Benchmark::PingPong => "ping-pong",
            Benchmark::OneWay => "windows one way",
            Benchmark::BothWays => "windows both ways",
            Benchmark::PingPing => "ping-ping",
            Benchmark::Call(name) => name,
        }
    }

    /// Returns true if the values describe messages between pairs of processes, from which a platform is derived.
    pub const fn is_of_pairs(self) -> bool {
        !matches!(self, Benchmark::Call(_))
    }
}

/// Measured values of one benchmark test with one number of processes.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchmarkTable {
    /// The test of the benchmark program.
    pub benchmark: Benchmark,
    /// Benchmark program and version according to the program's output.
    pub program: String,
    /// Number of MPI processes, which is two per pair; 0 if the output does not state this number.
    pub processes: u32,
    /// True if several ping-pongs ran concurrently.
    pub together: bool,
    /// Number of messages that each pair has in flight in windows.
    pub window: u32,
    /// Message size in bytes, in increasing order, and the measured value, which is above zero, for each table row.
    pub rows: Vec<(u64, f64)>,
}

/// Number of messages per window in both benchmark suites if the output does not state it.
pub(super) const WINDOW: u32 = 64;

impl BenchmarkTable {
    /// Returns the measured value at a message size.
    pub fn at(&self, bytes: u64) -> Option<f64> {
        self.rows.iter().find(|(size, _)| *size == bytes).map(|(_, figure)| *figure)
    }

    /// Returns the greatest message size and the measured value at this size.
    pub fn last(&self) -> (u64, f64) {
        self.rows.last().copied().unwrap_or((0, 0.0))
    }

    /// Returns the number of pairs of MPI processes.
    pub const fn pairs(&self) -> u32 {
        self.processes / 2
    }
}

/// Lines of a benchmark file, and the file's name in error messages.
pub(super) struct TableLines<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

impl<'a> TableLines<'a> {
    /// Iterates over the lines of a benchmark file with their numbers from 1, without the prefixes that launchers
    /// write.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, without_prefix(line)))
    }

    pub fn wrong(&self, line: usize, what: impl std::fmt::Display) -> ConfigError {
        ConfigError::new(format!("{}:{line}: {what}", self.name))
    }

    /// Returns the numbers in a table row, which must be at least as many as `columns`.
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

    /// Adds a row to a benchmark table. A value of 0 means that nothing was measured, and such a row is skipped.
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

/// Returns the line without the rank that a launcher writes at the start of a line: `[1,0]<stdout>:`, `[0] `, `0: `.
fn without_prefix(line: &str) -> &str {
    if let Some(at) = ["<stdout>:", "<stdout> "].iter().find_map(|tag| Some(line.find(tag)? + tag.len())) {
        return &line[at..];
    }
    let start = line.trim_start();
    let is_rank = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
    if let Some((rank, rest)) = start.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        && is_rank(rank)
    {
        return rest.strip_prefix(':').unwrap_or(rest);
    }
    match start.split_once(": ") {
        Some((rank, rest)) if is_rank(rank) => rest,
        _ => line,
    }
}
