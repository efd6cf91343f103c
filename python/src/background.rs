//! Execution of a simulation on another thread, while the interpreter handles signals and other Python threads run.
//! A panic ends only the call.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::failure;

/// Interval in which the calling thread handles signals and reports progress.
const PERIOD: Duration = Duration::from_millis(50);
/// Time that a simulation may take to end after a panic of one of its threads. Other threads may wait for that thread.
const PATIENCE: Duration = Duration::from_secs(5);

/// Number of panics in this process.
static PANICS: AtomicUsize = AtomicUsize::new(0);
/// Text and place of the last panic.
static LAST: Mutex<String> = Mutex::new(String::new());

/// Executes `work` on another thread. Meanwhile this thread calls `tick`, and handles the signals of the interpreter: an
/// exception calls `cancel`, and is raised when the work has ended.
///
/// # Errors
/// An exception of a signal handler or of `tick`, or a panic in `work`.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    cancel: impl Fn(),
    mut tick: impl FnMut() -> PyResult<()>,
) -> PyResult<T> {
    record_panics();
    let before = PANICS.load(Ordering::SeqCst);
    let (sender, mut receiver) = channel();
    let thread = std::thread::Builder::new().name("mcpsim".to_owned()).spawn(move || {
        // The receiver is dropped only after a panic of another thread of the simulation.
        let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
    });
    if let Err(error) = thread {
        return Err(failure::wrong(py, format!("cannot start a thread: {error}")));
    }
    let mut raised = None;
    let mut panicked: Option<Instant> = None;
    loop {
        let got;
        (receiver, got) = py.detach(move || next(receiver));
        match got {
            Ok(Ok(result)) => return raised.map_or(Ok(result), Err),
            Ok(Err(payload)) => return Err(failure::bug(py, &text_of(&*payload))),
            Err(RecvTimeoutError::Disconnected) => return Err(failure::bug(py, "a thread ended without a result")),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if raised.is_none()
            && let Err(error) = py.check_signals().and_then(|()| tick())
        {
            cancel();
            raised = Some(error);
        }
        if PANICS.load(Ordering::SeqCst) > before && panicked.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
            return Err(failure::bug(py, &last()));
        }
    }
}

type Received<T> = Result<std::thread::Result<T>, RecvTimeoutError>;

/// Waits for the result, at most for one period.
fn next<T: Send>(receiver: Receiver<std::thread::Result<T>>) -> (Receiver<std::thread::Result<T>>, Received<T>) {
    let got = receiver.recv_timeout(PERIOD);
    (receiver, got)
}

/// Installs a panic handler that prints nothing and stores the text of the panic.
fn record_panics() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            let place = info.location().map_or(String::new(), |at| format!(" ({}:{})", at.file(), at.line()));
            let text = text_of(info.payload());
            *LAST.lock().unwrap_or_else(PoisonError::into_inner) = format!("{text}{place}");
            PANICS.fetch_add(1, Ordering::SeqCst);
        }));
    });
}

fn last() -> String {
    LAST.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Returns the text of a panic. The last panic of the process has its place in the source too.
fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("no message");
    let last = last();
    if last.starts_with(text) { last } else { text.to_owned() }
}

/// Panics with `text`. Tests use this function to check the report of a bug.
#[pyfunction]
pub fn panic(py: Python<'_>, text: String) -> PyResult<()> {
    run(py, move || std::panic::panic_any(text), || (), || Ok(()))
}
