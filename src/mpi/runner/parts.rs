//! Inputs from which the steps of a collective are computed: the seat of the member and the sizes of blocks.

use crate::library::style;
use crate::names::collective_word;
use crate::schedule::{BlockLayout, Blocks, Extent, Fold, Parts, Piece, RootNumbering, Schedule, ScheduleStyle, Seat};
use crate::{CallForm, CollectiveCall, Sizes};
use mcpsim_base::platform::{Algorithm, Collective, Library};
use mcpsim_base::rank::{Buffer, Tag};
use mcpsim_base::units::Bytes;

/// Sizes of the data blocks of `schedule`.
pub(crate) fn blocks(schedule: &Schedule, seat: Seat, extent: Extent, sizes: &Sizes) -> BlockLayout {
    let Extent { size: total, element } = extent;
    match (schedule.parts(), sizes) {
        (Parts::Split(parts), _) => BlockLayout::Split { total, parts, element },
        (Parts::Nested { parts, inner, segment }, _) => BlockLayout::Nested { total, parts, inner, segment, element },
        (Parts::Halved(parts), _) => BlockLayout::Halved { total, parts, element },
        (Parts::Headed(head), _) => {
            let head = u64::from(head) / u64::from(element) * u64::from(element);
            BlockLayout::Headed { block: total, head: Bytes::new(head), ranks: seat.size }
        }
        (Parts::Ranks, Sizes::Same(block)) => BlockLayout::Uniform { block: *block, parts: seat.size },
        (Parts::Ranks, Sizes::Each(sizes)) => BlockLayout::Varying(sizes.clone()),
    }
}

pub(super) fn seat((call, form): (&CollectiveCall, CallForm), library: Library, ordered: bool) -> Result<Seat, String> {
    let (size, rank) = (call.comm.size(), call.comm.rank());
    let root = match call.collective {
        Collective::Bcast
        | Collective::Reduce
        | Collective::Gather
        | Collective::Gatherv
        | Collective::Scatter
        | Collective::Scatterv => call.root,
        _ => 0,
    };
    if root >= size {
        let word = collective_word(call.collective);
        return Err(format!("root {root} of {word}: expected a rank of the communicator, which has {size}"));
    }
    Ok(Seat { ordered, ..seat_of((call.collective, form), (size, rank), root, library) })
}

/// Seat (rank, root and numbering) of member `rank` in a collective among `size` members.
pub(crate) fn seat_of(
    (collective, form): (Collective, CallForm),
    (size, rank): (u32, u32),
    root: u32,
    library: Library,
) -> Seat {
    let style = style(library);
    let numbering = match (style, form) {
        (ScheduleStyle::OpenMpi, CallForm::NonBlocking) => RootNumbering::Swapped,
        _ => RootNumbering::Rotated,
    };
    // In a collective with a root, the root never leaves when the members are reduced to a power of two.
    let towards_root = style == ScheduleStyle::Flat || collective == Collective::Reduce;
    let fold = if towards_root { Fold::TowardsRoot } else { Fold::Higher };
    Seat { style, fold, root, numbering, ..Seat::with_root_0(size, rank) }
}

/// Buffer of `piece` in collectives in which many members read one buffer of a sender: every bcast, and a linear
/// allgather. No buffer in other collectives. `kind` is the number of the collective.
#[inline(always)]
pub(super) fn common_buffer(kind: Tag, algorithm: Algorithm, piece: Piece) -> Buffer {
    let is_allgather = kind == Collective::Allgather as Tag || kind == Collective::Allgatherv as Tag;
    if kind != Collective::Bcast as Tag && !(is_allgather && algorithm == Algorithm::Linear) {
        return Buffer::NONE;
    }
    let first = match piece.blocks {
        Blocks::All => 0,
        Blocks::Up { first, .. } | Blocks::Down(first) | Blocks::Bit(first) => first,
    };
    Buffer::numbered(first.wrapping_mul(8).wrapping_add(piece.space as u32))
}

pub(super) fn check_sizes(call: &CollectiveCall) -> Result<(), String> {
    let Sizes::Each(sizes) = &call.sizes else { return Ok(()) };
    let (word, ranks, found) = (collective_word(call.collective), call.comm.size(), sizes.len());
    match call.collective {
        Collective::Gatherv
        | Collective::Scatterv
        | Collective::Allgatherv
        | Collective::Alltoallv
        | Collective::ReduceScatter => {}
        _ => return Err(format!("sizes of {word}: expected one size for all ranks; found a list of {found}")),
    }
    if found != ranks as usize {
        return Err(format!("sizes of {word}: expected {ranks}, one per rank of the communicator; found {found}"));
    }
    Ok(())
}
