//! TOML file of a test over revisions, which contains the options of `mcpsim revisions` under their names.

use std::path::PathBuf;

use serde::Deserialize;

use mcpsim_core::config::{ConfigError, Document};

/// Content of the TOML file of a test over revisions. Options in the command line have priority. Paths are relative to
/// the file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RevisionFile {
    /// Path of the user's git repository.
    pub repo: Option<PathBuf>,
    /// Shell command that builds a revision.
    pub build: Option<String>,
    /// Tested program with its arguments.
    pub run: Option<String>,
    /// Tested revisions and ranges of revisions.
    #[serde(default)]
    pub revisions: Vec<String>,
    /// Further sets of program arguments.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Number of runs of each revision with each argument set.
    pub repeats: Option<u32>,
    /// True if the command runs on the host and mcpsim measures its time.
    #[serde(default)]
    pub real: bool,
    /// Text in the program's output that precedes the number of seconds.
    pub time_after: Option<String>,
    /// Machine shape: nodes, CMPs per node, cores per CMP.
    pub nct: Option<String>,
    /// Platform file of the simulated machine.
    pub platform: Option<PathBuf>,
    /// Number of simulated ranks.
    pub ranks: Option<u32>,
    /// Settings of the simulated run, each as `KEY=VALUE`.
    #[serde(default)]
    pub set: Vec<String>,
}

impl RevisionFile {
    /// Reads the options file of a test over revisions.
    ///
    /// # Errors
    /// The content of the options file is invalid.
    pub fn load(document: &Document) -> Result<RevisionFile, ConfigError> {
        document.deserialize()
    }
}
