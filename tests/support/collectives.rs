//! Test programs of collective calls, with one rank per node of a small machine.

use std::sync::Arc;

use mcpsim::engine::{Labels, Outcome, Progress, RunError, RunOptions, Simulation};
use mcpsim::mpi::{CollectiveCall, CommMember, Group, MpiCall, MpiDriver, MpiProgram, Sizes};
use mcpsim::platform::{Algorithm, Collective, MemoryPart, Placement, Platform};
use mcpsim::rank::{Call, Describe, Program, Rank, Reply, ReplyKind, RequestId};
use mcpsim::trace::{Header, Recording};
use mcpsim::units::Bytes;

use super::ns;

/// A step of a rank's test program.
#[derive(Clone, Debug)]
pub enum Line {
    Compute(u64),
    /// Calls a blocking collective with the stated parameters.
    Collective(CollectiveCall),
    /// Starts a nonblocking collective with the stated parameters.
    Begin(CollectiveCall),
    /// Waits for a started collective. The number of `Wait` is the index of the collective among started collectives
    /// without a wait.
    Wait(usize),
    WaitAll,
}

struct Lines {
    lines: std::vec::IntoIter<Line>,
    requests: Vec<RequestId>,
}

impl MpiProgram for Lines {
    fn next(&mut self, reply: Reply<'_>) -> MpiCall {
        if let ReplyKind::Started(id) = reply.kind {
            self.requests.push(id);
        }
        match self.lines.next() {
            None => MpiCall::Call(Call::Finish),
            Some(Line::Compute(time)) => MpiCall::Call(Call::Compute(ns(time))),
            Some(Line::Collective(call)) => MpiCall::Collective(call),
            Some(Line::Begin(call)) => MpiCall::StartCollective(call),
            Some(Line::Wait(index)) => {
                MpiCall::Call(Call::WaitAll(std::iter::once(self.requests.remove(index)).collect()))
            }
            Some(Line::WaitAll) => MpiCall::Call(Call::WaitAll(self.requests.drain(..).collect())),
        }
    }
}

impl Describe for Lines {}

/// Returns the collective call of rank `rank` of `size` ranks on the world communicator with root 0.
pub fn part(collective: Collective, rank: Rank, size: u32, sizes: Sizes) -> CollectiveCall {
    let comm = CommMember::new(0, rank, Group::Strided { first: 0, stride: 1, size });
    CollectiveCall { collective, comm, root: 0, sizes, algorithm: None }
}

/// Returns the collective call of [`part`] with the algorithm `algorithm`.
pub fn part_by(algorithm: Algorithm, collective: Collective, rank: Rank, size: u32, sizes: Sizes) -> CollectiveCall {
    CollectiveCall { algorithm: Some(algorithm), ..part(collective, rank, size, sizes) }
}

/// Returns buffer sizes that are equal for all ranks.
pub fn same(size: u64) -> Sizes {
    Sizes::Same(Bytes::new(size))
}

/// Returns one buffer size for each rank.
pub fn each(sizes: &[u64]) -> Sizes {
    Sizes::Each(sizes.iter().copied().map(Bytes::new).collect())
}

/// Simulates one test program per rank on `platform`, whose cores have a memory bandwidth of 1 GB/s each.
pub fn run_lines(platform: &Platform, programs: &[Vec<Line>], workers: u32) -> Result<Outcome, RunError> {
    let sites = Placement::Block.sites(platform.shape, programs.len() as u32, true).unwrap();
    let options = RunOptions { workers: Some(workers), ..RunOptions::default() };
    let shared = Arc::new(platform.clone());
    let make = |rank: Rank| driver(&shared, &programs[rank as usize]);
    Simulation::new(platform, sites, options, Labels::default()).run(make, &Progress::default())
}

/// Returns a simulated rank that executes the steps `lines` on `platform`. The core of the rank has a memory bandwidth
/// of 1 GB/s and all of the caches.
fn driver(platform: &Arc<Platform>, lines: &[Line]) -> impl Program {
    let lines = Lines { lines: Vec::from(lines).into_iter(), requests: Vec::new() };
    let cache = platform.core.in_cache.map_or(0.0, |rates| rates.size.get() as f64);
    MpiDriver::new(lines, platform.clone(), MemoryPart { bandwidth: 1e9, cache })
}

/// Returns the trace that the run of [`run_lines`] records.
///
/// # Panics
/// The function panics if the run fails.
pub fn record_lines(platform: &Platform, programs: &[Vec<Line>]) -> Vec<u8> {
    let sites = Placement::Block.sites(platform.shape, programs.len() as u32, false).unwrap();
    let recording = Arc::new(Recording::new(programs.len() as u32));
    let shared = Arc::new(platform.clone());
    let make = |rank: Rank| recording.wrap(rank, driver(&shared, &programs[rank as usize]));
    let simulation = Simulation::new(platform, sites, RunOptions::default(), Labels::default());
    simulation.run(make, &Progress::default()).expect("the programs run to their end");
    recording.finish(&Header { app: "lines".to_owned(), ..Header::default() }).expect("it can be recorded")
}

/// Returns the final clocks of the ranks in nanoseconds. Asserts that the clocks are equal for one and two worker
/// threads.
///
/// # Panics
/// The function panics if the run fails.
pub fn line_clocks(platform: &Platform, programs: &[Vec<Line>]) -> Vec<u64> {
    let clocks = |workers| {
        let outcome = run_lines(platform, programs, workers).expect("the programs run to their end");
        outcome.per_rank.iter().map(|rank| rank.clock.as_ps() / 1000).collect::<Vec<_>>()
    };
    let alone = clocks(1);
    assert_eq!(alone, clocks(2), "one and two workers");
    alone
}
