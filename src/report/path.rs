//! Tables of the critical path's parts, and of the time that changes to the machine would save.

use crate::engine::Outcome;
use crate::platform::Level;
use crate::profile::{Change, ContentionParts, TransferParts, WhatIf};
use crate::units::{SimSpan, SimTime};

use super::messages::level_names;
use super::numbers::{bar, percent, share};
use super::table::{Align, Table};

const BAR: usize = 10;

/// Part of the transfer time of messages: its name and its accessor.
type Part = (&'static str, fn(&TransferParts) -> SimSpan);

/// Kind of contention delay: its name and its accessor.
type ChargedPart = (&'static str, fn(&ContentionParts) -> SimSpan);

/// All kinds of contention delay, in the order of the text report.
const CHARGED: [ChargedPart; 10] = [
    ("  core", |parts| parts.core),
    ("  adapter out", |parts| parts.adapter_out),
    ("  adapter in", |parts| parts.adapter_in),
    ("  duplex", |parts| parts.duplex),
    ("  gap", |parts| parts.gap),
    ("  cache", |parts| parts.cache),
    ("  memory", |parts| parts.memory),
    ("  between CMPs", |parts| parts.interconnect),
    (UPLINKS, |parts| parts.uplink),
    (OTHER, |parts| parts.other),
];
const OTHER: &str = "  other";
const UPLINKS: &str = "  uplinks";

/// Time that computing blocks wait for memory. The time is contained in the rows before this one.
const MEMORY: &str = "  waiting for memory";

/// Caption of the time parts in the table of the critical path.
const IMBALANCE: &str = "  imbalance: compute time on the path beyond the mean over ranks\n";
const IMBALANCE_OF_CORES: &str = "  imbalance: compute time on the path beyond the mean over cores of ranks\n";

/// Returns a table of the critical path's parts, whose sum is the predicted time; empty if the run did not record the
/// path.
pub(super) fn parts(outcome: &Outcome) -> String {
    let path = &outcome.path;
    let predicted = outcome.predicted.as_ps() as f64;
    if path.total() == SimSpan::ZERO {
        return String::new();
    }
    let names = level_names(outcome);
    let mut columns =
        vec![("critical path", Align::Left), ("", Align::Left), ("time", Align::Right), ("share", Align::Right)];
    let levels: Vec<(&str, TransferParts)> = names.into_iter().zip(Level::ALL.map(|level| path.level(level))).collect();
    let used = || levels.iter().filter(|(_, parts)| parts.total() > SimSpan::ZERO);
    columns.extend(used().map(|&(name, _)| (name, Align::Right)));
    let mut table = Table::new(&columns);
    let mut row = |name: &str, time: SimSpan, by_level: Vec<String>| {
        if time > SimSpan::ZERO {
            let part = share(time.as_ps() as f64, predicted);
            table.row([name.to_owned(), bar(part, BAR), time.to_string(), percent(part)].into_iter().chain(by_level));
        }
    };
    for (name, time) in [
        ("compute", path.compute),
        ("imbalance", path.imbalance),
        (MEMORY, path.memory),
        ("reduction", path.combine),
        ("send", path.send),
        ("recv", path.recv),
        ("poll", path.poll),
    ] {
        row(name, time, Vec::new());
    }
    let of_messages: [Part; 4] = [
        ("latency", |parts| parts.latency),
        ("bytes", |parts| parts.bytes),
        ("contention", |parts| parts.contention),
        ("protocol", |parts| parts.protocol),
    ];
    for (name, part) in of_messages {
        let time = levels.iter().map(|(_, parts)| part(parts)).sum();
        let cell = |time: SimSpan| if time == SimSpan::ZERO { "-".to_owned() } else { time.to_string() };
        row(name, time, used().map(|(_, parts)| cell(part(parts))).collect());
        if let Some(contention) = outcome.contention.as_ref().filter(|_| name == "contention") {
            let charged: Vec<(bool, &ContentionParts)> =
                Level::ALL.map(|level| (path.level(level).total() > SimSpan::ZERO, contention.level(level))).to_vec();
            for (name, part) in CHARGED {
                let time: SimSpan = charged.iter().map(|(_, parts)| part(parts)).sum();
                // Times are rounded to a picosecond, so the table omits a tiny remainder.
                if name == OTHER && time < SimSpan::from_ns(1) {
                    continue;
                }
                let cells = charged.iter().filter(|(used, _)| *used).map(|(_, parts)| cell(part(parts)));
                row(name, time, cells.collect());
                if name == UPLINKS && outcome.uplink_contention.len() > 1 {
                    for of in &outcome.uplink_contention {
                        let far = |level| if level == Level::InterNode { of.contention } else { SimSpan::ZERO };
                        let levels = Level::ALL.into_iter().zip(&charged).filter(|(_, (used, _))| *used);
                        let cells = levels.map(|(level, _)| cell(far(level)));
                        row(&format!("    {}", of.kind), of.contention, cells.collect());
                    }
                }
            }
        }
    }
    let mut text = table.render();
    if path.imbalance > SimSpan::ZERO {
        text.push_str(if outcome.hybrid.is_some() { IMBALANCE_OF_CORES } else { IMBALANCE });
    }
    text
}

/// Least saving of time, as a fraction of the predicted time, that the table shows.
const LEAST: f64 = 0.0005;

/// Returns a table of first-order savings of time by changes to the machine; empty without savings.
pub(super) fn what_if(outcome: &Outcome) -> String {
    let predicted = outcome.predicted.as_ps() as f64;
    let part = |what: &WhatIf| share(what.saved.as_ps() as f64, predicted);
    // Only a simulation can tell the saving of some modifications.
    let exact_part = |what: &WhatIf| {
        let exact = what.exact.map_or(predicted, |exact| exact.as_ps() as f64);
        share((predicted - exact).abs(), predicted)
    };
    let is_unknown = |what: &WhatIf| what.saved == SimSpan::ZERO;
    let is_listed = |what: &&WhatIf| part(what) >= LEAST || (is_unknown(what) && exact_part(what) >= LEAST);
    if !outcome.what_if.iter().any(|what| is_listed(&what)) {
        return String::new();
    }
    let exact = outcome.what_if.iter().any(|what| what.exact.is_some());
    let columns = [
        ("what if (to first order)", Align::Left),
        ("saves", Align::Right),
        ("share", Align::Right),
        ("exact", Align::Right),
        ("share", Align::Right),
        ("", Align::Left),
    ];
    let mut table = Table::new(if exact { &columns } else { &columns[..3] });
    let names = level_names(outcome);
    let mut bounds = false;
    for what in outcome.what_if.iter().filter(is_listed) {
        let of = what.level.map_or("computing,", |level| names[level as usize]);
        let changed = match &what.links {
            Some(kind) => format!("{of} {kind} doubled"),
            None => format!("{of} {}", change(what.change)),
        };
        let first = match is_unknown(what) {
            true => [changed, "-".to_owned(), "-".to_owned()],
            false => [changed, what.saved.to_string(), percent(part(what))],
        };
        let exact = what.exact.map(|exact| {
            // Costs are rounded to a picosecond, so tiny differences do not show another path.
            let reached = outcome.predicted.as_ps().saturating_sub(exact.as_ps());
            let is_bound = what.saved.as_ps() > reached + outcome.predicted.as_ps() / 1000;
            bounds |= is_bound;
            let [saved, share] = exactly(outcome.predicted, exact);
            [saved, share, if is_bound { "bound" } else { "" }.to_owned()]
        });
        table.row(first.into_iter().chain(exact.into_iter().flatten()));
    }
    let note = if bounds { BOUND } else { "" };
    table.render() + note
}

/// Caption of first-order savings that the modified machine does not reach.
const BOUND: &str = "  bound: the path changes, so the first-order saving is a bound\n";

/// Returns the saving of a modified machine with the predicted time `exact`, and its share of the predicted time.
fn exactly(predicted: SimTime, exact: SimTime) -> [String; 2] {
    let share_of = |span: SimSpan| percent(share(span.as_ps() as f64, predicted.as_ps() as f64));
    if exact > predicted {
        let more = exact.since(predicted);
        return [format!("-{more}"), format!("-{}", share_of(more))];
    }
    let saved = predicted.since(exact);
    [saved.to_string(), share_of(saved)]
}

/// Returns the name of a modification of a level.
fn change(change: Change) -> &'static str {
    match change {
        Change::LatencyHalved => "latency halved",
        Change::BandwidthDoubled => "bandwidth doubled",
        Change::ContentionGone => "without contention",
        Change::CopiesDoubled => "cores copy twice as fast",
        Change::CapacityDoubled => "adapters twice as wide",
        Change::DuplexGone => "ways independent",
        Change::UplinksDoubled => "uplinks doubled",
        Change::UplinksUnlimited => "uplinks unlimited",
        Change::HopLatencyHalved => "hop latency halved",
        Change::GapHalved => "gap halved",
        Change::CachesHold => "caches hold all",
        Change::MemoryDoubled => "memory doubled",
        Change::ComputingMemoryDoubled => "memory bandwidth doubled",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::ContentionLevels;
    use crate::report::samples::{busy, empty};

    #[test]
    fn contention_is_told_by_what_it_was_for() {
        let mut outcome = busy();
        let whole = outcome.path.level(Level::InterNode).contention;
        let gap = SimSpan::from_us(70);
        let parts_of = ContentionParts { adapter_in: whole - gap, gap, ..ContentionParts::default() };
        outcome.contention = Some(ContentionLevels { inter_node: parts_of, ..ContentionLevels::default() });
        let text = parts(&outcome);
        let rows = text.lines().skip_while(|line| !line.contains("contention"));
        let words = rows.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>();
        let expected = [
            "contention . 9.870 ms 1.1% - 9.870 ms",
            "adapter in . 9.800 ms 1.1% - 9.800 ms",
            "gap . 70.00 us <0.1% - 70.00 us",
            "imbalance: compute time on the path beyond the mean over ranks",
        ];
        assert_eq!(words, expected, "{text}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }

    #[test]
    fn shares_of_the_path_add_up_and_what_is_not_there_has_no_row() {
        let text = parts(&busy());
        let shares = text
            .lines()
            .filter_map(|line| line.split_whitespace().find_map(|word| word.strip_suffix('%')?.parse::<f64>().ok()));
        assert!((shares.sum::<f64>() - 100.0).abs() < 0.5, "{text}");
        assert!(!text.contains("poll") && !text.contains("inter-CMP"), "{text}");
        assert_eq!(parts(&empty()) + &what_if(&empty()), "");
    }

    #[test]
    fn exact_answers_are_printed_next_to_first_order_answers() {
        let mut outcome = busy();
        let first = outcome.what_if.clone();
        let ms = |ms: u64| SimSpan::from_us(1000 * ms);
        let row = |level, change, saved, exact| WhatIf { exact, ..WhatIf::new(level, change, saved) };
        let exactly = |less: u64| Some(SimTime::from_ps(outcome.predicted.as_ps() - ms(less).as_ps()));
        let far = Some(Level::InterNode);
        let longer = Some(outcome.predicted + ms(7));
        outcome.what_if = vec![
            row(None, Change::ComputingMemoryDoubled, ms(90), exactly(90)),
            row(far, Change::LatencyHalved, ms(80), exactly(40)),
            row(far, Change::ContentionGone, ms(70), longer),
        ];
        let text = what_if(&outcome);
        let words: Vec<_> = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert!(words[1].starts_with("computing, memory bandwidth doubled 90.00 ms"), "{text}");
        assert!(words[1].contains("90.00 ms 9.7% 90.00 ms 9.7%") && !words[1].contains("bound"), "{text}");
        assert!(words[2].ends_with("40.00 ms 4.3% bound"), "{text}");
        assert!(words[3].contains("-7.000 ms -0.8%") && words[3].ends_with("bound"), "{text}");
        assert!(words[4].starts_with("bound: the path changes"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        outcome.what_if = first;
        assert!(!what_if(&outcome).contains("exact"));
    }
}
