//! How a run is carried out: watched and steered, in which processes, with a screen for what programs print.

use std::sync::Arc;

use crate::engine::{Outcome, Processes, Progress, Screen};
use crate::process::{Output, Stream};
use crate::rank::Rank;

use super::error::{ErrorKind, PredictError};

/// Where what real programs print goes: as ranks print it, and between processes.
pub trait Console: Output + Screen {}

impl<T: Output + Screen> Console for T {}

/// A console that shows nothing.
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

/// A console that shows nothing.
pub fn silent() -> Arc<dyn Console> {
    Arc::new(Silent)
}

/// How a run is carried out.
#[derive(Clone, Copy)]
pub struct Conduct<'a> {
    /// Seen and steered from outside.
    pub progress: &'a Progress,
    /// In these processes, the first of which gets the result.
    pub processes: &'a Processes,
    /// Whether a trace is wanted.
    pub recorded: bool,
    /// Where what programs print goes.
    pub console: &'a Arc<dyn Console>,
}

/// What a run gave, on the first process.
#[derive(Debug)]
pub struct Prediction {
    /// The result.
    pub outcome: Outcome,
    /// The trace's bytes, if one was wanted.
    pub trace: Option<Vec<u8>>,
    /// The code that the program ended with: that of the first rank with another than 0.
    pub exit_code: u8,
    /// What to tell the user besides.
    pub notes: Vec<String>,
}

/// A failure that processes can tell each other.
pub trait Agreed: Sized {
    /// What kind it is, and its text.
    fn tell(&self) -> (ErrorKind, String);
    /// Another process has it.
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

/// Whether all could do a thing: if one could not, nobody goes on, and the first process says why.
///
/// # Errors
/// Its own failure on the process that has it; on the others that there was one.
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
