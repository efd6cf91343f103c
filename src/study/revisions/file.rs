//! A test over revisions as a file: the options of the command under their names.

use std::path::PathBuf;

use serde::Deserialize;

use crate::config::{ConfigError, Document};

/// What the file of a test may state; what is typed comes first. Paths are relative to the file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RevisionFile {
    /// The repository.
    pub repo: Option<PathBuf>,
    /// The command that builds.
    pub build: Option<String>,
    /// The program with its arguments.
    pub run: Option<String>,
    /// Revisions and ranges.
    #[serde(default)]
    pub revisions: Vec<String>,
    /// Further arguments.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Runs of each.
    pub repeats: Option<u32>,
    /// Whether runs are real.
    #[serde(default)]
    pub real: bool,
    /// The text before the time.
    pub time_after: Option<String>,
    /// Nodes, CMPs, cores.
    pub nct: Option<String>,
    /// The machine's file.
    pub platform: Option<PathBuf>,
    /// The number of ranks.
    pub ranks: Option<u32>,
    /// `KEY=VALUE` each.
    #[serde(default)]
    pub set: Vec<String>,
}

impl RevisionFile {
    /// Reads `document`.
    ///
    /// # Errors
    /// Anything wrong with the file.
    pub fn load(document: &Document) -> Result<RevisionFile, ConfigError> {
        document.deserialize()
    }
}
