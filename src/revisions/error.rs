//! Failures of a test over the revisions of a program.

use std::fmt;

/// Reason why a test over revisions, or one run of the test, has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RevisionError {
    /// The request, the repository or the options file is invalid. The text of the error states the expected form.
    Input(String),
    /// A command of the test failed with this message.
    Program(String),
    /// The user interrupted the test.
    Interrupted,
}

impl RevisionError {
    /// Creates an error for wrong input that the user has to correct.
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
