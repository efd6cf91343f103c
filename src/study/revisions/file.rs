//! File of a test over revisions: the options of the command under their names.

use std::path::PathBuf;

use serde::Deserialize;

use crate::config::{ConfigError, Document};

/// Content of the file; typed options have priority. Paths are relative to the file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RevisionFile {
    /// Repository.
    pub repo: Option<PathBuf>,
    /// Build command.
    pub build: Option<String>,
    /// Program with its arguments.
    pub run: Option<String>,
    /// Revisions and ranges.
    #[serde(default)]
    pub revisions: Vec<String>,
    /// Further argument sets.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Number of runs of each.
    pub repeats: Option<u32>,
    /// True if runs are real.
    #[serde(default)]
    pub real: bool,
    /// Text before the time.
    pub time_after: Option<String>,
    /// Nodes, CMPs, cores.
    pub nct: Option<String>,
    /// Machine's file.
    pub platform: Option<PathBuf>,
    /// Number of ranks.
    pub ranks: Option<u32>,
    /// Settings, `KEY=VALUE` each.
    #[serde(default)]
    pub set: Vec<String>,
}

impl RevisionFile {
    /// Reads `document`.
    ///
    /// # Errors
    /// If the file is wrong in any way.
    pub fn load(document: &Document) -> Result<RevisionFile, ConfigError> {
        document.deserialize()
    }
}
