//! A rank as its code sees it: its clock, its timer, and its way to the engine.
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

/// Where a rank is between its start and its end.
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
/// All is in cells: while one of the rank's MPI functions waits, its strands go on and change the same objects. No
/// borrow may be held over [`Process::call`], nor while a function of the program is called.
///
/// What every call touches comes first: ranks take turns so often that their data is seldom in the host's nearest
/// caches.
#[repr(C, align(64))]
pub struct Process {
    /// The way out of the task that runs.
    pub(super) handle: Cell<*const FiberHandle<'static>>,
    /// The clock of the task that runs, at its last reply.
    pub clock: Cell<SimTime>,
    /// What all ranks share.
    pub job: Arc<Job>,
    /// The copy of the program that is the rank's.
    pub instance_id: Cell<Option<InstanceId>>,
    /// The MPI function called last.
    pub function: Cell<&'static str>,
    /// Its number.
    pub rank: Rank,
    /// Polls that failed one after another, with no other call in between.
    pub(super) polls: Cell<Polls>,
    /// Where it is between its start and its end.
    pub stage: Cell<RankStage>,
    /// Time that code has taken and that is still to be charged, besides the timer's.
    charged: Cell<SimSpan>,
    /// What the local execution block before the last call cost.
    pub(super) block: Cell<SimSpan>,
    /// What measures its code.
    pub timer: Timer,
    /// Where the MPI function that is running is; all zero outside of one.
    pub here: Cell<[usize; 3]>,
    /// What its caller had in registers, where builds are not optimised.
    pub came_with: Cell<[usize; 5]>,
    /// What local execution blocks have cost so far.
    computed: Cell<SimSpan>,

    /// The program's code and data; absent before the start.
    pub instance: RefCell<Option<Instance>>,
    /// What the OpenMP runtime keeps of the rank, if the program has one.
    pub runtime: Option<SavedRuntime>,
    /// The rank's variables of the C library.
    pub variables: Variables,
    /// Where the code runs that runs now.
    pub ground: RefCell<Option<CrashContext>>,
    /// How long it has idled without a change and then gone on by itself.
    pub in_vain: Cell<SimSpan>,
    /// Set once the rank has crashed.
    pub crashing: Cell<bool>,
    /// The last fault within an MPI function for which a handler of the rank was called.
    pub faulted: Cell<Option<FaultInCall>>,
    /// The access of another rank to its memory that is served, or was served last.
    pub remote: Cell<Option<RemoteAccess>>,
    /// What is counted of its calls.
    pub counts: CallCounts,
    /// The collectives that it enters are recorded as calls.
    pub tells_collectives: Cell<bool>,
    /// The one that the task that runs is about to enter, if they are.
    pub called: RefCell<Option<Called>>,
}

/// What is counted of a rank's calls for profiles.
#[derive(Debug, Default)]
pub struct CallCounts {
    /// Calls are counted by their functions.
    pub is_wanted: Cell<bool>,
    /// And by where in the program they are made.
    pub by_place: Cell<bool>,
    /// MPI_Pcontrol has switched profiling off.
    pub is_off: Cell<bool>,
    /// All calls so far.
    pub entries: Cell<u64>,
    /// Those that are profiled, by function.
    pub made: RefCell<FxHashMap<&'static str, u64>>,
}

impl CallCounts {
    /// The rank calls the function `name`.
    #[inline]
    pub fn enter(&self, name: &'static str) {
        self.entries.set(self.entries.get() + 1);
        if self.is_wanted.get() && !self.is_off.get() {
            *self.made.borrow_mut().entry(name).or_default() += 1;
        }
    }
}

/// What looking at a clock takes where code is not measured.
const CLOCK_COST: SimSpan = SimSpan::from_ns(20);

/// A rank with what an MPI interface keeps of it.
///
/// # Safety
/// The type is `repr(C)`, and its [`Process`] is its first field: a pointer to the one is a pointer to the other.
pub unsafe trait Interface: Deref<Target = Process> + 'static {
    /// Around a rank before its start.
    fn new(process: Process) -> Self;

    /// Serves a message in place of the rank's code.
    fn serve(&self, message: Served, answers: &mut Vec<Message>);

    /// The rank's code has come to its end: whether its stack must stay.
    fn ended(&self) -> ProgramMemory;
}

/// What becomes of the stack of a rank whose code has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramMemory {
    /// Nothing uses it any more.
    Free,
    /// Collectives under way or other ranks' one-sided calls may use it until the run ends.
    Needed,
}

thread_local! {
    /// The rank whose code runs on this thread.
    static CURRENT: Cell<*const Process> = const { Cell::new(std::ptr::null()) };
}

/// The rank whose code runs on this thread. The reference holds as long as the rank's code runs: the code asks for it
/// on its own stack, which ends before the rank.
#[inline]
pub fn current<'a>() -> Option<&'a Process> {
    // SAFETY: the pointer is set only while the rank's code runs, and the rank outlives its code.
    unsafe { CURRENT.get().as_ref() }
}

/// As [`current`], with what the interface `I` keeps.
///
/// # Safety
/// Whatever was given to [`run_as`] on this thread was an `I`.
#[inline]
pub unsafe fn current_as<'a, I: Interface>() -> Option<&'a I> {
    // SAFETY: as above; the pointer was made of one to an `I`, whose first field it points to.
    unsafe { CURRENT.get().cast::<I>().as_ref() }
}

/// The code of `process` runs on this thread from now on.
#[inline]
pub fn run_as<I: Interface>(process: &I) {
    CURRENT.set(std::ptr::from_ref(process).cast());
    loader::set_main(process.instance_id.get());
}

/// No rank's code runs on this thread any more.
#[inline]
pub fn run_as_nobody() {
    CURRENT.set(std::ptr::null());
}

impl Process {
    /// A rank before its start.
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

    /// The program that the rank runs.
    pub fn program(&self) -> &JobProgram {
        &self.job.programs[self.job.program_number(self.rank)]
    }

    /// The number of ranks.
    pub fn size(&self) -> u32 {
        self.job.size()
    }

    /// The way out of the task that runs from now on.
    pub fn set_handle(&self, handle: *const FiberHandle<'static>) -> *const FiberHandle<'static> {
        self.handle.replace(handle)
    }

    /// The rank's code looks at its floating-point environment or changes it.
    pub fn keep_floats(&self) {
        self.out().keep_floats();
    }

    /// Whether [`Process::keep_floats`] holds of the task that runs.
    pub fn keeps_floats(&self) -> bool {
        self.out().keeps_floats()
    }

    fn out(&self) -> &FiberHandle<'static> {
        // SAFETY: the handle belongs to the fiber that runs this code.
        unsafe { &*self.handle.get() }
    }

    /// An MPI function begins, which may copy data before it asks the engine: none of this is the program's own time.
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

    /// Goes on measuring: the rank's own code runs again.
    #[inline]
    pub fn start_timer(&self) {
        match self.job.options.compute {
            ComputeMode::Measure => self.timer.start(),
            ComputeMode::Skip => {}
            ComputeMode::Fixed(_) => self.timer.set_running(),
        }
    }

    /// Charges target time to the rank's clock, besides what is measured.
    pub fn charge(&self, span: SimSpan) {
        self.charged.set(self.charged.get() + span);
    }

    /// The call for a local execution block that cost so much: of code, if that is timed.
    #[inline]
    pub fn charged_block(&self, charge: SimSpan) -> Call {
        match self.job.options.compute {
            ComputeMode::Measure => Call::Code(charge),
            ComputeMode::Skip | ComputeMode::Fixed(_) => Call::Compute(charge),
        }
    }

    /// What local execution blocks have cost since the last time.
    #[inline]
    pub fn take_charge(&self) -> SimSpan {
        let measured = self.timer.take();
        let charged = self.charged.replace(SimSpan::ZERO);
        let block = if measured == 0 { charged } else { charged + self.job.scaled(self.rank, measured) };
        self.block.set(block);
        self.computed.set(self.computed.get() + block);
        block
    }

    /// The rank's virtual time now, in the middle of a local execution block.
    pub fn now(&self) -> SimTime {
        self.ask_for_clock();
        self.reached()
    }

    /// As [`Process::now`], but a rank that runs ahead may have got further.
    pub fn reached(&self) -> SimTime {
        self.clock.get() + self.block_so_far()
    }

    /// Charges what the block has cost so far, and waits until virtual time has come to it: the replies that a rank
    /// gets which runs ahead do not tell its clock. One that does not asks too, so that its blocks end at the same
    /// places.
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

    /// What the present local execution block has cost.
    fn block_so_far(&self) -> SimSpan {
        let running = match self.job.options.compute {
            ComputeMode::Measure => self.job.scaled(self.rank, self.timer.peek()),
            ComputeMode::Skip | ComputeMode::Fixed(_) => SimSpan::ZERO,
        };
        self.charged.get() + running
    }

    /// What the rank's own code has cost, up to now.
    pub fn computed(&self) -> SimSpan {
        self.computed.get() + self.block_so_far()
    }

    /// A poll for what only the rank itself can bring about.
    pub fn failed_poll(&self) {
        self.charge(self.job.platform.core.poll);
    }

    /// Looking at a clock takes time too, without which a rank that waits for a time would wait for ever.
    pub fn look_at_clock(&self) {
        if self.job.options.compute != ComputeMode::Measure {
            self.charge(CLOCK_COST);
        }
    }

    /// The rank's code begins to run on this thread, or stops: what libraries keep of the thread is exchanged.
    #[inline(always)]
    pub fn swap_runtime(&self) {
        self.variables.swap();
        if let Some(kept) = &self.runtime {
            kept.swap();
        }
    }

    /// Lets virtual time pass, as in a sleep.
    pub fn pass(&self, span: SimSpan) {
        self.call_done(Call::Compute(span));
    }

    /// Ends the rank and with it the run.
    pub fn fail(&self, kind: FailureKind, what: String) -> ! {
        self.fail_at(self.position().unwrap_or_default(), kind, what)
    }

    /// As [`Process::fail`], outside of MPI functions.
    pub fn fail_at(&self, place: String, kind: FailureKind, what: String) -> ! {
        self.call_done(Call::Fail(Box::new(ProgramError { kind, place, what })));
        unreachable!("a failed rank does not go on")
    }

    /// The name of the node that it is on.
    pub fn node_name(&self) -> String {
        format!("node{}", self.job.sites[self.rank as usize].node)
    }

    /// Virtual time as programs see it: each look at it costs what looking at a clock does, so that waiting for a time
    /// ends.
    pub fn wtime(&self) -> SimTime {
        self.look_at_clock();
        self.now()
    }

    /// The stack on which the rank's code runs; empty if it does not.
    pub fn stack(&self) -> std::ops::Range<usize> {
        self.ground.borrow().as_ref().map_or(0..0, CrashContext::stack)
    }

    /// Whether an MPI function of the rank is running.
    pub fn in_call(&self) -> bool {
        self.here.get() != [0; 3]
    }

    /// Where the MPI function is from which the one is called that has just begun: `outer`, unless a handler of a fault
    /// has jumped out of that.
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

    /// The number of the place in the program that called the MPI function which is running, see
    /// [`Job::call_place_name`].
    pub fn call_place(&self) -> Option<u32> {
        let code = self.in_call().then(|| crash::calling_code(self, self.here.get(), &self.stack())).flatten();
        code.map(|(module, offset)| self.job.call_place(module, offset))
    }

    /// What the rank was last seen to do, for reports: "MPI_Recv at ring.c:42" where there is debug information.
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

/// Text from C.
///
/// # Safety
/// `text` is null or points to a string with a final zero.
pub unsafe fn text<'a>(text: *const c_char) -> Option<std::borrow::Cow<'a, str>> {
    // SAFETY: the caller's promise.
    (!text.is_null()).then(|| unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy())
}

/// Writes a string with a final zero into C's buffer of `room` bytes, cut if it must be; gives its length.
///
/// # Safety
/// `buffer` has room for so many bytes.
pub unsafe fn put_text(buffer: *mut c_char, room: usize, text: &str) -> usize {
    let length = text.len().min(room.saturating_sub(1));
    // SAFETY: the caller's promise.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), length);
        *buffer.add(length) = 0;
    }
    length
}

/// As [`Bytes::new`] for lengths in memory.
pub fn bytes(length: usize) -> Bytes {
    Bytes::new(length as u64)
}
