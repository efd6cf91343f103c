//! What a rank's calls do: runs a task until it must wait, and completes waits.
//!
//! A task runs as soon as what it waited for is decided, however far its clock lies ahead; what it does to the rest of the
//! simulation are events at the times of its clock. Posting a receive is no event: which message it gets does not depend on
//! when the simulator hears of it, since receives are kept in program order and messages in order of their heads.

use smallvec::SmallVec;

use crate::rank::{
    COMPLETE, Call, Completion, Envelope, Message, Pattern, Program, Reply, ReplyKind, RequestId, Requests, SendMode,
};
use crate::units::{Bytes, SimSpan, SimTime};

use super::desk::Desk;
use super::error::RunError;
use super::event::{Body, EventKey, Parcel};
use super::state::{
    Answer, Arrived, Control, MAIN, NOBODY, Request, RequestKind, RequestState, Shared, Spent, Strand, Wait, WaitKind,
};

/// How much a task may do before others get their turn: calls count 1, sends [`SEND_WEIGHT`]. Bounds the events that ranks
/// who never wait can pile up; outcomes do not depend on it.
const STRETCH: u32 = 4096;
const SEND_WEIGHT: u32 = 16;

/// What a failed test or probe costs: a poll of the progress engine. Without it a polling loop would never pass its instant.
const POLL: SimSpan = SimSpan::from_ns(100);

/// Runs `task` from the reply `answer` until it waits, ends or fails.
pub(super) fn run<P: Program + ?Sized>(
    program: &mut P,
    shared: &mut Shared,
    desk: &mut Desk<'_>,
    task: u32,
    answer: Answer,
) {
    let mut answer = answer;
    let mut stretch = 0;
    loop {
        let clock = shared.control(task).clock;
        if clock > desk.limit {
            desk.fail_by_time(shared.rank, program.position());
            return;
        }
        desk.handled += 1;
        stretch += 1;
        let call = next(program, desk, clock, answer);
        let proceeds = match call {
            Call::Compute(span) => {
                shared.spend(task, Spent::Compute, span * u64::from(shared.sharing));
                Some(Answer::Done)
            }
            Call::Isend(message) => {
                stretch += SEND_WEIGHT;
                Some(Answer::Started(start_send(shared, desk, task, message)))
            }
            Call::Irecv(pattern) => Some(Answer::Started(post(shared, desk, pattern, clock))),
            Call::Send(message) => {
                stretch += SEND_WEIGHT;
                match start_send(shared, desk, task, message) {
                    COMPLETE => Some(Answer::Done),
                    id => wait_all(shared, desk, task, WaitKind::Send, Requests::from_slice(&[id])),
                }
            }
            Call::Recv(pattern) => recv(shared, desk, task, WaitKind::Recv, pattern, clock),
            Call::Exchange(message, pattern) => {
                stretch += SEND_WEIGHT;
                match start_send(shared, desk, task, message) {
                    COMPLETE => recv(shared, desk, task, WaitKind::Exchange, pattern, clock),
                    send => {
                        let recv = post(shared, desk, pattern, clock);
                        wait_all(shared, desk, task, WaitKind::Exchange, Requests::from_slice(&[recv, send]))
                    }
                }
            }
            Call::WaitAll(requests) => wait_all(shared, desk, task, WaitKind::WaitAll, requests),
            Call::Complete(requests) => wait_all(shared, desk, task, WaitKind::Complete, requests),
            Call::WaitAny(requests) => {
                wait_any(shared, desk, task, requests);
                None
            }
            Call::Test { requests, all } => {
                wait_for_own_time(shared, desk, task, Wait::Test { requests, all });
                None
            }
            Call::Probe(pattern) => probe(shared, desk, task, pattern),
            Call::Iprobe(pattern) => {
                wait_for_own_time(shared, desk, task, Wait::Iprobe(pattern));
                None
            }
            Call::Start(strand) => {
                stretch += SEND_WEIGHT;
                desk.alone = false;
                Some(Answer::Started(start_strand(shared, desk, strand, clock)))
            }
            Call::Enter(name) => {
                shared.control(task).collective = Some(name);
                Some(Answer::Done)
            }
            Call::Leave => {
                shared.control(task).collective = None;
                Some(Answer::Done)
            }
            Call::Yield => {
                stretch = STRETCH;
                Some(Answer::Done)
            }
            Call::Finish => {
                finish(shared, desk, task);
                None
            }
            Call::Fail(error) => {
                desk.fail(RunError::Program { rank: shared.rank, clock, error: *error });
                None
            }
        };
        match proceeds {
            None => return,
            // Completions do not outlive the moment, so that answer is given first.
            Some(answer @ (Answer::Done | Answer::Started(_))) if stretch >= STRETCH => {
                wait_for_own_time(shared, desk, task, Wait::Parked(answer));
                return;
            }
            Some(next) => answer = next,
        }
        if desk.failure.is_some() {
            return;
        }
    }
}

/// Gives the program its reply and takes its next call.
#[inline]
fn next<P: Program + ?Sized>(program: &mut P, desk: &mut Desk<'_>, clock: SimTime, answer: Answer) -> Call {
    let kind = match answer {
        Answer::Begin => ReplyKind::Begin,
        Answer::Done => ReplyKind::Done,
        Answer::Started(id) => ReplyKind::Started(id),
        Answer::Completed => ReplyKind::Completed(&mut desk.completions),
    };
    program.next(Reply { clock, kind })
}

/// Resumes a task whose wait is over.
pub(super) fn resume<P: Program>(program: &mut P, shared: &mut Shared, desk: &mut Desk<'_>, task: u32) {
    let answer = match std::mem::replace(&mut shared.control(task).wait, Wait::Nothing) {
        Wait::All { kind, requests, left } => {
            debug_assert_eq!(left, 0);
            complete_all(shared, desk, task, kind, &requests)
        }
        Wait::Parked(answer) => answer,
        // The waits below have left their completions at the desk.
        Wait::Recv { .. } | Wait::Any(_) | Wait::Test { .. } | Wait::Probe(_) | Wait::Iprobe(_) => Answer::Completed,
        wait @ (Wait::Nothing | Wait::Finished) => unreachable!("a task in {wait:?} was woken"),
    };
    if task == MAIN {
        run(program, shared, desk, task, answer);
    } else {
        run_strand(shared, desk, task, answer);
    }
}

fn run_strand(shared: &mut Shared, desk: &mut Desk<'_>, task: u32, answer: Answer) {
    let index = task as usize - 1;
    let strand = shared.strands[index].as_mut().expect("the strand is alive");
    let mut program = strand.program.take().expect("a strand does not run twice at a time");
    run(&mut program, shared, desk, task, answer);
    let strand = shared.strands[index].as_mut().expect("the strand is still there");
    if matches!(strand.control.wait, Wait::Finished) {
        let (request, clock) = (strand.request, strand.control.clock);
        shared.strands[index] = None;
        set_ready(shared, desk, request, clock);
    } else {
        strand.program = Some(program);
    }
}

fn start_strand(shared: &mut Shared, desk: &mut Desk<'_>, program: Box<dyn Program>, clock: SimTime) -> RequestId {
    let index = shared.strands.iter().position(Option::is_none).unwrap_or_else(|| {
        shared.strands.push(None);
        shared.strands.len() - 1
    });
    let task = index as u32 + 1;
    let request = shared.requests.add(Request::strand(task, clock));
    shared.strands[index] = Some(Box::new(Strand { control: Control::new(clock), program: Some(program), request }));
    run_strand(shared, desk, task, Answer::Begin);
    request
}

fn finish(shared: &mut Shared, desk: &mut Desk<'_>, task: u32) {
    shared.control(task).wait = Wait::Finished;
    if task == MAIN {
        desk.unfinished -= 1;
    }
}

/// Starts a send. Its request is [`COMPLETE`] if it is eager.
fn start_send(shared: &mut Shared, desk: &mut Desk<'_>, task: u32, message: Message) -> RequestId {
    let Message { to, context, tag, size, mode, payload } = message;
    let level = desk.level(shared.rank, to);
    let link = desk.network.link(level);
    let row = link.row(size);
    shared.spend(task, Spent::Send, row.send_overhead);
    let left = shared.control(task).clock;
    let eager = match mode {
        SendMode::Standard => size <= link.eager_threshold(),
        SendMode::Synchronous => false,
        SendMode::Buffered => true,
    };
    let rendezvous = (!eager).then(|| shared.requests.add(Request::send(to, tag, size, left)));
    // Where load does not change it, the time of the head is known now, while the rank is at hand.
    let latency = if eager { row.latency } else { link.handshake() };
    let head = desk.head_known[level as usize].then(|| desk.in_order(shared, level, to, left, left + latency));
    let parcel = Parcel { context, tag, size, rendezvous, payload: desk.payloads.put(payload) };
    let sequence = shared.next_sequence();
    if desk.portless[level as usize] || desk.is_next(left) {
        // There is no port to meet in order of time, or this is its time.
        let set_out = desk.set_out(shared.rank, to, &parcel, left);
        let head = head.unwrap_or_else(|| desk.in_order(shared, level, to, left, set_out.head));
        let key = EventKey { time: head, to, from: shared.rank, sequence };
        desk.push_event(key, || Body::Head { parcel, left, load: set_out.load });
    } else {
        let key = EventKey { time: left, to: shared.rank, from: shared.rank, sequence };
        desk.push_event(key, || Body::Leave { to, parcel, head });
    }
    rendezvous.unwrap_or(COMPLETE)
}

/// A blocking receive, posted at `clock`.
fn recv(
    shared: &mut Shared,
    desk: &mut Desk<'_>,
    task: u32,
    kind: WaitKind,
    pattern: Pattern,
    clock: SimTime,
) -> Option<Answer> {
    if task != MAIN {
        let id = post(shared, desk, pattern, clock);
        return wait_all(shared, desk, task, kind, Requests::from_slice(&[id]));
    }
    match shared.matcher.take(&pattern) {
        Some((envelope, arrived)) => recv_matched(shared, desk, kind, &pattern, envelope, arrived, clock),
        None => {
            let posted = shared.main.clock;
            shared.begin_wait(task, Wait::Recv { kind, pattern });
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
    arrived: Arrived,
    posted: SimTime,
) -> Option<Answer> {
    let Envelope { source, tag, .. } = envelope;
    if arrived.rendezvous.is_some() || arrived.size > pattern.capacity {
        let id = shared.requests.add(Request::receive(pattern, posted));
        shared.requests.get_mut(id).waiter = MAIN;
        shared.begin_wait(MAIN, Wait::All { kind, requests: Requests::from_slice(&[id]), left: 1 });
        matched(shared, desk, id, source, tag, arrived);
        return None;
    }
    let row = desk.network.link(desk.level(source, shared.rank)).row(arrived.size);
    shared.wait_until(MAIN, arrived.end);
    shared.spend(MAIN, Spent::Recv, row.recv_overhead);
    desk.completions.clear();
    desk.completions.push(Completion { index: 0, source, tag, size: arrived.size, payload: arrived.payload });
    Some(Answer::Completed)
}

/// Posts a receive at `clock`.
fn post(shared: &mut Shared, desk: &mut Desk<'_>, pattern: Pattern, clock: SimTime) -> RequestId {
    let id = shared.requests.add(Request::receive(&pattern, clock));
    if let Some((envelope, arrived, id)) = shared.matcher.post(pattern, id) {
        matched(shared, desk, id, envelope.source, envelope.tag, arrived);
    }
    id
}

/// A message's head, or the request of a rendezvous, has come.
pub(super) fn arrive(shared: &mut Shared, desk: &mut Desk<'_>, source: u32, parcel: Parcel, end: SimTime) {
    let Parcel { context, tag, size, rendezvous, payload } = parcel;
    let arrived = Arrived { size, head: desk.now.time, end, rendezvous, payload: desk.payloads.take(payload) };
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
    for task in 0..=shared.strands.len() as u32 {
        let probing = |control: &mut Control| matches!(&control.wait, Wait::Probe(pattern) if pattern.takes(&envelope));
        if shared.living(task).is_some_and(probing) {
            found(shared, desk, task, desk.now.time, source, tag, size);
            desk.woken.push(task);
        }
    }
}

/// A receive and a message have found each other.
fn matched(shared: &mut Shared, desk: &mut Desk<'_>, id: RequestId, source: u32, tag: u32, arrived: Arrived) {
    let Arrived { size, head, end, rendezvous, payload } = arrived;
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
    match rendezvous {
        Some(send) => {
            let both_there = head.max(posted);
            desk.push(shared, both_there + link.handshake(), source, || Body::Grant { send, recv: id });
        }
        None => set_ready(shared, desk, id, end.max(posted)),
    }
}

/// The request is ready at `time`: wakes the task that waits for it, if that was the last thing it waited for.
pub(super) fn set_ready(shared: &mut Shared, desk: &mut Desk<'_>, id: RequestId, time: SimTime) {
    let request = shared.requests.get_mut(id);
    request.state = RequestState::Ready;
    request.ready = time;
    let waiter = request.waiter;
    if waiter == NOBODY {
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

/// Waits for all of `requests`; the answer, if they are all ready.
fn wait_all(shared: &mut Shared, desk: &mut Desk<'_>, task: u32, kind: WaitKind, requests: Requests) -> Option<Answer> {
    let mut left = 0;
    for &id in requests.iter().filter(|&&id| id != COMPLETE) {
        let request = shared.requests.get_mut(id);
        if request.state == RequestState::Pending {
            request.waiter = task;
            left += 1;
        }
    }
    if left == 0 {
        return Some(complete_all(shared, desk, task, kind, &requests));
    }
    shared.begin_wait(task, Wait::All { kind, requests, left });
    None
}

/// Completes requests that are all ready: the core takes them in the order they got ready, one overhead after another.
fn complete_all(shared: &mut Shared, desk: &mut Desk<'_>, task: u32, kind: WaitKind, requests: &Requests) -> Answer {
    let wanted = match kind {
        WaitKind::Send | WaitKind::Complete => 0,
        WaitKind::Recv | WaitKind::Exchange => 1,
        WaitKind::WaitAll => requests.len(),
    };
    desk.completions.clear();
    let mut order: SmallVec<[(SimTime, SimSpan); 8]> = SmallVec::new();
    for (index, &id) in (0..).zip(requests) {
        if id != COMPLETE {
            let request = shared.requests.get(id);
            order.push((request.ready, request.overhead));
        }
        if (index as usize) < wanted {
            let completion = completion(shared, index, id);
            desk.completions.push(completion);
        } else if id != COMPLETE {
            shared.requests.remove(id);
        }
    }
    if !order.is_sorted() {
        order.sort_unstable();
    }
    for (ready, overhead) in order {
        shared.wait_until(task, ready);
        shared.spend(task, Spent::Recv, overhead);
    }
    if wanted == 0 { Answer::Done } else { Answer::Completed }
}

/// What completing a request costs.
fn overhead(shared: &Shared, id: RequestId) -> SimSpan {
    if id == COMPLETE { SimSpan::ZERO } else { shared.requests.get(id).overhead }
}

/// Ends a request and tells what became of it.
fn completion(shared: &mut Shared, index: u32, id: RequestId) -> Completion {
    if id == COMPLETE {
        return Completion { index, source: shared.rank, tag: 0, size: Bytes::ZERO, payload: None };
    }
    let request = shared.requests.remove(id);
    let (source, tag, size) = match request.kind {
        RequestKind::Matched => (request.peer, request.tag, request.size),
        _ => (shared.rank, 0, Bytes::ZERO),
    };
    Completion { index, source, tag, size, payload: request.payload }
}

/// Waits for one of `requests`. Which one is known only when the simulation gets to the time it is ready: another may get
/// ready earlier.
fn wait_any(shared: &mut Shared, desk: &mut Desk<'_>, task: u32, requests: Requests) {
    let clock = shared.control(task).clock;
    let mut first: Option<SimTime> = None;
    for &id in &requests {
        if id == COMPLETE {
            first = Some(SimTime::ZERO);
            continue;
        }
        let request = shared.requests.get_mut(id);
        request.waiter = task;
        if request.state == RequestState::Ready {
            first = Some(first.map_or(request.ready, |first| first.min(request.ready)));
        }
    }
    let turn = shared.begin_wait(task, Wait::Any(requests));
    if let Some(first) = first {
        let rank = shared.rank;
        desk.push(shared, first.max(clock), rank, || Body::Wake { task, turn });
    }
}

/// Waits until the simulation gets to the task's clock.
fn wait_for_own_time(shared: &mut Shared, desk: &mut Desk<'_>, task: u32, wait: Wait) {
    let turn = shared.begin_wait(task, wait);
    let (rank, clock) = (shared.rank, shared.control(task).clock);
    desk.push(shared, clock, rank, || Body::Wake { task, turn });
}

/// Waits for a message that `pattern` takes, without taking it.
fn probe(shared: &mut Shared, desk: &mut Desk<'_>, task: u32, pattern: Pattern) -> Option<Answer> {
    let seen = shared.matcher.probe(&pattern).map(|(envelope, arrived)| (envelope, arrived.head, arrived.size));
    match seen {
        Some((envelope, head, size)) => {
            found(shared, desk, task, head, envelope.source, envelope.tag, size);
            Some(Answer::Completed)
        }
        None => {
            shared.begin_wait(task, Wait::Probe(pattern));
            None
        }
    }
}

/// A probe has found a message whose head came at `head`.
fn found(shared: &mut Shared, desk: &mut Desk<'_>, task: u32, head: SimTime, source: u32, tag: u32, size: Bytes) {
    shared.wait_until(task, head);
    desk.completions.clear();
    desk.completions.push(Completion { index: 0, source, tag, size, payload: None });
}

/// The simulation has got to the time a task waited for: true if the task goes on now.
pub(super) fn wake(shared: &mut Shared, desk: &mut Desk<'_>, task: u32, turn: u32) -> bool {
    match shared.living(task) {
        Some(control) if control.turn == turn => {}
        _ => return false,
    }
    match std::mem::replace(&mut shared.control(task).wait, Wait::Nothing) {
        Wait::Parked(answer) => {
            shared.control(task).wait = Wait::Parked(answer);
            true
        }
        Wait::Any(requests) => {
            decide_any(shared, desk, task, &requests);
            shared.control(task).wait = Wait::Any(requests);
            true
        }
        Wait::Test { requests, all } => {
            test(shared, desk, task, &requests, all);
            shared.control(task).wait = Wait::Test { requests, all };
            true
        }
        Wait::Iprobe(pattern) => {
            let clock = shared.control(task).clock;
            let seen = shared.matcher.probe(&pattern).map(|(envelope, arrived)| (envelope, arrived.size));
            match seen {
                Some((envelope, size)) => found(shared, desk, task, clock, envelope.source, envelope.tag, size),
                None => {
                    desk.completions.clear();
                    shared.spend(task, Spent::Wait, POLL);
                }
            }
            shared.control(task).wait = Wait::Iprobe(pattern);
            true
        }
        // The turn was decided by another event.
        wait => {
            shared.control(task).wait = wait;
            false
        }
    }
}

/// Completes the request that got ready first; of those that did at the same time, the first in the list.
fn decide_any(shared: &mut Shared, desk: &mut Desk<'_>, task: u32, requests: &Requests) {
    let now = desk.now.time;
    let mut best: Option<(SimTime, u32, RequestId)> = None;
    for (index, &id) in (0..).zip(requests) {
        if id == COMPLETE {
            best = best.min(Some((SimTime::ZERO, index, id))).or(Some((SimTime::ZERO, index, id)));
            continue;
        }
        let request = shared.requests.get_mut(id);
        request.waiter = NOBODY;
        let candidate = (request.ready, index, id);
        if request.state == RequestState::Ready && request.ready <= now && best.is_none_or(|best| candidate < best) {
            best = Some(candidate);
        }
    }
    let (ready, index, id) = best.expect("woken when a request is ready");
    shared.wait_until(task, ready);
    shared.spend(task, Spent::Recv, overhead(shared, id));
    desk.completions.clear();
    let completion = completion(shared, index, id);
    desk.completions.push(completion);
}

/// Completes what is complete at the task's clock.
fn test(shared: &mut Shared, desk: &mut Desk<'_>, task: u32, requests: &Requests, all: bool) {
    let clock = shared.control(task).clock;
    let done = |shared: &Shared, id: RequestId| {
        id == COMPLETE || {
            let request = shared.requests.get(id);
            request.state == RequestState::Ready && request.ready <= clock
        }
    };
    let ready: Vec<(u32, RequestId)> =
        (0..).zip(requests.iter().copied()).filter(|&(_, id)| done(shared, id)).collect();
    desk.completions.clear();
    if ready.is_empty() || (all && ready.len() < requests.len()) {
        shared.spend(task, Spent::Wait, POLL);
        return;
    }
    for (index, id) in ready {
        shared.spend(task, Spent::Recv, overhead(shared, id));
        let completion = completion(shared, index, id);
        desk.completions.push(completion);
    }
}
