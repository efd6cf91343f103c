//! State of a rank that the rank's own code uses: clock, timer and calls to the simulation engine.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::ffi::c_char;
use std::ops::Deref;
use std::sync::Arc;

use super::call_tree::CallTree;
use super::clib::Variables;
use super::counts::CallCounts;
use super::crash::{self, CrashContext, FaultInCall, RemoteAccess};
use super::job::{ComputeMode, Job, JobProgram};
use super::polling::Polls;
use super::task::wait_for_own_time;
use super::team;
use super::timer::Timer;
use crate::loader::{self, Image, Instance, InstanceId, SavedRuntime};
use mcpsim_core::rank::{Call, Called, FailureKind, FiberHandle, Message, ProgramError, Rank, Served};
use mcpsim_core::units::{Bytes, SimSpan, SimTime};

/// Stage of a rank between its start and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankStage {
    /// The rank has not called MPI_Init.
    Started,
    /// The rank has called MPI_Init but not MPI_Finalize.
    Initialised,
    /// The rank has called MPI_Finalize.
    Finalised,
}

/// State of a rank of a compiled program for the code that runs on the rank's fibers.
///
/// Fields that change are cells, because strands of the rank run and change the same fields while an MPI function of
/// the rank waits. No borrow may be held across [`Process::call`] or across a call of a function of the program.
///
/// The fields that every MPI call uses are first and share cache lines. The order of fields matters, because ranks
/// alternate so often that a rank's data is rarely in the inner caches of the host.
#[repr(C, align(64))]
pub struct Process {
    /// Fiber handle of the current task.
    pub(super) handle: Cell<*const FiberHandle<'static>>,
    /// Virtual time of the current task at the last reply of the simulation engine.
    pub clock: Cell<SimTime>,
    /// State that all ranks of the job share.
    pub job: Arc<Job>,
    /// Identifier of the rank's instance of the program.
    pub instance_id: Cell<Option<InstanceId>>,
    /// Name of the MPI function that the rank called last.
    pub function: Cell<&'static str>,
    /// Number of the rank in MPI_COMM_WORLD.
    pub rank: Rank,
    /// Idle detection: consecutive failed polls of the rank.
    pub(super) polls: Cell<Polls>,
    /// Progress of the rank with respect to MPI_Init and MPI_Finalize.
    pub stage: Cell<RankStage>,
    /// Time on the target machine that is charged in addition to the time that the timer measured.
    charged: Cell<SimSpan>,
    /// Cost of the local execution block before the last call to the simulation engine.
    pub(super) block: Cell<SimSpan>,
    /// Timer that measures the rank's own code.
    pub timer: Timer,
    /// Instruction, stack and frame pointer in the running MPI function. The three pointers are zero outside MPI
    /// functions.
    pub here: Cell<[usize; 3]>,
    /// Callee-saved registers at the start of the running MPI function, in builds of mcpsim without optimisation.
    pub came_with: Cell<[usize; 5]>,
    /// Total cost of all local execution blocks of the rank so far.
    computed: Cell<SimSpan>,
    /// Part of `computed` that the current task has computed.
    pub(super) own_computed: Cell<SimSpan>,

    /// The rank's instance of the program. The instance is `None` before the rank starts.
    pub instance: RefCell<Option<Instance>>,
    /// Per-rank state of the OpenMP runtime, if the OpenMP runtime is loaded.
    pub runtime: Option<SavedRuntime>,
    /// Variables of the C library that exist once per rank.
    pub variables: Variables,
    /// Crash context of the fiber that runs the rank's code.
    pub ground: RefCell<Option<CrashContext>>,
    /// Address range of the stack of a rank that is an operating-system process.
    pub own_stack: Cell<(usize, usize)>,
    /// Total time that idle detection made the rank idle although the rank then left its polling loop by itself.
    pub in_vain: Cell<SimSpan>,
    /// Cores of the rank, if it has several threads with clocks of their own.
    pub(super) cores: RefCell<super::task::RankCores>,
    /// True after the rank has crashed.
    pub crashing: Cell<bool>,
    /// Last fault within an MPI function for which mcpsim called a handler of the program.
    pub faulted: Cell<Option<FaultInCall>>,
    /// Last access of another rank to the rank's memory. The remote access may still be in progress.
    pub remote: Cell<Option<RemoteAccess>>,
    /// Counts of MPI calls for profiles, and of modelled kernels.
    pub counts: CallCounts,
    /// Call paths of the program's own functions.
    pub tree: CallTree,
    /// True if each engine call of a collective names the collective, for recordings of MPI calls.
    pub tells_collectives: Cell<bool>,
    /// Collective that the current task enters with its next engine call, for recordings of MPI calls.
    pub called: RefCell<Option<Called>>,
}

/// Time on the target machine that a clock query costs if the rank's code is not measured.
const CLOCK_COST: SimSpan = SimSpan::from_ns(20);

/// A rank with the state of its MPI functions.
///
/// # Safety
/// The type is `repr(C)` and its first field is the [`Process`]. A pointer to the type is therefore also a pointer to
/// the `Process`.
pub unsafe trait Interface: Deref<Target = Process> + 'static {
    /// Adds the state of the MPI functions to a rank that has not started.
    fn new(process: Process) -> Self;

    /// Handles a message to the rank that the program does not receive, and adds replies to `answers`.
    fn serve(&self, message: Served, answers: &mut Vec<Message>);

    /// Notifies the MPI functions that the rank's code has ended. Returns whether the rank's stack must remain
    /// mapped.
    fn ended(&self) -> ProgramMemory;
}

/// Use of a rank's stack after the rank's code has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramMemory {
    /// Nothing uses the stack of the rank.
    Free,
    /// Incomplete collectives or one-sided operations of other ranks may use the rank's stack until the run ends.
    Needed,
}

thread_local! {
    /// Rank whose code runs on the current host thread, or null.
    static CURRENT: Cell<*const Process> = const { Cell::new(std::ptr::null()) };
}

/// Calls `body` with the rank whose code runs on the current host thread. Returns `None` if the thread runs no rank.
///
/// The reference that `body` receives cannot outlive the rank, unlike the result of [`current`].
#[inline]
pub fn with_current<T>(body: impl FnOnce(&Process) -> T) -> Option<T> {
    current().map(body)
}

/// Returns the rank whose code runs on the current host thread. The reference is valid while the rank's code runs,
/// because the caller runs on the rank's stack and the stack is dropped before the rank. New code uses
/// [`with_current`] instead of `current`.
#[inline]
pub fn current<'a>() -> Option<&'a Process> {
    // SAFETY: `CURRENT` is null unless code of a rank runs, and the state of the rank outlives the rank's code.
    unsafe { CURRENT.get().as_ref() }
}

/// Variant of [`current`] that returns the rank with its MPI state as a reference to `I`.
///
/// # Safety
/// Every rank that was passed to [`run_as`] on the current host thread was an `I`.
#[inline]
pub unsafe fn current_as<'a, I: Interface>() -> Option<&'a I> {
    // SAFETY: the caller guarantees that the pointer was derived from an `I`, whose first field is the `Process`. The
    // state of the rank outlives the rank's code.
    unsafe { CURRENT.get().cast::<I>().as_ref() }
}

/// Makes `process` the current rank of the host thread.
#[inline]
pub fn run_as<I: Interface>(process: &I) {
    CURRENT.set(std::ptr::from_ref(process).cast());
    loader::set_main(process.instance_id.get());
}

/// Marks that the host thread runs no rank.
#[inline]
pub fn run_as_nobody() {
    CURRENT.set(std::ptr::null());
}

impl Process {
    /// Creates the state of a rank that has not started.
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
            own_stack: Cell::new((0, 0)),
            runtime: job.programs[0].image.as_ref().and_then(Image::runtime),
            in_vain: Cell::default(),
            crashing: Cell::new(false),
            faulted: Cell::new(None),
            remote: Cell::new(None),
            counts: CallCounts::default(),
            tree: CallTree::default(),
            tells_collectives: Cell::new(false),
            called: RefCell::default(),
            here: Cell::new([0; 3]),
            came_with: Cell::new([0; 5]),
            computed: Cell::new(SimSpan::ZERO),
            own_computed: Cell::new(SimSpan::ZERO),
            cores: RefCell::default(),
            job,
        }
    }

    /// Returns the program that the rank runs.
    pub fn program(&self) -> &JobProgram {
        &self.job.programs[self.job.program_number(self.rank)]
    }

    /// Returns the number of ranks of the job.
    pub fn size(&self) -> u32 {
        self.job.size()
    }

    /// Sets the fiber handle of the current task and returns the previous fiber handle.
    pub fn set_handle(&self, handle: *const FiberHandle<'static>) -> *const FiberHandle<'static> {
        self.handle.replace(handle)
    }

    /// Makes the current task's fiber save and restore the floating-point environment, because the program reads or
    /// changes the floating-point environment.
    pub fn keep_floats(&self) {
        self.out().keep_floats();
    }

    /// Returns true if [`Process::keep_floats`] was called for the current task.
    pub fn keeps_floats(&self) -> bool {
        self.out().keeps_floats()
    }

    fn out(&self) -> &FiberHandle<'static> {
        // SAFETY: the fiber handle belongs to the fiber that runs the current code, so the handle is alive.
        unsafe { &*self.handle.get() }
    }

    /// Stops the timer at the start of an MPI function. The MPI function may copy data before the call of the
    /// simulation engine, and the time of the copy is not part of the program's own time.
    #[inline]
    pub fn pause_timer(&self) {
        if self.job.options.compute == ComputeMode::Measure {
            self.timer.stop();
        }
    }

    /// Stops the rank's timer at the end of a local execution block.
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

    /// Starts the rank's timer when the program's own code continues.
    #[inline]
    pub fn start_timer(&self) {
        if self.tree.is_in_mpi() {
            self.tree.end_mpi(self.reached());
        }
        match self.job.options.compute {
            ComputeMode::Measure => {
                self.timer.start();
                if self.timer.is_shared() {
                    team::begin(self);
                }
            }
            ComputeMode::Skip => {}
            ComputeMode::Fixed(_) => self.timer.set_running(),
        }
    }

    /// Charges time on the target machine to the rank in addition to the measured time of the rank's code.
    pub fn charge(&self, span: SimSpan) {
        self.charged.set(self.charged.get() + span);
    }

    /// Returns the engine call for a local execution block with the cost `charge`. If the rank's code is measured,
    /// the call is marked as measured code.
    #[inline]
    pub fn charged_block(&self, charge: SimSpan) -> Call {
        match self.job.options.compute {
            ComputeMode::Measure => Call::Code(charge),
            ComputeMode::Skip | ComputeMode::Fixed(_) => Call::Compute(charge),
        }
    }

    /// Returns the cost of local execution since the last call of the same function.
    #[inline]
    pub fn take_charge(&self) -> SimSpan {
        let measured = self.timer.take();
        let charged = self.charged.replace(SimSpan::ZERO);
        let block = if measured == 0 { charged } else { charged + self.job.scaled(self.rank, measured) };
        let block = if self.timer.is_shared() { team::settle(self, block) } else { block };
        self.block.set(block);
        self.computed.set(self.computed.get() + block);
        self.own_computed.set(self.own_computed.get() + block);
        block
    }

    /// Returns the current virtual time of the rank, which may be within a local execution block.
    pub fn now(&self) -> SimTime {
        self.ask_for_clock();
        self.reached()
    }

    /// Variant of [`Process::now`] that does not call the simulation engine. If the rank runs ahead, the rank's
    /// actual virtual time may be later than the returned time.
    pub fn reached(&self) -> SimTime {
        self.clock.get() + self.block_so_far()
    }

    /// Charges the current local execution block and waits until virtual time reaches the end of the block. The wait
    /// is necessary because engine replies to a rank that runs ahead do not contain the rank's virtual time. Ranks
    /// that do not run ahead also wait, so that local execution blocks end at the same positions in all runs.
    fn ask_for_clock(&self) {
        let running = self.job.options.compute == ComputeMode::Measure && self.timer.is_running();
        if running {
            self.timer.stop();
        }
        let handle = self.charged_handle();
        // Threads read clocks in the order of virtual time, because a loop may also read values of other threads.
        let call = if self.timer.shares_cores() { wait_for_own_time() } else { Call::Compute(SimSpan::ZERO) };
        handle.call(call, |reply| self.clock.set(reply.clock));
        if running {
            self.timer.start();
        }
    }

    /// Returns the cost of the current local execution block.
    pub fn block_so_far(&self) -> SimSpan {
        let running = match self.job.options.compute {
            ComputeMode::Measure => self.job.scaled(self.rank, self.timer.peek()),
            ComputeMode::Skip | ComputeMode::Fixed(_) => SimSpan::ZERO,
        };
        self.charged.get() + running
    }

    /// Returns the total cost of the rank's own code so far.
    pub fn computed(&self) -> SimSpan {
        self.computed.get() + self.block_so_far()
    }

    /// Returns the total cost of the code of the current task: the main program, or a thread with a clock of its own.
    pub fn computed_by_task(&self) -> SimSpan {
        self.own_computed.get() + self.block_so_far()
    }

    /// Charges the cost of a failed poll whose condition only the rank itself can change.
    pub fn failed_poll(&self) {
        self.charge(self.job.platform.core.poll);
    }

    /// Charges the cost of a clock query. If clock queries had no cost, a loop that waits for a point in time would
    /// never end.
    pub fn look_at_clock(&self) {
        if self.job.options.compute != ComputeMode::Measure {
            self.charge(CLOCK_COST);
        }
    }

    /// Exchanges the thread-local state of libraries. `swap_runtime` is called when the rank's code is resumed or
    /// suspended on the host thread.
    #[inline(always)]
    pub fn swap_runtime(&self) {
        self.variables.swap();
        if let Some(kept) = &self.runtime {
            kept.swap();
        }
    }

    /// Advances the rank's virtual time by `span`, as a sleep does.
    pub fn pass(&self, span: SimSpan) {
        if self.timer.shares_cores() {
            self.sleep_in_order(span);
        } else {
            self.call_done(Call::Compute(span));
        }
    }

    /// Ends the rank and the run with an error.
    pub fn fail(&self, kind: FailureKind, what: String) -> ! {
        self.fail_at(self.position().unwrap_or_default(), kind, what)
    }

    /// Variant of [`Process::fail`] for errors outside MPI functions. `place` is the code position of the error.
    pub fn fail_at(&self, place: String, kind: FailureKind, what: String) -> ! {
        self.call_done(Call::Fail(Box::new(ProgramError { kind, place, what })));
        unreachable!("a failed rank does not go on")
    }

    /// Returns the name of the node on which the rank is placed.
    pub fn node_name(&self) -> String {
        format!("node{}", self.job.sites[self.rank as usize].node)
    }

    /// Returns the virtual time that MPI_Wtime and clock functions return. Each query has a cost, so that a loop that
    /// waits for a point in time ends.
    pub fn wtime(&self) -> SimTime {
        self.look_at_clock();
        self.now()
    }

    /// Returns the address range of the stack on which the rank's code runs. The address range is empty if no code of
    /// the rank runs.
    pub fn stack(&self) -> std::ops::Range<usize> {
        let (start, end) = self.own_stack.get();
        self.ground.borrow().as_ref().map_or(start..end, CrashContext::stack)
    }

    /// Returns true if the rank is in an MPI function.
    pub fn in_call(&self) -> bool {
        self.here.get() != [0; 3]
    }

    /// Returns the stack position of the MPI function from which another MPI function was called. The position is
    /// `outer`, unless a fault handler of the program has jumped out of the outer MPI function.
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

    /// Returns the identifier of the program position that called the running MPI function; see
    /// [`Job::call_place_name`].
    pub fn call_place(&self) -> Option<u32> {
        let code = self.in_call().then(|| crash::calling_code(self, self.here.get(), &self.stack())).flatten();
        code.map(|(module, offset)| self.job.call_place(module, offset))
    }

    /// Returns the last known code position of the rank for reports, such as "MPI_Recv at ring.c:42" with debug
    /// information.
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

/// Converts a C string to text. A null pointer becomes `None`.
///
/// # Safety
/// `text` is null or points to a zero-terminated string that lives as long as the result.
pub unsafe fn text<'a>(text: *const c_char) -> Option<std::borrow::Cow<'a, str>> {
    // SAFETY: the caller guarantees that a pointer other than null points to a zero-terminated string.
    (!text.is_null()).then(|| unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy())
}

/// Writes `text` as a zero-terminated string to a C buffer of `room` bytes. Text that does not fit into the C buffer
/// is truncated. Returns the length of the written text in bytes.
///
/// # Safety
/// `buffer` has room for `room` bytes, and `room` is not 0.
pub unsafe fn put_text(buffer: *mut c_char, room: usize, text: &str) -> usize {
    let length = text.len().min(room.saturating_sub(1));
    // SAFETY: `length + 1` is at most `room`, and the caller guarantees that the buffer has `room` bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), length);
        *buffer.add(length) = 0;
    }
    length
}

/// Converts a number of bytes to [`Bytes`].
pub fn bytes(length: usize) -> Bytes {
    Bytes::new(length as u64)
}
