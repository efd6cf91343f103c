//! Conversion of collective times in benchmark output to the measured runs of a validation case.

use std::fmt::Write;

use mcpsim_core::config::ConfigError;

use super::output::BenchmarkOutput;
use super::table::Benchmark;

/// Measured calls of collectives in one or several benchmark files.
#[derive(Clone, Debug, Default)]
pub struct MeasuredCalls {
    /// Rows of the table `benchmark,ranks,bytes,time_s`.
    rows: Vec<(&'static str, u32, u64, f64)>,
    /// Benchmark programs, each with the file that contains its output.
    pub programs: Vec<String>,
    /// Sections of the benchmark files that are not in the table of calls, each with its line number and the reason why
    /// it is not used.
    pub skipped: Vec<String>,
}

impl MeasuredCalls {
    /// Adds the measured collective calls in the benchmark output `text`. `processes` is the number of ranks of
    /// programs that do not print their number of ranks. If a program prints its number of ranks, only the program's
    /// tables with `processes` ranks are used.
    ///
    /// # Errors
    /// The text has no table of a collective call, or the number of processes is unknown.
    pub fn add(&mut self, file: &str, processes: Option<u32>, text: &str) -> Result<(), ConfigError> {
        let read = BenchmarkOutput::read(file, text)?;
        self.skipped.extend(read.skipped);
        let before = self.rows.len();
        let mut printed: Vec<u32> = Vec::new();
        for table in read.tables {
            let name = match table.benchmark {
                Benchmark::Call(name) => name,
                Benchmark::PingPing if !table.together => "pingping",
                _ => {
                    let what = format!("{file}: {} measures messages of pairs: a platform reads it", table.program);
                    self.skipped.push(format!("{what}, mcpsim measure --import LEVEL={file}"));
                    continue;
                }
            };
            let ranks = match (table.processes, processes) {
                (0, Some(processes)) => processes,
                (0, None) => {
                    return Err(ConfigError::new(format!(
                        "{file}: {} prints no number of processes: expected it, as in --import 64={file}",
                        table.program
                    )));
                }
                (printed, _) => printed,
            };
            printed.push(ranks);
            if processes.is_some_and(|processes| processes != ranks) {
                continue;
            }
            self.programs.push(format!("{file}: {}, {ranks} processes", table.program));
            self.rows.extend(table.rows.iter().map(|(bytes, seconds)| (name, ranks, *bytes, *seconds)));
        }
        if self.rows.len() > before {
            return Ok(());
        }
        printed.sort_unstable();
        printed.dedup();
        let found = printed.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        Err(ConfigError::new(match processes {
            Some(processes) if !printed.is_empty() => {
                format!("{file}: expected runs of {processes} processes; found {found}")
            }
            _ => format!(
                "{file}: expected times of collectives; found those of messages, which a platform reads: mcpsim \
                          measure --import LEVEL={file}"
            ),
        }))
    }

    /// Returns the greatest number of ranks of a measured call.
    pub fn ranks(&self) -> u32 {
        self.rows.iter().map(|(_, ranks, ..)| *ranks).max().unwrap_or(1)
    }

    /// Returns the measured calls as CSV rows with their header; times are in seconds.
    pub fn csv(&self) -> String {
        let mut text = "benchmark,ranks,bytes,time_s\n".to_owned();
        for (name, ranks, bytes, seconds) in &self.rows {
            // A resolution of nanoseconds suffices for the times, because benchmark programs print hundredths of a
            // microsecond.
            let _ = writeln!(text, "{name},{ranks},{bytes},{:e}", (seconds * 1e9).round() / 1e9);
        }
        text
    }
}
