//! Stacks of fibers: memory of several stacks in one mapping, each stack above a guard.
//!
//! ```text
//!  one mapping:  | guard | stack | guard | stack | … | guard | stack |
//! ```
//!
//! A guard is either a mapping without access or a range of marked page table entries (Linux 6.13). A mapping is three
//! times as fast to create and to remove, but the number of mappings per process is limited. The first stacks of a
//! process therefore have mappings as guards, and further stacks have marks. On older versions of Linux, all guards are
//! mappings.
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

/// Number of stacks whose guards are mappings although the system has marks. Each of these stacks needs two mappings.
const WITH_MAPPINGS: usize = 2048;

/// Difference in bytes between the offsets of successive stacks within a range of [`PAGE`] bytes.
const STAGGER: usize = 5 * 64;

/// Number of stacks created so far, which spreads the tops of stacks.
static STACKS: AtomicUsize = AtomicUsize::new(0);

/// Number of stacks in existing mappings with [`GuardKind::Mapping`].
static MAPPED: AtomicUsize = AtomicUsize::new(0);

/// Mappings with memory for further stacks, one for each size of stacks.
static ROOM: Mutex<Vec<Room>> = Mutex::new(Vec::new());

/// Mapping with memory for further stacks.
struct Room {
    mapping: Arc<StackMapping>,
    /// Number of stacks of the mapping that are or were in use.
    used: usize,
    /// Lowest addresses of stacks of the mapping that were in use. The guards of these stacks exist.
    free: Vec<usize>,
}

/// Memory of one or several stacks. The last stack that is dropped frees the memory.
struct StackMapping {
    start: usize,
    stacks: usize,
    /// Size in bytes of a stack with its guard.
    size: usize,
    guards: GuardKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GuardKind {
    /// A part of the mapping without access, which the system counts as a mapping.
    Mapping,
    /// Marked page table entries of a readable mapping.
    Marks,
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
    fn new(size: usize, stacks: usize, guards: GuardKind) -> io::Result<StackMapping> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        let protection = match guards {
            GuardKind::Mapping => libc::PROT_NONE,
            GuardKind::Marks => libc::PROT_READ | libc::PROT_WRITE,
        };
        // SAFETY: the call creates a new mapping at an address that the system chooses.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), stacks * size, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the range is the new mapping. Huge pages are disabled because with them the stack of each rank would
        // use megabytes.
        unsafe { libc::madvise(start, stacks * size, libc::MADV_NOHUGEPAGE) };
        if guards == GuardKind::Mapping {
            MAPPED.fetch_add(stacks, Ordering::Relaxed);
        }
        Ok(StackMapping { start: start as usize, stacks, size, guards })
    }

    /// Makes the stack above `bottom` accessible and its guard inaccessible.
    fn protect(&self, bottom: usize) -> io::Result<()> {
        // SAFETY: the ranges are the guard and the stack above `bottom`, a part of the mapping that nothing uses.
        let result = unsafe {
            match self.guards {
                GuardKind::Mapping => {
                    libc::mprotect((bottom + GUARD) as *mut _, self.size - GUARD, libc::PROT_READ | libc::PROT_WRITE)
                }
                GuardKind::Marks => libc::madvise(bottom as *mut _, GUARD, GUARD_INSTALL),
            }
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for StackMapping {
    fn drop(&mut self) {
        if self.guards == GuardKind::Mapping {
            MAPPED.fetch_sub(self.stacks, Ordering::Relaxed);
        }
        // SAFETY: no stack uses the mapping any more.
        unsafe { libc::munmap(self.start as *mut _, self.stacks * self.size) };
    }
}

impl FiberStack {
    /// Creates a stack of at least `size` bytes.
    pub fn new(size: usize) -> io::Result<Self> {
        let size = size.max(4 * PAGE).next_multiple_of(PAGE) + GUARD;
        let guards = match has_marks() && MAPPED.load(Ordering::Relaxed) >= WITH_MAPPINGS {
            true => GuardKind::Marks,
            false => GuardKind::Mapping,
        };
        FiberStack::guarded(size, guards)
    }

    /// Takes memory for a stack from the mapping of stacks of this size. Each further mapping has twice as many stacks
    /// as the last one, and has the guards `guards`.
    fn guarded(size: usize, guards: GuardKind) -> io::Result<FiberStack> {
        let mut rooms = ROOM.lock().unwrap_or_else(PoisonError::into_inner);
        let at = rooms.iter().position(|room| room.mapping.size == size);
        let is_full = |room: &Room| room.free.is_empty() && room.used == room.mapping.stacks;
        let at = match at {
            Some(at) if !is_full(&rooms[at]) => at,
            _ => {
                let stacks = at.map_or(1, |at| (2 * rooms[at].mapping.stacks).min(MOST));
                let mapping =
                    StackMapping::new(size, stacks, guards).or_else(|_| StackMapping::new(size, 1, guards))?;
                at.into_iter().for_each(|at| _ = rooms.swap_remove(at));
                rooms.push(Room { mapping: Arc::new(mapping), used: 0, free: Vec::new() });
                rooms.len() - 1
            }
        };
        let room = &mut rooms[at];
        let bottom = match room.free.pop() {
            Some(bottom) => {
                #[cfg(sanitized)]
                forget_frames(bottom + GUARD, size - GUARD);
                bottom
            }
            None => {
                let bottom = room.mapping.start + room.used * size;
                room.mapping.protect(bottom)?;
                room.used += 1;
                bottom
            }
        };
        let free = STACKS.fetch_add(1, Ordering::Relaxed).wrapping_mul(STAGGER) % PAGE / 64 * 64;
        let bottom = NonZeroUsize::new(bottom).expect("a mapping has an address");
        Ok(FiberStack { mapping: room.mapping.clone(), bottom, size, free })
    }

    /// Addresses of the stack, without the guard.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.bottom.get() + GUARD..self.bottom.get() + self.size
    }
}

/// Removes the marks of AddressSanitizer around variables of frames that a dropped fiber has left on its stack.
#[cfg(sanitized)]
fn forget_frames(start: usize, size: usize) {
    unsafe extern "C" {
        fn __asan_unpoison_memory_region(start: *const libc::c_void, size: usize);
    }
    // SAFETY: the function accesses no memory of the range.
    unsafe { __asan_unpoison_memory_region(start as *const _, size) };
}

/// Returns the number of memory mappings of `stacks` stacks.
pub fn mappings_of_stacks(stacks: usize) -> usize {
    2 * if has_marks() { stacks.min(WITH_MAPPINGS) } else { stacks }
}

/// Returns whether the system has [`GuardKind::Marks`].
fn has_marks() -> bool {
    static KNOWN: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *KNOWN.get_or_init(|| {
        StackMapping::new(2 * GUARD, 1, GuardKind::Marks).is_ok_and(|mapping| mapping.protect(mapping.start).is_ok())
    })
}

impl Drop for FiberStack {
    fn drop(&mut self) {
        let mut rooms = ROOM.lock().unwrap_or_else(PoisonError::into_inner);
        let room = rooms.iter().position(|room| Arc::ptr_eq(&room.mapping, &self.mapping));
        let others = Arc::strong_count(&self.mapping) - 1 - usize::from(room.is_some());
        match room {
            // The last stack of a mapping of several stacks removes the mapping.
            Some(room) if others == 0 && self.mapping.stacks > 1 => _ = rooms.swap_remove(room),
            Some(room) => rooms[room].free.push(self.bottom.get()),
            None if others > 0 => {
                let range = self.range();
                // SAFETY: the range belongs to this stack, and the fiber no longer runs.
                unsafe { libc::madvise(range.start as *mut _, range.len(), libc::MADV_DONTNEED) };
            }
            None => {}
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

    /// Returns the kinds of guards that the system has.
    fn kinds() -> Vec<GuardKind> {
        if has_marks() { vec![GuardKind::Mapping, GuardKind::Marks] } else { vec![GuardKind::Mapping] }
    }

    #[test]
    fn each_stack_has_its_own_memory_above_a_guard() {
        for (kind, size) in kinds().into_iter().zip([5 * PAGE, 7 * PAGE]) {
            let stacks: Vec<_> = (0..10).map(|_| FiberStack::guarded(size + GUARD, kind).unwrap()).collect();
            for stack in &stacks {
                assert_eq!(stack.mapping.guards, kind);
                let (bottom, top) = (stack.bottom.get(), stack.range().end);
                assert!([bottom, bottom + GUARD - 1].iter().all(|address| !is_readable(*address)));
                assert!([bottom + GUARD, top - 1].iter().all(|address| is_readable(*address)));
                let is_apart = |other: usize| other == bottom || !(bottom..top).contains(&other);
                assert!(stacks.iter().all(|other| is_apart(other.bottom.get())));
            }
        }
    }

    #[test]
    fn many_stacks_need_few_mappings() {
        for (kind, size) in kinds().into_iter().zip([9 * PAGE, 11 * PAGE]) {
            let stacks: Vec<_> = (0..200).map(|_| FiberStack::guarded(GUARD + size, kind).unwrap()).collect();
            let mut starts: Vec<_> = stacks.iter().map(|stack| stack.mapping.start).collect();
            starts.dedup();
            // Mappings of 1, 2, 4, 8, 16, 32, 64 stacks, and two more.
            assert_eq!(starts.len(), 9);
        }
    }

    #[test]
    fn a_further_stack_uses_the_memory_of_a_dropped_stack() {
        for (kind, size) in kinds().into_iter().zip([13 * PAGE, 15 * PAGE]) {
            let create = || FiberStack::guarded(GUARD + size, kind).unwrap();
            // Mappings of 1, 2 and 4 stacks, of which the last one has two stacks in use.
            let mut stacks: Vec<_> = (0..5).map(|_| create()).collect();
            let dropped = stacks.pop().unwrap().bottom;
            let again = create();
            assert_eq!(again.bottom, dropped);
            assert!(!is_readable(dropped.get() + GUARD - 1) && is_readable(again.range().start));
        }
    }

    #[test]
    fn the_last_stack_of_a_mapping_removes_the_mapping() {
        for (kind, size) in kinds().into_iter().zip([17 * PAGE, 19 * PAGE]) {
            let mut stacks: Vec<_> = (0..5).map(|_| FiberStack::guarded(GUARD + size, kind).unwrap()).collect();
            let mapping = Arc::downgrade(&stacks[4].mapping);
            stacks.truncate(4);
            assert!(mapping.upgrade().is_some());
            stacks.truncate(3);
            assert!(mapping.upgrade().is_none());
        }
    }
}
