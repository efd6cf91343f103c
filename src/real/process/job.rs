//! State that all ranks of a run share: programs, platform, timing options and output.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CString, c_int};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use serde::{Deserialize, Serialize};

use crate::loader::{Image, PROGRAM_MODULES};
use crate::process::checks::CollectiveChecks;
use crate::process::clib::{self, Futexes, ProcessNumbers};
use crate::process::folded::{self, ShareMemory};
use crate::process::heap;
use crate::process::kernels::KernelTable;
use crate::process::launched::{places_in_nodes, without_launcher};
use crate::process::sample::Sampled;
use crate::process::timer;
use mcpsim_core::engine::{FoldedUse, KernelCalls, Mistake, PathTimes};
use mcpsim_core::mpi::DataCost;
use mcpsim_core::platform::{MemoryPart, Platform, Site};
use mcpsim_core::rank::Rank;
use mcpsim_core::units::{Bytes, SimSpan};

/// Host clock that measures local execution blocks of ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostClock {
    /// CPU time of the rank's host thread, which does not include time of other host processes.
    #[default]
    Cpu,
    /// Wall-clock time, for programs with threads.
    Wall,
}

/// Method that determines the cost of local execution blocks of ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ComputeMode {
    /// Time measured on the host, multiplied by the platform's scale factor.
    #[default]
    Measure,
    /// Local execution blocks have no cost.
    Skip,
    /// Every local execution block has the cost in the field.
    Fixed(SimSpan),
}

/// A standard stream of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Destination of the output that ranks print.
pub trait Output: Send + Sync {
    /// Writes the bytes `bytes` that the rank `rank` has printed. The printed bytes are whole lines, except at the
    /// end of a stream and for very long lines.
    fn write(&self, rank: Rank, stream: Stream, bytes: &[u8]);
}

/// A program of a job, with arguments, environment and number of ranks.
pub struct JobProgram {
    /// Code and data of the program; `None` for a program whose ranks are operating-system processes.
    pub image: Option<Image>,
    /// Arguments of the program (`argv`).
    pub arguments: Vec<CString>,
    /// Environment of the program (`environ`), as strings NAME=value.
    pub environment: Vec<CString>,
    /// Start directory of the program's ranks, if the directory differs from mcpsim's directory.
    pub directory: Option<CString>,
    /// Number of ranks that run the program. Ranks are assigned to programs in the order of the programs.
    pub ranks: u32,
}

/// Start conditions that all programs of a job share.
#[derive(Debug)]
pub struct Started {
    /// Simulated process identifiers (`getpid`) of the ranks.
    pub numbers: ProcessNumbers,
    /// True if simulated messages contain the identifiers of their buffers.
    pub states_buffers: bool,
    /// True if messages may refer to buffers of their senders, because one thread runs all ranks in one process.
    pub lends: bool,
    /// Rates of kernels of BLAS that the program does not execute.
    pub kernels: Option<KernelTable>,
}

/// Selects the standard-mode sends that may complete before the matching receive is posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Buffering {
    /// Sends that use the eager protocol on the platform complete before the matching receive is posted.
    #[default]
    Platform,
    /// All standard-mode sends are synchronous.
    None,
}

/// Execution of ranks on the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RanksAs {
    /// Programs of `mcpsim cc` run as fibers, and all other programs run as processes.
    #[default]
    Auto,
    /// Ranks are fibers in the simulator's process.
    Fiber,
    /// Each rank is a process of its own.
    Process,
}

/// Start of ranks that are processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartMethod {
    /// By `fork` if this is safe, otherwise by `exec`.
    #[default]
    Auto,
    /// One process forks the processes of the ranks in MPI_Init.
    Fork,
    /// The system starts the program once per rank.
    Exec,
}

/// Optional checks for mistakes of programs. Checks that cost no time are always active.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checks {
    /// Reports MPI objects that the program has not freed.
    pub leaks: bool,
    /// Reports arguments of collectives and datatypes of messages that differ between ranks.
    pub calls: bool,
    /// Reports writes outside the bounds of heap blocks and writes to freed blocks.
    pub heap: bool,
}

/// Options for runs of compiled programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOptions {
    /// Host clock that measures local execution blocks of ranks.
    pub clock: HostClock,
    /// Method that determines the cost of local execution blocks of ranks.
    pub compute: ComputeMode,
    /// Size of the stack of each rank, in bytes.
    pub stack_size: usize,
    /// Optional checks for mistakes of programs.
    pub checks: Checks,
    /// Standard-mode sends that may complete before the matching receive is posted.
    pub buffering: Buffering,
    /// Size of the longest message whose data is copied to its receiver. Longer messages only take time.
    pub most_data: Bytes,
    /// Memory of the ranks that is folded.
    pub share_memory: ShareMemory,
    /// Libraries that all ranks share by request of the user, as prefixes of library file names.
    pub shared: Vec<String>,
    /// Execution of the ranks on the host.
    pub ranks_as: RanksAs,
    /// Start of ranks that are processes.
    pub start: StartMethod,
    /// Rank whose process waits for a debugger.
    pub debugged: Option<Rank>,
    /// Number of cores of each rank.
    pub cores_per_rank: u32,
}

impl Default for JobOptions {
    fn default() -> Self {
        JobOptions {
            clock: HostClock::default(),
            compute: ComputeMode::default(),
            stack_size: 8 << 20,
            checks: Checks::default(),
            buffering: Buffering::default(),
            most_data: Bytes::MAX,
            share_memory: ShareMemory::default(),
            shared: Vec::new(),
            ranks_as: RanksAs::default(),
            start: StartMethod::default(),
            debugged: None,
            cores_per_rank: 1,
        }
    }
}

/// State that all ranks of a run share.
pub struct Job {
    /// Programs in the order of their ranks. The list of programs is never empty.
    pub programs: Vec<JobProgram>,
    /// Model of the simulated target machine.
    pub platform: Arc<Platform>,
    /// Location of each rank on the simulated target machine.
    pub sites: Vec<Site>,
    /// For each rank, the rank's index among the ranks of its node, and the number of ranks of that node.
    pub places_in_nodes: Vec<(u32, u32)>,
    /// Number of nodes up to the last node that has a rank.
    pub nodes: u32,
    /// Simulated process identifiers (`getpid`) of the ranks.
    pub numbers: ProcessNumbers,
    /// True if simulated messages contain the identifiers of their buffers.
    pub states_buffers: bool,
    /// True if messages may refer to buffers of their senders, because one thread runs all ranks in one process.
    pub lends: bool,
    /// Rates of kernels of BLAS that the program does not execute.
    pub kernels: Option<KernelTable>,
    /// Options of the run for compiled programs.
    pub options: JobOptions,
    /// Destination of the output that ranks print.
    pub output: Box<dyn Output>,
    /// Time in ns that starting and stopping the timer adds to a measurement.
    pub timer_overhead: u64,
    /// Ratio of time on the simulated target machine to host time, for each rank.
    factors: Vec<f64>,
    costs: Vec<DataCost>,
    endings: Mutex<Endings>,
    /// Cache of source positions, by module identifier and address in the module's file.
    places: Mutex<HashMap<(usize, usize), String>>,
    /// Identifiers of the code positions that call MPI functions, if the profile counts calls by position. Keys are
    /// the module identifier and the address in the module's file.
    call_places: Mutex<HashMap<(usize, usize), u32>>,
    /// Sampled blocks whose measured executions all ranks share, by position in the program.
    pub samples: Mutex<HashMap<(usize, usize), Sampled>>,
    /// Ranks that wait for changes of futex words.
    pub futexes: Futexes,
    /// MPI collectives that some ranks have not called yet, for the comparison of arguments.
    pub collectives: CollectiveChecks,
}

/// Upper bound of communicator identifiers. Each communicator uses two 32-bit message contexts.
pub const MOST_COMMS: u32 = u32::MAX / 4;

/// Results of a run that are known after the ranks have ended.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Endings {
    /// Ranks that ended with an exit code other than 0, with the exit code.
    pub codes: Vec<(Rank, i32)>,
    /// Mistakes of the ranks in MPI calls.
    pub mistakes: Vec<Mistake>,
    /// Ranks that ended after MPI_Init without a call of MPI_Finalize.
    pub unfinalised: Vec<Rank>,
    /// Ranks that idled because idle detection found a polling loop, and then left the loop without a change of state
    /// by another rank. Each element contains the rank and the idle time.
    pub in_vain: Vec<(Rank, SimSpan)>,
    /// Longest measured block of a rank before a thread ended waits of other threads by futex, with the rank.
    pub early_wakes: Option<(SimSpan, Rank)>,
    /// Files of libraries that all ranks share.
    pub shared: Vec<String>,
    /// Number of heap allocations for which no guard page was available.
    pub unguarded: u64,
    /// Memory of the ranks that was folded.
    pub folded: Option<FoldedUse>,
    /// Calls of modelled kernels, by the name of the kernel.
    pub kernels: BTreeMap<String, KernelCalls>,
    /// Times of the call paths of the program's own functions, over all ranks.
    pub paths: BTreeMap<String, PathTimes>,
}

impl Endings {
    /// Merges the results of several host processes, in rank order.
    pub fn merge(parts: Vec<Endings>) -> Endings {
        let mut all = Endings::default();
        for part in parts {
            all.codes.extend(part.codes);
            all.mistakes.extend(part.mistakes);
            all.unfinalised.extend(part.unfinalised);
            all.in_vain.extend(part.in_vain);
            all.early_wakes = all.early_wakes.max(part.early_wakes);
            all.shared.extend(part.shared);
            all.unguarded += part.unguarded;
            part.kernels.into_iter().for_each(|(kernel, calls)| *all.kernels.entry(kernel).or_default() += calls);
            all.folded = match (all.folded, part.folded) {
                (Some(one), Some(other)) => Some(one.plus(other)),
                (one, other) => one.or(other),
            };
            part.paths.into_iter().for_each(|(path, times)| *all.paths.entry(path).or_default() += times);
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
    /// Creates a job of `programs` with one rank on each of `sites`. The other arguments contain the ranks' shares of
    /// memory and caches.
    pub fn new(
        mut programs: Vec<JobProgram>,
        platform: Arc<Platform>,
        sites: Vec<Site>,
        memory: impl Fn(Rank) -> MemoryPart,
        Started { numbers, states_buffers, lends, kernels }: Started,
        options: JobOptions,
        output: Box<dyn Output>,
    ) -> Self {
        let factors = platform.code_factors(&sites);
        let costs = (0..sites.len() as Rank).map(|rank| DataCost::of_machine(&platform, memory(rank))).collect();
        clib::raise_limits();
        clib::protect_open();
        let timer_overhead = timer::overhead();
        if options.checks.heap {
            heap::begin();
        }
        folded::begin(options.share_memory);
        let endings = Mutex::default();
        let places_in_nodes = places_in_nodes(sites.iter().map(|site| site.node));
        let nodes = sites.iter().map(|site| site.node + 1).max().unwrap_or(1);
        programs.iter_mut().for_each(|program| without_launcher(&mut program.environment));
        Job {
            places_in_nodes,
            nodes,
            programs,
            platform,
            sites,
            numbers,
            states_buffers,
            // The checks compare signatures that follow the data, and guard freed memory.
            lends: lends && !options.checks.calls && !options.checks.heap,
            kernels,
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

    /// Converts `ns` nanoseconds of host time of the code of `rank` to time on the target machine (the paper's eq.
    /// 1).
    pub fn scaled(&self, rank: Rank, ns: u64) -> SimSpan {
        let ps = ns as f64 * 1e3 * self.factor(rank);
        SimSpan::from_ps(ps.round() as u64)
    }

    /// Returns the ratio of time on the target machine to host time for the code of `rank`.
    pub fn factor(&self, rank: Rank) -> f64 {
        self.factors[rank as usize]
    }

    /// Returns the cost model of reductions and copies for `rank`.
    pub fn cost(&self, rank: Rank) -> DataCost {
        self.costs[rank as usize]
    }

    /// Returns the index in [`Job::programs`] of the program that `rank` runs.
    pub fn program_number(&self, rank: Rank) -> usize {
        let mut behind = 0;
        let ends = self.programs.iter().map(|program| {
            behind += program.ranks;
            behind
        });
        ends.take_while(|&end| end <= rank).count().min(self.programs.len() - 1)
    }

    /// Returns the number of ranks of the job.
    pub fn size(&self) -> u32 {
        self.sites.len() as u32
    }

    /// Stores the end of the rank `rank` with the exit code `code`. `orderly` is false if the rank has called
    /// MPI_Init but not MPI_Finalize.
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

    /// Stores the exit code `code` of the script that has started the program of the rank `rank`, unless the program
    /// itself has ended with a code other than 0.
    pub fn script_ended(&self, rank: Rank, code: i32) {
        let mut endings = self.endings.lock().expect("nothing panics with this lock held");
        if !endings.codes.iter().any(|&(other, _)| other == rank) {
            endings.codes.push((rank, code));
        }
    }

    /// Variant of [`Image::describe`] with a cache, because many ranks report the same code position.
    pub fn describe(&self, module: usize, offset: usize) -> String {
        let known = |places: &HashMap<_, String>| places.get(&(module, offset)).cloned();
        if let Some(place) = known(&self.places.lock().expect("nothing panics with this lock held")) {
            return place;
        }
        let program = self.programs.get(module / PROGRAM_MODULES).unwrap_or(&self.programs[0]);
        let place = program.image.as_ref().map_or_else(String::new, |image| image.describe(module, offset));
        let mut places = self.places.lock().expect("nothing panics with this lock held");
        places.insert((module, offset), place.clone());
        place
    }

    /// Returns the identifier of a code position that calls MPI functions. The identifier is the same for all ranks.
    pub fn call_place(&self, module: usize, offset: usize) -> u32 {
        let mut known = self.call_places.lock().expect("nothing panics with this lock held");
        let next = known.len() as u32;
        *known.entry((module, offset)).or_insert(next)
    }

    /// Returns the text of the code position with the identifier `number`: "main at ring.c:42" with debug
    /// information, "main+0x1f" without debug information.
    pub fn call_place_name(&self, number: u32) -> String {
        let known = self.call_places.lock().expect("nothing panics with this lock held");
        let found = known.iter().find(|(_, of)| **of == number).map(|(code, _)| *code);
        drop(known);
        found.map_or_else(|| number.to_string(), |(module, offset)| self.describe(module, offset))
    }

    /// Stores a mistake of a rank for the report of the run.
    pub fn add_mistake(&self, mistake: Mistake) {
        self.endings.lock().expect("nothing panics with this lock held").mistakes.push(mistake);
    }

    /// Stores that `rank` idled for a total of `time` in polling loops that it left without a change by another rank.
    pub fn idled_in_vain(&self, rank: Rank, time: SimSpan) {
        self.endings.lock().expect("nothing panics with this lock held").in_vain.push((rank, time));
    }

    /// Adds the times of call paths of a rank.
    pub fn add_paths(&self, paths: BTreeMap<String, PathTimes>) {
        self.add_endings(Endings { paths, ..Endings::default() });
    }

    /// Adds calls of modelled kernels of a rank.
    pub fn add_kernels(&self, kernels: BTreeMap<String, KernelCalls>) {
        if !kernels.is_empty() {
            self.add_endings(Endings { kernels, ..Endings::default() });
        }
    }

    /// Adds results that another process has stored for one of its ranks.
    pub fn add_endings(&self, more: Endings) {
        let mut endings = self.endings.lock().expect("nothing panics with this lock held");
        let before = std::mem::take(&mut *endings);
        *endings = Endings::merge(vec![before, more]);
    }

    /// Returns the results of the run after the ranks have ended. The lists in the results are in rank order.
    pub fn endings(&self) -> Endings {
        let endings = std::mem::take(&mut *self.endings.lock().expect("nothing panics with this lock held"));
        let compared = Endings { mistakes: self.collectives.left(), ..Endings::default() };
        let shared =
            self.programs.iter().filter_map(|program| program.image.as_ref()).flat_map(Image::shared).collect();
        let (mistakes, unguarded) = if self.options.checks.heap { heap::end(self) } else { Default::default() };
        let heap = Endings { mistakes, unguarded, folded: folded::end(), ..Endings::default() };
        Endings::merge(vec![Endings { shared, ..endings }, compared, heap])
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("ranks", &self.sites.len()).field("options", &self.options).finish_non_exhaustive()
    }
}

static LATEST: Mutex<Weak<Job>> = Mutex::new(Weak::new());

/// Stores the job whose rank starts now as the latest job.
pub(super) fn set_latest(job: &Arc<Job>) {
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    if !std::ptr::eq(latest.as_ptr(), Arc::as_ptr(job)) {
        *latest = Arc::downgrade(job);
    }
}

/// Returns the job whose rank was started last in the host process.
pub(super) fn latest() -> Option<Arc<Job>> {
    LATEST.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
}

/// Function that prints a message and ends the host process. `signal` is the signal that ended the program, or `None`
/// if the program ended without a signal.
pub type Fatal = fn(message: &str, signal: Option<c_int>) -> !;

static FATAL: OnceLock<Fatal> = OnceLock::new();

/// Sets the function that handles errors of no particular rank, such as an MPI call on a thread that runs no rank.
/// Such errors cannot be reported through a run. Only the first call in a host process has an effect.
pub fn on_fatal(fatal: Fatal) {
    let _ = FATAL.set(fatal);
}

/// Ends the host process with a message, by the function set with [`on_fatal`].
pub(crate) fn fatal(message: &str, signal: Option<c_int>) -> ! {
    match FATAL.get() {
        Some(fatal) => fatal(message, signal),
        None => panic!("{message}"),
    }
}
