//! Tables of messages by network level, and between pairs of ranks.

use crate::engine::{Messages, Outcome};
use crate::platform::Level;
use crate::profile::KindMessages;
use crate::units::SimSpan;

use super::numbers::{count, percent, share, short_count, volume};
use super::table::{Align, Table};

/// Number of rank pairs in the text; the JSON output has all pairs.
const PAIRS: usize = 10;

/// Returns the names of the network levels in text. The two-level baseline model has no level between node and core.
pub(super) fn level_names(outcome: &Outcome) -> [&'static str; 3] {
    let near = if ["two-level", "bigsim"].contains(&outcome.model.as_str()) { "intra-node" } else { "intra-CMP" };
    [near, "inter-CMP", "inter-node"]
}

/// Returns a table of the count, volume, mean size and mean transfer time of messages by network level.
pub(super) fn by_level(outcome: &Outcome) -> String {
    if outcome.messages.count == 0 {
        return "  no messages\n".to_owned();
    }
    let mut table = Table::new(&[
        ("messages", Align::Left),
        ("count", Align::Right),
        ("", Align::Right),
        ("volume", Align::Right),
        ("", Align::Right),
        ("mean size", Align::Right),
        ("mean time", Align::Right),
    ]);
    let mut row = |name: &str, messages: Messages| {
        let mean = |sum: u64| sum.checked_div(messages.count);
        table.row([
            name.to_owned(),
            count(messages.count),
            percent(share(messages.count as f64, outcome.messages.count as f64)),
            volume(messages.bytes),
            percent(share(messages.bytes as f64, outcome.messages.bytes as f64)),
            mean(messages.bytes).map_or("-".to_owned(), volume),
            mean_time(messages).map_or("-".to_owned(), |time| time.to_string()),
        ]);
    };
    let levels = [outcome.levels.intra_cmp, outcome.levels.inter_cmp, outcome.levels.inter_node];
    for (name, messages) in level_names(outcome).into_iter().zip(levels) {
        row(name, messages);
    }
    let time = levels.into_iter().map(|messages| messages.time).sum();
    row("all", Messages { count: outcome.messages.count, bytes: outcome.messages.bytes, time });
    table.render()
}

/// Returns a table of the count, volume and mean transfer time of messages by the smallest unit of the machine that
/// contains both cores. The text is empty if the platform states no such units.
pub(super) fn by_place(outcome: &Outcome) -> String {
    if outcome.by_place.iter().all(|row| row.messages.count == 0) {
        return String::new();
    }
    let right = |name| (name, Align::Right);
    let columns =
        [("by least common place", Align::Left), right("count"), right(""), right("volume"), right("mean time")];
    let mut table = Table::new(&columns);
    for row in outcome.by_place.iter().filter(|row| row.messages.count > 0) {
        table.row([
            row.place.clone(),
            count(row.messages.count),
            percent(share(row.messages.count as f64, outcome.messages.count as f64)),
            volume(row.messages.bytes),
            mean_time(row.messages).map_or("-".to_owned(), |time| time.to_string()),
        ]);
    }
    table.render()
}

/// Returns a table of the number of messages per network level by their source: point-to-point calls, or a collective.
pub(super) fn by_kind(outcome: &Outcome) -> String {
    let Some(kinds) = outcome.kinds.as_ref().filter(|kinds| !kinds.is_empty()) else { return String::new() };
    let mut headings = vec![("by kind", Align::Left), ("count", Align::Right), ("volume", Align::Right)];
    headings.extend(level_names(outcome).map(|name| (name, Align::Right)));
    let mut table = Table::new(&headings);
    let mut names: Vec<&str> = kinds.iter().map(|of| of.kind.as_str()).collect();
    names.dedup();
    for name in names {
        let of_kind = kinds.iter().filter(|of| of.kind == name);
        let sum = |value: fn(&KindMessages) -> u64| of_kind.clone().map(value).fold(0, u64::saturating_add);
        let at = |level: Level| of_kind.clone().filter(|of| of.level == level).map(|of| of.count).sum::<u64>();
        let all = [name.to_owned(), short_count(sum(|of| of.count)), volume(sum(|of| of.bytes))];
        let by_level = Level::ALL.map(|level| match at(level) {
            0 => "-".to_owned(),
            count => short_count(count),
        });
        table.row(all.into_iter().chain(by_level));
    }
    table.render()
}

/// Returns the mean transfer time of messages; `None` without messages, or if the sum of their times has saturated.
fn mean_time(messages: Messages) -> Option<SimSpan> {
    let sum = Some(messages.time).filter(|&time| time != SimSpan::MAX)?;
    sum.as_ps().checked_div(messages.count).map(SimSpan::from_ps)
}

/// Returns a table of the rank pairs with the most traffic; empty if the run did not record pairs.
pub(super) fn busiest_pairs(outcome: &Outcome) -> String {
    let Some(pairs) = outcome.pairs.as_ref().filter(|pairs| !pairs.is_empty()) else { return String::new() };
    let mut pairs = pairs.clone();
    pairs.sort_by_key(|pair| (std::cmp::Reverse((pair.bytes, pair.count)), pair.from, pair.to));
    let mut table = Table::new(&[
        ("busiest pairs", Align::Left),
        ("count", Align::Right),
        ("", Align::Right),
        ("volume", Align::Right),
        ("", Align::Right),
    ]);
    for pair in pairs.iter().take(PAIRS) {
        table.row([
            format!("{} -> {}", pair.from, pair.to),
            count(pair.count),
            percent(share(pair.count as f64, outcome.messages.count as f64)),
            volume(pair.bytes),
            percent(share(pair.bytes as f64, outcome.messages.bytes as f64)),
        ]);
    }
    let more = pairs.len().saturating_sub(PAIRS);
    let rest = if more > 0 { format!("  and {} more\n", count(more as u64)) } else { String::new() };
    table.render() + &rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::PairMessages;
    use crate::report::samples::{busy, empty};

    #[test]
    fn a_level_without_messages_has_no_means() {
        let mut outcome = busy();
        outcome.levels.inter_cmp = Messages::default();
        let text = by_level(&outcome);
        let line = text.lines().find(|line| line.contains("inter-CMP")).unwrap();
        assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["inter-CMP", "0", "0.0%", "0", "B", "0.0%", "-", "-"]);
        assert_eq!(by_level(&empty()), "  no messages\n");
    }

    #[test]
    fn a_sum_of_times_that_could_not_be_held_gives_no_mean() {
        let messages = |time| Messages { count: 2, bytes: 2, time };
        assert_eq!(mean_time(messages(SimSpan::from_ps(7))), Some(SimSpan::from_ps(3)));
        assert_eq!(mean_time(messages(SimSpan::MAX)), None);
    }

    #[test]
    fn kinds_are_rows_and_levels_are_columns() {
        let mut outcome = busy();
        let kind = |kind: &str, level, count, bytes| KindMessages { kind: kind.to_owned(), level, count, bytes };
        outcome.kinds = Some(vec![
            kind("MPI_Reduce_scatter_block", Level::InterNode, 4, 64),
            kind("point-to-point", Level::IntraCmp, 1000, 4096),
            kind("point-to-point", Level::InterNode, 24, 4096),
        ]);
        let text = by_kind(&outcome);
        let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["MPI_Reduce_scatter_block", "4", "64", "B", "-", "-", "4"]);
        assert_eq!(rows[1], ["point-to-point", "1,024", "8.000", "KiB", "1,000", "-", "24"]);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        outcome.kinds = None;
        assert_eq!(by_kind(&outcome), "");
    }

    #[test]
    fn the_pair_with_the_greatest_volume_comes_first() {
        let mut outcome = busy();
        let pair = |from, to, bytes| PairMessages { from, to, count: 1, bytes };
        outcome.pairs = Some((0..12).map(|to| pair(3, to, 100 + u64::from(to))).collect());
        let text = busiest_pairs(&outcome);
        assert!(text.lines().nth(1).unwrap().starts_with("  3 -> 11 "), "{text}");
        assert!(text.ends_with("  and 2 more\n"), "{text}");
    }
}
