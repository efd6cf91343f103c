//! Exit codes of mcpsim, and the failures that cause them.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cc::CcError;
use crate::config::ConfigError;
use crate::engine::RunError;
use crate::rank::FailureKind;
use crate::report;
use crate::run::{Agreed, ErrorKind, PredictError};

/// True if the user started a real program by its own name, or started mcpsim under the name of a launcher such as
/// `mpiexec`.
static STANDS_FOR_PROGRAM: AtomicBool = AtomicBool::new(false);

/// Sets the exit code after a crash of the simulated program to the code that shells and launchers use: 128 plus the
/// signal number.
pub(super) fn stand_for_program() {
    STANDS_FOR_PROGRAM.store(true, Ordering::Relaxed);
}

/// Exit codes of `mcpsim run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The simulation run yields a prediction.
    Predicted,
    /// The simulated program failed.
    ProgramFailed,
    /// The simulated program exited with this code.
    Program(u8),
    /// The input or the command line is wrong, or a result cannot be written.
    BadInput,
    /// The simulated ranks are in a deadlock.
    Deadlock,
    /// The simulated program crashed.
    Crashed,
    /// The errors of the predictions exceed the allowed error.
    OverLimit,
    /// A bug in mcpsim.
    Bug,
    /// The user interrupted the simulation run.
    Interrupted,
}

impl Exit {
    /// Returns the exit code of mcpsim for this outcome.
    pub fn code(self) -> u8 {
        match self {
            Exit::Predicted => 0,
            Exit::ProgramFailed => 1,
            Exit::Program(code) => code,
            Exit::BadInput => 2,
            Exit::Deadlock => 3,
            Exit::Crashed => 4,
            Exit::OverLimit => 5,
            Exit::Bug => 70,
            Exit::Interrupted => 130,
        }
    }

    /// Returns the exit code category for this kind of input failure.
    pub fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Input => Exit::BadInput,
            ErrorKind::Program => Exit::ProgramFailed,
            ErrorKind::Exited(code) => Exit::Program(code),
            ErrorKind::Deadlock => Exit::Deadlock,
            ErrorKind::Crashed => Exit::Crashed,
            ErrorKind::Interrupted => Exit::Interrupted,
        }
    }

    /// Returns the exit code category for a simulation run without a prediction.
    pub fn without_prediction(error: &PredictError) -> Self {
        if let Some(RunError::Program { error: why, .. }) = error.simulation()
            && let FailureKind::Crashed { signal } = why.kind
        {
            return Exit::crashed(signal);
        }
        Exit::of(error.kind())
    }

    /// Returns the exit code category for a simulated program that was ended by the signal `signal`.
    pub fn crashed(signal: c_int) -> Self {
        match STANDS_FOR_PROGRAM.load(Ordering::Relaxed) {
            true => Exit::Program((128 + signal) as u8),
            false => Exit::Crashed,
        }
    }
}

/// Failure of an mcpsim command, with its message and exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// Exit code of the failed command.
    pub exit: Exit,
    /// Error message that is printed after `error: `, without a newline at its end.
    pub text: String,
}

impl Failure {
    /// Creates the failure for wrong input that the user has to correct.
    pub fn bad_input(text: impl Into<String>) -> Self {
        Failure { exit: Exit::BadInput, text: text.into() }
    }

    /// Creates a failure whose message is printed by another host process.
    pub fn said_elsewhere(exit: Exit) -> Self {
        Failure { exit, text: String::new() }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Failure::bad_input(error.to_string())
    }
}

impl From<CcError> for Failure {
    fn from(error: CcError) -> Self {
        Failure::bad_input(error.to_string())
    }
}

impl From<PredictError> for Failure {
    fn from(error: PredictError) -> Self {
        Failure { exit: Exit::without_prediction(&error), text: error.told(report::failure) }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        PredictError::from(error).into()
    }
}

impl Agreed for Failure {
    fn tell(&self) -> (ErrorKind, String) {
        let kind = match self.exit {
            Exit::Interrupted => ErrorKind::Interrupted,
            _ => ErrorKind::Input,
        };
        (kind, self.text.clone())
    }

    fn elsewhere(kind: ErrorKind, text: String) -> Self {
        Failure { exit: Exit::of(kind), text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::SimTime;

    #[test]
    fn each_kind_of_failure_has_its_exit_code() {
        for (kind, code) in [
            (ErrorKind::Input, 2),
            (ErrorKind::Program, 1),
            (ErrorKind::Exited(7), 7),
            (ErrorKind::Deadlock, 3),
            (ErrorKind::Crashed, 4),
            (ErrorKind::Interrupted, 130),
        ] {
            assert_eq!(Exit::of(kind).code(), code);
        }
        let clock = SimTime::from_ps(1_250_000);
        let failure = Failure::from(PredictError::from(RunError::Interrupted { clock }));
        assert_eq!((failure.exit.code(), &*failure.text), (130, "interrupted at virtual time 1.250 us"));
    }
}
