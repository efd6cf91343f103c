//! Conversions between a binary interface and the standard one of `mpi_api`. The module `abi` of each library has the
//! tables of its binary interface.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use mcpsim_core::mpi::abi as standard;
use mcpsim_core::mpi::abi::Status;
use mcpsim_real::as_built::needs_rank;
use mcpsim_real::mpi_api::find;

use crate::abi::*;

/// Kinds of handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleClass {
    Comm,
    Type,
    Group,
    Op,
    Request,
    Info,
    Errhandler,
    Win,
    Message,
}

/// Returns the address of the function `name` of `mpi_api`, and makes the current thread the rank's.
#[inline]
pub fn target(known: &AtomicUsize, name: &str) -> usize {
    needs_rank();
    match known.load(Ordering::Relaxed) {
        0 => {
            let found = find(name).unwrap_or_else(|| panic!("{name} is no function of mpi_api"));
            known.store(found, Ordering::Relaxed);
            found
        }
        found => found,
    }
}

/// Converts a large count of the function `name`. A count beyond the range of `int` ends the run.
pub fn small(name: &str, count: i64) -> c_int {
    let too_large = || mcpsim_real::mpi_api::end_unsupported(&format!("{name} with the count {count}"));
    c_int::try_from(count).unwrap_or_else(|_| too_large())
}

/// Converts `length` large counts of the function `name`.
pub unsafe fn smalls(name: &str, at: *const i64, length: usize) -> Vec<c_int> {
    let length = if at.is_null() { 0 } else { length };
    // SAFETY: the program passes an array of `length` counts.
    (0..length).map(|index| small(name, unsafe { *at.add(index) })).collect()
}

/// Calls a function of `mpi_api` with the types of the arguments.
macro_rules! call {
    ($name:literal($($argument:expr => $type:ty),* $(,)?)) => {{
        static KNOWN: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let function: unsafe extern "C" fn($($type),*) -> c_int = std::mem::transmute($crate::convert::target(&KNOWN, $name));
        function($($argument),*)
    }};
}
pub(crate) use call;

/// Reports to the error handler that the program has called the unsupported function `name`. Returns the error code.
#[cold]
pub fn absent(name: &'static str) -> c_int {
    needs_rank();
    error_out(mcpsim_real::mpi_api::unsupported(name))
}

/// Returns the second value of the pair whose first value is `value`, or `value`.
fn mapped(table: &[(c_int, c_int)], value: c_int) -> c_int {
    table.iter().find(|pair| pair.0 == value).map_or(value, |pair| pair.1)
}

/// Inverse of [`mapped`].
fn mapped_back(table: &[(c_int, c_int)], value: c_int) -> c_int {
    table.iter().find(|pair| pair.1 == value).map_or(value, |pair| pair.0)
}

macro_rules! integers {
    ($($into:ident $out:ident $table:ident)*) => {
        $(
            #[inline]
            pub fn $into(value: c_int) -> c_int {
                mapped(&$table, value)
            }

            #[allow(dead_code)]
            #[inline]
            pub fn $out(value: c_int) -> c_int {
                mapped_back(&$table, value)
            }
        )*
    };
}

integers! {
    rank_in rank_out RANKS
    tag_in tag_out TAGS
    comparison_in comparison_out COMPARISONS
    topology_in topology_out TOPOLOGIES
    thread_in thread_out THREADS
    keyval_in keyval_out KEYVALS
    order_in order_out ORDERS
    distribution_in distribution_out DISTRIBUTIONS
    distribution_argument_in distribution_argument_out DISTRIBUTION_ARGUMENTS
    combiner_in combiner_out COMBINERS
    typeclass_in typeclass_out TYPECLASSES
    split_type_in split_type_out SPLIT_TYPES
    lock_in lock_out LOCKS
    class_in class_back ERRORS
}

/// Converts an error class or error code of the program. Codes that the program adds follow the last predefined code.
#[inline]
pub fn error_in(code: c_int) -> c_int {
    if code >= LAST_CODE { code - LAST_CODE + standard::MPI_ERR_LASTCODE } else { class_in(code) }
}

/// Inverse of [`error_in`].
#[inline]
pub fn error_out(code: c_int) -> c_int {
    match code {
        0 => 0,
        standard::MPI_ERR_LASTCODE.. => code - standard::MPI_ERR_LASTCODE + LAST_CODE,
        _ => class_back(code),
    }
}

/// Converts a set of assertions. Unknown bits become a bit that is no assertion, so that `mpi_api` rejects them.
pub fn assertion_in(bits: c_int) -> c_int {
    let known = ASSERTIONS.iter().filter(|pair| bits & pair.0 != 0);
    let (meant, converted) = known.fold((0, 0), |(meant, all), pair| (meant | pair.0, all | pair.1));
    if bits & !meant == 0 { converted } else { converted | 1 << 30 }
}

pub fn list<T>(items: &mut [T], given: *mut impl Sized) -> *mut T {
    if given.is_null() { std::ptr::null_mut() } else { items.as_mut_ptr() }
}

pub fn one<T>(item: &mut T, given: *mut impl Sized) -> *mut T {
    if given.is_null() { std::ptr::null_mut() } else { item }
}

pub unsafe fn read_handle(kind: HandleClass, at: *mut Raw) -> usize {
    // SAFETY: the program passes null or a valid pointer to a handle.
    if at.is_null() { 0 } else { unsafe { handle_in(kind, *at) } }
}

type Few<T> = smallvec::SmallVec<[T; 8]>;

pub unsafe fn handles_in(kind: HandleClass, at: *mut Raw, count: c_int, reads: bool) -> Few<usize> {
    if at.is_null() || count <= 0 {
        return Few::new();
    }
    // SAFETY: the program passes an array of `count` handles.
    (0..count as usize).map(|index| if reads { unsafe { handle_in(kind, *at.add(index)) } } else { 0 }).collect()
}

pub unsafe fn handles_out(kind: HandleClass, handles: &[usize], at: *mut Raw) {
    for (index, &handle) in handles.iter().enumerate().filter(|(_, handle)| **handle != 0) {
        // SAFETY: the program passes an array of as many handles.
        unsafe { *at.add(index) = handle_out(kind, handle) };
    }
}

pub unsafe fn integers_in(at: *mut c_int, count: c_int, convert: fn(c_int) -> c_int) -> Few<c_int> {
    if at.is_null() || count <= 0 {
        return Few::new();
    }
    // SAFETY: the program passes an array of `count` integers.
    (0..count as usize).map(|index| convert(unsafe { *at.add(index) })).collect()
}

pub unsafe fn integers_out(values: &[c_int], at: *mut c_int, convert: fn(c_int) -> c_int) {
    for (index, &value) in values.iter().enumerate() {
        // SAFETY: the program passes an array of as many integers.
        unsafe { *at.add(index) = convert(value) };
    }
}

fn is_status(at: *mut RawStatus) -> bool {
    at as usize != STATUS_IGNORE && !at.is_null()
}

pub unsafe fn status_in(at: *mut RawStatus) -> Status {
    // SAFETY: the program passes a valid status unless the status is ignored.
    if is_status(at) { unsafe { (*at).standard() } } else { Status::default() }
}

pub fn status_pointer(status: &mut Status, at: *mut RawStatus) -> *mut Status {
    if is_status(at) { status } else { std::ptr::null_mut() }
}

pub unsafe fn status_out(status: &Status, at: *mut RawStatus) {
    if is_status(at) {
        // SAFETY: the program passes a valid status.
        unsafe { (*at).set(status) };
    }
}

pub unsafe fn statuses_in(at: *mut RawStatus, count: c_int) -> Few<Status> {
    if !is_status(at) || count <= 0 {
        return Few::new();
    }
    // A call that fails or completes nothing leaves statuses as they are.
    // SAFETY: the program passes an array of `count` statuses, which may be uninitialised integers.
    (0..count as usize).map(|index| unsafe { (*at.add(index)).standard() }).collect()
}

pub fn statuses(all: &mut [Status], at: *mut RawStatus) -> *mut Status {
    if is_status(at) { all.as_mut_ptr() } else { std::ptr::null_mut() }
}

pub unsafe fn statuses_out(all: &[Status], at: *mut RawStatus) {
    for (index, status) in all.iter().enumerate() {
        // SAFETY: the program passes an array of as many statuses.
        unsafe { (*at.add(index)).set(status) };
    }
}

pub unsafe fn text_out(text: &[c_char], at: *mut c_char, length: *mut c_int, room: usize) {
    if at.is_null() {
        return;
    }
    let count = text.iter().position(|&byte| byte == 0).unwrap_or(0).min(room - 1);
    // SAFETY: the program passes a buffer of `room` bytes and a valid pointer for the length.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), at, count);
        *at.add(count) = 0;
        if !length.is_null() {
            *length = count as c_int;
        }
    }
}

/// Converts the value of a predefined attribute if the value is a constant.
pub unsafe fn attribute_out(key: c_int, value: *mut c_void) {
    let table: &[(c_int, c_int)] = match key {
        standard::MPI_HOST | standard::MPI_IO => &RANKS,
        standard::MPI_WIN_CREATE_FLAVOR => &FLAVOURS,
        standard::MPI_WIN_MODEL => &MODELS,
        standard::MPI_LASTUSEDCODE => &[],
        _ => return,
    };
    // SAFETY: the value of a predefined attribute is a pointer to an integer.
    unsafe {
        let at = value.cast::<*mut c_int>();
        let converted = if table.is_empty() { error_out(**at) } else { mapped_back(table, **at) };
        *at = Box::leak(Box::new(converted));
    }
}
