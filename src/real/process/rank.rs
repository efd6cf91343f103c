//! A rank from the view of its code: clock, timer and calls to the engine.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::ffi::c_char;
use std::ops::Deref;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::clib::Variables;
use super::crash::{self, CrashContext, FaultInCall, RemoteAccess};
use super::job::{ComputeMode, Job, JobProgram};
use super::polling::Polls;
use super::timer::Timer;
use crate::loader::{self, Instance, InstanceId, SavedRuntime};
use mcpsim_core::rank::{Call, Called, FailureKind, FiberHandle, Message, ProgramError, Rank, Served};
use mcpsim_core::units::{Bytes, SimSpan, SimTime};

/// Stage of a rank between its start and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankStage {
    /// Before MPI_Init.
    Started,
    /// Between MPI_Init and MPI_Finalize.
    Initialised,
    /// After MPI_Finalize.
    Finalised,
}

/// A rank.
///
/// All fields are cells: while an MPI function of the rank waits, its strands run and change the same objects. No
/// borrow may be held across [`Process::call`] or a call of the program's functions.
///
/// Fields used by every call are first. Ranks alternate so often that their data is rarely in the host's inner caches.
#[repr(C, align(64))]
pub struct Process {
    /// Fiber handle of the current task.
    pub(super) handle: Cell<*const FiberHandle<'static>>,
    /// Clock of the current task at its last reply.
    pub clock: Cell<SimTime>,
    /// State shared by all ranks.
    pub job: Arc<Job>,
    /// The rank's copy of the program.
    pub instance_id: Cell<Option<InstanceId>>,
    /// The MPI function called last.
    pub function: Cell<&'static str>,
    /// Rank in MPI_COMM_WORLD.
    pub rank: Rank,
    /// Consecutive failed polls without another call between them.
    pub(super) polls: Cell<Polls>,
    /// Stage between start and end.
    pub stage: Cell<RankStage>,
    /// Time to charge in addition to the timer's measurement.
    charged: Cell<SimSpan>,
    /// Cost of the local execution block before the last call.
    pub(super) block: Cell<SimSpan>,
    /// Timer of the rank's code.
    pub timer: Timer,
    /// Position of the running MPI function, or zeros outside MPI functions.
    pub here: Cell<[usize; 3]>,
    /// Callee-saved registers at the call of the MPI function, in builds without optimisation.
    pub came_with: Cell<[usize; 5]>,
    /// Total cost of local execution blocks.
    computed: Cell<SimSpan>,

    /// Code and data of the program; `None` before the start.
    pub instance: RefCell<Option<Instance>>,
    /// Per-rank state of the OpenMP runtime, for programs that use it.
    pub runtime: Option<SavedRuntime>,
    /// The rank's variables of the C library.
    pub variables: Variables,
    /// Crash context of the current code.
    pub ground: RefCell<Option<CrashContext>>,
    /// Idle time without effect after which the rank continued by itself.
    pub in_vain: Cell<SimSpan>,
    /// Set once the rank has crashed.
    pub crashing: Cell<bool>,
    /// The last fault within an MPI function for which a handler of the rank was called.
    pub faulted: Cell<Option<FaultInCall>>,
    /// The access of another rank to the rank's memory that is served now, or was served last.
    pub remote: Cell<Option<RemoteAccess>>,
    /// Call counts.
    pub counts: CallCounts,
    /// True if collectives are recorded as calls.
    pub tells_collectives: Cell<bool>,
    /// Recorded collective that the current task enters next.
    pub called: RefCell<Option<Called>>,
}

/// Call counts of a rank for profiles.
#[derive(Debug, Default)]
pub struct CallCounts {
    /// True if calls are counted by function.
    pub is_wanted: Cell<bool>,
    /// True if calls are also counted by position in the program.
    pub by_place: Cell<bool>,
    /// True if MPI_Pcontrol has disabled the profile.
    pub is_off: Cell<bool>,
    /// Number of all calls.
    pub entries: Cell<u64>,
    /// Number of profiled calls, by function.
    pub made: RefCell<FxHashMap<&'static str, u64>>,
}

impl CallCounts {
    /// Counts a call of the function `name`.
    #[inline]
    pub fn enter(&self, name: &'static str) {
        self.entries.set(self.entries.get() + 1);
        if self.is_wanted.get() && !self.is_off.get() {
            *self.made.borrow_mut().entry(name).or_default() += 1;
        }
    }
}

/// Cost of a clock query if code is not measured.
const CLOCK_COST: SimSpan = SimSpan::from_ns(20);

/// A rank with the state of its MPI interface.
///
/// # Safety
/// The type is `repr(C)` and its first field is its [`Process`], so a pointer to one is a pointer to the other.
pub unsafe trait Interface: Deref<Target = Process> + 'static {
    /// Wraps a rank before its start.
    fn new(process: Process) -> Self;

    /// Serves a message in place of the rank's code.
    fn serve(&self, message: Served, answers: &mut Vec<Message>);

    /// Ends the rank's code and returns whether its stack must be kept.
    fn ended(&self) -> ProgramMemory;
}

/// Use of a rank's stack after the end of its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramMemory {
    /// The stack is unused.
    Free,
    /// Active collectives or one-sided operations of other ranks may use the stack until the run ends.
    Needed,
}

thread_local! {
    /// The rank whose code runs on this thread.
    static CURRENT: Cell<*const Process> = const { Cell::new(std::ptr::null()) };
}

/// Returns the rank whose code runs on this thread. The reference is valid while the rank's code runs: the caller is on
/// the rank's stack, which ends before the rank.
#[inline]
pub fn current<'a>() -> Option<&'a Process> {
    // SAFETY: the pointer is set only while the rank's code runs, and the rank outlives its code.
    unsafe { CURRENT.get().as_ref() }
}

/// Variant of [`current`] that returns the interface `I`.
///
/// # Safety
/// Every value passed to [`run_as`] on this thread was an `I`.
#[inline]
pub unsafe fn current_as<'a, I: Interface>() -> Option<&'a I> {
    // SAFETY: the pointer was derived from an `I`, whose first field is the process, and the rank outlives its code.
    unsafe { CURRENT.get().cast::<I>().as_ref() }
}

/// Makes `process` the current rank of this thread.
#[inline]
pub fn run_as<I: Interface>(process: &I) {
    CURRENT.set(std::ptr::from_ref(process).cast());
    loader::set_main(process.instance_id.get());
}

/// Removes the current rank of this thread.
#[inline]
pub fn run_as_nobody() {
    CURRENT.set(std::ptr::null());
}

impl Process {
    /// Creates a rank before its start.
    pub fn new(job: Arc<Job>, rank: Rank) -> Self {
        Process {
            rank,
            stage: Cell::new(RankStage::Started),
            timer: Timer::new(job.options.clock, job.timer_overhead),
            clock: Cell::new(SimTime::ZERO),
            handle: Cell::new(std::ptr::null()),
            charged: Cell::new(SimSpan::ZERO),
            function: Cell::new(""),
            polls: Cell::default(),
            block: Cell::new(SimSpan::ZERO),
            instance: RefCell::default(),
            instance_id: Cell::new(None),
            variables: Variables::default(),
            ground: RefCell::default(),
            runtime: job.programs[0].image.runtime(),
            in_vain: Cell::default(),
            crashing: Cell::new(false),
            faulted: Cell::new(None),
            remote: Cell::new(None),
            counts: CallCounts::default(),
            tells_collectives: Cell::new(false),
            called: RefCell::default(),
            here: Cell::new([0; 3]),
            came_with: Cell::new([0; 5]),
            computed: Cell::new(SimSpan::ZERO),
            job,
        }
    }

    /// Returns the program of the rank.
    pub fn program(&self) -> &JobProgram {
        &self.job.programs[self.job.program_number(self.rank)]
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> u32 {
        self.job.size()
    }

    /// Sets the fiber handle of the current task and returns the previous handle.
    pub fn set_handle(&self, handle: *const FiberHandle<'static>) -> *const FiberHandle<'static> {
        self.handle.replace(handle)
    }

    /// Marks that the rank's code reads or changes its floating-point environment.
    pub fn keep_floats(&self) {
        self.out().keep_floats();
    }

    /// Returns true if [`Process::keep_floats`] was called for the current task.
    pub fn keeps_floats(&self) -> bool {
        self.out().keeps_floats()
    }

    fn out(&self) -> &FiberHandle<'static> {
        // SAFETY: the handle belongs to the fiber that runs this code, so it is alive.
        unsafe { &*self.handle.get() }
    }

    /// Stops the timer at the start of an MPI function. The function may copy data before its call, and this time is
    /// not part of the program's own time.
    #[inline]
    pub fn pause_timer(&self) {
        if self.job.options.compute == ComputeMode::Measure {
            self.timer.stop();
        }
    }

    /// Stops the timer at the end of a local execution block.
    #[inline]
    pub(super) fn stop_timer(&self) {
        match self.job.options.compute {
            ComputeMode::Measure => self.timer.stop(),
            ComputeMode::Skip => {}
            ComputeMode::Fixed(span) => {
                if self.timer.take_running() {
                    self.charge(span);
                }
            }
        }
    }

    /// Starts the timer when the rank's own code continues.
    #[inline]
    pub fn start_timer(&self) {
        match self.job.options.compute {
            ComputeMode::Measure => self.timer.start(),
            ComputeMode::Skip => {}
            ComputeMode::Fixed(_) => self.timer.set_running(),
        }
    }

    /// Charges target time to the rank's clock in addition to the measurement.
    pub fn charge(&self, span: SimSpan) {
        self.charged.set(self.charged.get() + span);
    }

    /// Returns the call for a local execution block with cost `charge`. It is a block of code if code is timed.
    #[inline]
    pub fn charged_block(&self, charge: SimSpan) -> Call {
        match self.job.options.compute {
            ComputeMode::Measure => Call::Code(charge),
            ComputeMode::Skip | ComputeMode::Fixed(_) => Call::Compute(charge),
        }
    }

    /// Returns the cost of local execution blocks since the last call of this function.
    #[inline]
    pub fn take_charge(&self) -> SimSpan {
        let measured = self.timer.take();
        let charged = self.charged.replace(SimSpan::ZERO);
        let block = if measured == 0 { charged } else { charged + self.job.scaled(self.rank, measured) };
        self.block.set(block);
        self.computed.set(self.computed.get() + block);
        block
    }

    /// Returns the virtual time of the rank within a local execution block.
    pub fn now(&self) -> SimTime {
        self.ask_for_clock();
        self.reached()
    }

    /// Variant of [`Process::now`] that ignores run-ahead: the actual time of a rank that runs ahead may be later.
    pub fn reached(&self) -> SimTime {
        self.clock.get() + self.block_so_far()
    }

    /// Charges the block so far and waits until virtual time reaches its end. Replies to a rank that runs ahead do not
    /// contain its clock. Other ranks also wait, so that blocks end at the same positions in all runs.
    fn ask_for_clock(&self) {
        let running = self.job.options.compute == ComputeMode::Measure && self.timer.is_running();
        if running {
            self.timer.stop();
        }
        self.charged_handle().call(Call::Compute(SimSpan::ZERO), |reply| self.clock.set(reply.clock));
        if running {
            self.timer.start();
        }
    }

    /// Returns the cost of the current local execution block.
    fn block_so_far(&self) -> SimSpan {
        let running = match self.job.options.compute {
            ComputeMode::Measure => self.job.scaled(self.rank, self.timer.peek()),
            ComputeMode::Skip | ComputeMode::Fixed(_) => SimSpan::ZERO,
        };
        self.charged.get() + running
    }

    /// Returns the cost of the rank's own code until now.
    pub fn computed(&self) -> SimSpan {
        self.computed.get() + self.block_so_far()
    }

    /// Charges a failed poll for a condition that only the rank itself can change.
    pub fn failed_poll(&self) {
        self.charge(self.job.platform.core.poll);
    }

    /// Charges a clock query. Without a cost, a rank that waits for a point in time would never finish.
    pub fn look_at_clock(&self) {
        if self.job.options.compute != ComputeMode::Measure {
            self.charge(CLOCK_COST);
        }
    }

    /// Exchanges per-thread library state when the rank's code starts or stops on this thread.
    #[inline(always)]
    pub fn swap_runtime(&self) {
        self.variables.swap();
        if let Some(kept) = &self.runtime {
            kept.swap();
        }
    }

    /// Advances virtual time by `span`, as a sleep does.
    pub fn pass(&self, span: SimSpan) {
        self.call_done(Call::Compute(span));
    }

    /// Ends the rank and the run with an error.
    pub fn fail(&self, kind: FailureKind, what: String) -> ! {
        self.fail_at(self.position().unwrap_or_default(), kind, what)
    }

    /// Variant of [`Process::fail`] outside MPI functions.
    pub fn fail_at(&self, place: String, kind: FailureKind, what: String) -> ! {
        self.call_done(Call::Fail(Box::new(ProgramError { kind, place, what })));
        unreachable!("a failed rank does not go on")
    }

    /// Returns the name of the rank's node.
    pub fn node_name(&self) -> String {
        format!("node{}", self.job.sites[self.rank as usize].node)
    }

    /// Returns the virtual time for programs. Each query has a cost, so that a loop that waits for a point in time
    /// ends.
    pub fn wtime(&self) -> SimTime {
        self.look_at_clock();
        self.now()
    }

    /// Returns the stack of the rank's running code, or an empty range.
    pub fn stack(&self) -> std::ops::Range<usize> {
        self.ground.borrow().as_ref().map_or(0..0, CrashContext::stack)
    }

    /// Returns true if an MPI function of the rank is running.
    pub fn in_call(&self) -> bool {
        self.here.get() != [0; 3]
    }

    /// Returns the position of the MPI function that calls the function that has just started. The position is `outer`
    /// unless a fault handler has jumped out of that function.
    #[cold]
    pub fn still_running(&self, outer: [usize; 3]) -> [usize; 3] {
        let faulted = self.faulted.get().is_some_and(|fault| fault.here == outer);
        let [[_, now, _], [_, then, _]] = [self.here.get(), outer];
        if !faulted || now < then || !self.stack().contains(&now) {
            return outer;
        }
        self.faulted.set(None);
        [0; 3]
    }

    /// Returns the number of the program position that called the running MPI function, see [`Job::call_place_name`].
    pub fn call_place(&self) -> Option<u32> {
        let code = self.in_call().then(|| crash::calling_code(self, self.here.get(), &self.stack())).flatten();
        code.map(|(module, offset)| self.job.call_place(module, offset))
    }

    /// Returns the last known position of the rank for reports: "MPI_Recv at ring.c:42" with debug information.
    pub fn position(&self) -> Option<String> {
        let function = self.function.get();
        let called = || crash::caller(self, self.here.get(), &self.stack());
        match self.in_call().then(called).flatten() {
            _ if function.is_empty() => None,
            Some(line) => Some(format!("{function} at {line}")),
            None => Some(function.to_owned()),
        }
    }
}

/// Converts text from C.
///
/// # Safety
/// `text` is null or points to a string with a final zero.
pub unsafe fn text<'a>(text: *const c_char) -> Option<std::borrow::Cow<'a, str>> {
    // SAFETY: `text` is not null, so it is a string with a final zero by the contract of this function.
    (!text.is_null()).then(|| unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy())
}

/// Writes a string with a final zero to a C buffer of `room` bytes, truncated if necessary. Returns its length.
///
/// # Safety
/// `buffer` has room for `room` bytes, and `room` is not 0.
pub unsafe fn put_text(buffer: *mut c_char, room: usize, text: &str) -> usize {
    let length = text.len().min(room.saturating_sub(1));
    // SAFETY: `length + 1` is at most `room`, which is the size of the buffer by the contract of this function.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), length);
        *buffer.add(length) = 0;
    }
    length
}

/// Converts a length in memory to [`Bytes`].
pub fn bytes(length: usize) -> Bytes {
    Bytes::new(length as u64)
}
