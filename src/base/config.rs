//! Reads TOML files and applies the options `--set key=value` to the contents. Errors name the file, the key, the value
//! and the expected value. Also reads plain lists with one item per line.
//!
//! This module does not depend on the meaning of the keys.

mod conformity;
mod document;
mod error;
mod foreign;
mod input_hash;
mod inputs;
mod lines;
mod over;
mod schema;
mod similar;
mod source;

pub use conformity::schema_faults;
pub use document::{Document, read_text};
pub use error::ConfigError;
pub use foreign::{foreign_directory, foreign_file, moved_list};
pub use input_hash::InputHash;
pub use inputs::{is_input, note_input};
pub use lines::Lines;
pub use over::Override;
pub use schema::{json_schema, schema_part};
pub use similar::did_you_mean;
pub use source::SourceLines;
