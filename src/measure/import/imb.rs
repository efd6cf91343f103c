//! Parser of the output of the Intel MPI Benchmarks, version 2.3 and later. The output has one section per test and
//! number of processes.

use mcpsim_core::config::ConfigError;

use super::section::{Columns, FigureUnit, Section};
use super::table::{Benchmark, BenchmarkTable, TableLines, WINDOW};

/// IMB tests that mcpsim reads.
const TESTS: [(&str, Benchmark); 21] = [
    ("PingPong", Benchmark::PingPong),
    ("PingPing", Benchmark::PingPing),
    ("Uniband", Benchmark::OneWay),
    ("Biband", Benchmark::BothWays),
    ("Sendrecv", Benchmark::Call("sendrecv")),
    ("Exchange", Benchmark::Call("exchange")),
    ("Allreduce", Benchmark::Call("allreduce")),
    ("Reduce", Benchmark::Call("reduce")),
    ("Reduce_scatter", Benchmark::Call("reduce_scatter")),
    ("Reduce_scatter_block", Benchmark::Call("reduce_scatter")),
    ("Allgather", Benchmark::Call("allgather")),
    ("Allgatherv", Benchmark::Call("allgatherv")),
    ("Gather", Benchmark::Call("gather")),
    ("Gatherv", Benchmark::Call("gatherv")),
    ("Scatter", Benchmark::Call("scatter")),
    ("Scatterv", Benchmark::Call("scatterv")),
    ("Alltoall", Benchmark::Call("alltoall")),
    ("Alltoallv", Benchmark::Call("alltoallv")),
    ("Bcast", Benchmark::Call("bcast")),
    ("Barrier", Benchmark::Call("barrier")),
    ("Scan", Benchmark::Call("scan")),
];

/// Last line of a complete IMB output.
pub(super) const END: &str = "# All processes entering MPI_Finalize";

/// Head of an IMB output: the program version and the greatest message size.
#[derive(Clone, Debug, Default)]
pub(super) struct ImbHead {
    pub version: String,
    pub most: Option<u64>,
}

impl ImbHead {
    /// Reads an IMB title such as `# Intel (R) MPI Benchmark Suite V3.2, MPI-1 part`.
    pub fn titled(line: &str) -> Option<ImbHead> {
        let title = line.trim().strip_prefix('#')?.trim();
        let is_ours = title.starts_with("Intel") || title.to_uppercase().starts_with("PALLAS");
        let (_, rest) = title.split_once("MPI Benchmark").filter(|_| is_ours)?;
        let version = rest.trim_start_matches('s').split(',').next().unwrap_or_default().trim();
        let version = version.trim_start_matches("Suite").trim().trim_start_matches('V');
        Some(ImbHead { version: version.to_owned(), most: None })
    }

    /// Reads the line of an IMB output that states the greatest message size.
    pub fn limit(&mut self, line: &str) -> bool {
        let size = line.trim().strip_prefix("# Maximum message length in bytes:");
        if let Some(size) = size {
            self.most = size.trim().parse().ok();
        }
        size.is_some()
    }

    /// Returns the IMB section whose title is `line`, or the name of a test that mcpsim does not read.
    pub fn section(&self, number: usize, line: &str) -> Option<Result<Section, String>> {
        let test = line.trim().strip_prefix("# Benchmarking ")?.trim();
        let (together, name) = test.strip_prefix("Multi-").map_or((false, test), |name| (true, name));
        let name = name.trim_start_matches("(Multi-)");
        let program = ["IMB", &self.version, test].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>();
        let program = program.join(" ");
        let Some((_, benchmark)) = TESTS.iter().find(|(known, _)| *known == name) else { return Some(Err(program)) };
        if together && !matches!(benchmark, Benchmark::PingPong | Benchmark::PingPing) {
            return Some(Err(program));
        }
        let table =
            BenchmarkTable { benchmark: *benchmark, program, processes: 0, together, window: WINDOW, rows: Vec::new() };
        let mut section = Section::new(number, table);
        section.most = self.most;
        Some(Ok(section))
    }
}

/// Reads a line of an IMB section that starts with `#` or contains column names.
///
/// # Errors
/// A column of the IMB section is missing.
pub(super) fn comment(
    section: &mut Section,
    lines: &TableLines<'_>,
    number: usize,
    line: &str,
) -> Result<(), ConfigError> {
    let line = line.trim();
    if let Some(processes) = line.strip_prefix("# #processes =") {
        section.table.processes = processes.trim().parse().unwrap_or(0);
    } else if let Some((groups, size)) = groups(line) {
        section.table.processes = groups.saturating_mul(size);
        section.table.together = groups > 1;
    } else if is_header(line) {
        section.columns =
            Some(columns(section.table.benchmark, line).map_err(|expected| {
                lines.wrong(number, format!("expected the columns {expected}; found \"{line}\""))
            })?);
    }
    Ok(())
}

/// Returns true if the line of an IMB section contains column names.
pub(super) fn is_header(line: &str) -> bool {
    line.contains("#repetitions")
}

/// Parses the two numbers in an IMB line such as `# ( 2 groups of 2 processes each running simultaneous )`.
fn groups(line: &str) -> Option<(u32, u32)> {
    let (groups, rest) = line.strip_prefix('#')?.trim().strip_prefix('(')?.split_once("groups of")?;
    Some((groups.trim().parse().ok()?, rest.split_whitespace().next()?.parse().ok()?))
}

/// Returns the columns of an IMB test, which are found by their names, or the expected column names.
fn columns(benchmark: Benchmark, header: &str) -> Result<Columns, &'static str> {
    let names: Vec<String> = header.split_whitespace().map(str::to_owned).collect();
    let place = |name: &str| names.iter().position(|column| column == name);
    let (figure, unit, expected) = match benchmark {
        Benchmark::OneWay | Benchmark::BothWays => {
            (place("Msg/sec"), FigureUnit::Messages, "#bytes #repetitions Mbytes/sec Msg/sec")
        }
        Benchmark::PingPong | Benchmark::PingPing => (
            place("t[usec]").or_else(|| place("t_avg[usec]")),
            FigureUnit::Microseconds,
            "#bytes #repetitions t[usec] Mbytes/sec",
        ),
        Benchmark::Call("barrier") => {
            (place("t_avg[usec]"), FigureUnit::Microseconds, "#repetitions t_min[usec] t_max[usec] t_avg[usec]")
        }
        Benchmark::Call(_) => {
            (place("t_avg[usec]"), FigureUnit::Microseconds, "#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]")
        }
    };
    let size = place("#bytes");
    let figure = figure.filter(|_| size.is_some() || benchmark == Benchmark::Call("barrier")).ok_or(expected)?;
    Ok(Columns { by_group: place("Group").is_some(), names, size, figure, unit })
}
