//! Reader of the words of one line of a trace. Error messages name the line.

use super::ImportError;

/// Words of a line that have not been read.
pub(super) struct Words<'a> {
    line: usize,
    words: std::iter::Peekable<std::str::SplitAsciiWhitespace<'a>>,
}

impl<'a> Words<'a> {
    pub fn new(line: usize, text: &'a str) -> Self {
        Words { line, words: text.split_ascii_whitespace().peekable() }
    }

    pub fn error(&self, what: impl Into<String>) -> ImportError {
        ImportError { line: self.line, what: what.into() }
    }

    pub fn next(&mut self) -> Option<&'a str> {
        self.words.next()
    }

    pub fn peek(&mut self) -> Option<&'a str> {
        self.words.peek().copied()
    }

    /// Returns the unread words.
    pub fn rest(&self) -> impl Iterator<Item = &'a str> {
        self.words.clone()
    }

    /// Number of unread words.
    pub fn left(&self) -> usize {
        self.words.clone().count()
    }

    pub fn expect(&mut self, what: &str) -> Result<&'a str, ImportError> {
        self.next().ok_or_else(|| self.error(format!("expected {what}; found the end of the line")))
    }

    /// Reads the next word of the line as an integer.
    pub fn integer(&mut self, what: &str) -> Result<i64, ImportError> {
        let word = self.expect(what)?;
        word.parse().map_err(|_| self.error(format!("expected {what}, a whole number; found \"{word}\"")))
    }

    /// Reads a non-negative number; the form 1e6 is permitted.
    pub fn amount(&mut self, what: &str) -> Result<f64, ImportError> {
        let word = self.expect(what)?;
        let amount = word.parse::<f64>().ok().filter(|amount| amount.is_finite());
        amount.ok_or_else(|| self.error(format!("expected {what}, a number; found \"{word}\"")))
    }

    pub fn end(&mut self) -> Result<(), ImportError> {
        match self.next() {
            None => Ok(()),
            Some(word) => Err(self.error(format!("expected the end of the line; found \"{word}\""))),
        }
    }
}
