//! A worker: simulates the ranks of some nodes, and handles the events of these ranks window by window.

mod ends;
mod foresee;
mod waiting;
mod woken;

use serde::{Deserialize, Serialize};

use mcpsim_base::platform::Site;
use mcpsim_base::profile::Resource;
use mcpsim_base::rank::{Program, Rank, RequestId, SERVICE};
use mcpsim_base::units::SimTime;

use super::calls::begin;
use super::delays::Delays;
use super::departure::{Carrier, LeavingMessage, Passage};
use super::error::RunError;
use super::event::{Event, EventKey, EventKind, Going, InFlightMessage};
use super::fair::{Fair, NO_FLOW, PendingService, TransferConsumer, TransferOutcome};
use super::granted::end_transfer;
use super::horizon::Horizon;
use super::idle::end_idle;
use super::jobs::{JobRanks, job_of};
use super::lp::LogicalProcess;
use super::messages::{arrive, came, set_ready};
use super::mpi_intervals::put_off;
use super::network::RankLocation;
use super::paths::Path;
use super::requests::RequestRecord;
use super::service::{serve, serve_at_end};
use super::shared_cores::leave_core_to_wait;
use super::simulation::Progress;
use super::state::{Answer, MAIN, RankState, TargetRank, Wait};
use super::transport::{Batch, LocalBound, Transport};
use super::waits::{wait_for_own_time, wake};
use woken::{go_on, next_copies};

/// Number of calls and events between two checks of progress, limits of the run and interruption.
const HANDLED_PER_LOOK: u64 = 4096;

/// State of a worker: the ranks of some nodes.
pub(super) struct Worker<'a, P> {
    pub ranks: Vec<RankState<P>>,
    pub lp: LogicalProcess<'a>,
    pub max_events: Option<u64>,
    /// Whether the worker prefetches the data of the next events.
    foresees: bool,
    pub reported: u64,
    /// Number of calls and events that the worker had handled at the last check of the limits of the run.
    looked_at: u64,
    /// Number of calls and events handled by all workers at the last exchange, and number handled by this worker.
    handled_by_all: u64,
    handled_before: u64,
}

/// Reason why the window loop of a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum WorkerEnd {
    /// No worker has any events left.
    Quiet,
    /// A worker has failed and no other worker can fail earlier, or the user has interrupted the run.
    Stopped,
    /// The windows of virtual time have too few events for several workers.
    TooSmall,
}

/// Number of rounds of a trial of several workers, and number of events per round from which several workers are
/// efficient.
const TRIAL_ROUNDS: u64 = 1000;
const WORTHWHILE: u64 = 128;

impl<'a, P: Program> Worker<'a, P> {
    /// Creates a worker for `ranks`, which lists each rank with the number of ranks on its core; `make` creates the
    /// programs of the ranks.
    pub fn new(
        lp: LogicalProcess<'a>,
        ranks: &[(Rank, u32)],
        make: impl Fn(Rank) -> P,
        max_events: Option<u64>,
    ) -> Self {
        let mut lp = lp;
        let start = lp.paths.put(Path::default());
        let recording = lp.recording.limits;
        let state = |&(rank, sharing): &(Rank, u32)| {
            let mut path = lp.paths.share(start);
            if recording.marks > 0 {
                lp.paths.claim(&mut path, rank, 0);
            }
            RankState { program: make(rank), target: TargetRank::new(rank, sharing, path, recording) }
        };
        let mut ranks: Vec<_> = ranks.iter().map(state).collect();
        lp.unfinished = ranks.len() as u64;
        ranks.iter_mut().for_each(|state| state.program.attach(&lp.doorbell));
        let foresees = ranks.len() >= foresee::FAR_RANKS;
        lp.queue.know(foresee::known(ranks.len()));
        Worker { ranks, lp, max_events, foresees, reported: 0, looked_at: 0, handled_by_all: 0, handled_before: 0 }
    }

    /// Sets the start of each rank's job, and creates the state that the platform's conditions keep for each rank, if
    /// any.
    pub fn meet(&mut self, sites: &[Site], jobs: &[JobRanks]) {
        for RankState { target, .. } in &mut self.ranks {
            target.start_at(job_of(jobs, target.rank).map_or(SimTime::ZERO, |job| job.start));
        }
        self.lp.network.with_ranks_at(sites);
        let factors = &self.lp.network.nodes().adapter;
        if !factors.is_empty() {
            let nodes = self.lp.seats.iter().map(|seat| seat.node + 1).max().unwrap_or(0);
            let mut adapters = vec![1.0; nodes as usize];
            for (seat, site) in self.lp.seats.iter().zip(sites) {
                adapters[seat.node as usize] = factors.get(site.node as usize).copied().unwrap_or(1.0);
            }
            self.lp.network.with_adapters(&adapters);
        }
        let Some(conditions) = &self.lp.conditions else { return };
        for RankState { target, .. } in &mut self.ranks {
            let draw = job_of(jobs, target.rank).map_or(target.rank, |job| job.draw(target.rank));
            target.meets = Some(conditions.meets(draw, sites[target.rank as usize]));
        }
    }

    /// Handles events window by window until no worker has any events. A trial of several workers ends early if windows
    /// are so small that workers mostly wait for each other.
    pub fn work(
        &mut self,
        transport: &mut Transport<'_>,
        horizon: Horizon,
        trial: bool,
        progress: &Progress,
    ) -> WorkerEnd {
        let mut interrupted = self.begin(progress);
        let mut incoming = Batch::default();
        let (mut rounds, mut handled_in_rounds) = (0, 0);
        loop {
            let lp = &mut self.lp;
            let failed = lp.failure.is_some();
            let bound = LocalBound {
                queued: if failed { SimTime::NEVER } else { lp.queue.first_time() },
                sent: std::mem::replace(&mut lp.outbox.next, SimTime::NEVER),
                handled: lp.handled - self.handled_before,
                slot: lp.next_slot(),
                until: lp.until(),
                again: lp.exchanges_again(),
                stop: interrupted,
            };
            if let Some(meter) = &mut lp.meter {
                meter.window();
            }
            let ranks = &mut self.ranks;
            let mut run_ahead = || match lp.doorbell.answer() {
                Some(rank) => {
                    let program = &mut ranks[lp.seats[rank as usize].local as usize].program;
                    match &mut lp.meter {
                        None => program.run_ahead(),
                        Some(meter) => meter.code(|| program.run_ahead()),
                    }
                    true
                }
                None => false,
            };
            let agreement = transport.exchange(bound, &mut lp.outbox.batches, &mut incoming, &mut run_ahead);
            // The round before the first window, in which programs run to their first waits, is not representative for
            // a trial.
            if rounds > 0 {
                handled_in_rounds += agreement.handled;
            }
            self.handled_by_all += agreement.handled;
            self.handled_before = lp.handled;
            if agreement.stop {
                return WorkerEnd::Stopped;
            }
            for event in incoming.drain(&mut lp.payloads, &mut lp.paths) {
                assert!(event.key.time >= lp.window_end, "an event came for a window that has passed");
                lp.queue.push(event.key, || event.body);
            }
            lp.hear(&mut incoming);
            if let Some(meter) = &mut lp.meter {
                meter.waited(transport.waited());
                meter.exchange();
            }
            if agreement.again {
                continue;
            }
            // After a failure of this worker, later events of the worker have no effect.
            let own = if failed { SimTime::NEVER } else { lp.queue.first_time() };
            let next = own.min(agreement.others);
            if agreement.slot <= next && agreement.slot < agreement.until {
                if self.judge(transport, &mut incoming, agreement.slot) {
                    return WorkerEnd::Stopped;
                }
                interrupted |= self.look_if_due(progress);
                continue;
            }
            if next >= agreement.until {
                if agreement.until < SimTime::NEVER {
                    return WorkerEnd::Stopped;
                }
                self.look_for_overflow();
                return WorkerEnd::Quiet;
            }
            rounds += 1;
            if trial && rounds == TRIAL_ROUNDS && handled_in_rounds < TRIAL_ROUNDS * WORTHWHILE {
                return WorkerEnd::TooSmall;
            }
            if !failed {
                lp.window_end = horizon.end(own, agreement.others).min(agreement.until).min(agreement.slot);
                interrupted = self.window(progress);
            }
        }
    }

    /// Runs the program of each rank up to its first wait; returns true if the user interrupts the run.
    fn begin(&mut self, progress: &Progress) -> bool {
        for index in 0..self.ranks.len() {
            let RankState { program, target } = &mut self.ranks[index];
            self.lp.now = EventKey { time: SimTime::ZERO, to: target.rank, from: target.rank, sequence: 0 };
            if target.main.clock > SimTime::ZERO {
                wait_for_own_time(target, &mut self.lp, MAIN, Wait::Parked(Answer::Begin));
                continue;
            }
            begin(program, target, &mut self.lp);
            leave_core_to_wait(target, &mut self.lp);
            go_on(program, target, &mut self.lp);
            if self.lp.failure.is_some() {
                return false;
            }
            if self.look_if_due(progress) {
                return true;
            }
        }
        false
    }

    /// Handles the events of a window; returns true if the user interrupts the run.
    fn window(&mut self, progress: &Progress) -> bool {
        while let Some(event) = self.lp.queue.pop_before(self.lp.window_end) {
            self.foresee();
            self.handle(event);
            if self.lp.failure.is_some() {
                return false;
            }
            if self.look_if_due(progress) {
                return true;
            }
        }
        self.look(progress)
    }

    /// Calls [`Worker::look`] if enough calls and events were handled since the last call.
    #[inline(always)]
    fn look_if_due(&mut self, progress: &Progress) -> bool {
        self.lp.handled - self.looked_at >= HANDLED_PER_LOOK && self.look(progress)
    }

    /// Reports the progress of the run, checks the event limit, and returns whether the user interrupts the run.
    fn look(&mut self, progress: &Progress) -> bool {
        let lp = &mut self.lp;
        progress.report(lp.now.time, lp.statistics.delivered - self.reported);
        self.reported = lp.statistics.delivered;
        self.looked_at = lp.handled;
        // The numbers of events that other workers have handled since the last exchange become known at the next
        // exchange.
        if let Some(limit) = self.max_events
            && self.handled_by_all + (lp.handled - self.handled_before) > limit
        {
            lp.fail(RunError::MaxEvents { limit, clock: lp.now.time });
        }
        progress.cancelled()
    }

    /// Ends the run with an error if an event or a transfer is past the greatest representable time, because such an
    /// event never takes place.
    fn look_for_overflow(&mut self) {
        let lp = &mut self.lp;
        let endless = lp.fair.as_deref().and_then(Fair::endless);
        let block = lp.node_memory.as_mut().and_then(|memory| memory.endless());
        let block = block.map(|to| EventKey { time: SimTime::NEVER, to, from: to, sequence: 0 });
        if let Some(key) = lp.queue.first_key().into_iter().chain(endless).chain(block).min() {
            lp.now = key;
            let rank = &self.ranks[lp.seats[key.to as usize].local as usize];
            lp.fail_by_time(key.to, rank.program.position());
        }
    }

    #[inline(always)]
    fn handle(&mut self, event: Event) {
        let lp = &mut self.lp;
        assert!(event.key.time >= lp.now.time, "time went backwards");
        lp.now.set(event.key);
        lp.handled += 1;
        let seat = lp.seats[event.key.to as usize];
        if let EventKind::Departure { to, message, going } = event.body {
            let EventKey { time: left, from, sequence, .. } = event.key;
            let level = lp.level(from, to);
            let row = lp.network.row(from, to, level, message.size);
            let RankState { program, target } = &mut self.ranks[seat.local as usize];
            if lp.rules(level).has_flows {
                target.left_for(to);
            }
            let (start, head) = match going {
                Going::At(head) => (left, Some(head)),
                Going::Asked => (left, None),
                Going::Copied(request) => (copied(target, lp, request, &message, left), None),
            };
            // The sequence number of the departure event is reused for the event of the head, because only one of the
            // two events exists at a time. With delays, the head of a message may wait until later heads have the same
            // time; heads of the same time are ordered by departure, not by the order of execution.
            let sequence = if lp.effects.delays { target.next_sequence() } else { sequence };
            let leaving = LeavingMessage { to, message, left, start, head, sequence };
            lp.leave(target, (level, row), leaving, &mut None);
            if let Going::Copied(_) = going {
                go_on(program, target, lp);
            }
            return;
        }
        let RankState { program, target } = &mut self.ranks[seat.local as usize];
        match event.body {
            EventKind::Wake { task, turn } => {
                if wake(target, lp, task, turn) {
                    lp.woken.push(task);
                }
            }
            EventKind::Idle => {
                if end_idle(target, lp) {
                    lp.woken.push(MAIN);
                }
            }
            EventKind::Departure { .. } => unreachable!("handled above"),
            EventKind::Arrival { mut message, left, passage } => {
                let from = event.key.from;
                let source = lp.seats[from as usize];
                let level = RankLocation::level(source, seat);
                if lp.effects.connects {
                    lp.connected(target, from);
                }
                let end = if message.rendezvous.is_some() {
                    event.key.time
                } else if let Carrier::Port { load } = passage.carrier {
                    let row = lp.network.row(from, target.rank, level, message.size);
                    let nodes = [source.node, seat.node];
                    let end = lp.network.arrive(nodes, level, row, message.size, (left, load), event.key.time);
                    lp.record_to(target, level, from, message.size, (left, end));
                    end
                } else {
                    match land(target, lp, event.key, &mut message, (left, passage)) {
                        Some(TransferOutcome::Ends(end)) => end,
                        Some(TransferOutcome::Open(ticket)) => {
                            arrive(target, lp, (from, level), message, left, (SimTime::NEVER, ticket));
                            go_on(program, target, lp);
                            return;
                        }
                        None => return,
                    }
                };
                match message.context {
                    SERVICE => serve_at_end(program, target, lp, event.key, message, left, end),
                    _ => arrive(target, lp, (from, level), message, left, (end, NO_FLOW)),
                }
            }
            EventKind::Serve { message, left } => serve(program, target, lp, event.key.from, message, left),
            EventKind::ClearToSend { send, recv, path } => {
                if lp.effects.by_call && put_off(target, lp, event.body) {
                    return;
                }
                let RequestRecord { peer: to, size, .. } = *target.requests.get(send);
                let left = event.key.time;
                let level = lp.level(target.rank, to);
                let row = lp.network.row(target.rank, to, level, size);
                let key = EventKey { time: left, to, from: target.rank, sequence: target.next_sequence() };
                let copied = match lp.sender_copies(level, size) {
                    true => target.copy(row.copy(size), left).0,
                    false => left,
                };
                let mut bundle = None;
                let mut departure = lp.depart(target, to, (level, row), size, copied, &mut bundle);
                if copied > left {
                    departure.passage.delayed_by = Some(Resource::Core);
                }
                if lp.effects.delays {
                    departure.head += lp.delay(target, to, level, Some(row), size);
                }
                let key = EventKey { time: departure.head, ..key };
                let mut passage = departure.passage;
                lp.announce(key, row, size, left, bundle, &mut passage);
                let body = EventKind::TransferArrival { send, recv, size, left, since: left, passage, path };
                lp.push_event(key, || body);
            }
            EventKind::TransferArrival { send, recv, size, left, since, passage, mut path } => {
                let from = event.key.from;
                let level = lp.level(from, target.rank);
                let row = lp.network.row(from, target.rank, level, size);
                let copies = lp.effects.by_call && !lp.rules(level).has_flows && lp.receiver_copies(level, size);
                if copies && put_off(target, lp, event.body) {
                    return;
                }
                let end = match passage.carrier {
                    Carrier::Port { load } => {
                        let nodes = [lp.seats[from as usize].node, seat.node];
                        lp.network.arrive(nodes, level, row, size, (left, load), event.key.time)
                    }
                    carrier => {
                        let since = if let Carrier::Core = carrier { since } else { left };
                        let taker = TransferConsumer::Granted { send, recv, path };
                        match lp.land(event.key, row, size, (since, passage), taker) {
                            (TransferOutcome::Ends(end), delays) => {
                                lp.paths.delay(&mut path, &delays);
                                end
                            }
                            (TransferOutcome::Open(_), _) => return,
                        }
                    }
                };
                end_transfer(target, lp, event.key, (send, recv, path), size, (left, since), end);
            }
            EventKind::Copy { recv, head, end } => came(target, lp, recv, head, end),
            EventKind::CopyTurn => next_copies(target, lp),
            EventKind::CopiesEnd { version } => return self.end_memory_flows(event.key.to, version),
            EventKind::Credit => lp.credit_back(target, event.key.from),
            EventKind::TransferEnd { send, left, path } => {
                target.requests.get_mut(send).granted_at(left, path);
                set_ready(target, lp, send, event.key.time);
            }
        }
        lp.settle_memory(target);
        lp.alone = lp.woken.len() == 1 && target.strands.is_empty();
        go_on(program, target, lp);
        lp.alone = false;
    }
}

/// Handles the arrival of the head of an eager message in the `fair` contention model. The message left
/// at `left`, and its head arrived by the event `key`. Returns the end of the message as far as it is known, or `None`
/// if the message must wait until other messages are served.
#[inline(always)]
fn land(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    key: EventKey,
    message: &mut InFlightMessage,
    (left, passage): (SimTime, Passage),
) -> Option<TransferOutcome> {
    let level = lp.level(key.from, key.to);
    let row = lp.network.row(key.from, key.to, level, message.size);
    if let Passage { carrier: Carrier::Core, delayed_by: None } = passage {
        let end = key.time + lp.network.bytes_alone(level, row, message.size);
        lp.record_to(target, level, key.from, message.size, (left, end));
        return Some(TransferOutcome::Ends(end));
    }
    let serves = message.context == SERVICE;
    let taker = if serves { TransferConsumer::Serve } else { TransferConsumer::Nobody };
    let (landing, delays) = lp.land(key, row, message.size, (left, passage), taker);
    if let TransferOutcome::Ends(end) = landing {
        if !serves {
            // A message whose address is taken would be copied as a whole directly after writes to its fields.
            let mut path = message.path;
            lp.paths.delay(&mut path, &delays);
            message.path = path;
        }
        lp.record_to(target, level, key.from, message.size, (left, end));
    }
    if serves && lp.rules(level).has_flows {
        let fair = lp.fair.as_deref_mut().expect("the level shares fairly");
        let queue = fair.services.entry((key.to, key.from)).or_default();
        if !queue.is_empty() || matches!(landing, TransferOutcome::Open(_)) {
            queue.push_back(PendingService { key, message: *message, left, end: landing });
            return None;
        }
    }
    Some(landing)
}

/// Starts the sender's copy of a message that is to leave at `left`, and returns the start of the copy. The send
/// request is ready at the end of the copy.
fn copied(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    send: RequestId,
    message: &InFlightMessage,
    left: SimTime,
) -> SimTime {
    let peer = target.requests.get(send).peer;
    let level = lp.level(target.rank, peer);
    let row = lp.network.received_row(target.rank, peer, level, message.size);
    let (start, end) = target.copy(lp.network.copy_alone(level, row, message.size), left);
    let mut path = lp.paths.share(message.path);
    lp.paths.delay(&mut path, &Delays::default().and(Resource::Core, start.since(left)));
    target.requests.get_mut(send).came_at(left, path);
    set_ready(target, lp, send, end);
    start
}
