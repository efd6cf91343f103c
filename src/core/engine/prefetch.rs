//! Hints about memory that is needed soon. They change nothing but the time that a run takes.

#![allow(unsafe_code)]

/// Bytes of a line of the processor's caches.
const LINE: usize = 64;

/// Begins to bring the first bytes of `value`, at most so many, into the caches.
#[inline(always)]
pub fn prefetch<T>(value: &T, most: usize) {
    let bytes = size_of::<T>().min(most);
    let start = std::ptr::from_ref(value).cast::<u8>();
    for line in 0..bytes.div_ceil(LINE) {
        hint(start.wrapping_add(line * LINE));
    }
    // What does not begin with a line ends in one more.
    if align_of::<T>() < LINE && bytes > 1 {
        hint(start.wrapping_add(bytes - 1));
    }
}

#[inline(always)]
fn hint(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction reads and writes nothing that a program sees, whatever the address.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
