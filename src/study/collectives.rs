//! How long collectives take by each algorithm, timed as the OSU and Intel benchmarks time them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::engine::{Labels, Progress, RunError, RunOptions, Simulation};
use crate::mpi::{
    CallForm, CollectiveCall, CommMember, Group, MpiCall, MpiDriver, MpiProgram, Sizes, choose, methods, rule_size,
};
use crate::platform::{
    Algorithm, Collective, CollectiveRule, CollectiveRules, Library, MemoryPart, Method, NodeMap, Platform, Site,
};
use crate::rank::{Call, Program, Reply};
use crate::units::{Bytes, SimSpan, SimTime};

/// How calls are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Each call between two looks at the clock, a barrier after it, as OSU's benchmarks do, and Intel's since 2019.
    Osu,
    /// All calls together, one right after the other, as Intel's did before 2019.
    Imb,
}

/// Calls that are not timed, and those that are.
const WARM: u32 = 1;
const TIMED: u32 = 3;

/// The ranks on their machine.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// The machine. Its rules hold for its own library.
    pub platform: &'a Platform,
    /// Where the ranks are.
    pub sites: &'a [Site],
    /// What each rank has of memory and caches.
    pub memory: &'a [MemoryPart],
    /// How calls are timed.
    pub timing: Timing,
}

/// A collective of one size.
#[derive(Clone, Debug, PartialEq)]
pub struct Sized {
    /// Which.
    pub collective: Collective,
    /// Its size as rules go by it: of allgathers and reduce-scatters all blocks together.
    pub size: Bytes,
    /// The buffer, or a block.
    pub bytes: Bytes,
    /// What the library asked about takes.
    pub own: Method,
    /// What each library takes.
    pub taken: Vec<(Library, Method)>,
    /// Mean time of a call by the methods of the library asked about.
    pub times: Vec<(Method, SimSpan)>,
}

impl Sized {
    /// The fastest method; of equals the library's own, else the first.
    pub fn fastest(&self) -> Option<(Method, SimSpan)> {
        self.fastest_of(|_| true)
    }

    /// The same of those that `may` is true of.
    pub fn fastest_of(&self, may: impl Fn(Method) -> bool) -> Option<(Method, SimSpan)> {
        let times = self.times.iter().copied().filter(|(method, _)| may(*method));
        times.min_by_key(|(method, time)| (*time, *method != self.own))
    }

    /// The time of `method`, if it was timed.
    pub fn time(&self, method: Method) -> Option<SimSpan> {
        self.times.iter().find(|(other, _)| *other == method).map(|(_, time)| *time)
    }
}

/// A rank of the benchmark.
struct Bench {
    call: CollectiveCall,
    barrier: CollectiveCall,
    timing: Timing,
    step: u32,
    since: SimTime,
    spent: SimSpan,
    /// Picoseconds of all ranks together.
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

/// The call that `collective` of `bytes` is for member `rank` of the world of `ranks`.
fn call(collective: Collective, bytes: Bytes, ranks: u32, rank: u32) -> CollectiveCall {
    let comm = CommMember::new(0, rank, Group::Strided { first: 0, stride: 1, size: ranks });
    CollectiveCall { collective, comm, root: 0, sizes: Sizes::Same(bytes), algorithm: None }
}

/// The mean time of a call over all ranks.
///
/// # Errors
/// Why the run failed.
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

/// The rules by which `library` chooses on `platform`: those that are stated are for the platform's own library. What a
/// block costs is the machine's.
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

/// What `library` takes for the whole world in `field`; of described programs, so operators commute.
///
/// # Errors
/// A rule asks for what cannot be done.
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

/// Which methods of `library` there are to time for a collective of so many bytes and ranks, and the one that is taken:
/// each once, however it is asked for.
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

/// The size that rules go by.
pub fn size(collective: Collective, bytes: Bytes, ranks: u32) -> Bytes {
    rule_size(&call(collective, bytes, ranks, 0))
}
