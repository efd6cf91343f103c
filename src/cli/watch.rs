//! Watchdog that detects simulation runs without progress. If a rank waits for another rank without an MPI call, the
//! simulator does not know about the wait and cannot continue.

use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::engine::Progress;
use crate::process;

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
            let (mut known, mut since) = (None, Instant::now());
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                let now = Some((progress.time(), progress.messages()));
                if known != now {
                    (known, since) = (now, Instant::now());
                } else if since.elapsed() >= LONG {
                    let ranks = process::running_ranks();
                    if !ranks.is_empty() {
                        let _ = writeln!(
                            std::io::stderr(),
                            "note: in the last {} s only this code has run: {}",
                            LONG.as_secs(),
                            advice(&ranks)
                        );
                        return;
                    }
                    since = Instant::now();
                }
            }
        });
        Watch { watching: Some((end, thread)) }
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
pub(super) fn advice(ranks: &[String]) -> String {
    format!(
        "{}. If this code waits in a loop for another rank, call MPI, or MPI_Win_sync, sched_yield or usleep in the \
         loop, so that the other rank can run",
        ranks.join("; ")
    )
}
