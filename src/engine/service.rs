//! Messages that are served: handed to the receiving rank's program when their end arrives, and answered without the rank's
//! clock or core.

use crate::rank::{Message, Program, Rank, Served};
use crate::units::SimTime;

use super::desk::Desk;
use super::event::{Body, EventKey, Parcel};
use super::idle::served;
use super::messages::dispatch;
use super::paths::PathSlot;
use super::state::Shared;

/// The head of a message has come, by the event `head`, whose end comes at `end`.
pub(super) fn serve_at_end<P: Program>(
    program: &mut P,
    shared: &mut Shared,
    desk: &mut Desk<'_>,
    head: EventKey,
    parcel: Parcel,
    left: SimTime,
    end: SimTime,
) {
    // A later message's end may come sooner, but it is served later.
    let last = desk.to_serve.get(&(head.to, head.from)).copied();
    let time = end.max(last.unwrap_or(SimTime::ZERO));
    if time == head.time {
        serve(program, shared, desk, head.from, parcel, left);
        return;
    }
    desk.to_serve.insert((head.to, head.from), time);
    // The number of the head serves its end too: of the two only one exists at a time.
    desk.push_event(EventKey { time, ..head }, || Body::Serve { parcel, left });
}

/// The end of a message from `from` that left at `left` has come.
pub(super) fn serve<P: Program>(
    program: &mut P,
    shared: &mut Shared,
    desk: &mut Desk<'_>,
    from: Rank,
    parcel: Parcel,
    left: SimTime,
) {
    let at = desk.now.time;
    if at > desk.limit {
        desk.fail_by_time(shared.rank, program.position());
        return;
    }
    let pair = (shared.rank, from);
    if desk.to_serve.get(&pair) == Some(&at) {
        desk.to_serve.remove(&pair);
    }
    let Parcel { tag, size, payload, mut path, .. } = parcel;
    desk.cross(&mut path, (from, shared.rank), size, left, at);
    let message = Served { at, from, tag, size, payload: desk.payloads.take(payload) };
    let mut answers = std::mem::take(&mut desk.answers);
    match &mut desk.meter {
        None => program.serve(message, &mut answers),
        Some(meter) => meter.code(|| program.serve(message, &mut answers)),
    }
    answers.drain(..).for_each(|answer| send(shared, desk, answer, at, path));
    desk.paths.release(path);
    desk.answers = answers;
    served(shared, desk);
}

/// Sends an answer to what came at `at` by `path`.
fn send(shared: &mut Shared, desk: &mut Desk<'_>, message: Message, at: SimTime, path: PathSlot) {
    let Message { to, context, tag, size, payload, .. } = message;
    let level = desk.level(shared.rank, to);
    let row = desk.network.link(level).row(size);
    let path = desk.paths.share(path);
    let parcel = Parcel { context, tag, size, rendezvous: None, payload: desk.payloads.put(payload), path };
    dispatch(shared, desk, to, (level, row), parcel, at + row.send_overhead, None);
}
