//! Callbacks of the program, wrapped in functions with the standard signature.

use std::ffi::{c_int, c_void};
use std::sync::Mutex;

use mcpsim_core::mpi::abi::Status;
use mcpsim_real::as_built::needs_rank;
use mcpsim_real::mpi_api::find;

use crate::abi::*;
use crate::convert::*;

/// Greatest number of distinct reduction functions, and of distinct error handlers, of a program.
const CALLBACKS: usize = 64;

static OPERATIONS: Mutex<[usize; CALLBACKS]> = Mutex::new([0; CALLBACKS]);
static HANDLERS: Mutex<[(usize, bool); CALLBACKS]> = Mutex::new([(0, false); CALLBACKS]);

unsafe extern "C" fn operation<const N: usize>(
    a: *mut c_void,
    b: *mut c_void,
    count: *mut c_int,
    datatype: *mut usize,
) {
    let function = OPERATIONS.lock().expect("nothing panics with the list")[N];
    // SAFETY: the program has registered a function with this signature. The datatype is valid during the call.
    unsafe {
        let function: unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut Raw) =
            std::mem::transmute(function);
        let mut datatype = handle_out(HandleClass::Type, *datatype);
        function(a, b, count, &mut datatype);
    }
}

unsafe extern "C" fn handler<const N: usize>(object: *mut usize, code: *mut c_int) {
    let (function, is_win) = HANDLERS.lock().expect("nothing panics with the list")[N];
    // SAFETY: the program has registered a function with this signature.
    unsafe {
        let function: unsafe extern "C" fn(*mut Raw, *mut c_int, ...) = std::mem::transmute(function);
        let kind = if is_win { HandleClass::Win } else { HandleClass::Comm };
        let (mut object, mut code) = (handle_out(kind, *object), error_out(*code));
        function(&mut object, &mut code);
    }
}

macro_rules! table {
    ($function:ident: $($n:literal)*) => { [$($function::<$n> as *const () as usize),*] };
}

macro_rules! tables {
    ($function:ident) => {
        table!($function: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34
            35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63)
    };
}

/// Returns a function with the standard signature that calls the reduction function `function` of the program.
pub fn operation_in(function: usize) -> usize {
    if function == 0 {
        return 0;
    }
    let mut known = OPERATIONS.lock().expect("nothing panics with the list");
    let found = known.iter().position(|&other| other == function || other == 0);
    let index = found.unwrap_or_else(|| panic!("a program has more than {CALLBACKS} reduction functions"));
    known[index] = function;
    tables!(operation)[index]
}

/// Returns a function with the standard signature that calls the error handler `function` of the program.
pub fn handler_in(kind: HandleClass, function: usize) -> usize {
    if function == 0 {
        return 0;
    }
    let mut known = HANDLERS.lock().expect("nothing panics with the list");
    let own = (function, kind == HandleClass::Win);
    let found = known.iter().position(|&other| other == own || other.0 == 0);
    let index = found.unwrap_or_else(|| panic!("a program has more than {CALLBACKS} error handlers"));
    known[index] = own;
    tables!(handler)[index]
}

/// Functions and extra state of an attribute key.
struct AttributeCallbacks {
    kind: HandleClass,
    copy: usize,
    delete: usize,
    extra: *mut c_void,
}

unsafe extern "C" fn copy_attribute(
    object: usize,
    key: c_int,
    extra: *mut c_void,
    value: *mut c_void,
    new: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: `create_keyval` has passed a key as extra state, and the program's function has this signature.
    unsafe {
        let of = &*extra.cast::<AttributeCallbacks>();
        let function: unsafe extern "C" fn(Raw, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int =
            std::mem::transmute(of.copy);
        error_in(function(handle_out(of.kind, object), keyval_out(key), of.extra, value, new, flag))
    }
}

unsafe extern "C" fn delete_attribute(object: usize, key: c_int, value: *mut c_void, extra: *mut c_void) -> c_int {
    // SAFETY: as in `copy_attribute`.
    unsafe {
        let of = &*extra.cast::<AttributeCallbacks>();
        let function: unsafe extern "C" fn(Raw, c_int, *mut c_void, *mut c_void) -> c_int =
            std::mem::transmute(of.delete);
        error_in(function(handle_out(of.kind, object), keyval_out(key), value, of.extra))
    }
}

pub unsafe fn create_keyval(
    name: &str,
    kind: HandleClass,
    (copy, delete): (usize, usize),
    key: *mut c_int,
    extra: *mut c_void,
) -> c_int {
    needs_rank();
    let found = find(name).expect("mpi_api has the function");
    let extra: *mut AttributeCallbacks = Box::leak(Box::new(AttributeCallbacks { kind, copy, delete, extra }));
    let copy = match copy_kind(copy) {
        Some(constant) => constant,
        None => copy_attribute as *const () as usize,
    };
    let delete = if is_null_delete(delete) { 0 } else { delete_attribute as *const () as usize };
    // SAFETY: the function of mpi_api has this signature.
    unsafe {
        let function: unsafe extern "C" fn(usize, usize, *mut c_int, *mut c_void) -> c_int = std::mem::transmute(found);
        error_out(function(copy, delete, key, extra.cast()))
    }
}

/// Functions and extra state of a generalised request.
pub struct GeneralisedCallbacks {
    pub query: unsafe extern "C" fn(*mut c_void, *mut RawStatus) -> c_int,
    pub free: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub cancel: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
    pub extra: *mut c_void,
}

pub unsafe extern "C" fn query_request(extra: *mut c_void, status: *mut Status) -> c_int {
    // SAFETY: `f_Grequest_start` has passed a generalised request as extra state.
    unsafe {
        let of = &*extra.cast::<GeneralisedCallbacks>();
        let mut own = RawStatus::default();
        own.set(&*status);
        let code = (of.query)(of.extra, &mut own);
        *status = own.standard();
        error_in(code)
    }
}

pub unsafe extern "C" fn free_request(extra: *mut c_void) -> c_int {
    // SAFETY: as in `query_request`. The library calls this function once and last.
    unsafe {
        let of = Box::from_raw(extra.cast::<GeneralisedCallbacks>());
        error_in((of.free)(of.extra))
    }
}

pub unsafe extern "C" fn cancel_request(extra: *mut c_void, complete: c_int) -> c_int {
    // SAFETY: as in `query_request`.
    unsafe {
        let of = &*extra.cast::<GeneralisedCallbacks>();
        error_in((of.cancel)(of.extra, complete))
    }
}
