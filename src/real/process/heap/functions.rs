//! Replacements of the C library's memory functions that use guarded heap blocks. Calls for memory outside the arena
//! are passed to the C library.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use super::arena::{ALIGNMENT, PAGE};
use super::{arena, call, refuse, report, used_by};
use crate::process::{Function, NamedFunction, current, with_current};

const FUNCTIONS: &[NamedFunction] = &[
    ("malloc", Function(malloc as *const ())),
    ("__libc_malloc", Function(malloc as *const ())),
    ("calloc", Function(calloc as *const ())),
    ("__libc_calloc", Function(calloc as *const ())),
    ("realloc", Function(realloc as *const ())),
    ("__libc_realloc", Function(realloc as *const ())),
    ("reallocarray", Function(reallocarray as *const ())),
    ("free", Function(free as *const ())),
    ("cfree", Function(free as *const ())),
    ("__libc_free", Function(free as *const ())),
    ("memalign", Function(memalign as *const ())),
    ("__libc_memalign", Function(memalign as *const ())),
    ("aligned_alloc", Function(aligned_alloc as *const ())),
    ("posix_memalign", Function(posix_memalign as *const ())),
    ("valloc", Function(valloc as *const ())),
    ("pvalloc", Function(pvalloc as *const ())),
    ("malloc_usable_size", Function(malloc_usable_size as *const ())),
    ("strdup", Function(strdup as *const ())),
    ("__strdup", Function(strdup as *const ())),
    ("strndup", Function(strndup as *const ())),
    ("__strndup", Function(strndup as *const ())),
    ("getline", Function(getline as *const ())),
    ("getdelim", Function(getdelim as *const ())),
    ("__getdelim", Function(getdelim as *const ())),
    ("mallinfo", Function(mallinfo as *const ())),
    ("mallinfo2", Function(mallinfo2 as *const ())),
];

/// Returns the address of the replacement of the C library function `name`.
pub fn find(name: &str) -> Option<usize> {
    FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, function)| function.0 as usize)
}

/// Allocates a heap block that is filled with zeros. If the arena is full, the C library allocates the block without
/// guard pages. The result is a null pointer if no memory is available.
#[inline(never)]
pub fn allocate(function: &'static str, size: usize, alignment: usize) -> *mut c_void {
    let call = call(function);
    let block = arena().as_mut().and_then(|arena| arena.allocate(size, alignment, call));
    if let Some(address) = block {
        return address as *mut c_void;
    }
    // SAFETY: the allocation functions accept any size, the alignment is a power of two, and the allocated memory has
    // `size` bytes.
    unsafe {
        match alignment <= ALIGNMENT {
            true => libc::calloc(1, size),
            false => {
                let memory = libc::memalign(alignment, size);
                if !memory.is_null() {
                    ptr::write_bytes(memory.cast::<u8>(), 0, size);
                }
                memory
            }
        }
    }
}

/// Frees a guarded or unguarded heap block.
///
/// # Safety
/// `memory` is null, or a block from the replacement functions or the C library, and the caller no longer uses the
/// block.
#[inline(never)]
pub unsafe fn release(function: &'static str, memory: *mut c_void) {
    let address = memory as usize;
    let call = call(function);
    // SAFETY: `errno` belongs to the current thread. The caller guarantees that `memory` may be freed.
    unsafe {
        let number = *libc::__errno_location();
        let freed = arena().as_mut().filter(|arena| arena.contains(address)).map(|arena| arena.free(address, call));
        match (freed, current()) {
            (None, _) => libc::free(memory),
            (Some(Ok(Some(damage))), Some(p)) => report(p, &damage),
            (Some(Ok(_)), _) => {}
            (Some(Err(reason)), Some(p)) => refuse(p, &call, address, &reason),
            (Some(Err(_)), None) => libc::abort(),
        }
        *libc::__errno_location() = number;
    }
}

/// Returns the size of the guarded heap block `memory`, or `None` if the arena does not contain `memory`. If the
/// block was already freed, the function ends the rank.
fn size_of_block(function: &'static str, memory: *mut c_void) -> Option<usize> {
    let address = memory as usize;
    let found = arena().as_ref().filter(|arena| arena.contains(address)).map(|arena| arena.live(address))?;
    match (found, current()) {
        (Ok(block), _) => Some(block.size),
        (Err(reason), Some(p)) => refuse(p, &call(function), address, &reason),
        (Err(_), None) => None,
    }
}

fn no_memory() -> *mut c_void {
    super::super::clib::error(libc::ENOMEM);
    ptr::null_mut()
}

unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    allocate("malloc", size, ALIGNMENT)
}

unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    count.checked_mul(size).map_or_else(no_memory, |size| allocate("calloc", size, ALIGNMENT))
}

unsafe extern "C" fn realloc(memory: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the program passes null or a block to `realloc`, as `change_size` requires.
    unsafe { change_size("realloc", memory, size) }
}

unsafe fn change_size(function: &'static str, memory: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the callers guarantee that the program passed null or a block. The copy is limited to the smaller of the
    // two sizes.
    unsafe {
        if memory.is_null() {
            return allocate(function, size, ALIGNMENT);
        }
        let before = size_of_block(function, memory).unwrap_or_else(|| libc::malloc_usable_size(memory));
        if size == 0 {
            release(function, memory);
            return ptr::null_mut();
        }
        let new = allocate(function, size, ALIGNMENT);
        if !new.is_null() {
            ptr::copy_nonoverlapping(memory.cast::<u8>(), new.cast(), before.min(size));
            release(function, memory);
        }
        new
    }
}

unsafe extern "C" fn reallocarray(memory: *mut c_void, count: usize, size: usize) -> *mut c_void {
    // SAFETY: the program passes null or a block to `reallocarray`, as `change_size` requires.
    count.checked_mul(size).map_or_else(no_memory, |size| unsafe { change_size("reallocarray", memory, size) })
}

unsafe extern "C" fn free(memory: *mut c_void) {
    if !memory.is_null() {
        // SAFETY: `free` requires the program to pass null or a block that the program no longer uses.
        unsafe { release("free", memory) };
    }
}

unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    aligned("memalign", alignment, size)
}

unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    aligned("aligned_alloc", alignment, size)
}

fn aligned(function: &'static str, alignment: usize, size: usize) -> *mut c_void {
    if !alignment.is_power_of_two() {
        super::super::clib::error(libc::EINVAL);
        return ptr::null_mut();
    }
    allocate(function, size, alignment)
}

unsafe extern "C" fn posix_memalign(to: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    let memory = allocate("posix_memalign", size, alignment);
    if memory.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: `posix_memalign` requires the program to pass a valid pointer for the result.
    unsafe { *to = memory };
    0
}

unsafe extern "C" fn valloc(size: usize) -> *mut c_void {
    allocate("valloc", size, PAGE)
}

unsafe extern "C" fn pvalloc(size: usize) -> *mut c_void {
    size.checked_next_multiple_of(PAGE).map_or_else(no_memory, |size| allocate("pvalloc", size, PAGE))
}

unsafe extern "C" fn malloc_usable_size(memory: *mut c_void) -> usize {
    // SAFETY: the block is not in the arena, so the program must have allocated the block with the C library.
    size_of_block("malloc_usable_size", memory).unwrap_or_else(|| unsafe { libc::malloc_usable_size(memory) })
}

unsafe extern "C" fn strdup(text: *const c_char) -> *mut c_char {
    // SAFETY: `strdup` requires the program to pass a zero-terminated string.
    unsafe { copy("strdup", text, libc::strlen(text)) }
}

unsafe extern "C" fn strndup(text: *const c_char, most: usize) -> *mut c_char {
    // SAFETY: `strndup` requires the program to pass `most` readable bytes or a zero-terminated string.
    unsafe { copy("strndup", text, libc::strnlen(text, most)) }
}

unsafe fn copy(function: &'static str, text: *const c_char, length: usize) -> *mut c_char {
    let copy = allocate(function, length + 1, ALIGNMENT).cast::<c_char>();
    if !copy.is_null() {
        // SAFETY: the text has `length` bytes. The new block has one byte more, which is zero.
        unsafe { ptr::copy_nonoverlapping(text, copy, length) };
    }
    copy
}

unsafe extern "C" {
    #[link_name = "getdelim"]
    fn system_getdelim(line: *mut *mut c_char, room: *mut usize, end: c_int, file: *mut libc::FILE) -> isize;
}

unsafe extern "C" fn getline(line: *mut *mut c_char, room: *mut usize, file: *mut libc::FILE) -> isize {
    // SAFETY: the program passes valid arguments to `getline`, which `getdelim` also requires.
    unsafe { getdelim(line, room, c_int::from(b'\n'), file) }
}

unsafe extern "C" fn getdelim(line: *mut *mut c_char, room: *mut usize, end: c_int, file: *mut libc::FILE) -> isize {
    // SAFETY: the pointers are not null, and `getdelim` requires the program to pass valid pointers. The C library
    // would enlarge the program's block with its own `realloc`. The line is therefore read into memory of the C library
    // and copied.
    unsafe {
        if line.is_null() || room.is_null() {
            return super::super::clib::error(libc::EINVAL) as isize;
        }
        let (mut own, mut own_room) = (ptr::null_mut(), 0);
        let length = system_getdelim(&mut own, &mut own_room, end, file);
        if length >= 0 {
            let needed = length as usize + 1;
            if (*line).is_null() || *room < needed {
                *line = change_size("getline", (*line).cast(), needed).cast();
                *room = needed;
            }
            ptr::copy_nonoverlapping(own, *line, needed);
        }
        libc::free(own.cast());
        length
    }
}

unsafe extern "C" fn mallinfo2() -> libc::mallinfo2 {
    let (bytes, blocks) = with_current(|p| used_by(p.rank)).unwrap_or_default();
    // SAFETY: zero is a valid value of all fields of `mallinfo2`.
    let mut info: libc::mallinfo2 = unsafe { std::mem::zeroed() };
    (info.uordblks, info.arena, info.ordblks) = (bytes, bytes, blocks);
    info
}

unsafe extern "C" fn mallinfo() -> libc::mallinfo {
    let (bytes, blocks) = with_current(|p| used_by(p.rank)).unwrap_or_default();
    // SAFETY: zero is a valid value of all fields of `mallinfo`.
    let mut info: libc::mallinfo = unsafe { std::mem::zeroed() };
    (info.uordblks, info.arena, info.ordblks) = (bytes as c_int, bytes as c_int, blocks as c_int);
    info
}
