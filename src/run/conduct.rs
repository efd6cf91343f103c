//! Context in which a simulation run executes: progress, host processes, and destination of program output.

use std::sync::Arc;

use crate::engine::{Outcome, Processes, Progress, Screen};
use crate::process::{Output, Stream};
use crate::rank::Rank;

use super::error::{ErrorKind, PredictError};

/// Destination of real programs' output. The console prints the output of simulated ranks, and merges the output of
/// several host processes.
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

/// Context in which a simulation run executes.
#[derive(Clone, Copy)]
pub struct Conduct<'a> {
    /// Progress of the run, which also receives the cancellation.
    pub progress: &'a Progress,
    /// Host processes that execute the run. The first host process gets the result.
    pub processes: &'a Processes,
    /// True if the simulation run records a trace.
    pub recorded: bool,
    /// Destination of the simulated program's output.
    pub console: &'a Arc<dyn Console>,
}

/// Result of a simulation run on the first host process.
#[derive(Debug)]
pub struct Prediction {
    /// Outcome of the simulation run.
    pub outcome: Outcome,
    /// Content of the trace file, if the run recorded a trace.
    pub trace: Option<Vec<u8>>,
    /// Exit code of the simulated program: the first nonzero exit code in the order of ranks.
    pub exit_code: u8,
    /// Notes for the user in addition to those of the Outcome.
    pub notes: Vec<String>,
}

/// Error that can be sent to the other host processes.
pub trait Agreed: Sized {
    /// Returns the kind of the error and its text.
    fn tell(&self) -> (ErrorKind, String);
    /// Creates the error that reports a failure of another host process.
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

/// Exchanges between all host processes if an operation succeeded on each host process. If the operation failed on any
/// host process, all host processes stop, and the first host process reports the failure.
///
/// # Errors
/// Returns this host process's own error if the operation failed on it, otherwise an error about the host process on
/// which the operation failed.
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
