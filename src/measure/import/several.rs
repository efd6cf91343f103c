//! Benchmark tables of several pairs of processes at once.

use mcpsim_core::config::ConfigError;
use mcpsim_core::platform::Level;

use super::super::busy::{BusyPairs, later};
use super::super::campaign::SMALL;
use super::level::{ImportSource, gaps, one};
use super::table::{Benchmark, BenchmarkTable};
use super::windows::{self, Steps, WindowSizes};

/// Returns the tests of several pairs at once, by increasing number of pairs. `window` and `many` are the windows of one
/// pair and of the most pairs.
pub(super) fn busy_pairs(
    level: Level,
    sources: &[ImportSource],
    [window, many]: [Option<&BenchmarkTable>; 2],
    ping_pong: &BenchmarkTable,
    (wire, sizes): (Option<f64>, WindowSizes),
) -> Result<Vec<BusyPairs>, ConfigError> {
    let is_one = |table: &BenchmarkTable, test: Benchmark| match test {
        Benchmark::PingPong => table.benchmark == test && table.together,
        _ => table.benchmark == test,
    };
    let several = sources.iter().map(|source| &source.table).filter(|table| table.pairs() > 1);
    let several = several.filter(|of| is_one(of, Benchmark::OneWay) || is_one(of, Benchmark::PingPong));
    let mut numbers: Vec<u32> = several.map(BenchmarkTable::pairs).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut busy = Vec::new();
    for pairs in numbers {
        let windows = one(level, sources, Benchmark::OneWay, |table| table.pairs() == pairs)?;
        let together = one(level, sources, Benchmark::PingPong, |table| table.together && table.pairs() == pairs)?;
        let is_most = many.is_some_and(|many| many.pairs() == pairs);
        let fewer = limited_by_cores(level, sources, window, pairs)?;
        let gaps = match &windows {
            Some(_) if is_most => Steps::default(),
            Some(windows) => gaps(level, [Some(windows), fewer.as_ref()], wire, sizes, &mut Vec::new()),
            None => Steps::default(),
        };
        let started = together.clone();
        let more = together.filter(|_| !ping_pong.together).map_or(Vec::new(), |together| {
            let both =
                together.rows.iter().filter_map(|(size, time)| Some((*size, later(*time, ping_pong.at(*size)?))));
            both.collect()
        });
        let each = windows.as_ref().and_then(|windows| times(windows, started.as_ref().unwrap_or(ping_pong)));
        busy.push(BusyPairs { pairs, each, gaps: Some(gaps).filter(|gaps| !gaps.is_empty()), later: more });
    }
    Ok(busy)
}

/// Returns the seconds per message, counted over all pairs, of windows of the sizes [`SMALL`].
pub(super) fn times(windows: &BenchmarkTable, ping_pong: &BenchmarkTable) -> Option<[f64; 2]> {
    let [first, second] = SMALL.map(|size| windows::each_of_all(windows, ping_pong, size));
    first.zip(second).map(|(first, second)| [first, second])
}

/// Returns the windows of the most pairs, fewer than `pairs`, that their cores limit.
pub(super) fn limited_by_cores(
    level: Level,
    sources: &[ImportSource],
    window: Option<&BenchmarkTable>,
    pairs: u32,
) -> Result<Option<BenchmarkTable>, ConfigError> {
    let mut found = window.cloned();
    let fewer = sources.iter().map(|source| &source.table).filter(|table| table.benchmark == Benchmark::OneWay);
    let mut numbers: Vec<u32> = fewer.map(BenchmarkTable::pairs).filter(|of| (2..pairs).contains(of)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    for number in numbers {
        let Some(table) = one(level, sources, Benchmark::OneWay, |table| table.pairs() == number)? else { continue };
        let is_shared = |size: u64| Some(windows::gap(&table, found.as_ref(), None, (size, table.at(size)?)).1);
        if found.is_some() && SMALL.into_iter().all(|size| is_shared(size) == Some(false)) {
            found = Some(table);
        }
    }
    Ok(found)
}
