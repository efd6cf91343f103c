//! What is wrong with a file or an option.

use std::fmt;

/// One line that says what is wrong, where, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    text: String,
}

impl ConfigError {
    /// An error of any form; prefer [`crate::config::Document::expected`] for values of files.
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
