//! Guarded heap blocks in one range of addresses. Each heap block ends at a guard page. An access to a guard page
//! raises a signal.
//!
//! The pages of a freed heap block become guard pages. The addresses of freed heap blocks are reused as late as
//! possible.
#![allow(unsafe_code)]

use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_void;
use std::ptr;

use mcpsim_core::rank::Rank;

/// Page size in bytes.
pub const PAGE: usize = 4096;
/// Default alignment of heap blocks in bytes.
pub const ALIGNMENT: usize = 16;
/// Initial size in bytes of the address range for all heap blocks. The size of the range is halved until the host
/// process can reserve the range.
const LARGEST_RANGE: usize = 1 << 40;
const SMALLEST_RANGE: usize = 1 << 26;
/// Maximum number of heap blocks, including freed blocks.
const MOST_BLOCKS: usize = 1 << 20;
/// Number of bytes before each heap block that are checked for writes.
const BEFORE: usize = 64;
/// Initial value of the checked bytes outside heap blocks.
const FILL: u8 = 0xa5;

/// A call of a rank that allocated or freed a heap block.
#[derive(Clone, Copy, Debug)]
pub struct HeapCall {
    /// Calling rank, or `None` if the calling thread runs no rank.
    pub rank: Option<Rank>,
    /// Name of the called memory function.
    pub function: &'static str,
    /// Code positions of the call and of its callers: module identifier and address in the module's file.
    pub codes: [Option<(u32, u32)>; 3],
}

/// A heap block, which is in use or was freed.
#[derive(Clone, Copy, Debug)]
pub struct HeapBlock {
    /// Start address of the heap block's first page.
    start: usize,
    /// End address of the heap block's last page, where the guard page starts.
    end: usize,
    /// Address of the heap block that the program received.
    pub address: usize,
    pub size: usize,
    pub allocated: HeapCall,
    pub freed: Option<HeapCall>,
    /// Index of the run that allocated the heap block.
    run: u32,
}

impl HeapBlock {
    /// Returns the first and the last modified byte outside the bounds of the heap block, as offsets in bytes from
    /// the start of the block.
    fn damage(&self) -> Option<(isize, isize)> {
        let before = self.start.max(self.address.saturating_sub(BEFORE))..self.address;
        let changed = |address: &usize| {
            // SAFETY: the address is in a page of the heap block. The block is in use, so the pages of the block are
            // readable.
            unsafe { (*address as *const u8).read_volatile() != FILL }
        };
        let mut all = before.chain(self.address + self.size..self.end).filter(changed);
        let first = all.next()?;
        let distance = |address: usize| address.wrapping_sub(self.address) as isize;
        Some((distance(first), distance(all.next_back().unwrap_or(first))))
    }

    fn fill(&self) {
        let before = self.start.max(self.address.saturating_sub(BEFORE));
        let behind = self.address + self.size;
        // SAFETY: both byte ranges are in pages of the new heap block. No other code uses the new block yet.
        unsafe {
            ptr::write_bytes(before as *mut u8, FILL, self.address - before);
            ptr::write_bytes(behind as *mut u8, FILL, self.end - behind);
        }
    }
}

/// A heap block with modified bytes outside the block's bounds. `first` and `last` are offsets in bytes from the
/// start of the block.
#[derive(Clone, Copy, Debug)]
pub struct HeapDamage {
    pub block: HeapBlock,
    pub first: isize,
    pub last: isize,
}

/// Reason why an address cannot be passed to `free`.
#[derive(Clone, Debug)]
pub enum InvalidFree {
    /// The address is within the heap block in the field, but is not the start of the block.
    Inside(Box<HeapBlock>),
    /// The heap block in the field was already freed.
    Freed(Box<HeapBlock>),
    /// No heap block contains the address.
    Unknown,
}

/// All guarded heap blocks of the host process.
pub struct Arena {
    base: usize,
    end: usize,
    /// First address that has never been part of a heap block.
    next: usize,
    /// True if the operating system supports guard pages without a separate mapping.
    has_guards: bool,
    /// Maximum number of heap blocks in use. The field `used` is the current number of blocks in use.
    most: usize,
    used: usize,
    /// Heap blocks in the order of their addresses, including freed blocks.
    blocks: Vec<HeapBlock>,
    /// Indices of freed heap blocks by number of pages. The block that was freed first is first in the queue.
    freed: BTreeMap<usize, VecDeque<usize>>,
    run: u32,
    /// Number of allocations for which the arena had no room.
    pub refused: u64,
}

impl Arena {
    /// Creates an arena without heap blocks. Returns `None` if the host process cannot reserve the address range.
    pub fn new() -> Option<Arena> {
        let mut size = LARGEST_RANGE;
        while size >= SMALLEST_RANGE {
            for protection in [libc::PROT_READ | libc::PROT_WRITE, libc::PROT_NONE] {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
                // SAFETY: the system chooses the addresses of the new mapping.
                let base = unsafe { libc::mmap(ptr::null_mut(), size, protection, flags, -1, 0) };
                if base == libc::MAP_FAILED {
                    continue;
                }
                let has_guards = protection != libc::PROT_NONE;
                // SAFETY: the page is part of the new mapping, to which nothing refers yet.
                if has_guards && unsafe { libc::madvise(base, PAGE, GUARD_INSTALL) } != 0 {
                    // SAFETY: nothing refers to the new mapping yet.
                    unsafe { libc::munmap(base, size) };
                    continue;
                }
                return Some(Arena::at(base as usize, size, has_guards));
            }
            size /= 2;
        }
        None
    }

    fn at(base: usize, size: usize, has_guards: bool) -> Arena {
        let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok();
        let mappings: usize = limit.and_then(|text| text.trim().parse().ok()).unwrap_or(65_530);
        Arena {
            base,
            end: base + size,
            next: base + PAGE,
            has_guards,
            most: if has_guards { MOST_BLOCKS } else { mappings / 4 },
            used: 0,
            blocks: Vec::new(),
            freed: BTreeMap::new(),
            run: 0,
            refused: 0,
        }
    }

    /// Prepares the arena for a new run. Damage of heap blocks that earlier runs allocated is no longer reported.
    pub fn begin(&mut self) {
        self.run += 1;
        self.refused = 0;
    }

    /// Returns true if `address` is in the address range of the arena.
    pub fn contains(&self, address: usize) -> bool {
        (self.base..self.end).contains(&address)
    }

    /// Allocates a heap block that is filled with zeros. Returns `None` if the arena has no room for the block.
    pub fn allocate(&mut self, size: usize, alignment: usize, call: HeapCall) -> Option<usize> {
        let place = self.place(size, alignment);
        let Some((index, start, end)) = place.filter(|&(_, start, end)| self.open(start, end)) else {
            self.refused += 1;
            return None;
        };
        let address = end - rounded(size, alignment);
        let block = HeapBlock { start, end, address, size, allocated: call, freed: None, run: self.run };
        block.fill();
        match self.blocks.get_mut(index) {
            Some(old) => *old = block,
            None => self.blocks.push(block),
        }
        self.used += 1;
        Some(address)
    }

    /// Finds addresses for a new heap block and returns the block's index and the start and end address of the
    /// block's pages. Unused addresses are preferred to the addresses of a freed block.
    fn place(&mut self, size: usize, alignment: usize) -> Option<(usize, usize, usize)> {
        let room = rounded(size, alignment).checked_next_multiple_of(PAGE).filter(|_| self.used < self.most)?;
        let end = self.next.checked_add(room)?.checked_next_multiple_of(alignment.max(PAGE))?;
        if self.blocks.len() < MOST_BLOCKS && end + PAGE <= self.end {
            let start = end - room;
            // The page after the heap block becomes the guard page.
            self.close(end, end + PAGE).then_some(())?;
            self.next = end + PAGE;
            return Some((self.blocks.len(), start, end));
        }
        let mut fitting = self.freed.range_mut(room / PAGE..).filter(|(_, blocks)| !blocks.is_empty());
        let index = fitting.next().filter(|_| alignment <= PAGE)?.1.pop_front()?;
        Some((index, self.blocks[index].start, self.blocks[index].end))
    }

    /// Makes the pages from `start` to `end` accessible.
    fn open(&self, start: usize, end: usize) -> bool {
        let (memory, size) = (start as *mut c_void, end - start);
        // SAFETY: the pages belong to an unused heap block of the arena.
        unsafe {
            match self.has_guards {
                true => libc::madvise(memory, size, GUARD_REMOVE) == 0,
                false => libc::mprotect(memory, size, libc::PROT_READ | libc::PROT_WRITE) == 0,
            }
        }
    }

    /// Turns the pages from `start` to `end` into guard pages and frees the memory of the pages.
    fn close(&self, start: usize, end: usize) -> bool {
        let (memory, size) = (start as *mut c_void, end - start);
        // SAFETY: the pages belong to an unused heap block of the arena.
        unsafe {
            match self.has_guards {
                true => libc::madvise(memory, size, GUARD_INSTALL) == 0,
                false => {
                    libc::madvise(memory, size, libc::MADV_DONTNEED) == 0
                        && libc::mprotect(memory, size, libc::PROT_NONE) == 0
                }
            }
        }
    }

    /// Returns the index of the last heap block that starts at or before `address`.
    fn before(&self, address: usize) -> Option<usize> {
        self.blocks.partition_point(|block| block.start <= address).checked_sub(1)
    }

    /// Returns the heap block that starts at `address` and is in use.
    pub fn live(&self, address: usize) -> Result<HeapBlock, InvalidFree> {
        let index = self.before(address).filter(|&index| address < self.blocks[index].end + PAGE);
        let block = index.map(|index| self.blocks[index]).ok_or(InvalidFree::Unknown)?;
        match block.freed {
            Some(_) => Err(InvalidFree::Freed(Box::new(block))),
            None if block.address != address => Err(InvalidFree::Inside(Box::new(block))),
            None => Ok(block),
        }
    }

    /// Frees the heap block that starts at `address`, and returns the damage next to the block.
    pub fn free(&mut self, address: usize, call: HeapCall) -> Result<Option<HeapDamage>, InvalidFree> {
        let block = self.live(address)?;
        let damage = block.damage().map(|(first, last)| HeapDamage { block, first, last });
        let index = self.before(address).expect("it is there");
        self.blocks[index].freed = Some(call);
        self.used -= 1;
        self.close(block.start, block.end);
        self.freed.entry((block.end - block.start) / PAGE).or_default().push_back(index);
        Ok(damage)
    }

    /// Returns the damage of all heap blocks that the current run allocated and that are in use.
    pub fn damaged(&self) -> Vec<HeapDamage> {
        let live = self.blocks.iter().filter(|block| block.freed.is_none() && block.run == self.run);
        live.filter_map(|&block| block.damage().map(|(first, last)| HeapDamage { block, first, last })).collect()
    }

    /// Returns the heap block nearest to `address`. A faulting access to `address` probably intended the nearest
    /// block.
    pub fn nearest(&self, address: usize) -> Option<HeapBlock> {
        let before = self.before(address);
        let after = before.map_or(0, |index| index + 1);
        let distance = |block: &HeapBlock| match address < block.address {
            true => block.address - address,
            false => (address + 1).saturating_sub(block.address + block.size),
        };
        let both = [before.and_then(|index| self.blocks.get(index)), self.blocks.get(after)];
        both.into_iter().flatten().min_by_key(|block| distance(block)).copied()
    }

    /// Returns the total size in bytes and the number of heap blocks that `rank` has allocated and not freed in the
    /// current run.
    pub fn used_by(&self, rank: Rank) -> (usize, usize) {
        let own = |block: &&HeapBlock| block.freed.is_none() && block.allocated.rank == Some(rank);
        self.blocks.iter().filter(own).fold((0, 0), |(bytes, count), block| (bytes + block.size, count + 1))
    }
}

/// Returns the distance in bytes from the start of a heap block to the block's guard page.
fn rounded(size: usize, alignment: usize) -> usize {
    size.max(1).checked_next_multiple_of(alignment.max(ALIGNMENT)).unwrap_or(usize::MAX / 2)
}

/// `madvise` values that install and remove guard pages (Linux 6.13). Installing guard pages frees the memory of the
/// pages.
const GUARD_INSTALL: i32 = 102;
const GUARD_REMOVE: i32 = 103;

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: HeapCall = HeapCall { rank: Some(3), function: "malloc", codes: [None; 3] };

    fn arenas() -> impl Iterator<Item = Arena> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: the system chooses the addresses of the new mapping.
        let base = unsafe { libc::mmap(ptr::null_mut(), 64 * PAGE, libc::PROT_NONE, flags, -1, 0) } as usize;
        [Arena::new().unwrap(), Arena::at(base, 64 * PAGE, false)].into_iter()
    }

    #[test]
    fn a_block_ends_at_a_trap_and_bytes_beside_it_are_compared() {
        for mut arena in arenas() {
            let address = arena.allocate(100, ALIGNMENT, CALL).unwrap();
            assert_eq!((address + 112) % PAGE, 0);
            let block = address as *mut u8;
            // SAFETY: all accesses are within the pages of the block.
            unsafe {
                block.write_bytes(1, 100);
                assert!(arena.damaged().is_empty());
                block.add(101).write(1);
                block.sub(8).write(1);
            }
            let damage = arena.free(address, CALL).unwrap().unwrap();
            assert_eq!((damage.first, damage.last, damage.block.size), (-8, 101, 100));
            assert!(matches!(arena.free(address, CALL), Err(InvalidFree::Freed(_))));
        }
    }

    #[test]
    fn addresses_are_used_again_only_when_none_are_left() {
        for mut arena in arenas().skip(1) {
            let first = arena.allocate(PAGE, ALIGNMENT, CALL).unwrap();
            arena.free(first, CALL).unwrap();
            let mut blocks = Vec::new();
            while let Some(block) = arena.allocate(PAGE, ALIGNMENT, CALL) {
                blocks.push(block);
            }
            assert_eq!(blocks.len(), 31);
            assert_eq!(blocks.last(), Some(&first));
            assert_eq!((arena.refused, arena.used_by(3)), (1, (31 * PAGE, 31)));
        }
    }

    #[test]
    fn alignments_are_kept_and_the_nearest_block_is_found() {
        for mut arena in arenas() {
            for alignment in [16, 64, 4096, 16_384] {
                assert_eq!(arena.allocate(10, alignment, CALL).unwrap() % alignment, 0);
            }
            let [a, b] = [40, 50].map(|size| arena.allocate(size, ALIGNMENT, CALL).unwrap());
            assert_eq!(arena.nearest(a + 48).unwrap().address, a);
            assert_eq!(arena.nearest(b - b % PAGE - 1).unwrap().address, b);
            assert!(matches!(arena.live(a + 1), Err(InvalidFree::Inside(_))));
            assert!(matches!(arena.live(arena.base), Err(InvalidFree::Unknown)));
        }
    }
}
