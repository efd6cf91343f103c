//! Errors of simulation runs that yield no prediction.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cc::CcError;
use crate::config::ConfigError;
use crate::engine::{Mistake, RunError};
use crate::rank::FailureKind;

/// Maximum number of lines about mistakes of the program in an error message.
const MOST_LINES: usize = 20;

/// Reason why a simulation run yields no prediction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PredictError {
    /// Invalid request: a file, a key, an option or the machine is wrong. The text describes the error, its position
    /// and the expected form.
    Input(String),
    /// The simulation ended without a prediction.
    Simulation(RunError),
    /// A simulation run in a separate host process failed with the stated message.
    Program(String),
    /// The user interrupted the simulation run before it had a result.
    Interrupted,
    /// Another host process of the simulation run has failed.
    Elsewhere {
        /// Kind of the failure, which determines the exit code.
        kind: ErrorKind,
        /// Message of the failure; empty if another host process prints the message.
        text: String,
    },
    /// The simulated program failed after mcpsim had found mistakes in the program's MPI calls.
    WithMistakes {
        /// Mistakes in MPI calls that were found before the failure.
        mistakes: Vec<Mistake>,
        /// The failure of the simulated program.
        error: Box<PredictError>,
    },
    /// A point of a study failed: the label of the point, and the error.
    At(String, Box<PredictError>),
}

/// Kinds of failure of a simulation run, which have different exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorKind {
    /// The input has an error that the user has to correct.
    Input,
    /// The simulated program failed.
    Program,
    /// The simulated program exited with the stated nonzero code.
    Exited(u8),
    /// The simulated ranks are in a deadlock.
    Deadlock,
    /// The simulated program crashed.
    Crashed,
    /// The user interrupted the simulation run.
    Interrupted,
}

impl PredictError {
    /// Creates an error for wrong input that the user has to correct.
    pub fn input(text: impl Into<String>) -> Self {
        PredictError::Input(text.into())
    }

    /// Creates the error for a file that cannot be written.
    pub fn cannot_write(name: impl fmt::Display, error: &std::io::Error) -> Self {
        PredictError::Input(format!("cannot write {name}: {error}"))
    }

    /// Adds the label of a study's point to the error message.
    #[must_use]
    pub fn at(self, point: impl Into<String>) -> Self {
        PredictError::At(point.into(), Box::new(self))
    }

    /// Returns the kind of the failure, which determines the exit code.
    pub fn kind(&self) -> ErrorKind {
        match self {
            PredictError::Input(_) => ErrorKind::Input,
            PredictError::Simulation(error) => kind_of(error),
            PredictError::Program(_) => ErrorKind::Program,
            PredictError::Interrupted => ErrorKind::Interrupted,
            PredictError::Elsewhere { kind, .. } => *kind,
            PredictError::At(_, error) | PredictError::WithMistakes { error, .. } => error.kind(),
        }
    }

    /// Returns the error of the simulation, if the simulation failed.
    pub fn simulation(&self) -> Option<&RunError> {
        match self {
            PredictError::Simulation(error) => Some(error),
            PredictError::WithMistakes { error, .. } => error.simulation(),
            _ => None,
        }
    }

    /// Returns the mistakes in the program's MPI calls that were found before the failure.
    pub fn mistakes(&self) -> &[Mistake] {
        match self {
            PredictError::WithMistakes { mistakes, .. } => mistakes,
            _ => &[],
        }
    }

    /// Returns the error message of a run. `tell` formats an error of the simulation engine.
    pub fn told(&self, tell: impl Fn(&RunError) -> String) -> String {
        match self {
            PredictError::Input(text) | PredictError::Program(text) | PredictError::Elsewhere { text, .. } => {
                text.clone()
            }
            PredictError::Simulation(error) => tell(error),
            PredictError::Interrupted => "interrupted".to_owned(),
            PredictError::WithMistakes { mistakes, error } => {
                let lines = Mistake::lines(mistakes).into_iter().take(MOST_LINES).map(|line| format!("\n  {line}"));
                error.told(tell) + &lines.collect::<String>()
            }
            PredictError::At(point, error) => format!("at {point}: {}", error.told(tell)),
        }
    }
}

fn kind_of(error: &RunError) -> ErrorKind {
    match error {
        RunError::Program { error, .. } => match error.kind {
            FailureKind::Error => ErrorKind::Program,
            FailureKind::Description | FailureKind::NoRoom => ErrorKind::Input,
            FailureKind::Aborted { code } | FailureKind::Exited { code } => match (code & 0xff) as u8 {
                0 => ErrorKind::Program,
                code => ErrorKind::Exited(code),
            },
            FailureKind::Crashed { .. } => ErrorKind::Crashed,
        },
        RunError::Truncated { .. } => ErrorKind::Program,
        // If a rank of a real job exits without MPI_Finalize, launchers also end the job with code 1.
        RunError::Deadlock(deadlock) if !deadlock.unfinalised.is_empty() => ErrorKind::Program,
        RunError::Deadlock(_) => ErrorKind::Deadlock,
        RunError::MaxTime { .. }
        | RunError::MaxEvents { .. }
        | RunError::MaxRequests { .. }
        | RunError::ClockOverflow { .. }
        | RunError::TooManyProcesses { .. }
        | RunError::NoLookahead { .. } => ErrorKind::Input,
        RunError::Interrupted { .. } => ErrorKind::Interrupted,
    }
}

impl fmt::Display for PredictError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told(RunError::to_string))
    }
}

impl std::error::Error for PredictError {}

impl From<ConfigError> for PredictError {
    fn from(error: ConfigError) -> Self {
        PredictError::Input(error.to_string())
    }
}

impl From<CcError> for PredictError {
    fn from(error: CcError) -> Self {
        PredictError::Input(error.to_string())
    }
}

impl From<RunError> for PredictError {
    fn from(error: RunError) -> Self {
        PredictError::Simulation(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Deadlock;
    use crate::rank::ProgramError;
    use crate::units::{Bytes, SimTime};

    #[test]
    fn each_way_to_fail_has_its_kind() {
        let clock = SimTime::from_ps(1_250_000);
        let program = |kind| {
            let error = ProgramError { kind, place: "main[0]".into(), what: "no".into() };
            RunError::Program { rank: 0, clock, error }
        };
        let (size, capacity) = (Bytes::new(2), Bytes::new(1));
        let kind = |error: RunError| PredictError::from(error).kind();
        assert_eq!(kind(program(FailureKind::Error)), ErrorKind::Program);
        assert_eq!(kind(program(FailureKind::Description)), ErrorKind::Input);
        assert_eq!(kind(program(FailureKind::NoRoom)), ErrorKind::Input);
        for (given, ends) in [(7, ErrorKind::Exited(7)), (256, ErrorKind::Program), (-1, ErrorKind::Exited(255))] {
            assert_eq!(kind(program(FailureKind::Aborted { code: given })), ends);
            assert_eq!(kind(program(FailureKind::Exited { code: given })), ends);
        }
        assert_eq!(kind(program(FailureKind::Crashed { signal: 11 })), ErrorKind::Crashed);
        let truncated = RunError::Truncated { rank: 0, source: 1, size, capacity, clock, position: None };
        assert_eq!(kind(truncated), ErrorKind::Program);
        let deadlock = |unfinalised| {
            RunError::Deadlock(Deadlock { waiting: vec![], finished: 1, threads: vec![], unfinalised, codes: vec![] })
        };
        assert_eq!(kind(deadlock(vec![])), ErrorKind::Deadlock);
        assert_eq!(kind(deadlock(vec![1])), ErrorKind::Program);
        assert_eq!(kind(RunError::MaxTime { rank: 0, limit: clock, position: None }), ErrorKind::Input);
        assert_eq!(kind(RunError::MaxEvents { limit: 5, clock }), ErrorKind::Input);
        assert_eq!(kind(RunError::MaxRequests { rank: 0, limit: 5, position: None }), ErrorKind::Input);
        assert_eq!(kind(RunError::ClockOverflow { rank: 0, position: None }), ErrorKind::Input);
        let interrupted = PredictError::from(RunError::Interrupted { clock });
        assert_eq!(interrupted.kind(), ErrorKind::Interrupted);
        assert_eq!(interrupted.at("n=1").to_string(), "at n=1: interrupted at virtual time 1.250 us");
    }
}
