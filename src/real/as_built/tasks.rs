//! Threads with clocks of their own (MPI_THREAD_MULTIPLE). Each thread that the program starts is a strand of its rank in
//! the engine, as a nonblocking collective is. One thread of a rank runs at a time: the one that the engine continues.
//!
//! ```text
//!   thread ─ call ─▶ connection ══▶ engine
//!          ◀─ gate ─ connection of the thread that has passed the last call ◀══ reply
//! ```
#![allow(unsafe_code)]

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcpsim_core::mpi::abi;
use mcpsim_core::rank::{
    Call, Describe, FailureKind, FiberHandle, ObjectUse, Program, Reply, RequestId, Requests, Which,
};
use mcpsim_core::units::SimTime;

use super::connection::{self, RankTask, TaskSimulator};
use super::fork::preloaded;
use super::futex::{self, OpenmpLibrary};
use super::gate::{self, ThreadGate};
use super::own_process::own_stack;
use super::sync::{ends_before, enlist, first, resume, suspend};
use super::threads;
use crate::mpi_api::MpiProcess;
use crate::process::run_as;

/// Threads that the program can join, by their identifiers in the program.
static JOINABLE: Mutex<Option<HashMap<usize, RequestId>>> = Mutex::new(None);
/// Numbers of threads among the threads of the rank, by their numbers in the system.
static NUMBERS: Mutex<Option<HashMap<i32, u32>>> = Mutex::new(None);
/// Number of the last started thread of the rank.
static STARTED: AtomicU32 = AtomicU32::new(0);
/// Number of threads of the rank other than the main thread that have not ended.
static ALIVE: AtomicU32 = AtomicU32::new(0);
/// Number of the object for which the main thread waits until all other threads have ended.
const END_OF_ALL: usize = 1;
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

/// Returns the identifier of a thread with a clock of its own that the program creates now with the code at `routine`,
/// or `None` if the thread has no clock of its own. Threads of GCC's OpenMP library have one at each level of thread
/// support, unless the rank has threads without clocks.
pub fn created(p: &MpiProcess, routine: usize) -> Option<u64> {
    let has_clock = match futex::library_of(routine) {
        _ if p.threads.most.get() != abi::MPI_THREAD_MULTIPLE => false,
        None => is_managed() || p.threads.provided.get() == abi::MPI_THREAD_MULTIPLE,
        Some(OpenmpLibrary::Gnu(code)) => !threads::has_team() && catches_waits(&code),
        Some(OpenmpLibrary::Other) => false,
    };
    if !has_clock {
        return None;
    }
    let task = STARTED.fetch_add(1, Ordering::Relaxed) + 1;
    Some(Arc::into_raw(Arc::new(ThreadGate::new(task))) as u64)
}

/// Starts the thread `id` of the program, which [`created`] has given the value `value`, in the engine. `code` is the
/// error number of the system.
pub fn started(p: &'static MpiProcess, value: u64, id: usize, code: c_int) {
    // SAFETY: the value is from `created`. The new thread has a reference of its own only if the system has started it.
    let gate = unsafe { Arc::from_raw(value as *const ThreadGate) };
    if code != 0 {
        return note_refused(p, gate.task, code);
    }
    if !IS_MANAGED.swap(true, Ordering::AcqRel)
        && let Some(manage) = preloaded(c"mcpsim_manage_threads")
    {
        // SAFETY: the preloaded library has a function with this name and signature.
        unsafe { std::mem::transmute::<*mut c_void, extern "C" fn()>(manage)() };
    }
    // The new thread owns this reference.
    std::mem::forget(gate.clone());
    let request = in_function(p, "pthread_create", |p| {
        p.share_cores(p.job.options.cores_per_rank.max(1));
        let strand = ThreadStrand(gate.task);
        gate::start(gate);
        p.call_start(Call::Start(Box::new(strand)))
    });
    ALIVE.fetch_add(1, Ordering::Relaxed);
    joinable().get_or_insert_default().insert(id, request);
}

/// Passes waits of the OpenMP library with the addresses `code` to the engine. Returns false if the system refuses it.
fn catches_waits(code: &Range<usize>) -> bool {
    static CAUGHT: Mutex<Option<(Range<usize>, bool)>> = Mutex::new(None);
    let mut caught = CAUGHT.lock().unwrap_or_else(PoisonError::into_inner);
    match &*caught {
        Some((known, is_caught)) if known == code => *is_caught,
        _ => {
            let is_caught = futex::catch_waits(code);
            *caught = Some((code.clone(), is_caught));
            is_caught
        }
    }
}

/// Notes once that the system has refused a thread.
fn note_refused(p: &MpiProcess, thread: u32, code: c_int) {
    static NOTED: AtomicBool = AtomicBool::new(false);
    if NOTED.swap(true, Ordering::Relaxed) {
        return;
    }
    let why = std::io::Error::from_raw_os_error(code);
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the result has room.
    unsafe { libc::getrlimit(libc::RLIMIT_NPROC, &mut limit) };
    let most = match limit.rlim_cur {
        libc::RLIM_INFINITY => "no limit of processes and threads".to_owned(),
        most => format!("at most {most} processes and threads"),
    };
    let text = format!(
        "mcpsim: rank {}: pthread_create refused thread {thread}: {why}; the user has {most} (ulimit -u)\n",
        p.rank
    );
    // SAFETY: the text has the stated length.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}

fn joinable() -> MutexGuard<'static, Option<HashMap<usize, RequestId>>> {
    JOINABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until the engine runs the current thread, which has started with the value `value`.
pub fn begun(p: &'static MpiProcess, value: u64) {
    // SAFETY: the value is from `created`, and the creator keeps one reference for this thread.
    let gate = unsafe { Arc::from_raw(value as *const ThreadGate) };
    run_as(p);
    // SAFETY: the call has no requirement.
    let number = unsafe { libc::gettid() };
    NUMBERS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().insert(number, gate.task);
    let reply = gate::enter(p, gate.clone());
    p.own_stack.set(own_stack());
    p.clock.set(reply.clock);
    let task = RankTask::Thread(gate.strand.load(Ordering::Relaxed));
    let simulator = Box::leak(Box::new(TaskSimulator::new(p, task, reply)));
    p.set_handle(Box::leak(Box::new(FiberHandle::outside(simulator))));
    p.start_timer();
}

/// Waits for the end of the last block of the current thread, which ends. Has no effect for other threads.
pub fn finishes() {
    if gate::own_task() != 0
        && let Some(p) = rank_of_thread()
    {
        in_function(p, "pthread_exit", |p| {
            p.complete(Requests::new());
            if ALIVE.fetch_sub(1, Ordering::Relaxed) == 1
                && let Some(main) = first(END_OF_ALL)
            {
                resume(p, main);
            }
        });
    }
}

/// Waits for the ends of all other threads, because the main thread ends before them. The main thread of the process then
/// passes the turn of each thread that ends.
pub fn main_finishes() {
    if is_managed()
        && let Some(p) = rank_of_thread()
    {
        in_function(p, "pthread_exit", |p| {
            own_turn(p);
            if ALIVE.load(Ordering::Relaxed) > 0 {
                let request = enlist(p, END_OF_ALL, p.clock.get());
                suspend(p, request);
            }
        });
    }
}

/// Returns the thread of the rank with the number `number` in the system; 0 is the main thread.
pub fn of_number(number: i32) -> Option<u32> {
    if threads::is_main_number(number) {
        return Some(0);
    }
    NUMBERS.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(&number).copied()
}

/// Ends the current thread in the engine. Returns false if the thread has no clock of its own.
pub fn ended() -> bool {
    if gate::own_task() == 0 {
        return false;
    }
    if let Some(p) = rank_of_thread() {
        let block = p.last_block();
        p.needs_no_core();
        p.call_done(block);
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
    p.counts.enter(name);
    outside_code(p, body)
}

/// Runs `body` as a wait of the OpenMP library, which belongs to the function of the library that the current thread has
/// called last.
pub fn in_openmp<T>(p: &MpiProcess, body: impl FnOnce(&MpiProcess) -> T) -> T {
    let last = p.function.get();
    if last != futex::OPENMP && !last.starts_with("GOMP_") && !last.starts_with("omp_") {
        return in_function(p, futex::OPENMP, body);
    }
    p.pause_timer();
    outside_code(p, body)
}

fn outside_code<T>(p: &MpiProcess, body: impl FnOnce(&MpiProcess) -> T) -> T {
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

/// Waits as [`join`], at most until the point in time `until`, or not at all without it. Returns 0 if the thread has ended,
/// -1 if it has no clock of its own, and otherwise an error number.
pub fn join_until(p: &MpiProcess, id: usize, until: Option<&libc::timespec>) -> c_int {
    let request = joinable().as_ref().and_then(|all| all.get(&id).copied());
    let Some(request) = request else { return -1 };
    let name = if until.is_some() { "pthread_timedjoin_np" } else { "pthread_tryjoin_np" };
    let has_ended = in_function(p, name, |p| {
        own_turn(p);
        match until {
            Some(until) => ends_before(p, request, until),
            None => {
                let requests = Requests::from_slice(&[request]);
                let test = Call::Test { requests, which: Which::Some, poll: true };
                p.call_completed(test, |completions| !completions.is_empty())
            }
        }
    });
    match until {
        _ if has_ended => {
            joinable().as_mut().and_then(|all| all.remove(&id));
            0
        }
        Some(_) => libc::ETIMEDOUT,
        None => libc::EBUSY,
    }
}

/// Waits in the function `name` of the OpenMP library until no other thread of the rank is at an earlier virtual time.
pub fn keep_order(p: &MpiProcess, name: &'static str) {
    in_function(p, name, own_openmp_turn);
}

/// Number of the object of all functions of the OpenMP library, which threads enter in a recorded order.
const OPENMP_OBJECT: usize = 0;

/// Waits as [`own_turn`] in a function of the OpenMP library.
pub fn own_openmp_turn(p: &MpiProcess) {
    own_turn(p);
    p.uses_object(OPENMP_OBJECT, ObjectUse::Next);
}

/// Number of successive functions of a thread without any cost that the thread executes at one point in time.
const FREE_CALLS: u32 = 1000;

thread_local! {
    /// Expected time of the next function of the current thread if its code has no cost, and the number of such
    /// functions before.
    static FREE: Cell<(SimTime, u32)> = const { Cell::new((SimTime::ZERO, 0)) };
}

/// Waits until no other thread of the rank is at an earlier virtual time. A thread that executes many functions without
/// any cost may wait for another thread in a loop, so each further function costs a poll.
pub fn own_turn(p: &MpiProcess) {
    p.wait_for_own_time();
    let (expected, before) = FREE.get();
    let (now, poll) = (p.clock.get(), p.job.platform.core.poll);
    let count = if now == expected { before + 1 } else { 0 };
    if count < FREE_CALLS {
        FREE.set((now, count));
    } else {
        p.failed_poll();
        FREE.set((now + poll, FREE_CALLS));
    }
}

/// Executes the stated time of the current thread, so that the following code runs at its end.
pub fn end_stated(p: &MpiProcess) {
    if is_managed() && !p.in_call() {
        p.wait_for_own_time();
        p.start_timer();
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
