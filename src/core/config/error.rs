//! Errors in files and options.

use std::fmt;

/// One line that states the error, its place, and the expected value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    text: String,
}

impl ConfigError {
    /// Creates an error with any text. For values of files, prefer [`crate::config::Document::expected`].
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
