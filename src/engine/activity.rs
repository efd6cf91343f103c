//! Optional records of rank activity: intervals of virtual time, and the reasons for each advance of a task's clock.
//!
//! The log of a task is a list of marks, one for each advance of the task's clock. A mark in the activity log has the
//! clock after the advance and the reason for the advance: the task itself, or a point of another task's clock. From
//! the marks in the activity logs, `backtrack` finds the path that determined a clock.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde::{Deserialize, Serialize};

use mcpsim_base::profile::{Activity, Arrow, NO_PLACE, StrandSpan, Timeline};
use mcpsim_base::rank::{CallSite, Rank};
use mcpsim_base::units::SimTime;

/// Limits of the recorded activity of a rank.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ActivityLimits {
    /// Greatest number of activity intervals per rank; 0 if intervals are not recorded.
    pub intervals: usize,
    /// Greatest number of marks (clock advances) per rank in the activity log; 0 if marks are not recorded.
    pub marks: usize,
}

impl ActivityLimits {
    pub fn is_on(self) -> bool {
        self.intervals > 0 || self.marks > 0
    }
}

/// A point of a task's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClockPoint {
    pub rank: Rank,
    /// Serial number of the task among all tasks that the rank has started; 0 is the rank's program.
    pub serial: u32,
    pub time: SimTime,
}

/// Mark in the activity log: an advance of a task's clock from the previous mark of the task to `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClockMark {
    pub until: SimTime,
    /// Index of the call site in the list of call sites of the worker, and the bit [`ClockMark::COMPUTING`].
    pub site: u32,
    /// Point of another task's clock that caused the advance, if any.
    pub came: Option<ClockPoint>,
}

/// Recorded activity of a rank.
#[derive(Debug)]
pub(super) struct ActivityRecord {
    pub timeline: Option<Timeline>,
    pub log: Option<ClockLog>,
}

impl ClockMark {
    /// Bit of `site` that marks the computing before the call at the call site.
    pub const COMPUTING: u32 = 1 << 31;
}

impl ActivityRecord {
    /// Creates the activity record of a rank that has not begun; `None` if no activity is recorded.
    pub fn new(recording: ActivityLimits) -> Option<Box<ActivityRecord>> {
        let ActivityLimits { intervals, marks } = recording;
        let timeline = (intervals > 0).then(|| Timeline::new(intervals));
        let log = (marks > 0).then(|| ClockLog::new(marks));
        recording.is_on().then(|| Box::new(ActivityRecord { timeline, log }))
    }

    /// Records that the rank's program starts at `start`.
    pub fn start_at(&mut self, start: SimTime) {
        if let Some(timeline) = &mut self.timeline {
            timeline.add(Activity::Wait, NO_PLACE, start);
        }
        if let Some(log) = &mut self.log {
            log.since = start;
        }
    }

    /// Records that the rank's program was in `state` until `until`, during the call at call site `place`.
    #[inline]
    pub fn was(&mut self, state: Activity, place: u32, until: SimTime) {
        if let Some(timeline) = &mut self.timeline {
            timeline.add(state, place, until);
        }
    }

    /// Records the arrival of a message at the rank.
    pub fn arrow(&mut self, arrow: Arrow) {
        if let Some(timeline) = &mut self.timeline {
            timeline.arrows.add(arrow);
        }
    }

    /// Records the end of a strand (concurrent task) that the call at call site `place` started.
    pub fn strand(&mut self, strand: StrandSpan) {
        if let Some(timeline) = &mut self.timeline {
            timeline.strands.add(strand);
        }
    }

    /// Returns the serial number for a new strand (concurrent task) of the rank. `thread` is the number of the thread
    /// that the strand is, if any.
    pub fn next_serial(&mut self, thread: Option<u32>) -> u32 {
        self.log.as_mut().map_or(0, |log| {
            log.serials += 1;
            log.threads.extend(thread.map(|thread| (log.serials, thread)));
            log.serials
        })
    }

    /// Adds a mark (an advance of the clock) to the activity log of a task.
    #[inline]
    pub fn mark(&mut self, serial: u32, mark: ClockMark) {
        if let Some(log) = &mut self.log {
            log.add(serial, mark);
        }
    }
}

/// Marks of a rank's tasks by the serial numbers of the tasks.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ClockLog {
    marks: BTreeMap<u32, VecDeque<ClockMark>>,
    count: usize,
    most: usize,
    serials: u32,
    /// Numbers of the tasks that are threads, by serial number.
    pub threads: BTreeMap<u32, u32>,
    /// Start of the earliest mark of the rank's program that the activity log still has.
    since: SimTime,
}

impl ClockLog {
    pub fn new(most: usize) -> Self {
        ClockLog { marks: BTreeMap::new(), count: 0, most, serials: 0, threads: BTreeMap::new(), since: SimTime::ZERO }
    }

    pub fn add(&mut self, serial: u32, mark: ClockMark) {
        let marks = self.marks.entry(serial).or_default();
        // A poll that found a result set the clock back to this point, so later marks are removed.
        while let Some(last) = marks.back().filter(|last| last.until > mark.until).copied() {
            marks.pop_back();
            self.count -= 1;
            if marks.back().is_none_or(|before| before.until < mark.until) && last.came.is_none() {
                marks.push_back(ClockMark { until: mark.until, ..last });
                self.count += 1;
            }
        }
        match marks.back_mut() {
            Some(last) if last.came.is_none() && mark.came.is_none() && last.site == mark.site => {
                last.until = mark.until;
            }
            _ => {
                marks.push_back(mark);
                self.count += 1;
            }
        }
        if self.count > self.most {
            self.forget();
        }
    }

    /// Drops the earliest mark of the rank's program from the activity log, or all marks of the first strand
    /// (concurrent task) if these marks begin no later.
    #[cold]
    fn forget(&mut self) {
        let first = |marks: &VecDeque<ClockMark>| marks.front().map(|mark| mark.until);
        let main = self.marks.get(&0).and_then(first).unwrap_or(SimTime::NEVER);
        let strand = self.marks.range(1..).next().map(|(&serial, marks)| (serial, first(marks)));
        if let Some((serial, _)) = strand.filter(|&(_, began)| began <= Some(main)) {
            self.threads.remove(&serial);
            self.count -= self.marks.remove(&serial).map_or(0, |marks| marks.len());
        } else if let Some(mark) = self.marks.get_mut(&0).and_then(VecDeque::pop_front) {
            self.count -= 1;
            self.since = mark.until;
        }
    }

    /// Returns the marks of a task with the start times of the marks, from the mark that reached `time` back to the
    /// first mark.
    pub fn back_from(&self, serial: u32, time: SimTime) -> impl Iterator<Item = (SimTime, ClockMark)> + '_ {
        let marks = self.marks.get(&serial);
        let count = marks.map_or(0, |marks| {
            let reached = marks.partition_point(|mark| mark.until <= time);
            let exact = reached > 0 && marks[reached - 1].until == time;
            if exact { reached } else { (reached + 1).min(marks.len()) }
        });
        let marks = marks.into_iter().flat_map(move |marks| (0..count).rev().map(move |index| (marks, index)));
        marks.map(move |(marks, index)| {
            let start = index.checked_sub(1).map_or(self.since, |before| marks[before].until);
            (start, marks[index])
        })
    }
}

/// Call sites of the ranks of a worker, numbered in the order of their first use.
#[derive(Debug, Default)]
pub(super) struct Sites {
    numbers: HashMap<CallSite, u32>,
    pub sites: Vec<CallSite>,
}

impl Sites {
    pub fn number(&mut self, site: CallSite) -> u32 {
        *self.numbers.entry(site).or_insert_with(|| {
            self.sites.push(site);
            self.sites.len() as u32 - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ps: u64) -> SimTime {
        SimTime::from_ps(ps)
    }

    fn own(until: u64, site: u32) -> ClockMark {
        ClockMark { until: at(until), site, came: None }
    }

    fn back(log: &ClockLog, serial: u32, time: u64) -> Vec<(u64, u64)> {
        log.back_from(serial, at(time)).map(|(start, mark)| (start.as_ps(), mark.until.as_ps())).collect()
    }

    #[test]
    fn own_marks_of_a_place_are_one_and_a_time_within_it_is_found() {
        let mut log = ClockLog::new(100);
        [own(10, 1), own(20, 1), own(50, 2)].into_iter().for_each(|mark| log.add(0, mark));
        assert_eq!(back(&log, 0, 50), [(20, 50), (0, 20)]);
        assert_eq!(back(&log, 0, 15), [(0, 20)]);
        assert_eq!(back(&log, 0, 20), [(0, 20)]);
        assert_eq!(back(&log, 7, 20), []);
    }

    #[test]
    fn what_led_elsewhere_takes_the_place_of_the_polling_meanwhile() {
        let mut log = ClockLog::new(100);
        let came = ClockMark { until: at(35), site: 3, came: Some(ClockPoint { rank: 1, serial: 0, time: at(5) }) };
        [own(10, 1), own(30, 2), own(40, 3), came, own(40, 3)].into_iter().for_each(|mark| log.add(0, mark));
        assert_eq!(back(&log, 0, 40), [(35, 40), (35, 35), (30, 35), (10, 30), (0, 10)]);
        assert_eq!(log.count, 5);
    }

    #[test]
    fn the_earliest_marks_are_forgotten_and_it_is_known_from_where_on_there_are_some() {
        let mut log = ClockLog::new(4);
        let begun = |time| ClockMark {
            until: at(time),
            site: 0,
            came: Some(ClockPoint { rank: 0, serial: 0, time: at(time) }),
        };
        log.add(0, own(10, 1));
        log.add(1, begun(10));
        log.add(1, own(25, 9));
        log.add(0, own(30, 2));
        log.add(0, own(40, 3));
        assert_eq!(back(&log, 1, 25), [], "as early as what would go first");
        assert_eq!(back(&log, 0, 40), [(30, 40), (10, 30), (0, 10)]);
        log.add(0, own(50, 4));
        log.add(0, own(60, 5));
        log.add(0, own(70, 6));
        assert_eq!(back(&log, 0, 70), [(60, 70), (50, 60), (40, 50), (30, 40)]);
        assert_eq!(log.count, 4);
    }
}
