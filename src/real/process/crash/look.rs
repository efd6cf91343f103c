//! Positions of ranks whose code runs for a long time. Another thread requests them with a signal that is not delivered
//! to programs.

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

/// Default action of this signal: ignore. Handlers of programs are simulated and do not affect it.
const SIGNAL: c_int = libc::SIGURG;
/// Maximum time for an answer. A thread without an answer is in a system call with signals blocked.
const LONGEST: Duration = Duration::from_millis(500);

/// Answer of a thread: the rank whose code it runs, the last MPI function, and the stack trace.
type Answer = (Rank, &'static str, StackTrace);

/// States of [`StackRequest`]: no request; request sent; answer in progress; answer complete; thread runs no rank's
/// code.
const IDLE: u32 = 0;
const ASKED: u32 = 1;
const TAKEN: u32 = 2;
const ANSWERED: u32 = 3;
const NOBODY: u32 = 4;

struct StackRequest {
    state: AtomicU32,
    answer: UnsafeCell<MaybeUninit<Answer>>,
}

// SAFETY: the state determines the owner of the answer: the asked thread from TAKEN on, the requesting thread from
// ANSWERED on.
unsafe impl Sync for StackRequest {}

static QUESTION: StackRequest =
    StackRequest { state: AtomicU32::new(IDLE), answer: UnsafeCell::new(MaybeUninit::uninit()) };

/// Threads that run ranks.
static THREADS: Mutex<Vec<libc::pthread_t>> = Mutex::new(Vec::new());

/// Entry of this thread in [`THREADS`], removed at the end of the thread.
pub(super) struct Listed(libc::pthread_t);

impl Listed {
    pub fn new() -> Self {
        // SAFETY: `pthread_self` has no preconditions.
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

/// Installs the handler for requests.
pub(super) fn install() {
    // SAFETY: zero is a valid `sigaction`, and the handler has the signature that SA_SIGINFO requires.
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
    // SAFETY: the kernel passes a valid context to a handler with SA_SIGINFO.
    let words = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let registers = Registers(ORDER.map(|register| words[register as usize] as usize));
    let Some(p) = current().filter(|p| p.stack().contains(&registers.stack())) else {
        return state.store(NOBODY, Ordering::Release);
    };
    let trace = StackTrace::new(registers, &p.stack());
    // SAFETY: in state TAKEN the answer belongs to this thread.
    unsafe { (*QUESTION.answer.get()).write((p.rank, p.function.get(), trace)) };
    state.store(ANSWERED, Ordering::Release);
}

/// Returns the ranks whose code runs now, and their positions, such as "rank 1, after MPI_Barrier, in main at
/// ring.c:42".
pub fn running() -> Vec<String> {
    let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut found: Vec<String> = threads.iter().filter_map(|&thread| ask(thread)).map(|answer| text(&answer)).collect();
    found.sort();
    found
}

/// Requests the position of a thread. The thread exists, because the list is locked.
fn ask(thread: libc::pthread_t) -> Option<Answer> {
    let state = &QUESTION.state;
    state.store(ASKED, Ordering::Release);
    // SAFETY: the thread has not ended, because the list is locked.
    if unsafe { libc::pthread_kill(thread, SIGNAL) } != 0 {
        state.store(IDLE, Ordering::Release);
        return None;
    }
    let asked = Instant::now();
    loop {
        match state.load(Ordering::Acquire) {
            // SAFETY: in state ANSWERED the answer is initialised and belongs to this thread.
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
