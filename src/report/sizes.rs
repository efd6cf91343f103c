//! Tables of messages by size interval and network level: counts, volumes and transfer times. Each value has its share
//! of the level's total and its share of the run's total (figures 12 and 13 of the MCPSim paper).

use crate::engine::{IntervalMessages, Messages, Outcome};
use crate::platform::Level;
use crate::units::{Bytes, SimSpan};

use super::messages::level_names;
use super::numbers::{share, short_count, volume};
use super::table::{Align, Table};

/// Returns a table of the number of messages by size and network level.
pub(super) fn counts(outcome: &Outcome) -> String {
    distribution(outcome, "count by size", |cell| cell.count, short_count)
}

/// Returns a table of the number of bytes by message size and network level.
pub(super) fn volumes(outcome: &Outcome) -> String {
    distribution(outcome, "volume by size", |cell| cell.bytes, volume)
}

/// Returns a table of the sums of transfer times by message size and network level. The text is empty if a sum of
/// transfer times overflowed.
pub(super) fn times(outcome: &Outcome) -> String {
    let mut all = outcome.profile.iter().flat_map(levels).map(|(_, cell)| u128::from(cell.time.as_ps()));
    if all.by_ref().sum::<u128>() >= u128::from(SimSpan::MAX.as_ps()) {
        return String::new();
    }
    distribution(outcome, "time by size", |cell| cell.time.as_ps(), |ps| SimSpan::from_ps(ps).to_string())
}

/// Returns the messages of a size interval at the three network levels, the nearest level first.
pub(super) fn levels(row: &IntervalMessages) -> [(Level, Messages); 3] {
    let levels = &row.levels;
    [(Level::IntraCmp, levels.intra_cmp), (Level::InterCmp, levels.inter_cmp), (Level::InterNode, levels.inter_node)]
}

fn distribution(outcome: &Outcome, title: &str, value: fn(Messages) -> u64, text: fn(u64) -> String) -> String {
    // The table omits empty size intervals at its start and end. The label "<=" of the first shown size interval is
    // still true without these intervals.
    let used = |row: &IntervalMessages| levels(row).iter().any(|(_, cell)| cell.count > 0);
    let Some(first) = outcome.profile.iter().position(used) else { return String::new() };
    let last = outcome.profile.iter().rposition(used).unwrap_or(first);
    let rows = &outcome.profile[first..=last];

    let of_level = |index: usize| rows.iter().map(|row| value(levels(row)[index].1)).sum::<u64>();
    let totals = [of_level(0), of_level(1), of_level(2)];
    let all: u64 = totals.iter().sum();
    if all == 0 {
        return String::new();
    }
    let heading: Vec<_> = level_names(outcome).into_iter().chain(["all"]).map(|name| (name, Align::Right)).collect();
    let mut table = Table::new(&[vec![(title, Align::Left)], heading].concat());
    for row in rows {
        let values = levels(row).map(|(_, cell)| value(cell));
        let sum = values.iter().sum::<u64>();
        let cells = values.into_iter().zip(totals).chain([(sum, all)]).map(|(value, total)| match value {
            0 => "-     ".to_owned(),
            value => format!("{} {:>4}", text(value), whole_percent(value, total)),
        });
        table.row(std::iter::once(interval(row)).chain(cells));
    }
    table.render()
}

/// Formats a percentage without decimals, because four table columns of numbers must fit.
fn whole_percent(part: u64, whole: u64) -> String {
    match share(part as f64, whole as f64) * 100.0 {
        percent if percent > 0.0 && percent < 0.5 => "<1%".to_owned(),
        percent => format!("{percent:.0}%"),
    }
}

fn interval(row: &IntervalMessages) -> String {
    match row.up_to {
        Some(up_to) => format!("<= {}", Bytes::new(up_to)),
        None => format!("> {}", Bytes::new(row.above)),
    }
}

/// Formats a percentage with four decimals, for CSV files.
pub(super) fn exact_percent(part: u64, whole: u64) -> String {
    format!("{:.4}", share(part as f64, whole as f64) * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::{busy, empty, huge};

    #[test]
    fn empty_intervals_at_the_ends_are_left_out() {
        let outcome = busy();
        let text = counts(&outcome);
        assert_eq!(outcome.profile.len(), 10);
        assert!(text.lines().count() < 11, "{text}");
        assert_eq!(counts(&empty()), "");
        assert_eq!(volumes(&empty()), "");
        assert_eq!(times(&empty()), "");
        assert_eq!(times(&huge()), "", "sums that cannot be held");
    }

    #[test]
    fn messages_without_bytes_have_counts_and_no_volume() {
        let mut outcome = huge();
        for row in &mut outcome.profile {
            for cell in [&mut row.levels.intra_cmp, &mut row.levels.inter_cmp, &mut row.levels.inter_node] {
                cell.bytes = 0;
            }
        }
        assert_eq!(volumes(&outcome), "");
        assert!(!counts(&outcome).is_empty());
    }

    #[test]
    fn shares_of_a_level_add_up_to_all_of_it() {
        let text = counts(&busy());
        let sum: f64 = text
            .lines()
            .skip(1)
            .filter_map(|line| line.split_whitespace().filter_map(|word| word.strip_suffix('%')).next_back())
            .map(|number| number.trim_start_matches('<').parse::<f64>().unwrap())
            .sum();
        assert!((sum - 100.0).abs() < 3.0, "{sum}\n{text}");
    }
}
