//! Threads of a rank's process.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use mcpsim_core::units::{SimSpan, SimTime};

use super::fork::preloaded;
use super::futex::OPENMP;
use super::tasks;
use crate::mpi_api::MpiProcess;
use crate::process::{current, team};

/// Number in the system of the thread that calls MPI.
static CALLER: AtomicI32 = AtomicI32::new(0);
/// Number in the system of the thread that runs code of the program: the thread that calls MPI, or a thread with a
/// clock of its own that may not call MPI.
static RUNNING: AtomicI32 = AtomicI32::new(0);
/// Number in the system of the thread that has called MPI_Init.
static MAIN: AtomicI32 = AtomicI32::new(0);
/// The rank's state, after the rank has connected to the simulator.
static RANK: Mutex<Option<SharedRank>> = Mutex::new(None);
/// True if the rank has several threads.
static HAS_TEAM: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Number of the thread in the system, or 0 if it is not known yet.
    static NUMBER: Cell<i32> = const { Cell::new(0) };
}

/// The rank's state for all threads of the process.
#[derive(Clone, Copy)]
struct SharedRank(&'static MpiProcess);

// SAFETY: threads other than the caller of MPI use only the rank's number and the job, which do not change.
unsafe impl Send for SharedRank {}

fn rank() -> Option<&'static MpiProcess> {
    RANK.lock().unwrap_or_else(std::sync::PoisonError::into_inner).map(|rank| rank.0)
}

/// Returns the number of the current thread in the system.
fn own_number() -> i32 {
    if NUMBER.get() == 0 {
        // SAFETY: the call has no requirement.
        NUMBER.set(unsafe { libc::gettid() });
    }
    NUMBER.get()
}

/// Number in the system of the thread that runs code of the program.
pub fn running_number() -> i32 {
    RUNNING.load(Ordering::Relaxed)
}

/// Number of the rank.
pub fn rank_number() -> u32 {
    rank().map_or(0, |p| p.rank)
}

/// Returns true if the current thread is the one that calls MPI.
#[inline]
pub fn is_caller() -> bool {
    NUMBER.get() == CALLER.load(Ordering::Relaxed)
}

/// Returns true if the current thread is the one that runs code of the program.
#[inline]
pub fn is_running() -> bool {
    NUMBER.get() == RUNNING.load(Ordering::Relaxed)
}

/// Returns true if the current thread runs the rank's own code, not an MPI function.
pub fn runs_program() -> bool {
    is_running() && current().is_some_and(|p| !p.in_call())
}

/// Returns true if the rank has threads without clocks of their own.
pub fn has_team() -> bool {
    HAS_TEAM.load(Ordering::Acquire)
}

/// Returns true if the current thread has called MPI_Init.
pub fn is_main() -> bool {
    own_number() == MAIN.load(Ordering::Relaxed)
}

/// Returns true if the thread with the number `number` in the system has called MPI_Init.
pub fn is_main_number(number: i32) -> bool {
    number != 0 && number == MAIN.load(Ordering::Relaxed)
}

/// Functions that the preloaded library calls when threads start and end, as in `src/preload/threads.rs`.
#[repr(C)]
struct ThreadHooks {
    created: extern "C" fn(usize) -> CreatedThread,
    started: extern "C" fn(CreatedThread, usize, c_int),
    begun: extern "C" fn(CreatedThread, usize),
    finishes: extern "C" fn(),
    ended: extern "C" fn(),
    joins: extern "C" fn(usize),
    joined: extern "C" fn(usize),
    joins_until: extern "C" fn(usize, *const libc::timespec) -> c_int,
    region: extern "C" fn(),
    order: extern "C" fn(*const c_char) -> bool,
}

static HOOKS: ThreadHooks =
    ThreadHooks { created, started, begun, finishes, ended, joins, joined, joins_until, region, order };

/// A thread that the program creates.
#[derive(Clone, Copy)]
#[repr(C)]
struct CreatedThread {
    /// 1 if the thread has a clock of its own.
    has_clock: u64,
    /// Value of the module [`tasks`] for a thread with a clock of its own, else the position of the thread in ps of
    /// virtual time.
    value: u64,
}

/// Makes the current thread the one that runs code of the program. The engine has continued it. The thread may call MPI
/// if `may_call` is true.
pub fn set_running(may_call: bool) {
    RUNNING.store(own_number(), Ordering::Relaxed);
    if may_call {
        CALLER.store(own_number(), Ordering::Relaxed);
    }
}

/// Makes the current thread the caller of MPI, and counts the CPU time of all threads of the rank `p`.
pub fn watch(p: &'static MpiProcess) {
    set_running(true);
    MAIN.store(own_number(), Ordering::Relaxed);
    *RANK.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(SharedRank(p));
    if let Some(register) = preloaded(c"mcpsim_register_threads") {
        // SAFETY: the preloaded library has a function with this name and signature.
        unsafe { std::mem::transmute::<*mut c_void, extern "C" fn(&'static ThreadHooks)>(register)(&HOOKS) };
    }
    if std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count) > 1 {
        start_team(p);
    }
}

/// Counts the time of all threads of the rank from now on.
fn start_team(p: &MpiProcess) {
    if HAS_TEAM.swap(true, Ordering::AcqRel) {
        return;
    }
    let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let numbers: Vec<i32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    team::start_team(p, CALLER.load(Ordering::Relaxed), &numbers);
}

/// Makes the current thread the caller of MPI.
pub fn take_over(p: &MpiProcess) {
    let number = own_number();
    if has_team() {
        team::switch_caller(p, number);
    }
    set_running(true);
}

/// Returns the thread that the current thread creates with the code at `routine`.
extern "C" fn created(routine: usize) -> CreatedThread {
    let nothing = CreatedThread { has_clock: 0, value: 0 };
    let Some(p) = rank() else { return nothing };
    if current().is_some_and(|p| p.in_call()) {
        return nothing;
    }
    if is_running() {
        if let Some(value) = tasks::created(p, routine) {
            return CreatedThread { has_clock: 1, value };
        }
        start_team(p);
    }
    CreatedThread { value: team::position_of(p, own_number()).as_ps(), ..nothing }
}

/// Handles the start of the thread `id` by the system with the error number `code`.
extern "C" fn started(thread: CreatedThread, id: usize, code: c_int) {
    if let (1, Some(p)) = (thread.has_clock, rank()) {
        tasks::started(p, thread.value, id, code);
    }
}

extern "C" fn begun(thread: CreatedThread, id: usize) {
    match (thread.has_clock, rank()) {
        (1, Some(p)) => tasks::begun(p, thread.value),
        _ => team::add_thread(own_number(), id, SimTime::ZERO + SimSpan::from_ps(thread.value)),
    }
}

/// Handles the return of the code of a thread.
extern "C" fn finishes() {
    match current() {
        Some(_) if runs_program() && is_main() => tasks::main_finishes(),
        Some(_) if runs_program() => tasks::finishes(),
        _ => {}
    }
}

extern "C" fn ended() {
    if !tasks::ended()
        && let Some(p) = rank()
    {
        team::end_thread(p, own_number());
    }
}

/// Handles the wait of the current thread for the end of the thread `id`.
extern "C" fn joins(id: usize) {
    if let Some(p) = rank()
        && runs_program()
    {
        tasks::join(p, id);
    }
}

/// Waits as [`joins`], at most until the point in time `until`, or not at all if `until` is null. Returns 0 if the thread
/// has ended, -1 if it has no clock of its own, and otherwise an error number.
extern "C" fn joins_until(id: usize, until: *const libc::timespec) -> c_int {
    match rank() {
        // SAFETY: the preloaded library passes null or a valid time.
        Some(p) if runs_program() => tasks::join_until(p, id, unsafe { until.as_ref() }),
        _ => -1,
    }
}

extern "C" fn joined(id: usize) {
    if let Some(p) = rank() {
        team::join_thread(p, own_number(), id);
    }
}

/// Handles the start or end of a parallel region of OpenMP.
extern "C" fn region() {
    if let Some(p) = rank()
        && has_team()
        && runs_program()
    {
        team::meet_in_region(p);
    }
}

/// Handles the function `name` of OpenMP, which threads with clocks of their own enter in the order of virtual time.
/// Returns false if such threads cannot run, because the current thread is in an MPI function.
extern "C" fn order(name: *const c_char) -> bool {
    // SAFETY: the preloaded library passes static texts that end with a zero byte.
    let name = || unsafe { CStr::from_ptr(name) }.to_str().unwrap_or(OPENMP);
    if !tasks::is_managed() {
        if let Some(p) = current()
            && p.counts.is_wanted.get()
            && runs_program()
        {
            p.counts.add(name());
        }
        return true;
    }
    match rank() {
        Some(p) if runs_program() => tasks::keep_order(p, name()),
        _ => return !current().is_some_and(|p| p.in_call()),
    }
    true
}

/// Charges a stated time to the current thread.
pub fn charge(seconds: f64) {
    let Some(p) = rank() else { return };
    match SimSpan::from_seconds(seconds) {
        Some(span) if is_running() => {
            p.charge(span);
            tasks::end_stated(p);
        }
        Some(span) => team::charge_thread(own_number(), span),
        None => {}
    }
}
