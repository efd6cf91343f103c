//! Reading and layering TOML: a file, then `--set key=value`; errors that name file, key, value and what was expected.
//! Plain lists of one entry a line are read here too.
//!
//! Knows nothing of what the keys mean.

mod document;
mod error;
mod lines;
mod over;
mod similar;
mod source;

pub use document::{Document, read_text};
pub use error::ConfigError;
pub use lines::Lines;
pub use over::Override;
pub use similar::did_you_mean;
pub use source::SourceLines;
