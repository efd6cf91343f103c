//! How the process ends: the exit codes, which README states, and the failures that lead to them.

use crate::capi::cc::CcError;
use crate::config::ConfigError;
use crate::engine::RunError;
use crate::report;

/// The exit codes of `mcpsim run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// There is a prediction.
    Predicted = 0,
    /// The target program itself failed.
    ProgramFailed = 1,
    /// Bad input or usage, or a result that could not be written.
    BadInput = 2,
    /// Nobody can go on.
    Deadlock = 3,
    /// A bug in mcpsim.
    Bug = 70,
    /// The user interrupted the run.
    Interrupted = 130,
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
            // A described program that cannot go on is a wrong description.
            RunError::Program { .. } => Exit::BadInput,
            RunError::Truncated { .. } => Exit::ProgramFailed,
            RunError::Deadlock(_) => Exit::Deadlock,
            RunError::MaxTime { .. } | RunError::MaxEvents { .. } | RunError::ClockOverflow { .. } => Exit::BadInput,
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
        let error = ProgramError { place: "main[0]".into(), what: "no".into() };
        let (size, capacity) = (Bytes::new(2), Bytes::new(1));
        let code = |error: RunError| Failure::from(error).exit as u8;
        assert_eq!(code(RunError::Program { rank: 0, clock, error }), 2);
        assert_eq!(code(RunError::Truncated { rank: 0, source: 1, size, capacity, clock, position: None }), 1);
        assert_eq!(code(RunError::Deadlock(Deadlock { waiting: vec![], finished: 0 })), 3);
        assert_eq!(code(RunError::MaxTime { rank: 0, limit: clock, position: None }), 2);
        assert_eq!(code(RunError::MaxEvents { limit: 5, clock }), 2);
        assert_eq!(code(RunError::ClockOverflow { rank: 0, position: None }), 2);
        assert_eq!(code(RunError::Interrupted { clock }), 130);
        assert_eq!(Failure::from(RunError::Interrupted { clock }).text, "interrupted at virtual time 1.250 us");
    }
}
