//! Stacks of fibers: memory of several stacks in one mapping, each stack above a guard.
//!
//! ```text
//!  one mapping:  | guard | stack | guard | stack | … | guard | stack |
//! ```
//!
//! Linux has guards that need no mapping of their own from version 6.13 on. On older versions each stack has a mapping
//! for itself and another one for its guard.
#![allow(unsafe_code)]

use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use corosensei::stack::{Stack, StackPointer};

/// Size in bytes of the guard below a stack. A function with a larger frame could skip the guard and write to the stack
/// of another rank, so the guard is as large as the gap that Linux keeps below the stack of a process. The guard uses
/// address space but no memory.
pub const GUARD: usize = 1 << 20;

const PAGE: usize = 4096;

/// Advice of `madvise` that makes accesses to a range of memory fail (Linux 6.13).
const GUARD_INSTALL: i32 = 102;

/// Greatest number of stacks in a mapping.
const MOST: usize = 64;

/// Difference in bytes between the offsets of successive stacks within a range of [`PAGE`] bytes.
const STAGGER: usize = 5 * 64;

/// Number of stacks created so far, which spreads the tops of stacks.
static STACKS: AtomicUsize = AtomicUsize::new(0);

/// Mappings with memory for further stacks, one for each size of stacks.
static ROOM: Mutex<Vec<Room>> = Mutex::new(Vec::new());

/// Mapping with memory for further stacks.
struct Room {
    mapping: Arc<StackMapping>,
    /// Size in bytes of a stack with its guard.
    size: usize,
    /// Number of stacks of the mapping that are or were in use.
    used: usize,
}

/// Memory of one or several stacks. The last stack that is dropped frees the memory.
struct StackMapping {
    start: usize,
    bytes: usize,
}

/// Memory of a fiber's stack, whose lowest [`GUARD`] bytes trap on access.
pub(super) struct FiberStack {
    mapping: Arc<StackMapping>,
    bottom: NonZeroUsize,
    size: usize,
    /// Number of unused bytes at the top of the stack. If the frames of all stacks had the same offset in a page, these
    /// frames would compete for the same few cache lines of the host.
    free: usize,
}

impl StackMapping {
    fn new(bytes: usize, protection: i32) -> io::Result<StackMapping> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        // SAFETY: the call creates a new mapping at an address that the system chooses.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the range is the new mapping. Huge pages are disabled because with them the stack of each rank would
        // use megabytes.
        unsafe { libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE) };
        Ok(StackMapping { start: start as usize, bytes })
    }
}

impl Drop for StackMapping {
    fn drop(&mut self) {
        // SAFETY: no stack uses the mapping any more.
        unsafe { libc::munmap(self.start as *mut _, self.bytes) };
    }
}

impl FiberStack {
    /// Creates a stack of at least `size` bytes.
    pub fn new(size: usize) -> io::Result<Self> {
        let size = size.max(4 * PAGE).next_multiple_of(PAGE) + GUARD;
        let (mapping, bottom) = match has_guards_without_mappings() {
            true => FiberStack::shared(size)?,
            false => FiberStack::single(size)?,
        };
        let free = STACKS.fetch_add(1, Ordering::Relaxed).wrapping_mul(STAGGER) % PAGE / 64 * 64;
        Ok(FiberStack { mapping, bottom: NonZeroUsize::new(bottom).expect("a mapping has an address"), size, free })
    }

    /// Takes memory for a stack from the mapping of stacks of this size. Each further mapping has twice as many stacks
    /// as the last one.
    fn shared(size: usize) -> io::Result<(Arc<StackMapping>, usize)> {
        let mut rooms = ROOM.lock().unwrap_or_else(PoisonError::into_inner);
        let at = rooms.iter().position(|room| room.size == size);
        let last = at.map(|at| rooms[at].mapping.bytes / size);
        if at.is_none_or(|at| rooms[at].used == rooms[at].mapping.bytes / size) {
            let readable = libc::PROT_READ | libc::PROT_WRITE;
            let stacks = last.map_or(1, |last| (2 * last).min(MOST));
            let mapping = StackMapping::new(stacks * size, readable).or_else(|_| StackMapping::new(size, readable))?;
            at.into_iter().for_each(|at| _ = rooms.swap_remove(at));
            rooms.push(Room { mapping: Arc::new(mapping), size, used: 0 });
        }
        let at = rooms.iter().position(|room| room.size == size).expect("added above");
        let (mapping, bottom) = (rooms[at].mapping.clone(), rooms[at].mapping.start + rooms[at].used * size);
        // SAFETY: the range is a part of the mapping that no other stack uses.
        if unsafe { libc::madvise(bottom as *mut _, GUARD, GUARD_INSTALL) } != 0 {
            return Err(io::Error::last_os_error());
        }
        rooms[at].used += 1;
        Ok((mapping, bottom))
    }

    /// Creates a mapping for one stack, and a second one for its guard.
    fn single(size: usize) -> io::Result<(Arc<StackMapping>, usize)> {
        let mapping = StackMapping::new(size, libc::PROT_NONE)?;
        let (bottom, readable) = (mapping.start, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: the range is within the new mapping.
        if unsafe { libc::mprotect((bottom + GUARD) as *mut _, size - GUARD, readable) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((Arc::new(mapping), bottom))
    }

    /// Addresses of the stack, without the guard.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.bottom.get() + GUARD..self.bottom.get() + self.size
    }
}

/// Returns the number of memory mappings that a further stack needs, if ranks have many stacks.
pub fn mappings_per_stack() -> usize {
    if has_guards_without_mappings() { 0 } else { 2 }
}

/// Returns whether the system has guards without mappings.
fn has_guards_without_mappings() -> bool {
    static KNOWN: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *KNOWN.get_or_init(|| {
        let Ok(mapping) = StackMapping::new(PAGE, libc::PROT_READ | libc::PROT_WRITE) else { return false };
        // SAFETY: the range is the new mapping, which nothing uses.
        unsafe { libc::madvise(mapping.start as *mut _, PAGE, GUARD_INSTALL) == 0 }
    })
}

impl Drop for FiberStack {
    fn drop(&mut self) {
        // The mapping exists until its other stacks are dropped and no further stack is taken from it.
        if Arc::strong_count(&self.mapping) > 1 {
            let range = self.range();
            // SAFETY: the range belongs to this stack, and the fiber no longer runs.
            unsafe { libc::madvise(range.start as *mut _, range.len(), libc::MADV_DONTNEED) };
        }
    }
}

// SAFETY: the memory is page-aligned, with a guard at its bottom and at least four pages above the guard.
unsafe impl Stack for FiberStack {
    fn base(&self) -> StackPointer {
        self.bottom.checked_add(self.size - self.free).expect("a mapping does not wrap")
    }

    fn limit(&self) -> StackPointer {
        self.bottom
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether the system can read the byte at an address.
    fn is_readable(address: usize) -> bool {
        let mut ends = [0; 2];
        // SAFETY: the system checks the address, and the descriptors are those of the new pipe.
        unsafe {
            assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
            let written = libc::write(ends[1], address as *const _, 1);
            ends.into_iter().for_each(|end| _ = libc::close(end));
            written == 1
        }
    }

    #[test]
    fn each_stack_has_its_own_memory_above_a_guard() {
        let size = 5 * PAGE;
        for create in [FiberStack::shared, FiberStack::single] {
            if !has_guards_without_mappings() && std::ptr::fn_addr_eq(create, FiberStack::shared as fn(_) -> _) {
                continue;
            }
            let stacks: Vec<_> = (0..10).map(|_| create(size + GUARD).unwrap()).collect();
            for (_, bottom) in &stacks {
                let (bottom, top) = (*bottom, bottom + GUARD + size);
                assert!([bottom, bottom + GUARD - 1].iter().all(|address| !is_readable(*address)));
                assert!([bottom + GUARD, top - 1].iter().all(|address| is_readable(*address)));
                assert!(stacks.iter().all(|(_, other)| *other == bottom || !(bottom..top).contains(other)));
            }
        }
    }

    #[test]
    fn many_stacks_need_few_mappings() {
        if has_guards_without_mappings() {
            let stacks: Vec<_> = (0..200).map(|_| FiberStack::shared(GUARD + 6 * PAGE).unwrap()).collect();
            let mut starts: Vec<_> = stacks.iter().map(|(mapping, _)| mapping.start).collect();
            starts.dedup();
            // Mappings of 1, 2, 4, 8, 16, 32, 64 stacks, and two more.
            assert_eq!(starts.len(), 9);
        }
    }
}
