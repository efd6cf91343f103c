//! Watchdog that detects simulation runs without progress. If a rank waits for another rank without an MPI call, the
//! simulator does not know about the wait and cannot continue.

use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::engine::Progress;
use crate::process;
use crate::rank::Rank;
use crate::units::SimTime;

/// Interval in which the watchdog checks the progress of the run.
const PERIOD: Duration = Duration::from_secs(1);
/// Compute time of a rank since its last MPI call after which the watchdog prints a note.
const LONG: Duration = Duration::from_secs(20);

/// Thread that watches a run. Dropping the [`Watch`] ends the thread.
#[derive(Debug)]
pub(super) struct Watch {
    watching: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Watch {
    /// Starts to watch a run; the watchdog prints at most one note on stderr.
    pub fn start(progress: &Arc<Progress>) -> Self {
        let (end, ended) = channel();
        let progress = Arc::clone(progress);
        let thread = std::thread::spawn(move || {
            let mut stall = Stall::new(Instant::now());
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                let reached = (progress.time(), progress.messages());
                let ranks = if stall.is_at(reached) { process::running_ranks() } else { Vec::new() };
                let numbers = ranks.iter().map(|&(rank, _)| rank).collect();
                if stall.lasts(reached, numbers, Instant::now()) >= LONG && !ranks.is_empty() {
                    let (long, advice) = (LONG.as_secs(), advice(&ranks));
                    let _ = writeln!(std::io::stderr(), "note: in the last {long} s only this code has run: {advice}");
                    return;
                }
            }
        });
        Watch { watching: Some((end, thread)) }
    }
}

/// Virtual time of a run and the number of its messages.
type Reached = (SimTime, u64);

/// Measures how long a run makes no progress.
struct Stall {
    reached: Reached,
    ranks: Vec<Rank>,
    since: Instant,
}

impl Stall {
    fn new(now: Instant) -> Self {
        Stall { reached: (SimTime::ZERO, 0), ranks: Vec::new(), since: now }
    }

    fn is_at(&self, reached: Reached) -> bool {
        self.reached == reached
    }

    /// Records what the run has reached and which ranks run. Returns for how long neither has changed. No ranks means
    /// that the simulator itself runs, for example for a call of the same rank.
    fn lasts(&mut self, reached: Reached, ranks: Vec<Rank>, now: Instant) -> Duration {
        if self.reached != reached || (!ranks.is_empty() && self.ranks != ranks) {
            *self = Stall { reached, ranks, since: now };
        }
        now - self.since
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.watching.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}

/// Returns the source positions of the ranks, and advice if the ranks seem to wait at these positions.
pub(super) fn advice(ranks: &[(Rank, String)]) -> String {
    let places: Vec<&str> = ranks.iter().map(|(_, place)| &**place).collect();
    format!(
        "{}. If this code waits in a loop for another rank, call MPI, or MPI_Win_sync, sched_yield or usleep in the \
         loop, so that the other rank can run",
        places.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_whose_ranks_take_turns_makes_progress() {
        let start = Instant::now();
        let second = |n: u64| start + Duration::from_secs(n);
        let mut stall = Stall::new(start);
        let mut lasts =
            |messages, ranks: &[Rank], at| stall.lasts((SimTime::ZERO, messages), ranks.to_vec(), second(at)).as_secs();
        assert_eq!(lasts(0, &[0], 1), 0);
        assert_eq!(lasts(0, &[0], 20), 19);
        assert_eq!(lasts(0, &[1], 21), 0);
        assert_eq!(lasts(0, &[], 30), 9);
        assert_eq!(lasts(0, &[1], 41), 20);
        assert_eq!(lasts(1, &[1], 42), 0);
    }
}
