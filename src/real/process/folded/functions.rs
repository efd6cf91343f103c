//! Replacements of the C library's memory functions under `--share-memory`, and the functions of `mcpsim.h` for folded
//! memory. Blocks below the least size of folded blocks belong to the C library.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::Ordering;

use super::{LEAST, PAGE, UNIT, allocate, contains, folded, free, size_of_block};
use crate::process::clib::error;
use crate::process::{Function, NamedFunction, ShareMemory, current};

/// Functions that `mcpsim.h` declares for folded memory.
pub const FUNCTIONS: &[NamedFunction] = &[
    ("mcpsim_shared_malloc", Function(shared_malloc as *const ())),
    ("mcpsim_shared_free", Function(shared_free as *const ())),
];

/// Functions of the C library that programs call under `--share-memory`.
const REPLACEMENTS: &[NamedFunction] = &[
    ("malloc", Function(malloc as *const ())),
    ("__libc_malloc", Function(malloc as *const ())),
    ("calloc", Function(calloc as *const ())),
    ("__libc_calloc", Function(calloc as *const ())),
    ("realloc", Function(realloc as *const ())),
    ("__libc_realloc", Function(realloc as *const ())),
    ("reallocarray", Function(reallocarray as *const ())),
    ("free", Function(release as *const ())),
    ("cfree", Function(release as *const ())),
    ("__libc_free", Function(release as *const ())),
    ("memalign", Function(aligned_alloc as *const ())),
    ("__libc_memalign", Function(aligned_alloc as *const ())),
    ("aligned_alloc", Function(aligned_alloc as *const ())),
    ("posix_memalign", Function(posix_memalign as *const ())),
    ("valloc", Function(valloc as *const ())),
    ("pvalloc", Function(pvalloc as *const ())),
    ("malloc_usable_size", Function(malloc_usable_size as *const ())),
];

/// Returns the address of the replacement of the C library function `name`.
pub fn find(name: &str) -> Option<usize> {
    REPLACEMENTS.iter().find(|(known, _)| *known == name).map(|(_, function)| function.0 as usize)
}

fn is_folded(size: usize) -> bool {
    size >= LEAST.load(Ordering::Relaxed)
}

/// Allocates `size` bytes of folded memory, or of the C library's memory if `size` is less than the least size of folded
/// blocks.
pub unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    match is_folded(size) {
        true => allocate("malloc", size, PAGE),
        // SAFETY: `malloc` accepts any size.
        false => unsafe { libc::malloc(size) },
    }
}

unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    match count.checked_mul(size) {
        Some(size) if is_folded(size) => {
            let block = allocate("calloc", size, PAGE);
            if !block.is_null() {
                // SAFETY: the block has `size` bytes. Its further units have the same pages as the first.
                unsafe { ptr::write_bytes(block.cast::<u8>(), 0, size.min(UNIT)) };
            }
            block
        }
        // SAFETY: `calloc` accepts any arguments.
        _ => unsafe { libc::calloc(count, size) },
    }
}

unsafe extern "C" fn realloc(old: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the program passes null, or a block that it no longer uses after the call.
    unsafe {
        if old.is_null() {
            return malloc(size);
        }
        if !contains(old as usize) {
            if !is_folded(size) {
                return libc::realloc(old, size);
            }
            let new = allocate("realloc", size, PAGE);
            if !new.is_null() {
                ptr::copy_nonoverlapping(old.cast::<u8>(), new.cast(), libc::malloc_usable_size(old).min(size));
                libc::free(old);
            }
            return new;
        }
        if size == 0 {
            release(old);
            return ptr::null_mut();
        }
        if is_folded(size) && folded().as_mut().is_some_and(|memory| memory.resize(old as usize, size)) {
            return old;
        }
        let new = malloc(size);
        if !new.is_null() {
            // A new folded block has the contents of the old block, because both have the same pages.
            if !contains(new as usize) {
                let before = size_of_block(old as usize).unwrap_or(0);
                ptr::copy_nonoverlapping(old.cast::<u8>(), new.cast(), before.min(size));
            }
            release(old);
        }
        new
    }
}

unsafe extern "C" fn reallocarray(old: *mut c_void, count: usize, size: usize) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: the program passes a block as for `realloc`.
        Some(size) => unsafe { realloc(old, size) },
        None => {
            error(libc::ENOMEM);
            ptr::null_mut()
        }
    }
}

/// Frees a folded block or a block of the C library.
///
/// # Safety
/// `block` is null or a block that the program no longer uses.
pub unsafe extern "C" fn release(block: *mut c_void) {
    match contains(block as usize) {
        true => free("free", block as usize),
        // SAFETY: the caller guarantees that the C library allocated the block.
        false => unsafe { libc::free(block) },
    }
}

unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    if !alignment.is_power_of_two() {
        error(libc::EINVAL);
        return ptr::null_mut();
    }
    match is_folded(size) {
        true => allocate("aligned_alloc", size, alignment),
        // SAFETY: the alignment is a power of two.
        false => unsafe { libc::memalign(alignment, size) },
    }
}

unsafe extern "C" fn posix_memalign(to: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    if !is_folded(size) || !alignment.is_power_of_two() {
        // SAFETY: the program passes the arguments of `posix_memalign`.
        return unsafe { libc::posix_memalign(to, alignment, size) };
    }
    let block = allocate("posix_memalign", size, alignment);
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: `posix_memalign` requires a valid pointer for the result.
    unsafe { *to = block };
    0
}

unsafe extern "C" fn valloc(size: usize) -> *mut c_void {
    // SAFETY: the alignment is a power of two.
    unsafe { aligned_alloc(PAGE, size) }
}

unsafe extern "C" fn pvalloc(size: usize) -> *mut c_void {
    // SAFETY: the alignment is a power of two.
    unsafe { aligned_alloc(PAGE, size.checked_next_multiple_of(PAGE).unwrap_or(usize::MAX)) }
}

unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    match contains(block as usize) {
        true => size_of_block(block as usize).unwrap_or(0),
        // SAFETY: the C library allocated the block.
        false => unsafe { libc::malloc_usable_size(block) },
    }
}

unsafe extern "C" fn shared_malloc(size: usize) -> *mut c_void {
    match current().map(|p| p.job.options.share_memory) {
        // SAFETY: `malloc` accepts any size.
        Some(ShareMemory::None) => unsafe { libc::malloc(size) },
        _ => allocate("mcpsim_shared_malloc", size, PAGE),
    }
}

unsafe extern "C" fn shared_free(block: *mut c_void) {
    // SAFETY: the program passes null, or a block of `mcpsim_shared_malloc` that it no longer uses.
    unsafe { release(block) };
}
