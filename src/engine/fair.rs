//! Messages under fair shares: transfers between nodes as flows, and the cores that copy.
//!
//! A transfer between nodes is announced when it leaves and starts as a flow when its head gets there. What is too
//! small to be felt passes the adapters one message after another. Where the end is not known at once, the message has
//! a ticket until it is.

mod transfers;

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use mcpsim_base::platform::{Level, Platform, Row, Site};
use mcpsim_base::profile::{LinkTraffic, LinkUse, RecordedLoad, SharedKind, UplinkKind, Uses};
use mcpsim_base::rank::{Rank, RequestId};
use mcpsim_base::units::{Bytes, SimSpan, SimTime};

use super::adapters::Adapters;
use super::chunked_vec::ChunkedVec;
use super::delays::Delays;
use super::departure::{Carrier, Passage};
use super::event::EventKey;
use super::level_rules::is_fair;
use super::lp::LogicalProcess;
use super::memory::Memory;
use super::network::RankLocation;
use super::prefetch::prefetch;
use super::resource::flows::{
    BundleKey, EndedFlow, FlowConfig, FlowStart, Flows, GroupUplinks, LostBytes, NetworkLinks, SlotGrid,
};
use super::state::{MatchedReceive, TargetRank};
use super::transport::Batch;
use transfers::wire;
pub(super) use transfers::{PendingService, Transfer, TransferConsumer, TransferOutcome};

/// The end of the message is known.
pub(super) const NO_FLOW: u32 = u32::MAX;

/// What a worker keeps for fair shares.
#[derive(Debug)]
pub(super) struct Fair {
    /// Transfers between nodes.
    pub flows: Option<Flows>,
    pub adapters: Adapters,
    /// Messages that pass links of a network.
    traffic: LinkTraffic,
    /// What copies within nodes find, where the platform says it.
    pub memory: Option<Memory>,
    /// Transfers whose ends are not known, by ticket.
    open: ChunkedVec<Transfer>,
    free: Vec<u32>,
    /// What held up those that have ended without a receive, by ticket.
    late: Vec<Delays>,
    /// Losses of the bundles of transfers at uplinks when the transfers started, by ticket; empty without uplinks.
    lost_at_uplinks: Vec<[i128; UplinkKind::COUNT]>,
    /// Blocking receives that wait for the end of their message's flow, by ticket.
    awaited: Vec<Option<MatchedReceive>>,
    /// Messages to be served, receiver and sender, of which an earlier one of the pair has no end yet.
    pub services: FxHashMap<(Rank, Rank), VecDeque<PendingService>>,
    /// Flows whose ends were decided last, and the order of these; kept for their room.
    pub ended: Vec<EndedFlow>,
    pub order: Vec<(SimTime, u32)>,
}

impl Fair {
    /// For `nodes`, those of worker `me`; `first_node` of each worker. None if no level shares fairly.
    pub fn new(
        platform: &Platform,
        nodes: std::ops::Range<u32>,
        me: u32,
        first_node: &[u32],
        seats: &[RankLocation],
        sites: &[Site],
        records: bool,
    ) -> Option<Box<Fair>> {
        if !Level::ALL.into_iter().any(|level| is_fair(platform, level)) {
            return None;
        }
        let between = platform.link(Level::InterNode);
        let flows = is_fair(platform, Level::InterNode).then(|| {
            let occupancy = between.occupancy().clone();
            let tolerance = u64::from(occupancy.tolerance.per_mille());
            let grid = SlotGrid::new(platform.slot(), platform.lookahead());
            let count = seats.iter().map(|seat| seat.node + 1).max().unwrap_or(0);
            let mut numbers = vec![0; count as usize];
            seats.iter().zip(sites).for_each(|(seat, site)| numbers[seat.node as usize] = site.node);
            let groups = platform.places.groups.iter().map(|group| GroupUplinks::new(group, &numbers)).collect();
            let links = platform.places.network.as_ref().and_then(|network| NetworkLinks::new(network, &numbers));
            let first_node = first_node.to_vec();
            Flows::new(FlowConfig { first_node, me, occupancy, grid, tolerance, groups, links, records })
        });
        let memory = Memory::new(platform, nodes.clone(), me, seats, sites);
        let adapters = match flows {
            Some(_) => Adapters::new(platform, nodes, me, seats, records),
            None => Adapters::default(),
        };
        Some(Box::new(Fair {
            flows,
            adapters,
            traffic: LinkTraffic::default(),
            memory,
            open: ChunkedVec::default(),
            free: Vec::new(),
            late: Vec::new(),
            lost_at_uplinks: Vec::new(),
            awaited: Vec::new(),
            services: FxHashMap::default(),
            ended: Vec::new(),
            order: Vec::new(),
        }))
    }

    /// Returns the adapter for the next transfer of the rank, if the transfers of a rank use the adapters in turn.
    #[inline]
    pub fn turn(&self, target: &mut TargetRank, from: RankLocation) -> u32 {
        if !self.adapters.take_turns() {
            return 0;
        }
        let next = &mut target.occupied().turn_of_rails;
        let turn = *next;
        *next = turn.wrapping_add(1);
        self.adapters.turn(from, turn)
    }

    /// The bundle of a transfer, if others feel it.
    pub fn bundle(&self, from: RankLocation, to: RankLocation, turn: u32, row: &Row, size: Bytes) -> Option<BundleKey> {
        let pace = self.adapters.use_by(row, size).pace?;
        let rails = self.adapters.rails_of(from, to, turn);
        Some(BundleKey { from: from.node, to: to.node, pace, rails, detour: false })
    }

    /// Whether the path of a transfer depends on loads when the transfer leaves.
    pub fn is_adaptive(&self) -> bool {
        self.flows.as_ref().and_then(Flows::links).is_some_and(|links| links.is_adaptive())
    }

    /// How much of its nodes' adapters was used.
    pub fn add_uses(&self, uses: &mut Uses) {
        let Some(flows) = &self.flows else { return };
        let carried = self.adapters.carried();
        let all = [
            (SharedKind::AdapterOut, &carried.out),
            (SharedKind::AdapterIn, &carried.into),
            (SharedKind::Duplex, &carried.both),
        ];
        for (kind, spans) in all {
            spans.iter().for_each(|span| uses.add(kind, span.as_ps()));
        }
        uses.add_traffic(&self.traffic);
        self.add_series(flows, uses);
        for (id, in_full, most) in flows.used() {
            let Some(kind) = id.kind().reported() else {
                uses.add_link(LinkUse { link: id.other(), in_full, most });
                continue;
            };
            if !id.kind().is_adapter() {
                uses.add(kind, in_full);
            }
            uses.at_most(kind, most);
        }
    }

    /// Adds the recorded loads over time.
    fn add_series(&self, flows: &Flows, uses: &mut Uses) {
        let number = |node: u32, rail: u32| u64::from(node) << 32 | u64::from(rail);
        for (id, series) in flows.series() {
            let Some(kind) = id.kind().recorded() else { continue };
            let number = if kind == SharedKind::Link { id.other().into() } else { number(id.node(), id.other()) };
            uses.add_series(RecordedLoad { kind, number, series });
        }
        for (direction, node, rail, series) in self.adapters.queued() {
            let kind = [SharedKind::AdapterOut, SharedKind::AdapterIn][direction];
            uses.add_series(RecordedLoad { kind, number: number(node, rail), series: series.clone() });
        }
    }

    /// Keeps a transfer, which is made where it stays.
    #[inline(always)]
    fn keep(&mut self, transfer: impl Fn() -> Transfer) -> u32 {
        match self.free.pop() {
            Some(ticket) => {
                self.open[ticket as usize] = transfer();
                // The next will be kept there.
                self.free.last().into_iter().for_each(|&next| prefetch(&self.open[next as usize], usize::MAX));
                ticket
            }
            None => {
                self.open.push(transfer());
                self.open.len() as u32 - 1
            }
        }
    }

    /// The first of the transfers that have not ended.
    pub fn endless(&self) -> Option<EventKey> {
        if self.free.len() == self.open.len() {
            return None;
        }
        let mut is_open = vec![true; self.open.len()];
        self.free.iter().for_each(|&ticket| is_open[ticket as usize] = false);
        let open = self.open.iter().zip(is_open).filter(|(transfer, open)| *open && !transfer.has_ended());
        open.map(|(transfer, _)| transfer.key).min()
    }

    /// The transfer with this ticket.
    pub fn transfer(&mut self, ticket: u32) -> &mut Transfer {
        &mut self.open[ticket as usize]
    }

    /// Records the losses of the bundle of a transfer at the start of the transfer.
    fn starts_with(&mut self, ticket: u32, lost: LostBytes) {
        let [out, into, duplex, uplinks @ ..] = lost.0;
        self.transfer(ticket).lost = [out, into, duplex];
        if self.flows.as_ref().is_some_and(Flows::has_uplinks) {
            let at = ticket as usize;
            if at >= self.lost_at_uplinks.len() {
                self.lost_at_uplinks.resize(at + 1, [0; UplinkKind::COUNT]);
            }
            self.lost_at_uplinks[at] = uplinks;
        }
    }

    /// Returns the delays of the transfer of an ended flow.
    pub fn held_up(&self, flow: &EndedFlow) -> Delays {
        let at = flow.ticket as usize;
        self.open[at].held_up(flow, self.lost_at_uplinks.get(at))
    }

    /// Lets a blocking receive wait for the end of the transfer with this ticket.
    fn wait_for(&mut self, ticket: u32, receive: MatchedReceive) {
        let at = ticket as usize;
        self.open[at].taker = TransferConsumer::BlockingReceive;
        if at >= self.awaited.len() {
            self.awaited.resize_with(at + 1, || None);
        }
        self.awaited[at] = Some(receive);
    }

    /// Returns the blocking receive that waits for the end of the transfer with this ticket.
    pub fn waiting_receive(&mut self, ticket: u32) -> MatchedReceive {
        self.awaited[ticket as usize].take().expect("a blocking receive waits")
    }

    /// The transfer with this ticket has ended without a receive.
    pub fn end_without_receive(&mut self, ticket: u32, end: SimTime, delays: Delays) {
        let at = ticket as usize;
        self.open[at].taker = TransferConsumer::Ended(end);
        if at >= self.late.len() {
            self.late.resize(at + 1, Delays::default());
        }
        self.late[at] = delays;
    }

    /// Nobody asks for this ticket any more.
    pub fn forget(&mut self, ticket: u32) {
        self.free.push(ticket);
    }
}

impl LogicalProcess<'_> {
    /// The flows of the worker's nodes, if there are any.
    pub fn flows(&mut self) -> Option<&mut Flows> {
        self.fair.as_deref_mut().and_then(|fair| fair.flows.as_mut())
    }

    /// The next slot at which flows are to be judged; NEVER after a failure, when nothing has a meaning any more.
    pub fn next_slot(&mut self) -> SimTime {
        match self.failure {
            Some(_) => SimTime::NEVER,
            None => self.flows().map_or(SimTime::NEVER, |flows| flows.next_slot()),
        }
    }

    /// Takes what other workers have told of flows.
    pub fn hear(&mut self, incoming: &mut Batch) {
        let news = incoming.news.drain(..);
        if let Some(flows) = self.fair.as_deref_mut().and_then(|fair| fair.flows.as_mut()) {
            news.for_each(|news| flows.hear(news));
        }
        self.tell();
    }

    /// Returns whether all workers must exchange messages once more before they handle events, so that they know the
    /// levels of the flows that they have announced.
    pub fn exchanges_again(&mut self) -> bool {
        self.flows().is_some_and(Flows::take_question)
    }

    /// Puts what other workers are to hear of flows into their batches.
    pub fn tell(&mut self) {
        if let Some(flows) = self.fair.as_deref_mut().and_then(|fair| fair.flows.as_mut())
            && flows.has_news()
        {
            for (worker, news) in flows.outbox() {
                self.outbox.batches[worker as usize].news.push(news);
            }
        }
    }

    /// Handles the arrival of a transfer's head by the event `key`. The head left at `left`. Returns the known facts
    /// about the end of the transfer, and its delays if the end is known.
    pub fn land(
        &mut self,
        key: EventKey,
        row: &Row,
        size: Bytes,
        (left, passage): (SimTime, Passage),
        taker: TransferConsumer,
    ) -> (TransferOutcome, Delays) {
        let (head, alone) = (key.time, row.bandwidth.span(size, 1));
        let (from, to) = (self.seats[key.from as usize], self.seats[key.to as usize]);
        let delays = passage.head_delays(row, left, head);
        let fair = self.fair.as_deref_mut().expect("the level shares fairly");
        if let Some(links) = fair.flows.as_ref().and_then(Flows::links)
            && links.crosses(from.node, to.node)
        {
            fair.traffic.add(size, matches!(passage.carrier, Carrier::Adapter { .. }));
        }
        let (turn, detour, bundle) = match passage.carrier {
            Carrier::Flow { turn, detour, bundle } => (u32::from(turn), detour, bundle),
            Carrier::Adapter { turn } => {
                let (taken, by) = fair.adapters.receive(from, to, u32::from(turn), row, size, head);
                let delays = by.map_or(delays, |by| delays.and(by, taken.since(head)));
                return (TransferOutcome::Ends(taken + alone), delays);
            }
            Carrier::Core | Carrier::Port { .. } => return (TransferOutcome::Ends(head + alone), delays),
        };
        fair.adapters.carry_in((from, to), turn, row, size);
        let key_of_bundle = |fair: &Fair| BundleKey {
            detour,
            ..fair.bundle(from, to, turn, row, size).expect("the sender has a bundle")
        };
        let bundle = match bundle {
            Some(bundle) => bundle,
            None => {
                let bundle = key_of_bundle(fair);
                fair.flows.as_mut().expect("it has a bundle").index(bundle)
            }
        };
        let before = delays.before_head();
        let ticket = fair.keep(|| Transfer { key, left, size, taker, before, lost: [0; 3] });
        let flows = fair.flows.as_mut().expect("it has a bundle");
        let (start, slot) = flows.start(bundle, head, alone, ticket);
        let landing = match start {
            FlowStart::Ends(end, part) => {
                fair.forget(ticket);
                let longer = end.since(head).saturating_sub(alone);
                (TransferOutcome::Ends(end), part.map_or(delays, |part| delays.and(wire(part), longer)))
            }
            FlowStart::Goes(lost) => {
                fair.starts_with(ticket, lost);
                (TransferOutcome::Open(ticket), delays)
            }
        };
        self.window_end = self.window_end.min(slot);
        self.tell();
        landing
    }

    /// Lets the blocking receive of a rank's program wait for the end of a flow.
    pub fn await_flow(&mut self, ticket: u32, receive: MatchedReceive) {
        self.fair.as_deref_mut().expect("there are tickets").wait_for(ticket, receive);
    }

    /// The end of a message that was kept with this ticket and what held it up, if it is known by now. If it is not,
    /// `recv` will be told of it.
    pub fn ask(&mut self, ticket: u32, recv: Option<RequestId>) -> Option<(SimTime, Delays)> {
        let fair = self.fair.as_deref_mut().expect("there are tickets");
        match (fair.transfer(ticket).taker, recv) {
            (TransferConsumer::Ended(end), _) => {
                let delays = fair.late[ticket as usize];
                fair.forget(ticket);
                Some((end, delays))
            }
            (_, Some(recv)) => {
                fair.transfer(ticket).taker = TransferConsumer::Receive(recv);
                None
            }
            (_, None) => None,
        }
    }
}

impl TargetRank {
    /// The rank's core copies a message from `time` on, after the messages that came before. The copy takes `span`.
    /// Returns the start and the end of the copy.
    pub fn copy(&mut self, span: SimSpan, time: SimTime) -> (SimTime, SimTime) {
        let occupied = self.occupied();
        occupied.copying += span;
        (occupied.copies.queue(time, span), occupied.copies.free())
    }
}
