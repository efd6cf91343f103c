//! Allocator of mcpsim, which uses large pages if the operating system has them. If an allocation fails, the allocator
//! prints the required and the available memory, and the process exits with code 2.
//!
//! By default, Rust aborts without an explanation for the user if an allocation fails. A run for which memory certainly
//! does not suffice is rejected before it starts; the allocator reports failed allocations of all other runs.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use mimalloc::MiMalloc;

use super::exit::Exit;

/// Allocator of mcpsim: mimalloc, with a report and an exit if an allocation fails.
///
/// Concurrent messages use tens of megabytes that are accessed once, in random order. mcpsim's allocator therefore
/// requests memory pages of 2 MiB, which cause fewer page faults and TLB misses. The environment variable
/// `MIMALLOC_ALLOW_THP=0` disables pages of 2 MiB.
#[derive(Debug)]
pub struct ReportingAllocator;

// SAFETY: mimalloc implements all functions, and a failed allocation does not return.
unsafe impl GlobalAlloc for ReportingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        reserve_little_if_limited();
        // SAFETY: the caller upholds the contract of `alloc`.
        there(unsafe { MiMalloc.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        reserve_little_if_limited();
        // SAFETY: the caller upholds the contract of `alloc_zeroed`.
        there(unsafe { MiMalloc.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller upholds the contract of `realloc`.
        there(unsafe { MiMalloc.realloc(old, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { MiMalloc.dealloc(memory, layout) }
    }
}

/// Number of the mimalloc option that sets the address space reserved at a time, in KiB. The mimalloc package has no
/// constant for this option.
const ARENA_RESERVE: libmimalloc_sys::mi_option_t = 23;

/// Divisor of a limited address space that yields the size of one reservation. The stacks of simulated ranks need the
/// remaining address space.
const RESERVED_PART: u64 = 32;
/// Least divisor of a limited address space. If an arena needs a greater fraction of the address space, no arenas are
/// reserved.
const LARGEST_PART: u64 = 8;
/// Size of an address space reservation without a limit of the address space, in KiB: mimalloc's default.
const RESERVED: u64 = 1 << 20;
/// Least size of an arena in mimalloc, in KiB. An arena is one reserved range of addresses.
const LEAST_RESERVED: u64 = 32 << 10;

/// Returns the size of one address space reservation in KiB for an address space of `limit` bytes. Without arenas,
/// mimalloc would map and unmap every large buffer separately.
fn reserved(limit: u64) -> u64 {
    let part = (limit / RESERVED_PART / 1024).clamp(LEAST_RESERVED, RESERVED);
    if part > limit / LARGEST_PART / 1024 { 0 } else { part }
}

/// Reduces mimalloc's reservations if the address space is limited. The function must be called once, before any
/// allocation, while the process has one thread.
#[inline(always)]
fn reserve_little_if_limited() {
    static ASKED: AtomicBool = AtomicBool::new(false);
    if !ASKED.load(Ordering::Relaxed) {
        ASKED.store(true, Ordering::Relaxed);
        if let Some(limit) = limit() {
            // SAFETY: no other thread allocates yet.
            unsafe { libmimalloc_sys::mi_option_set(ARENA_RESERVE, reserved(limit) as libc::c_long) };
        }
    }
}

/// Returns the pointer `memory`. If the pointer is null, the function reports the failed allocation and exits.
#[inline(always)]
fn there(memory: *mut u8, size: usize) -> *mut u8 {
    if memory.is_null() { end(size) } else { memory }
}

/// Buffer for the text of an error message, which does not use the allocator.
struct ErrorLine {
    bytes: [u8; 512],
    used: usize,
}

impl Write for ErrorLine {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.bytes[self.used..];
        let fits = text.len().min(room.len());
        room[..fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.used += fits;
        Ok(())
    }
}

#[cold]
#[inline(never)]
fn end(size: usize) -> ! {
    let mut line = ErrorLine { bytes: [0; 512], used: 0 };
    let _ = tell(&mut line, size, taken(), limit());
    // SAFETY: the called C functions do not allocate memory; the bytes of the text are valid.
    unsafe {
        libc::write(2, line.bytes.as_ptr().cast(), line.used);
        libc::_exit(Exit::BadInput.code().into())
    }
}

/// Reports that `size` more bytes were needed, with the number of bytes that are already `taken` and the limit of the
/// address space, if there is a limit.
fn tell(to: &mut impl Write, size: usize, taken: Option<u64>, limit: Option<u64>) -> fmt::Result {
    write!(to, "error: out of memory: mcpsim needs {} more", ShownBytes(size as u64))?;
    if let Some(taken) = taken {
        write!(to, ", and already uses {}", ShownBytes(taken))?;
    }
    if let Some(limit) = limit {
        write!(to, " of the {} of address space that ulimit -v allows", ShownBytes(limit))?;
    }
    to.write_str(": give fewer ranks (--ranks, --nct), smaller messages, or fewer recorded results\n")
}

/// Number of bytes that is printed with a few digits, computed in integers.
struct ShownBytes(u64);

impl fmt::Display for ShownBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
        match units.into_iter().find(|(shift, _)| self.0 >> shift > 0) {
            Some((shift, unit)) => {
                let tenths = (u128::from(self.0) * 10) >> shift;
                write!(f, "{}.{} {unit}", tenths / 10, tenths % 10)
            }
            None => write!(f, "{} B", self.0),
        }
    }
}

/// Returns the address space that this process uses, in bytes.
fn taken() -> Option<u64> {
    let mut text = [0u8; 64];
    // SAFETY: the name is zero-terminated, and the buffer has room for the data.
    let read = unsafe {
        let file = libc::open(c"/proc/self/statm".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        libc::read(file, text.as_mut_ptr().cast(), text.len())
    };
    let text = std::str::from_utf8(text.get(..usize::try_from(read).ok()?)?).ok()?;
    let pages: u64 = text.split(' ').next()?.parse().ok()?;
    // SAFETY: the call only queries a constant.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    Some(pages * page)
}

/// Returns the limit of the address space in bytes, or `None` without a limit.
fn limit() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` has room for the result.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) } == 0;
    (known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_the_option_is_that_of_what_is_reserved() {
        // SAFETY: the call only queries an option. 1 GiB is mimalloc's default.
        assert_eq!(unsafe { libmimalloc_sys::mi_option_get(ARENA_RESERVE) }, 1 << 20);
    }

    #[test]
    fn a_part_of_limited_address_space_is_reserved() {
        let kib = |limit_gib: u64| reserved(limit_gib << 30);
        assert_eq!([kib(1), kib(2), kib(32), kib(64), kib(1 << 20)], [32 << 10, 64 << 10, 1 << 20, 1 << 20, 1 << 20]);
        assert_eq!([reserved(1 << 28), reserved((1 << 28) - 1)], [32 << 10, 0]);
    }

    #[test]
    fn what_is_needed_and_what_there_is_are_told() {
        let told = |size, taken, limit| {
            let mut text = String::new();
            tell(&mut text, size, taken, limit).unwrap();
            text
        };
        let advice = ": give fewer ranks (--ranks, --nct), smaller messages, or fewer recorded results\n";
        assert_eq!(
            told(2 << 30, Some(1_610_612_736), Some(4_096_000_000)),
            format!(
                "error: out of memory: mcpsim needs 2.0 GiB more, and already uses 1.5 GiB of the 3.8 GiB of address \
                 space \
                 that ulimit -v allows{advice}"
            )
        );
        assert_eq!(told(4095, None, None), format!("error: out of memory: mcpsim needs 3.9 KiB more{advice}"));
        assert_eq!(told(17, None, None), format!("error: out of memory: mcpsim needs 17 B more{advice}"));
        assert!(taken().is_some_and(|taken| taken > 1 << 20));
    }
}
