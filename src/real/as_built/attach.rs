//! Process of a rank. It creates the rank's state and connects to the simulator at the first MPI call.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use mcpsim_core::mpi::abi;
use mcpsim_core::rank::{Call, FailureKind, FiberHandle, ProgramError, Rank};
use mcpsim_core::units::SimSpan;

use super::ahead::Ahead;
use super::connection::{self, RankTask, TaskSimulator};
use super::crashed;
use super::fork::{fork_ranks, preloaded};
use super::futex::code_around;
use super::gate::own_task;
use super::memory::{self, OpenedMemory};
use super::own_process::{own_library, own_stack, refuse, wait_for_debugger};
use super::setup::RankSetup;
use super::sync;
use super::sync::futexes::early_wakes;
use super::tasks;
use super::threads;
use super::wire::RankEnding;
use crate::mpi_api::MpiProcess;
use crate::process::{Endings, Interface, Process, RankStage, current, replacement, run_as};

static ATTACHED: AtomicPtr<MpiProcess> = AtomicPtr::new(std::ptr::null_mut());
/// True in a process that a rank has forked.
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Makes the forked process of a rank no rank.
extern "C" fn forked() {
    IS_CHILD.store(true, Ordering::Relaxed);
    connection::forget();
    crate::process::run_as_nobody();
}

/// Connects the process to the simulator as the rank for which it was started. Only the first call has an effect.
pub fn attach() {
    if !attached() {
        connect();
    }
}

/// Returns true if the process is a rank.
pub fn attached() -> bool {
    !ATTACHED.load(Ordering::Acquire).is_null()
}

/// Returns true if the current thread runs the rank's own code, not an MPI function.
extern "C" fn runs_rank_code() -> bool {
    threads::runs_program()
}

/// Returns the address of the function of virtual time that replaces the function `name` of the C library.
extern "C" fn replacement_of(name: *const c_char) -> usize {
    // SAFETY: the preloaded library passes a text that ends with a zero byte.
    let name = unsafe { CStr::from_ptr(name) };
    let found = name.to_str().ok().and_then(|name| sync::find(name).or_else(|| replacement(name)));
    found.expect("the simulator replaces the function")
}

/// Registers the functions of virtual time with the preloaded library.
fn register() {
    let (Some(clocks), Some(end)) = (preloaded(c"mcpsim_register"), preloaded(c"mcpsim_register_end")) else {
        refuse("the library libmcpsim_preload.so is missing in the process of a rank");
    };
    // The library's own calls of futex wait for the simulator.
    let code = code_around(register as *const () as usize);
    type Register = extern "C" fn(extern "C" fn(*const c_char) -> usize, extern "C" fn() -> bool);
    type RegisterEnd = extern "C" fn(extern "C" fn(c_int));
    // SAFETY: the preloaded library has functions with these names and signatures.
    unsafe {
        std::mem::transmute::<*mut c_void, Register>(clocks)(replacement_of, runs_rank_code);
        std::mem::transmute::<*mut c_void, RegisterEnd>(end)(ended);
        if let (Some(register), Some(code)) = (preloaded(c"mcpsim_register_code"), code) {
            std::mem::transmute::<*mut c_void, extern "C" fn(usize, usize)>(register)(code.start, code.len());
        }
    }
}

/// Makes the rank of the process the rank of the current thread. Each MPI function begins with this call. The first
/// call connects the process to the simulator.
#[inline]
pub fn needs_rank() {
    if current().is_none() || !threads::is_caller() {
        become_caller();
    }
}

/// Ends the measured block of the program at the start of an MPI function, before its arguments are converted.
#[inline]
pub fn begin_conversion() {
    if let Some(p) = current() {
        p.pause_timer();
    }
}

/// Starts a measured block of the program at the end of an MPI function, after its results were converted.
#[inline]
pub fn end_conversion() {
    if let Some(p) = current() {
        p.restart_timer();
    }
}

/// Makes the current thread the one that calls MPI.
#[cold]
fn become_caller() {
    if IS_CHILD.load(Ordering::Relaxed) {
        refuse("MPI was called by a second process of a rank: expected one process that calls MPI");
    }
    let is_first = !attached();
    attach();
    // SAFETY: the pointer is not null after `attach`, and the rank's state is never freed.
    let p = unsafe { &*ATTACHED.load(Ordering::Acquire) };
    if !is_first {
        if p.threads.provided.get() < abi::MPI_THREAD_SERIALIZED {
            refuse(
                "MPI was called by a second thread: expected calls by one thread, or MPI_Init_thread with \
                 MPI_THREAD_SERIALIZED",
            );
        }
        if p.in_call() || tasks::is_managed() {
            refuse(&format!(
                "a second thread called MPI while another thread was in {}: expected calls of one thread at a time, or \
                 of threads that pthread_create has started after MPI_Init_thread with MPI_THREAD_MULTIPLE",
                p.function.get()
            ));
        }
        threads::take_over(p);
        p.own_stack.set(own_stack());
        p.threads.is_main.set(threads::is_main());
    }
    run_as(p);
}

#[cold]
fn connect() {
    crate::process::use_host_clock();
    let variable = |name: &str| std::env::var(name).ok();
    let (Some(path), Some(rank)) = (variable(memory::FILE), variable(memory::RANK).and_then(|text| text.parse().ok()))
    else {
        refuse("this MPI library belongs to mcpsim: start the program with mcpsim");
    };
    let opened = OpenedMemory::new(&path).unwrap_or_else(|error| refuse(&format!("{path}: {error}")));
    let setup = RankSetup::read(&opened.setup).unwrap_or_else(|| refuse("unknown format of the run's description"));
    let job = setup.job().unwrap_or_else(|what| refuse(&what));
    // Forked processes have the same stack, and the system's answer takes long.
    let stack = own_stack();
    let rank: Rank = fork_ranks(&opened, &setup, &job, rank)
        .unwrap_or_else(|error| refuse(&format!("cannot open the streams of a rank: {error}")));
    let area = opened.table.area(rank).unwrap_or_else(|| refuse("the run has no such rank"));
    drop(opened);
    let owner = std::process::id();
    if let Err(other) = area.control().process.compare_exchange(0, owner, Ordering::AcqRel, Ordering::Acquire) {
        refuse(match other == owner {
            true => "a process of a rank uses two MPI libraries or programs: expected one program with one MPI library",
            false => "MPI was called by a second process of a rank: expected one process that calls MPI",
        });
    }
    area.control().library.store(own_library(), Ordering::Relaxed);
    if setup.debugged == Some(rank) {
        wait_for_debugger(rank);
    }
    let process: &'static MpiProcess = Box::leak(Box::new(MpiProcess::new(Process::new(Arc::new(job), rank))));
    process.own_stack.set(stack);
    // SAFETY: the functions are called with valid arguments.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if setup.runs_ahead && libc::sched_getscheduler(0) == libc::SCHED_OTHER {
            // A rank that a sender wakes begins after the sender has stopped, as under real-time policies.
            libc::sched_setscheduler(0, libc::SCHED_BATCH, &std::mem::zeroed());
        }
        libc::pthread_atfork(None, None, Some(forked));
    }
    crashed::watch(connection::report_crash);
    run_as(process);
    let reply = connection::connect(area, process, setup.runs_ahead.then(Ahead::default));
    process.clock.set(reply.clock);
    let simulator = Box::leak(Box::new(TaskSimulator::new(process, RankTask::Main, reply)));
    let handle: &'static FiberHandle<'static> = Box::leak(Box::new(FiberHandle::outside(simulator)));
    process.set_handle(handle);
    process.threads.most.set(if setup.has_threads { abi::MPI_THREAD_MULTIPLE } else { abi::MPI_THREAD_SERIALIZED });
    process.threads.other_in_mpi.set(Some(tasks::other_in_mpi));
    ATTACHED.store(std::ptr::from_ref(process).cast_mut(), Ordering::Release);
    register();
    threads::watch(process);
}

/// Reports the end of the rank to the simulator. The process then serves one-sided operations until the run ends.
extern "C" fn ended(code: c_int) {
    // A process that the rank has forked has no connection.
    let Some((p, false)) = connection::with(|connection| (connection.process(), connection.has_ended)) else { return };
    if own_task() != 0 {
        tasks::refuse_exit(p, code);
    }
    run_as(p);
    // SAFETY: the function has no requirements for a null pointer, which means all streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    let code = code & 0xff;
    let orderly = p.stage.get() != RankStage::Initialised;
    if code != 0 && !orderly {
        let place = p.position().map_or(String::new(), |place| format!("after {place}"));
        let error = ProgramError { kind: FailureKind::Exited { code }, place, what: "without MPI_Finalize".to_owned() };
        connection::with(|connection| connection.has_ended = true);
        p.call_done(Call::Fail(Box::new(error)));
        return;
    }
    if p.in_vain.get() > SimSpan::ZERO {
        p.job.idled_in_vain(p.rank, p.in_vain.get());
    }
    p.job.add_endings(Endings { early_wakes: early_wakes(p), ..Endings::default() });
    p.job.ended(p.rank, code, orderly);
    p.ended();
    let calls = p.counts.by_name().into_iter().map(|(name, calls)| (name.to_owned(), calls)).collect();
    let ending = RankEnding { endings: p.job.endings(), calls };
    connection::with(|connection| connection.end(&ending));
    p.call_done(Call::Finish);
}
