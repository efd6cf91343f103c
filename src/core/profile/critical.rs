//! Critical path: the ranks and source positions of the activities that determined the predicted time.

use serde::{Deserialize, Serialize};

use crate::units::{SimSpan, picoseconds};

/// The critical path, traced backwards from the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriticalPath {
    /// Length of the traced part of the path, which ends at the predicted time. The traced part is shorter than the
    /// predicted time only if a rank had more activities than are stored.
    #[serde(rename = "known_ps", deserialize_with = "picoseconds")]
    pub known: SimSpan,
    /// Number of changes from one rank to another.
    pub hops: u64,
    /// Shares of the ranks, greatest share first.
    pub ranks: Vec<RankShare>,
    /// Shares of the source positions, greatest share first.
    pub sites: Vec<SiteShare>,
}

/// Share of a rank in the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankShare {
    /// Rank that has this share of the critical path.
    pub rank: u32,
    /// Share of the rank's activities and of the messages to the rank.
    #[serde(flatten)]
    pub share: PathShare,
}

/// Share of a source position in the critical path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteShare {
    /// Step of a described program, or function of a real one.
    pub site: String,
    /// Operation and source line of the source position.
    #[serde(flatten)]
    pub source: StepSource,
    /// Share of the activities of ranks at this position, and of the messages for which they waited there.
    #[serde(flatten)]
    pub share: PathShare,
}

impl SiteShare {
    /// Label for reports: "waitall at jacobi3d.toml:54", "MPI_Recv in pass at pass.c:5", "main\\[0\\]".
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

/// Operation of a step of a program, and source line of the step. The operation or the line may be unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepSource {
    /// Operation or function: "waitall", "MPI_Recv".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// File name and line: "jacobi3d.toml:54".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
}

impl StepSource {
    /// Position of the step with path `name` as printed in errors: "main\[0\].do\[1\] of app.toml:12".
    pub fn place(&self, name: &str) -> String {
        self.line.as_ref().map_or_else(|| name.to_owned(), |line| format!("{name} of {line}"))
    }
}

/// A share of the critical path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathShare {
    /// Time of own activities: computing, overheads, polling.
    #[serde(rename = "own_ps", deserialize_with = "picoseconds")]
    pub own: SimSpan,
    /// Transfer times of awaited messages.
    #[serde(rename = "messages_ps", deserialize_with = "picoseconds")]
    pub messages: SimSpan,
}

impl PathShare {
    /// Sum of both parts of the share.
    pub fn total(&self) -> SimSpan {
        self.own + self.messages
    }
}
