//! Times of MPI collectives by algorithm, predicted with the timing methods of the OSU and Intel MPI benchmarks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::engine::{Labels, Progress, RunError, RunOptions, Simulation};
use crate::mpi::{
    CallForm, CollectiveCall, CommMember, Group, MpiCall, MpiDriver, MpiProgram, Sizes, choose, methods, rule_size,
};
use crate::platform::{
    Algorithm, Collective, CollectiveRule, CollectiveRules, Library, MemoryPart, Method, NodeMap, Platform, Site,
};
use crate::rank::{Call, Describe, Program, Reply};
use crate::units::{Bytes, SimSpan, SimTime};

/// Timing method of a benchmark of collectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Every call is timed separately and followed by a barrier, as in the OSU benchmarks and, since 2019, the Intel
    /// MPI benchmarks.
    Osu,
    /// All calls of a collective are timed together without barriers, as in the Intel MPI benchmarks before 2019.
    Imb,
}

/// Number of warm-up calls, and number of timed calls of a collective.
const WARM: u32 = 1;
const TIMED: u32 = 3;

/// Ranks of a benchmark, and the simulated machine on which they run.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// Simulated machine. The selection rules in the platform file apply only to the machine's own MPI library.
    pub platform: &'a Platform,
    /// Cores of the benchmark's ranks.
    pub sites: &'a [Site],
    /// Share of each rank in memory bandwidth and caches.
    pub memory: &'a [MemoryPart],
    /// Timing method of the benchmark.
    pub timing: Timing,
}

/// Times of an MPI collective with one message size.
#[derive(Clone, Debug, PartialEq)]
pub struct Sized {
    /// The MPI collective that is timed.
    pub collective: Collective,
    /// Size of the collective in the form that selection rules use: the total of all blocks for allgathers and
    /// reduce-scatters.
    pub size: Bytes,
    /// Bytes of the collective's buffer, or of one block.
    pub bytes: Bytes,
    /// Algorithm (with parameters) that the requested MPI library selects.
    pub own: Method,
    /// Algorithm (with parameters) that each MPI library selects.
    pub taken: Vec<(Library, Method)>,
    /// Mean time of a call for each algorithm of the requested MPI library.
    pub times: Vec<(Method, SimSpan)>,
}

impl Sized {
    /// Returns the fastest algorithm of the collective. Among equally fast algorithms, the algorithm that the MPI
    /// library selects is preferred, then the first algorithm.
    pub fn fastest(&self) -> Option<(Method, SimSpan)> {
        self.fastest_of(|_| true)
    }

    /// Returns the fastest algorithm for which `may` returns true.
    pub fn fastest_of(&self, may: impl Fn(Method) -> bool) -> Option<(Method, SimSpan)> {
        let times = self.times.iter().copied().filter(|(method, _)| may(*method));
        times.min_by_key(|(method, time)| (*time, *method != self.own))
    }

    /// Returns the time of the algorithm `method`, if it was timed.
    pub fn time(&self, method: Method) -> Option<SimSpan> {
        self.times.iter().find(|(other, _)| *other == method).map(|(_, time)| *time)
    }
}

/// A simulated rank that runs the benchmark of a collective.
struct Bench {
    call: CollectiveCall,
    barrier: CollectiveCall,
    timing: Timing,
    step: u32,
    since: SimTime,
    spent: SimSpan,
    /// Sum of the call times of all ranks, in picoseconds.
    sum: Arc<AtomicU64>,
}

impl MpiProgram for Bench {
    fn next(&mut self, reply: Reply<'_>) -> MpiCall {
        let step = self.step;
        self.step += 1;
        match self.timing {
            Timing::Osu => {
                if step % 2 == 1 {
                    if step / 2 >= WARM {
                        self.spent += reply.clock.since(self.since);
                    }
                    return MpiCall::Collective(self.barrier.clone());
                }
                self.since = reply.clock;
                if step / 2 < WARM + TIMED {
                    return MpiCall::Collective(self.call.clone());
                }
            }
            Timing::Imb => {
                match step {
                    0 => return MpiCall::Collective(self.barrier.clone()),
                    _ if step == 1 + WARM => self.since = reply.clock,
                    _ => {}
                }
                if step < 1 + WARM + TIMED {
                    return MpiCall::Collective(self.call.clone());
                }
                self.spent = reply.clock.since(self.since);
            }
        }
        self.sum.fetch_add(self.spent.as_ps(), Ordering::Relaxed);
        MpiCall::Call(Call::Finish)
    }
}

impl Describe for Bench {}

/// Returns the call of `collective` with `bytes` bytes on rank `rank` of a communicator of `ranks` ranks.
fn call(collective: Collective, bytes: Bytes, ranks: u32, rank: u32) -> CollectiveCall {
    let comm = CommMember::new(0, rank, Group::Strided { first: 0, stride: 1, size: ranks });
    CollectiveCall { collective, comm, root: 0, sizes: Sizes::Same(bytes), algorithm: None }
}

/// Returns the mean time of a collective call over all ranks.
///
/// # Errors
/// The simulation run of the benchmark fails.
pub fn time(
    field: Field<'_>,
    library: Library,
    collective: Collective,
    bytes: Bytes,
    method: Option<Method>,
) -> Result<SimSpan, RunError> {
    let Field { platform, sites, memory, timing } = field;
    let ranks = sites.len() as u32;
    let mut platform = platform.clone();
    platform.collectives = rules_of(&platform, library);
    platform.spread_ranks(sites);
    if let Some(method) = method {
        platform.collectives.set(collective, vec![CollectiveRule::always(method)]);
    }
    let platform = Arc::new(platform);
    let sum = Arc::new(AtomicU64::new(0));
    let make = |rank: u32| -> Box<dyn Program> {
        let bench = Bench {
            call: call(collective, bytes, ranks, rank),
            barrier: call(Collective::Barrier, Bytes::ZERO, ranks, rank),
            timing,
            step: 0,
            since: SimTime::ZERO,
            spent: SimSpan::ZERO,
            sum: sum.clone(),
        };
        Box::new(MpiDriver::new(bench, platform.clone(), memory[rank as usize]))
    };
    let options = RunOptions { workers: Some(1), ..RunOptions::default() };
    Simulation::new(&platform, sites.to_vec(), options, Labels::default()).run_boxed(&make, &Progress::default())?;
    Ok(SimSpan::from_ps(sum.load(Ordering::Relaxed) / u64::from(ranks * TIMED)))
}

/// Returns the selection rules of `library` on `platform`. Rules in the platform file apply only to the platform's own
/// MPI library. The costs of blocks are those of the platform.
fn rules_of(platform: &Platform, library: Library) -> CollectiveRules {
    match library == platform.collectives.library {
        true => platform.collectives.clone(),
        false => {
            let mut rules = CollectiveRules::with_library(library);
            rules.block_overhead = platform.collectives.block_overhead;
            rules.datatype_overhead = platform.collectives.datatype_overhead;
            rules
        }
    }
}

/// Returns the algorithm that `library` selects for a collective of all ranks in `field`. Reduction operators count as
/// commutative, as in described applications.
///
/// # Errors
/// A selection rule selects an algorithm that cannot execute the collective call.
pub fn taken(
    field: Field<'_>,
    library: Library,
    (collective, bytes, ranks): (Collective, Bytes, u32),
) -> Result<Method, String> {
    let mut rules = rules_of(field.platform, library);
    rules.nodes = Some(Arc::new(NodeMap::from_sites(field.sites)));
    let element = match collective {
        Collective::Reduce | Collective::Allreduce | Collective::Scan | Collective::Exscan => 8,
        Collective::ReduceScatter => 8,
        _ => 1,
    };
    let call = call(collective, bytes, ranks, 0);
    choose((&call, CallForm::Blocking), &rules, false, element).map(|choice| choice.method)
}

/// Returns the algorithms of `library` for a collective of this size and number of ranks, without duplicates, and the
/// algorithm that the library selects.
pub fn to_time(
    field: Field<'_>,
    library: Library,
    (collective, bytes, ranks): (Collective, Bytes, u32),
    taken: Method,
) -> Vec<Method> {
    let nodes = field.sites.iter().any(|site| site.node != field.sites[0].node);
    let mut all = methods(library, collective, ranks, nodes);
    all.retain(|method| u64::from(method.segment) < bytes.get().max(1) || method.algorithm == Algorithm::LinearSync);
    all.push(taken);
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the size of a collective in the form that selection rules use.
pub fn size(collective: Collective, bytes: Bytes, ranks: u32) -> Bytes {
    rule_size(&call(collective, bytes, ranks, 0))
}
