//! Parser of the output of the OSU micro-benchmarks: a title, comments, and rows of a message size and measured values.

use super::section::{Columns, FigureUnit, Section};
use super::table::{Benchmark, BenchmarkTable, WINDOW};

/// Point-to-point tests of OSU, by the words between "OSU MPI" and the version in the title.
const PAIRS: [(&str, &str, Benchmark); 5] = [
    ("Latency Test", "osu_latency", Benchmark::PingPong),
    ("Multi Latency Test", "osu_multi_lat", Benchmark::PingPong),
    ("Bandwidth Test", "osu_bw", Benchmark::OneWay),
    ("Bi-Directional Bandwidth Test", "osu_bibw", Benchmark::BothWays),
    ("Multiple Bandwidth / Message Rate Test", "osu_mbw_mr", Benchmark::OneWay),
];

/// Tests of collectives of OSU, by the words before "Latency Test" in the title.
const CALLS: [(&str, &str, &str); 15] = [
    ("Allgather", "osu_allgather", "allgather"),
    ("Allgatherv", "osu_allgatherv", "allgatherv"),
    ("Allreduce", "osu_allreduce", "allreduce"),
    ("All-to-All Personalized Exchange", "osu_alltoall", "alltoall"),
    ("All-to-Allv Personalized Exchange", "osu_alltoallv", "alltoallv"),
    ("Alltoall", "osu_alltoall", "alltoall"),
    ("Barrier", "osu_barrier", "barrier"),
    ("Broadcast", "osu_bcast", "bcast"),
    ("Bcast", "osu_bcast", "bcast"),
    ("Gather", "osu_gather", "gather"),
    ("Gatherv", "osu_gatherv", "gatherv"),
    ("Reduce", "osu_reduce", "reduce"),
    ("Reduce_scatter", "osu_reduce_scatter", "reduce_scatter"),
    ("Scatter", "osu_scatter", "scatter"),
    ("Scatterv", "osu_scatterv", "scatterv"),
];

/// Returns the OSU section whose title is `line`, such as `# OSU MPI-CUDA Latency Test v5.7`, or the title of a test
/// that mcpsim does not read.
pub(super) fn section(number: usize, line: &str) -> Option<Result<Section, String>> {
    let title = line.trim().strip_prefix("# OSU ")?.trim();
    let (family, rest) = title.split_once(' ')?;
    let other = || Some(Err(format!("OSU {title}")));
    if family != "MPI" && !family.starts_with("MPI-") {
        return other();
    }
    let (test, version) = match rest.split_once(" (Version ") {
        Some((test, version)) => (test, version.trim_end_matches(')')),
        None => rest.rsplit_once(" v").unwrap_or((rest, "")),
    };
    let test = test.trim();
    let pairs = PAIRS.iter().find(|(name, ..)| *name == test).map(|(_, program, benchmark)| (*program, *benchmark));
    let call = || {
        let name = test.strip_suffix("Latency Test")?.trim();
        let (_, program, call) = CALLS.iter().find(|(words, ..)| *words == name)?;
        Some((*program, Benchmark::Call(call)))
    };
    let Some((program, benchmark)) = pairs.or_else(call) else { return other() };
    let device = family.strip_prefix("MPI").unwrap_or_default().replace('-', " ");
    let program_name = format!("{program} {}{device}", version.trim());
    let together = program == "osu_multi_lat";
    let processes = if benchmark.is_of_pairs() && !together { 2 } else { 0 };
    let rows = Vec::new();
    let table = BenchmarkTable { benchmark, program: program_name, processes, together, window: WINDOW, rows };
    let mut section = Section::new(number, table);
    section.columns = Some(match benchmark {
        _ if program == "osu_mbw_mr" => columns(&["Size", "MB/s", "Messages/s"], FigureUnit::Messages),
        Benchmark::OneWay | Benchmark::BothWays => columns(&["Size", "Bandwidth (MB/s)"], FigureUnit::Megabytes),
        Benchmark::Call("barrier") => columns(&["Latency (us)"], FigureUnit::Microseconds),
        _ => columns(&["Size", "Latency (us)"], FigureUnit::Microseconds),
    });
    Some(Ok(section))
}

/// Creates the columns of an OSU table; the last column contains the measured value.
fn columns(names: &[&str], unit: FigureUnit) -> Columns {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let (figure, size) = (names.len() - 1, (names.len() > 1).then_some(0));
    Columns { names, size, figure, unit, by_group: false }
}

/// Reads a comment line of an OSU section.
pub(super) fn comment(section: &mut Section, line: &str) {
    let comment = line.trim().trim_start_matches('#').trim();
    if let Some((pairs, window)) = bracketed(comment) {
        (section.table.processes, section.table.window) = (pairs.saturating_mul(2), window);
    }
    let buffers = comment.strip_prefix("Send Buffer on ").and_then(|rest| rest.split_once(" and Receive Buffer on "));
    if let Some((send, receive)) = buffers.filter(|_| comment.contains("DEVICE") || comment.contains("MANAGED")) {
        let first = |text: &str| text.split_whitespace().next().unwrap_or_default().to_lowercase();
        section.table.program.push_str(&format!(", buffers on {} and {}", first(send), first(receive)));
    }
}

/// Parses the number of pairs and the number of messages per window in "[ pairs: 32 ] [ window size: 64 ]".
fn bracketed(comment: &str) -> Option<(u32, u32)> {
    let number = |key: &str| {
        let (_, rest) = comment.split_once(key)?;
        rest.split(']').next()?.trim().parse::<u32>().ok().filter(|number| *number > 0)
    };
    Some((number("pairs:")?, number("window size:")?))
}
