//! Predictions of the jobs of a simulation.

use mcpsim_base::platform::{Level, Platform, Site};
use mcpsim_base::profile::{
    ContentionLevels, LatencyTolerance, PathParts, Resource, TimeParts, UplinkContention, WhatIf,
};
use mcpsim_base::rank::Rank;
use mcpsim_base::units::{SimSpan, SimTime};

use crate::backtrack::{ClockLogs, walk_back};
use crate::delays::Charges;
use crate::jobs::{JobFindings, JobOutcome, JobRanks, job_of};
use crate::level_rules::is_fair;
use crate::outcome::{IntervalMessages, LevelTotals, Outcome};
use crate::rank_times::RankTime;

use super::{LISTED_RANKS, Simulation, mean_parts, path_parts};

/// Causes of the contention and of the waits for memory on a critical path.
#[derive(Debug, Default)]
pub(super) struct PathCauses {
    /// Contention by level and resource, if levels share resources over time.
    pub contention: Option<ContentionLevels>,
    /// Contention by kind of uplink.
    pub uplinks: Vec<UplinkContention>,
    /// Time that twice the memory bandwidth would save in computing blocks.
    saved_by_memory: SimSpan,
}

impl PathCauses {
    /// Returns the modifications of the machine that save time on `path`.
    pub(super) fn what_if(&self, path: &PathParts, platform: &Platform) -> Vec<WhatIf> {
        let charged = (self.contention.as_ref(), self.saved_by_memory);
        WhatIf::all(path, charged, &self.uplinks, |level| platform.link(level).contention())
    }
}

impl Simulation<'_> {
    /// Returns the start of the job of `rank`; zero in a simulation without jobs.
    pub(super) fn start_of(&self, rank: Rank) -> SimTime {
        job_of(&self.jobs, rank).map_or(SimTime::ZERO, |job| job.start)
    }

    /// Returns the result of each job, without comparisons with other runs.
    pub(super) fn job_outcomes(&self, found: Vec<JobFindings>, logs: &[ClockLogs]) -> Vec<JobOutcome> {
        self.jobs.iter().zip(found).map(|(job, found)| self.job_outcome(job, found, logs)).collect()
    }

    /// Divides the contention on `path` by cause, if levels share resources over time, and sets the part of the path that
    /// waits for memory.
    pub(super) fn causes(&self, path: &mut PathParts, charges: Option<Charges>) -> PathCauses {
        let Some(charges) = charges else { return PathCauses::default() };
        path.memory = charges.memory_wait();
        let shares = Level::ALL.into_iter().any(|level| is_fair(self.platform, level));
        let contention = shares.then(|| ContentionLevels::new(path, |level, by| charges.of(level, by)));
        let charged = |kind| charges.of(Level::InterNode, Resource::Uplink(kind));
        let uplinks = UplinkContention::rows(&self.platform.places, charged);
        PathCauses { contention, uplinks, saved_by_memory: charges.saved_by_memory() }
    }

    fn job_outcome(&self, job: &JobRanks, found: JobFindings, logs: &[ClockLogs]) -> JobOutcome {
        let JobFindings { mut times, last, charges, messages, collectives, unreceived, unwaited, timers } = found;
        times.sort_unstable_by_key(|&(rank, _, _)| rank);
        let end = last.map_or(job.start, |(clock, _, _)| clock);
        let since = |clock: SimTime| SimTime::ZERO + clock.since(job.start);
        let predicted = since(end);
        let mean = mean_parts(&times);
        let mut path = path_parts(last, job.start, &mean);
        let causes = self.causes(&mut path, charges);
        let smallest = |level| self.platform.link(level).rows()[0].latency;
        let tolerance = self.options.latency_tolerance.then(|| LatencyTolerance::all(&path, predicted, smallest));
        let critical_path = last.filter(|_| self.options.critical_path).map(|(clock, rank, _)| {
            let mut path = walk_back(logs, rank, clock);
            path.known = path.known.min(clock.since(job.start));
            path.ranks.iter_mut().for_each(|share| share.rank -= job.first);
            path
        });
        let row = |&(rank, clock, parts): &(Rank, SimTime, TimeParts)| {
            let Site { node, cmp, core } = self.sites[rank as usize];
            RankTime { rank: rank - job.first, node, cmp, core, clock: since(clock), parts }
        };
        let listed = self.options.per_rank || self.sites.len() <= LISTED_RANKS;
        let shape = self.platform.shape;
        let first_unreceived = unreceived.count;
        let mut lost = unreceived.into_first();
        lost.iter_mut().for_each(|message| {
            message.from -= job.first;
            message.to -= job.first;
        });
        let outcome = Outcome {
            mcpsim: env!("CARGO_PKG_VERSION").to_owned(),
            predicted,
            predicted_s: predicted.as_seconds(),
            nct: [shape.nodes, shape.cmps, shape.cores],
            threads: self.platform.core.threads.count(),
            ranks: job.count,
            app: job.app.clone(),
            platform: self.platform.name.clone(),
            model: self.labels.model.clone(),
            seed: self.labels.seed,
            messages: messages.total().into(),
            unreceived: first_unreceived,
            first_unreceived: lost,
            unwaited: unwaited.into_rows(),
            levels: LevelTotals::from(&messages),
            profile: IntervalMessages::rows(&messages),
            mean_parts: mean,
            collectives: collectives.rows(times.len() as u64),
            path,
            what_if: causes.what_if(&path, self.platform),
            contention: causes.contention,
            uplink_contention: causes.uplinks,
            critical_path,
            latency_tolerance: tolerance,
            timers,
            per_rank: if listed { times.iter().map(row).collect() } else { Vec::new() },
            ..Outcome::default()
        };
        let nodes = self.sites[job.first as usize..(job.first + job.count) as usize].iter().map(|site| site.node);
        let nodes = node_ranges(nodes.collect());
        let (name, first_rank) = (job.name.clone(), job.first);
        JobOutcome { name, first_rank, nodes, start: job.start, end, outcome, ..JobOutcome::default() }
    }
}

/// Returns a list of node numbers with ranges, such as "0-3,8".
fn node_ranges(mut nodes: Vec<u32>) -> String {
    nodes.sort_unstable();
    nodes.dedup();
    let range = |run: &[u32]| match run {
        [only] => only.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    };
    nodes.chunk_by(|a, b| a + 1 == *b).map(range).collect::<Vec<_>>().join(",")
}

/// Adds the time before the start of each rank's job to the rank's wait.
pub(super) fn wait_for_start(times: &mut [(Rank, SimTime, TimeParts)], start: impl Fn(Rank) -> SimTime) {
    times.iter_mut().for_each(|(rank, _, parts)| parts.wait += SimSpan::from_ps(start(*rank).as_ps()));
}

#[cfg(test)]
mod tests {
    use super::node_ranges;

    #[test]
    fn consecutive_nodes_are_a_range() {
        assert_eq!(node_ranges(vec![8, 0, 1, 1, 2, 5]), "0-2,5,8");
        assert_eq!(node_ranges(vec![3]), "3");
        assert_eq!(node_ranges(Vec::new()), "");
    }
}
