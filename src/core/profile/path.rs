//! What the predicted time is made of: the parts of the path of work and messages that determined it.

use serde::{Deserialize, Serialize};

use crate::platform::Level;
use crate::units::{SimSpan, picoseconds};

/// The parts of a path: disjoint, and their sum is its length. ARCHITECTURE.md defines each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathParts {
    /// Local blocks outside collectives, as much as a rank has in the mean.
    #[serde(rename = "compute_ps", deserialize_with = "picoseconds")]
    pub compute: SimSpan,
    /// Local blocks beyond that mean.
    #[serde(rename = "imbalance_ps", deserialize_with = "picoseconds")]
    pub imbalance: SimSpan,
    /// Combining and copying data in collectives.
    #[serde(rename = "combine_ps", deserialize_with = "picoseconds")]
    pub combine: SimSpan,
    /// Send overheads.
    #[serde(rename = "send_ps", deserialize_with = "picoseconds")]
    pub send: SimSpan,
    /// Receive overheads.
    #[serde(rename = "recv_ps", deserialize_with = "picoseconds")]
    pub recv: SimSpan,
    /// Polls that found nothing, and what passed between a change and the poll that saw it.
    #[serde(rename = "poll_ps", deserialize_with = "picoseconds")]
    pub poll: SimSpan,
    /// Messages under way.
    pub levels: LevelParts,
}

/// The parts that messages have, by level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct LevelParts {
    pub intra_cmp: TransferParts,
    pub inter_cmp: TransferParts,
    pub inter_node: TransferParts,
}

/// The parts of the time that messages were under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferParts {
    /// Latency, as of a transfer alone on its path.
    #[serde(rename = "latency_ps", deserialize_with = "picoseconds")]
    pub latency: SimSpan,
    /// Bytes over bandwidth, as of a transfer alone on its path.
    #[serde(rename = "bytes_ps", deserialize_with = "picoseconds")]
    pub bytes: SimSpan,
    /// What transfers took longer than alone.
    #[serde(rename = "contention_ps", deserialize_with = "picoseconds")]
    pub contention: SimSpan,
    /// Control messages of rendezvous.
    #[serde(rename = "protocol_ps", deserialize_with = "picoseconds")]
    pub protocol: SimSpan,
}

impl PathParts {
    /// The length of the path.
    pub fn total(&self) -> SimSpan {
        let own = self.compute + self.imbalance + self.combine + self.send + self.recv + self.poll;
        Level::ALL.iter().fold(own, |sum, &level| sum + self.level(level).total())
    }

    /// The parts of messages of `level`.
    pub fn level(&self, level: Level) -> TransferParts {
        match level {
            Level::IntraCmp => self.levels.intra_cmp,
            Level::InterCmp => self.levels.inter_cmp,
            Level::InterNode => self.levels.inter_node,
        }
    }
}

impl TransferParts {
    /// Their sum.
    pub fn total(&self) -> SimSpan {
        self.latency + self.bytes + self.contention + self.protocol
    }

    /// `total` as a transfer that takes so long alone: what is left is contention.
    #[inline]
    pub fn of_transfer(total: SimSpan, latency: SimSpan, bytes: SimSpan) -> Self {
        let latency = latency.min(total);
        let bytes = bytes.min(total.saturating_sub(latency));
        TransferParts { latency, bytes, contention: total - latency - bytes, protocol: SimSpan::ZERO }
    }

    /// `total` as a control message that takes so long alone: what is left is contention.
    #[inline]
    pub fn of_control(total: SimSpan, handshake: SimSpan) -> Self {
        let protocol = handshake.min(total);
        TransferParts { protocol, contention: total - protocol, ..TransferParts::default() }
    }
}

impl std::ops::AddAssign for TransferParts {
    #[inline]
    fn add_assign(&mut self, other: TransferParts) {
        self.latency += other.latency;
        self.bytes += other.bytes;
        self.contention += other.contention;
        self.protocol += other.protocol;
    }
}
