//! Where the path that determined the predicted time went: whose, and in which calls.

use serde::{Deserialize, Serialize};

use crate::units::{SimSpan, picoseconds};

/// The path walked back from the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriticalPath {
    /// How much of the predicted time, from its end on, could be walked back: all of it, unless more was done than is
    /// kept.
    #[serde(rename = "known_ps", deserialize_with = "picoseconds")]
    pub known: SimSpan,
    /// How often it went from one rank to another.
    pub hops: u64,
    /// By ranks, those with most first.
    pub ranks: Vec<RankShare>,
    /// By the calls' places, those with most first.
    pub sites: Vec<SiteShare>,
}

/// A rank's share of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankShare {
    /// The rank.
    pub rank: u32,
    /// What it did and what came to it.
    #[serde(flatten)]
    pub share: PathShare,
}

/// A place's share of the path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteShare {
    /// The step of a described program, or the function of a real one.
    pub site: String,
    /// What is done there and where that stands.
    #[serde(flatten)]
    pub source: StepSource,
    /// What ranks did there and what came to them.
    #[serde(flatten)]
    pub share: PathShare,
}

impl SiteShare {
    /// What a reader finds it by: "waitall at jacobi3d.toml:54", "MPI_Recv in pass at pass.c:5", "main\\[0\\]".
    pub fn label(&self) -> String {
        match (&self.source.operation, &self.source.line) {
            (Some(operation), Some(line)) if !self.site.starts_with(operation.as_str()) => {
                format!("{operation} at {line}")
            }
            (Some(operation), None) if !self.site.starts_with(operation.as_str()) => {
                format!("{operation} in {}", self.site)
            }
            _ => self.site.clone(),
        }
    }
}

/// What a step of a program does, and where it stands in its source; either may not be known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepSource {
    /// The operation or function: "waitall", "MPI_Recv".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The file's name and the line: "jacobi3d.toml:54".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
}

impl StepSource {
    /// Where the step that is called `name` stands, as errors tell it: "main\[0\].do\[1\] of app.toml:12".
    pub fn place(&self, name: &str) -> String {
        self.line.as_ref().map_or_else(|| name.to_owned(), |line| format!("{name} of {line}"))
    }
}

/// A share of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathShare {
    /// Own doing: computing, overheads, polling.
    #[serde(rename = "own_ps", deserialize_with = "picoseconds")]
    pub own: SimSpan,
    /// Messages under way that were waited for.
    #[serde(rename = "messages_ps", deserialize_with = "picoseconds")]
    pub messages: SimSpan,
}

impl PathShare {
    /// All of it.
    pub fn total(&self) -> SimSpan {
        self.own + self.messages
    }
}
