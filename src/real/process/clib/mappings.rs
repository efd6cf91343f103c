//! Memory at addresses that the program states (`MAP_FIXED`): what is there already may be another rank's. And memory
//! that grows from one address on (`sbrk`), which each rank has for its own.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::error;
use crate::process::{Function, NamedFunction, Process, current};
use mcpsim_core::rank::{FailureKind, Rank};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("mmap", Function(mmap as *const ())),
    ("mmap64", Function(mmap as *const ())),
    ("munmap", Function(munmap as *const ())),
    ("brk", Function(brk as *const ())),
    ("sbrk", Function(sbrk as *const ())),
];

/// Who has mapped what: the ends of ranges and their ranks, by their starts.
static MAPPED: Mutex<BTreeMap<usize, (usize, Rank)>> = Mutex::new(BTreeMap::new());

fn mapped() -> MutexGuard<'static, BTreeMap<usize, (usize, Rank)>> {
    MAPPED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first rank other than `rank` that has memory within `start..end`.
fn other(ranges: &BTreeMap<usize, (usize, Rank)>, start: usize, end: usize, rank: Rank) -> Option<Rank> {
    let mut within = ranges.range(..end).rev().take_while(|(_, (to, _))| *to > start);
    within.find(|(_, (_, owner))| *owner != rank).map(|(_, (_, owner))| *owner)
}

/// Takes `start..end` out of all ranges.
fn cut(ranges: &mut BTreeMap<usize, (usize, Rank)>, start: usize, end: usize) {
    let met: Vec<(usize, usize, Rank)> = ranges
        .range(..end)
        .rev()
        .take_while(|(_, (to, _))| *to > start)
        .map(|(&from, &(to, rank))| (from, to, rank))
        .collect();
    for (from, to, rank) in met {
        ranges.remove(&from);
        if from < start {
            ranges.insert(from, (start, rank));
        }
        if to > end {
            ranges.insert(end, (to, rank));
        }
    }
}

/// Whole pages.
fn pages(length: usize) -> usize {
    length.div_ceil(4096).saturating_mul(4096)
}

unsafe extern "C" fn mmap(
    at: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    let process = current();
    let mut ranges = mapped();
    let start = at as usize;
    let fixed = flags & libc::MAP_FIXED != 0 && flags & libc::MAP_FIXED_NOREPLACE != libc::MAP_FIXED_NOREPLACE;
    if let (true, Some(p)) = (fixed, process) {
        let end = start.saturating_add(pages(length));
        if let Some(owner) = other(&ranges, start, end, p.rank) {
            drop(ranges);
            refuse(p, start, length, &format!("rank {owner} has mapped memory"));
        }
        let is_own = ranges.range(..=start).next_back().is_some_and(|(_, (to, _))| *to >= end);
        if !is_own
            && p.instance.borrow().as_ref().is_none_or(|instance| instance.contains(start).is_none())
            && is_used(start, end)
        {
            drop(ranges);
            refuse(p, start, length, "there is memory of the simulator or of other ranks");
        }
    }
    // SAFETY: the caller's.
    let memory = unsafe { libc::mmap(at, length, protection, flags, super::streams::actual(file), offset) };
    if let (true, Some(p)) = (memory != libc::MAP_FAILED, process) {
        let (start, end) = (memory as usize, memory as usize + pages(length));
        cut(&mut ranges, start, end);
        ranges.insert(start, (end, p.rank));
    }
    memory
}

/// Whether anything is mapped within `start..end`.
fn is_used(start: usize, end: usize) -> bool {
    let text = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    text.lines().any(|line| {
        let bounds = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
        let number = |text: &str| usize::from_str_radix(text, 16).unwrap_or(0);
        bounds.is_some_and(|(from, to)| number(from) < end && number(to) > start)
    })
}

fn refuse(p: &Process, start: usize, length: usize, what: &str) -> ! {
    let text = format!(
        "MAP_FIXED for {length} bytes at {start:#x}, where {what}: all ranks are in one process; let the system choose \
         the address, or derive it from the rank"
    );
    p.fail_at("mmap".to_owned(), FailureKind::Error, text)
}

unsafe extern "C" fn munmap(at: *mut c_void, length: usize) -> c_int {
    let mut ranges = mapped();
    // SAFETY: the caller's.
    let done = unsafe { libc::munmap(at, length) };
    if done == 0 {
        cut(&mut ranges, at as usize, (at as usize).saturating_add(pages(length)));
    }
    done
}

/// The addresses that a rank's break can go through. They take no memory before it has.
const BREAK_ROOM: usize = 4 << 30;

/// The end of a rank's data segment: memory of its own, from the first time it asks on.
#[derive(Debug, Default)]
pub struct Break {
    start: Cell<usize>,
    end: Cell<usize>,
}

impl Break {
    /// Where it is; none if there is no room for one.
    fn end(&self) -> Option<usize> {
        if self.start.get() == 0 {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            // SAFETY: new memory at an address of the system's choice.
            let room = unsafe { libc::mmap(ptr::null_mut(), BREAK_ROOM, libc::PROT_NONE, flags, -1, 0) };
            if room == libc::MAP_FAILED {
                return None;
            }
            self.start.set(room as usize);
            self.end.set(room as usize);
        }
        Some(self.end.get())
    }

    /// Puts it at `end`; whether it could be.
    fn set(&self, end: usize) -> bool {
        let Some(before) = self.end() else { return false };
        let start = self.start.get();
        if !(start..=start + BREAK_ROOM).contains(&end) {
            return false;
        }
        let (from, to) = (start + pages(before - start), start + pages(end - start));
        let memory = from.min(to) as *mut c_void;
        // SAFETY: within the room; what is beyond the new end is not used any more.
        let done = unsafe {
            if to >= from {
                to == from || libc::mprotect(memory, to - from, libc::PROT_READ | libc::PROT_WRITE) == 0
            } else {
                libc::madvise(memory, from - to, libc::MADV_DONTNEED) == 0
                    && libc::mprotect(memory, from - to, libc::PROT_NONE) == 0
            }
        };
        if done {
            self.end.set(end);
        }
        done
    }
}

impl Drop for Break {
    fn drop(&mut self) {
        if self.start.get() != 0 {
            // SAFETY: the rank's own, which has ended.
            unsafe { libc::munmap(self.start.get() as *mut c_void, BREAK_ROOM) };
        }
    }
}

unsafe extern "C" {
    #[link_name = "brk"]
    fn system_brk(end: *mut c_void) -> c_int;
    #[link_name = "sbrk"]
    fn system_sbrk(more: isize) -> *mut c_void;
}

unsafe extern "C" fn brk(end: *mut c_void) -> c_int {
    match current() {
        Some(p) if p.variables.data_end.set(end as usize) => 0,
        Some(_) => error(libc::ENOMEM),
        // SAFETY: the caller's.
        None => unsafe { system_brk(end) },
    }
}

unsafe extern "C" fn sbrk(more: isize) -> *mut c_void {
    // SAFETY: the caller's.
    let Some(p) = current() else { return unsafe { system_sbrk(more) } };
    let data_end = &p.variables.data_end;
    match data_end.end() {
        Some(before) if data_end.set(before.wrapping_add_signed(more)) => before as *mut c_void,
        _ => error(libc::ENOMEM) as isize as *mut c_void,
    }
}
