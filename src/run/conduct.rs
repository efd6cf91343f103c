//! Execution of a run: progress, host processes, and output of programs.

use std::sync::Arc;

use crate::engine::{Outcome, Processes, Progress, Screen};
use crate::process::{Output, Stream};
use crate::rank::Rank;

use super::error::{ErrorKind, PredictError};

/// Destination of real programs' output: from ranks, and between processes.
pub trait Console: Output + Screen {}

impl<T: Output + Screen> Console for T {}

/// Console that discards all output.
struct Silent;

impl Output for Silent {
    fn write(&self, _: Rank, _: Stream, _: &[u8]) {}
}

impl Screen for Silent {
    fn collect(&self) -> Vec<u8> {
        Vec::new()
    }

    fn show(&self, _: &[u8]) {}
}

/// Returns a console that discards all output.
pub fn silent() -> Arc<dyn Console> {
    Arc::new(Silent)
}

/// Execution parameters of a run.
#[derive(Clone, Copy)]
pub struct Conduct<'a> {
    /// Progress and cancellation.
    pub progress: &'a Progress,
    /// Host processes; the first one gets the result.
    pub processes: &'a Processes,
    /// True if a trace is recorded.
    pub recorded: bool,
    /// Destination of program output.
    pub console: &'a Arc<dyn Console>,
}

/// Result of a run, on the first process.
#[derive(Debug)]
pub struct Prediction {
    /// Outcome.
    pub outcome: Outcome,
    /// Bytes of the trace, if one was requested.
    pub trace: Option<Vec<u8>>,
    /// Exit code of the program: the first nonzero one in the order of ranks.
    pub exit_code: u8,
    /// Further notes for the user.
    pub notes: Vec<String>,
}

/// Failure that can be sent between processes.
pub trait Agreed: Sized {
    /// Returns the kind of failure and its text.
    fn tell(&self) -> (ErrorKind, String);
    /// Creates the error for a failure on another process.
    fn elsewhere(kind: ErrorKind, text: String) -> Self;
}

impl Agreed for PredictError {
    fn tell(&self) -> (ErrorKind, String) {
        (self.kind(), self.to_string())
    }

    fn elsewhere(kind: ErrorKind, text: String) -> Self {
        PredictError::Elsewhere { kind, text }
    }
}

/// Agrees on success over all processes. After any failure all processes stop, and the first one reports it.
///
/// # Errors
/// On the process that failed, its own error; on the others, a notice of it.
pub fn agree<T, E: Agreed>(processes: &Processes, result: Result<T, E>) -> Result<T, E> {
    if processes.count() == 1 {
        return result;
    }
    let mine = result.as_ref().err().map(|failure| (failure.tell(), processes.name()));
    let mut found = (0..).zip(processes.gather(mine));
    let first = found.find_map(|(process, failure)| Some((process, failure?)));
    match processes.broadcast(|| first) {
        None => result,
        Some((process, ((kind, text), name))) => Err(match (processes.is_first(), result) {
            (true, Err(failure)) if process == 0 => failure,
            (true, _) => E::elsewhere(kind, format!("{name}: {text}")),
            (false, _) => E::elsewhere(ErrorKind::Input, String::new()),
        }),
    }
}
