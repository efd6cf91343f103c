//! What ranks did over virtual time in the formats of trace viewers.

use std::collections::HashSet;
use std::fmt::Write;

use crate::engine::Outcome;
use crate::profile::Activity;
use crate::units::SimTime;

/// Picoseconds in a microsecond, and in a second.
const PS_A_US: u64 = 1_000_000;
const PS_A_S: u64 = 1_000_000_000_000;

/// The Trace Event Format that Chrome (chrome://tracing) and Perfetto read: a complete event ("X") an interval, times in
/// microseconds, a process a node, a thread a rank. `merged` says how many states became one.
pub fn perfetto(outcome: &Outcome) -> String {
    let mut text = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    let mut separator = "\n";
    let mut named = HashSet::new();
    for (rank, timeline) in outcome.timelines.iter().enumerate() {
        let place = outcome.per_rank.get(rank);
        let node = place.map_or(0, |place| place.node);
        let mut put = |event: &str| {
            let _ = write!(text, "{separator}{event}");
            separator = ",\n";
        };
        if place.is_some() && named.insert(node) {
            put(&meta("process_name", node, None, &format!("\"name\":\"node {node}\"")));
            put(&meta("process_sort_index", node, None, &format!("\"sort_index\":{node}")));
        }
        let name = place.map_or(String::new(), |place| format!(" (CMP {}, core {})", place.cmp, place.core));
        put(&meta("thread_name", node, Some(rank), &format!("\"name\":\"rank {rank}{name}\"")));
        put(&meta("thread_sort_index", node, Some(rank), &format!("\"sort_index\":{rank}")));
        for (start, interval) in timeline.intervals() {
            let (ts, dur) = (start.as_ps(), interval.until.since(start).as_ps());
            put(&format!(
                "{{\"ph\":\"X\",\"pid\":{node},\"tid\":{rank},\"ts\":{},\"dur\":{},\"name\":\"{}\",\"args\":{{\"merged\":{}}}}}",
                decimal(ts, PS_A_US, 6),
                decimal(dur, PS_A_US, 6),
                interval.state.name(),
                interval.merged
            ));
        }
    }
    text.push_str("\n]}\n");
    text
}

/// Measured calls beside a prediction, in the same format: a process for each of both, a thread a rank. Each rank's calls are
/// its starts, lengths (both ns) and names.
pub fn perfetto_beside(measured: &[Vec<(u64, u64, &str)>], outcome: &Outcome) -> String {
    let mut events = Vec::new();
    for (process, name) in [(0, "measured"), (1, "predicted")] {
        events.push(meta("process_name", process, None, &format!("\"name\":\"{name}\"")));
        events.push(meta("process_sort_index", process, None, &format!("\"sort_index\":{process}")));
        for rank in 0..measured.len() {
            events.push(meta("thread_name", process, Some(rank), &format!("\"name\":\"rank {rank}\"")));
        }
    }
    let slice = |process: u32, rank: usize, (start, length): (u64, u64), name: &str| {
        let (ts, dur) = (decimal(start, PS_A_US, 6), decimal(length, PS_A_US, 6));
        format!("{{\"ph\":\"X\",\"pid\":{process},\"tid\":{rank},\"ts\":{ts},\"dur\":{dur},\"name\":\"{name}\"}}")
    };
    for (rank, calls) in measured.iter().enumerate() {
        let ps = |ns: u64| ns.saturating_mul(1000);
        events.extend(calls.iter().map(|&(start, length, name)| slice(0, rank, (ps(start), ps(length)), name)));
    }
    for (rank, timeline) in outcome.timelines.iter().enumerate() {
        events.extend(timeline.intervals().map(|(start, interval)| {
            slice(1, rank, (start.as_ps(), interval.until.since(start).as_ps()), interval.state.name())
        }));
    }
    format!("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{}\n]}}\n", events.join(",\n"))
}

fn meta(name: &str, node: u32, rank: Option<usize>, args: &str) -> String {
    let tid = rank.map_or(String::new(), |rank| format!(",\"tid\":{rank}"));
    format!("{{\"ph\":\"M\",\"pid\":{node}{tid},\"name\":\"{name}\",\"args\":{{{args}}}}}")
}

/// The definitions at the head of a Paje file: an event's name, number and fields.
const PAJE_EVENTS: [(&str, u32, &[&str]); 6] = [
    ("PajeDefineContainerType", 0, &["Alias string", "Type string", "Name string"]),
    ("PajeDefineStateType", 1, &["Alias string", "Type string", "Name string"]),
    ("PajeDefineEntityValue", 2, &["Alias string", "Type string", "Name string", "Color color"]),
    ("PajeCreateContainer", 3, &["Time date", "Alias string", "Type string", "Container string", "Name string"]),
    ("PajeDestroyContainer", 4, &["Time date", "Type string", "Name string"]),
    ("PajeSetState", 5, &["Time date", "Type string", "Container string", "Value string"]),
];

fn colour(state: Activity) -> &'static str {
    match state {
        Activity::Compute => "0.30 0.69 0.31",
        Activity::Send => "0.13 0.59 0.95",
        Activity::Recv => "0.00 0.74 0.83",
        Activity::Wait => "0.96 0.26 0.21",
        Activity::Collective => "1.00 0.76 0.03",
    }
}

/// The Paje trace format: a container a rank within one of the run, and its state from time to time, in seconds, all in
/// order of time.
pub fn paje(outcome: &Outcome) -> String {
    let mut text = String::new();
    for (name, number, fields) in PAJE_EVENTS {
        let _ = writeln!(text, "%EventDef {name} {number}");
        fields.iter().for_each(|field| {
            let _ = writeln!(text, "%  {field}");
        });
        text.push_str("%EndEventDef\n");
    }
    text.push_str("0 RUN 0 run\n0 RANK RUN rank\n1 STATE RANK state\n");
    for state in Activity::ALL {
        let _ = writeln!(text, "2 {} STATE {} \"{}\"", state as u32, state.name(), colour(state));
    }
    let zero = decimal(0, PS_A_S, 12);
    let _ = writeln!(text, "3 {zero} run RUN 0 \"{}\"", plain(&outcome.app));
    for rank in 0..outcome.timelines.len() {
        let _ = writeln!(text, "3 {zero} r{rank} RANK run \"rank {rank}\"");
    }
    /// What happens at an instant; the state before it ends a container.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Change {
        To(u32),
        End,
    }
    let mut changes: Vec<(SimTime, usize, Change)> = Vec::new();
    for (rank, timeline) in outcome.timelines.iter().enumerate() {
        let mut end = SimTime::ZERO;
        for (start, interval) in timeline.intervals() {
            changes.push((start, rank, Change::To(interval.state as u32)));
            end = interval.until;
        }
        changes.push((end, rank, Change::End));
    }
    changes.sort_unstable();
    for (time, rank, change) in changes {
        let time = decimal(time.as_ps(), PS_A_S, 12);
        let _ = match change {
            Change::To(state) => writeln!(text, "5 {time} STATE r{rank} {state}"),
            Change::End => writeln!(text, "4 {time} RANK r{rank}"),
        };
    }
    let _ = writeln!(text, "4 {} RUN run", decimal(outcome.predicted.as_ps(), PS_A_S, 12));
    text
}

/// A name without what would end it.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_control() || c == '"' || c == '\\' { ' ' } else { c }).collect()
}

/// `ps` in a unit of `unit` picoseconds with all its digits.
fn decimal(ps: u64, unit: u64, digits: usize) -> String {
    format!("{}.{:0digits$}", ps / unit, ps % unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_all_their_digits() {
        assert_eq!(decimal(1_234_567, PS_A_US, 6), "1.234567");
        assert_eq!(decimal(12, PS_A_S, 12), "0.000000000012");
        assert_eq!(decimal(u64::MAX, PS_A_S, 12), "18446744.073709551615");
    }
}
