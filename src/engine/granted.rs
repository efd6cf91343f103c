//! Transfers of rendezvous messages: the grant by the receiver, and the end.

use mcpsim_base::platform::Level;
use mcpsim_base::profile::TransferParts;
use mcpsim_base::rank::{Rank, RequestId};
use mcpsim_base::units::{Bytes, SimTime};

use super::event::{EventKey, EventKind};
use super::lp::LogicalProcess;
use super::memory::{CopyFor, CopyJob};
use super::messages::{finish_copy, set_ready};
use super::mpi_intervals::{CallMoment, grant, hold_grant, instant};
use super::paths::PathSlot;
use super::requests::RequestRecord;
use super::state::TargetRank;

/// Grants the transfer of a rendezvous message when a receive and the rendezvous request match. The receive was posted
/// at `posted`, at the end of path `mine`. The head of the rendezvous request arrived at `head`.
#[inline(never)]
pub(super) fn grant_match(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    (send, id, source): (RequestId, RequestId, Rank),
    level: Level,
    (left, head, path): (SimTime, SimTime, PathSlot),
    (posted, mine): (SimTime, PathSlot),
) {
    let handshake = lp.network.handshake(target.rank, source, level);
    // The path of the grant is the path of the receive or of the request, whichever was later; for equal times, of the
    // receive.
    let mut path = path;
    if lp.effects.by_call && head > posted {
        match instant(target, lp, head) {
            CallMoment::Now => {}
            CallMoment::At(time, call) => {
                lp.paths.release(mine);
                lp.paths.release(path);
                return grant(target, lp, (send, id, source), time, call);
            }
            CallMoment::Unknown => {
                lp.paths.release(mine);
                lp.paths.release(path);
                return hold_grant(target, send, id, source);
            }
        }
    }
    let mut parts = TransferParts::of_control(handshake, handshake);
    if head > posted {
        lp.paths.release(mine);
        parts += TransferParts::of_control(head.since(left), handshake);
        lp.paths.cross_alike(&mut path, level, left, parts);
    } else {
        lp.paths.replace(&mut path, mine);
        lp.paths.cross_alike(&mut path, level, posted, parts);
    }
    lp.push(target, head.max(posted) + handshake, source, || EventKind::ClearToSend { send, recv: id, path });
}

/// Ends the transfer of a rendezvous message whose bytes have arrived at `end`. `times` has the departure of the
/// transfer and the start of the transfer on the path. The event `head` is the arrival of the head of the transfer.
pub(super) fn end_transfer(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    head: EventKey,
    (send, recv, path): (RequestId, RequestId, PathSlot),
    size: Bytes,
    times: (SimTime, SimTime),
    end: SimTime,
) {
    let level = lp.level(head.from, target.rank);
    // No core copies a rendezvous message that passes adapters, whatever its size, because the adapter writes to the
    // receive buffer.
    if lp.rules(level).has_flows || level == Level::InterNode || !lp.receiver_copies(level, size) {
        return finish_transfer(target, lp, head, (send, recv, path), size, times, end);
    }
    let &RequestRecord { tag, buffers, .. } = target.requests.get(recv);
    let takes = CopyFor::Transfer { head, send, recv, path, times, end };
    let stated = lp.stated_pair(target.rank, recv);
    let job = CopyJob { from: head.from, tag, buffers, stated, size, start: head.time, takes };
    if let Some((end, delays)) = lp.copy(target, lp.network.received_row(head.from, target.rank, level, size), &job) {
        finish_copy(target, lp, &job, end, delays);
    }
}

/// Completes the transfer of a rendezvous message at `end`. The event `head` is the arrival of the head of the
/// transfer.
pub(super) fn finish_transfer(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    head: EventKey,
    (send, recv, mut path): (RequestId, RequestId, PathSlot),
    size: Bytes,
    (left, since): (SimTime, SimTime),
    end: SimTime,
) {
    let from = head.from;
    let level = lp.level(from, target.rank);
    let handshake = lp.network.handshake(target.rank, from, level);
    lp.record_to(target, level, from, size, (left, end));
    // The sender learns of the end of the transfer no earlier than by a control message that follows the head. The
    // delay of this control message gives the sender's worker its lookahead.
    let heard = end.max(head.time + handshake);
    // Only the request that determines a clock needs a path across the transfer; most requests do not determine a
    // clock.
    target.requests.get_mut(recv).came_at(since, lp.paths.share(path));
    let mut under_way = since;
    if heard > end {
        // The bytes arrive before the sender learns of the end, so the bytes are not on the sender's path.
        lp.cross_head(&mut path, (from, target.rank), size, since, head.time);
        let news = TransferParts::of_control(handshake, handshake);
        lp.paths.cross(&mut path, level, left, news);
        under_way = heard;
    } else if lp.seats[from as usize].worker != lp.me {
        lp.cross(&mut path, (from, target.rank), size, since, end);
        under_way = heard;
    }
    lp.push(target, heard, from, || EventKind::TransferEnd { send, left: under_way, path });
    set_ready(target, lp, recv, end);
}
