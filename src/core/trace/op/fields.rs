//! Encoding of the fields of operations in the trace file: ends of messages, and lists of request slots.

use super::{LISTED_PEER, LISTED_SIZE, Mode, PeerEnd, Sent, TagOrigin, TagRef};
use crate::trace::TraceError;
use crate::trace::bytes::{TraceReader, put};

pub(super) fn put_slots(out: &mut Vec<u8>, slots: &[u32]) {
    put(out, slots.len() as u64);
    slots.iter().for_each(|&slot| put(out, slot.into()));
}

pub(super) fn read_slots(reader: &mut TraceReader<'_>) -> Result<Box<[u32]>, TraceError> {
    let count = reader.count("a number of slots")?;
    (0..count).map(|_| reader.word("a slot")).collect()
}

/// Writes a [`PeerEnd`] with flags: origin of the tag, whether the task's list contains the peer, and two bits that the
/// operation defines.
pub(super) fn put_end(out: &mut Vec<u8>, end: &PeerEnd, more: u8) {
    let origin = match end.tag.origin {
        TagOrigin::Zero => 0,
        TagOrigin::PointToPoint => 1,
        TagOrigin::Collective => 2,
    };
    let listed = end.peer == LISTED_PEER;
    out.push(origin | u8::from(listed) << 2 | more << 3);
    if !listed {
        put(out, end.peer.into());
    }
    put(out, end.context.into());
    put(out, end.tag.offset.into());
}

pub(super) fn read_end(reader: &mut TraceReader<'_>, ranks: u32) -> Result<(PeerEnd, u64), TraceError> {
    let flags = reader.at_most(31, "flags")?;
    let origin = match flags & 3 {
        0 => TagOrigin::Zero,
        1 => TagOrigin::PointToPoint,
        2 => TagOrigin::Collective,
        other => return Err(reader.error(format_args!("expected an origin of tags up to 2; found {other}"))),
    };
    let peer = match flags & 4 {
        0 => reader.at_most(u64::from(ranks) - 1, "a rank")? as u32,
        _ => LISTED_PEER,
    };
    let context = reader.word("a context")?;
    let offset = reader.word("a tag")?;
    Ok((PeerEnd { peer, context, tag: TagRef { origin, offset } }, flags >> 3))
}

pub(in crate::trace) fn put_sent(out: &mut Vec<u8>, sent: &Sent) {
    // The value 0 means that the size is in the task's list of sizes. Every other size is stored as the size plus one.
    put_end(out, &sent.to, sent.mode as u8);
    put(out, if sent.size == LISTED_SIZE { 0 } else { sent.size + 1 });
}

pub(in crate::trace) fn read_sent(reader: &mut TraceReader<'_>, ranks: u32) -> Result<Sent, TraceError> {
    let (to, flags) = read_end(reader, ranks)?;
    let mode = match flags {
        0 => Mode::Standard,
        1 => Mode::Synchronous,
        2 => Mode::Buffered,
        other => return Err(reader.error(format_args!("expected a mode of sending up to 2; found {other}"))),
    };
    let size = reader.number()?.checked_sub(1).unwrap_or(LISTED_SIZE);
    Ok(Sent { to, size, mode })
}
