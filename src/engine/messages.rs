//! Messages at their two ends: sending, posting receives, arriving and matching.

use crate::platform::{Level, Row};
use crate::profile::TransferParts;
use crate::rank::{COMPLETE, Completion, Envelope, Message, Pattern, Rank, RequestId, Requests, SERVICE, SendMode};
use crate::units::SimTime;

use super::clock::{Cause, Spent};
use super::desk::Desk;
use super::error::RunError;
use super::event::{Body, EventKey, Going, Parcel};
use super::fair::NO_FLOW;
use super::idle::{decided, noticed};
use super::paths::PathSlot;
use super::requests::{NOBODY, Request, RequestKind, RequestState};
use super::state::{Answer, Arrived, Control, MAIN, Shared, Wait, WaitKind};
use super::waits::{found, wait_all};

/// Starts a send of `message`, whose payload it takes. Its request is [`COMPLETE`] if it is eager and no core copies it.
pub(super) fn start_send(shared: &mut Shared, desk: &mut Desk<'_>, task: u32, message: &mut Message) -> RequestId {
    let &mut Message { to, context, tag, size, mode, .. } = message;
    let level = desk.level(shared.rank, to);
    let link = desk.network.link(level);
    let row = link.row(size);
    shared.spend(desk, task, Spent::Send, row.send_overhead);
    let left = shared.control(task).clock;
    let eager = match mode {
        SendMode::Standard => size <= link.eager_threshold(),
        SendMode::Synchronous => false,
        SendMode::Buffered => true,
    };
    let eager = eager || context == SERVICE;
    let rendezvous = (!eager).then(|| shared.requests.add(Request::send(to, tag, size, left)));
    let copied = (eager && context != SERVICE && desk.sender_copies(level, size))
        .then(|| shared.requests.add(Request::send(to, tag, size, left)));
    let path = desk.paths.share(shared.control(task).path);
    let parcel = Parcel { context, tag, size, rendezvous, payload: desk.payloads.put(message.payload.take()), path };
    dispatch(shared, desk, to, (level, row), parcel, left, copied);
    rendezvous.or(copied).unwrap_or(COMPLETE)
}

/// A message of the rank, or the request of a rendezvous, leaves at `left`; the core copies it first, if `copied` is to be ready then.
#[inline(always)]
pub(super) fn dispatch(
    shared: &mut Shared,
    desk: &mut Desk<'_>,
    to: Rank,
    (level, row): (Level, &Row),
    parcel: Parcel,
    left: SimTime,
    copied: Option<RequestId>,
) {
    // Where load does not change it, the time of the head is known now, while the rank is at hand.
    let latency = if parcel.rendezvous.is_none() { row.latency } else { desk.network.link(level).handshake() };
    let free = copied.is_none() && desk.meets_nothing(to, (level, row), &parcel, shared.rank);
    let head =
        (free || desk.head_known[level as usize]).then(|| desk.in_order(shared, level, to, left, left + latency));
    let sequence = shared.next_sequence();
    if free || desk.portless[level as usize] || (copied.is_none() && desk.is_next(left)) {
        // There is no port to meet in order of time, or this is its time.
        let key = EventKey { time: left, to, from: shared.rank, sequence };
        let set_out = desk.set_out(shared, key, (level, row), &parcel, left);
        let head = head.unwrap_or_else(|| desk.in_order(shared, level, to, left, set_out.head));
        let key = EventKey { time: head, ..key };
        desk.announce(key, level, row, &parcel, set_out.load, left);
        desk.push_event(key, || Body::Head { parcel, left, load: set_out.load });
    } else {
        let key = EventKey { time: left, to: shared.rank, from: shared.rank, sequence };
        let going = copied.map_or(head.map_or(Going::Asked, Going::At), Going::Copied);
        desk.push_event(key, || Body::Leave { to, parcel, going });
    }
}

/// A blocking receive, posted at `clock`.
pub(super) fn recv(
    shared: &mut Shared,
    desk: &mut Desk<'_>,
    task: u32,
    kind: WaitKind,
    pattern: &Pattern,
    clock: SimTime,
) -> Option<Answer> {
    if task != MAIN {
        let id = post(shared, desk, task, pattern, clock);
        return wait_all(shared, desk, task, kind, Requests::from_slice(&[id]));
    }
    match shared.matcher.take(pattern) {
        Some((envelope, arrived)) => recv_matched(shared, desk, kind, pattern, envelope, arrived, clock),
        None => {
            let posted = shared.main.clock;
            shared.begin_wait(task, Wait::Recv { kind, pattern: *pattern });
            // An exchange posts its receive before it spends the overhead of its send.
            debug_assert!(clock <= posted);
            shared.main.since = clock;
            None
        }
    }
}

/// The main program's blocking receive and a message have found each other: the answer, unless the message is only the
/// request of a rendezvous.
fn recv_matched(
    shared: &mut Shared,
    desk: &mut Desk<'_>,
    kind: WaitKind,
    pattern: &Pattern,
    envelope: Envelope,
    mut arrived: Arrived,
    posted: SimTime,
) -> Option<Answer> {
    let Envelope { source, tag, .. } = envelope;
    let copies = desk.fair.is_some() && desk.receiver_copies(desk.level(source, shared.rank), arrived.size);
    if arrived.ticket != NO_FLOW
        && let Some(end) = desk.ask(arrived.ticket, None)
    {
        (arrived.end, arrived.ticket) = (end, NO_FLOW);
    }
    let asks = arrived.rendezvous.is_some() || arrived.ticket != NO_FLOW;
    if asks || copies || arrived.size > pattern.capacity {
        // An exchange has spent a send overhead since, which is no part of what is kept of a path.
        let path = desk.paths.share(shared.main.path);
        let id = shared.requests.add(Request::receive(pattern, posted, path));
        shared.requests.get_mut(id).waiter = MAIN;
        shared.begin_wait(MAIN, Wait::All { kind, requests: Requests::from_slice(&[id]), left: 1 });
        matched(shared, desk, id, source, tag, arrived);
        return None;
    }
    let row = desk.network.link(desk.level(source, shared.rank)).row(arrived.size);
    let cause = Cause { path: arrived.path, left: arrived.left, from: source, size: arrived.size };
    shared.wait_until(desk, MAIN, arrived.end, cause);
    shared.spend(desk, MAIN, Spent::Recv, row.recv_overhead);
    desk.completions.clear();
    desk.completions.push(Completion {
        index: 0,
        source,
        tag,
        size: arrived.size,
        payload: arrived.payload,
        cancelled: false,
    });
    Some(Answer::Completed)
}

/// Posts a receive at `clock`.
pub(super) fn post(
    shared: &mut Shared,
    desk: &mut Desk<'_>,
    task: u32,
    pattern: &Pattern,
    clock: SimTime,
) -> RequestId {
    let path = desk.paths.share(shared.control(task).path);
    let id = shared.requests.add(Request::receive(pattern, clock, path));
    if let Some((envelope, arrived, id)) = shared.matcher.post(*pattern, id) {
        matched(shared, desk, id, envelope.source, envelope.tag, arrived);
    }
    id
}

/// The head of a message, or the request of a rendezvous, that left at `left` has come.
pub(super) fn arrive(
    shared: &mut Shared,
    desk: &mut Desk<'_>,
    source: u32,
    parcel: Parcel,
    left: SimTime,
    (end, ticket): (SimTime, u32),
) {
    let Parcel { context, tag, size, rendezvous, payload, path } = parcel;
    let head = desk.now.time;
    let payload = desk.payloads.take(payload);
    let arrived = Arrived { size, left, head, end, rendezvous, path, ticket, payload };
    let header = arrived.header(source);
    let envelope = Envelope { context, source, tag };
    if let Some(id) = shared.matcher.posted_for(&envelope) {
        matched(shared, desk, id, source, tag, arrived);
        return;
    }
    if let Wait::Recv { kind, pattern } = &shared.main.wait
        && pattern.takes(&envelope)
    {
        let (kind, pattern, posted) = (*kind, *pattern, shared.main.since);
        if recv_matched(shared, desk, kind, &pattern, envelope, arrived, posted).is_some() {
            desk.woken.push(MAIN);
        }
        return;
    }
    shared.matcher.keep(envelope, arrived);
    noticed(shared, desk);
    for task in 0..=shared.strands.len() as u32 {
        let probing = |control: &mut Control| matches!(&control.wait, Wait::Probe(pattern) if pattern.takes(&envelope));
        if shared.living(task).is_some_and(probing) {
            let cause = desk.head_cause(shared.rank, header);
            shared.wait_until(desk, task, head, cause);
            found(desk, envelope, size);
            desk.woken.push(task);
        }
    }
}

/// A receive and a message have found each other.
fn matched(shared: &mut Shared, desk: &mut Desk<'_>, id: RequestId, source: u32, tag: u32, arrived: Arrived) {
    let Arrived { size, left, head, end, rendezvous, path, ticket, payload } = arrived;
    let level = desk.level(source, shared.rank);
    let link = desk.network.link(level);
    let request = shared.requests.get_mut(id);
    debug_assert_eq!(request.kind, RequestKind::Unmatched);
    let (posted, capacity) = (request.ready, request.size);
    (request.kind, request.peer, request.tag, request.size) = (RequestKind::Matched, source, tag, size);
    request.overhead = link.row(size).recv_overhead;
    request.payload = payload;
    if size > capacity {
        desk.fail(RunError::Truncated { rank: shared.rank, source, size, capacity, clock: head, position: None });
        return;
    }
    let mine = std::mem::replace(&mut request.path, PathSlot::NONE);
    let Some(send) = rendezvous else {
        if posted > head && desk.fair.is_some() && desk.receiver_copies(level, size) {
            // The receiver was there last: from there its core copies.
            request.came_at(posted, mine);
            desk.paths.release(path);
        } else {
            request.came_at(left, path);
            desk.paths.release(mine);
        }
        let end = if ticket == NO_FLOW { Some(end) } else { desk.ask(ticket, Some(id)) };
        if let Some(end) = end {
            came(shared, desk, id, head, end.max(posted));
        }
        return;
    };
    // The path to the grant is that of the side that was there last; of both, the receiver's.
    let mut path = path;
    if head > posted {
        desk.paths.release(mine);
        desk.paths.cross(&mut path, level, left, TransferParts::of_control(head.since(left), link.handshake()));
    } else {
        desk.paths.replace(&mut path, mine);
    }
    desk.paths.cross(&mut path, level, posted, TransferParts::of_control(link.handshake(), link.handshake()));
    desk.push(shared, head.max(posted) + link.handshake(), source, || Body::Grant { send, recv: id, path });
}

/// The bytes of a receive's message, whose head came at `head`, are there at `end`: it is ready once the core has copied them, if that
/// is its part.
pub(super) fn came(shared: &mut Shared, desk: &mut Desk<'_>, id: RequestId, head: SimTime, end: SimTime) {
    let &Request { ready: posted, peer, size, .. } = shared.requests.get(id);
    if desk.fair.is_none() {
        return set_ready(shared, desk, id, end.max(posted));
    }
    let level = desk.level(peer, shared.rank);
    if !desk.receiver_copies(level, size) {
        return set_ready(shared, desk, id, end.max(posted));
    }
    if posted > desk.now.time {
        // What the core copies until then is still to come.
        let rank = shared.rank;
        desk.push(shared, posted, rank, || Body::Copy { recv: id, head, end });
        return;
    }
    let row = desk.network.link(level).row(size);
    let (_, copied) = shared.copy(row, size, head.max(posted));
    set_ready(shared, desk, id, end.max(copied));
}

/// The request is ready at `time`: wakes the task that waits for it, if that was the last thing it waited for.
pub(super) fn set_ready(shared: &mut Shared, desk: &mut Desk<'_>, id: RequestId, time: SimTime) {
    let request = shared.requests.get_mut(id);
    request.state = RequestState::Ready;
    request.ready = time;
    let waiter = request.waiter;
    if waiter == NOBODY {
        decided(shared, desk, time);
        return;
    }
    let control = shared.control(waiter);
    let (turn, clock) = (control.turn, control.clock);
    match &mut control.wait {
        Wait::All { left, .. } => {
            *left -= 1;
            if *left == 0 {
                desk.woken.push(waiter);
            }
        }
        Wait::Any(_) => {
            let rank = shared.rank;
            desk.push(shared, time.max(clock), rank, || Body::Wake { task: waiter, turn });
        }
        wait => unreachable!("a task in {wait:?} waits for no request"),
    }
}
