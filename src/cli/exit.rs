//! How the process ends: the exit codes, which README states, and the failures that lead to them.

use crate::cc::CcError;
use crate::config::ConfigError;
use crate::engine::RunError;
use crate::rank::FailureKind;
use crate::report;

/// The exit codes of `mcpsim run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// There is a prediction.
    Predicted,
    /// The target program itself failed.
    ProgramFailed,
    /// The target program ended itself with this code.
    Program(u8),
    /// Bad input or usage, or a result that could not be written.
    BadInput,
    /// Nobody can go on.
    Deadlock,
    /// The target program crashed.
    Crashed,
    /// Predictions are further from what was measured than allowed.
    OverLimit,
    /// A bug in mcpsim.
    Bug,
    /// The user interrupted the run.
    Interrupted,
}

impl Exit {
    /// The process's exit code.
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

    fn of_program(kind: FailureKind) -> Self {
        match kind {
            FailureKind::Error => Exit::ProgramFailed,
            FailureKind::Description => Exit::BadInput,
            FailureKind::Aborted { code } | FailureKind::Exited { code } => match (code & 0xff) as u8 {
                0 => Exit::ProgramFailed,
                code => Exit::Program(code),
            },
            FailureKind::Crashed { .. } => Exit::Crashed,
        }
    }
}

/// Why there is no result, and how the process ends for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// What is printed after `error: `, without a newline at the end.
    pub text: String,
}

impl Failure {
    /// Something the user has to change.
    pub fn bad_input(text: impl Into<String>) -> Self {
        Failure { exit: Exit::BadInput, text: text.into() }
    }

    /// Another process tells the user.
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

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let exit = match error {
            RunError::Program { ref error, .. } => Exit::of_program(error.kind),
            RunError::Truncated { .. } => Exit::ProgramFailed,
            RunError::Deadlock(_) => Exit::Deadlock,
            RunError::MaxTime { .. }
            | RunError::MaxEvents { .. }
            | RunError::ClockOverflow { .. }
            | RunError::TooManyProcesses { .. }
            | RunError::NoLookahead { .. } => Exit::BadInput,
            RunError::Interrupted { .. } => Exit::Interrupted,
        };
        Failure { exit, text: report::failure(&error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Deadlock;
    use crate::rank::ProgramError;
    use crate::units::{Bytes, SimTime};

    #[test]
    fn each_way_to_fail_has_its_exit_code() {
        let clock = SimTime::from_ps(1_250_000);
        let program = |kind| {
            let error = ProgramError { kind, place: "main[0]".into(), what: "no".into() };
            RunError::Program { rank: 0, clock, error }
        };
        let (size, capacity) = (Bytes::new(2), Bytes::new(1));
        let code = |error: RunError| Failure::from(error).exit.code();
        assert_eq!(code(program(FailureKind::Error)), 1);
        assert_eq!(code(program(FailureKind::Description)), 2);
        for (given, ends) in [(7, 7), (256, 1), (0, 1), (-1, 255), (2, 2)] {
            assert_eq!(code(program(FailureKind::Aborted { code: given })), ends);
            assert_eq!(code(program(FailureKind::Exited { code: given })), ends);
        }
        assert_eq!(code(program(FailureKind::Crashed { signal: 11 })), 4);
        assert_eq!(code(RunError::Truncated { rank: 0, source: 1, size, capacity, clock, position: None }), 1);
        assert_eq!(code(RunError::Deadlock(Deadlock { waiting: vec![], finished: 0 })), 3);
        assert_eq!(code(RunError::MaxTime { rank: 0, limit: clock, position: None }), 2);
        assert_eq!(code(RunError::MaxEvents { limit: 5, clock }), 2);
        assert_eq!(code(RunError::ClockOverflow { rank: 0, position: None }), 2);
        assert_eq!(code(RunError::Interrupted { clock }), 130);
        assert_eq!(Failure::from(RunError::Interrupted { clock }).text, "interrupted at virtual time 1.250 us");
    }
}
