//! Critical path: the ranks and source positions of the activities that determined the predicted time.

use serde::{Deserialize, Serialize};

use crate::units::{SimSpan, picoseconds};

/// The critical path of a run, traced backwards from the end of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CriticalPath {
    /// Length of the traced part of the path, which ends at the predicted time. The traced part is shorter than the
    /// predicted time only if a rank had more activities than mcpsim stores.
    #[serde(rename = "known_ps", deserialize_with = "picoseconds")]
    pub known: SimSpan,
    /// Number of points at which the path continues on another rank.
    pub hops: u64,
    /// Shares of the critical path per rank and thread, greatest share first.
    pub ranks: Vec<RankShare>,
    /// Shares of the critical path per source position, greatest share first.
    pub sites: Vec<SiteShare>,
}

/// Share of a rank, or of a thread of a rank, in the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RankShare {
    /// Rank that has this share of the critical path.
    pub rank: u32,
    /// Number of the thread, if the share belongs to a thread of the rank other than the main thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<u32>,
    /// Time on the critical path of the rank's activities and of the messages to the rank.
    #[serde(flatten)]
    pub share: PathShare,
}

/// Share of a source position in the critical path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SiteShare {
    /// Statement of a described program, or function of a real program.
    pub site: String,
    /// Operation and source line of the source position.
    #[serde(flatten)]
    pub source: StepSource,
    /// Operation and source line of the source position.
    #[serde(flatten)]
    pub share: PathShare,
}

impl SiteShare {
    /// Label of the source position in reports: "waitall at jacobi3d.toml:54", "MPI_Recv in pass at pass.c:5",
    /// "main\\[0\\]".
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

impl SiteShare {
    /// Names the source position as the computing before its call.
    #[must_use]
    pub fn computing_before(self) -> SiteShare {
        let before = |name: String| format!("computing before {name}");
        let source = StepSource { operation: self.source.operation.map(before), line: self.source.line };
        SiteShare { site: before(self.site), source, ..self }
    }
}

/// Operation of a statement of a program, and source line of the statement. The operation or the line may be unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StepSource {
    /// Operation or function, such as "waitall" or "MPI_Recv".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// File name and line of the statement, such as "jacobi3d.toml:54".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
}

impl StepSource {
    /// Position of the statement with path `name` as printed in errors: "main\[0\].do\[1\] of app.toml:12".
    pub fn place(&self, name: &str) -> String {
        self.line.as_ref().map_or_else(|| name.to_owned(), |line| format!("{name} of {line}"))
    }
}

/// A part of the length of the critical path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PathShare {
    /// Time of the rank's own activities: computing, overheads, polling.
    #[serde(rename = "own_ps", deserialize_with = "picoseconds")]
    pub own: SimSpan,
    /// Transfer times of the messages for which the rank waited.
    #[serde(rename = "messages_ps", deserialize_with = "picoseconds")]
    pub messages: SimSpan,
}

impl PathShare {
    /// Sum of the times of activities and of messages.
    pub fn total(&self) -> SimSpan {
        self.own + self.messages
    }
}
