//! A rank as its MPI functions see it: its objects, its clock, and its way to the engine.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_char;
use std::rc::Rc;
use std::sync::Arc;

use super::abi::{self, Handle};
use super::attribute::AttributeKeys;
use super::calls::Matched;
use super::clib::Variables;
use super::collective::Combine;
use super::comm::Comm;
use super::crash::{self, Ground};
use super::error::{MpiError, MpiResult};
use super::handler::Errors;
use super::handles::{Kind, Table};
use super::image::{self, Instance, InstanceId, Kept};
use super::info::Info;
use super::job::{ComputeMode, Job, MOST_COMMS, fatal};
use super::polling::Polls;
use super::request::Request;
use super::timer::Timer;
use super::types::Types;
use super::window::Windows;
use crate::mpi::Group;
use crate::rank::{Call, FailureKind, Gate, Payload, ProgramError, Rank};
use crate::units::{Bytes, SimSpan, SimTime};

/// Where a rank is between its start and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Before MPI_Init.
    Started,
    /// Between MPI_Init and MPI_Finalize.
    Initialised,
    /// After MPI_Finalize.
    Finalised,
}

/// A rank.
///
/// All is in cells: while one of the rank's MPI functions waits, its strands go on and change the same objects. No borrow may
/// be held over [`Process::call`], nor while a function of the program is called.
///
/// What every call touches comes first: ranks take turns so often that their data is seldom in the host's nearest caches.
#[repr(C, align(64))]
pub struct Process {
    /// The way out of the task that runs.
    pub(super) gate: Cell<*const Gate<'static>>,
    /// The clock of the task that runs, at its last reply.
    pub clock: Cell<SimTime>,
    pub job: Arc<Job>,
    pub world: Rc<Comm>,
    pub instance_id: Cell<Option<InstanceId>>,
    /// The MPI function called last.
    pub function: Cell<&'static str>,
    pub rank: Rank,
    /// The communicator that it was given, where that is not MPI_COMM_WORLD: whose errors are its errors.
    pub given: Cell<Option<Handle>>,
    /// Polls that failed one after another, with no other call in between.
    pub(super) polls: Cell<Polls>,
    pub stage: Cell<Stage>,
    /// Time that code has taken and that is still to be charged, besides the timer's.
    charged: Cell<SimSpan>,
    /// What the local execution block before the last call cost.
    pub(super) block: Cell<SimSpan>,
    pub timer: Timer,
    /// Communicators and windows that this rank has given numbers.
    numbered: Cell<u32>,
    /// Operations whose requests the program has freed before they were complete.
    pub abandoned: RefCell<Vec<Request>>,
    pub requests: RefCell<Table<Request>>,

    /// The program's code and data; absent before the start.
    pub instance: RefCell<Option<Instance>>,
    /// What the OpenMP runtime keeps of the rank, if the program has one.
    pub runtime: Option<Kept>,
    /// The rank's variables of the C library.
    pub variables: Variables,
    pub itself: Rc<Comm>,
    pub comms: RefCell<Table<Rc<Comm>>>,
    pub groups: RefCell<Table<Group>>,
    pub messages: RefCell<Table<Matched>>,
    pub ops: RefCell<Table<Combine>>,
    pub windows: RefCell<Windows>,
    pub types: RefCell<Types>,
    pub infos: RefCell<Table<Info>>,
    pub errors: Errors,
    pub attributes: AttributeKeys,
    /// How many times the tool information interface was initialised and not ended.
    pub tools: Cell<u32>,
    /// The program's part of memory for buffered sends.
    pub buffer: Cell<(*mut u8, usize)>,
    /// What made the objects that are there, by their handles; kept only if leaks are looked for.
    pub makers: RefCell<HashMap<Handle, String>>,
    /// Where the code runs that runs now.
    pub ground: RefCell<Option<Ground>>,
    /// How long it has idled without a change and then gone on by itself.
    pub in_vain: Cell<SimSpan>,
    /// Set once the rank has crashed.
    pub crashing: Cell<bool>,
    /// Where the MPI function that is running is; all zero outside of one.
    pub here: Cell<[usize; 3]>,
    /// What local execution blocks have cost so far.
    pub computed: Cell<SimSpan>,
}

/// What looking at a clock takes where code is not measured.
const CLOCK_COST: SimSpan = SimSpan::from_ns(20);

thread_local! {
    /// The rank whose code runs on this thread.
    static CURRENT: Cell<*const Process> = const { Cell::new(std::ptr::null()) };
}

/// The rank whose code runs on this thread.
#[inline]
pub fn current<'a>() -> Option<&'a Process> {
    // SAFETY: the pointer is set only while the rank's code runs, and the rank outlives its code.
    unsafe { CURRENT.get().as_ref() }
}

/// The code of `process` runs on this thread from now on.
#[inline]
pub fn run_as(process: &Process) {
    CURRENT.set(process);
    image::set_main(process.instance_id.get());
}

/// No rank's code runs on this thread any more.
#[inline]
pub fn run_as_nobody() {
    CURRENT.set(std::ptr::null());
}

/// Begins the MPI function `name`: the rank that calls it.
#[inline]
pub fn enter<'a>(name: &'static str) -> &'a Process {
    let Some(process) = current() else { no_rank(name) };
    process.function.set(name);
    process.given.set(None);
    if process.stage.get() != Stage::Initialised {
        process.check_stage(name);
    }
    process
}

#[cold]
fn no_rank(name: &str) -> ! {
    let what = format!(
        "{name} was called from a thread that is not its rank's main thread: \
         expected calls of MPI from the main thread only (MPI_THREAD_FUNNELED)"
    );
    fatal(&what, 1)
}

impl Process {
    /// A rank before its start.
    pub fn new(job: Arc<Job>, rank: Rank) -> Self {
        let size = job.size();
        let everybody = Group::Strided { first: 0, stride: 1, size };
        let alone = Group::Strided { first: rank, stride: 1, size: 1 };
        let world = Comm::intra(abi::MPI_COMM_WORLD, crate::mpi::Comm::new(0, rank, everybody));
        let itself = Comm::intra(abi::MPI_COMM_SELF, crate::mpi::Comm::new(1, 0, alone));
        world.set_name("MPI_COMM_WORLD");
        itself.set_name("MPI_COMM_SELF");
        let timer = Timer::new(job.options.clock, job.timer_overhead);
        Process {
            rank,
            stage: Cell::new(Stage::Started),
            timer,
            clock: Cell::new(SimTime::ZERO),
            gate: Cell::new(std::ptr::null()),
            charged: Cell::new(SimSpan::ZERO),
            function: Cell::new(""),
            given: Cell::new(None),
            polls: Cell::default(),
            block: Cell::new(SimSpan::ZERO),
            instance: RefCell::default(),
            instance_id: Cell::new(None),
            variables: Variables::default(),
            world: Rc::new(world),
            itself: Rc::new(itself),
            comms: RefCell::new(Table::new(Kind::Comm)),
            groups: RefCell::new(Table::new(Kind::Group)),
            requests: RefCell::new(Table::new(Kind::Request)),
            ops: RefCell::new(Table::new(Kind::Op)),
            types: RefCell::new(Types::new()),
            infos: RefCell::new(Table::new(Kind::Info)),
            errors: Errors::new(),
            attributes: AttributeKeys::new(size),
            messages: RefCell::new(Table::new(Kind::Message)),
            windows: RefCell::default(),
            numbered: Cell::new(0),
            abandoned: RefCell::default(),
            tools: Cell::new(0),
            buffer: Cell::new((std::ptr::null_mut(), 0)),
            makers: RefCell::default(),
            ground: RefCell::default(),
            runtime: job.image.runtime(),
            in_vain: Cell::default(),
            crashing: Cell::new(false),
            here: Cell::new([0; 3]),
            computed: Cell::new(SimSpan::ZERO),
            job,
        }
    }

    /// The number of ranks.
    pub fn size(&self) -> u32 {
        self.job.size()
    }

    #[cold]
    fn check_stage(&self, name: &'static str) {
        let anytime = [
            "MPI_Init",
            "MPI_Init_thread",
            "MPI_Initialized",
            "MPI_Finalized",
            "MPI_Get_version",
            "MPI_Get_library_version",
            "MPI_Error_class",
            "MPI_Error_string",
            "MPI_Pcontrol",
        ];
        // Info objects may say how MPI is to begin; tools have a beginning of their own.
        if anytime.contains(&name) || name.starts_with("MPI_Info_") || name.starts_with("MPI_T_") {
            return;
        }
        let when = match self.stage.get() {
            Stage::Started => "before MPI_Init",
            Stage::Initialised => return,
            Stage::Finalised => "after MPI_Finalize",
        };
        self.fail(FailureKind::Error, format!("{name} was called {when}"));
    }

    /// The way out of the task that runs from now on.
    pub fn set_gate(&self, gate: *const Gate<'static>) -> *const Gate<'static> {
        self.gate.replace(gate)
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

    /// Charges what the block has cost so far, and waits until virtual time has come to it: the replies that a rank gets which runs
    /// ahead do not tell its clock. One that does not asks too, so that its blocks end at the same places.
    fn ask_for_clock(&self) {
        let running = self.job.options.compute == ComputeMode::Measure && self.timer.is_running();
        if running {
            self.timer.stop();
        }
        self.charged_gate().call(Call::Compute(SimSpan::ZERO), |reply| self.clock.set(reply.clock));
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
        if let Some(kept) = &self.runtime {
            kept.swap();
        }
    }

    /// What is left to do when the rank calls MPI_Finalize.
    ///
    /// # Errors
    /// Of functions that free attributes.
    pub fn finalise(&self) -> MpiResult {
        let list = self.itself.attributes.take();
        self.delete_attributes(self.itself.handle, list)?;
        self.report_leaks();
        Ok(())
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

    /// The communicator behind `handle`.
    ///
    /// # Errors
    /// MPI_ERR_COMM.
    #[inline]
    pub fn comm(&self, handle: Handle) -> MpiResult<Rc<Comm>> {
        if handle == abi::MPI_COMM_WORLD {
            return Ok(self.world.clone());
        }
        let comm = self.other_comm(handle)?;
        self.given.set(Some(handle));
        Ok(comm)
    }

    fn other_comm(&self, handle: Handle) -> MpiResult<Rc<Comm>> {
        match handle {
            abi::MPI_COMM_SELF => Ok(self.itself.clone()),
            abi::MPI_COMM_NULL => Err(MpiError::new(abi::MPI_ERR_COMM, "the communicator is MPI_COMM_NULL")),
            _ => {
                self.comms.borrow().get(handle).cloned().ok_or_else(|| {
                    MpiError::new(abi::MPI_ERR_COMM, format!("{handle:#x} is no handle of a communicator"))
                })
            }
        }
    }

    /// A number that no communicator or window has, whichever ranks give out others at the same time; [`MOST_COMMS`] if there
    /// are no more.
    pub fn new_comm(&self) -> u32 {
        let given = self.numbered.get();
        // 0 and 1 are MPI_COMM_WORLD and MPI_COMM_SELF.
        let number = 2 + u64::from(given) * u64::from(self.size()) + u64::from(self.rank);
        if number >= u64::from(MOST_COMMS) {
            return MOST_COMMS;
        }
        self.numbered.set(given + 1);
        number as u32
    }

    /// Takes up a new communicator and gives its handle.
    pub fn add_comm(&self, make: impl FnOnce(Handle) -> Comm) -> Handle {
        // The handle is part of the communicator: reserve it first.
        let mut comms = self.comms.borrow_mut();
        let handle = comms.insert(self.world.clone());
        let comm = Rc::new(make(handle));
        *comms.get_mut(handle).expect("just inserted") = comm;
        self.note_maker(handle);
        handle
    }

    /// A message's data, from the pool.
    pub fn payload(&self, data: Vec<u8>) -> Payload {
        (!data.is_empty()).then(|| Box::new(data))
    }

    /// The stack on which the rank's code runs; empty if it does not.
    pub fn stack(&self) -> std::ops::Range<usize> {
        self.ground.borrow().as_ref().map_or(0..0, Ground::stack)
    }

    /// Whether an MPI function of the rank is running.
    pub fn in_call(&self) -> bool {
        self.here.get() != [0; 3]
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
