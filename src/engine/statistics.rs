//! Statistics of a worker: messages by level, size, pair and place, computing blocks, and collectives.

use mcpsim_base::platform::{Level, Platform, Site};
use mcpsim_base::profile::{
    BlockUse, CodeTimes, CollectiveCounter, CollectiveProfile, MOST_RANKS, MessageProfile, Pairs,
};
use mcpsim_base::rank::{Call, CallSite, Rank};
use mcpsim_base::units::{Bytes, SimSpan};

use super::jobs::{JobRanks, JobStatistics};
use super::place_messages::PlaceCounter;
use super::simulation::RunOptions;

/// Statistics of the messages, computing blocks and collectives of a worker's ranks.
#[derive(Debug)]
pub(super) struct WorkerStatistics {
    pub messages: MessageProfile,
    pub pairs: Option<Pairs>,
    /// Messages by the least common place of sender and receiver, if the platform states places.
    pub by_place: Option<Box<PlaceCounter>>,
    /// Computing blocks that used memory.
    pub blocks: BlockUse,
    pub collectives: CollectiveCounter,
    /// Messages and collectives by job, in a simulation of several jobs. The fields `messages` and `collectives` are
    /// then empty.
    pub jobs: Option<Box<JobStatistics>>,
    /// Number of messages that were delivered to ranks of the worker.
    pub delivered: u64,
    /// Times of real code of some of the worker's ranks.
    pub code: CodeSample,
}

/// Times of real code of each rank whose number is a multiple of `stride`.
#[derive(Debug)]
pub(super) struct CodeSample {
    /// Times by rank / stride.
    times: Vec<Option<Box<CodeTimes>>>,
    stride: u32,
}

impl CodeSample {
    /// Records the time of a block of real code of `rank` before a call of the function `before`.
    #[inline(always)]
    pub fn record(&mut self, rank: Rank, span: SimSpan, before: &'static str) {
        if span > SimSpan::ZERO && rank.is_multiple_of(self.stride) {
            self.add(rank, span, before);
        }
    }

    #[inline(never)]
    fn add(&mut self, rank: Rank, span: SimSpan, before: &'static str) {
        let at = (rank / self.stride) as usize;
        if self.times.len() <= at {
            self.times.resize(at + 1, None);
        }
        self.times[at].get_or_insert_default().add(before, span.as_seconds());
    }

    /// Returns the times of each rank that has some.
    pub fn into_times(self) -> impl Iterator<Item = (Rank, CodeTimes)> {
        let of_rank = move |(at, times): (u32, Option<Box<CodeTimes>>)| Some((at * self.stride, *times?));
        (0..).zip(self.times).filter_map(of_rank)
    }
}

impl WorkerStatistics {
    pub fn new(platform: &Platform, (sites, jobs): (&[Site], &[JobRanks]), options: &RunOptions) -> Self {
        WorkerStatistics {
            messages: MessageProfile::new(options.intervals.clone()),
            pairs: options.pairs.then(Pairs::default),
            by_place: PlaceCounter::new(platform, sites),
            blocks: BlockUse::default(),
            collectives: CollectiveCounter::default(),
            jobs: JobStatistics::new(jobs, options),
            delivered: 0,
            code: CodeSample { times: Vec::new(), stride: (sites.len() as u32).div_ceil(MOST_RANKS).max(1) },
        }
    }

    /// Records the time of `call`, if the call is a block of real code of `rank`. `site` returns the call site after the
    /// block.
    #[inline(always)]
    pub fn record_code(&mut self, rank: Rank, call: &Call, site: impl FnOnce() -> CallSite) {
        if let Call::Code(span) = call
            && *span > SimSpan::ZERO
            && rank.is_multiple_of(self.code.stride)
        {
            let name = match site() {
                CallSite::Function(name) | CallSite::Place(name, _) => name,
                CallSite::Step(_) | CallSite::Unknown => "",
            };
            self.code.add(rank, *span, name);
        }
    }

    /// Records a message with the transfer time `time`.
    #[inline(always)]
    pub fn record(&mut self, level: Level, from: Rank, to: Rank, size: Bytes, time: SimSpan) {
        self.delivered += 1;
        match &mut self.jobs {
            None => self.messages.record(level, size, time),
            Some(jobs) => jobs.of(to).0.record(level, size, time),
        }
        if let Some(pairs) = &mut self.pairs {
            pairs.record(from, to, size);
        }
        if let Some(by_place) = &mut self.by_place {
            by_place.record(level, (from, to), size, time);
        }
    }

    /// Returns the counter of the collectives of `rank`.
    #[inline(always)]
    pub fn collectives_of(&mut self, rank: Rank) -> &mut CollectiveCounter {
        match &mut self.jobs {
            None => &mut self.collectives,
            Some(jobs) => &mut jobs.of(rank).1,
        }
    }

    /// Returns the messages and collectives of all ranks of the worker.
    pub fn totals(&self) -> (MessageProfile, CollectiveProfile) {
        match &self.jobs {
            None => (self.messages.clone(), self.collectives.profile()),
            Some(jobs) => jobs.totals(&self.messages),
        }
    }
}
