//! Reading and layering TOML: a file, then `--set key=value`; errors that name file, key, value and what was expected.
//!
//! Knows nothing of what the keys mean.

mod document;
mod error;
mod over;

pub use document::Document;
pub use error::ConfigError;
pub use over::Override;
