//! Threads with clocks of their own (MPI_THREAD_MULTIPLE). Each thread that the program starts is a strand of its rank in
//! the engine, as a nonblocking collective is. One thread of a rank runs at a time: the one that the engine continues.
//!
//! ```text
//!   thread ─ call ─▶ connection ══▶ engine
//!          ◀─ gate ─ connection of the thread that has passed the last call ◀══ reply
//! ```
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcpsim_core::mpi::abi;
use mcpsim_core::rank::{Call, Describe, FailureKind, FiberHandle, Program, Reply, RequestId, Requests};

use super::connection::{self, RankTask, TaskSimulator};
use super::fork::preloaded;
use super::gate::{self, ThreadGate};
use super::own_process::own_stack;
use crate::mpi_api::MpiProcess;
use crate::process::run_as;

/// Threads that the program can join, by their identifiers in the program.
static JOINABLE: Mutex<Option<HashMap<usize, RequestId>>> = Mutex::new(None);
/// Number of the last started thread of the rank.
static STARTED: AtomicU32 = AtomicU32::new(0);
/// True after the start of the first thread with a clock of its own.
static IS_MANAGED: AtomicBool = AtomicBool::new(false);

/// Returns true if the rank has threads with clocks of their own.
pub fn is_managed() -> bool {
    IS_MANAGED.load(Ordering::Acquire)
}

/// A thread in a call that starts it. The connection passes replies to the gate of the thread.
struct ThreadStrand(u32);

impl Program for ThreadStrand {
    fn next(&mut self, _: Reply<'_>) -> Call {
        unreachable!("a thread gets its replies at its gate")
    }
}

impl Describe for ThreadStrand {
    fn is_thread(&self) -> bool {
        true
    }

    fn thread(&self) -> Option<u32> {
        Some(self.0)
    }
}

/// Returns the identifier of a thread with a clock of its own that the program creates now, or `None` if threads of
/// the rank have no clocks of their own. OpenMP starts its threads itself, and they have none.
pub fn created(p: &MpiProcess, routine: usize) -> Option<u64> {
    if p.threads.provided.get() != abi::MPI_THREAD_MULTIPLE || is_of_runtime(routine) {
        return None;
    }
    let task = STARTED.fetch_add(1, Ordering::Relaxed) + 1;
    Some(Arc::into_raw(Arc::new(ThreadGate::new(task))) as u64)
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
    // The new thread owns this reference.
    std::mem::forget(gate.clone());
    let request = in_function(p, "pthread_create", |p| {
        let strand = ThreadStrand(gate.task);
        gate::start(gate);
        p.call_start(Call::Start(Box::new(strand)))
    });
    joinable().get_or_insert_default().insert(id, request);
}

fn joinable() -> MutexGuard<'static, Option<HashMap<usize, RequestId>>> {
    JOINABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until the engine runs the current thread, which has started with the value `value`.
pub fn begun(p: &'static MpiProcess, value: u64) {
    // SAFETY: the value is from `created`, and the creator keeps one reference for this thread.
    let gate = unsafe { Arc::from_raw(value as *const ThreadGate) };
    run_as(p);
    let reply = gate::enter(p, gate.clone());
    p.own_stack.set(own_stack());
    p.clock.set(reply.clock);
    let task = RankTask::Thread(gate.strand.load(Ordering::Relaxed));
    let simulator = Box::leak(Box::new(TaskSimulator::new(p, task, reply)));
    p.set_handle(Box::leak(Box::new(FiberHandle::outside(simulator))));
    p.start_timer();
}

/// Ends the current thread in the engine. Returns false if the thread has no clock of its own.
pub fn ended() -> bool {
    if gate::own_task() == 0 {
        return false;
    }
    if let Some(p) = rank_of_thread() {
        p.call_done(p.last_block());
        gate::leave(p);
    }
    true
}

/// Returns the rank that the current thread runs.
fn rank_of_thread() -> Option<&'static MpiProcess> {
    // SAFETY: threads of a rank's process run only this rank, whose state is an `MpiProcess` that is never freed.
    unsafe { crate::process::current_as::<MpiProcess>() }
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

/// Returns the first thread other than the main thread that is in an MPI function, and the name of the function.
pub fn other_in_mpi(p: &MpiProcess) -> Option<(u32, &'static str)> {
    if !is_managed() {
        return None;
    }
    p.wait_for_own_time();
    connection::with(|connection| connection.thread_in_mpi()).flatten()
}

/// Ends the run, because a thread other than the main thread has called `exit`.
pub fn refuse_exit(p: &MpiProcess, code: c_int) -> ! {
    let what = "a thread called exit: expected the end of the process by the main thread".to_owned();
    p.fail_at("exit".to_owned(), FailureKind::Exited { code }, what)
}
