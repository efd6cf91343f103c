//! Times of ranks and of their threads: recording during a run, and the form in the result.

use serde::{Deserialize, Serialize};

use mcpsim_base::profile::{Activity, LISTED_THREADS, ThreadTime, ThreadTimeline, TimeParts, Timeline};
use mcpsim_base::rank::Rank;
use mcpsim_base::units::{SimSpan, SimTime};

use super::activity::ActivityLimits;
use super::clock::TimeCategory;
use super::state::{RankState, StrandState, TaskState};

/// Location, final clock and parts of the time of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RankTime {
    /// The rank.
    pub rank: u32,
    /// Node of the rank.
    pub node: u32,
    /// CMP of the rank within the node.
    pub cmp: u32,
    /// Core of the rank within the CMP.
    pub core: u32,
    /// Final clock of the rank.
    #[serde(rename = "clock_ps")]
    pub clock: SimTime,
    /// Parts of the time of the rank.
    #[serde(flatten)]
    pub parts: TimeParts,
}

/// Share of the intervals of a rank that a timeline of a thread can have.
const OF_RANK: usize = 4;

/// Recorded time and activity of a thread.
#[derive(Debug)]
pub(super) struct ThreadRecord {
    pub time: ThreadTime,
    pub timeline: Option<Timeline>,
}

impl ThreadRecord {
    /// Creates the record of the thread `thread` of `rank` that starts at `start`; `None` if the thread is not listed.
    pub fn new(rank: Rank, thread: Option<u32>, start: SimTime, limits: ActivityLimits) -> Option<Box<ThreadRecord>> {
        let thread = thread.filter(|&thread| thread <= LISTED_THREADS)?;
        let time = ThreadTime { rank, thread, start, end: start, parts: TimeParts::default() };
        let timeline = (limits.intervals > 0).then(|| Timeline::starting_at(start, limits.intervals / OF_RANK));
        Some(Box::new(ThreadRecord { time, timeline }))
    }

    /// Removes and returns the timeline of the thread.
    pub fn take_timeline(&mut self) -> Option<ThreadTimeline> {
        Some(ThreadTimeline { thread: self.time.thread, timeline: self.timeline.take()? })
    }

    /// Adds the time `span`, after which the thread has the state `control`.
    pub fn pass(&mut self, control: &TaskState, kind: TimeCategory, span: SimSpan) {
        let (part, activity) = part_and_activity(&mut self.time.parts, kind, control.collective.is_some());
        *part += span;
        self.time.end = control.clock;
        if let Some(timeline) = &mut self.timeline
            && span > SimSpan::ZERO
        {
            timeline.add(activity, control.site, control.clock);
        }
    }
}

/// Returns the part of a task's time to which time of the category `kind` belongs, and the activity in timelines.
#[inline(always)]
pub(super) fn part_and_activity(
    parts: &mut TimeParts,
    kind: TimeCategory,
    is_collective: bool,
) -> (&mut SimSpan, Activity) {
    match kind {
        _ if is_collective => (&mut parts.collective, Activity::Collective),
        TimeCategory::Compute => (&mut parts.compute, Activity::Compute),
        TimeCategory::Send => (&mut parts.send, Activity::Send),
        TimeCategory::Recv => (&mut parts.recv, Activity::Recv),
        TimeCategory::Poll => (&mut parts.wait, Activity::Wait),
    }
}

/// Returns the records of all threads of `ranks`. `ended` has the records of threads that have ended.
pub(super) fn of_threads<P>(ranks: &mut [RankState<P>], ended: Vec<ThreadRecord>) -> Vec<ThreadRecord> {
    let strands = ranks.iter_mut().flat_map(|state| state.target.strands.iter_mut().flatten());
    let living = strands.filter_map(|strand: &mut Box<StrandState>| strand.thread.take()).map(|record| *record);
    let mut all: Vec<ThreadRecord> = ended.into_iter().chain(living).collect();
    all.sort_unstable_by_key(|record| (record.time.rank, record.time.thread));
    all
}
