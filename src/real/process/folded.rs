//! Folded memory of ranks (`--share-memory`, `mcpsim_shared_malloc`). All folded blocks of a host process use the same
//! physical pages, so programs whose data exceed the host's memory can run. The contents of folded blocks are
//! meaningless.
//!
//! A file in memory of [`UNIT`] bytes is mapped once or repeatedly at the addresses of each block. Blocks have different
//! addresses. Addresses of freed blocks remain mapped and are used again for blocks of the same size class.
#![allow(unsafe_code)]

mod functions;

use std::collections::HashMap;
use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::current;
use mcpsim_core::engine::FoldedUse;
use mcpsim_core::rank::{FailureKind, Rank};
use mcpsim_core::units::Bytes;

pub use functions::{FUNCTIONS, find, malloc, release};

/// Size in bytes of the memory that all folded blocks share. Larger blocks contain it repeatedly.
const UNIT: usize = 64 << 20;
/// Page size in bytes.
const PAGE: usize = 4096;
/// Alignment of blocks of at least this size, so that the system may use large pages.
const LARGE_PAGE: usize = 2 << 20;
/// Initial size in bytes of the address range for all blocks. The size is halved until the host process can reserve the
/// range.
const LARGEST_RANGE: usize = 1 << 45;
const SMALLEST_RANGE: usize = 1 << 28;

/// Folded blocks of all ranks in the host process. The value is `None` before the first allocation.
static FOLDED: Mutex<Option<FoldedMemory>> = Mutex::new(None);
/// Start and end of the address range for folded blocks; both are 0 before the first allocation.
static START: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);
/// Least size in bytes of folded blocks of the C library's memory functions.
static LEAST: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Memory of a run that is folded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShareMemory {
    /// Blocks of `mcpsim_shared_malloc`.
    #[default]
    Marked,
    /// No memory. `mcpsim_shared_malloc` allocates private memory.
    None,
    /// Blocks of `mcpsim_shared_malloc`, and blocks of other functions of at least the size in the field.
    From(Bytes),
}

impl ShareMemory {
    /// Returns the least size in bytes of folded blocks of the C library's memory functions.
    pub fn least(self) -> usize {
        match self {
            ShareMemory::From(least) => least.get() as usize,
            ShareMemory::Marked | ShareMemory::None => usize::MAX,
        }
    }
}

/// A folded block that is in use.
#[derive(Clone, Copy, Debug)]
struct FoldedBlock {
    /// Size in bytes that the program requested.
    size: usize,
    /// Number of mapped bytes.
    mapped: usize,
    /// Rank that allocated the block, or `None` for a thread that runs no rank.
    rank: Option<Rank>,
}

/// Folded memory of one rank.
#[derive(Clone, Copy, Debug, Default)]
struct RankUse {
    bytes: u64,
    most: u64,
}

/// All folded blocks of the host process.
struct FoldedMemory {
    file: File,
    start: usize,
    end: usize,
    /// First address that has never been part of a block.
    next: usize,
    blocks: HashMap<usize, FoldedBlock>,
    /// Addresses of freed blocks by the number of mapped bytes.
    freed: HashMap<usize, Vec<usize>>,
    used: HashMap<Option<Rank>, RankUse>,
    count: u64,
    /// Mapped bytes of the largest block of the run, at most [`UNIT`].
    host: usize,
}

fn folded() -> MutexGuard<'static, Option<FoldedMemory>> {
    FOLDED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prepares folded memory for a new run. Blocks of earlier runs are unmapped.
pub fn begin(share: ShareMemory) {
    LEAST.store(share.least(), Ordering::Relaxed);
    if let Some(memory) = folded().as_mut() {
        memory.clear();
    }
}

/// Returns the folded memory that the run used, if the run used any.
pub fn end() -> Option<FoldedUse> {
    let memory = folded();
    let memory = memory.as_ref().filter(|memory| memory.count > 0)?;
    let bytes = memory.used.values().map(|rank| rank.most).sum();
    Some(FoldedUse { bytes, blocks: memory.count, host_bytes: memory.host as u64 })
}

/// Returns true if the host process has folded memory.
#[inline(always)]
pub fn is_used() -> bool {
    END.load(Ordering::Relaxed) != 0
}

/// Returns true if `address` belongs to the address range of folded blocks.
#[inline(always)]
pub fn contains(address: usize) -> bool {
    address < END.load(Ordering::Relaxed) && address >= START.load(Ordering::Relaxed)
}

/// Allocates a folded block of `size` bytes. Ends the rank if the block cannot be mapped.
fn allocate(function: &'static str, size: usize, alignment: usize) -> *mut c_void {
    let process = current();
    let rank = process.map(|p| p.rank);
    let mut memory = folded();
    let created = match memory.as_mut() {
        Some(_) => Ok(()),
        None => FoldedMemory::new().map(|new| *memory = Some(new)),
    };
    let block = created.and_then(|()| match memory.as_mut() {
        Some(memory) => memory.allocate(size, alignment, rank),
        None => Err(io::ErrorKind::OutOfMemory.into()),
    });
    drop(memory);
    match (block, process) {
        (Ok(address), _) => address as *mut c_void,
        (Err(error), Some(p)) => {
            let what = format!(
                "no addresses for {} of folded memory: {error}; the system limits addresses (ulimit -v) and mappings \
                 (sysctl vm.max_map_count): expected a larger SIZE of --share-memory, or fewer ranks",
                Bytes::new(size as u64)
            );
            p.fail_at(function.to_owned(), FailureKind::NoRoom, what)
        }
        (Err(_), None) => ptr::null_mut(),
    }
}

/// Frees the folded block at `address`. Ends the rank if no block starts there.
fn free(function: &'static str, address: usize) {
    let is_block = folded().as_mut().is_some_and(|memory| memory.free(address));
    match current() {
        Some(p) if !is_block => {
            let what =
                format!("{address:#x} is no block of folded memory that is in use: expected the start of a block");
            p.fail_at(function.to_owned(), FailureKind::Error, what)
        }
        _ => {}
    }
}

/// Returns the size in bytes of the folded block at `address`.
fn size_of_block(address: usize) -> Option<usize> {
    folded().as_ref()?.blocks.get(&address).map(|block| block.size)
}

/// Returns the number of bytes that a block of `size` bytes maps: a power of two, or a multiple of [`UNIT`].
fn mapped_size(size: usize) -> Option<usize> {
    match size <= UNIT {
        true => Some(size.next_power_of_two().max(PAGE)),
        false => size.checked_next_multiple_of(UNIT),
    }
}

impl FoldedMemory {
    fn new() -> io::Result<FoldedMemory> {
        // SAFETY: the name ends with a zero byte, and the new descriptor belongs to the file alone.
        let file = unsafe {
            match libc::memfd_create(c"mcpsim-folded".as_ptr(), libc::MFD_CLOEXEC) {
                -1 => return Err(io::Error::last_os_error()),
                descriptor => File::from_raw_fd(descriptor),
            }
        };
        file.set_len(UNIT as u64)?;
        let mut size = LARGEST_RANGE;
        loop {
            match map(ptr::null_mut(), size, libc::PROT_NONE, RESERVED, -1) {
                Err(error) if size <= SMALLEST_RANGE => return Err(error),
                Err(_) => size /= 2,
                Ok(start) => {
                    let end = start + size;
                    START.store(start, Ordering::Relaxed);
                    END.store(end, Ordering::Relaxed);
                    return Ok(FoldedMemory {
                        file,
                        start,
                        end,
                        next: start,
                        blocks: HashMap::new(),
                        freed: HashMap::new(),
                        used: HashMap::new(),
                        count: 0,
                        host: 0,
                    });
                }
            }
        }
    }

    fn clear(&mut self) {
        // If the old mappings cannot be replaced, they remain, and their addresses are not used again.
        let size = self.next - self.start;
        let fixed = RESERVED | libc::MAP_FIXED;
        if size > 0 && map(self.start as *mut c_void, size, libc::PROT_NONE, fixed, -1).is_ok() {
            self.next = self.start;
        }
        self.blocks.clear();
        self.freed.clear();
        self.used.clear();
        (self.count, self.host) = (0, 0);
    }

    fn allocate(&mut self, size: usize, alignment: usize, rank: Option<Rank>) -> io::Result<usize> {
        let full = || io::Error::from(io::ErrorKind::OutOfMemory);
        let mapped = mapped_size(size).ok_or_else(full)?;
        let is_aligned = |address: &usize| address.is_multiple_of(alignment);
        let known = self.freed.entry(mapped).or_default();
        let address = match known.iter().rposition(is_aligned) {
            Some(index) => known.swap_remove(index),
            None => self.map_new(mapped, alignment)?,
        };
        self.blocks.insert(address, FoldedBlock { size, mapped, rank });
        let used = self.used.entry(rank).or_default();
        used.bytes += size as u64;
        used.most = used.most.max(used.bytes);
        self.count += 1;
        self.host = self.host.max(mapped.min(UNIT));
        Ok(address)
    }

    /// Maps the shared memory at new addresses.
    fn map_new(&mut self, mapped: usize, alignment: usize) -> io::Result<usize> {
        let full = || io::Error::from(io::ErrorKind::OutOfMemory);
        let alignment = alignment.max(if mapped < LARGE_PAGE { PAGE } else { LARGE_PAGE });
        let start = self.next.checked_next_multiple_of(alignment).ok_or_else(full)?;
        let end = start.checked_add(mapped).filter(|end| *end <= self.end).ok_or_else(full)?;
        // The addresses are not used again if a mapping fails.
        self.next = end;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        for at in (start..end).step_by(UNIT) {
            let flags = libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_NORESERVE;
            map(at as *mut c_void, UNIT.min(end - at), protection, flags, self.file.as_raw_fd())?;
        }
        // SAFETY: the pages were just mapped. The advice has no effect on systems without large pages of files.
        unsafe { libc::madvise(start as *mut c_void, mapped, libc::MADV_HUGEPAGE) };
        Ok(start)
    }

    /// Frees the block at `address`. Returns false if no block starts there.
    fn free(&mut self, address: usize) -> bool {
        let Some(block) = self.blocks.remove(&address) else { return false };
        self.change(block.rank, block.size, 0);
        self.freed.entry(block.mapped).or_default().push(address);
        true
    }

    /// Changes the size of the block at `address`. Returns false if the block has no room for the new size.
    fn resize(&mut self, address: usize, size: usize) -> bool {
        let Some(block) = self.blocks.get_mut(&address).filter(|block| size <= block.mapped) else { return false };
        let (rank, before) = (block.rank, std::mem::replace(&mut block.size, size));
        self.change(rank, before, size);
        true
    }

    fn change(&mut self, rank: Option<Rank>, before: usize, after: usize) {
        let used = self.used.entry(rank).or_default();
        used.bytes = used.bytes - before as u64 + after as u64;
        used.most = used.most.max(used.bytes);
    }
}

/// Flags of reserved addresses without memory.
const RESERVED: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

fn map(at: *mut c_void, size: usize, protection: i32, flags: i32, file: i32) -> io::Result<usize> {
    // SAFETY: without MAP_FIXED the system chooses the addresses. With MAP_FIXED the callers pass addresses in the range
    // of folded memory that no block uses.
    let memory = unsafe { libc::mmap(at, size, protection, flags, file, 0) };
    if memory == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(memory as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_their_own_addresses_and_common_pages() {
        let mut memory = FoldedMemory::new().unwrap();
        let one = memory.allocate(1 << 20, 16, Some(0)).unwrap();
        let two = memory.allocate(3 * UNIT - 5, 1 << 26, Some(1)).unwrap();
        assert_eq!((two % (1 << 26), memory.blocks[&two].mapped, memory.host), (0, 3 * UNIT, UNIT));
        // SAFETY: the addresses are within blocks that are in use.
        unsafe {
            (one as *mut u8).add(7).write(5);
            assert_eq!(((two + 7) as *const u8).read(), 5);
            assert_eq!(((two + 2 * UNIT + 7) as *const u8).read(), 5);
        }
        assert!(one + (1 << 20) <= two, "{one:#x} {two:#x}");
    }

    #[test]
    fn addresses_of_freed_blocks_are_used_again_and_ranks_are_counted() {
        let mut memory = FoldedMemory::new().unwrap();
        let first = memory.allocate((1 << 20) + 1, 16, Some(0)).unwrap();
        assert!(memory.resize(first, 2 << 20) && !memory.resize(first, (2 << 20) + 1));
        assert!(memory.free(first) && !memory.free(first) && !memory.free(first + PAGE));
        assert_eq!(memory.allocate((1 << 20) + 5, 16, Some(3)).unwrap(), first);
        let used = |rank| memory.used[&Some(rank)];
        assert_eq!([used(0).bytes, used(0).most], [0, 2 << 20]);
        assert_eq!([used(3).bytes, used(3).most], [(1 << 20) + 5; 2]);
        memory.clear();
        assert_eq!((memory.blocks.len(), memory.count, memory.next), (0, 0, memory.start));
    }

    #[test]
    fn a_block_larger_than_all_addresses_is_an_error() {
        let mut memory = FoldedMemory::new().unwrap();
        assert!(memory.allocate(LARGEST_RANGE + 1, 16, None).is_err());
        assert!(memory.allocate(usize::MAX - 1, 16, None).is_err());
    }
}
