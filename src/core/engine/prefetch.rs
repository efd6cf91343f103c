//! Hints about memory that is needed soon. They change nothing but the time that a run takes.

#![allow(unsafe_code)]

/// Bytes of a line of the processor's caches.
const LINE: usize = 64;

/// Begins to bring the first `lines` lines of `value` into the caches, or all of it if it has fewer.
#[inline(always)]
pub fn prefetch<T>(value: &T, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..lines.min(size_of::<T>().div_ceil(LINE)) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction reads and writes nothing that a program sees, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast::<i8>().wrapping_add(line * LINE)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (value, lines, LINE);
}
