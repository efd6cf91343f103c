//! Checked heap of ranks (`--check-heap`). A rank that writes beyond a heap block or to a freed heap block ends at
//! the write.
//!
//! The module `arena` manages the heap blocks. The module `functions` replaces the C library's memory functions in
//! programs.
#![allow(unsafe_code)]

mod arena;
mod functions;

use std::sync::{Mutex, MutexGuard, PoisonError};

use self::arena::{Arena, HeapBlock, HeapCall, HeapDamage, InvalidFree};
use super::crash;
use super::job::Job;
use super::unwind::here;
use super::{Process, current};
use mcpsim_core::engine::{Mistake, MistakeKind};
use mcpsim_core::rank::{FailureKind, Rank};

pub use arena::ALIGNMENT;
pub use functions::{allocate, find, release};

/// Heap blocks of all ranks in the host process. The arena is `None` before the first run that checks the heap.
static ARENA: Mutex<Option<Arena>> = Mutex::new(None);

fn arena() -> MutexGuard<'static, Option<Arena>> {
    ARENA.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prepares the checked heap for a new run.
pub fn begin() {
    let mut arena = arena();
    if arena.is_none() {
        *arena = Arena::new();
    }
    if let Some(arena) = arena.as_mut() {
        arena.begin();
    }
}

/// Ends the heap checks of a run. Returns mistakes for damaged heap blocks that were not freed, and the number of
/// allocations without guard pages.
pub fn end(job: &Job) -> (Vec<Mistake>, u64) {
    let arena = arena();
    let Some(arena) = arena.as_ref() else { return (Vec::new(), 0) };
    (arena.damaged().iter().map(|damage| mistake(job, damage, 0)).collect(), arena.refused)
}

/// Describes the current call of the memory function `function` by the program.
fn call(function: &'static str) -> HeapCall {
    let Some(p) = current() else { return HeapCall { rank: None, function, codes: [None; 3] } };
    HeapCall { rank: Some(p.rank), function, codes: crash::calling_codes(p, here(), &p.stack()) }
}

/// Returns the memory function and the innermost call position that has debug information, such as "malloc at
/// heap.c:12".
fn position(job: &Job, call: &HeapCall) -> String {
    let places = call.codes.iter().flatten().map(|&(module, offset)| job.describe(module as usize, offset as usize));
    let line = places.into_iter().find_map(|place| place.rsplit_once(" at ").map(|(_, line)| line.to_owned()));
    line.map_or_else(|| call.function.to_owned(), |line| format!("{} at {line}", call.function))
}

/// Formats a number of bytes as text, such as "1 byte" or "2 bytes".
fn bytes(count: usize) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}

fn who(rank: Option<Rank>) -> String {
    rank.map_or_else(|| "a thread".to_owned(), |rank| format!("rank {rank}"))
}

/// Returns a text with the size of the heap block, the call that allocated the block, and the call that freed the
/// block.
fn describe_block(job: &Job, block: &HeapBlock) -> String {
    let HeapBlock { size, allocated, freed, .. } = block;
    let allocated_by = who(allocated.rank);
    let allocation = position(job, allocated);
    let of = format!("the {} of {allocated_by}'s {allocation}", bytes(*size));
    match freed {
        Some(freed) if freed.rank == allocated.rank => format!("{of}, which it freed by {}", position(job, freed)),
        Some(freed) => format!("{of}, which {} freed by {}", who(freed.rank), position(job, freed)),
        None => of,
    }
}

/// Describes the heap block that an access to `address` probably intended, if the address is in the checked heap.
pub fn describe(job: &Job, address: usize) -> Option<String> {
    let arena = arena();
    let arena = arena.as_ref().filter(|arena| arena.contains(address))?;
    let block = arena.nearest(address)?;
    let of = describe_block(job, &block);
    let byte = address.wrapping_sub(block.address);
    Some(if address < block.address {
        format!("{} before {of}", bytes(block.address - address))
    } else if byte < block.size {
        format!("byte {byte} of {of}")
    } else {
        format!("{} past {of}", bytes(byte - block.size + 1))
    })
}

/// Creates the mistake for a write outside the bounds of a heap block.
fn mistake(job: &Job, damage: &HeapDamage, otherwise: Rank) -> Mistake {
    let HeapDamage { block, first, last } = damage;
    let (call, place) = Mistake::call_and_place(&position(job, &block.allocated));
    let range = if first == last { format!("byte {first}") } else { format!("bytes {first} to {last}") };
    let text = format!("{range} of a block of {}", bytes(block.size));
    let rank = block.allocated.rank.unwrap_or(otherwise);
    Mistake { rank, kind: MistakeKind::HeapDamage, call, place, text }
}

/// Stores a mistake for damage that is found when the rank `p` frees a heap block.
fn report(p: &Process, damage: &HeapDamage) {
    p.job.add_mistake(mistake(&p.job, damage, p.rank));
}

/// Ends the rank `p`, because the rank passed an `address` that is not the start of a heap block to a memory
/// function.
fn refuse(p: &Process, call: &HeapCall, address: usize, reason: &InvalidFree) -> ! {
    let what = match reason {
        InvalidFree::Inside(block) => {
            let byte = address.wrapping_sub(block.address) as isize;
            format!("byte {byte} of {}: expected the first byte", describe_block(&p.job, block))
        }
        InvalidFree::Freed(block) => describe_block(&p.job, block),
        InvalidFree::Unknown => format!("{address:#x}: expected the address of a block"),
    };
    p.fail_at(position(&p.job, call), FailureKind::Error, what)
}

/// Returns the number of bytes and the number of heap blocks that `rank` has allocated and not freed.
fn used_by(rank: Rank) -> (usize, usize) {
    arena().as_ref().map_or((0, 0), |arena| arena.used_by(rank))
}
