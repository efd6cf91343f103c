//! Intervals of virtual time in which a rank is inside an MPI call. These intervals are recorded for platforms whose
//! messages progress only inside MPI calls (`progress = "call"`).
//!
//! A rank's program runs ahead of the simulated time, so the intervals of its calls are stored until the simulation
//! reaches them. A message progresses at the first time, at or after its arrival, at which its rank is inside MPI. If
//! the time of the rank's next MPI call is not yet known, the message is held until this call.

use std::collections::VecDeque;

use mcpsim_base::profile::TransferParts;
use mcpsim_base::rank::{Call, Rank, RequestId};
use mcpsim_base::units::SimTime;

use super::event::{EventKey, EventKind};
use super::lp::LogicalProcess;
use super::paths::PathSlot;
use super::state::{MAIN, TargetRank, Wait};

/// MPI calls of a rank that have not ended at the simulated time.
#[derive(Debug, Default)]
pub(super) struct MpiIntervals {
    /// Intervals inside MPI in order of time; adjacent intervals are merged.
    kept: VecDeque<InCall>,
    /// The rank waits in the call of the last interval.
    waits: bool,
    held: Vec<Held>,
}

/// Interval of virtual time in which a rank is inside MPI.
#[derive(Clone, Copy, Debug)]
struct InCall {
    from: SimTime,
    until: SimTime,
    /// Critical path that determined the time `from`.
    path: PathSlot,
}

/// Progress that is held until the rank's next MPI call.
#[derive(Debug)]
enum Held {
    /// Grant of the transfer of a rendezvous message.
    Grant { send: RequestId, recv: RequestId, to: Rank },
    /// Event at the rank.
    Event(EventKey, EventKind),
    /// Resumption of the strand (concurrent task) with this number.
    Strand(u32),
}

/// Time at which a message can progress.
#[derive(Clone, Copy, Debug)]
pub(super) enum CallMoment {
    /// The message progresses when it arrives.
    Now,
    /// The message progresses at an MPI call of the rank, by the path to this call.
    At(SimTime, PathSlot),
    /// The message progresses at the rank's next MPI call, whose time is unknown.
    Unknown,
}

/// Returns whether the rank's program is inside MPI during `call`.
pub(super) fn is_inside(shared: &TargetRank, call: &Call) -> bool {
    match call {
        Call::Compute(_) | Call::Work(_) | Call::Code(_) | Call::Data(_) => shared.main.collective.is_some(),
        Call::Yield => false,
        _ => true,
    }
}

/// Records that the rank's program enters MPI at its clock.
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

/// Records that the rank's program leaves MPI, or that it waits inside MPI.
pub(super) fn end_call(shared: &mut TargetRank, is_over: bool) {
    let waits = !is_over && !matches!(shared.main.wait, Wait::Parked(_));
    let clock = shared.main.clock;
    let calls = &mut shared.meets().calls;
    calls.waits = waits;
    if let Some(last) = calls.kept.back_mut() {
        last.until = last.until.max(clock);
    }
}

/// Records that the wait of the rank's program inside MPI has ended.
pub(super) fn end_wait(shared: &mut TargetRank) {
    if shared.meets().calls.waits {
        end_call(shared, true);
    }
}

/// Returns the first time at or after `time` at which the rank is inside MPI.
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

/// Postpones the current event, by which a message of the rank progresses, to the next time at which the rank is inside
/// MPI. Returns true if the event was postponed.
pub(super) fn put_off(shared: &mut TargetRank, lp: &mut LogicalProcess<'_>, body: EventKind) -> bool {
    let now = lp.now.time;
    match instant(shared, lp, now) {
        CallMoment::Now => return false,
        CallMoment::At(time, path) => again(lp, EventKey { time, ..lp.now }, body, path),
        CallMoment::Unknown => shared.meets().calls.held.push(Held::Event(lp.now, body)),
    }
    true
}

/// Schedules an event again at another time, and replaces the critical path of the event by `path` if the event has a
/// path.
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

/// Holds the grant of a rendezvous message, whose request has arrived, until the rank's next MPI call.
pub(super) fn hold_grant(shared: &mut TargetRank, send: RequestId, recv: RequestId, to: Rank) {
    shared.meets().calls.held.push(Held::Grant { send, recv, to });
}

/// Returns whether the strand (concurrent task), whose wait ends at `time`, resumes at once. Otherwise it resumes at
/// the rank's next MPI call. If the strand resumes later, `time` and `path` are set to the time and the path of the MPI
/// call.
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

/// Executes the held progress of messages, because the rank's program calls MPI at its clock.
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

/// Grants the transfer of a rendezvous message at `time`, at the end of `path`.
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

/// Returns whether the task is a strand that progresses only during MPI calls of its rank. Only strands that wait for
/// requests can be held, because the results of other waits are in the logical process. Collectives wait only for
/// requests.
pub(super) fn is_driven(shared: &mut TargetRank, task: u32) -> bool {
    let control = shared.control(task);
    task != MAIN && !control.computes && matches!(control.wait, Wait::All { .. })
}
