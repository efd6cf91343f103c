//! Prefetch hints to the processor of the host. Prefetch hints change only the host time of a run.

#![allow(unsafe_code)]

/// Size of a cache line of the host in bytes.
const LINE: usize = 64;

/// Prefetches the first bytes of `value`, at most `most` bytes, into the caches.
#[inline(always)]
pub fn prefetch<T>(value: &T, most: usize) {
    let bytes = size_of::<T>().min(most);
    let start = std::ptr::from_ref(value).cast::<u8>();
    for line in 0..bytes.div_ceil(LINE) {
        hint(start.wrapping_add(line * LINE));
    }
    // A value that does not begin at a cache line boundary may end in an additional cache line.
    if align_of::<T>() < LINE && bytes > 1 {
        hint(start.wrapping_add(bytes - 1));
    }
}

#[inline(always)]
fn hint(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction reads and writes no memory that a program can observe, for any address.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
