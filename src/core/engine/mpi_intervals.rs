//! Intervals in which a rank is inside MPI, for progress only inside calls (`progress = "call"`).
//!
//! A rank's program runs ahead of virtual time, so the intervals of its calls are stored until the simulation reaches
//! them. A message progresses at the first instant inside MPI that is not before its arrival. If this instant is not
//! yet known, the message is held until the rank's next call.

use std::collections::VecDeque;

use crate::profile::TransferParts;
use crate::rank::{Call, Rank, RequestId};
use crate::units::SimTime;

use super::event::{EventKey, EventKind};
use super::lp::LogicalProcess;
use super::paths::PathSlot;
use super::state::{MAIN, TargetRank, Wait};

/// Calls of a rank that have not ended in virtual time.
#[derive(Debug, Default)]
pub(super) struct MpiIntervals {
    /// Intervals in order; adjacent intervals are merged.
    kept: VecDeque<InCall>,
    /// The rank waits inside the last interval.
    waits: bool,
    held: Vec<Held>,
}

/// Interval inside MPI.
#[derive(Clone, Copy, Debug)]
struct InCall {
    from: SimTime,
    until: SimTime,
    /// Path to `from`.
    path: PathSlot,
}

/// Work that is held until the rank's next call.
#[derive(Debug)]
enum Held {
    /// Grant of a rendezvous.
    Grant { send: RequestId, recv: RequestId, to: Rank },
    /// Event of the rank.
    Event(EventKey, EventKind),
    /// Next step of a strand.
    Strand(u32),
}

/// Instant at which a message can progress.
#[derive(Clone, Copy, Debug)]
pub(super) enum CallMoment {
    /// At its arrival.
    Now,
    /// At the rank's call, by the path to this call.
    At(SimTime, PathSlot),
    /// At the rank's next call, whose time is unknown.
    Unknown,
}

/// Returns whether the rank's program is inside MPI during the call.
pub(super) fn is_inside(shared: &TargetRank, call: &Call) -> bool {
    match call {
        Call::Compute(_) | Call::Work(_) | Call::Code(_) | Call::Data(_) => shared.main.collective.is_some(),
        Call::Yield => false,
        _ => true,
    }
}

/// Begins a call of the rank's program inside MPI.
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

/// Ends the current call, or marks it as waiting.
pub(super) fn end_call(shared: &mut TargetRank, is_over: bool) {
    let waits = !is_over && !matches!(shared.main.wait, Wait::Parked(_));
    let clock = shared.main.clock;
    let calls = &mut shared.meets().calls;
    calls.waits = waits;
    if let Some(last) = calls.kept.back_mut() {
        last.until = last.until.max(clock);
    }
}

/// Ends the wait of the rank's program.
pub(super) fn end_wait(shared: &mut TargetRank) {
    if shared.meets().calls.waits {
        end_call(shared, true);
    }
}

/// Returns the first instant inside MPI at or after `time`.
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

/// Postpones the current event, which progresses a message of the rank, to the next instant inside MPI. Returns true if
/// this instant is later.
pub(super) fn put_off(shared: &mut TargetRank, lp: &mut LogicalProcess<'_>, body: EventKind) -> bool {
    let now = lp.now.time;
    match instant(shared, lp, now) {
        CallMoment::Now => return false,
        CallMoment::At(time, path) => again(lp, EventKey { time, ..lp.now }, body, path),
        CallMoment::Unknown => shared.meets().calls.held.push(Held::Event(lp.now, body)),
    }
    true
}

/// Schedules the event again at another time, with `path` if its kind has a path.
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

/// Holds the grant of a rendezvous whose request has arrived.
pub(super) fn hold_grant(shared: &mut TargetRank, send: RequestId, recv: RequestId, to: Rank) {
    shared.meets().calls.held.push(Held::Grant { send, recv, to });
}

/// Returns whether the strand, whose wait ends at `time`, resumes. A later resumption has its time and path.
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

/// Releases held work, because the rank's program calls MPI at its clock.
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

/// Grants a rendezvous at `time`, where `path` ends.
pub(super) fn grant(
    shared: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    (send, recv, to): (RequestId, RequestId, Rank),
    time: SimTime,
    path: PathSlot,
) {
    let level = lp.level(to, shared.rank);
    let handshake = lp.network.handshake(shared.rank, to, level);
    let mut path = path;
    lp.paths.cross(&mut path, level, time, TransferParts::of_control(handshake, handshake));
    lp.push(shared, time + handshake, to, || EventKind::ClearToSend { send, recv, path });
}

/// Returns whether the task is a strand that progresses only in calls of its rank. Waits for requests only qualify: the
/// results of other waits are in the logical process and cannot be held. Collectives do not use other waits.
pub(super) fn is_driven(shared: &mut TargetRank, task: u32) -> bool {
    let control = shared.control(task);
    task != MAIN && !control.computes && matches!(control.wait, Wait::All { .. })
}
