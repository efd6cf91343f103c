//! Threads with clocks of their own (MPI_THREAD_MULTIPLE). Each thread that the program starts is a strand of its rank in
//! the engine, as a nonblocking collective is. One thread of a rank runs at a time: the one that the engine continues.
//!
//! ```text
//!   thread ─ call ─▶ ThreadGate ─▶ main thread, in `Connection::exchange` ══▶ engine
//!          ◀─ reply ──────────────
//! ```
#![allow(unsafe_code)]

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::rank::{
    Call, Completion, Describe, FailureKind, FiberHandle, Immediate, Program, Reply, ReplyKind, RequestId, Requests,
    Simulator,
};

use super::fork::preloaded;
use super::own_process::own_stack;
use super::wire::{OwnReply, OwnReplyKind};
use crate::mpi_api::MpiProcess;
use crate::process::{TaskContext, current, run_as};

/// Threads that the program can join, by their identifiers in the program.
static JOINABLE: Mutex<Option<HashMap<usize, RequestId>>> = Mutex::new(None);
/// Number of the last started thread of the rank.
static STARTED: AtomicU32 = AtomicU32::new(0);
/// True after the start of the first thread with a clock of its own.
static IS_MANAGED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Gate of the current thread, if it has a clock of its own and is not the main thread.
    /// The gate is never freed, because the value is also read while the thread's values are dropped.
    static GATE: Cell<Option<&'static ThreadGate>> = const { Cell::new(None) };
    /// Number of the current thread among the threads of the rank; 0 for the main thread.
    static TASK: Cell<u32> = const { Cell::new(0) };
}

/// Returns true if the rank has threads with clocks of their own.
pub fn is_managed() -> bool {
    IS_MANAGED.load(Ordering::Acquire)
}

/// Number of the current thread among the threads of the rank; 0 for the main thread.
pub fn own_task() -> u32 {
    TASK.get()
}

enum GateState {
    /// The thread runs, or has ended.
    Running,
    Resumed(OwnReply),
    Called(Call),
}

/// Point at which a thread waits for the replies to its calls.
pub struct ThreadGate {
    task: u32,
    state: Mutex<GateState>,
    changed: Condvar,
}

impl ThreadGate {
    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, state: GateState) {
        *self.lock() = state;
        self.changed.notify_all();
    }

    /// Waits for a state from which `take` gets a value.
    fn wait<T>(&self, take: impl Fn(GateState) -> Result<T, GateState>) -> T {
        let mut state = self.lock();
        loop {
            match take(std::mem::replace(&mut state, GateState::Running)) {
                Ok(value) => return value,
                Err(other) => *state = other,
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn reply(&self) -> OwnReply {
        let reply = self.wait(|state| match state {
            GateState::Resumed(reply) => Ok(reply),
            other => Err(other),
        });
        super::threads::set_caller();
        reply
    }
}

/// The engine's view of a thread, within the process of the rank.
struct ThreadStrand {
    gate: Arc<ThreadGate>,
    process: &'static MpiProcess,
    context: TaskContext,
    /// Communicator argument of the thread's current MPI call.
    given: Option<Handle>,
}

// SAFETY: only the thread that exchanges messages with the simulator uses the strand and the rank's state meanwhile.
unsafe impl Send for ThreadStrand {}

/// Returns the content of `reply` without its lifetime.
fn owned(reply: Reply<'_>) -> OwnReply {
    let kind = match reply.kind {
        ReplyKind::Begin => OwnReplyKind::Begin,
        ReplyKind::Done => OwnReplyKind::Done,
        ReplyKind::Started(id) => OwnReplyKind::Started(id),
        ReplyKind::Completed(completions) => {
            let take = |of: &mut Completion| Completion { payload: of.payload.take(), ..*of };
            OwnReplyKind::Completed(completions.iter_mut().map(take).collect())
        }
    };
    OwnReply { clock: reply.clock, kind }
}

impl Program for ThreadStrand {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        self.exchange();
        self.gate.put(GateState::Resumed(owned(reply)));
        let call = self.gate.wait(|state| match state {
            GateState::Called(call) => Ok(call),
            other => Err(other),
        });
        self.exchange();
        super::threads::set_caller();
        call
    }
}

impl ThreadStrand {
    /// Exchanges the state of the thread and that of the task that runs.
    fn exchange(&mut self) {
        self.process.exchange_context(&mut self.context);
        self.given = self.process.given.replace(self.given);
    }
}

impl Describe for ThreadStrand {
    fn is_thread(&self) -> bool {
        true
    }
}

/// Passes the calls of a thread to the thread that exchanges messages with the simulator.
struct ThreadSimulator {
    gate: Arc<ThreadGate>,
    reply: OwnReply,
}

impl Simulator for ThreadSimulator {
    fn ask(&mut self, call: &mut Call) -> Immediate<'_> {
        let call = std::mem::replace(call, Call::Yield);
        let fails = matches!(call, Call::Fail(_));
        self.gate.put(GateState::Called(call));
        if fails {
            // The process ends.
            loop {
                std::thread::park();
            }
        }
        self.reply = self.gate.reply();
        Immediate::Replied(self.reply.reply())
    }
}

/// Returns the identifier of a thread with a clock of its own that the program creates now, or `None` if threads of
/// the rank have no clocks of their own. OpenMP starts its threads itself, and they have none.
pub fn created(p: &MpiProcess, routine: usize) -> Option<u64> {
    if p.threads.provided.get() != abi::MPI_THREAD_MULTIPLE || is_of_runtime(routine) {
        return None;
    }
    let task = STARTED.fetch_add(1, Ordering::Relaxed) + 1;
    let gate = ThreadGate { task, state: Mutex::new(GateState::Running), changed: Condvar::new() };
    Some(Arc::into_raw(Arc::new(gate)) as u64)
}

/// Returns true if the code at `address` belongs to a library of OpenMP.
fn is_of_runtime(address: usize) -> bool {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the result has room, and its texts are valid while the library is loaded.
    unsafe {
        if libc::dladdr(address as *const c_void, found.as_mut_ptr()) == 0 || found.assume_init().dli_fname.is_null() {
            return false;
        }
        let path = CStr::from_ptr(found.assume_init().dli_fname).to_string_lossy();
        ["libgomp", "libomp", "libiomp"].iter().any(|name| path.contains(name))
    }
}

/// Starts the thread `id` of the program, which [`created`] has given the value `value`, in the engine. `code` is the
/// error number of the system.
pub fn started(p: &'static MpiProcess, value: u64, id: usize, code: c_int) {
    // SAFETY: the value is from `created`. The new thread has a reference of its own only if the system has started it.
    let gate = unsafe { Arc::from_raw(value as *const ThreadGate) };
    if code != 0 {
        return;
    }
    if !IS_MANAGED.swap(true, Ordering::AcqRel)
        && let Some(manage) = preloaded(c"mcpsim_manage_threads")
    {
        // SAFETY: the preloaded library has a function with this name and signature.
        unsafe { std::mem::transmute::<*mut c_void, extern "C" fn()>(manage)() };
    }
    let cores = p.job.options.cores_per_rank.max(1);
    if gate.task + 1 > cores {
        p.crowd(cores);
    }
    std::mem::forget(gate.clone());
    let strand = ThreadStrand { gate, process: p, context: TaskContext::default(), given: None };
    let request = in_function(p, "pthread_create", |p| p.call_start(Call::Start(Box::new(strand))));
    joinable().get_or_insert_default().insert(id, request);
}

fn joinable() -> MutexGuard<'static, Option<HashMap<usize, RequestId>>> {
    JOINABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until the engine runs the current thread, which has started with the value `value`.
pub fn begun(p: &'static MpiProcess, value: u64) {
    // SAFETY: the value is from `created`, and the creator keeps one reference for this thread.
    let gate = unsafe { Arc::from_raw(value as *const ThreadGate) };
    TASK.set(gate.task);
    let reply = gate.reply();
    run_as(p);
    p.own_stack.set(own_stack());
    p.clock.set(reply.clock);
    let simulator: &'static mut ThreadSimulator = Box::leak(Box::new(ThreadSimulator { gate: gate.clone(), reply }));
    p.set_handle(Box::leak(Box::new(FiberHandle::outside(simulator))));
    // SAFETY: the reference is never dropped.
    GATE.set(Some(unsafe { &*Arc::into_raw(gate) }));
    p.start_timer();
}

/// Ends the current thread in the engine. Returns false if the thread has no clock of its own.
pub fn ended() -> bool {
    let Some(gate) = GATE.get() else { return false };
    if TASK.replace(0) != 0
        && let Some(p) = current()
    {
        p.call_done(p.last_block());
        crate::process::run_as_nobody();
        gate.put(GateState::Called(Call::Finish));
    }
    true
}

/// Runs `body` as the function `name`, whose time is not part of the program's code.
pub fn in_function<T>(p: &MpiProcess, name: &'static str, body: impl FnOnce(&MpiProcess) -> T) -> T {
    p.pause_timer();
    p.function.set(name);
    let outer = p.here.replace(crate::process::unwind::here());
    let result = body(p);
    p.here.set(outer);
    p.start_timer();
    result
}

/// Waits until the thread `id` of the program has ended. Has no effect for a thread without a clock of its own.
pub fn join(p: &MpiProcess, id: usize) {
    let request = joinable().as_mut().and_then(|all| all.remove(&id));
    if let Some(request) = request {
        in_function(p, "pthread_join", |p| p.complete(Requests::from_slice(&[request])));
    }
}

/// Ends the run, because a thread other than the main thread has called `exit`.
pub fn refuse_exit(p: &MpiProcess, code: c_int) -> ! {
    let what = "a thread called exit: expected the end of the process by the main thread".to_owned();
    p.fail_at("exit".to_owned(), FailureKind::Exited { code }, what)
}
