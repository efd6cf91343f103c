//! Rules for the messages of a level. They follow from the platform and are fixed for a run.

use mcpsim_base::platform::{Contention, Level, Platform};
use mcpsim_base::units::{Bytes, SimSpan};

/// Rules for the messages of a level.
#[derive(Clone, Copy, Debug)]
pub(super) struct LevelRules {
    pub least_latency: SimSpan,
    /// True if transfers share resources over time.
    pub is_fair: bool,
    /// True if transfers are flows or pass queues of adapters. Within a node, the messages then pass the adapter of the
    /// node.
    pub has_flows: bool,
    /// True if only ports can delay transfers.
    pub has_ports_only: bool,
    /// True if no resource of the sender depends on the order of departures.
    pub portless: bool,
    /// True if the arrival time of a message's head is independent of load.
    pub head_known: bool,
    /// Greatest size of messages that the core of the sender copies; `None`: it copies no messages.
    pub copied_by_sender: Option<Bytes>,
    /// Greatest size of messages that the core of the receiver copies; `None`: it copies no messages.
    pub copied_by_receiver: Option<Bytes>,
}

impl LevelRules {
    /// Creates the rules of `level`. `delays` is true if messages can take longer than their link states.
    pub fn new(platform: &Platform, level: Level, delays: bool) -> Self {
        let link = platform.link(level);
        let (contention, is_fair) = (link.contention(), is_fair(platform, level));
        let copies = link.occupancy().copies;
        let has_flows = platform.passes_adapters(level);
        let head_known = contention.head_is_known() && !(is_fair && (copies.by_sender() || has_flows));
        // An adapter writes a rendezvous message to the receive buffer, so cores copy only eager messages.
        let limit = if has_flows || level == Level::InterNode { link.eager_threshold() } else { Bytes::MAX };
        LevelRules {
            least_latency: platform.least_latency(level),
            is_fair,
            has_flows,
            has_ports_only: !is_fair && !delays,
            portless: !delays && (contention == Contention::Ideal || (is_fair && head_known)),
            head_known: !delays && head_known,
            copied_by_sender: (is_fair && copies.by_sender()).then_some(limit),
            copied_by_receiver: (is_fair && copies.by_receiver()).then_some(limit),
        }
    }
}

/// Returns whether transfers of the level share resources over time.
pub(super) fn is_fair(platform: &Platform, level: Level) -> bool {
    platform.link(level).contention() == Contention::Fair
}
