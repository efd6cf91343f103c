//! Times of ranks and of their threads: recording during a run, and the form in the result.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use mcpsim_base::profile::{Activity, LISTED_THREADS, ThreadSum, ThreadTime, ThreadTimeline, TimeParts, Timeline};
use mcpsim_base::rank::{COMPLETE, Rank, Requests};
use mcpsim_base::units::{SimSpan, SimTime};

use super::activity::ActivityLimits;
use super::clock::TimeCategory;
use super::state::{MAIN, RankState, StrandState, TargetRank, TaskState};

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

/// Fields of a [`ThreadTime`].
type ThreadFields = (Rank, u32, SimTime, SimTime, TimeParts, SimSpan);

/// Form of the times of threads in messages between host processes, whose format has no flattened fields.
pub(super) mod thread_fields {
    use super::*;

    pub fn serialize<S: Serializer>(threads: &[ThreadTime], serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_seq(threads.iter().map(|of| (of.rank, of.thread, of.start, of.end, of.parts, of.thread_wait)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ThreadTime>, D::Error> {
        let time = |(rank, thread, start, end, parts, thread_wait): ThreadFields| ThreadTime {
            rank,
            thread,
            start,
            end,
            parts,
            thread_wait,
        };
        Ok(Vec::<ThreadFields>::deserialize(deserializer)?.into_iter().map(time).collect())
    }
}

/// Share of the intervals of a rank that a timeline of a thread can have.
const OF_RANK: usize = 4;

/// Recorded time and activity of a thread.
#[derive(Debug)]
pub(super) struct ThreadRecord {
    pub time: ThreadTime,
    pub timeline: Option<Timeline>,
}

/// Times of the threads of a rank.
#[derive(Debug, Default)]
pub(super) struct ThreadsOfRank {
    /// Waits of the main thread for other threads.
    main_wait: SimSpan,
    /// Threads other than the main thread that have ended.
    ended: ThreadSum,
}

impl TargetRank {
    /// Returns true if one of the requests is of another thread of the rank.
    #[inline(always)]
    pub fn waits_for_thread(&self, requests: &Requests) -> bool {
        self.threads.is_some() && requests.iter().any(|&id| id != COMPLETE && self.requests.get(id).is_of_thread())
    }

    /// Records that the task has waited for another thread since its clock showed `since`.
    #[cold]
    pub fn has_waited_for_thread(&mut self, task: u32, since: SimTime) {
        let waited = self.control(task).clock.since(since);
        match (&mut self.threads, task) {
            (Some(threads), MAIN) => threads.main_wait += waited,
            (_, MAIN) => {}
            _ => {
                if let Some(record) = self.strands[task as usize - 1].as_mut().and_then(|of| of.thread.as_mut()) {
                    record.time.thread_wait += waited;
                }
            }
        }
    }

    /// Creates the record of the thread `thread` that starts at `start`; `None` if the thread has no number.
    pub fn begin_thread(
        &mut self,
        thread: Option<u32>,
        start: SimTime,
        limits: ActivityLimits,
    ) -> Option<Box<ThreadRecord>> {
        let thread = thread?;
        self.threads.get_or_insert_default();
        let (parts, thread_wait) = (TimeParts::default(), SimSpan::ZERO);
        let time = ThreadTime { rank: self.rank, thread, start, end: start, parts, thread_wait };
        let has_timeline = limits.intervals > 0 && thread <= LISTED_THREADS;
        let timeline = has_timeline.then(|| Timeline::starting_at(start, limits.intervals / OF_RANK));
        Some(Box::new(ThreadRecord { time, timeline }))
    }

    /// Adds a thread that has ended. Returns its record if the thread is listed.
    pub fn add_ended_thread(&mut self, record: ThreadRecord) -> Option<ThreadRecord> {
        let time = &record.time;
        if let Some(threads) = &mut self.threads {
            threads.ended.add(&time.parts, time.alive(), time.thread_wait);
        }
        (time.thread <= LISTED_THREADS).then_some(record)
    }
}

impl ThreadRecord {
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

/// Returns the records of the listed threads of `ranks`. `ended` has the records of listed threads that have ended.
pub(super) fn of_threads<P>(ranks: &mut [RankState<P>], ended: Vec<ThreadRecord>) -> Vec<ThreadRecord> {
    let mut all = ended;
    for RankState { target, .. } in ranks {
        let strands = target.strands.iter_mut().flatten();
        let living: Vec<_> = strands.filter_map(|strand: &mut Box<StrandState>| strand.thread.take()).collect();
        all.extend(living.into_iter().filter_map(|record| target.add_ended_thread(*record)));
    }
    all.sort_unstable_by_key(|record| (record.time.rank, record.time.thread));
    all
}

/// Returns the times of all threads of each of `ranks` that has started threads. All threads have ended.
pub(super) fn of_ranks<P>(ranks: &[RankState<P>]) -> Vec<ThreadSum> {
    let of = |RankState { target, .. }: &RankState<P>| {
        let threads = target.threads.as_ref()?;
        let mut all = ThreadSum::of_main(target.rank, &target.parts, threads.main_wait);
        all.merge(&threads.ended);
        Some(all)
    };
    ranks.iter().filter_map(of).collect()
}

/// Adds the ranks of `times` without threads to `of_threads`, if other ranks have threads.
pub(super) fn with_all_ranks(of_threads: Vec<ThreadSum>, times: &[(Rank, SimTime, TimeParts)]) -> Vec<ThreadSum> {
    if of_threads.is_empty() {
        return of_threads;
    }
    let of_main = |(rank, _, parts): &(Rank, SimTime, TimeParts)| ThreadSum::of_main(*rank, parts, SimSpan::ZERO);
    let mut all: Vec<ThreadSum> = times.iter().map(of_main).collect();
    all.sort_unstable_by_key(|of| of.rank);
    for of in of_threads {
        if let Ok(index) = all.binary_search_by_key(&of.rank, |of| of.rank) {
            all[index] = of;
        }
    }
    all
}
