//! Time that a modified machine would save, to first order: the critical path contains the same activities, but with
//! shorter times.

use serde::{Deserialize, Serialize};

use crate::platform::{Contention, Level};
use crate::units::{SimSpan, SimTime, picoseconds};

use super::{ContentionLevels, ContentionParts, PathParts, UplinkContention};

/// A modification of one level of the machine, and the time that the modification saves if the critical path does not
/// change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WhatIf {
    /// Level of the machine whose messages change; `None` if computing changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// Modification of the machine at this level.
    pub change: Change,
    /// Kind of uplinks or links that change; `None`: all kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<String>,
    /// Reduction of the predicted time in the modified machine; absent in JSON if only a simulation can tell it.
    #[serde(rename = "saved_ps", default, deserialize_with = "picoseconds", skip_serializing_if = "is_unknown")]
    pub saved: SimSpan,
    /// Predicted time of a simulation of the modified machine, if requested.
    #[serde(default, rename = "exact_ps", skip_serializing_if = "Option::is_none")]
    pub exact: Option<SimTime>,
}

/// Modification of the costs of a level's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// All latencies of the level, including the latencies of control messages, are halved.
    LatencyHalved,
    /// All bandwidths of the level are doubled. Uplinks of groups of nodes and links of a network keep their bandwidth.
    BandwidthDoubled,
    /// Concurrent transfers do not slow each other down.
    ContentionGone,
    /// Cores copy twice as fast; the ping-pong's bandwidth does not change.
    CopiesDoubled,
    /// Adapters and interconnects between CMPs have twice the capacity, per direction and in total. The bandwidth of
    /// a single message does not change.
    CapacityDoubled,
    /// The two directions of a link do not share bandwidth.
    DuplexGone,
    /// Adapters send twice as many messages per second.
    GapHalved,
    /// All buffers of message copies are in caches.
    CachesHold,
    /// Memory bandwidth for copies is doubled.
    MemoryDoubled,
    /// Uplinks of groups of nodes and links of a network have twice the capacity.
    UplinksDoubled,
    /// Uplinks of groups of nodes and links of a network do not limit transfers.
    UplinksUnlimited,
    /// The latency that uplinks, or links and switches, add to messages is halved.
    HopLatencyHalved,
    /// Memory bandwidth of CMPs, domains and nodes is doubled for computing blocks. The rate of a core that computes
    /// alone does not change.
    ComputingMemoryDoubled,
}

/// Returns whether only a simulation can tell the saving.
fn is_unknown(saved: &SimSpan) -> bool {
    *saved == SimSpan::ZERO
}

impl WhatIf {
    /// Creates a what-if question about a level, without an exact answer.
    pub fn new(level: Option<Level>, change: Change, saved: SimSpan) -> WhatIf {
        WhatIf { level, change, links: None, saved, exact: None }
    }

    /// Returns all modifications that save time, at all levels, greatest saving first. `contention` returns the
    /// contention model of a level.
    ///
    /// Under models with shared bandwidth or with queues, a doubled bandwidth also reduces contention. `charged`
    /// contains the contention on the critical path by cause, if known, and the time that twice the memory bandwidth
    /// would save in computing blocks. `uplinks` divides the contention for uplinks by kind.
    pub fn all(
        path: &PathParts,
        (charged, saved_by_memory): (Option<&ContentionLevels>, SimSpan),
        uplinks: &[UplinkContention],
        contention: impl Fn(Level) -> Contention,
    ) -> Vec<WhatIf> {
        let half = |span: SimSpan| SimSpan::from_ps(span.as_ps() / 2);
        let of_level = |level: Level| {
            let parts = path.level(level);
            let contention = if contention(level) == Contention::Ideal { SimSpan::ZERO } else { parts.contention };
            let uplink = charged.map_or(SimSpan::ZERO, |charged| charged.level(level).uplink);
            [
                (Change::LatencyHalved, half(parts.latency + parts.protocol)),
                (Change::BandwidthDoubled, half(parts.bytes + contention.saturating_sub(uplink))),
                (Change::ContentionGone, contention),
            ]
            .map(|(change, saved)| WhatIf::new(Some(level), change, saved))
        };
        let occupied = |level: Level| {
            let parts = charged.map_or_else(ContentionParts::default, |charged| *charged.level(level));
            let ContentionParts {
                core, adapter_out, adapter_in, duplex, gap, cache, memory, interconnect, uplink, ..
            } = parts;
            [
                (Change::CopiesDoubled, half(core)),
                (Change::CapacityDoubled, half(adapter_out + adapter_in + duplex + interconnect)),
                (Change::DuplexGone, duplex),
                (Change::GapHalved, half(gap)),
                (Change::CachesHold, cache + memory),
                (Change::MemoryDoubled, half(cache + memory)),
                (Change::UplinksDoubled, half(uplink)),
                (Change::UplinksUnlimited, uplink),
            ]
            .map(|(change, saved)| WhatIf::new(Some(level), change, saved))
        };
        let mut all: Vec<WhatIf> = Level::ALL.into_iter().flat_map(of_level).collect();
        all.extend(Level::ALL.into_iter().flat_map(occupied));
        let change = Change::ComputingMemoryDoubled;
        all.push(WhatIf::new(None, change, saved_by_memory));
        if uplinks.len() > 1 {
            all.extend(uplinks.iter().map(|of| WhatIf {
                links: Some(of.kind.clone()),
                ..WhatIf::new(Some(Level::InterNode), Change::UplinksDoubled, half(of.contention))
            }));
        }
        all.retain(|what| what.saved > SimSpan::ZERO);
        // A stable sort keeps modifications with equal savings in the order of levels.
        all.sort_by_key(|what| std::cmp::Reverse(what.saved));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{LevelParts, TransferParts};

    #[test]
    fn what_a_change_saves_is_read_off_the_path() {
        let ps = SimSpan::from_ps;
        let inter_node = TransferParts { latency: ps(10), bytes: ps(100), contention: ps(60), protocol: ps(6) };
        let intra_cmp = TransferParts { latency: ps(4), contention: ps(7), ..TransferParts::default() };
        let levels = LevelParts { intra_cmp, inter_node, ..LevelParts::default() };
        let path = PathParts { compute: ps(1000), levels, ..PathParts::default() };
        let contention = |level| if level == Level::InterNode { Contention::Share } else { Contention::Ideal };
        let what = |level, change, saved| WhatIf::new(Some(level), change, ps(saved));
        let expected = [
            what(Level::InterNode, Change::BandwidthDoubled, 80),
            what(Level::InterNode, Change::ContentionGone, 60),
            what(Level::InterNode, Change::LatencyHalved, 8),
            what(Level::IntraCmp, Change::LatencyHalved, 2),
        ];
        assert_eq!(WhatIf::all(&path, (None, SimSpan::ZERO), &[], contention), expected);
        // A doubled bandwidth between nodes does not double the bandwidth of links.
        let inter_node = ContentionParts { uplink: ps(40), ..ContentionParts::default() };
        let charged = ContentionLevels { inter_node, ..ContentionLevels::default() };
        let all = WhatIf::all(&path, (Some(&charged), SimSpan::ZERO), &[], contention);
        let saved = |change| all.iter().find(|what| what.change == change).map(|what| what.saved);
        assert_eq!(saved(Change::BandwidthDoubled), Some(ps(60)));
        assert_eq!(saved(Change::UplinksDoubled), Some(ps(20)));
    }

    #[test]
    fn what_is_occupied_gives_as_much_as_contention_is_charged_to_it() {
        let ps = SimSpan::from_ps;
        let contention = ContentionParts {
            core: ps(100),
            adapter_out: ps(40),
            adapter_in: ps(20),
            duplex: ps(6),
            gap: ps(10),
            cache: ps(200),
            memory: ps(1000),
            interconnect: ps(2),
            uplink: ps(8),
            other: ps(5),
        };
        let charged = ContentionLevels { inter_node: contention, ..ContentionLevels::default() };
        let all = WhatIf::all(&PathParts::default(), (Some(&charged), ps(300)), &[], |_| Contention::Fair);
        let found: Vec<_> = all.iter().map(|what| (what.change, what.saved.as_ps())).collect();
        let expected = [
            (Change::CachesHold, 1200),
            (Change::MemoryDoubled, 600),
            (Change::ComputingMemoryDoubled, 300),
            (Change::CopiesDoubled, 50),
            (Change::CapacityDoubled, 34),
            (Change::UplinksUnlimited, 8),
            (Change::DuplexGone, 6),
            (Change::GapHalved, 5),
            (Change::UplinksDoubled, 4),
        ];
        assert_eq!(found, expected);
    }
}
