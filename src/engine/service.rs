//! Served messages: the program of the receiving rank handles a served message when the message has arrived, and
//! answers it. Service uses neither the clock nor the core of the receiving rank.

use mcpsim_base::rank::{Message, Program, Rank, SERVICE, SendMode, Served};
use mcpsim_base::units::SimTime;

use super::departure::dispatch;
use super::event::{EventKey, EventKind, InFlightMessage};
use super::idle::served;
use super::lp::LogicalProcess;
use super::paths::PathSlot;
use super::state::TargetRank;

/// Handles the arrival of the head of a served message by the event `head`. The last byte of the message arrives at
/// `end`.
pub(super) fn serve_at_end<P: Program>(
    program: &mut P,
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    head: EventKey,
    message: InFlightMessage,
    left: SimTime,
    end: SimTime,
) {
    // The last byte of a later message may arrive earlier, but the messages of a pair of ranks are served in order.
    let last = lp.served.to_serve.get(&(head.to, head.from)).copied();
    let time = end.max(last.unwrap_or(SimTime::ZERO));
    if time == head.time {
        serve(program, target, lp, head.from, message, left);
        return;
    }
    lp.served.to_serve.insert((head.to, head.from), time);
    // The sequence number of the head's event is reused for the event of the end, because only one of the two events
    // exists at a time.
    lp.push_event(EventKey { time, ..head }, || EventKind::Serve { message, left });
}

/// Lets the program of the receiving rank serve a message from `from` that left at `left` and has arrived completely.
pub(super) fn serve<P: Program>(
    program: &mut P,
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    from: Rank,
    message: InFlightMessage,
    left: SimTime,
) {
    let at = lp.now.time;
    if at > lp.limits.clock {
        lp.fail_by_time(target.rank, program.position());
        return;
    }
    let pair = (target.rank, from);
    if lp.served.to_serve.get(&pair) == Some(&at) {
        lp.served.to_serve.remove(&pair);
    }
    let InFlightMessage { tag, size, payload, mut path, .. } = message;
    lp.cross(&mut path, (from, target.rank), size, left, at);
    let message = Served { at, from, tag, size, payload: lp.payloads.take(payload) };
    let mut answers = std::mem::take(&mut lp.served.answers);
    match &mut lp.meter {
        None => program.serve(message, &mut answers),
        Some(meter) => meter.code(|| program.serve(message, &mut answers)),
    }
    answers.drain(..).for_each(|answer| send(target, lp, answer, at, path));
    lp.paths.release(path);
    lp.served.answers = answers;
    served(target, lp);
}

/// Sends the answer to a served message that arrived at `at` by `path`.
fn send(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, message: Message, at: SimTime, path: PathSlot) {
    let Message { to, context, tag, size, payload, .. } = message;
    let level = lp.level(target.rank, to);
    let row = lp.network.row(target.rank, to, level, size);
    if lp.effects.credits && context != SERVICE {
        // The answer does not wait for a credit, but when the answer leaves its buffer, a credit is returned.
        lp.take_credit(target, to, level, SendMode::Buffered);
    }
    let path = lp.paths.share(path);
    let message = InFlightMessage { context, tag, size, rendezvous: None, payload: lp.payloads.put(payload), path };
    dispatch(target, lp, to, (level, row), message, at + row.sending(size), None);
}
