//! Reports the positions of ranks whose code runs for a long time. The requesting thread sends a signal to each host
//! thread that runs ranks. Simulated programs do not receive the signal.

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

/// Signal that requests a position from a host thread. The default action of SIGURG is to ignore the signal. mcpsim
/// simulates signal handlers of programs, so a program's handler for SIGURG does not conflict.
const SIGNAL: c_int = libc::SIGURG;
/// Maximum time to wait for the answer of a host thread. A thread that does not answer is in a system call with
/// blocked signals.
const LONGEST: Duration = Duration::from_millis(500);

/// Answer of a host thread: the rank whose code runs on the thread, the rank's last MPI function, and the stack
/// trace.
type Answer = (Rank, &'static str, StackTrace);

/// States of [`StackRequest`]: no request, request sent, answer in progress, answer complete, and host thread without
/// a running rank.
const IDLE: u32 = 0;
const ASKED: u32 = 1;
const TAKEN: u32 = 2;
const ANSWERED: u32 = 3;
const NOBODY: u32 = 4;

struct StackRequest {
    state: AtomicU32,
    answer: UnsafeCell<MaybeUninit<Answer>>,
}

// SAFETY: the state determines which thread may access the answer: the asked thread in state TAKEN, and the requesting
// thread in state ANSWERED.
unsafe impl Sync for StackRequest {}

static QUESTION: StackRequest =
    StackRequest { state: AtomicU32::new(IDLE), answer: UnsafeCell::new(MaybeUninit::uninit()) };

/// Host threads that run ranks.
static THREADS: Mutex<Vec<libc::pthread_t>> = Mutex::new(Vec::new());

/// Listing of the current host thread in [`THREADS`]. The listing is removed when the thread ends.
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

/// Installs the signal handler that answers requests for positions of ranks.
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
    // SAFETY: the kernel passes a valid context to a handler that is installed with SA_SIGINFO.
    let words = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let registers = Registers(ORDER.map(|register| words[register as usize] as usize));
    let Some(p) = current().filter(|p| p.stack().contains(&registers.stack())) else {
        return state.store(NOBODY, Ordering::Release);
    };
    let trace = StackTrace::new(registers, &p.stack());
    // SAFETY: in state TAKEN only the asked thread, which is the current thread, accesses the answer.
    unsafe { (*QUESTION.answer.get()).write((p.rank, p.function.get(), trace)) };
    state.store(ANSWERED, Ordering::Release);
}

/// Returns the number and a text for each rank whose code is running. The text is such as "rank 1, after MPI_Barrier, in
/// main at ring.c:42".
pub fn running() -> Vec<(Rank, String)> {
    let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let answers = threads.iter().filter_map(|&thread| ask(thread));
    let mut found: Vec<(Rank, String)> = answers.map(|answer| (answer.0, text(&answer))).collect();
    found.sort();
    found
}

/// Requests the position of the rank that runs on a host thread. The caller must hold the lock of [`THREADS`].
fn ask(thread: libc::pthread_t) -> Option<Answer> {
    let state = &QUESTION.state;
    state.store(ASKED, Ordering::Release);
    // SAFETY: the caller holds the lock of `THREADS`, and a thread removes its listing before the thread ends, so the
    // thread exists.
    if unsafe { libc::pthread_kill(thread, SIGNAL) } != 0 {
        state.store(IDLE, Ordering::Release);
        return None;
    }
    let asked = Instant::now();
    loop {
        match state.load(Ordering::Acquire) {
            // SAFETY: in state ANSWERED the answer is initialised, and only the requesting thread accesses the answer.
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
