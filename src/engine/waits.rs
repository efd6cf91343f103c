//! Waits of tasks: for all of several requests, for one of several requests, for a message, or until the simulation
//! reaches the task's clock.

use smallvec::SmallVec;

use mcpsim_base::rank::{COMPLETE, Completion, Envelope, Pattern, RequestId, Requests, Which};
use mcpsim_base::units::{Bytes, SimSpan, SimTime};

use super::clock::TimeCategory;
use super::event::EventKind;
use super::lp::LogicalProcess;
use super::memory::flow;
use super::messages::set_ready;
use super::paths::PathSlot;
use super::ready_queue::{ReadyRequest, is_long};
use super::requests::{NOBODY, RequestKind, RequestRecord, RequestState};
use super::state::{Answer, MAIN, ProbedMessage, TargetRank, TaskState, Wait, WaitKind};

/// Distance in a list of requests between the request that is being completed and the request that is prefetched.
const FORESEEN: usize = 8;

/// Lets the task wait for all of `requests`; returns the answer if all requests are ready.
pub(super) fn wait_all(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    task: u32,
    kind: WaitKind,
    requests: Requests,
) -> Option<Answer> {
    let mut left = 0;
    for &id in requests.iter().filter(|&&id| id != COMPLETE) {
        let request = target.requests.get_mut(id);
        if request.state == RequestState::Pending {
            request.waiter = task;
            left += 1;
        }
    }
    if left == 0 && !lp.shares_core(target.rank, task) {
        return Some(complete_all(target, lp, task, kind, &requests));
    }
    target.begin_wait(task, Wait::All { kind, requests, left });
    if left == 0 {
        lp.woken.push(task);
    }
    None
}

/// Completes the requests of a wait, which are all ready. The core handles the requests in the order in which they
/// became ready, one overhead after another.
pub(super) fn complete_all(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    task: u32,
    kind: WaitKind,
    requests: &Requests,
) -> Answer {
    let wanted = match kind {
        WaitKind::Send | WaitKind::Complete => 0,
        WaitKind::Recv | WaitKind::Exchange => 1,
        WaitKind::WaitAll => requests.len(),
    };
    if target.waits_for_thread(requests) {
        let since = target.control(task).clock;
        take(target, lp, task, requests);
        target.has_waited_for_thread(task, since);
    } else {
        take(target, lp, task, requests);
    }
    lp.completions.clear();
    for (index, &id) in (0..).zip(requests) {
        if let Some(&next) = requests.get(index as usize + FORESEEN)
            && next != COMPLETE
        {
            lp.paths.foresee_release(target.requests.get(next).path);
        }
        if (index as usize) < wanted {
            let completion = completion(target, lp, index, id);
            lp.completions.push(completion);
        } else if id != COMPLETE {
            let RequestRecord { path, .. } = target.requests.remove(id);
            lp.paths.release(path);
        }
    }
    if wanted == 0 { Answer::Done } else { Answer::Completed }
}

/// Charges the task's core for the requests of a wait, which are all ready, in the order in which they became ready. Of
/// requests with equal ready times, requests with lower overheads precede, and then the order of the list decides.
fn take(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32, requests: &Requests) {
    let mut order = InOrder::new();
    // A shared core must be requested for each of the requests.
    if target.trail.is_some() || lp.shares_core(target.rank, task) {
        put_in_order(&mut order, target, requests, SimTime::ZERO);
        for (ready, overhead, index) in order {
            let cause = target.cause(requests[index as usize]);
            target.wait_until(lp, task, ready, cause);
            target.spend(lp, task, TimeCategory::Recv, overhead);
        }
        if lp.shares_core(target.rank, task) {
            target.await_turn(lp);
        }
        return;
    }
    // If nothing needs the single requests, their overheads are computed in one step. The last request that delays the
    // task determines the task's path; only the overheads of later requests are on this path.
    let clock = target.control(task).clock;
    let (mut since, mut all) = (SimTime::ZERO, SimSpan::ZERO);
    let is_long = requests.len() > order.inline_size();
    if is_long {
        let mut latest = clock;
        for (index, &id) in requests.iter().enumerate().filter(|&(_, &id)| id != COMPLETE) {
            requests.get(index + FORESEEN).into_iter().for_each(|&next| target.requests.foresee(next));
            let request = target.requests.get(id);
            latest = latest.max(request.ready);
            all += request.overhead;
        }
        // A request cannot be the last that delays the task if all overheads would end before the latest request is
        // ready.
        if clock + all < latest {
            since = SimTime::from_ps(latest.as_ps() - all.as_ps());
        }
    }
    put_in_order(&mut order, target, requests, since);
    if !is_long {
        order.iter().for_each(|(_, overhead, _)| all += *overhead);
    }
    let (mut at, mut last, mut overheads) = (clock, None, SimSpan::ZERO);
    for &(ready, overhead, index) in &order {
        if ready > at {
            (at, last, overheads) = (ready, Some((index, ready)), SimSpan::ZERO);
        }
        at += overhead;
        overheads += overhead;
    }
    let Some((index, ready)) = last else {
        target.spend(lp, task, TimeCategory::Recv, all);
        return;
    };
    target.pass(task, TimeCategory::Recv, all - overheads);
    let cause = target.cause(requests[index as usize]);
    target.follow(lp, task, ready, cause);
    let waited = ready.since(target.control(task).clock);
    target.pass(task, TimeCategory::Poll, waited);
    target.spend(lp, task, TimeCategory::Recv, overheads);
}

/// Requests in the order in which the core handles them: ready time, overhead, and index in the list.
type InOrder = SmallVec<[(SimTime, SimSpan, u32); 12]>;

/// Writes the requests that were ready at `since` or later into `order`, which is empty, in the order in which the core
/// handles requests.
#[inline]
fn put_in_order(order: &mut InOrder, target: &TargetRank, requests: &Requests, since: SimTime) {
    for (index, &id) in (0..).zip(requests).filter(|&(_, &id)| id != COMPLETE) {
        let request = target.requests.get(id);
        if request.ready >= since {
            order.push((request.ready, request.overhead, index));
        }
    }
    if !order.is_sorted() {
        order.sort_unstable();
    }
}

/// Removes a completed request from the rank and returns its completion.
fn completion(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, index: u32, id: RequestId) -> Completion {
    if id == COMPLETE {
        return Completion { index, source: target.rank, tag: 0, size: Bytes::ZERO, payload: None, cancelled: false };
    }
    let request = target.requests.remove(id);
    lp.paths.release(request.path);
    let (source, tag, size) = match request.kind {
        RequestKind::Matched => (request.peer, request.tag, request.size),
        _ => (target.rank, 0, Bytes::ZERO),
    };
    let cancelled = request.kind == RequestKind::Cancelled;
    Completion { index, source, tag, size, payload: request.payload, cancelled }
}

/// Lets the task wait for one of `requests`. The task chooses a request when the simulation reaches the earliest ready
/// time, because another request may become ready earlier.
pub(super) fn wait_any(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32, requests: Requests) {
    if task == MAIN && is_long(&requests) {
        let first = target.requests.first_ready();
        target.begin_wait(task, Wait::AnyOfMany(requests));
        if let Some(first) = first {
            wake_for(target, lp, task, first);
        }
        return;
    }
    let mut first: Option<SimTime> = None;
    for &id in &requests {
        if id == COMPLETE {
            first = Some(SimTime::ZERO);
            continue;
        }
        let request = target.requests.get_mut(id);
        request.waiter = task;
        if request.state == RequestState::Ready {
            first = Some(first.map_or(request.ready, |first| first.min(request.ready)));
        }
    }
    target.begin_wait(task, Wait::Any(requests));
    if let Some(first) = first {
        wake_for(target, lp, task, first);
    }
}

/// Lets the task wait until the simulation reaches the task's clock.
pub(super) fn wait_for_own_time(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32, wait: Wait) {
    let turn = target.begin_wait(task, wait);
    let (rank, clock) = (target.rank, target.control(task).clock);
    lp.push(target, clock, rank, || EventKind::Wake { task, turn });
}

/// Lets the task wait for a message that matches `pattern`, without receiving the message.
pub(super) fn probe(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    task: u32,
    pattern: Pattern,
) -> Option<Answer> {
    match seen(target, &pattern) {
        Some((envelope, header)) => {
            let cause = lp.head_cause(target.rank, header);
            target.wait_until(lp, task, header.time, cause);
            found(lp, envelope, header.size);
            Some(Answer::Completed)
        }
        None => {
            target.begin_wait(task, Wait::Probe(pattern));
            None
        }
    }
}

/// Returns the first arrived message that matches `pattern`, if any.
fn seen(target: &mut TargetRank, pattern: &Pattern) -> Option<(Envelope, ProbedMessage)> {
    target.matcher.probe(pattern).map(|(envelope, arrived)| (envelope, arrived.header(envelope.source)))
}

/// Records the message that a probe has found.
pub(super) fn found(lp: &mut LogicalProcess<'_>, envelope: Envelope, size: Bytes) {
    let Envelope { source, tag, .. } = envelope;
    lp.completions.clear();
    lp.completions.push(Completion { index: 0, source, tag, size, payload: None, cancelled: false });
}

/// Handles the event at the time that a task waited for; returns true if the task continues at once.
pub(super) fn wake(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32, turn: u32) -> bool {
    match target.living(task) {
        Some(control) if control.turn == turn => {}
        _ => return false,
    }
    match std::mem::replace(&mut target.control(task).wait, Wait::Nothing) {
        Wait::Parked(answer) => {
            target.control(task).wait = Wait::Parked(answer);
            true
        }
        Wait::OwnTime(call) => {
            target.control(task).wait = Wait::OwnTime(call);
            true
        }
        Wait::Any(requests) => {
            decide_any(target, lp, task, &requests);
            target.control(task).wait = Wait::Any(requests);
            true
        }
        Wait::AnyOfMany(requests) => {
            let is_over = decide_any_of_many(target, lp, task, &requests);
            target.control(task).wait = Wait::AnyOfMany(requests);
            is_over
        }
        Wait::Test { requests, which, poll } => {
            let cost = if poll { lp.core.poll } else { SimSpan::ZERO };
            test(target, lp, task, &requests, which, cost);
            target.control(task).wait = Wait::Test { requests, which, poll };
            true
        }
        Wait::Cancel(id) => {
            cancel(target, lp, task, id);
            target.control(task).wait = Wait::Cancel(id);
            true
        }
        Wait::Iprobe(pattern) => {
            match seen(target, &pattern) {
                Some((envelope, header)) => {
                    let cause = lp.head_cause(target.rank, header);
                    target.found(lp, task, header.time, cause);
                    found(lp, envelope, header.size);
                }
                None => {
                    lp.completions.clear();
                    target.spend(lp, task, TimeCategory::Poll, lp.core.poll);
                }
            }
            target.control(task).wait = Wait::Iprobe(pattern);
            true
        }
        // On a shared core, the simulation has now reached the ready time of the last request.
        Wait::All { kind, requests, left: 0 } => {
            target.control(task).wait = Wait::All { kind, requests, left: 0 };
            true
        }
        Wait::Block(block) => {
            target.control(task).wait = Wait::Block(block);
            flow(target, lp, task, block)
        }
        // Another event has already ended the wait that the current event should end.
        wait => {
            target.control(task).wait = wait;
            false
        }
    }
}

/// Completes the request that was ready first; of requests with equal ready times, the first in the list.
fn decide_any(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32, requests: &Requests) {
    let now = lp.now.time;
    let mut best: Option<ReadyRequest> = None;
    for (index, &id) in (0..).zip(requests) {
        if id == COMPLETE {
            best = best.min(Some((SimTime::ZERO, index, id))).or(Some((SimTime::ZERO, index, id)));
            continue;
        }
        let request = target.requests.get_mut(id);
        request.waiter = NOBODY;
        let candidate = (request.ready, index, id);
        if request.state == RequestState::Ready && request.ready <= now && best.is_none_or(|best| candidate < best) {
            best = Some(candidate);
        }
    }
    let since = target.waits_for_thread(requests).then(|| target.control(task).clock);
    complete_one(target, lp, task, best.expect("woken when a request is ready"));
    if let Some(since) = since {
        target.has_waited_for_thread(task, since);
    }
}

/// Completes one request of a wait for any of several requests.
fn complete_one(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32, request: ReadyRequest) {
    let (ready, index, id) = request;
    if id != COMPLETE {
        let cause = target.cause(id);
        target.wait_until(lp, task, ready, cause);
        target.spend(lp, task, TimeCategory::Recv, target.requests.get(id).overhead);
    }
    lp.completions.clear();
    let completion = completion(target, lp, index, id);
    lp.completions.push(completion);
}

/// Completes the request of a long list that was ready first; of requests with equal ready times, the first in the
/// list. Returns false if the simulation has not reached the end of the wait.
fn decide_any_of_many(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32, requests: &Requests) -> bool {
    let Some(first) = target.requests.first_ready_of(requests) else { return false };
    if first.0.max(target.control(task).clock) > lp.now.time {
        wake_for(target, lp, task, first.0);
        return false;
    }
    complete_one(target, lp, task, first);
    true
}

/// Schedules the end of the task's wait for any of several requests, one of which is ready at `ready`.
pub(super) fn wake_for(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32, ready: SimTime) {
    let &mut TaskState { turn, clock, .. } = target.control(task);
    let rank = target.rank;
    lp.push(target, ready.max(clock), rank, || EventKind::Wake { task, turn });
}

/// Cancels a receive that no message has matched by the task's clock. Another task that waits for the receive continues
/// on the path of this task.
fn cancel(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32, id: RequestId) {
    if id != COMPLETE && target.requests.get(id).kind == RequestKind::Unmatched && target.matcher.withdraw(&id) {
        let &mut TaskState { clock, path, .. } = target.control(task);
        let path = lp.paths.share(path);
        let request = target.requests.get_mut(id);
        request.kind = RequestKind::Cancelled;
        lp.paths.release(std::mem::replace(&mut request.path, PathSlot::NONE));
        request.came_at(clock, path);
        set_ready(target, lp, id, clock);
    }
}

/// Completes those requests that are complete at the task's clock; charges `cost` to the core if no request is
/// complete.
fn test(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    task: u32,
    requests: &Requests,
    which: Which,
    cost: SimSpan,
) {
    let clock = target.control(task).clock;
    let is_pending = |id: RequestId| {
        id != COMPLETE && {
            let request = target.requests.get(id);
            request.state != RequestState::Ready || request.ready > clock
        }
    };
    lp.completions.clear();
    let ready = match which {
        Which::All if requests.iter().any(|&id| is_pending(id)) => SmallVec::new(),
        Which::All => (0..).zip(requests.iter().copied()).collect(),
        Which::Some | Which::First => target.requests.ready_of(requests, clock),
    };
    if ready.is_empty() {
        target.spend(lp, task, TimeCategory::Poll, cost);
        return;
    }
    let wanted = if which == Which::First { 1 } else { ready.len() };
    let found = ready[..wanted].iter().filter(|&&(_, id)| id != COMPLETE);
    let last = found.max_by_key(|&&(index, id)| (target.requests.get(id).ready, std::cmp::Reverse(index))).copied();
    if let Some((_, id)) = last {
        let (time, cause) = (target.requests.get(id).ready, target.cause(id));
        target.found(lp, task, time, cause);
    }
    for (index, id) in ready.into_iter().take(wanted) {
        if id != COMPLETE {
            target.spend(lp, task, TimeCategory::Recv, target.requests.get(id).overhead);
        }
        let completion = completion(target, lp, index, id);
        lp.completions.push(completion);
    }
}
