//! Sends, receives, arrivals and matching of messages.

use mcpsim_base::platform::Level;
use mcpsim_base::rank::{
    COMPLETE, Completion, Envelope, Message, Pattern, Rank, RequestId, Requests, SERVICE, SendMode,
};
use mcpsim_base::units::{SimSpan, SimTime};

use super::clock::{TimeCategory, WaitCause};
use super::delays::Delays;
use super::departure::dispatch;
use super::error::RunError;
use super::event::{EventKind, InFlightMessage};
use super::fair::NO_FLOW;
use super::granted::{finish_transfer, grant_match};
use super::idle::{decided, noticed};
use super::lp::LogicalProcess;
use super::memory::{CopyFor, CopyJob, held_by_core};
use super::mpi_intervals::put_off;
use super::paths::PathSlot;
use super::requests::{NOBODY, RequestKind, RequestRecord, RequestState};
use super::state::{Answer, Arrived, MAIN, MatchedReceive, TargetRank, TaskState, Wait, WaitKind};
use super::waits::{found, wait_all, wake_for};

/// Starts a send of `message` and removes the payload from the call. The returned request is [`COMPLETE`] if the
/// message is eager and no core copies the message.
pub(super) fn start_send(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    task: u32,
    message: &mut Message,
) -> RequestId {
    let &mut Message { to, context, tag, size, mode, .. } = message;
    let level = lp.level(target.rank, to);
    let link = lp.network.link(level);
    let row = lp.network.row(target.rank, to, level, size);
    target.spend(lp, task, TimeCategory::Send, row.sending(size));
    let left = target.control(task).clock;
    let eager = match mode {
        SendMode::Standard => size <= link.eager_threshold(),
        SendMode::Synchronous => false,
        SendMode::Buffered => true,
    };
    let eager = eager || context == SERVICE;
    // Only messages that a receive matches use an eager buffer and need a credit.
    let eager = eager && (!lp.effects.credits || context == SERVICE || lp.take_credit(target, to, level, mode));
    let rendezvous = (!eager).then(|| target.requests.add(RequestRecord::send(to, tag, size, left)));
    let copied = (eager && context != SERVICE && lp.sender_copies(level, size))
        .then(|| target.requests.add(RequestRecord::send(to, tag, size, left)));
    if message.buffer.is_stated() {
        lp.send_from(target.rank, message);
    }
    let path = lp.paths.share(target.control(task).path);
    let message =
        InFlightMessage { context, tag, size, rendezvous, payload: lp.payloads.put(message.payload.take()), path };
    dispatch(target, lp, to, (level, row), message, left, copied);
    rendezvous.or(copied).unwrap_or(COMPLETE)
}

/// Executes a blocking receive that the rank's program posted at `clock`.
pub(super) fn recv(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    task: u32,
    kind: WaitKind,
    pattern: &Pattern,
    clock: SimTime,
) -> Option<Answer> {
    if task != MAIN {
        let id = post(target, lp, task, pattern, clock);
        return wait_all(target, lp, task, kind, Requests::from_slice(&[id]));
    }
    match target.matcher.take(pattern) {
        Some((envelope, arrived)) => {
            let level = lp.level(envelope.source, target.rank);
            recv_matched(target, lp, kind, pattern, (envelope, level), arrived, clock)
        }
        None => {
            let posted = target.main.clock;
            target.begin_wait(task, Wait::Recv { kind, pattern: *pattern });
            // An exchange posts its receive before its core spends the overhead of the send.
            debug_assert!(clock <= posted);
            target.main.since = clock;
            None
        }
    }
}

/// Completes the match of a message and the blocking receive of the rank's program. Returns the answer to the receive,
/// unless the message is only the request of a rendezvous, is copied, or has a flow without a known end.
#[inline(always)]
fn recv_matched(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    kind: WaitKind,
    pattern: &Pattern,
    (envelope, level): (Envelope, Level),
    mut arrived: Arrived,
    posted: SimTime,
) -> Option<Answer> {
    let source = envelope.source;
    let copies = lp.receiver_copies(level, arrived.size);
    if arrived.ticket != NO_FLOW
        && let Some((end, delays)) = lp.ask(arrived.ticket, None)
    {
        lp.paths.delay(&mut arrived.path, &delays);
        (arrived.end, arrived.ticket) = (end, NO_FLOW);
    }
    let ticket = arrived.ticket;
    let asks = arrived.rendezvous.is_some() || (ticket != NO_FLOW && lp.effects.by_call);
    let asks = asks || lp.shares_core(target.rank, MAIN) || arrived.size > pattern.capacity;
    if copies && !asks && ticket == NO_FLOW && posted <= lp.now.time && lp.copies_at_once(source, target, arrived.size)
    {
        let arrived = copied_at_once(target, lp, (envelope, level), arrived, pattern, posted);
        complete_receive(target, lp, (envelope, level), arrived, posted);
        return Some(Answer::Completed);
    }
    if asks || copies {
        recv_by_request(target, lp, kind, pattern, (envelope, level), arrived, posted);
        return None;
    }
    if ticket != NO_FLOW {
        // The receive of a collective counts, whether or not the end of its message is known.
        lp.buffers(target, MAIN, pattern);
        lp.await_flow(ticket, MatchedReceive { envelope, level, arrived, posted });
        target.begin_wait(MAIN, Wait::Flow(kind));
        return None;
    }
    complete_receive(target, lp, (envelope, level), arrived, posted);
    Some(Answer::Completed)
}

/// Copies the message of a blocking receive, which the core starts at once and neither caches nor memory delay. Returns
/// the message with the end of the copy.
#[inline(never)]
fn copied_at_once(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    (envelope, level): (Envelope, Level),
    arrived: Arrived,
    pattern: &Pattern,
    posted: SimTime,
) -> Arrived {
    let Arrived { size, head, mut left, mut path, .. } = arrived;
    let row = lp.network.received_row(envelope.source, target.rank, level, size);
    // The receive of a collective counts, whether or not it needs a request.
    lp.buffers(target, MAIN, pattern);
    let ready = head.max(posted);
    let (start, copied) = target.copy(lp.network.copy_alone(level, row, size), ready);
    if posted > head {
        // The receiver's core copies the message from the post on.
        let mut mine = lp.paths.share(target.main.path);
        let before = lp.paths.delays(path);
        lp.paths.delay(&mut mine, &before);
        lp.paths.release(path);
        (left, path) = (posted, mine);
    }
    let end = arrived.end.max(posted);
    if copied > end {
        let delays = lp.paths.delays(path).copied(held_by_core(row, size, start.since(ready)));
        lp.paths.delay(&mut path, &delays);
    }
    Arrived { left, path, end: end.max(copied), ..arrived }
}

/// Completes the blocking receive of the rank's program whose message has arrived at the end `end` of its flow, with
/// these delays.
pub(super) fn end_receive(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    matched: MatchedReceive,
    (end, delays): (SimTime, &Delays),
) {
    let MatchedReceive { envelope, level, mut arrived, posted } = matched;
    lp.paths.delay(&mut arrived.path, delays);
    arrived.end = end;
    complete_receive(target, lp, (envelope, level), arrived, posted);
    lp.woken.push(MAIN);
}

/// Completes a blocking receive of the rank's program, which needs no request.
#[inline(always)]
fn complete_receive(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    (Envelope { context, source, tag }, level): (Envelope, Level),
    arrived: Arrived,
    posted: SimTime,
) {
    let row = lp.network.received_row(source, target.rank, level, arrived.size);
    let cause = WaitCause { path: arrived.path, left: arrived.left, ends: (source, target.rank), size: arrived.size };
    let copy = match posted > arrived.head {
        true => lp.network.link(level).protocol().unexpected(arrived.size),
        false => SimSpan::ZERO,
    };
    target.wait_until(lp, MAIN, arrived.end, cause);
    target.spend(lp, MAIN, TimeCategory::Recv, row.receiving(arrived.size) + copy);
    if lp.effects.credits && context != SERVICE {
        lp.give_credit(target, source, arrived.end.max(posted));
    }
    lp.completions.clear();
    lp.completions.push(Completion {
        index: 0,
        source,
        tag,
        size: arrived.size,
        payload: arrived.payload,
        cancelled: false,
    });
}

/// Completes the match as [`recv_matched`] for a message that must still be granted or copied, which needs a request.
#[inline(never)]
fn recv_by_request(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    kind: WaitKind,
    pattern: &Pattern,
    (envelope, level): (Envelope, Level),
    arrived: Arrived,
    posted: SimTime,
) {
    // An exchange has spent the overhead of its send since the post of its receive; stored paths do not include send
    // overheads.
    let path = lp.paths.share(target.main.path);
    let buffers = lp.buffers(target, MAIN, pattern);
    let id = target.requests.add(RequestRecord { buffers, ..RequestRecord::receive(pattern, posted, path) });
    lp.receive_into(target.rank, id, (buffers, pattern.buffer));
    target.requests.get_mut(id).waiter = MAIN;
    target.begin_wait(MAIN, Wait::All { kind, requests: Requests::from_slice(&[id]), left: 1 });
    matched(target, lp, id, (envelope, level), arrived);
}

/// Posts a receive of the task at `clock`.
pub(super) fn post(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    task: u32,
    pattern: &Pattern,
    clock: SimTime,
) -> RequestId {
    let path = lp.paths.share(target.control(task).path);
    let buffers = lp.buffers(target, task, pattern);
    let id = target.requests.add(RequestRecord { buffers, ..RequestRecord::receive(pattern, clock, path) });
    lp.receive_into(target.rank, id, (buffers, pattern.buffer));
    if let Some((envelope, arrived, id)) = target.matcher.post(*pattern, id) {
        let level = lp.level(envelope.source, target.rank);
        matched(target, lp, id, (envelope, level), arrived);
    }
    id
}

/// Handles the arrival of a message's head, or of the request of a rendezvous, that left at `left`.
pub(super) fn arrive(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    (source, level): (Rank, Level),
    message: InFlightMessage,
    left: SimTime,
    (end, ticket): (SimTime, u32),
) {
    let InFlightMessage { context, tag, size, rendezvous, payload, path } = message;
    let head = lp.now.time;
    let payload = lp.payloads.take(payload);
    let arrived = Arrived { size, left, head, end, rendezvous, path, ticket, payload };
    let header = arrived.header(source);
    let envelope = Envelope { context, source, tag };
    if let Some(id) = target.matcher.posted_for(&envelope) {
        matched_at_arrival(target, lp, id, (envelope, level), arrived);
        return;
    }
    if let Wait::Recv { kind, pattern } = &target.main.wait
        && pattern.takes(&envelope)
    {
        let (kind, pattern, posted) = (*kind, *pattern, target.main.since);
        if recv_matched(target, lp, kind, &pattern, (envelope, level), arrived, posted).is_some() {
            lp.woken.push(MAIN);
        }
        return;
    }
    target.matcher.keep(envelope, arrived);
    noticed(target, lp);
    for task in 0..=target.strands.len() as u32 {
        let probing =
            |control: &mut TaskState| matches!(&control.wait, Wait::Probe(pattern) if pattern.takes(&envelope));
        if target.living(task).is_some_and(probing) {
            let cause = lp.head_cause(target.rank, header);
            target.wait_until(lp, task, head, cause);
            found(lp, envelope, size);
            lp.woken.push(task);
        }
    }
}

/// Calls [`matched_at_arrival`] without inlining, for callers that are executed rarely.
#[inline(never)]
fn matched(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    id: RequestId,
    from: (Envelope, Level),
    arrived: Arrived,
) {
    matched_at_arrival(target, lp, id, from, arrived);
}

/// Completes the match of a receive and an arrived message.
#[inline(always)]
fn matched_at_arrival(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    id: RequestId,
    (envelope, level): (Envelope, Level),
    arrived: Arrived,
) {
    let Arrived { size, left, head, end, rendezvous, path, ticket, payload } = arrived;
    let Envelope { source, tag, .. } = envelope;
    let link = lp.network.link(level);
    let request = target.requests.get_mut(id);
    debug_assert_eq!(request.kind, RequestKind::Unmatched);
    let (posted, capacity) = (request.ready, request.size);
    (request.kind, request.peer, request.tag, request.size) = (RequestKind::Matched, source, tag, size);
    request.overhead = lp.network.received_row(source, target.rank, level, size).receiving(size);
    request.payload = payload;
    lp.pair_buffers(target.rank, id, (source, tag, request.buffers), size);
    if size > capacity {
        lp.fail(RunError::Truncated { rank: target.rank, source, size, capacity, clock: head, position: None });
        return;
    }
    let mut mine = std::mem::replace(&mut request.path, PathSlot::NONE);
    let Some(send) = rendezvous else {
        if posted > head {
            request.overhead += link.protocol().unexpected(size);
        }
        if posted > head && lp.receiver_copies(level, size) {
            // The receive was posted after the message arrived, and the receiver's core copies the message from then
            // on.
            let delays = lp.paths.delays(path);
            lp.paths.delay(&mut mine, &delays);
            request.came_at(posted, mine);
            lp.paths.release(path);
        } else {
            request.came_at(left, path);
            lp.paths.release(mine);
        }
        let end = match ticket {
            NO_FLOW => Some(end),
            ticket => lp.ask(ticket, Some(id)).map(|(end, delays)| {
                lp.paths.delay(&mut request.path, &delays);
                end
            }),
        };
        match end {
            Some(end) => came(target, lp, id, head, end.max(posted)),
            None if lp.copies_ahead(level, size) => {
                lp.begin_ahead(target.rank, id);
                came(target, lp, id, head, SimTime::NEVER);
            }
            None => {}
        }
        return;
    };
    grant_match(target, lp, (send, id, source), level, (left, head, path), (posted, mine));
}

/// Completes a receive whose message has its head at the receiver at `head` and its last byte at `end`. If the
/// receiver's core must copy the message, the receive is ready after the copy.
#[inline(always)]
pub(super) fn came(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, id: RequestId, head: SimTime, end: SimTime) {
    if lp.receivers_copy {
        return came_to_core(target, lp, id, head, end);
    }
    let posted = target.requests.get(id).ready;
    received(target, lp, id, end.max(posted));
}

/// Completes a receive as [`came`] on a platform where cores copy messages.
#[inline(never)]
fn came_to_core(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, id: RequestId, head: SimTime, end: SimTime) {
    let &RequestRecord { ready: posted, peer, tag, size, buffers, .. } = target.requests.get(id);
    let level = lp.level(peer, target.rank);
    if !lp.receiver_copies(level, size) {
        return received(target, lp, id, end.max(posted));
    }
    if posted > lp.now.time {
        // The core may start other copies before `posted`.
        let rank = target.rank;
        lp.push(target, posted, rank, || EventKind::Copy { recv: id, head, end });
        return;
    }
    let mut start = head.max(posted);
    if lp.effects.by_call {
        if put_off(target, lp, EventKind::Copy { recv: id, head, end }) {
            return;
        }
        start = lp.now.time;
    }
    let row = lp.network.received_row(peer, target.rank, level, size);
    let takes = CopyFor::Receive { recv: id, end };
    let stated = lp.stated_pair(target.rank, id);
    let job = CopyJob { from: peer, tag, buffers, stated, size, start, takes };
    if let Some((end, delays)) = lp.copy(target, row, &job) {
        finish_copy(target, lp, &job, end, delays);
    }
}

/// Completes the receive of an eager message that has arrived at `end` and whose copy, with delays of its own, ended at
/// another time.
pub(super) fn received_copy(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    recv: RequestId,
    end: SimTime,
    (copied, delays): (SimTime, Delays),
) {
    if copied > end {
        let path = &mut target.requests.get_mut(recv).path;
        let delays = lp.paths.delays(*path).copied(delays);
        lp.paths.delay(path, &delays);
    }
    received(target, lp, recv, end.max(copied));
}

/// Completes the receive of a message whose copy by the core ends at `copied`, with the delays of the copy.
pub(super) fn finish_copy(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    job: &CopyJob,
    copied: SimTime,
    delays: Delays,
) {
    match job.takes {
        CopyFor::Receive { recv, end } => {
            let known =
                if end < SimTime::NEVER { Some(end) } else { lp.copied_ahead(target.rank, recv, (copied, delays)) };
            let Some(end) = known else { return };
            received_copy(target, lp, recv, end, (copied, delays));
        }
        CopyFor::Transfer { head, send, recv, mut path, times, end } => {
            if copied > end {
                let delays = lp.paths.delays(path).copied(delays);
                lp.paths.delay(&mut path, &delays);
            }
            finish_transfer(target, lp, head, (send, recv, path), job.size, times, end.max(copied));
        }
    }
}

/// Completes the receive of an eager message at `time`.
#[inline]
fn received(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, id: RequestId, time: SimTime) {
    if lp.effects.credits {
        let from = target.requests.get(id).peer;
        lp.give_credit(target, from, time);
    }
    set_ready(target, lp, id, time);
}

/// Sets the ready time of the request to `time`, and wakes the waiting task if no other request of its wait is
/// incomplete.
#[inline]
pub(super) fn set_ready(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, id: RequestId, time: SimTime) {
    let request = target.requests.get_mut(id);
    request.state = RequestState::Ready;
    request.ready = time;
    let waiter = request.waiter;
    if target.requests.ready.is_some() {
        target.requests.queue_ready(id, time);
        if waiter == NOBODY && matches!(target.main.wait, Wait::AnyOfMany(_)) {
            wake_for(target, lp, MAIN, time);
        }
    }
    if waiter == NOBODY {
        decided(target, lp, time);
        return;
    }
    let control = target.control(waiter);
    let (turn, clock) = (control.turn, control.clock);
    match &mut control.wait {
        Wait::All { left, .. } => {
            *left -= 1;
            if *left == 0 {
                lp.woken.push(waiter);
            }
        }
        Wait::Any(_) => {
            let rank = target.rank;
            lp.push(target, time.max(clock), rank, || EventKind::Wake { task: waiter, turn });
        }
        wait => unreachable!("a task in {wait:?} waits for no request"),
    }
}
