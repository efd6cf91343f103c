//! Export of rank timelines in virtual time, in the formats of trace viewers.

use std::collections::HashSet;
use std::fmt::Write;

use crate::engine::Outcome;
use crate::profile::{Activity, Arrow, ThreadTimeline, Timeline};
use crate::units::SimTime;

use super::compared::TimedCall;

/// Picoseconds per microsecond, and picoseconds per second.
const PS_A_US: u64 = 1_000_000;
const PS_A_S: u64 = 1_000_000_000_000;

/// Returns the timelines in the Trace Event Format that Chrome (chrome://tracing) and Perfetto read. Each interval of a
/// rank's state is a complete event ("X") with times in microseconds; a node is shown as a process, and a rank as a
/// thread. A thread of a rank follows its rank; the category of its events ends with `,thread`, and their arguments name
/// rank and thread. `merged` is the number of states that an event combines. The states of a call or statement are inside an
/// event with the name of the MPI function or of the statement's operation, with category `call`. The argument `place`
/// is the place of the statement. A message is a pair of flow events ("s", "f")
/// from the sender's call to the receiver's call. A strand (thread of a rank's task program) is a pair of asynchronous
/// events ("b", "e").
pub fn perfetto(outcome: &Outcome) -> String {
    let mut events = Events::default();
    let node = |rank: usize| outcome.per_rank.get(rank).map_or(0, |place| place.node);
    let mut named = HashSet::new();
    // Threads have numbers after those of all ranks.
    let mut number = outcome.timelines.len();
    for (rank, timeline) in outcome.timelines.iter().enumerate() {
        let (place, node) = (outcome.per_rank.get(rank), node(rank));
        if place.is_some() && named.insert(node) {
            events.put(&meta("process_name", node, None, &format!("\"name\":\"node {node}\"")));
            events.put(&meta("process_sort_index", node, None, &format!("\"sort_index\":{node}")));
        }
        let name = place.map_or(String::new(), |place| format!(" (CMP {}, core {})", place.cmp, place.core));
        events.put(&meta("thread_name", node, Some(rank), &format!("\"name\":\"rank {rank}{name}\"")));
        events.put(&meta("thread_sort_index", node, Some(rank), &format!("\"sort_index\":{rank}")));
        events.row(outcome, timeline, (node, rank), None);
        for ThreadTimeline { thread, timeline } in &timeline.threads {
            let name = format!("\"name\":\"rank {rank} thread {thread}\"");
            events.put(&meta("thread_name", node, Some(number), &name));
            // Viewers show rows with the same index in the order of their numbers.
            events.put(&meta("thread_sort_index", node, Some(number), &format!("\"sort_index\":{rank}")));
            events.row(outcome, timeline, (node, number), Some((rank, *thread)));
            number += 1;
        }
        for strand in timeline.strands.items() {
            let name = outcome.places.get(strand.place as usize).map_or("strand", |name| operation_and_place(name).0);
            let id = events.next_id();
            for (phase, at) in [("b", strand.start), ("e", strand.end)] {
                events.point((phase, node, rank), at, name, &format!(",\"cat\":\"strand\",\"id\":{id}"));
            }
        }
    }
    for (to, arrow) in drawn_messages(outcome) {
        let (from, id) = (arrow.from as usize, events.next_id());
        // The sending call ends when the message is sent, so the arrow of the message starts a picosecond earlier,
        // inside the call.
        let left = SimTime::from_ps(arrow.left.as_ps().saturating_sub(1));
        let more = format!(",\"cat\":\"message\",\"id\":{id},\"args\":{{\"bytes\":{}}}", arrow.bytes);
        events.point(("s", node(from), from), left, "message", &more);
        events.point(("f", node(to), to), arrow.came, "message", &format!(",\"bp\":\"e\"{more}"));
    }
    events.finish()
}

/// Returns the messages whose start and end are inside the timelines of the sender and the receiver, each with the
/// index of the receiver.
pub(super) fn drawn_messages(outcome: &Outcome) -> impl Iterator<Item = (usize, Arrow)> + '_ {
    let end = |timeline: &Timeline| timeline.intervals().last().map_or(SimTime::ZERO, |(_, last)| last.until);
    let ends: Vec<SimTime> = outcome.timelines.iter().map(end).collect();
    let all = outcome.timelines.iter().enumerate();
    let all = all.flat_map(|(to, timeline)| timeline.arrows.items().iter().map(move |arrow| (to, *arrow)));
    all.filter(move |(to, arrow)| {
        arrow.came <= ends[*to] && ends.get(arrow.from as usize).is_some_and(|end| arrow.left <= *end)
    })
}

/// Divides the name of a statement, such as "recv at main\[2\]", into operation and place. A name of an MPI function, such
/// as "MPI_Recv in main at ring.c:3", has no place.
fn operation_and_place(name: &str) -> (&str, Option<&str>) {
    match name.split_once(' ') {
        Some((operation, rest)) => rest.strip_prefix("at ").map_or((name, None), |place| (operation, Some(place))),
        None => (name, None),
    }
}

/// Returns the name of a call in an event of [`perfetto`].
pub(super) fn call_name(event: &serde_json::Value) -> String {
    let name = event["name"].as_str().unwrap_or_default();
    event["args"]["place"].as_str().map_or_else(|| name.to_owned(), |place| format!("{name} at {place}"))
}

/// Builder of a timeline file.
#[derive(Default)]
struct Events {
    text: String,
    ids: u64,
}

impl Events {
    fn put(&mut self, event: &str) {
        self.text.push_str(if self.text.is_empty() { "\n" } else { ",\n" });
        self.text.push_str(event);
    }

    fn next_id(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }

    fn point(&mut self, (phase, process, thread): (&str, u32, usize), at: SimTime, name: &str, more: &str) {
        let (ts, name) = (decimal(at.as_ps(), PS_A_US, 6), plain(name));
        self.put(&format!(
            "{{\"ph\":\"{phase}\",\"pid\":{process},\"tid\":{thread},\"ts\":{ts},\"name\":\"{name}\"{more}}}"
        ));
    }

    fn span(&mut self, of: (&str, u32, usize), start: SimTime, end: SimTime, name: &str, more: &str) {
        let dur = decimal(end.since(start).as_ps(), PS_A_US, 6);
        self.point(of, start, name, &format!(",\"dur\":{dur}{more}"));
    }

    /// Adds the calls and states of a rank, or of the thread `thread` of a rank.
    fn row(
        &mut self,
        outcome: &Outcome,
        timeline: &Timeline,
        (node, number): (u32, usize),
        thread: Option<(usize, u32)>,
    ) {
        let (kind, of_thread) = match thread {
            None => ("", String::new()),
            Some((rank, thread)) => (",thread", format!("\"rank\":{rank},\"thread\":{thread}")),
        };
        let more = |category: &str, arg: Option<String>| {
            let args: Vec<String> = arg.into_iter().chain(thread.map(|_| of_thread.clone())).collect();
            let args = if args.is_empty() { String::new() } else { format!(",\"args\":{{{}}}", args.join(",")) };
            format!(",\"cat\":\"{category}{kind}\"{args}")
        };
        for (start, end, name) in call_spans(outcome, timeline) {
            let (name, place) = operation_and_place(name);
            let place = place.map(|place| format!("\"place\":\"{}\"", plain(place)));
            self.span(("X", node, number), start, end, name, &more("call", place));
        }
        for (start, interval) in timeline.intervals() {
            let merged = Some(format!("\"merged\":{}", interval.merged));
            self.span(("X", node, number), start, interval.until, interval.state.name(), &more("state", merged));
        }
    }

    fn finish(self) -> String {
        format!("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[{}\n]}}\n", self.text)
    }
}

/// Returns the calls and statements of a rank with their start and end times. Consecutive states of one call are
/// merged.
pub(super) fn call_spans<'o>(outcome: &'o Outcome, timeline: &Timeline) -> Vec<(SimTime, SimTime, &'o str)> {
    let mut spans: Vec<(SimTime, SimTime, &str)> = Vec::new();
    for (start, interval) in timeline.intervals() {
        let Some(name) = outcome.places.get(interval.place as usize).map(String::as_str) else { continue };
        match spans.last_mut().filter(|last| last.1 == start && last.2 == name) {
            Some(last) => last.1 = interval.until,
            None => spans.push((start, interval.until, name)),
        }
    }
    spans
}

/// Returns two runs in the Trace Event Format: one process per run, one thread per rank. Each call has a name, and a
/// start and a length in picoseconds.
pub fn perfetto_beside(runs: &[(&str, &[Vec<TimedCall>])]) -> String {
    let mut events = Events::default();
    for (process, (name, ranks)) in (0..).zip(runs) {
        events.put(&meta("process_name", process, None, &format!("\"name\":\"{}\"", plain(name))));
        events.put(&meta("process_sort_index", process, None, &format!("\"sort_index\":{process}")));
        for (rank, calls) in ranks.iter().enumerate() {
            events.put(&meta("thread_name", process, Some(rank), &format!("\"name\":\"rank {rank}\"")));
            for call in calls {
                let start = SimTime::from_ps(call.start);
                let end = SimTime::from_ps(call.start.saturating_add(call.length));
                events.span(("X", process, rank), start, end, &call.name, ",\"cat\":\"call\"");
            }
        }
    }
    events.finish()
}

fn meta(name: &str, node: u32, rank: Option<usize>, args: &str) -> String {
    let tid = rank.map_or(String::new(), |rank| format!(",\"tid\":{rank}"));
    format!("{{\"ph\":\"M\",\"pid\":{node}{tid},\"name\":\"{name}\",\"args\":{{{args}}}}}")
}

/// Event definitions at the start of a Paje file: name, identifier and fields of each event.
const PAJE_EVENTS: [(&str, u32, &[&str]); 9] = [
    ("PajeDefineContainerType", 0, &["Alias string", "Type string", "Name string"]),
    ("PajeDefineStateType", 1, &["Alias string", "Type string", "Name string"]),
    ("PajeDefineEntityValue", 2, &["Alias string", "Type string", "Name string", "Color color"]),
    ("PajeCreateContainer", 3, &["Time date", "Alias string", "Type string", "Container string", "Name string"]),
    ("PajeDestroyContainer", 4, &["Time date", "Type string", "Name string"]),
    ("PajeSetState", 5, &["Time date", "Type string", "Container string", "Value string"]),
    (
        "PajeDefineLinkType",
        6,
        &["Alias string", "Type string", "StartContainerType string", "EndContainerType string", "Name string"],
    ),
    (
        "PajeStartLink",
        7,
        &["Time date", "Type string", "Container string", "StartContainer string", "Value string", "Key string"],
    ),
    (
        "PajeEndLink",
        8,
        &["Time date", "Type string", "Container string", "EndContainer string", "Value string", "Key string"],
    ),
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

/// Returns the timelines of all ranks, each followed by the timelines of its threads, with rank and thread.
pub(super) fn rows(outcome: &Outcome) -> Vec<(usize, Option<u32>, &Timeline)> {
    outcome
        .timelines
        .iter()
        .enumerate()
        .flat_map(|(rank, timeline)| {
            let threads = timeline.threads.iter().map(move |of| (rank, Some(of.thread), &of.timeline));
            std::iter::once((rank, None, timeline)).chain(threads)
        })
        .collect()
}

/// Returns the timelines in the Paje trace format, in seconds and in order of time. Each rank and each thread of a rank is
/// a container inside the container of the run, with the states and the calls or statements of the rank. A message is a Paje link.
pub fn paje(outcome: &Outcome) -> String {
    let mut text = String::new();
    for (name, number, fields) in PAJE_EVENTS {
        let _ = writeln!(text, "%EventDef {name} {number}");
        fields.iter().for_each(|field| {
            let _ = writeln!(text, "%  {field}");
        });
        text.push_str("%EndEventDef\n");
    }
    text.push_str(
        "0 RUN 0 run\n0 RANK RUN rank\n1 STATE RANK state\n1 CALL RANK call\n6 MESSAGE RUN RANK RANK message\n",
    );
    for state in Activity::ALL {
        let _ = writeln!(text, "2 {} STATE {} \"{}\"", state as u32, state.name(), colour(state));
    }
    let none = outcome.places.len();
    for (number, name) in outcome.places.iter().map(String::as_str).chain(["none"]).enumerate() {
        let grey = if number == none { "0.90 0.90 0.90" } else { "0.62 0.62 0.62" };
        let _ = writeln!(text, "2 c{number} CALL \"{}\" \"{grey}\"", plain(name));
    }
    let zero = decimal(0, PS_A_S, 12);
    let _ = writeln!(text, "3 {zero} run RUN 0 \"{}\"", plain(&outcome.app));
    let rows = rows(outcome);
    for (row, (rank, thread, _)) in rows.iter().enumerate() {
        let thread = thread.map_or(String::new(), |thread| format!(" thread {thread}"));
        let _ = writeln!(text, "3 {zero} r{row} RANK run \"rank {rank}{thread}\"");
    }
    /// Change in a Paje timeline at an instant. Changes at one instant are in the order of the variants: the end of a
    /// container is last.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum StateChange {
        To(u32),
        Call(usize),
        /// Arrival of a message, with the index and the size of the message.
        Came(usize, u64),
        Left(usize, u64),
        End,
    }
    let mut changes: Vec<(SimTime, usize, StateChange)> = Vec::new();
    let row_of_rank: Vec<usize> =
        rows.iter().enumerate().filter(|(_, (_, thread, _))| thread.is_none()).map(|(row, _)| row).collect();
    for (row, (_, _, timeline)) in rows.iter().enumerate() {
        let (mut end, mut last_call) = (SimTime::ZERO, None);
        for (start, interval) in timeline.intervals() {
            changes.push((start, row, StateChange::To(interval.state as u32)));
            let call = StateChange::Call((interval.place as usize).min(none));
            if last_call.replace(call) != Some(call) {
                changes.push((start, row, call));
            }
            end = interval.until;
        }
        changes.push((end, row, StateChange::End));
    }
    for (number, (to, arrow)) in drawn_messages(outcome).enumerate() {
        changes.push((arrow.left, row_of_rank[arrow.from as usize], StateChange::Left(number, arrow.bytes)));
        changes.push((arrow.came, row_of_rank[to], StateChange::Came(number, arrow.bytes)));
    }
    changes.sort_unstable();
    for (time, row, change) in changes {
        let time = decimal(time.as_ps(), PS_A_S, 12);
        let _ = match change {
            StateChange::To(state) => writeln!(text, "5 {time} STATE r{row} {state}"),
            StateChange::Call(call) => writeln!(text, "5 {time} CALL r{row} c{call}"),
            StateChange::Left(key, bytes) => writeln!(text, "7 {time} MESSAGE run r{row} \"{bytes} B\" m{key}"),
            StateChange::Came(key, bytes) => writeln!(text, "8 {time} MESSAGE run r{row} \"{bytes} B\" m{key}"),
            StateChange::End => writeln!(text, "4 {time} RANK r{row}"),
        };
    }
    let _ = writeln!(text, "4 {} RUN run", decimal(outcome.predicted.as_ps(), PS_A_S, 12));
    text
}

/// Removes the characters that would end a name in a Paje file.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_control() || c == '"' || c == '\\' { ' ' } else { c }).collect()
}

/// Formats `ps` picoseconds with `digits` decimals, in a unit of `unit` picoseconds.
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
