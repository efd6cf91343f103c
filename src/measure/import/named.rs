//! Parser of CSV with named columns: message sizes, and latencies, bandwidths or message rates with their units.

use std::collections::BTreeMap;

use mcpsim_core::config::ConfigError;

use super::output::BenchmarkOutput;
use super::table::{Benchmark, BenchmarkTable, TableLines, WINDOW};

/// Meaning of a CSV column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum NamedColumn {
    Size,
    /// Latency; the value is the seconds per unit of the column.
    Latency(f64),
    /// Bandwidth; the value is the bytes per second per unit of the column.
    Bandwidth(f64),
    Rate,
    Processes,
    Pairs,
    Window,
    Test,
    Run,
    /// CSV column whose unit is missing or ambiguous.
    WithoutUnit(&'static str),
    Other,
}

const SIZES: [&str; 14] = [
    "bytes",
    "nbytes",
    "size",
    "size_bytes",
    "size_b",
    "bytes_size",
    "message_size",
    "message_size_bytes",
    "msg_size",
    "msg_size_bytes",
    "msgsize",
    "message_bytes",
    "msg_bytes",
    "length",
];
const LATENCIES: [&str; 12] = [
    "latency",
    "lat",
    "time",
    "t",
    "t_avg",
    "avg_latency",
    "latency_avg",
    "average_latency",
    "mean_latency",
    "avg_time",
    "time_avg",
    "avg_lat",
];
const TIME_UNITS: [(&str, f64); 12] = [
    ("us", 1e-6),
    ("usec", 1e-6),
    ("usecs", 1e-6),
    ("microseconds", 1e-6),
    ("µs", 1e-6),
    ("ns", 1e-9),
    ("nsec", 1e-9),
    ("ms", 1e-3),
    ("msec", 1e-3),
    ("s", 1.0),
    ("sec", 1.0),
    ("seconds", 1.0),
];
const BANDWIDTHS: [&str; 7] = ["bandwidth", "bw", "throughput", "avg_bandwidth", "bandwidth_avg", "avg_bw", "rate"];
const BANDWIDTH_UNITS: [(&str, f64); 14] = [
    ("mb_s", 1e6),
    ("mbytes_s", 1e6),
    ("mbytes_sec", 1e6),
    ("mb_sec", 1e6),
    ("mb_per_s", 1e6),
    ("mb_per_sec", 1e6),
    ("gb_s", 1e9),
    ("gbytes_sec", 1e9),
    ("gb_sec", 1e9),
    ("gb_per_s", 1e9),
    ("mib_s", 1_048_576.0),
    ("gib_s", 1_073_741_824.0),
    ("gbit_s", 0.125e9),
    ("mbit_s", 0.125e6),
];
const RATES: [&str; 9] = [
    "messages_s",
    "messages_sec",
    "msg_s",
    "msg_sec",
    "msgs_s",
    "msgs_sec",
    "message_rate",
    "msg_rate",
    "messages_per_s",
];
const PROCESSES: [&str; 8] = ["processes", "procs", "ranks", "np", "nprocs", "nranks", "num_procs", "ntasks"];
const TESTS: [&str; 7] = ["benchmark", "test", "operation", "op", "collective", "function", "program"];
const RUNS: [&str; 7] = ["run", "rep", "repetition", "iteration", "trial", "sample", "repeat"];

/// Names of benchmark tests in CSV cells, without the prefix `osu_` or `imb_`.
const NAMES: [(&str, Benchmark); 24] = [
    ("latency", Benchmark::PingPong),
    ("pingpong", Benchmark::PingPong),
    ("ping_pong", Benchmark::PingPong),
    ("bw", Benchmark::OneWay),
    ("uniband", Benchmark::OneWay),
    ("mbw_mr", Benchmark::OneWay),
    ("bibw", Benchmark::BothWays),
    ("biband", Benchmark::BothWays),
    ("pingping", Benchmark::PingPing),
    ("sendrecv", Benchmark::Call("sendrecv")),
    ("exchange", Benchmark::Call("exchange")),
    ("allreduce", Benchmark::Call("allreduce")),
    ("reduce", Benchmark::Call("reduce")),
    ("reduce_scatter", Benchmark::Call("reduce_scatter")),
    ("allgather", Benchmark::Call("allgather")),
    ("allgatherv", Benchmark::Call("allgatherv")),
    ("gather", Benchmark::Call("gather")),
    ("gatherv", Benchmark::Call("gatherv")),
    ("scatter", Benchmark::Call("scatter")),
    ("scatterv", Benchmark::Call("scatterv")),
    ("alltoall", Benchmark::Call("alltoall")),
    ("alltoallv", Benchmark::Call("alltoallv")),
    ("bcast", Benchmark::Call("bcast")),
    ("barrier", Benchmark::Call("barrier")),
];

/// Returns `name` in lower case with one underscore between words.
fn plain(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_").to_lowercase()
}

fn meaning(name: &str) -> NamedColumn {
    let plain_name = plain(name);
    let plain_name = plain_name.strip_prefix("mpi_").unwrap_or(&plain_name);
    let is_in = |list: &[&str]| list.contains(&plain_name);
    let with_unit = |names: &[&str], units: &[(&str, f64)]| {
        let unit = |quantity: &&str| plain_name.strip_prefix(*quantity)?.strip_prefix('_').map(str::to_owned);
        let found = names.iter().filter_map(unit).find_map(|rest| units.iter().find(|(unit, _)| *unit == rest));
        found
            .or_else(|| units.iter().find(|(unit, _)| *unit == plain_name && unit.contains('_')))
            .map(|(_, value)| *value)
    };
    if is_in(&SIZES) {
        NamedColumn::Size
    } else if is_in(&RATES) {
        NamedColumn::Rate
    } else if is_in(&PROCESSES) {
        NamedColumn::Processes
    } else if plain_name == "pairs" {
        NamedColumn::Pairs
    } else if is_in(&["window", "window_size"]) {
        NamedColumn::Window
    } else if is_in(&TESTS) {
        NamedColumn::Test
    } else if is_in(&RUNS) {
        NamedColumn::Run
    } else if let Some(seconds) = with_unit(&LATENCIES, &TIME_UNITS) {
        NamedColumn::Latency(seconds)
    } else if let Some(bytes) = with_unit(&BANDWIDTHS, &BANDWIDTH_UNITS) {
        NamedColumn::Bandwidth(bytes)
    } else if ["MBps", "GBps", "Mbps", "Gbps"].iter().any(|unit| name.trim().trim_end_matches(')').ends_with(unit)) {
        let bits = if name.contains("bps") { 0.125 } else { 1.0 };
        NamedColumn::Bandwidth(bits * if name.contains("Gb") || name.contains("GB") { 1e9 } else { 1e6 })
    } else if is_in(&LATENCIES) {
        NamedColumn::WithoutUnit("latency_us")
    } else if is_in(&BANDWIDTHS) || plain_name.ends_with("bps") {
        NamedColumn::WithoutUnit("bandwidth_MB/s")
    } else {
        NamedColumn::Other
    }
}

/// Splits a CSV line at the separator of the header line.
fn cells(line: &str, separator: Option<char>) -> Vec<&str> {
    match separator {
        Some(separator) => line.split(separator).map(|cell| cell.trim().trim_matches('"')).collect(),
        None => line.split_whitespace().collect(),
    }
}

/// CSV columns with their names, and the separator of the cells.
type NamedHeader = (Vec<(String, NamedColumn)>, Option<char>);

/// Returns the CSV columns and the separator if the line names a message size and a measured quantity.
fn header(line: &str) -> Option<NamedHeader> {
    let line = line.trim().trim_start_matches('#').trim();
    let separator = [',', ';', '\t'].into_iter().find(|separator| line.contains(*separator));
    let columns: Vec<(String, NamedColumn)> =
        cells(line, separator).into_iter().map(|name| (name.to_owned(), meaning(name))).collect();
    let has = |wanted: fn(&NamedColumn) -> bool| columns.iter().any(|(_, column)| wanted(column));
    let has_figure = has(|column| {
        use NamedColumn::{Bandwidth, Latency, Rate, WithoutUnit};
        matches!(column, Latency(_) | Bandwidth(_) | Rate | WithoutUnit(_))
    });
    (has(|column| *column == NamedColumn::Size) && has_figure).then_some((columns, separator))
}

/// Key of a benchmark table: test, number of processes, window size, and true if the quantity is a latency.
type TableKey = (Benchmark, String, u32, u32);

/// Reads CSV with named columns. Returns `None` if the first non-empty line contains no column names.
pub(super) fn read(lines: &TableLines<'_>) -> Option<Result<BenchmarkOutput, ConfigError>> {
    let mut rows = lines.iter().filter(|(_, line)| !line.trim().is_empty());
    let (number, columns, separator) = loop {
        let (number, line) = rows.next()?;
        match header(line) {
            Some((columns, separator)) => break (number, columns, separator),
            None if line.trim_start().starts_with('#') => {}
            None => return None,
        }
    };
    // In program output, a title precedes the table of message sizes and measured values.
    let is_output =
        |line: &str| line.contains("# OSU ") || line.contains("# Benchmarking ") || line.contains("MPI Benchmark");
    if lines.iter().take(number).any(|(_, line)| is_output(line)) {
        return None;
    }
    Some(table_rows(lines, number, &columns, separator, rows))
}

fn table_rows<'a>(
    lines: &TableLines<'a>,
    head: usize,
    columns: &[(String, NamedColumn)],
    separator: Option<char>,
    rows: impl Iterator<Item = (usize, &'a str)>,
) -> Result<BenchmarkOutput, ConfigError> {
    if let Some((name, NamedColumn::WithoutUnit(like))) =
        columns.iter().find(|(_, column)| matches!(column, NamedColumn::WithoutUnit(_)))
    {
        let what = format!("expected a unit in the name of column \"{name}\", such as {like}; found none");
        return Err(lines.wrong(head, what));
    }
    let mut figures: BTreeMap<TableKey, BTreeMap<u64, Vec<f64>>> = BTreeMap::new();
    let mut others: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for (number, line) in rows.filter(|(_, line)| !line.trim_start().starts_with('#')) {
        let cells = cells(line, separator);
        if cells.len() != columns.len() {
            let what = format!("expected {} columns, as line {head} names; found {}", columns.len(), cells.len());
            return Err(lines.wrong(number, what));
        }
        let value = |place: usize| -> Result<f64, ConfigError> {
            let found = cells[place].parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
            let name = &columns[place].0;
            found.ok_or_else(|| {
                let what = format!("expected a number, not negative, in column \"{name}\"; found \"{}\"", cells[place]);
                lines.wrong(number, what)
            })
        };
        let place = |wanted: NamedColumn| columns.iter().position(|(_, column)| *column == wanted);
        let whole = |wanted: NamedColumn| place(wanted).map(value).transpose().map(|found| found.map(|it| it as u32));
        let test = place(NamedColumn::Test).map(|place| cells[place]);
        let benchmark =
            test.map(|test| named_test(test).ok_or_else(|| lines.wrong(number, unknown_test(test)))).transpose()?;
        let processes = match (whole(NamedColumn::Processes)?, whole(NamedColumn::Pairs)?) {
            (Some(processes), _) => processes,
            (None, Some(pairs)) => pairs.saturating_mul(2),
            (None, None) if benchmark.is_some_and(|benchmark| !benchmark.is_of_pairs()) => 0,
            (None, None) => 2,
        };
        let window = whole(NamedColumn::Window)?.unwrap_or(WINDOW);
        let size = value(place(NamedColumn::Size).expect("a header has sizes"))?;
        if size.fract() != 0.0 || size > 9e18 {
            return Err(lines.wrong(number, format!("expected whole bytes; found {size}")));
        }
        let mut add = |kind: Benchmark, figure: f64| {
            let key = (benchmark.unwrap_or(kind), test.unwrap_or_default().to_owned(), processes, window);
            figures.entry(key).or_default().entry(size as u64).or_default().push(figure);
        };
        let latency = columns.iter().position(|(_, column)| matches!(column, NamedColumn::Latency(_)));
        let mut latency_figure = None;
        for (at, (_, column)) in columns.iter().enumerate() {
            match column {
                NamedColumn::Latency(seconds) if latency == Some(at) => {
                    let figure = value(at)? * seconds;
                    latency_figure = Some(figure);
                    let takes = benchmark.is_none_or(|of| !matches!(of, Benchmark::OneWay | Benchmark::BothWays));
                    if takes {
                        add(Benchmark::PingPong, figure);
                    }
                }
                // If the CSV row also has a latency, the bandwidth is ignored, because it is the reciprocal of the
                // latency.
                NamedColumn::Bandwidth(unit) if latency.is_none() && place(NamedColumn::Rate).is_none() => {
                    add(Benchmark::OneWay, value(at)? * unit / size.max(1.0));
                }
                NamedColumn::Rate if latency_figure.is_none() => add(Benchmark::OneWay, value(at)?),
                NamedColumn::Other => others.entry(at).or_default().push(cells[at]),
                _ => {}
            }
        }
    }
    let repeated = figures.values().flat_map(BTreeMap::values).any(|all| all.len() > 1);
    let mut skipped = Vec::new();
    for (at, values) in others {
        let name = &columns[at].0;
        let varies = values.iter().any(|value| *value != values[0]);
        if repeated && varies && values.iter().any(|value| value.parse::<f64>().is_err()) {
            let what = format!("column \"{name}\" has several values for equal sizes: expected a file for each value");
            return Err(lines.wrong(head, what));
        }
        skipped.push(format!("{}:{head}: column \"{name}\" is skipped", lines.name));
    }
    let tables = figures.into_iter().map(|((benchmark, test, processes, window), sizes)| {
        let program = if test.is_empty() { format!("CSV ({})", benchmark.name()) } else { format!("CSV ({test})") };
        let median = |mut all: Vec<f64>| {
            all.sort_by(f64::total_cmp);
            (all[(all.len() - 1) / 2] + all[all.len() / 2]) / 2.0
        };
        let rows =
            sizes.into_iter().map(|(size, all)| (size, median(all))).filter(|(_, figure)| *figure > 0.0).collect();
        BenchmarkTable { benchmark, program, processes, together: false, window, rows }
    });
    let tables = tables.filter(|table| !table.rows.is_empty()).collect();
    Ok(BenchmarkOutput { tables, skipped })
}

fn named_test(cell: &str) -> Option<Benchmark> {
    let name = plain(cell);
    let name =
        ["osu_", "imb_", "mpi_"].iter().fold(name.as_str(), |name, prefix| name.strip_prefix(prefix).unwrap_or(name));
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, benchmark)| *benchmark)
}

fn unknown_test(cell: &str) -> String {
    let known: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
    format!("expected a test such as {}; found \"{cell}\"", known.join(", "))
}
