//! Ctrl-C and SIGTERM: the first asks the run to end, the second ends the process. So does time: a real program that calls no
//! MPI function never gives the run a chance to end.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::engine::{end_process, end_processes};

use super::exit::{Exit, Failure};

/// What a run gets to end by itself.
const PATIENCE: Duration = Duration::from_secs(3);

/// Signals that come so soon after the first are the same: `timeout` tells the process and its group, a terminal and its
/// shell may too.
const ECHO: Duration = Duration::from_millis(100);

/// A signal has come to this process, and so perhaps to all and to their launcher.
static HAS_COME: AtomicBool = AtomicBool::new(false);

/// Ends this process and all others at once, as a bug must: unless a signal is ending them, since a launcher that is told to
/// end them in two ways may hang.
pub(super) fn end_at_once(code: i32) -> ! {
    if HAS_COME.load(Ordering::Relaxed) { end_process(code) } else { end_processes(code) }
}

/// Until this is dropped an interruption is told here; from then on by who has it as the run's error, and what is left of
/// the process ends silently.
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

/// From now on a signal calls `cancel`, once, and this process tells the user if it `speaks`.
pub(super) fn listen(speaks: bool, cancel: impl Fn() + Send + 'static) -> Result<Listening, Failure> {
    let over = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&over);
    let end = move |why: &str| -> ! {
        if speaks && !is_over.load(Ordering::Relaxed) {
            let _ = writeln!(std::io::stderr(), "\nerror: {why}");
        }
        end_process(Exit::Interrupted.code().into())
    };
    let asked = OnceLock::new();
    ctrlc::set_handler(move || {
        HAS_COME.store(true, Ordering::Relaxed);
        if asked.set(Instant::now()).is_err() {
            if asked.get().is_some_and(|first| first.elapsed() < ECHO) {
                return;
            }
            end("interrupted twice, ended at once");
        }
        cancel();
        let end = end.clone();
        std::thread::spawn(move || {
            std::thread::sleep(PATIENCE);
            end("interrupted, and the run did not end within 3 s: ended at once");
        });
    })
    .map_err(|error| Failure::bad_input(format!("cannot listen for Ctrl-C: {error}")))?;
    Ok(Listening { over })
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
