//! A worker: the ranks of some nodes, and the loop of windows in which their events are handled.

use serde::{Deserialize, Serialize};

use crate::profile::TransferParts;
use crate::rank::{COMPLETE, Program, Rank, SERVICE};
use crate::units::SimTime;

use super::calls::{resume, run};
use super::desk::Desk;
use super::error::{RunError, Waiting};
use super::event::{Body, Event, EventKey};
use super::horizon::Horizon;
use super::idle::end_idle;
use super::messages::{arrive, set_ready};
use super::network::Flight;
use super::paths::Path;
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
            if let Some(meter) = &mut desk.meter {
                meter.waited(transport.waited());
                meter.exchange();
            }
            // What would come after a failure here has no meaning.
            let own = if failed { SimTime::NEVER } else { desk.queue.first_time() };
            if own.min(agreement.others) >= agreement.until {
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
                desk.window_end = horizon.end(own, agreement.others).min(agreement.until);
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
        if let Body::Leave { to, parcel, head } = event.body {
            let EventKey { time: left, from, sequence, .. } = event.key;
            let level = desk.level(from, to);
            let row = desk.network.link(level).row(parcel.size);
            let set_out = desk.set_out(from, level, row, &parcel, left);
            let head = head.unwrap_or_else(|| {
                let shared = &mut self.ranks[seat.local as usize].shared;
                desk.in_order(shared, level, to, left, set_out.head)
            });
            // The number of the leaving serves the head too: of the two only one exists at a time.
            let key = EventKey { time: head, to, from, sequence };
            desk.push_event(key, || Body::Head { parcel, left, load: set_out.load });
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
                } else {
                    let level = desk.level(from, shared.rank);
                    let row = desk.network.link(level).row(parcel.size);
                    let end = desk.network.arrive(seat, level, row, parcel.size, Flight { left, load }, event.key.time);
                    desk.record(level, from, shared.rank, parcel.size, end.since(left));
                    end
                };
                match parcel.context {
                    SERVICE => serve_at_end(program, shared, desk, event.key, parcel, left, end),
                    _ => arrive(shared, desk, from, parcel, left, end),
                }
            }
            Body::Serve { parcel, left } => serve(program, shared, desk, event.key.from, parcel, left),
            Body::Grant { send, recv, path } => {
                let Request { peer: to, size, .. } = *shared.requests.get(send);
                let left = event.key.time;
                let level = desk.level(shared.rank, to);
                let row = desk.network.link(level).row(size);
                let departure = desk.network.depart(seat, level, row, size, left);
                let body = Body::Data { send, recv, size, left, load: departure.load, path };
                desk.push(shared, departure.head, to, || body);
            }
            Body::Data { send, recv, size, left, load, mut path } => {
                let from = event.key.from;
                let level = desk.level(from, shared.rank);
                let link = desk.network.link(level);
                let end = desk.network.arrive(seat, level, link.row(size), size, Flight { left, load }, event.key.time);
                desk.record(level, from, shared.rank, size, end.since(left));
                // The sender hears of the end no sooner than a control message after the head: this is what lets its
                // worker go ahead meanwhile.
                let heard = end.max(event.key.time + link.handshake());
                desk.cross(&mut path, (from, shared.rank), size, left, end);
                shared.requests.get_mut(recv).came_at(end, desk.paths.share(path));
                if heard > end {
                    let news = TransferParts::of_control(heard.since(end), link.handshake());
                    desk.paths.cross(&mut path, level, left, news);
                }
                desk.push(shared, heard, from, || Body::End { send, path });
                set_ready(shared, desk, recv, end);
            }
            Body::End { send, path } => {
                shared.requests.get_mut(send).came_at(event.key.time, path);
                set_ready(shared, desk, send, event.key.time);
            }
        }
        desk.alone = desk.woken.len() == 1 && shared.strands.is_empty();
        go_on(program, shared, desk);
        desk.alone = false;
    }

    /// The ranks that have not ended, and for whom they wait.
    pub fn waiting(&self) -> Vec<Waiting> {
        let unfinished = self.ranks.iter().filter(|state| !matches!(state.shared.main.wait, Wait::Finished));
        let described =
            unfinished.map(|state| waiting(&state.shared, state.program.call_name(), state.program.position()));
        described.collect()
    }
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
