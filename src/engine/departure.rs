//! Departure of messages and transfers from their senders: the carrier of a transfer, the delay of the head at the
//! sender, and the latency of control messages.

use serde::{Deserialize, Serialize};

use mcpsim_base::platform::{Level, Row};
use mcpsim_base::profile::Resource;
use mcpsim_base::rank::{Rank, RequestId};
use mcpsim_base::units::{Bytes, SimSpan, SimTime};

use super::delays::Delays;
use super::event::{EventKey, EventKind, Going, InFlightMessage};
use super::level_rules::LevelRules;
use super::lp::LogicalProcess;
use super::resource::flows::{BundleIndex, BundleKey};
use super::state::TargetRank;

/// Resource that carries a transfer. The sender decides.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Carrier {
    /// A port, with the load of the port when the transfer started.
    Port { load: u32 },
    /// The core that copies the message, under `fair` within a node.
    Core,
    /// The queues of the adapters that `turn` selects.
    Adapter { turn: u8 },
    /// A flow through the adapters that `turn` selects. `bundle` is the bundle of the flow at the receiver's worker, if
    /// known. With `detour`, the flow takes the longer path of an adaptive routing.
    Flow { turn: u8, detour: bool, bundle: Option<BundleIndex> },
}

/// Carrier of a transfer, and the resource that delayed the head of the transfer at the sender.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Passage {
    pub carrier: Carrier,
    pub delayed_by: Option<Resource>,
}

impl Passage {
    /// Returns the passage of a transfer through a port with the load `load`.
    #[inline(always)]
    pub fn of_port(load: u32) -> Self {
        Passage { carrier: Carrier::Port { load }, delayed_by: None }
    }

    /// Returns the delays of a transfer whose head left at `left` and arrived at `head`.
    pub fn head_delays(&self, row: &Row, left: SimTime, head: SimTime) -> Delays {
        Delays::of_head(head.since(left).saturating_sub(row.latency), self.delayed_by)
    }
}

/// A transfer that has passed the resources of its sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    /// Arrival time of the transfer's head at the receiver.
    pub head: SimTime,
    pub passage: Passage,
}

/// A message that leaves its sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeavingMessage {
    pub to: Rank,
    pub message: InFlightMessage,
    /// Departure time of the message.
    pub left: SimTime,
    /// Start of the message's transfer: the departure, or the start of the sender's copy.
    pub start: SimTime,
    /// Arrival time of the head, if known.
    pub head: Option<SimTime>,
    /// Sequence number of the arrival event.
    pub sequence: u32,
}

/// Schedules the departure of a message, or of the request of a rendezvous, at `left`. If `copied` is given, the
/// sender's core copies the message first and then completes the request `copied`.
#[inline(always)]
pub(super) fn dispatch(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    to: Rank,
    (level, row): (Level, &Row),
    message: InFlightMessage,
    left: SimTime,
    copied: Option<RequestId>,
) {
    let has_flows = lp.rules(level).has_flows;
    let (mut free, mut bundle) = (false, None);
    if has_flows && copied.is_none() && !lp.effects.delays {
        bundle = lp.bundle_without_turn(target.rank, to, row, &message);
        free = (message.rendezvous.is_some() || bundle.is_some()) && !target.occupied().leaving.contains(&to);
    }
    // If the arrival time of the head does not depend on load, it is computed at the send, while the rank's state is in
    // the caches.
    let head = if free || lp.rules(level).head_known {
        let latency = lp.head_latency(target.rank, to, (level, row), &message);
        Some(lp.in_order(target, level, to, left, left + latency))
    } else {
        None
    };
    let sequence = target.next_sequence();
    if free || lp.rules(level).portless || (copied.is_none() && lp.is_next(left)) {
        // The message needs no departure event, because it passes no port or leaves at the current time.
        let leaving = LeavingMessage { to, message, left, start: left, head, sequence };
        lp.leave(target, (level, row), leaving, &mut bundle);
    } else {
        let key = EventKey { time: left, to: target.rank, from: target.rank, sequence };
        let going = copied.map_or(head.map_or(Going::Asked, Going::At), Going::Copied);
        if has_flows {
            target.occupied().leaving.push_back(to);
        }
        lp.push_event(key, || EventKind::Departure { to, message, going });
    }
}

impl LogicalProcess<'_> {
    /// Returns the latency of the head of a message, or of the request of a rendezvous, without contention and delays.
    #[inline(always)]
    fn head_latency(&self, from: Rank, to: Rank, (level, row): (Level, &Row), message: &InFlightMessage) -> SimSpan {
        match message.rendezvous {
            None => row.latency,
            Some(_) => self.network.handshake(from, to, level),
        }
    }

    /// Passes a message through the resources of its sender and schedules the arrival of the head. `bundle` is the
    /// bundle of the message's flow, if known.
    #[inline(always)]
    pub fn leave(
        &mut self,
        target: &mut TargetRank,
        (level, row): (Level, &Row),
        leaving: LeavingMessage,
        bundle: &mut Option<BundleKey>,
    ) {
        let LeavingMessage { to, message, left, start, head, sequence } = leaving;
        // The common case is tested first, because every message passes this function.
        let rules = self.rules(level);
        if rules.has_ports_only && message.rendezvous.is_none() {
            let departure = self.network.depart(self.seats[target.rank as usize], level, row, message.size, start);
            let head = match head {
                Some(head) => head,
                None => self.in_order(target, level, to, left, departure.head),
            };
            let key = EventKey { time: head, to, from: target.rank, sequence };
            self.push_event(key, || EventKind::Arrival { message, left, passage: departure.passage });
            return;
        }
        // Only this case needs the message in memory.
        let leaving = LeavingMessage { to, message, left, start, head, sequence };
        self.leave_otherwise(target, (level, row), &leaving, bundle);
    }

    /// General case of [`LogicalProcess::leave`]: requests of rendezvous, the `fair` contention model, and delays.
    #[inline(never)]
    fn leave_otherwise(
        &mut self,
        target: &mut TargetRank,
        (level, row): (Level, &Row),
        leaving: &LeavingMessage,
        bundle: &mut Option<BundleKey>,
    ) {
        // The message is copied only when it is stored: a copy directly after the writes of its fields would stall.
        let &LeavingMessage { to, ref message, left, start, head, sequence } = leaving;
        let (from, size) = (target.rank, message.size);
        let is_request = message.rendezvous.is_some();
        let delay = match self.effects.delays {
            true => self.delay(target, to, level, (!is_request).then_some(row), size),
            false => SimSpan::ZERO,
        };
        let mut departure = match is_request {
            true => Departure {
                head: start + self.head_latency(from, to, (level, row), message),
                passage: Passage::of_port(1),
            },
            false => self.depart(target, to, (level, row), size, start, bundle),
        };
        departure.head += delay;
        if start > left {
            departure.passage.delayed_by = Some(Resource::Core);
        }
        let head = head.unwrap_or_else(|| self.in_order(target, level, to, left, departure.head));
        let key = EventKey { time: head, to, from, sequence };
        if !is_request {
            self.announce(key, row, size, left, *bundle, &mut departure.passage);
        }
        self.push_event(key, || EventKind::Arrival { message: *message, left, passage: departure.passage });
    }

    /// Passes a transfer of `size` that leaves at `left` through the resources of its sender. Sets `bundle` to the
    /// bundle of the transfer's flow, unless known.
    pub fn depart(
        &mut self,
        target: &mut TargetRank,
        to: Rank,
        (level, row): (Level, &Row),
        size: Bytes,
        left: SimTime,
        bundle: &mut Option<BundleKey>,
    ) -> Departure {
        let &LevelRules { is_fair, has_flows, .. } = self.rules(level);
        let from = self.seats[target.rank as usize];
        if !is_fair {
            return self.network.depart(from, level, row, size, left);
        }
        let passage = |carrier, delayed_by| Passage { carrier, delayed_by };
        let Some(fair) = self.fair.as_deref_mut().filter(|_| has_flows) else {
            return Departure { head: left + row.latency, passage: passage(Carrier::Core, None) };
        };
        let to = self.seats[to as usize];
        let turn = fair.turn(target, from);
        if bundle.is_none() {
            *bundle = fair.bundle(from, to, turn, row, size);
        }
        if let Some(bundle) = bundle {
            let longer = fair.flows.as_ref().and_then(|flows| flows.detour(bundle));
            bundle.detour = longer.is_some();
            let carrier = Carrier::Flow { turn: turn as u8, detour: bundle.detour, bundle: None };
            let head = left + row.latency + longer.unwrap_or(SimSpan::ZERO);
            return Departure { head, passage: passage(carrier, None) };
        }
        let (start, by) = fair.adapters.send(from, to, turn, row, size, left);
        Departure { head: start + row.latency, passage: passage(Carrier::Adapter { turn: turn as u8 }, by) }
    }

    /// Announces the flow of a transfer that left at `left` and whose head arrives by the event `key`, if `bundle` is
    /// the bundle of such a flow.
    pub fn announce(
        &mut self,
        key: EventKey,
        row: &Row,
        size: Bytes,
        left: SimTime,
        bundle: Option<BundleKey>,
        passage: &mut Passage,
    ) {
        let (Some(key_of_bundle), Carrier::Flow { turn, bundle, .. }) = (bundle, &mut passage.carrier) else { return };
        let (from, to) = (self.seats[key.from as usize], self.seats[key.to as usize]);
        let Some(fair) = self.fair.as_deref_mut() else { return };
        fair.adapters.carry_out((from, to), u32::from(*turn), row, size);
        let flows = fair.flows.as_mut().expect("a bundle has flows");
        let (slot, index) = flows.announce(key_of_bundle, left, key.time);
        if to.worker == self.me {
            *bundle = Some(index);
        }
        self.window_end = self.window_end.min(slot);
        self.tell();
    }

    /// Returns the bundle of a message's flow if the bundle does not depend on the order of departures.
    #[inline]
    fn bundle_without_turn(&self, from: Rank, to: Rank, row: &Row, message: &InFlightMessage) -> Option<BundleKey> {
        let fair = self.fair.as_deref()?;
        if message.rendezvous.is_some() || fair.adapters.take_turns() || fair.is_adaptive() {
            return None;
        }
        fair.bundle(self.seats[from as usize], self.seats[to as usize], 0, row, message.size)
    }
}
