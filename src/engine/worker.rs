//! A worker: the ranks of some nodes, and the loop of windows in which their events are handled.

use serde::{Deserialize, Serialize};

use crate::platform::Level;
use crate::profile::TransferParts;
use crate::rank::{COMPLETE, Program, Rank, RequestId, SERVICE};
use crate::units::{Bytes, SimTime};

use super::calls::{resume, run};
use super::desk::Desk;
use super::error::{RunError, Waiting};
use super::event::{Body, Event, EventKey, Going, Parcel};
use super::fair::{Landing, NO_FLOW, Service, Taker};
use super::flows::SUPERSTEPS;
use super::horizon::Horizon;
use super::idle::end_idle;
use super::messages::{arrive, came, set_ready};
use super::network::Flight;
use super::paths::{Path, PathSlot};
use super::requests::{Request, RequestKind, RequestState};
use super::service::{serve, serve_at_end};
use super::simulation::Progress;
use super::state::{Answer, MAIN, RankState, Shared, Wait};
use super::transport::{Batch, Bid, Transport};
use super::waits::wake;

/// Calls and events between two looks at what the user sees and wants: progress, limits, interruption.
const HANDLED_PER_LOOK: u64 = 4096;

/// The ranks of some nodes.
pub(super) struct Worker<'a, P> {
    pub ranks: Vec<RankState<P>>,
    pub desk: Desk<'a>,
    pub max_events: Option<u64>,
    pub reported: u64,
    /// What all workers had handled at the last exchange, and what this one had.
    handled_by_all: u64,
    handled_before: u64,
}

/// Why a worker left its loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum End {
    /// No events are left anywhere.
    Quiet,
    /// Some worker has failed, and no other can fail before it; or one was interrupted.
    Stopped,
    /// The windows hold too little for several workers.
    TooSmall,
}

/// Rounds after which it is judged whether several workers pay off, and how much they must have handled a round.
const TRIAL_ROUNDS: u64 = 1000;
const WORTHWHILE: u64 = 128;

impl<'a, P: Program> Worker<'a, P> {
    /// A worker for `ranks`, each with the number of ranks on its core, whose programs `make` gives.
    pub fn new(desk: Desk<'a>, ranks: &[(Rank, u32)], make: impl Fn(Rank) -> P, max_events: Option<u64>) -> Self {
        let mut desk = desk;
        let start = desk.paths.put(Path::default());
        let recording = desk.recording;
        let state = |&(rank, sharing): &(Rank, u32)| {
            let mut path = desk.paths.share(start);
            if recording.marks > 0 {
                desk.paths.claim(&mut path, rank, 0);
            }
            RankState { program: make(rank), shared: Shared::new(rank, sharing, path, recording) }
        };
        let mut ranks: Vec<_> = ranks.iter().map(state).collect();
        desk.unfinished = ranks.len() as u64;
        ranks.iter_mut().for_each(|state| state.program.attach(&desk.bell));
        Worker { ranks, desk, max_events, reported: 0, handled_by_all: 0, handled_before: 0 }
    }

    /// Handles events window by window until none are left anywhere. In a trial it gives up early where windows are so
    /// small that several workers spend their time waiting for each other.
    pub fn work(&mut self, transport: &mut Transport<'_>, horizon: Horizon, trial: bool, progress: &Progress) -> End {
        let mut interrupted = self.begin(progress);
        let mut incoming = Batch::default();
        let (mut rounds, mut handled_in_rounds) = (0, 0);
        loop {
            let desk = &mut self.desk;
            let failed = desk.failure.is_some();
            let bid = Bid {
                queued: if failed { SimTime::NEVER } else { desk.queue.first_time() },
                sent: std::mem::replace(&mut desk.outgoing_next, SimTime::NEVER),
                handled: desk.handled - self.handled_before,
                slot: desk.next_slot(),
                until: desk.until(),
                stop: interrupted,
            };
            if let Some(meter) = &mut desk.meter {
                meter.window();
            }
            let ranks = &mut self.ranks;
            let mut run_ahead = || match desk.bell.answer() {
                Some(rank) => {
                    let program = &mut ranks[desk.seats[rank as usize].local as usize].program;
                    match &mut desk.meter {
                        None => program.run_ahead(),
                        Some(meter) => meter.code(|| program.run_ahead()),
                    }
                    true
                }
                None => false,
            };
            let agreement = transport.exchange(bid, &mut desk.outgoing, &mut incoming, &mut run_ahead);
            // Before the first round programs have run to their first waits: no window tells as little.
            if rounds > 0 {
                handled_in_rounds += agreement.handled;
            }
            self.handled_by_all += agreement.handled;
            self.handled_before = desk.handled;
            if agreement.stop {
                return End::Stopped;
            }
            for event in incoming.drain(&mut desk.payloads, &mut desk.paths) {
                assert!(event.key.time >= desk.window_end, "an event came for a window that has passed");
                desk.queue.push(event.key, || event.body);
            }
            desk.hear(&mut incoming);
            if let Some(meter) = &mut desk.meter {
                meter.waited(transport.waited());
                meter.exchange();
            }
            // What would come after a failure here has no meaning.
            let own = if failed { SimTime::NEVER } else { desk.queue.first_time() };
            let next = own.min(agreement.others);
            if agreement.slot <= next && agreement.slot < agreement.until {
                if self.judge(transport, &mut incoming, agreement.slot) {
                    return End::Stopped;
                }
                interrupted |= self.look_if_due(progress);
                continue;
            }
            if next >= agreement.until {
                if agreement.until < SimTime::NEVER {
                    return End::Stopped;
                }
                self.look_for_overflow();
                return End::Quiet;
            }
            rounds += 1;
            if trial && rounds == TRIAL_ROUNDS && handled_in_rounds < TRIAL_ROUNDS * WORTHWHILE {
                return End::TooSmall;
            }
            if !failed {
                desk.window_end = horizon.end(own, agreement.others).min(agreement.until).min(agreement.slot);
                interrupted = self.window(progress);
            }
        }
    }

    /// Runs every program up to its first wait; true if the user interrupts.
    fn begin(&mut self, progress: &Progress) -> bool {
        for index in 0..self.ranks.len() {
            let RankState { program, shared } = &mut self.ranks[index];
            self.desk.now = EventKey { time: SimTime::ZERO, to: shared.rank, from: shared.rank, sequence: 0 };
            run(program, shared, &mut self.desk, MAIN, Answer::Begin);
            go_on(program, shared, &mut self.desk);
            if self.desk.failure.is_some() {
                return false;
            }
            if self.look_if_due(progress) {
                return true;
            }
        }
        false
    }

    /// Handles the events of a window; true if the user interrupts.
    fn window(&mut self, progress: &Progress) -> bool {
        while let Some(event) = self.desk.queue.pop_before(self.desk.window_end) {
            self.handle(event);
            if self.desk.failure.is_some() {
                return false;
            }
            if self.look_if_due(progress) {
                return true;
            }
        }
        self.look(progress)
    }

    /// As [`Worker::look`], now and then.
    #[inline(always)]
    fn look_if_due(&mut self, progress: &Progress) -> bool {
        self.desk.handled - self.desk.counted >= HANDLED_PER_LOOK && self.look(progress)
    }

    /// Tells the user how far it is, and looks at what the user wants.
    fn look(&mut self, progress: &Progress) -> bool {
        let desk = &mut self.desk;
        progress.report(desk.now.time, desk.delivered - self.reported);
        self.reported = desk.delivered;
        desk.counted = desk.handled;
        // What others have handled since the last exchange comes with the next.
        if let Some(limit) = self.max_events
            && self.handled_by_all + (desk.handled - self.handled_before) > limit
        {
            desk.fail(RunError::MaxEvents { limit, clock: desk.now.time });
        }
        progress.cancelled()
    }

    /// An event past the greatest instant never happens: a run that ends with one in the queue has no result.
    fn look_for_overflow(&mut self) {
        let desk = &mut self.desk;
        if let Some(key) = desk.queue.first_key() {
            desk.now = key;
            let rank = &self.ranks[desk.seats[key.to as usize].local as usize];
            desk.fail_by_time(key.to, rank.program.position());
        }
    }

    #[inline(always)]
    fn handle(&mut self, event: Event) {
        let desk = &mut self.desk;
        assert!(event.key.time >= desk.now.time, "time went backwards");
        desk.now = event.key;
        desk.handled += 1;
        let seat = desk.seats[event.key.to as usize];
        if let Body::Leave { to, parcel, going } = event.body {
            let EventKey { time: left, from, sequence, .. } = event.key;
            let level = desk.level(from, to);
            let row = desk.network.link(level).row(parcel.size);
            let RankState { program, shared } = &mut self.ranks[seat.local as usize];
            let start = match going {
                Going::At(_) | Going::Asked => left,
                Going::Copied(request) => copied(shared, desk, request, &parcel, left),
            };
            let key = EventKey { time: start, to, from, sequence };
            let set_out = desk.set_out(shared, key, (level, row), &parcel, start);
            let head = match going {
                Going::At(head) => head,
                Going::Asked | Going::Copied(_) => desk.in_order(shared, level, to, left, set_out.head),
            };
            // The number of the leaving serves the head too: of the two only one exists at a time.
            let key = EventKey { time: head, ..key };
            desk.announce(key, level, row, &parcel, set_out.load, left);
            desk.push_event(key, || Body::Head { parcel, left, load: set_out.load });
            if let Going::Copied(_) = going {
                go_on(program, shared, desk);
            }
            return;
        }
        let RankState { program, shared } = &mut self.ranks[seat.local as usize];
        match event.body {
            Body::Wake { task, turn } => {
                if wake(shared, desk, task, turn) {
                    desk.woken.push(task);
                }
            }
            Body::Idle => {
                if end_idle(shared, desk) {
                    desk.woken.push(MAIN);
                }
            }
            Body::Leave { .. } => unreachable!("handled above"),
            Body::Head { parcel, left, load } => {
                let from = event.key.from;
                let end = if parcel.rendezvous.is_some() {
                    event.key.time
                } else if desk.fair.is_some() && desk.is_fair(desk.level(from, shared.rank)) {
                    match land(desk, event.key, parcel, Flight { left, load }) {
                        Some(Landing::Ends(end)) => end,
                        Some(Landing::Open(ticket)) => {
                            arrive(shared, desk, from, parcel, left, (SimTime::NEVER, ticket));
                            go_on(program, shared, desk);
                            return;
                        }
                        None => return,
                    }
                } else {
                    let level = desk.level(from, shared.rank);
                    let row = desk.network.link(level).row(parcel.size);
                    let end = desk.network.arrive(seat, level, row, parcel.size, Flight { left, load }, event.key.time);
                    desk.record(level, from, shared.rank, parcel.size, end.since(left));
                    end
                };
                match parcel.context {
                    SERVICE => serve_at_end(program, shared, desk, event.key, parcel, left, end),
                    _ => arrive(shared, desk, from, parcel, left, (end, NO_FLOW)),
                }
            }
            Body::Serve { parcel, left } => serve(program, shared, desk, event.key.from, parcel, left),
            Body::Grant { send, recv, path } => {
                let Request { peer: to, size, .. } = *shared.requests.get(send);
                let left = event.key.time;
                let level = desk.level(shared.rank, to);
                let row = desk.network.link(level).row(size);
                let key = EventKey { time: left, to, from: shared.rank, sequence: shared.next_sequence() };
                let start = match desk.sender_copies(level, size) {
                    true => shared.copy(row, size, left).0,
                    false => left,
                };
                let turn = desk.turn(shared, level);
                let start = desk.past_adapter(key, (level, row), size, turn, start);
                let departure = desk.network.depart(seat, level, row, size, start);
                let key = EventKey { time: departure.head, ..key };
                if desk.fair.is_some() && level == Level::InterNode {
                    desk.announce_transfer(key, row, size, turn, left);
                }
                let load = if desk.is_fair(level) { turn } else { departure.load };
                let body = Body::Data { send, recv, size, left, load, path };
                desk.push_event(key, || body);
            }
            Body::Data { send, recv, size, left, load, path } => {
                let from = event.key.from;
                let level = desk.level(from, shared.rank);
                let row = desk.network.link(level).row(size);
                let end = if !desk.is_fair(level) {
                    desk.network.arrive(seat, level, row, size, Flight { left, load }, event.key.time)
                } else if level != Level::InterNode {
                    event.key.time + row.bandwidth.span(size, 1)
                } else {
                    match desk.land(event.key, row, size, Flight { left, load }, Taker::Granted { send, recv, path }) {
                        Landing::Ends(end) => end,
                        Landing::Open(_) => return,
                    }
                };
                end_transfer(shared, desk, event.key, (send, recv, path), size, left, end);
            }
            Body::Copy { recv, head, end } => came(shared, desk, recv, head, end),
            Body::End { send, path } => {
                shared.requests.get_mut(send).came_at(event.key.time, path);
                set_ready(shared, desk, send, event.key.time);
            }
        }
        desk.alone = desk.woken.len() == 1 && shared.strands.is_empty();
        go_on(program, shared, desk);
        desk.alone = false;
    }

    /// All workers have come to the slot at `time`: judges flows together with the others, and goes on with the messages that end
    /// before the next. True if the run is to stop.
    fn judge(&mut self, transport: &mut Transport<'_>, incoming: &mut Batch, time: SimTime) -> bool {
        let never = SimTime::NEVER;
        let desk = &mut self.desk;
        desk.window_end = time;
        for step in 0.. {
            let moves = desk.flows().is_some_and(|flows| {
                if step == 0 {
                    flows.open(time);
                }
                flows.judge(time)
            });
            desk.tell();
            let slot = if moves { time } else { never };
            let bid = Bid { queued: never, sent: never, handled: 0, slot, until: never, stop: false };
            let agreement = transport.exchange(bid, &mut desk.outgoing, incoming, &mut || false);
            if agreement.stop {
                return true;
            }
            desk.hear(incoming);
            let unsettled = agreement.slot == time;
            if let Some(flows) = desk.flows() {
                flows.take_levels(time);
                if unsettled && step == SUPERSTEPS {
                    flows.give_up();
                }
            }
            if !unsettled || step == SUPERSTEPS {
                break;
            }
        }
        self.end_flows(time);
        false
    }

    /// Goes on with the messages that end between the slot at `time` and the next, in order of their ends.
    fn end_flows(&mut self, time: SimTime) {
        let Some(fair) = self.desk.fair.as_deref_mut() else { return };
        let mut ended = std::mem::take(&mut fair.ended);
        if let Some(flows) = &mut fair.flows {
            flows.settle(time, &mut ended);
        }
        ended.sort_unstable_by_key(|&(end, ticket)| (end, fair.transfer(ticket).key));
        self.desk.tell();
        for (end, ticket) in ended.drain(..) {
            if self.desk.failure.is_none() {
                self.end_flow(time, ticket, end);
            }
        }
        if let Some(fair) = self.desk.fair.as_deref_mut() {
            fair.ended = ended;
        }
    }

    /// The flow with this ticket will have ended at `end`, which is before the slot that follows `now`.
    fn end_flow(&mut self, now: SimTime, ticket: u32, end: SimTime) {
        let desk = &mut self.desk;
        let fair = desk.fair.as_deref_mut().expect("there are flows");
        let transfer = *fair.transfer(ticket);
        let (key, left, size) = (transfer.key, transfer.left, transfer.size);
        desk.now = EventKey { time: now, ..key };
        desk.handled += 1;
        let seat = desk.seats[key.to as usize];
        let RankState { program, shared } = &mut self.ranks[seat.local as usize];
        match transfer.taker {
            Taker::Nobody => fair.transfer(ticket).taker = Taker::Ended(end),
            Taker::Ended(_) => unreachable!("a flow ends once"),
            Taker::Receive(_) | Taker::Granted { .. } | Taker::Serve => fair.forget(ticket),
        }
        match transfer.taker {
            Taker::Granted { send, recv, path } => {
                end_transfer(shared, desk, key, (send, recv, path), size, left, end);
            }
            taker => {
                desk.record(Level::InterNode, key.from, key.to, size, end.since(left));
                match taker {
                    Taker::Receive(recv) => came(shared, desk, recv, key.time, end),
                    Taker::Serve => serve_in_order(program, shared, desk, (key.to, key.from), ticket, end),
                    Taker::Nobody | Taker::Ended(_) | Taker::Granted { .. } => {}
                }
            }
        }
        go_on(program, shared, desk);
    }

    /// The ranks that have not ended, and for whom they wait.
    pub fn waiting(&self) -> Vec<Waiting> {
        let unfinished = self.ranks.iter().filter(|state| !matches!(state.shared.main.wait, Wait::Finished));
        let described =
            unfinished.map(|state| waiting(&state.shared, state.program.call_name(), state.program.position()));
        described.collect()
    }
}

/// The head of an eager message that left as `flight` says has come by the event `key`, on a level that shares fairly: what is known of its
/// end; nothing, if it is to be served after others.
fn land(desk: &mut Desk<'_>, key: EventKey, parcel: Parcel, flight: Flight) -> Option<Landing> {
    let left = flight.left;
    let level = desk.level(key.from, key.to);
    let row = desk.network.link(level).row(parcel.size);
    let serves = parcel.context == SERVICE;
    let landing = match level {
        Level::InterNode => desk.land(key, row, parcel.size, flight, if serves { Taker::Serve } else { Taker::Nobody }),
        Level::IntraCmp | Level::InterCmp => Landing::Ends(key.time + row.bandwidth.span(parcel.size, 1)),
    };
    if let Landing::Ends(end) = landing {
        desk.record(level, key.from, key.to, parcel.size, end.since(left));
    }
    if serves && level == Level::InterNode {
        let fair = desk.fair.as_deref_mut().expect("the level shares fairly");
        let queue = fair.services.entry((key.to, key.from)).or_default();
        if !queue.is_empty() || matches!(landing, Landing::Open(_)) {
            queue.push_back(Service { key, parcel, left, end: landing });
            return None;
        }
    }
    Some(landing)
}

/// A message that is to be served has an end: serves it and those behind it that have one, in the order of their heads.
fn serve_in_order<P: Program>(
    program: &mut P,
    shared: &mut Shared,
    desk: &mut Desk<'_>,
    pair: (Rank, Rank),
    ticket: u32,
    end: SimTime,
) {
    let fair = desk.fair.as_deref_mut().expect("there are flows");
    let queue = fair.services.get_mut(&pair).expect("it was kept");
    let ended = queue.iter_mut().find(|service| service.end == Landing::Open(ticket)).expect("it was kept");
    ended.end = Landing::Ends(end);
    let mut ready = Vec::new();
    while let Some(&Service { key, parcel, left, end: Landing::Ends(end) }) = queue.front() {
        ready.push((key, parcel, left, end));
        queue.pop_front();
    }
    let now = desk.now.time;
    for (key, parcel, left, end) in ready {
        serve_at_end(program, shared, desk, EventKey { time: now, ..key }, parcel, left, end.max(now));
    }
}

/// The core of the sender copies a message that is to leave at `left`: gives when it starts; the send is ready when it ends.
fn copied(shared: &mut Shared, desk: &mut Desk<'_>, send: RequestId, parcel: &Parcel, left: SimTime) -> SimTime {
    let level = desk.level(shared.rank, shared.requests.get(send).peer);
    let row = desk.network.link(level).row(parcel.size);
    let (start, end) = shared.copy(row, parcel.size, left);
    let path = desk.paths.share(parcel.path);
    shared.requests.get_mut(send).came_at(left, path);
    set_ready(shared, desk, send, end);
    start
}

/// A granted transfer whose head came by the event `head` ends at `end`.
fn end_transfer(
    shared: &mut Shared,
    desk: &mut Desk<'_>,
    head: EventKey,
    (send, recv, mut path): (RequestId, RequestId, PathSlot),
    size: Bytes,
    left: SimTime,
    end: SimTime,
) {
    let from = head.from;
    let level = desk.level(from, shared.rank);
    let link = desk.network.link(level);
    let end = match desk.receiver_copies(level, size) {
        true => end.max(shared.copy(link.row(size), size, head.time).1),
        false => end,
    };
    desk.record(level, from, shared.rank, size, end.since(left));
    // The sender hears of the end no sooner than a control message after the head: this is what lets its
    // worker go ahead meanwhile.
    let heard = end.max(head.time + link.handshake());
    desk.cross(&mut path, (from, shared.rank), size, left, end);
    shared.requests.get_mut(recv).came_at(end, desk.paths.share(path));
    if heard > end {
        let news = TransferParts::of_control(heard.since(end), link.handshake());
        desk.paths.cross(&mut path, level, left, news);
    }
    desk.push(shared, heard, from, || Body::End { send, path });
    set_ready(shared, desk, recv, end);
}

/// Runs the tasks whose waits are over.
fn go_on<P: Program>(program: &mut P, shared: &mut Shared, desk: &mut Desk<'_>) {
    while desk.failure.is_none()
        && let Some(task) = desk.woken.pop()
    {
        resume(program, shared, desk, task);
    }
    if let Some((_, RunError::Truncated { position, .. })) = &mut desk.failure {
        *position = program.position();
    }
}

fn waiting(shared: &Shared, name: Option<&'static str>, position: Option<String>) -> Waiting {
    let control = &shared.main;
    let mut since = control.since;
    let mut awaits = Vec::new();
    let mut peers = Vec::new();
    let mut add = |(text, peer): (String, Option<Rank>)| {
        awaits.push(text);
        peers.extend(peer);
    };
    let call = match &control.wait {
        Wait::All { kind, requests, .. } => {
            let unfinished = requests.iter().filter(|&&id| id != COMPLETE).map(|&id| shared.requests.get(id));
            unfinished
                .filter(|request| request.state == RequestState::Pending)
                .for_each(|request| add(awaited(shared, request)));
            kind.name()
        }
        Wait::Recv { kind, pattern } => {
            add(Request::receive(pattern, control.since, control.path).awaits());
            kind.name()
        }
        Wait::Any(requests) => {
            requests.iter().for_each(|&id| add(awaited(shared, shared.requests.get(id))));
            "waitany"
        }
        Wait::Probe(pattern) => {
            add(Request::receive(pattern, control.since, control.path).awaits());
            "probe"
        }
        Wait::Test { .. } => "test",
        Wait::Iprobe(_) => "iprobe",
        Wait::Cancel(_) => "cancel",
        Wait::Idle { .. } => {
            add(("a message or the end of a request".to_owned(), None));
            since = shared.idle.as_ref().map_or(since, |idle| idle.since);
            "polling"
        }
        Wait::Nothing | Wait::Parked(_) | Wait::Finished => "run",
    };
    let call = name.or(control.collective).unwrap_or(call).to_owned();
    Waiting { rank: shared.rank, call, awaits, peers, since, position }
}

/// For whom a request waits; a strand waits for what its own requests wait for.
fn awaited(shared: &Shared, request: &Request) -> (String, Option<Rank>) {
    let strand = match request.kind {
        RequestKind::Strand => shared.strands[request.peer as usize - 1].as_ref(),
        RequestKind::Unmatched | RequestKind::Matched | RequestKind::Cancelled | RequestKind::Send => None,
    };
    let Some(strand) = strand else { return request.awaits() };
    let name = strand.program.as_ref().and_then(|program| program.position());
    let inner = match &strand.control.wait {
        Wait::All { requests, .. } => requests
            .iter()
            .filter(|&&id| id != COMPLETE)
            .map(|&id| shared.requests.get(id))
            .find(|request| request.state == RequestState::Pending)
            .map(Request::awaits),
        _ => None,
    };
    let (text, peer) = inner.unwrap_or_else(|| request.awaits());
    (name.map_or(text.clone(), |name| format!("{name}: {text}")), peer)
}
