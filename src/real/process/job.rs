//! What all ranks of a run share: the program, the machine, how code is timed, where output goes.

use std::collections::HashMap;
use std::ffi::{CString, c_int};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use serde::{Deserialize, Serialize};

use crate::loader::{Image, PROGRAM_MODULES};
use crate::process::checks::CollectiveChecks;
use crate::process::clib::{self, Futexes, ProcessNumbers};
use crate::process::heap;
use crate::process::launched::places_in_nodes;
use crate::process::sample::Sampled;
use crate::process::timer;
use mcpsim_core::engine::Mistake;
use mcpsim_core::mpi::DataCost;
use mcpsim_core::platform::{MemoryPart, Platform, Site};
use mcpsim_core::rank::Rank;
use mcpsim_core::units::SimSpan;

/// Which clock of the host times local execution blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostClock {
    /// The thread's CPU time: what else the host does has no influence.
    #[default]
    Cpu,
    /// Wall-clock time: for programs with threads of their own.
    Wall,
}

/// What local execution blocks cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ComputeMode {
    /// Their time on the host, times the platform's scale factor.
    #[default]
    Measure,
    /// Nothing.
    Skip,
    /// The same each.
    Fixed(SimSpan),
}

/// A standard stream of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// stdout.
    Out,
    /// stderr.
    Err,
}

/// Where what ranks print goes.
pub trait Output: Send + Sync {
    /// `bytes` of `rank`: whole lines, but for the last of a stream and for very long ones.
    fn write(&self, rank: Rank, stream: Stream, bytes: &[u8]);
}

/// A program of a job, and how its ranks start.
pub struct JobProgram {
    /// The code.
    pub image: Image,
    /// `argv`.
    pub arguments: Vec<CString>,
    /// `environ`, as NAME=value.
    pub environment: Vec<CString>,
    /// The directory in which its ranks start, if it is another than that of mcpsim.
    pub directory: Option<CString>,
    /// The number of its ranks: the first program has the first ranks.
    pub ranks: u32,
}

/// How the programs of a job are started.
#[derive(Debug)]
pub struct Started {
    /// Numbers of the ranks' processes.
    pub numbers: ProcessNumbers,
    /// Whether messages state their buffers.
    pub states_buffers: bool,
}

/// Which standard sends may complete before their receives begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Buffering {
    /// Those that the platform sends eagerly.
    #[default]
    Platform,
    /// None: all are synchronous.
    None,
}

/// Which mistakes of programs to look for, besides those that cost nothing to find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checks {
    /// Objects that were not freed.
    pub leaks: bool,
    /// Arguments of collectives and datatypes of messages that differ between ranks.
    pub calls: bool,
    /// Writes beside blocks of memory or to freed ones.
    pub heap: bool,
}

/// How real programs are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOptions {
    /// What times local execution blocks.
    pub clock: HostClock,
    /// What they cost.
    pub compute: ComputeMode,
    /// A rank's stack, bytes.
    pub stack_size: usize,
    /// Which mistakes of programs to look for.
    pub checks: Checks,
    /// Which sends are buffered.
    pub buffering: Buffering,
    /// Libraries of which all ranks share one copy: beginnings of their files' names.
    pub shared: Vec<String>,
}

impl Default for JobOptions {
    fn default() -> Self {
        JobOptions {
            clock: HostClock::default(),
            compute: ComputeMode::default(),
            stack_size: 8 << 20,
            checks: Checks::default(),
            buffering: Buffering::default(),
            shared: Vec::new(),
        }
    }
}

/// What all ranks of a run share.
pub struct Job {
    /// The programs, in the order of their ranks; at least one.
    pub programs: Vec<JobProgram>,
    /// The target machine.
    pub platform: Arc<Platform>,
    /// Where each rank is.
    pub sites: Vec<Site>,
    /// Each rank's number among those of its node, and how many these are.
    pub places_in_nodes: Vec<(u32, u32)>,
    /// Numbers of the ranks' processes.
    pub numbers: ProcessNumbers,
    /// Whether messages state their buffers.
    pub states_buffers: bool,
    /// How code is timed and run.
    pub options: JobOptions,
    /// Where output goes.
    pub output: Box<dyn Output>,
    /// What starting and stopping the timer adds to what it measures, ns.
    pub timer_overhead: u64,
    /// What each rank's code costs against the host's, by rank.
    factors: Vec<f64>,
    costs: Vec<DataCost>,
    endings: Mutex<Endings>,
    /// Places in the source that reports have named.
    places: Mutex<HashMap<(usize, usize), String>>,
    /// Numbers of the places from which MPI functions are called, where these are counted.
    call_places: Mutex<HashMap<(usize, usize), u32>>,
    /// Blocks that all ranks sample together, by their places in the program.
    pub samples: Mutex<HashMap<(usize, usize), Sampled>>,
    /// Ranks that wait at words in memory.
    pub futexes: Futexes,
    /// Collectives that are compared between ranks.
    pub collectives: CollectiveChecks,
}

/// There are less than so many communicators: each has two contexts.
pub const MOST_COMMS: u32 = u32::MAX / 4;

/// What is known of ranks after their end.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Endings {
    /// Ranks that ended with a code other than 0.
    pub codes: Vec<(Rank, i32)>,
    /// Mistakes of ranks' MPI calls.
    pub mistakes: Vec<Mistake>,
    /// Ranks that ended between MPI_Init and MPI_Finalize.
    pub unfinalised: Vec<Rank>,
    /// Ranks that idled so long in vain and then went on by themselves.
    pub in_vain: Vec<(Rank, SimSpan)>,
    /// The files of libraries that ranks had no copies of.
    pub shared: Vec<String>,
    /// The number of allocations that were to be guarded and were not.
    pub unguarded: u64,
}

impl Endings {
    /// What is known in several processes, in order of ranks.
    pub fn merge(parts: Vec<Endings>) -> Endings {
        let mut all = Endings::default();
        for part in parts {
            all.codes.extend(part.codes);
            all.mistakes.extend(part.mistakes);
            all.unfinalised.extend(part.unfinalised);
            all.in_vain.extend(part.in_vain);
            all.shared.extend(part.shared);
            all.unguarded += part.unguarded;
        }
        all.codes.sort_unstable();
        all.mistakes.sort_unstable();
        all.unfinalised.sort_unstable();
        all.in_vain.sort_unstable();
        all.shared.sort_unstable();
        all.shared.dedup();
        all
    }
}

impl Job {
    /// A run of `programs` with a rank on each of `sites`, which have these parts of memory and caches.
    pub fn new(
        programs: Vec<JobProgram>,
        platform: Arc<Platform>,
        sites: Vec<Site>,
        memory: impl Fn(Rank) -> MemoryPart,
        Started { numbers, states_buffers }: Started,
        options: JobOptions,
        output: Box<dyn Output>,
    ) -> Self {
        let factors = platform.code_factors(&sites);
        let costs = (0..sites.len() as Rank).map(|rank| DataCost::new(&platform.core, memory(rank))).collect();
        clib::raise_limits();
        clib::protect_open();
        let timer_overhead = timer::overhead();
        if options.checks.heap {
            heap::begin();
        }
        let endings = Mutex::default();
        let places_in_nodes = places_in_nodes(sites.iter().map(|site| site.node));
        Job {
            places_in_nodes,
            programs,
            platform,
            sites,
            numbers,
            states_buffers,
            options,
            output,
            timer_overhead,
            factors,
            costs,
            endings,
            places: Mutex::default(),
            call_places: Mutex::default(),
            samples: Mutex::default(),
            futexes: Futexes::default(),
            collectives: CollectiveChecks::default(),
        }
    }

    /// The target time of `ns` of host time of `rank`'s code (the paper's eq. 1).
    pub fn scaled(&self, rank: Rank, ns: u64) -> SimSpan {
        let ps = ns as f64 * 1e3 * self.factors[rank as usize];
        SimSpan::from_ps(ps.round() as u64)
    }

    /// What combining and copying data costs `rank`.
    pub fn cost(&self, rank: Rank) -> DataCost {
        self.costs[rank as usize]
    }

    /// The number of the program that `rank` runs, its place in [`Job::programs`].
    pub fn program_number(&self, rank: Rank) -> usize {
        let mut behind = 0;
        let ends = self.programs.iter().map(|program| {
            behind += program.ranks;
            behind
        });
        ends.take_while(|&end| end <= rank).count().min(self.programs.len() - 1)
    }

    /// The number of ranks.
    pub fn size(&self) -> u32 {
        self.sites.len() as u32
    }

    /// A rank has ended with `code`; whether outside of MPI_Init and MPI_Finalize.
    pub fn ended(&self, rank: Rank, code: i32, orderly: bool) {
        if code == 0 && orderly {
            return;
        }
        let mut endings = self.endings.lock().expect("nothing panics with this lock held");
        if code != 0 {
            endings.codes.push((rank, code));
        }
        if !orderly {
            endings.unfinalised.push(rank);
        }
    }

    /// As [`Image::describe`], once a place: many ranks are at the same.
    pub fn describe(&self, module: usize, offset: usize) -> String {
        let known = |places: &HashMap<_, String>| places.get(&(module, offset)).cloned();
        if let Some(place) = known(&self.places.lock().expect("nothing panics with this lock held")) {
            return place;
        }
        let program = self.programs.get(module / PROGRAM_MODULES).unwrap_or(&self.programs[0]);
        let place = program.image.describe(module, offset);
        let mut places = self.places.lock().expect("nothing panics with this lock held");
        places.insert((module, offset), place.clone());
        place
    }

    /// A number for a place in the code from which ranks call MPI functions: the same for all ranks.
    pub fn call_place(&self, module: usize, offset: usize) -> u32 {
        let mut known = self.call_places.lock().expect("nothing panics with this lock held");
        let next = known.len() as u32;
        *known.entry((module, offset)).or_insert(next)
    }

    /// Which place has number `number`: "main at ring.c:42" where there is debug information, "main+0x1f" elsewhere.
    pub fn call_place_name(&self, number: u32) -> String {
        let known = self.call_places.lock().expect("nothing panics with this lock held");
        let found = known.iter().find(|(_, of)| **of == number).map(|(code, _)| *code);
        drop(known);
        found.map_or_else(|| number.to_string(), |(module, offset)| self.describe(module, offset))
    }

    /// Records a mistake of a rank.
    pub fn add_mistake(&self, mistake: Mistake) {
        self.endings.lock().expect("nothing panics with this lock held").mistakes.push(mistake);
    }

    /// A rank has idled for `time` in all without a change, and then gone on.
    pub fn idled_in_vain(&self, rank: Rank, time: SimSpan) {
        self.endings.lock().expect("nothing panics with this lock held").in_vain.push((rank, time));
    }

    /// What is known of ranks after their end, in order of ranks.
    pub fn endings(&self) -> Endings {
        let endings = std::mem::take(&mut *self.endings.lock().expect("nothing panics with this lock held"));
        let compared = Endings { mistakes: self.collectives.left(), ..Endings::default() };
        let shared = self.programs.iter().flat_map(|program| program.image.shared()).collect();
        let (mistakes, unguarded) = if self.options.checks.heap { heap::end(self) } else { Default::default() };
        let heap = Endings { mistakes, unguarded, ..Endings::default() };
        Endings::merge(vec![Endings { shared, ..endings }, compared, heap])
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("ranks", &self.sites.len()).field("options", &self.options).finish_non_exhaustive()
    }
}

static LATEST: Mutex<Weak<Job>> = Mutex::new(Weak::new());

/// A rank of `job` starts.
pub(super) fn set_latest(job: &Arc<Job>) {
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    if !std::ptr::eq(latest.as_ptr(), Arc::as_ptr(job)) {
        *latest = Arc::downgrade(job);
    }
}

/// The job of which a rank has started last.
pub(super) fn latest() -> Option<Arc<Job>> {
    LATEST.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
}

/// Ends the process with a message; the signal, if one has ended the program.
pub type Fatal = fn(message: &str, signal: Option<c_int>) -> !;

static FATAL: OnceLock<Fatal> = OnceLock::new();

/// What to do when a program does what no rank can be blamed for in an orderly way, such as calling MPI from a thread
/// that is no rank's: there is no run it could be reported to. Once a process.
pub fn on_fatal(fatal: Fatal) {
    let _ = FATAL.set(fatal);
}

/// Ends the process.
pub(crate) fn fatal(message: &str, signal: Option<c_int>) -> ! {
    match FATAL.get() {
        Some(fatal) => fatal(message, signal),
        None => panic!("{message}"),
    }
}
