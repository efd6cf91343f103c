//! Parts of the predicted time, which are the parts of the critical path of a run.

use serde::{Deserialize, Serialize};

use crate::platform::Level;
use crate::units::{SimSpan, picoseconds};

/// Parts of the critical path. The sum of the parts, without `memory`, is the length of the path. The file
/// ARCHITECTURE.md defines the parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PathParts {
    /// Time in local blocks outside collectives, up to the mean of these times over all ranks.
    #[serde(rename = "compute_ps", deserialize_with = "picoseconds")]
    pub compute: SimSpan,
    /// Time in local blocks outside collectives, above the mean of these times over all ranks.
    #[serde(rename = "imbalance_ps", deserialize_with = "picoseconds")]
    pub imbalance: SimSpan,
    /// Time that blocks on the path waited for memory that other ranks used; contained in `compute` and `imbalance`.
    #[serde(default, rename = "memory_ps", deserialize_with = "picoseconds")]
    pub memory: SimSpan,
    /// Time for combining and copying data in collectives.
    #[serde(rename = "combine_ps", deserialize_with = "picoseconds")]
    pub combine: SimSpan,
    /// Time of send overheads on the critical path.
    #[serde(rename = "send_ps", deserialize_with = "picoseconds")]
    pub send: SimSpan,
    /// Time of receive overheads on the critical path.
    #[serde(rename = "recv_ps", deserialize_with = "picoseconds")]
    pub recv: SimSpan,
    /// Time of unsuccessful polls, and delays between an event and the poll that noticed the event.
    #[serde(rename = "poll_ps", deserialize_with = "picoseconds")]
    pub poll: SimSpan,
    /// Time of messages in transfer, by level of the machine.
    pub levels: LevelParts,
}

/// Parts of the transfer times of messages, by level of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[allow(missing_docs)]
pub struct LevelParts {
    pub intra_cmp: TransferParts,
    pub inter_cmp: TransferParts,
    pub inter_node: TransferParts,
}

/// Parts of the transfer times of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TransferParts {
    /// Latency of the messages without contention.
    #[serde(rename = "latency_ps", deserialize_with = "picoseconds")]
    pub latency: SimSpan,
    /// Bytes of the messages divided by bandwidth, without contention.
    #[serde(rename = "bytes_ps", deserialize_with = "picoseconds")]
    pub bytes: SimSpan,
    /// Additional transfer time because of other transfers.
    #[serde(rename = "contention_ps", deserialize_with = "picoseconds")]
    pub contention: SimSpan,
    /// Time of the control messages of the rendezvous protocol.
    #[serde(rename = "protocol_ps", deserialize_with = "picoseconds")]
    pub protocol: SimSpan,
}

impl PathParts {
    /// Length of the critical path, which is the sum of its parts.
    pub fn total(&self) -> SimSpan {
        let own = self.compute + self.imbalance + self.combine + self.send + self.recv + self.poll;
        Level::ALL.iter().fold(own, |sum, &level| sum + self.level(level).total())
    }

    /// Parts of the transfer times of the messages of `level`.
    pub fn level(&self, level: Level) -> TransferParts {
        match level {
            Level::IntraCmp => self.levels.intra_cmp,
            Level::InterCmp => self.levels.inter_cmp,
            Level::InterNode => self.levels.inter_node,
        }
    }
}

impl TransferParts {
    /// Sum of the parts of the transfer times.
    pub fn total(&self) -> SimSpan {
        self.latency + self.bytes + self.contention + self.protocol
    }

    /// Divides the time `total` of a transfer into latency, time of the bytes, and contention, which is the remainder.
    #[inline]
    pub fn of_transfer(total: SimSpan, latency: SimSpan, bytes: SimSpan) -> Self {
        let latency = latency.min(total);
        let bytes = bytes.min(total.saturating_sub(latency));
        TransferParts { latency, bytes, contention: total - latency - bytes, protocol: SimSpan::ZERO }
    }

    /// Divides the time `total` of a control message into the handshake and contention, which is the remainder.
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
