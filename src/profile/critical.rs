//! Where the path that determined the predicted time went: whose, and in which calls.

use serde::{Deserialize, Serialize};

use crate::units::{SimSpan, picoseconds};

/// The path walked back from the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriticalPath {
    /// How much of the predicted time, from its end on, could be walked back: all of it, unless more was done than is kept.
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
    /// What ranks did there and what came to them.
    #[serde(flatten)]
    pub share: PathShare,
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
