//! Tables of the critical path's parts, and of the time that changes to the machine would save.

use crate::engine::Outcome;
use crate::platform::Level;
use crate::profile::{Change, ContentionParts, TransferParts, WhatIf};
use crate::units::SimSpan;

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
    ("  uplinks", |parts| parts.uplink),
    (OTHER, |parts| parts.other),
];
const OTHER: &str = "  other";

/// Caption of the time parts in the table of the critical path.
const IMBALANCE: &str = "  imbalance: compute time on the path beyond the mean over ranks\n";

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
            }
        }
    }
    let mut text = table.render();
    if path.imbalance > SimSpan::ZERO {
        text.push_str(IMBALANCE);
    }
    text
}

/// Least saving of time, as a fraction of the predicted time, that the table shows.
const LEAST: f64 = 0.0005;

/// Returns a table of first-order savings of time by changes to the machine; empty without savings.
pub(super) fn what_if(outcome: &Outcome) -> String {
    let predicted = outcome.predicted.as_ps() as f64;
    let part = |what: &WhatIf| share(what.saved.as_ps() as f64, predicted);
    if !outcome.what_if.iter().any(|what| part(what) >= LEAST) {
        return String::new();
    }
    let columns = [("what if (to first order)", Align::Left), ("saves", Align::Right), ("share", Align::Right)];
    let mut table = Table::new(&columns);
    let names = level_names(outcome);
    for what in outcome.what_if.iter().filter(|what| part(what) >= LEAST) {
        let change = match what.change {
            Change::LatencyHalved => "latency halved",
            Change::BandwidthDoubled => "bandwidth doubled",
            Change::ContentionGone => "without contention",
            Change::CopiesDoubled => "cores copy twice as fast",
            Change::CapacityDoubled => "adapters twice as wide",
            Change::DuplexGone => "ways independent",
            Change::UplinksDoubled => "uplinks doubled",
            Change::GapHalved => "gap halved",
            Change::CachesHold => "caches hold all",
            Change::MemoryDoubled => "memory doubled",
        };
        table.row([format!("{} {change}", names[what.level as usize]), what.saved.to_string(), percent(part(what))]);
    }
    table.render()
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
}
