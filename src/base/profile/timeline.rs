//! Timeline of a rank: its activities over virtual time, in a bounded number of intervals.

use serde::{Deserialize, Serialize};

use crate::units::{SimSpan, SimTime};

/// Activity of a rank in a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Activity {
    Compute,
    Send,
    Recv,
    Wait,
    Collective,
}

impl Activity {
    /// All activities of ranks.
    pub const ALL: [Activity; 5] =
        [Activity::Compute, Activity::Send, Activity::Recv, Activity::Wait, Activity::Collective];

    /// Name of the activity in written files.
    pub const fn name(self) -> &'static str {
        match self {
            Activity::Compute => "compute",
            Activity::Send => "send",
            Activity::Recv => "recv",
            Activity::Wait => "wait",
            Activity::Collective => "collective",
        }
    }
}

/// Value of `place` for an interval that belongs to no call or statement.
pub const NO_PLACE: u32 = u32::MAX;

/// Interval of a rank's timeline. An interval starts at the end of the previous interval, or at the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Virtual time at which the interval of the timeline ends.
    pub until: SimTime,
    /// Activity of the rank. If several activities were merged into this interval, the activity with the longest time.
    pub state: Activity,
    /// Index of the call or statement. If several intervals were merged, the index of the longest interval of that
    /// activity. [`NO_PLACE`] if the interval belongs to no call.
    pub place: u32,
    /// Number of intervals that were merged into this interval.
    pub merged: u32,
}

/// A message that has arrived. Figures show the message as an arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrow {
    /// Rank that sent the message.
    pub from: u32,
    /// Time at which the first byte of the message left the sender; for a rendezvous, start of the transfer after the
    /// handshake.
    pub left: SimTime,
    /// Time at which the last byte of the message arrived.
    pub came: SimTime,
    /// Size of the message in bytes.
    pub bytes: u64,
}

/// Concurrent activity of a rank (strand): a non-blocking collective or a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrandSpan {
    /// Virtual time at which the concurrent activity started.
    pub start: SimTime,
    /// Virtual time at which the concurrent activity ended.
    pub end: SimTime,
    /// Index of the call that started the concurrent activity.
    pub place: u32,
}

/// A list in chronological order. If the list becomes too long, it stores only every second, fourth, … element.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thinned<T> {
    items: Vec<T>,
    most: usize,
    seen: u64,
    every: u64,
}

impl<T> Thinned<T> {
    fn new(most: usize) -> Self {
        Thinned { items: Vec::new(), most: most.max(2), seen: 0, every: 1 }
    }

    /// Adds an element to the list, or omits the element if the list is too long.
    pub fn add(&mut self, item: T) {
        if self.seen.is_multiple_of(self.every) {
            self.items.push(item);
        }
        self.seen += 1;
        if self.items.len() > self.most {
            let mut number = 0;
            self.items.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.every *= 2;
        }
    }

    /// Elements of the list that were not omitted.
    pub fn items(&self) -> &[T] {
        &self.items
    }
}

/// Timeline of a thread of a rank that has a clock of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadTimeline {
    /// Number of the thread among the threads that the rank has started, from 1.
    pub thread: u32,
    /// Activities of the thread, from its start to its end.
    pub timeline: Timeline,
}

/// Activities of a rank, as intervals without gaps from the start of the run to the rank's end.
///
/// Neighbouring intervals of a timeline are merged if the rank's activity is the same. If the number of intervals
/// exceeds a limit, time is divided into grains of equal length. Intervals that are shorter than a grain and begin in
/// the same grain are merged; the result has the activity with the longest time. The length of a grain is doubled until
/// the number of intervals is at most half of the limit. Intervals longer than a grain remain exact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    start: SimTime,
    intervals: Vec<Interval>,
    most: usize,
    grain: SimSpan,
    /// Messages that arrived at the rank.
    pub arrows: Thinned<Arrow>,
    /// Concurrent activities (strands) of the rank, without the threads that have timelines.
    pub strands: Thinned<StrandSpan>,
    /// Timelines of the threads of the rank in the order of their numbers, without the main thread.
    pub threads: Vec<ThreadTimeline>,
}

impl Timeline {
    /// Creates an empty timeline of at most `most` intervals (at least four).
    pub fn new(most: usize) -> Self {
        Timeline::starting_at(SimTime::ZERO, most)
    }

    /// Creates an empty timeline as [`Timeline::new`] that starts at `start`.
    pub fn starting_at(start: SimTime, most: usize) -> Self {
        let most = most.max(4);
        let (arrows, strands) = (Thinned::new(most), Thinned::new(most));
        let (intervals, threads) = (Vec::new(), Vec::new());
        Timeline { start, intervals, most, grain: SimSpan::ZERO, arrows, strands, threads }
    }

    /// Adds the activity `state` up to the time `until`. `place` is the index of the call or statement.
    #[inline]
    pub fn add(&mut self, state: Activity, place: u32, until: SimTime) {
        match self.intervals.last_mut() {
            Some(last) if (last.state, last.place) == (state, place) => last.until = until,
            _ => {
                self.intervals.push(Interval { until, state, place, merged: 1 });
                if self.intervals.len() > self.most {
                    self.coarsen();
                }
            }
        }
    }

    /// Replaces the indices of calls and statements by the results of `place`.
    pub fn renumber(&mut self, place: &dyn Fn(u32, Option<Activity>) -> u32) {
        self.intervals.iter_mut().for_each(|interval| interval.place = place(interval.place, Some(interval.state)));
        self.strands.items.iter_mut().for_each(|strand| strand.place = place(strand.place, None));
        self.threads.iter_mut().for_each(|thread| thread.timeline.renumber(place));
    }

    /// Returns the intervals of the timeline, each with its start.
    pub fn intervals(&self) -> impl Iterator<Item = (SimTime, Interval)> + '_ {
        let starts = [self.start].into_iter().chain(self.intervals.iter().map(|interval| interval.until));
        starts.zip(self.intervals.iter().copied())
    }

    #[cold]
    fn coarsen(&mut self) {
        let end = self.intervals.last().map_or(0, |last| last.until.since(self.start).as_ps());
        while self.intervals.len() > self.most / 2 {
            let first = SimSpan::from_ps((end / self.most as u64).max(1));
            self.grain = if self.grain == SimSpan::ZERO { first } else { self.grain * 2 };
            self.merge();
        }
    }

    fn merge(&mut self) {
        let grain = self.grain.as_ps();
        let mut merged: Vec<Interval> = Vec::new();
        let mut put = |interval: Interval| match merged.last_mut() {
            Some(last) if (last.state, last.place) == (interval.state, interval.place) => {
                last.until = interval.until;
                last.merged = last.merged.saturating_add(interval.merged);
            }
            _ => merged.push(interval),
        };
        let mut cell: Option<ThinCell> = None;
        for (start, interval) in self.intervals() {
            let number = start.since(self.start).as_ps() / grain;
            let span = interval.until.since(start);
            if span.as_ps() < grain {
                match &mut cell {
                    Some(cell) if cell.number == number => cell.add(interval, span),
                    _ => {
                        cell.take().into_iter().for_each(|cell| put(cell.interval()));
                        let mut next = ThinCell {
                            number,
                            until: interval.until,
                            merged: 0,
                            spans: [SimSpan::ZERO; 5],
                            longest: [(SimSpan::ZERO, NO_PLACE); 5],
                        };
                        next.add(interval, span);
                        cell = Some(next);
                    }
                }
            } else {
                cell.take().into_iter().for_each(|cell| put(cell.interval()));
                put(interval);
            }
        }
        cell.into_iter().for_each(|cell| put(cell.interval()));
        self.intervals = merged;
    }
}

/// Short intervals of a timeline that begin in the same grain.
struct ThinCell {
    number: u64,
    until: SimTime,
    merged: u32,
    spans: [SimSpan; 5],
    /// For each activity, length and call index of the activity's longest interval.
    longest: [(SimSpan, u32); 5],
}

impl ThinCell {
    fn add(&mut self, interval: Interval, span: SimSpan) {
        self.until = interval.until;
        self.merged = self.merged.saturating_add(interval.merged);
        self.spans[interval.state as usize] += span;
        let longest = &mut self.longest[interval.state as usize];
        if span > longest.0 {
            *longest = (span, interval.place);
        }
    }

    fn interval(&self) -> Interval {
        let longest = Activity::ALL.into_iter().rev().max_by_key(|&state| self.spans[state as usize]);
        let state = longest.expect("there are states");
        Interval { until: self.until, state, place: self.longest[state as usize].1, merged: self.merged }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(ps: u64) -> SimTime {
        SimTime::from_ps(ps)
    }

    #[test]
    fn neighbours_of_a_state_are_one_interval_and_short_ones_become_the_longest_of_them() {
        let mut timeline = Timeline::new(10);
        timeline.add(Activity::Compute, 0, at(500));
        timeline.add(Activity::Compute, 0, at(1000));
        timeline.add(Activity::Send, 0, at(1010));
        timeline.add(Activity::Wait, 0, at(1050));
        timeline.add(Activity::Recv, 0, at(1060));
        timeline.add(Activity::Compute, 0, at(2000));
        assert_eq!(timeline.intervals().count(), 5);
        timeline.grain = SimSpan::from_ps(500);
        timeline.merge();
        let interval = |until, state, merged| Interval { until: at(until), state, place: 0, merged };
        let compute = |until| interval(until, Activity::Compute, 1);
        let expected =
            [(at(0), compute(1000)), (at(1000), interval(1060, Activity::Wait, 3)), (at(1060), compute(2000))];
        assert_eq!(timeline.intervals().collect::<Vec<_>>(), expected);
        // With a grain of 1000 ps, the last interval of the timeline is shorter than a grain.
        timeline.grain = SimSpan::from_ps(1000);
        timeline.merge();
        assert_eq!(timeline.intervals().collect::<Vec<_>>(), [(at(0), interval(2000, Activity::Compute, 5))]);
    }

    #[test]
    fn of_too_many_every_second_is_kept() {
        let mut list = Thinned::new(4);
        (0..21).for_each(|number| list.add(number));
        assert_eq!(list.items(), [0, 8, 16]);
        let mut few = Thinned::new(4);
        (0..4).for_each(|number| few.add(number));
        assert_eq!(few.items(), [0, 1, 2, 3]);
    }

    #[test]
    fn a_call_is_told_from_the_next_of_the_same_state() {
        let mut timeline = Timeline::new(10);
        timeline.add(Activity::Wait, 3, at(5));
        timeline.add(Activity::Wait, 4, at(9));
        timeline.renumber(&|place, state| if state == Some(Activity::Wait) { place + 10 } else { NO_PLACE });
        let places: Vec<u32> = timeline.intervals().map(|(_, interval)| interval.place).collect();
        assert_eq!(places, [13, 14]);
    }

    proptest! {
        #[test]
        fn intervals_are_bounded_in_number_and_cover_all_time(
            spans in prop::collection::vec((0..5usize, 1..1_000_000u64, 0..20u32), 1..600), most in 4..50usize,
        ) {
            let mut timeline = Timeline::new(most);
            let mut end = 0;
            for (state, span, shift) in spans {
                end += (span >> shift).max(1);
                timeline.add(Activity::ALL[state], (end % 3) as u32, at(end));
                prop_assert!(timeline.intervals().count() <= most);
            }
            let mut before = None;
            for (start, interval) in timeline.intervals() {
                prop_assert!(start < interval.until);
                prop_assert!(before != Some((interval.state, interval.place)), "neighbours differ");
                before = Some((interval.state, interval.place));
            }
            prop_assert_eq!(timeline.intervals().last().unwrap().1.until, at(end));
        }
    }
}
