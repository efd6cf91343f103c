//! Memory layout of a program instance: one address range for all modules, with as few mappings as possible.
//!
//! ```text
//!  | main: headers, text, constants | main: data, bss | library: text … | library: data … |
//!    of the file, shared pages        one's own
//! ```
//!
//! Adjacent read-only segments are mapped together as executable if their offsets in file and memory agree. Small data
//! segments are copied to anonymous memory, which also contains the module's bss. Data segments are also copied if most
//! of their pages contain relocated addresses. Other data segments are mapped from the file and use memory only for
//! pages that are written.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

use super::elf::{Elf, PAGE, Segment};
use super::error::{FileFault, malformed};

/// Maximum size in bytes of a module's data that is always copied.
const COPIED: u64 = 16 << 10;
/// Minimum size in bytes of a copied data segment whose pages are populated with one `madvise` call. The `madvise`
/// call costs as much as a few page faults.
const AT_ONCE: usize = 64 << 10;
/// Upper bound of the size of an instance, in bytes. The bound is half of the address space of a process.
const LARGEST: u64 = 1 << 46;

/// Position of a module in an instance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Offset of the module from the start of the instance, in bytes. The offset is a multiple of the page size.
    pub start: usize,
    pub end: usize,
    /// Address in the module's file that corresponds to `start`.
    pub first: u64,
}

impl Place {
    /// Converts the address `address` in the module's file to an offset in an instance. An address outside the module
    /// gives an offset outside the module.
    pub fn offset(&self, address: u64) -> usize {
        (self.start as u64).wrapping_add(address.wrapping_sub(self.first)) as usize
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SegmentSource {
    File { module: usize, offset: u64 },
    Anonymous,
}

#[derive(Debug, Clone, Copy)]
struct Mapping {
    start: usize,
    end: usize,
    protection: i32,
    source: SegmentSource,
}

/// Bytes that are copied into every new instance of a program.
#[derive(Debug)]
pub(super) struct Copy {
    pub at: usize,
    pub bytes: Vec<u8>,
}

/// Memory layout of an instance.
#[derive(Debug, Default)]
pub(super) struct InstanceLayout {
    pub size: usize,
    align: usize,
    pub places: Vec<Place>,
    mappings: Vec<Mapping>,
    pub copies: Vec<Copy>,
    /// Offset and length of byte ranges that must be set to zero. The byte ranges are in pages that are mapped from a
    /// file.
    zeros: Vec<(usize, usize)>,
}

impl InstanceLayout {
    /// Computes the memory layout of an instance in which `modules` follow each other.
    pub fn new(modules: &[Elf]) -> Result<InstanceLayout, FileFault> {
        let mut layout = InstanceLayout { align: PAGE as usize, ..InstanceLayout::default() };
        for (index, module) in modules.iter().enumerate() {
            layout.add(index, module)?;
        }
        layout.merge();
        Ok(layout)
    }

    /// Returns the index of the module that contains `offset` of an instance, and the corresponding address in the
    /// module's file.
    pub fn find(&self, offset: usize) -> Option<(usize, usize)> {
        let module = self.places.iter().position(|place| (place.start..place.end).contains(&offset))?;
        Some((module, offset - self.places[module].start + self.places[module].first as usize))
    }

    fn add(&mut self, index: usize, module: &Elf) -> Result<(), FileFault> {
        let align = module.segments.iter().map(|segment| segment.align).max().unwrap_or(1).max(PAGE);
        let first = module.segments[0].pages().start;
        let last = module.segments[module.segments.len() - 1].pages().end;
        let start = (self.size as u64).next_multiple_of(align) + first % align;
        if start + (last - first) > LARGEST {
            return malformed("the program is larger than a process can be");
        }
        let place = Place { start: start as usize, end: (start + (last - first)) as usize, first };
        let data = module.segments.iter().filter(|segment| segment.writable);
        let filled = data.map(|segment| segment.filled).sum::<u64>();
        let copied = filled <= COPIED || 2 * PAGE * pages_with_addresses(module)? >= filled;
        for segment in &module.segments {
            self.add_segment(index, module, place, segment, copied)?;
        }
        self.align = self.align.max(align as usize);
        self.size = place.end;
        self.places.push(place);
        Ok(())
    }

    fn add_segment(
        &mut self,
        module: usize,
        elf: &Elf,
        place: Place,
        segment: &Segment,
        copied: bool,
    ) -> Result<(), FileFault> {
        let pages = segment.pages();
        let mut part = |start: u64, end: u64, protection, source| {
            let (start, end) = (place.offset(start), place.offset(end));
            if start < end {
                self.mappings.push(Mapping { start, end, protection, source });
            }
        };
        let from_file = SegmentSource::File { module, offset: segment.offset / PAGE * PAGE };
        let filled_end = segment.address + segment.filled;
        let file_end = if segment.filled == 0 { pages.start } else { filled_end.next_multiple_of(PAGE) };
        if !segment.writable {
            if file_end < pages.end {
                return Err(FileFault::Unsupported("has memory that is neither in the file nor may be written".into()));
            }
            part(pages.start, pages.end, libc::PROT_READ | libc::PROT_EXEC, from_file);
            return Ok(());
        }
        let mut protection = libc::PROT_READ | libc::PROT_WRITE;
        if segment.executable {
            protection |= libc::PROT_EXEC;
        }
        if copied {
            part(pages.start, pages.end, protection, SegmentSource::Anonymous);
            let bytes = elf.at(segment.address, segment.filled)?.to_vec();
            self.copies.push(Copy { at: place.offset(segment.address), bytes });
        } else {
            part(pages.start, file_end, protection, from_file);
            part(file_end, pages.end, protection, SegmentSource::Anonymous);
            if filled_end < file_end {
                self.zeros.push((place.offset(filled_end), (file_end - filled_end) as usize));
            }
        }
        Ok(())
    }

    /// Merges adjacent mappings that the operating system can map with one call. Two mappings of the same file are
    /// also merged if a gap separates the mappings.
    fn merge(&mut self) {
        let mut merged: Vec<Mapping> = Vec::new();
        for &next in &self.mappings {
            if let Some(last) = merged.last_mut()
                && last.protection == next.protection
                && continues(last, &next)
            {
                last.end = next.end;
            } else {
                merged.push(next);
            }
        }
        self.mappings = merged;
    }

    /// Returns the number of memory mappings per instance.
    pub fn mappings(&self) -> usize {
        self.mappings.len()
    }

    /// Returns the index of the module with the most memory mappings. The result is never the first module, which is
    /// the program.
    pub fn most_mappings(&self) -> Option<usize> {
        let of = |place: &Place| {
            self.mappings.iter().filter(|mapping| (place.start..place.end).contains(&mapping.start)).count()
        };
        (1..self.places.len()).rev().max_by_key(|&module| of(&self.places[module]))
    }

    /// Maps a new instance, copies the initial bytes, and returns the address of the instance. The function applies
    /// no relocation.
    pub fn map(&self, files: &[&File]) -> io::Result<usize> {
        let base = self.reserve(files)?;
        let covered = self.is_covered_by_first();
        for mapping in self.mappings.iter().skip(usize::from(covered)) {
            let fixed = libc::MAP_FIXED;
            let length = mapping.end - mapping.start;
            // SAFETY: `map` reserved the address range for the new instance, and nothing refers to the range yet.
            if let Err(error) = unsafe { map(base + mapping.start, length, fixed, mapping, files) } {
                unmap(base, self.size);
                return Err(error);
            }
        }
        for copy in &self.copies {
            if copy.bytes.len() >= AT_ONCE {
                let start = (base + copy.at) / PAGE as usize * PAGE as usize;
                let end = (base + copy.at + copy.bytes.len()).next_multiple_of(PAGE as usize);
                // SAFETY: the pages belong to the new instance. Older versions of Linux reject the request and
                // allocate the pages at the first write.
                unsafe { libc::madvise(start as *mut _, end - start, libc::MADV_POPULATE_WRITE) };
            }
            // SAFETY: the layout has a writable mapping for all bytes of the copied data.
            unsafe { ptr::copy_nonoverlapping(copy.bytes.as_ptr(), (base + copy.at) as *mut u8, copy.bytes.len()) };
        }
        for &(at, length) in &self.zeros {
            // SAFETY: the zeroed bytes are the last bytes of a page that is mapped and writable.
            unsafe { ptr::write_bytes((base + at) as *mut u8, 0, length) };
        }
        Ok(base)
    }

    /// Returns true if the first mapping can be extended over the whole instance, which makes a separate reservation
    /// of addresses unnecessary.
    fn is_covered_by_first(&self) -> bool {
        let holes = self.mappings.windows(2).any(|pair| pair[0].end != pair[1].start);
        self.align == PAGE as usize && !holes && self.mappings.first().is_some_and(|first| first.start == 0)
    }

    fn reserve(&self, files: &[&File]) -> io::Result<usize> {
        let hole = Mapping { start: 0, end: self.size, protection: libc::PROT_NONE, source: SegmentSource::Anonymous };
        let (first, length) = match self.is_covered_by_first() {
            true => (&self.mappings[0], self.size),
            false => (&hole, self.size + self.align - PAGE as usize),
        };
        // SAFETY: the system chooses the address of the new mapping.
        let found = unsafe { map(0, length, 0, first, files)? };
        let base = found.next_multiple_of(self.align);
        unmap(found, base - found);
        unmap(base + self.size, found + length - (base + self.size));
        Ok(base)
    }
}

/// Returns the number of pages that are filled from the file's data segments and contain relocated addresses.
fn pages_with_addresses(module: &Elf) -> Result<u64, FileFault> {
    let relocated = module.relocations()?.into_iter().map(|relocation| relocation.at);
    let mut pages: Vec<u64> = relocated.chain(module.packed_relocations()?).map(|at| at / PAGE).collect();
    pages.sort_unstable();
    pages.dedup();
    Ok(pages.len() as u64)
}

fn continues(last: &Mapping, next: &Mapping) -> bool {
    match (last.source, next.source) {
        (SegmentSource::Anonymous, SegmentSource::Anonymous) => last.end == next.start,
        (SegmentSource::File { module, offset }, SegmentSource::File { module: other, offset: next_offset }) => {
            module == other && next_offset.checked_sub(offset) == Some((next.start - last.start) as u64)
        }
        _ => false,
    }
}

/// Maps `length` bytes at the address `at`, from a file or as anonymous memory.
///
/// # Safety
/// If `flags` contains `MAP_FIXED`, the caller owns the address range, and nothing refers to its memory.
unsafe fn map(at: usize, length: usize, flags: i32, mapping: &Mapping, files: &[&File]) -> io::Result<usize> {
    let (file, offset, kind) = match mapping.source {
        SegmentSource::File { module, offset } => (files[module].as_raw_fd(), offset, 0),
        SegmentSource::Anonymous => (-1, 0, libc::MAP_ANONYMOUS),
    };
    let flags = flags | kind | libc::MAP_PRIVATE | libc::MAP_NORESERVE;
    // SAFETY: the caller owns a range that is mapped with `MAP_FIXED`, and nothing refers to the range. Without
    // `MAP_FIXED`, the system chooses an unused range.
    let found = unsafe { libc::mmap(at as *mut _, length, mapping.protection, flags, file, offset as i64) };
    if found == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(found as usize) }
}

/// Unmaps `length` bytes at the address `at`.
pub(super) fn unmap(at: usize, length: usize) {
    if length > 0 {
        // SAFETY: the callers pass only the address range of an instance that is being dropped, and no pointers into
        // the instance are used any more.
        unsafe { libc::munmap(at as *mut _, length) };
    }
}
