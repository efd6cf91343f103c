//! Export of rank timelines as text lines, from which `trace/otf2/write.c` writes an OTF2 archive.

use std::fmt::Write;

use super::timeline::{call_spans, drawn_messages};
use crate::engine::Outcome;
use crate::profile::Timeline;

/// Event of a rank in an OTF2 trace. Events at one instant are in the order of the variants: a message arrives before
/// its call ends, and a call ends before the next call starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Otf2Event {
    Receive { from: u32, bytes: u64 },
    Leave(usize),
    Enter(usize),
    Send { to: u32, bytes: u64 },
}

/// Substrings of the names of collective and of point-to-point MPI functions.
const COLLECTIVE: [&str; 9] = ["arrier", "cast", "ather", "catter", "toall", "educe", "scan", "Scan", "_Comm_"];
const POINT_TO_POINT: [&str; 7] = ["end", "ecv", "Wait", "Test", "robe", "Cancel", "Start"];

/// Returns the text lines of the archive: ranks, regions (calls and statements), then the events of each rank, and of
/// each thread of the rank, in order of time.
pub fn otf2_events(outcome: &Outcome) -> String {
    let mut text = String::new();
    let ranks = outcome.timelines.len();
    let mut line = |words: std::fmt::Arguments<'_>| {
        text.write_fmt(words).expect("a String takes all that is written");
        text.push('\n');
    };
    let plain = |name: &str| name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    line(format_args!("ranks {ranks} {}", outcome.predicted.as_ps()));
    line(format_args!("app {}", plain(&outcome.app)));
    for name in &outcome.places {
        let has = |words: &[&str]| name.starts_with("MPI_") && words.iter().any(|word| name.contains(word));
        let role = if has(&COLLECTIVE) {
            'c'
        } else if has(&POINT_TO_POINT) {
            'p'
        } else {
            'f'
        };
        line(format_args!("region {role} {}", plain(name)));
    }
    let mut events: Vec<Vec<(u64, Otf2Event)>> = vec![Vec::new(); ranks];
    for (to, arrow) in drawn_messages(outcome) {
        let (from, bytes) = (arrow.from, arrow.bytes);
        // The sending call ends when the message is sent, so the send event is placed a picosecond earlier, inside the
        // call.
        let left = arrow.left.as_ps().saturating_sub(1);
        events[from as usize].push((left, Otf2Event::Send { to: to as u32, bytes }));
        events[to].push((arrow.came.as_ps(), Otf2Event::Receive { from, bytes }));
    }
    for (rank, events) in events.iter_mut().enumerate() {
        let timeline = &outcome.timelines[rank];
        add_calls(outcome, timeline, events);
        line(format_args!("rank {rank} {}", outcome.per_rank.get(rank).map_or(0, |place| place.node)));
        let threads = timeline.threads.iter().map(|thread| {
            let mut events = Vec::new();
            add_calls(outcome, &thread.timeline, &mut events);
            (Some(thread.thread), events)
        });
        for (thread, events) in std::iter::once((None, std::mem::take(events))).chain(threads) {
            if let Some(thread) = thread {
                line(format_args!("thread {rank} {thread}"));
            }
            for (time, event) in events {
                match event {
                    Otf2Event::Receive { from, bytes } => line(format_args!("r {time} {from} {bytes}")),
                    Otf2Event::Leave(region) => line(format_args!("x {time} {region}")),
                    Otf2Event::Enter(region) => line(format_args!("e {time} {region}")),
                    Otf2Event::Send { to, bytes } => line(format_args!("s {time} {to} {bytes}")),
                }
            }
        }
    }
    text
}

/// Adds the calls of a timeline to the events of a rank or thread, and puts the events in order.
fn add_calls(outcome: &Outcome, timeline: &Timeline, events: &mut Vec<(u64, Otf2Event)>) {
    for (start, end, name) in call_spans(outcome, timeline) {
        let Ok(region) = outcome.places.binary_search_by(|place| place.as_str().cmp(name)) else { continue };
        events.push((start.as_ps(), Otf2Event::Enter(region)));
        events.push((end.as_ps(), Otf2Event::Leave(region)));
    }
    events.sort_unstable();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Activity, Arrow};
    use crate::report::samples::busy;
    use crate::units::SimTime;

    #[test]
    fn calls_nest_and_messages_lie_within_them() {
        let at = SimTime::from_ps;
        let mut outcome = busy();
        outcome.places = vec!["MPI_Recv".to_owned(), "MPI_Send".to_owned(), "main[0] at a.toml:3".to_owned()];
        let (mut sender, mut receiver) = (Timeline::new(10), Timeline::new(10));
        sender.add(Activity::Compute, 2, at(10));
        sender.add(Activity::Send, 1, at(20));
        receiver.add(Activity::Wait, 0, at(30));
        receiver.add(Activity::Recv, 0, at(35));
        receiver.arrows.add(Arrow { from: 0, left: at(20), came: at(30), bytes: 64 });
        outcome.timelines = vec![sender, receiver];
        let text = otf2_events(&outcome);
        let expected = "region p MPI_Recv\nregion p MPI_Send\nregion f main[0] at a.toml:3\nrank 0 0\ne 0 2\nx 10 2\ne 10 1\n\
                        s 19 1 64\nx 20 1\nrank 1 0\ne 0 0\nr 30 0 64\nx 35 0\n";
        assert!(text.starts_with("ranks 2 ") && text.ends_with(expected), "{text}");
    }
}
