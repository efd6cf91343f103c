//! Table of the call paths of a program's own functions.

use crate::engine::Outcome;

use super::headline::clip;
use super::numbers::{count, percent, share};
use super::table::{Align, Table};

/// Number of rows in the text; the JSON output has all rows.
const MOST: usize = 30;

/// Returns a table of call paths as a tree, with times as the mean over ranks; empty without instrumented functions. The
/// table has the paths with the greatest inclusive times.
pub(super) fn table(outcome: &Outcome) -> String {
    if outcome.call_paths.is_empty() {
        return String::new();
    }
    let mut least: Vec<_> = outcome.call_paths.values().map(|times| times.inclusive).collect();
    least.sort_unstable_by(|a, b| b.cmp(a));
    let least = least[MOST.min(least.len()) - 1];
    let mut table = Table::new(&[
        ("own functions, mean of ranks", Align::Left),
        ("calls", Align::Right),
        ("inclusive", Align::Right),
        ("share", Align::Right),
        ("exclusive", Align::Right),
        ("share", Align::Right),
    ]);
    let ranks = u64::from(outcome.ranks.max(1));
    let whole = outcome.predicted.as_ps() as f64 * ranks as f64;
    for (path, times) in outcome.call_paths.iter().filter(|(_, times)| times.inclusive >= least).take(MOST) {
        let depth = path.matches(" > ").count();
        let name = path.rsplit(" > ").next().unwrap_or(path);
        let mean = |span: crate::units::SimSpan| crate::units::SimSpan::from_ps(span.as_ps() / ranks).to_string();
        table.row([
            format!("{}{}", " ".repeat(depth.min(8)), clip(name, 32usize.saturating_sub(depth.min(8)))),
            count(times.calls),
            mean(times.inclusive),
            percent(share(times.inclusive.as_ps() as f64, whole)),
            mean(times.exclusive),
            percent(share(times.exclusive.as_ps() as f64, whole)),
        ]);
    }
    let more = outcome.call_paths.len().saturating_sub(MOST);
    let more = if more > 0 { format!("  and {} more\n", count(more as u64)) } else { String::new() };
    table.render() + &more
}
