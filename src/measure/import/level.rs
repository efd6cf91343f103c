//! Parameters of a network level, derived from benchmark tables. T(s) is half a round trip of a message of s bytes, and
//! a window has n messages.
//!
//! | parameter | from |
//! |---|---|
//! | latency and bandwidth by size | ping-pong: T(s) = o_s + L + s/B + o_r; above the eager threshold 2 handshakes in addition |
//! | o_s = o_r by size | windows of one pair: (n/rate − T(s) − T(0)) / (n − 1); sender and receiver overlap, so this is the overhead of each |
//! | post_overhead, of a core | windows of one pair in both directions, 8 B and 128 B: mean of 2/rate − o_s − o_r; in one direction the latency hides this cost |
//! | overheads, gap and latency by ranks per node | windows and ping-pongs of several pairs at once, see [`super::super::busy`] |
//! | gap by size | windows of the most pairs: 1/rate − s/capacity, if the adapter and not the cores are the limit |
//! | a core's copies by size within a node | windows of one pair, see [`super::super::copies`] |
//! | capacity, or a core's copy within a node | windows of one pair, the greatest size |
//! | duplex | windows of the fewest pairs in both directions, the greatest size |
//! | duplex_gap | windows of the most pairs in both directions, 8 B: 1/rate − s/duplex, if this is more than half of the gap |

use std::ops::RangeInclusive;

use mcpsim_core::config::ConfigError;
use mcpsim_core::platform::Level;

use super::super::busy::by_ranks;
use super::super::campaign::SMALL;
use super::super::copies::ShortWindows;
use super::super::effects::MeasuredEffects;
use super::super::fit::{FitPiece, Floor, pieces};
use super::super::link::{LinkFit, RowFit, joined, row_of};
use super::super::occupancy::{FIRST_UP_TO, INDEPENDENT, MeasuredOccupancy};
use super::part::ImportPart;
use super::several::{busy_pairs, limited_by_cores, times};
use super::table::{Benchmark, BenchmarkTable};
use super::windows::{self, Steps, WindowSizes};

/// Least message size in bytes of windows that measure the bandwidth of the wire.
const LARGE: u64 = 256 << 10;
/// Eager thresholds in bytes if the latencies have no step. The thresholds are those of the machine `default`, within a
/// node and between nodes.
const EAGER: [u64; 2] = [4 << 10, 64 << 10];
/// Least height of the step of a rendezvous, as a fraction of an empty message's time. Smaller steps have other causes.
const LEAST_STEP: f64 = 0.3;
/// Sizes in bytes that can be an eager threshold. Steps at smaller sizes are those of messages inside a request.
const STEP_SIZES: RangeInclusive<u64> = 1 << 10..=256 << 10;
/// Least start time of a message as a fraction of an empty message's time, as in [`LinkFit::of`].
const LEAST_SHARE: f64 = 0.7;

/// A benchmark table, and the file that contains the table.
pub struct ImportSource<'a> {
    /// Name of the benchmark file.
    pub file: &'a str,
    /// The benchmark table of the file.
    pub table: BenchmarkTable,
}

/// Parameters of a network level, and descriptions of their origins.
#[derive(Debug)]
pub struct ImportedLevel {
    /// The parameters of the network level.
    pub fit: LinkFit,
    /// Descriptions of the parameters' origins, one line per origin. Lines about benchmark files are first.
    pub told: Vec<String>,
    /// Cost of posting a receive in seconds, and the description of its origin.
    pub posting: Option<(f64, String)>,
    /// Number of benchmark files of the network level.
    pub files: usize,
}

/// Returns the benchmark tables of a file that `part` selects.
///
/// # Errors
/// The tables have several numbers of processes and `part` selects none, or `part` selects a number without a table.
pub fn chosen<'a>(part: &'a ImportPart, tables: Vec<BenchmarkTable>) -> Result<Vec<ImportSource<'a>>, ConfigError> {
    let mut tables = tables;
    if let [stated] = part.processes[..] {
        // osu_multi_lat does not print the number of its processes.
        tables.iter_mut().filter(|table| table.processes == 0).for_each(|table| table.processes = stated);
    }
    let mut there: Vec<u32> = tables.iter().map(|table| table.processes).collect();
    there.sort_unstable();
    there.dedup();
    let list = there.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    if part.processes.is_empty() && there.len() > 1 {
        let most = part.choosing(there[there.len() - 1]);
        return Err(ConfigError::new(format!(
            "{}: expected one number of processes; found {list}, whose messages may cross other levels: select one \
             number, as in {most}",
            part.file
        )));
    }
    if let Some(none) = part.processes.iter().find(|wanted| !there.contains(wanted)) {
        return Err(ConfigError::new(format!("{}: expected runs of {none} processes; found {list}", part.file)));
    }
    let wanted = |table: &BenchmarkTable| part.processes.is_empty() || part.processes.contains(&table.processes);
    Ok(tables.into_iter().filter(wanted).map(|table| ImportSource { file: &part.file, table }).collect())
}

/// Returns the parameters of the network level `level` from the tables in `sources`, with windows of the message sizes
/// `sizes`. The eager threshold is the one that the user states, otherwise that of a visible step, otherwise that of
/// `base`, the name and the threshold of the base platform, otherwise that of the machine "default".
///
/// # Errors
/// The sources have no ping-pong, or two benchmark programs made the same test.
pub fn level(
    level: Level,
    sources: &[ImportSource],
    eager: Option<u64>,
    base: Option<(&str, u64)>,
    sizes: WindowSizes,
) -> Result<ImportedLevel, ConfigError> {
    let name = level.name();
    let mut told: Vec<String> = sources.iter().map(from).collect();
    let Some(ping_pong) = ping_pong(level, sources, &mut told)? else {
        return Err(ConfigError::new(format!(
            "--import: no ping-pong for {name}: expected a file of osu_latency or IMB PingPong"
        )));
    };
    let window = one(level, sources, Benchmark::OneWay, |table| table.pairs() == 1)?;
    let most = sources.iter().filter(|of| of.table.benchmark == Benchmark::OneWay).map(|of| of.table.pairs()).max();
    let many = one(level, sources, Benchmark::OneWay, |table| table.pairs() > 1 && Some(table.pairs()) == most)?;
    let pairs = || sources.iter().filter(|of| of.table.benchmark == Benchmark::BothWays).map(|of| of.table.pairs());
    let (fewest, most) = (pairs().min(), pairs().max());
    let both = one(level, sources, Benchmark::BothWays, |table| Some(table.pairs()) == fewest)?;
    let many_both = one(level, sources, Benchmark::BothWays, |table| table.pairs() > 1 && Some(table.pairs()) == most)?;

    let measured = wire(window.as_ref().or(many.as_ref()), &ping_pong);
    let wire = measured.or_else(|| from_ping_pong(level, &ping_pong));
    // Within a node, copies determine the times of windows, so only windows of few message sizes are used.
    let by_size = if level == Level::InterNode { sizes } else { WindowSizes::Few };
    let overheads = overheads(window.as_ref(), &ping_pong, wire, by_size, &mut told);
    let posting = both.as_ref().filter(|both| both.pairs() == 1 && level == Level::InterNode);
    let posting = posting.and_then(|both| posting_of(both, &overheads));
    let most = many.as_ref().map_or(0, BenchmarkTable::pairs);
    let fewer = limited_by_cores(level, sources, window.as_ref(), most)?;
    let gaps = gaps(level, [many.as_ref(), fewer.as_ref()], wire, by_size, &mut told);
    told.push(what_wire(level, measured));
    let small = (!gaps.is_empty()).then(|| [SMALL[0], SMALL[1]].map(|size| gaps.above(size - 1)));
    let occupancy = MeasuredOccupancy { gaps: small, ..occupancy(level, wire, both.as_ref(), &mut told) };
    let duplex_gap = duplex_gap(many_both.as_ref(), &occupancy, &mut told);
    let occupancy = MeasuredOccupancy { duplex_gap, ..occupancy };

    let step = eager_step(&ping_pong.rows);
    let from = match (eager, &step) {
        (Some(_), _) => "as stated".to_owned(),
        (None, Some(step)) => format!(
            "the greatest step of the latencies, of {:.3} us above {} B (state another one by --eager)",
            step.height * 1e6,
            step.size
        ),
        (None, None) => match base {
            Some((name, _)) => format!("ASSUMED, the value of {name}: no imported file has this value"),
            None => "ASSUMED, the value of the machine \"default\": no imported file has this value".to_owned(),
        },
    };
    let found_step = step.map(|step| step.size);
    let assumed = base.map_or(EAGER[usize::from(level == Level::InterNode)], |(_, eager)| eager);
    let eager = eager.or(found_step).unwrap_or(assumed);
    // A network adapter never transfers a single message faster than many messages.
    let steepest = wire.filter(|_| level == Level::InterNode).map_or(0.0, |wire| 1.0 / wire);
    let least = Floor { start: LEAST_SHARE * ping_pong.rows[0].1, per_byte: steepest };
    let mut breaks: Vec<u64> = if overheads.is_empty() && gaps.is_empty() { Vec::new() } else { vec![FIRST_UP_TO] };
    let (last, _) = ping_pong.last();
    breaks.extend(Some(eager).filter(|eager| *eager < last && *eager > FIRST_UP_TO));
    let found = pieces(&ping_pong.rows, &breaks, least);
    // Messages above the eager threshold start later by the time of two control messages. A control message never takes
    // longer than an empty message.
    let first = row(&found[0], overheads.above(0), 0.0, 0.0);
    let next = found.iter().skip_while(|piece| piece.up_to.is_some_and(|end| end < eager)).take(2);
    let starts: Vec<f64> = next.map(|piece| piece.start).collect();
    let later = if let [below, above] = starts[..] { (above - below) / 2.0 } else { 0.0 };
    let handshake = later.clamp(0.0, first.columns[0].0);
    let mut above = 0;
    let mut rows = Vec::new();
    for piece in &found {
        let inside = |border: &u64| *border > above && piece.up_to.is_none_or(|end| *border < end);
        let mut ends: Vec<u64> = overheads.borders().chain(gaps.borders()).filter(inside).collect();
        ends.sort_unstable();
        ends.dedup();
        for up_to in ends.into_iter().map(Some).chain([piece.up_to]) {
            let control = if above >= eager { 2.0 * handshake } else { 0.0 };
            let part = FitPiece { up_to, ..*piece };
            rows.push(row(&part, overheads.above(above), control, gaps.above(above)));
            above = up_to.unwrap_or(u64::MAX);
        }
    }
    let (mut handshake, mut rows) = (handshake, joined(rows));
    if let Some(window) = window.as_ref().filter(|_| level != Level::InterNode && sizes == WindowSizes::All) {
        let seen = windows::seen(window, &ping_pong);
        told.push(format!("recv_overhead, copy_bandwidth by size: windows of one pair, {} sizes.", seen.len()));
        let mut short = ShortWindows::of(&seen, Some(eager), handshake, ping_pong.rows[0].1);
        (handshake, rows) = short.with_room(rows);
        rows = short.told(rows, wire);
    }
    told.push(format!("eager_threshold: {from}."));
    let handshake_from = if later > 0.0 {
        "handshake: half of the extra start-up time of greater messages, at most the latency of small ones."
    } else {
        "handshake: not visible, as messages above eager_threshold start no later than smaller ones."
    };
    told.push(handshake_from.to_owned());
    let fitted = |size: u64| found.iter().find(|piece| piece.up_to.is_none_or(|end| size <= end));
    let errors = ping_pong.rows.iter().filter_map(|(size, time)| Some((*size, fitted(*size)?.at(*size) / time - 1.0)));
    let errors = errors.collect();
    let fit = LinkFit {
        level,
        eager: Some(eager),
        handshake,
        loads: vec![1],
        ranks: Vec::new(),
        rows,
        errors,
        occupancy: Some(occupancy),
        effects: MeasuredEffects::default(),
    };
    let busy = busy_pairs(level, sources, [window.as_ref(), many.as_ref()], &ping_pong, (wire, by_size))?;
    let alone = window.as_ref().and_then(|window| times(window, &ping_pong));
    let fit = by_ranks(fit, alone, wire, busy);
    if !fit.ranks.is_empty() {
        let numbers = fit.ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        told.push(format!(
            "ranks_per_node: tests of several pairs, {numbers} ranks of a node: overheads where cores limit windows of \
             8 and 128 B, gap where the adapter does, latency of ping-pongs at once."
        ));
    }
    Ok(ImportedLevel { fit, told, posting, files: sources.len() })
}

/// Step of the times of messages: messages above `size` take `height` seconds longer than the smaller ones suggest.
struct LatencyStep {
    size: u64,
    height: f64,
}

/// Finds the step of a rendezvous: the greatest step above 1 KiB to 256 KiB, if it is at least [`LEAST_STEP`] of the
/// time of the smallest message. Lines through the two sizes below and above a step give its height; the lower counts.
fn eager_step(rows: &[(u64, f64)]) -> Option<LatencyStep> {
    let least = LEAST_STEP * rows.first()?.1;
    let step = |four: &[(u64, f64)]| {
        let [(s0, t0), (s1, t1), (s2, t2), (s3, t3)] = four[..] else { return None };
        let slope = |from: (u64, f64), to: (u64, f64)| ((to.1 - from.1) / (to.0 - from.0) as f64).max(0.0);
        let gap = (s2 - s1) as f64;
        let steepest = slope((s0, t0), (s1, t1)).max(slope((s2, t2), (s3, t3)));
        (STEP_SIZES.contains(&s1)).then_some(LatencyStep { size: s1, height: t2 - t1 - steepest * gap })
    };
    let steps = rows.windows(4).filter_map(step).filter(|step| step.height >= least);
    steps.max_by(|a, b| a.height.total_cmp(&b.height))
}

/// Returns the ping-pong table of one pair, or otherwise the most similar table.
fn ping_pong(
    level: Level,
    sources: &[ImportSource],
    told: &mut Vec<String>,
) -> Result<Option<BenchmarkTable>, ConfigError> {
    let alone = one(level, sources, Benchmark::PingPong, |table| !table.together)?;
    if alone.is_some() {
        return Ok(alone);
    }
    let together = one(level, sources, Benchmark::PingPong, |table| table.together)?;
    let (found, why) = match together {
        Some(table) => {
            (Some(table), "ping-pongs of several pairs at the same time: they may be slower than one pair's")
        }
        None => {
            let crossing = one(level, sources, Benchmark::PingPing, |_| true)?;
            (crossing, "ping-ping, whose two messages cross each other: they may be slower than one")
        }
    };
    if found.is_some() {
        told.push(format!("latency, bandwidth: NO DATA (ping-pong of one pair). ASSUMED: {why}."));
    }
    Ok(found)
}

/// Returns the cost of posting a receive, if a window in both directions of one pair takes longer than the sends and
/// receives of the window.
fn posting_of(both: &BenchmarkTable, overheads: &Steps) -> Option<(f64, String)> {
    if overheads.is_empty() {
        return None;
    }
    let mut sum = 0.0;
    for size in SMALL {
        sum += 2.0 / both.at(size)? - 2.0 * overheads.above(size - 1);
    }
    let mean = sum / SMALL.len() as f64;
    let from = format!(
        "post_overhead: windows both ways of one pair, {} and {} B, beyond what sends and receives take; the mean.",
        SMALL[0], SMALL[1]
    );
    (mean > 0.0).then_some((mean, from))
}

fn row(piece: &FitPiece, overhead: f64, control: f64, gap: f64) -> RowFit {
    row_of(piece, [overhead, overhead], control, gap)
}

/// Describes a benchmark table in one line.
fn from(source: &ImportSource) -> String {
    let BenchmarkTable { program, processes, rows, .. } = &source.table;
    let sizes = format!("{} sizes up to {} B", rows.len(), source.table.last().0);
    let number = if *processes == 0 { "several".to_owned() } else { processes.to_string() };
    format!("{}: {program}, {number} processes, {sizes}", source.file)
}

/// Returns the only benchmark table of a test. Tables of equal runs are merged to the medians of their values.
pub(super) fn one(
    level: Level,
    sources: &[ImportSource],
    benchmark: Benchmark,
    keep: impl Fn(&BenchmarkTable) -> bool,
) -> Result<Option<BenchmarkTable>, ConfigError> {
    let found: Vec<&ImportSource> =
        sources.iter().filter(|of| of.table.benchmark == benchmark && keep(&of.table)).collect();
    let Some(first) = found.first() else { return Ok(None) };
    let like = |table: &BenchmarkTable| (table.program.clone(), table.processes, table.window);
    if let Some(other) = found.iter().find(|of| like(&of.table) != like(&first.table)) {
        let told = |of: &ImportSource| format!("{} ({}, {} processes)", of.file, of.table.program, of.table.processes);
        return Err(ConfigError::new(format!(
            "--import: expected one {} for {}; found {} and {}: leave one out",
            benchmark.name(),
            level.name(),
            told(first),
            told(other)
        )));
    }
    let mut table = first.table.clone();
    table.rows.retain(|(size, _)| found.iter().all(|of| of.table.at(*size).is_some()));
    for (size, figure) in &mut table.rows {
        let mut all: Vec<f64> = found.iter().filter_map(|of| of.table.at(*size)).collect();
        all.sort_by(f64::total_cmp);
        *figure = (all[(all.len() - 1) / 2] + all[all.len() / 2]) / 2.0;
    }
    if table.rows.is_empty() {
        let what = format!("the runs of {} for {} have no size in common", table.program, level.name());
        return Err(ConfigError::new(format!("--import: {what}")));
    }
    Ok(Some(table))
}

/// Returns the core overhead of a message at the sender and at the receiver.
fn overheads(
    window: Option<&BenchmarkTable>,
    ping_pong: &BenchmarkTable,
    wire: Option<f64>,
    sizes: WindowSizes,
    told: &mut Vec<String>,
) -> Steps {
    let both = "both ends ASSUMED to take the same time, concurrently.";
    if let Some((steps, most)) =
        window.filter(|_| sizes == WindowSizes::All).and_then(|window| windows::core_costs(window, ping_pong, wire))
    {
        told.push(format!(
            "send_overhead, recv_overhead: windows of one pair up to {most} B; above, the values of {} B; {both}",
            SMALL[1]
        ));
        return steps;
    }
    let all = window.map(|window| windows::each(window, ping_pong)).unwrap_or_default();
    let each = |size: u64| all.iter().find(|(of, _)| *of == size).map(|(_, each)| *each);
    let found = each(SMALL[0]).zip(each(SMALL[1]));
    told.push(match &found {
        Some(_) => format!(
            "send_overhead, recv_overhead: windows of one pair, of 8 B for up to 64 B, of 128 B \
                            above; {both}"
        ),
        None => "send_overhead, recv_overhead: NO DATA (windows of one pair at 8 and 128 B). ASSUMED: none.".to_owned(),
    });
    found.map_or_else(Steps::default, |(first, second)| Steps::two([first, second]))
}

/// Returns the least time between two messages of a network adapter.
pub(super) fn gaps(
    level: Level,
    [many, window]: [Option<&BenchmarkTable>; 2],
    wire: Option<f64>,
    sizes: WindowSizes,
    told: &mut Vec<String>,
) -> Steps {
    if level != Level::InterNode {
        return Steps::default();
    }
    let each = |size: u64| {
        let many = many?;
        Some(windows::gap(many, window, wire, (size, many.at(size)?)))
    };
    let found: Option<Vec<(f64, bool)>> = SMALL.into_iter().map(each).collect();
    let (Some(found), Some(many)) = (found, many) else {
        told.push("gap: NO DATA (windows of many pairs at 8 and 128 B). ASSUMED: none.".to_owned());
        return Steps::default();
    };
    let pairs = many.pairs();
    if !found.iter().all(|(_, shared)| *shared) {
        told.push(format!("gap: {pairs} pairs were limited by their cores, not by the adapter. ASSUMED: none."));
        return Steps::default();
    }
    if let Some((steps, most)) = windows::gaps(many, window, wire).filter(|_| sizes == WindowSizes::All) {
        told.push(format!("gap: messages per second of {pairs} pairs up to {most} B; above, no gap."));
        return steps;
    }
    told.push(format!("gap: messages per second of {pairs} pairs, of 8 B for up to 64 B, of 128 B above."));
    Steps::two([found[0].0.max(0.0), found[1].0.max(0.0)])
}

/// Returns the bytes per second of a window of the greatest messages, excluding the start of the window and the answer.
fn wire(window: Option<&BenchmarkTable>, ping_pong: &BenchmarkTable) -> Option<f64> {
    let window = window?;
    let (size, rate) = window.last();
    let alone = ping_pong.at(size)?;
    let count = f64::from(window.window) * f64::from(window.pairs());
    let whole = count / rate;
    let rest = whole - alone - ping_pong.rows[0].1;
    (size >= LARGE && rest > 0.0).then(|| (count - f64::from(window.pairs())) * size as f64 / rest)
}

/// Returns the bandwidth of the wire from a ping-pong. For an adapter the bandwidth is the growth of times at the
/// greatest message sizes; for a core's copy it is the greatest rate of any size.
fn from_ping_pong(level: Level, ping_pong: &BenchmarkTable) -> Option<f64> {
    if level != Level::InterNode {
        let reached = ping_pong.rows.iter().map(|(size, time)| *size as f64 / time);
        return reached.max_by(f64::total_cmp).filter(|most| *most > 0.0);
    }
    let least = Floor { start: LEAST_SHARE * ping_pong.rows[0].1, per_byte: 0.0 };
    pieces(&ping_pong.rows, &[], least).last().filter(|last| !last.flat).map(|last| 1.0 / last.per_byte)
}

/// Describes the origin of the wire's bandwidth in one line.
fn what_wire(level: Level, measured: Option<f64>) -> String {
    let (what, assumed) = match level {
        Level::InterNode => ("capacity", "the slope of a ping-pong at the greatest sizes"),
        _ => ("copy_bandwidth", "the most that a ping-pong reaches"),
    };
    match measured {
        Some(_) => format!("{what}: windows one way at the greatest size."),
        None => format!("{what}: NO DATA (windows one way of 256 KiB and more). ASSUMED: {assumed}."),
    }
}

fn occupancy(
    level: Level,
    wire: Option<f64>,
    both: Option<&BenchmarkTable>,
    told: &mut Vec<String>,
) -> MeasuredOccupancy {
    if level != Level::InterNode {
        return MeasuredOccupancy { copy: wire, ..MeasuredOccupancy::default() };
    }
    let (Some(wire), Some(both)) = (wire, both) else {
        told.push("duplex: NO DATA (windows both ways). ASSUMED: both directions are independent.".to_owned());
        return MeasuredOccupancy { capacity: wire, ..MeasuredOccupancy::default() };
    };
    let (size, rate) = both.last();
    if size < LARGE {
        told.push(
            "duplex: NO DATA (windows both ways of 256 KiB and more). ASSUMED: both directions are independent."
                .to_owned(),
        );
        return MeasuredOccupancy { capacity: Some(wire), ..MeasuredOccupancy::default() };
    }
    let together = size as f64 * rate;
    if together >= INDEPENDENT * 2.0 * wire {
        let part = together / wire;
        told.push(format!("duplex: windows both ways carry {part:.2} times one way: both directions are independent."));
        return MeasuredOccupancy { capacity: Some(wire), ..MeasuredOccupancy::default() };
    }
    told.push("duplex: windows both ways at the greatest size.".to_owned());
    MeasuredOccupancy { capacity: Some(wire), duplex: Some(together.max(wire)), ..MeasuredOccupancy::default() }
}

/// Returns the time between two small messages of a network adapter in both directions together, if both directions
/// share the adapter.
fn duplex_gap(many: Option<&BenchmarkTable>, of: &MeasuredOccupancy, told: &mut Vec<String>) -> Option<f64> {
    let ([gap, _], many) = (of.gaps.filter(|[gap, _]| *gap > 0.0)?, many?);
    let size = SMALL[0];
    let bytes = of.duplex.map_or(0.0, |duplex| size as f64 / duplex);
    let (pairs, both) = (many.pairs(), 1.0 / many.at(size)? - bytes);
    if both * INDEPENDENT <= gap / 2.0 {
        told.push(format!(
            "duplex_gap: {pairs} pairs both ways send twice as many as one way: directions are independent."
        ));
        return None;
    }
    told.push(format!("duplex_gap: messages per second of {pairs} pairs both ways at {size} B, at most the gap."));
    Some(both.min(gap))
}
