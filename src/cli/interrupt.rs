//! Handling of Ctrl-C and SIGTERM. The first signal cancels the simulation run, and a second signal ends the host
//! process. A timeout also ends the host process, because a real program that makes no MPI calls never checks for
//! cancellation.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::process;

use super::exit::{Exit, Failure};
use super::processes::{end_process, end_processes};
use super::watch;

/// Time within which a cancelled simulation run must end.
const PATIENCE: Duration = Duration::from_secs(3);

/// Time after the first signal during which further signals count as the same signal. `timeout`, terminals and shells
/// may send one signal to the host process and another to its process group.
const ECHO: Duration = Duration::from_millis(100);

/// True if this host process has received a signal. Other host processes and the launcher may also have received the
/// signal.
static HAS_COME: AtomicBool = AtomicBool::new(false);

/// Ends this host process and all other host processes at once, as after a bug. If a signal is already ending the other
/// host processes, the function ends only this process, because an MPI launcher may hang if two host processes end the
/// job.
pub(super) fn end_at_once(code: i32) -> ! {
    if HAS_COME.load(Ordering::Relaxed) { end_process(code) } else { end_processes(code) }
}

/// Simulation run that a signal cancels, set by `listen`.
static RUNNING: Mutex<Option<InterruptibleRun>> = Mutex::new(None);

/// Simulation run that a signal can cancel.
struct InterruptibleRun {
    cancel: Box<dyn Fn() + Send>,
    over: Arc<AtomicBool>,
    speaks: bool,
    /// Host time at which a signal cancelled the simulation run.
    asked: Option<Instant>,
}

/// Guard of the signal handling. Until the guard `Listening` is dropped, the signal handler prints messages about
/// interruptions. After the guard is dropped, the error of the simulation run reports the interruption, and signals end
/// the host process silently.
#[derive(Debug)]
#[must_use]
pub(super) struct Listening {
    over: Arc<AtomicBool>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Makes signals end the host process at once, while there is no simulation run to cancel. Signals that were ignored
/// when the process started also end the process, because a shell without job control makes background processes ignore
/// signals. The process prints a message about the signal if `speaks` is true.
pub(super) fn end_by_signals(speaks: bool) -> Result<(), Failure> {
    static INSTALLED: OnceLock<Result<(), String>> = OnceLock::new();
    let installed =
        INSTALLED.get_or_init(|| ctrlc::set_handler(move || came(speaks)).map_err(|error| error.to_string()));
    installed.clone().map_err(|error| Failure::bad_input(format!("cannot install the handler of Ctrl-C: {error}")))
}

/// Makes the first signal call `cancel`. This host process prints a message about the signal if `speaks` is true.
pub(super) fn listen(speaks: bool, cancel: impl Fn() + Send + 'static) -> Result<Listening, Failure> {
    end_by_signals(speaks)?;
    let over = Arc::new(AtomicBool::new(false));
    let running = InterruptibleRun { cancel: Box::new(cancel), over: Arc::clone(&over), speaks, asked: None };
    *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
    Ok(Listening { over })
}

/// Handles a signal that the host process has received.
fn came(speaks: bool) {
    HAS_COME.store(true, Ordering::Relaxed);
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(running) = running.as_mut() else {
        end("interrupted", speaks, false);
    };
    let speaks = running.speaks;
    if let Some(asked) = running.asked {
        if asked.elapsed() >= ECHO {
            end("interrupted twice: mcpsim ended at once", speaks, running.over.load(Ordering::Relaxed));
        }
        return;
    }
    running.asked = Some(Instant::now());
    (running.cancel)();
    let over = Arc::clone(&running.over);
    std::thread::spawn(move || {
        std::thread::sleep(PATIENCE);
        let told = over.load(Ordering::Relaxed);
        let mut why = "interrupted: the run did not stop within 3 s, so mcpsim ended at once".to_owned();
        let ranks = if told { Vec::new() } else { process::running_ranks() };
        if !ranks.is_empty() {
            why = format!("{why}; {}", watch::advice(&ranks));
        }
        end(&why, speaks, over.load(Ordering::Relaxed));
    });
}

/// Ends the host process. Prints the reason, unless `speaks` is false or the simulation run has printed the reason.
fn end(why: &str, speaks: bool, told: bool) -> ! {
    if speaks && !told {
        let _ = writeln!(std::io::stderr(), "\nerror: {why}");
    }
    end_process(Exit::Interrupted.code().into())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Sends signals to its own process until the process ends. The function sends signals only in the child process
    /// that the next test starts.
    #[test]
    fn child_that_is_interrupted() {
        if std::env::var_os("MCPSIM_TEST_INTERRUPT").is_some() {
            let _listening = listen(true, || ()).unwrap();
            for _ in 0..1000 {
                Command::new("kill").args(["-INT", &std::process::id().to_string()]).status().unwrap();
            }
        }
    }

    #[test]
    fn a_second_interrupt_ends_the_process_with_130() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["cli::interrupt::tests::child_that_is_interrupted", "--exact", "--nocapture"])
            .env("MCPSIM_TEST_INTERRUPT", "1")
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(130), "{text}");
        assert!(text.ends_with("error: interrupted twice: mcpsim ended at once\n"), "{text}");
    }
}
