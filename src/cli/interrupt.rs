//! Ctrl-C and SIGTERM: the first asks the run to end, the second ends the process. So does time: a real program that
//! calls no MPI function never gives the run a chance to end.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::engine::{end_process, end_processes};
use crate::process;

use super::exit::{Exit, Failure};
use super::watch;

/// What a run gets to end by itself.
const PATIENCE: Duration = Duration::from_secs(3);

/// Signals that come so soon after the first are the same: `timeout` tells the process and its group, a terminal and
/// its shell may too.
const ECHO: Duration = Duration::from_millis(100);

/// A signal has come to this process, and so perhaps to all and to their launcher.
static HAS_COME: AtomicBool = AtomicBool::new(false);

/// Ends this process and all others at once, as a bug must: unless a signal is ending them, since a launcher that is
/// told to end them in two ways may hang.
pub(super) fn end_at_once(code: i32) -> ! {
    if HAS_COME.load(Ordering::Relaxed) { end_process(code) } else { end_processes(code) }
}

/// Whom a signal asks to end, from `listen` on.
static RUNNING: Mutex<Option<InterruptibleRun>> = Mutex::new(None);

/// A run that can be asked to end.
struct InterruptibleRun {
    cancel: Box<dyn Fn() + Send>,
    over: Arc<AtomicBool>,
    speaks: bool,
    /// When it was asked.
    asked: Option<Instant>,
}

/// Until this is dropped an interruption is told here; from then on by who has it as the run's error, and what is left
/// of the process ends silently.
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

/// From now on a signal ends the process at once, as long as there is no run to ask: also where signals were ignored
/// when the process started, as a shell without job control does for what runs in the background. It is told if the
/// process `speaks`.
pub(super) fn end_by_signals(speaks: bool) -> Result<(), Failure> {
    static INSTALLED: OnceLock<Result<(), String>> = OnceLock::new();
    let installed =
        INSTALLED.get_or_init(|| ctrlc::set_handler(move || came(speaks)).map_err(|error| error.to_string()));
    installed.clone().map_err(|error| Failure::bad_input(format!("cannot listen for Ctrl-C: {error}")))
}

/// From now on a signal calls `cancel`, once, and this process tells the user if it `speaks`.
pub(super) fn listen(speaks: bool, cancel: impl Fn() + Send + 'static) -> Result<Listening, Failure> {
    end_by_signals(speaks)?;
    let over = Arc::new(AtomicBool::new(false));
    let running = InterruptibleRun { cancel: Box::new(cancel), over: Arc::clone(&over), speaks, asked: None };
    *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
    Ok(Listening { over })
}

/// A signal has come.
fn came(speaks: bool) {
    HAS_COME.store(true, Ordering::Relaxed);
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(running) = running.as_mut() else {
        end("interrupted", speaks, false);
    };
    let speaks = running.speaks;
    if let Some(asked) = running.asked {
        if asked.elapsed() >= ECHO {
            end("interrupted twice, ended at once", speaks, running.over.load(Ordering::Relaxed));
        }
        return;
    }
    running.asked = Some(Instant::now());
    (running.cancel)();
    let over = Arc::clone(&running.over);
    std::thread::spawn(move || {
        std::thread::sleep(PATIENCE);
        let told = over.load(Ordering::Relaxed);
        let mut why = "interrupted, and the run did not end within 3 s: ended at once".to_owned();
        let ranks = if told { Vec::new() } else { process::running_ranks() };
        if !ranks.is_empty() {
            why = format!("{why}; {}", watch::advice(&ranks));
        }
        end(&why, speaks, over.load(Ordering::Relaxed));
    });
}

/// Ends the process, and says why unless it does not speak or the run has told it.
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

    /// Runs only in the child process that the next test starts: interrupts itself until it is gone.
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
        assert!(text.ends_with("error: interrupted twice, ended at once\n"), "{text}");
    }
}
