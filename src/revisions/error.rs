//! Failures of a test over revisions.

use std::fmt;

/// Reason why a test or a run of it has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RevisionError {
    /// Invalid request, repository or file. The text states the expected form.
    Input(String),
    /// A command failed, with this message.
    Program(String),
    /// The test was interrupted.
    Interrupted,
}

impl RevisionError {
    /// Creates an error that the user has to correct.
    pub fn input(text: impl Into<String>) -> Self {
        RevisionError::Input(text.into())
    }
}

impl fmt::Display for RevisionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RevisionError::Input(text) | RevisionError::Program(text) => f.write_str(text),
            RevisionError::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for RevisionError {}
