//! Detection of a thread that runs for a long host time without a call, while other threads of its rank wait. Such a
//! thread may wait for another thread in a loop, which never ends, because one thread of a rank runs at a time.
#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::tasks;
use super::threads::{rank_number, running_number};
use crate::process::wall;

/// Environment variable with the host time in seconds after which a note is printed; 0 prints no note.
const VARIABLE: &str = "MCPSIM_THREAD_NOTE";
/// Default value of the variable.
const SECONDS: f64 = 60.0;

/// Number of times that the process has passed the turn to the simulator or got the turn. The number is even while a
/// thread runs code of the program.
static TURNS: AtomicU64 = AtomicU64::new(0);
/// True after the note.
static NOTED: AtomicBool = AtomicBool::new(false);

/// Notes that the process passes the turn to the simulator, or that it has got the turn.
pub fn turn_changes() {
    TURNS.fetch_add(1, Ordering::Relaxed);
}

/// Returns the host time after which a note is printed, if it is printed.
fn limit() -> Option<Duration> {
    static LIMIT: OnceLock<Option<Duration>> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let seconds = match std::env::var(VARIABLE) {
            Err(_) => SECONDS,
            Ok(text) => text.parse().ok().filter(|seconds: &f64| *seconds >= 0.0).unwrap_or_else(|| {
                print(&format!("{VARIABLE}={text}: expected a number of seconds, such as 60, or 0 for no note"));
                SECONDS
            }),
        };
        Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero())
    })
}

/// Observation of the thread that runs, by a thread that waits.
pub struct TurnWatch {
    turn: u64,
    /// Host time in ns of the last change of the turn.
    since: u64,
}

impl TurnWatch {
    /// Begins an observation.
    pub fn new() -> TurnWatch {
        TurnWatch { turn: TURNS.load(Ordering::Relaxed), since: wall() }
    }

    /// Time until the next look.
    pub fn interval(&self) -> Duration {
        limit().map_or(Duration::from_secs(3600), |limit| (limit / 2).max(Duration::from_millis(1)))
    }

    /// Prints a note if a thread has run for too long without a call.
    pub fn look(&mut self) {
        let Some(limit) = limit() else { return };
        let turn = TURNS.load(Ordering::Relaxed);
        if turn != self.turn || turn % 2 == 1 {
            *self = TurnWatch::new();
        } else if Duration::from_nanos(wall().saturating_sub(self.since)) >= limit
            && !NOTED.swap(true, Ordering::Relaxed)
        {
            let thread = match tasks::of_number(running_number()) {
                Some(number @ 1..) => format!("thread {number}"),
                _ => "the main thread".to_owned(),
            };
            print(&format!(
                "rank {}: {thread} has run for {} s of host time without a call of MPI or of a function that waits for \
                 threads, and other threads of the rank wait. If it waits for another thread in a loop, the loop does not \
                 end: call sched_yield in it ({VARIABLE}=0 prints no note)",
                rank_number(),
                limit.as_secs_f64()
            ));
        }
    }
}

/// Prints a line on stderr.
fn print(text: &str) {
    let text = format!("mcpsim: {text}\n");
    // SAFETY: the text has the stated length.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}
