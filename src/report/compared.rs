//! Comparison of two runs: the timed calls of each rank, from predicted or measured timelines, and the largest
//! differences.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use super::headline::clip;
use super::timeline::{call_name, call_spans};
use crate::config::ConfigError;
use crate::engine::Outcome;
use crate::units::{SimSpan, signed};

/// An MPI call or statement of a rank with its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedCall {
    /// Start of the call in picoseconds since the start of the run.
    pub start: u64,
    /// Duration of the call in picoseconds.
    pub length: u64,
    /// Name of the MPI function or of the statement in an application file.
    pub name: String,
}

/// Returns the calls and statements of a predicted run by rank. The Outcome must contain a timeline.
pub fn predicted_calls(outcome: &Outcome) -> Vec<Vec<TimedCall>> {
    let call = |(start, end, name): (crate::units::SimTime, crate::units::SimTime, &str)| TimedCall {
        start: start.as_ps(),
        length: end.since(start).as_ps(),
        name: name.to_owned(),
    };
    outcome.timelines.iter().map(|timeline| call_spans(outcome, timeline).into_iter().map(call).collect()).collect()
}

/// Parses a timeline in the Trace Event Format, as `--timeline FILE.json` writes it, and returns the calls by rank.
/// Error messages contain the file name `name`.
///
/// # Errors
/// The timeline text has another format, contains no calls, or contains two runs.
pub fn calls_of_timeline(name: &str, text: &str) -> Result<Vec<Vec<TimedCall>>, ConfigError> {
    let wrong = |what: &str| ConfigError::new(format!("{name}: {what}"));
    let value: Value = serde_json::from_str(text).map_err(|error| wrong(&format!("not JSON: {error}")))?;
    let expected = "expected the output of --timeline FILE.json";
    let events = value["traceEvents"].as_array();
    let events = events.ok_or_else(|| wrong(&format!("{expected}; found no traceEvents")))?;
    let mut ranks: BTreeMap<u64, Vec<TimedCall>> = BTreeMap::new();
    let mut tracks: BTreeMap<u64, u64> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X" && event["cat"] == "call") {
        // A double represents picoseconds exactly during the first hours of a run.
        let ps = |key: &str| (event[key].as_f64().unwrap_or(0.0) * 1e6).round() as u64;
        let name = call_name(event);
        let rank = event["tid"].as_u64().unwrap_or(0);
        let track = event["pid"].as_u64().unwrap_or(0);
        if *tracks.entry(rank).or_insert(track) != track {
            return Err(wrong("the timeline has two runs: expected the timeline of one run"));
        }
        ranks.entry(rank).or_default().push(TimedCall { start: ps("ts"), length: ps("dur"), name });
    }
    let most = *ranks.keys().last().ok_or_else(|| wrong(&format!("{expected}; found no calls of ranks")))?;
    if most >= 1 << 24 {
        return Err(wrong(&format!("{expected}; found rank {most}")));
    }
    Ok((0..=most).map(|rank| ranks.remove(&rank).unwrap_or_default()).collect())
}

/// Number of functions, and number of ranks, that the comparison shows.
const MOST: usize = 20;

/// Returns the last characters of a file name, because the table column has 16 characters.
fn end_of(name: &str) -> String {
    match name.chars().count() {
        0..=16 => name.to_owned(),
        count => format!("…{}", name.chars().skip(count - 15).collect::<String>()),
    }
}

/// Compares two runs in total, by function and by rank, with the largest differences of time first. Lines have at most
/// 80 columns.
pub fn differences(runs: [(&str, &[Vec<TimedCall>]); 2]) -> String {
    let seconds = |ps: u64| ps as f64 * 1e-12;
    let [(first, a), (second, b)] = runs;
    let mut out = format!("{:<24} {:>16} {:>16} {:>11}\n", "", end_of(first), end_of(second), "more");
    let mut line = |name: &str, [a, b]: [u64; 2]| {
        let part = match b as f64 / a as f64 - 1.0 {
            _ if a == 0 => "-".to_owned(),
            part if part < 10.0 => format!("{}%", signed(100.0 * part, 1)),
            part => format!("x {:.0}", (part + 1.0).min(999_999.0)),
        };
        let more = SimSpan::from_ps(a.abs_diff(b));
        let sign = if b < a { '-' } else { '+' };
        let (name, a, b) = (clip(name, 24), seconds(a), seconds(b));
        let _ = writeln!(out, "{name:<24} {a:>16.9} {b:>16.9} {:>11} {part:>9}", format!("{sign}{more}"));
    };
    let end = |calls: &[TimedCall]| calls.iter().map(|call| call.start + call.length).max().unwrap_or(0);
    let ends = |ranks: &[Vec<TimedCall>]| ranks.iter().map(|calls| end(calls)).collect::<Vec<u64>>();
    let (ends_a, ends_b) = (ends(a), ends(b));
    let last = |ends: &[u64]| ends.iter().copied().max().unwrap_or(0);
    line("end of the last call, s", [last(&ends_a), last(&ends_b)]);
    let sum = |ranks: &[Vec<TimedCall>]| ranks.iter().flatten().map(|call| call.length).sum();
    line("time in all calls, s", [sum(a), sum(b)]);
    let mut functions: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    for (which, ranks) in [a, b].into_iter().enumerate() {
        ranks.iter().flatten().for_each(|call| functions.entry(&call.name).or_default()[which] += call.length);
    }
    let mut rows: Vec<(String, [u64; 2])> =
        functions.into_iter().map(|(name, times)| (format!("  {name}"), times)).collect();
    let by_difference = |rows: &mut Vec<(String, [u64; 2])>| {
        rows.sort_by_key(|(_, [a, b])| std::cmp::Reverse(a.abs_diff(*b)));
        rows.len().saturating_sub(MOST)
    };
    let mut rest = by_difference(&mut rows);
    rows.iter().take(MOST).for_each(|(name, times)| line(name, *times));
    let more = |rest: usize, what: &str| if rest > 0 { format!("  and {rest} more {what}\n") } else { String::new() };
    let functions_left = more(rest, "functions");
    let at = |ends: &[u64], rank: usize| ends.get(rank).copied().unwrap_or(0);
    let mut rows: Vec<(String, [u64; 2])> = (0..ends_a.len().max(ends_b.len()))
        .map(|rank| (format!("rank {rank}"), [at(&ends_a, rank), at(&ends_b, rank)]))
        .collect();
    rest = by_difference(&mut rows);
    rows.iter().take(MOST).for_each(|(name, times)| line(name, *times));
    out + &functions_left + &more(rest, "ranks")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::perfetto_beside;

    fn call(start: u64, length: u64, name: &str) -> TimedCall {
        TimedCall { start, length, name: name.to_owned() }
    }

    #[test]
    fn what_differs_most_comes_first() {
        let us = 1_000_000;
        let a =
            vec![vec![call(0, 2 * us, "MPI_Send"), call(5 * us, us, "MPI_Recv")], vec![call(0, 4 * us, "MPI_Recv")]];
        let b = vec![
            vec![call(0, 2 * us, "MPI_Send"), call(5 * us, 3 * us, "MPI_Recv")],
            vec![call(0, 4 * us, "MPI_Recv")],
        ];
        let text = differences([("a", &a), ("b", &b)]);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1][6..], ["0.000006000", "0.000008000", "+2.000", "us", "+33.3%"]);
        assert_eq!(lines[3], ["MPI_Recv", "0.000005000", "0.000007000", "+2.000", "us", "+40.0%"]);
        assert_eq!(lines[4][..2], ["MPI_Send", "0.000002000"]);
        assert_eq!(lines[5][..2], ["rank", "0"]);
    }

    #[test]
    fn the_table_has_80_columns_at_most() {
        let calls = |length: u64| vec![vec![call(0, length, "MPI_Neighbor_alltoallw_and_more_than_that")]];
        let names = ["a/rather/long/path/of/a/recorded/run.trace", "another/rather/long/path/of/a/run.json"];
        // The calls take one picosecond in the first run and one day in the second run.
        let text = differences([(names[0], &calls(1)), (names[1], &calls(86_400_000_000_000_000))]);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("…orded/run.trace") && text.contains("x 999999"), "{text}");
    }

    #[test]
    fn a_timeline_reads_back_and_what_is_none_is_refused() {
        let event = |cat: &str, name: &str| {
            format!(
                "{{\"ph\":\"X\",\"cat\":\"{cat}\",\"pid\":0,\"tid\":1,\"ts\":1.5,\"dur\":0.25,\"name\":\"{name}\"}}"
            )
        };
        let text = format!("{{\"traceEvents\":[{},{}]}}", event("call", "MPI_Send"), event("state", "send"));
        let found = calls_of_timeline("t.json", &text).unwrap();
        assert_eq!(found, [vec![], vec![call(1_500_000, 250_000, "MPI_Send")]]);
        let error = calls_of_timeline("t.json", "{\"traceEvents\":[]}").unwrap_err().to_string();
        assert_eq!(error, "t.json: expected the output of --timeline FILE.json; found no calls of ranks");
        let beside = perfetto_beside(&[("a", &found), ("b", &found)]);
        let error = calls_of_timeline("both.json", &beside).unwrap_err().to_string();
        assert_eq!(error, "both.json: the timeline has two runs: expected the timeline of one run");
    }
}
