//! Error type for input files and command-line options.

use std::fmt;

/// An error in an input file or option: one line that states the error, its position, and the expected value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    text: String,
}

impl ConfigError {
    /// Creates an error with the text `text`. For an error about a value in a file, use
    /// [`crate::config::Document::expected`].
    pub fn new(text: impl Into<String>) -> Self {
        ConfigError { text: text.into() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for ConfigError {}
