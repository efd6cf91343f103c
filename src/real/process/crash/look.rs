//! Where ranks' code is that goes on for long: asked by another thread of those that run it, by a signal that programs
//! are not given.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{ORDER, report};
use crate::process::current;
use crate::process::unwind::{Registers, StackTrace};
use mcpsim_core::rank::Rank;

/// Ignored where nobody handles it. What a program wants done about it is the rank's affair alone.
const SIGNAL: c_int = libc::SIGURG;
/// A thread that has not answered by then waits in the system where signals are held back.
const LONGEST: Duration = Duration::from_millis(500);

/// What a thread answers: the rank whose code it runs, the MPI function called last, where it is.
type Answer = (Rank, &'static str, StackTrace);

/// The states of [`StackRequest`]: nobody asks; a thread is to answer; it does; it has; it runs no rank's code.
const IDLE: u32 = 0;
const ASKED: u32 = 1;
const TAKEN: u32 = 2;
const ANSWERED: u32 = 3;
const NOBODY: u32 = 4;

struct StackRequest {
    state: AtomicU32,
    answer: UnsafeCell<MaybeUninit<Answer>>,
}

// SAFETY: the state says whose the answer is: from TAKEN on the thread's that is asked, from ANSWERED on the asker's.
unsafe impl Sync for StackRequest {}

static QUESTION: StackRequest =
    StackRequest { state: AtomicU32::new(IDLE), answer: UnsafeCell::new(MaybeUninit::uninit()) };

/// The threads that run ranks.
static THREADS: Mutex<Vec<libc::pthread_t>> = Mutex::new(Vec::new());

/// This thread among [`THREADS`], for as long as it is.
pub(super) struct Listed(libc::pthread_t);

impl Listed {
    pub fn new() -> Self {
        // SAFETY: always succeeds.
        let own = unsafe { libc::pthread_self() };
        THREADS.lock().unwrap_or_else(PoisonError::into_inner).push(own);
        Listed(own)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        THREADS.lock().unwrap_or_else(PoisonError::into_inner).retain(|&other| other != self.0);
    }
}

/// Makes the process ready for questions.
pub(super) fn install() {
    // SAFETY: the handler is a function of this signature; all zeros is a valid action.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = answer as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigaction(SIGNAL, &action, ptr::null_mut());
    }
}

unsafe extern "C" fn answer(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    let state = &QUESTION.state;
    if state.compare_exchange(ASKED, TAKEN, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return;
    }
    // SAFETY: what the system gives a handler.
    let words = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let registers = Registers(ORDER.map(|register| words[register as usize] as usize));
    let Some(p) = current().filter(|p| p.stack().contains(&registers.stack())) else {
        return state.store(NOBODY, Ordering::Release);
    };
    let trace = StackTrace::new(registers, &p.stack());
    // SAFETY: the answer is this thread's until the state says that it is given.
    unsafe { (*QUESTION.answer.get()).write((p.rank, p.function.get(), trace)) };
    state.store(ANSWERED, Ordering::Release);
}

/// The ranks whose code runs at the moment, and where: "rank 1, after MPI_Barrier, in main at ring.c:42".
pub fn running() -> Vec<String> {
    let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut found: Vec<String> = threads.iter().filter_map(|&thread| ask(thread)).map(|answer| text(&answer)).collect();
    found.sort();
    found
}

/// Asks a thread, which is there: the list is locked.
fn ask(thread: libc::pthread_t) -> Option<Answer> {
    let state = &QUESTION.state;
    state.store(ASKED, Ordering::Release);
    // SAFETY: the thread has not ended.
    if unsafe { libc::pthread_kill(thread, SIGNAL) } != 0 {
        state.store(IDLE, Ordering::Release);
        return None;
    }
    let asked = Instant::now();
    loop {
        match state.load(Ordering::Acquire) {
            // SAFETY: the answer is there.
            ANSWERED => return Some(unsafe { (*QUESTION.answer.get()).assume_init_read() }),
            NOBODY => return None,
            ASKED if asked.elapsed() > LONGEST => {
                if state.compare_exchange(ASKED, IDLE, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                    return None;
                }
            }
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

fn text((rank, function, trace): &Answer) -> String {
    let when = if function.is_empty() { "before any MPI call".to_owned() } else { format!("after {function}") };
    match report::innermost(trace) {
        Some(place) => format!("rank {rank}, {when}, in {place}"),
        None => format!("rank {rank}, {when}"),
    }
}
