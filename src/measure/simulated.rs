//! The tests of a measurement campaign on a simulated machine, where all costs are known.
//!
//! mcpsim uses this module to check the tests themselves, and to validate a fitted platform with tests whose results
//! did not enter the fit.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex};

use mcpsim_core::engine::{Labels, Progress, RunError, RunOptions, Simulation};
use mcpsim_core::mpi::{CallForm, CollectiveCall, CommMember, DataCost, Group, NoData, Runner, Sizes};
use mcpsim_core::platform::{Collective, HardwareThreads, Level, Platform, Site};
use mcpsim_core::rank::{
    Buffer, Call, CollectiveEntry, Context, Describe, Fiber, FiberHandle, Message, Pattern, Program, Rank, Reply,
    ReplyKind, Requests, SendMode, Served, Source, TagPattern,
};
use mcpsim_core::units::{Bytes, SimSpan, SimTime};

use super::campaign::{CampaignPlan, measure_levels};
use super::collectives::{CollectiveTests, TimedCollective, time_collectives};
use super::cores::{MeasuredCores, PIECE, measure_cores};
use super::pairs::answer;
use super::port::{GroupPort, NeighbourMethod, PASSED, RankPort};
use super::rings::measure_rings;
use super::samples::{SampleSeries, Samples, Test};

/// Tag of test messages, and tag of messages that contain numbers.
const TEST: u32 = 0;
const TOLD: u32 = 1;

/// Time in seconds from the arrival of the last rank to a joint start of a collective. The start messages to the ranks
/// take less than this time.
const TOGETHER: f64 = 1.0;

/// Stack size of a simulated rank, bytes.
pub(super) const STACK: usize = 256 << 10;

/// Runs the tests of the campaign plan `plan` on the simulated machine's cores at `sites`, one rank per core. Returns
/// the samples of all tests.
///
/// # Errors
/// The simulation ends without a result, which these tests do not cause.
pub fn simulate(platform: &Platform, sites: Vec<Site>, plan: &CampaignPlan) -> Result<Samples, RunError> {
    let tests = |platform: &Platform| {
        let plan = plan.clone();
        on_simulated(platform, sites.clone(), move |port| measure_levels(port, &plan, &mut |_, _| ()))
    };
    if platform.at_ranks(1) == *platform {
        return tests(platform);
    }
    // The costs of a test are those for the number of ranks that communicate in the test.
    let mut samples = tests(&platform.at_ranks(1))?;
    let mut by_ranks: BTreeMap<u32, Samples> = BTreeMap::new();
    for series in &mut samples.series {
        let ranks = ranks_per_node(series);
        if let Entry::Vacant(entry) = by_ranks.entry(ranks) {
            entry.insert(tests(&platform.at_ranks(ranks))?);
        }
        let of = |series: &SampleSeries| (series.level, series.test, series.bytes, series.load);
        if let Some(found) = by_ranks[&ranks].series.iter().find(|other| of(other) == of(series)) {
            series.clone_from(found);
        }
    }
    Ok(samples)
}

/// Returns the number of ranks per node that communicate in the test of a series.
fn ranks_per_node(series: &SampleSeries) -> u32 {
    let several = matches!(series.test, Test::PingPongs | Test::Windows | Test::BothWays);
    let pairs = if several { series.load.max(1) } else { 1 };
    if series.level == Some(Level::InterNode) { pairs } else { 2 * pairs }
}

/// Runs the rings of b_eff on a simulated machine, up to messages of `most` bytes. Each ring exchange runs once,
/// because repetitions would be equal.
///
/// # Errors
/// The simulation ends without a result.
pub fn simulate_rings(platform: &Platform, sites: Vec<Site>, most: u64) -> Result<Samples, RunError> {
    on_simulated(platform, sites, move |port| {
        let series = measure_rings(port, most, 1, &mut |_, _| ());
        Samples { series, ..Samples::default() }
    })
}

/// Runs the pieces of computation of the ranks `firsts`, one rank per node, on a simulated machine.
///
/// # Errors
/// The simulation ends without a result.
pub fn simulate_cores(
    platform: &Platform,
    sites: Vec<Site>,
    firsts: Vec<u32>,
    count: u32,
) -> Result<MeasuredCores, RunError> {
    on_simulated(platform, sites, move |port| measure_cores(port, &firsts, count))
}

/// Times the collectives of `plan` on a simulated machine.
///
/// # Errors
/// The simulation ends without a result.
pub fn simulate_collectives(
    platform: &Platform,
    sites: Vec<Site>,
    plan: &CollectiveTests,
) -> Result<Vec<TimedCollective>, RunError> {
    let plan = *plan;
    on_simulated(platform, sites, move |port| time_collectives(port, &plan, &mut |_, _| ()))
}

/// Runs `work` on the simulated machine's cores at `sites`, one rank per core. Returns the result of the first rank.
///
/// # Errors
/// The simulation ends without a result, because `work` does not make matching calls on all ranks.
pub(super) fn on_simulated<T: Default + Send + 'static>(
    platform: &Platform,
    sites: Vec<Site>,
    work: impl Fn(&mut Simulated<'_>) -> T + Send + Sync + 'static,
) -> Result<T, RunError> {
    on_simulated_with(platform, sites, &Progress::default(), work)
}

/// Runs `work` as [`on_simulated`] does; `progress` can cancel the simulation.
pub(super) fn on_simulated_with<T: Default + Send + 'static>(
    platform: &Platform,
    sites: Vec<Site>,
    progress: &Progress,
    work: impl Fn(&mut Simulated<'_>) -> T + Send + Sync + 'static,
) -> Result<T, RunError> {
    let ranks = sites.len() as u32;
    let found: Arc<Mutex<T>> = Arc::default();
    let mut placed = platform.clone();
    placed.spread_ranks(&sites);
    let shared = Arc::new((work, placed.clone()));
    let memories = memories(platform, &sites);
    let on_core = HardwareThreads::ranks_of_cores(&sites);
    let turns: Vec<f64> = sites.iter().map(|site| platform.core.threads.turns(on_core[site])).collect();
    let options = RunOptions { workers: Some(1), ..RunOptions::default() };
    let make = |rank: Rank| -> Box<dyn Program> {
        let (shared, found) = (Arc::clone(&shared), Arc::clone(&found));
        let (memory, turns) = (memories[rank as usize], turns[rank as usize]);
        let body = move |handle: &FiberHandle<'_>| {
            let clock = handle.begin(|reply| reply.clock);
            let (work, platform) = &*shared;
            let mut port =
                Simulated { handle, clock, rank, ranks, platform, memory, turns, members: ranks, collectives: 0 };
            let of_rank = work(&mut port);
            if rank == 0 {
                *found.lock().expect("no rank has failed") = of_rank;
            }
            Call::Finish
        };
        Box::new(Measuring(Fiber::new(STACK, body).expect("there is memory for a stack")))
    };
    Simulation::new(&placed, sites, options, Labels::default()).run_boxed(&make, progress)?;
    let mut found = found.lock().expect("no rank has failed");
    Ok(std::mem::take(&mut *found))
}

/// Returns each rank's share of the memory bandwidth of its node.
fn memories(platform: &Platform, sites: &[Site]) -> Vec<f64> {
    let ranks = HardwareThreads::ranks_of_cores(sites);
    let of = |own: &Site| {
        let on_node = sites.iter().filter(|site| site.node == own.node);
        let on_cmp = on_node.clone().filter(|site| site.cmp == own.cmp).count();
        let slower = platform.core.threads.factor(ranks[own]);
        platform.core.memory_share_slowed(slower, on_cmp as u32, on_node.count() as u32)
    };
    sites.iter().map(of).collect()
}

/// A simulated rank that runs the tests, and answers one-sided operations.
struct Measuring(Fiber);

impl Program for Measuring {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        self.0.next(reply)
    }

    fn serve(&mut self, served: Served, answers: &mut Vec<Message>) {
        answers.extend(answer(served));
    }
}

impl Describe for Measuring {}

/// A rank of the simulated machine.
pub(super) struct Simulated<'a> {
    pub handle: &'a FiberHandle<'a>,
    pub clock: SimTime,
    pub rank: Rank,
    pub ranks: u32,
    platform: &'a Platform,
    /// This rank's share of the memory bandwidth of its node.
    memory: f64,
    /// Factor that slows down the computation of this rank, because other ranks share its core, even if those ranks
    /// sleep.
    turns: f64,
    /// Number of ranks that take part in collectives, from rank 0.
    members: u32,
    /// Number of collectives that this rank has called.
    collectives: u32,
}

impl Simulated<'_> {
    /// Issues a simulator call, and updates the clock of the rank.
    pub fn call<R>(&mut self, call: Call, take: impl FnOnce(&mut Reply<'_>) -> R) -> R {
        let clock = &mut self.clock;
        self.handle.call(call, |reply| {
            *clock = reply.clock;
            take(reply)
        })
    }

    /// Issues a simulator call that starts an MPI request. Returns the index of the request.
    pub fn started(&mut self, call: Call) -> u32 {
        self.call(call, |reply| match reply.kind {
            ReplyKind::Started(request) => request,
            _ => unreachable!("a request was started"),
        })
    }

    /// Runs a collective among the participating ranks.
    fn collect(&mut self, collective: Collective, root: u32, sizes: Sizes) {
        if self.rank >= self.members {
            return;
        }
        let comm = CommMember::new(0, self.rank, Group::Strided { first: 0, stride: 1, size: self.members });
        let call = CollectiveCall { collective, comm, root, sizes, algorithm: None };
        let cost = DataCost::of_machine(self.platform, self.memory);
        self.collectives += 1;
        let runner =
            Runner::new((call, CallForm::Blocking), &self.platform.collectives, cost, self.collectives, NoData);
        let mut runner = runner.expect("a platform's rules have been checked");
        let entry = CollectiveEntry::named("a collective");
        let mut next = self.call(Call::Enter(entry), |reply| runner.next_call(reply));
        while let Some(call) = next {
            next = self.call(call, |reply| runner.next_call(reply));
        }
        self.call(Call::Leave, |_| ());
    }

    /// Sends numbers to rank `to`.
    pub fn tell(&mut self, to: Rank, values: &[f64]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let size = Bytes::new(bytes.len() as u64);
        let message = Message { size, payload: Some(bytes.into()), ..message(to, 0, TOLD, SendMode::Buffered) };
        self.call(Call::Send(message), |_| ());
    }

    /// Receives numbers from rank `from`.
    pub fn told(&mut self, from: Rank) -> Vec<f64> {
        let bytes = self.call(Call::Recv(pattern(from, TOLD)), |reply| match &mut reply.kind {
            ReplyKind::Completed(completions) => completions[0].payload.take().expect("values were sent"),
            _ => unreachable!("a receive completes"),
        });
        bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
    }
}

/// Creates a message in the communication context of the tests.
pub(super) fn message(to: Rank, bytes: u64, tag: u32, mode: SendMode) -> Message {
    Message { to, context: 0, tag, size: Bytes::new(bytes), mode, payload: None, buffer: Default::default() }
}

fn pattern(from: Rank, tag: u32) -> Pattern {
    pattern_in(0, from, tag)
}

/// Creates the match pattern of a receive in a communication context.
pub(super) fn pattern_in(context: Context, from: Rank, tag: u32) -> Pattern {
    Pattern {
        from: Source::Rank(from),
        context,
        tag: TagPattern::Tag(tag),
        capacity: Bytes::MAX,
        buffer: Default::default(),
    }
}

fn test(to: Rank, bytes: u64) -> Message {
    message(to, bytes, TEST, SendMode::Standard)
}

impl RankPort for Simulated<'_> {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.ranks
    }

    fn now(&mut self) -> f64 {
        self.clock.as_seconds()
    }

    fn send(&mut self, to: u32, bytes: u64) {
        self.call(Call::Send(test(to, bytes)), |_| ());
    }

    fn recv(&mut self, from: u32, _bytes: u64) {
        self.call(Call::Recv(pattern(from, TEST)), |_| ());
    }

    fn send_window(&mut self, to: u32, bytes: u64, count: u32) {
        let requests: Requests = (0..count).map(|_| self.started(Call::Isend(test(to, bytes)))).collect();
        self.call(Call::Complete(requests), |_| ());
    }

    fn recv_windows(&mut self, from: &[u32], _bytes: u64, count: u32) {
        let each = (0..count).flat_map(|_| from.iter());
        let requests: Requests = each.map(|from| self.started(Call::Irecv(pattern(*from, TEST)))).collect();
        self.call(Call::Complete(requests), |_| ());
    }

    fn exchange(&mut self, to: u32, from: u32, bytes: u64) {
        self.call(Call::Exchange(test(to, bytes), pattern(from, TEST)), |_| ());
    }

    fn exchange_window(&mut self, with: u32, bytes: u64, count: u32) {
        let mut requests: Requests = (0..count).map(|_| self.started(Call::Irecv(pattern(with, TEST)))).collect();
        (0..count).for_each(|_| requests.push(self.started(Call::Isend(test(with, bytes)))));
        self.call(Call::Complete(requests), |_| ());
    }

    fn exchange_buffers(&mut self, with: u32, bytes: u64, count: u32) {
        // Buffers of a rank have even indices for receives and odd indices for sends.
        let received = |number: u32| Pattern { buffer: Buffer::numbered(2 * number), ..pattern(with, TEST) };
        let sent = |number: u32| Message { buffer: Buffer::numbered(2 * number + 1), ..test(with, bytes) };
        let mut requests: Requests = (0..count).map(|number| self.started(Call::Irecv(received(number)))).collect();
        (0..count).for_each(|number| requests.push(self.started(Call::Isend(sent(number)))));
        self.call(Call::Complete(requests), |_| ());
    }

    fn recv_beside(&mut self, from: u32, _bytes: u64, work: f64) -> f64 {
        let request = self.started(Call::Irecv(pattern(from, TEST)));
        self.send(from, 0);
        self.compute(work);
        let started = self.now();
        self.call(Call::Complete(Requests::from_slice(&[request])), |_| ());
        self.now() - started
    }

    fn compute(&mut self, seconds: f64) {
        let span = SimSpan::from_seconds(seconds / self.turns).unwrap_or_else(|| panic!("a delay of {seconds} s"));
        self.call(Call::Compute(span), |_| ());
    }

    fn pause(&mut self, seconds: f64) {
        self.compute(seconds);
    }

    fn work(&mut self) {
        self.compute(PIECE);
    }

    fn pass_memory(&mut self) {
        let span = (PASSED * size_of::<u64>()) as f64 / self.platform.core.memory.get() as f64;
        self.call(Call::Code(SimSpan::from_seconds(span).unwrap_or(SimSpan::MAX)), |_| ());
    }

    fn barrier(&mut self) {
        if self.rank > 0 {
            self.tell(0, &[]);
            self.told(0);
            return;
        }
        (1..self.ranks).for_each(|rank| _ = self.told(rank));
        (1..self.ranks).for_each(|rank| self.tell(rank, &[]));
    }

    fn tell(&mut self, to: u32, values: &[f64]) {
        Simulated::tell(self, to, values);
    }

    fn told(&mut self, from: u32) -> Vec<f64> {
        Simulated::told(self, from)
    }

    fn share(&mut self, from: u32, values: &mut Vec<f64>) {
        if self.rank != from {
            *values = self.told(from);
            return;
        }
        (0..self.ranks).filter(|rank| *rank != from).for_each(|rank| self.tell(rank, values));
    }
}

impl GroupPort for Simulated<'_> {
    fn neighbours(&mut self, with: [u32; 2], bytes: u64, how: NeighbourMethod) {
        let [before, after] = with;
        match how {
            NeighbourMethod::Exchange => {
                self.exchange(after, before, bytes);
                self.exchange(before, after, bytes);
            }
            NeighbourMethod::AtOnce => {
                let mut requests: Requests =
                    with.iter().map(|from| self.started(Call::Irecv(pattern(*from, TEST)))).collect();
                with.iter().for_each(|to| requests.push(self.started(Call::Isend(test(*to, bytes)))));
                self.call(Call::Complete(requests), |_| ());
            }
            NeighbourMethod::Collective => {
                // In a ring of two ranks both neighbours are the same rank, which gets the two messages as one message.
                let mut sizes = vec![0; self.ranks as usize];
                with.iter().for_each(|to| sizes[*to as usize] += bytes);
                let sizes: Vec<Bytes> = sizes.into_iter().map(Bytes::new).collect();
                self.collect(Collective::Alltoallv, 0, Sizes::Each(sizes.into()));
            }
        }
    }

    fn among(&mut self, members: u32) {
        // Ranks that did not take part until now have called fewer collectives, so all ranks restart their counts of
        // collectives.
        (self.members, self.collectives) = (members, 0);
    }

    fn collective(&mut self, collective: Collective, root: u32, bytes: u64) {
        self.collect(collective, root, Sizes::Same(Bytes::new(bytes)));
    }

    /// The clocks of all simulated ranks are equal, so the participating ranks can agree on a future instant.
    fn begin_together(&mut self) {
        let now = self.now();
        let begin = if self.rank > 0 {
            self.tell(0, &[now]);
            self.told(0)[0]
        } else {
            let others: Vec<f64> = (1..self.members).map(|rank| self.told(rank)[0]).collect();
            let begin = others.into_iter().fold(now, f64::max).max(self.now()) + TOGETHER;
            (1..self.members).for_each(|rank| self.tell(rank, &[begin]));
            begin
        };
        let left = begin - self.now();
        self.compute(left.max(0.0));
    }
}
