//! Plain text files with one item per line, such as a list of places for ranks.

use std::fmt::Display;
use std::path::Path;

use super::{ConfigError, document};

/// Non-empty lines of a text file with their line numbers.
#[derive(Clone, Debug)]
pub struct Lines {
    name: String,
    lines: Vec<(usize, String)>,
}

impl Lines {
    /// Reads the text file at `path`.
    ///
    /// # Errors
    /// The file is missing, a directory, or not text.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        let text = document::read_text(path, "plain text")?;
        Ok(Self::parse(&name, &text))
    }

    /// Splits `text` into lines; `name` is the file's name in messages.
    pub fn parse(name: &str, text: &str) -> Self {
        let lines = (1..)
            .zip(text.lines())
            .map(|(number, line)| (number, line.split('#').next().unwrap_or_default().trim().to_owned()))
            .filter(|(_, line)| !line.is_empty())
            .collect();
        Lines { name: name.to_owned(), lines }
    }

    /// Returns the lines with their line numbers, starting with 1. Comments (`#` to the end of the line) and blank
    /// lines are omitted.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines.iter().map(|(number, line)| (*number, line.as_str()))
    }

    /// Error for line `number`: `FILE:NUMBER: expected EXPECTED; found "FOUND"`.
    pub fn expected(&self, number: usize, expected: impl Display, found: &str) -> ConfigError {
        ConfigError::new(format!("{}:{number}: expected {expected}; found \"{found}\"", self.name))
    }

    /// Error for the whole file: `FILE: expected EXPECTED; found FOUND`.
    pub fn expected_in_all(&self, expected: impl Display, found: impl Display) -> ConfigError {
        ConfigError::new(format!("{}: expected {expected}; found {found}", self.name))
    }
}
