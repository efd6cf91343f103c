//! When a rank is inside MPI, where messages advance in calls only (`progress = "call"`).
//!
//! A rank's program runs ahead of virtual time, so its calls are kept as times until the simulation has got there. What
//! is to advance happens at the first instant inside MPI that is not before its arrival. If no such instant is known
//! yet, it is held until the rank's next call.

use std::collections::VecDeque;

use crate::profile::TransferParts;
use crate::rank::{Call, Rank, RequestId};
use crate::units::SimTime;

use super::event::{EventKey, EventKind};
use super::lp::LogicalProcess;
use super::paths::PathSlot;
use super::state::{MAIN, TargetRank, Wait};

/// The calls of a rank that are not over yet in virtual time.
#[derive(Debug, Default)]
pub(super) struct MpiIntervals {
    /// One after another, those that follow at once as one.
    kept: VecDeque<InCall>,
    /// The rank waits inside the last.
    waits: bool,
    held: Vec<Held>,
}

/// A time inside MPI.
#[derive(Clone, Copy, Debug)]
struct InCall {
    from: SimTime,
    until: SimTime,
    /// The path to `from`.
    path: PathSlot,
}

/// What waits for the rank's next call.
#[derive(Debug)]
enum Held {
    /// The grant of a rendezvous.
    Grant { send: RequestId, recv: RequestId, to: Rank },
    /// An event of the rank.
    Event(EventKey, EventKind),
    /// The next step of a strand.
    Strand(u32),
}

/// When something can advance.
#[derive(Clone, Copy, Debug)]
pub(super) enum CallMoment {
    /// As soon as it is there.
    Now,
    /// When the rank calls MPI, by the path to that.
    At(SimTime, PathSlot),
    /// When the rank calls MPI next.
    Unknown,
}

/// Whether the rank's own program is inside MPI while it makes the call.
pub(super) fn is_inside(shared: &TargetRank, call: &Call) -> bool {
    match call {
        Call::Compute(_) | Call::Work(_) | Call::Code(_) | Call::Data(_) => shared.main.collective.is_some(),
        Call::Yield => false,
        _ => true,
    }
}

/// The rank's own program is about to make a call inside MPI.
pub(super) fn begin_call(shared: &mut TargetRank, lp: &mut LogicalProcess<'_>) {
    let (clock, path, now) = (shared.main.clock, shared.main.path, lp.now.time);
    let calls = &mut shared.meets().calls;
    if calls.kept.back().is_none_or(|last| last.until < clock) {
        while calls.kept.front().is_some_and(|first| first.until < now) {
            let over = calls.kept.pop_front().expect("there is a first");
            lp.paths.release(over.path);
        }
        calls.kept.push_back(InCall { from: clock, until: clock, path: lp.paths.share(path) });
    }
    if !calls.held.is_empty() {
        release_held(shared, lp);
    }
}

/// The call that has begun is over, or waits.
pub(super) fn end_call(shared: &mut TargetRank, is_over: bool) {
    let waits = !is_over && !matches!(shared.main.wait, Wait::Parked(_));
    let clock = shared.main.clock;
    let calls = &mut shared.meets().calls;
    calls.waits = waits;
    if let Some(last) = calls.kept.back_mut() {
        last.until = last.until.max(clock);
    }
}

/// What the rank's own program has waited for is over.
pub(super) fn end_wait(shared: &mut TargetRank) {
    if shared.meets().calls.waits {
        end_call(shared, true);
    }
}

/// The first instant inside MPI at or after `time`.
pub(super) fn instant(shared: &mut TargetRank, lp: &mut LogicalProcess<'_>, time: SimTime) -> CallMoment {
    let calls = &shared.meets().calls;
    let index = calls.kept.partition_point(|call| call.until < time);
    match (calls.kept.get(index), calls.kept.back()) {
        (Some(call), _) if call.from <= time => CallMoment::Now,
        (Some(call), _) => CallMoment::At(call.from, lp.paths.share(call.path)),
        (None, Some(_)) if calls.waits => CallMoment::Now,
        (None, _) => CallMoment::Unknown,
    }
}

/// The event at hand, which is to advance a message of the rank, comes again when the rank is inside MPI: true if that
/// is later.
pub(super) fn put_off(shared: &mut TargetRank, lp: &mut LogicalProcess<'_>, body: EventKind) -> bool {
    let now = lp.now.time;
    match instant(shared, lp, now) {
        CallMoment::Now => return false,
        CallMoment::At(time, path) => again(lp, EventKey { time, ..lp.now }, body, path),
        CallMoment::Unknown => shared.meets().calls.held.push(Held::Event(lp.now, body)),
    }
    true
}

/// The event comes again with another time, by `path` if it has one.
fn again(lp: &mut LogicalProcess<'_>, key: EventKey, mut body: EventKind, path: PathSlot) {
    match body.path_mut() {
        Some(own) => lp.paths.replace(own, path),
        None => lp.paths.release(path),
    }
    if let EventKind::TransferArrival { since, .. } = &mut body {
        *since = key.time;
    }
    lp.push_event(key, || body);
}

/// Holds the grant of a rendezvous whose request has come.
pub(super) fn hold_grant(shared: &mut TargetRank, send: RequestId, recv: RequestId, to: Rank) {
    shared.meets().calls.held.push(Held::Grant { send, recv, to });
}

/// Whether the strand, whose wait is over at `time`, goes on: when, and by which path if that is later.
pub(super) fn strand_goes_on(
    shared: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    task: u32,
    time: SimTime,
) -> Option<Option<(SimTime, PathSlot)>> {
    match instant(shared, lp, time) {
        CallMoment::Now => Some(None),
        CallMoment::At(later, path) => Some(Some((later, path))),
        CallMoment::Unknown => {
            shared.meets().calls.held.push(Held::Strand(task));
            None
        }
    }
}

/// The rank's own program calls MPI at its clock: what was held goes on.
fn release_held(shared: &mut TargetRank, lp: &mut LogicalProcess<'_>) {
    let clock = shared.main.clock;
    let path = shared.main.path;
    for held in std::mem::take(&mut shared.meets().calls.held) {
        match held {
            Held::Grant { send, recv, to } => {
                let path = lp.paths.share(path);
                grant(shared, lp, (send, recv, to), clock, path);
            }
            Held::Event(key, body) => {
                let path = lp.paths.share(path);
                again(lp, EventKey { time: clock, ..key }, body, path);
            }
            Held::Strand(task) => lp.woken.push(task),
        }
    }
}

/// The rank grants a rendezvous at `time`, to where `path` gets.
pub(super) fn grant(
    shared: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    (send, recv, to): (RequestId, RequestId, Rank),
    time: SimTime,
    path: PathSlot,
) {
    let level = lp.level(to, shared.rank);
    let handshake = lp.network.link(level).handshake();
    let mut path = path;
    lp.paths.cross(&mut path, level, time, TransferParts::of_control(handshake, handshake));
    lp.push(shared, time + handshake, to, || EventKind::ClearToSend { send, recv, path });
}

/// Whether the task is a strand that advances in calls of its rank only. What other waits than for requests have found
/// stands at the lp and cannot be held; no collective waits so.
pub(super) fn is_driven(shared: &mut TargetRank, task: u32) -> bool {
    let control = shared.control(task);
    task != MAIN && !control.computes && matches!(control.wait, Wait::All { .. })
}
