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

/// Reduction functions, each with the type of its count and the last operation that was created with the function.
static OPERATIONS: Mutex<[(usize, CountType, Raw); CALLBACKS]> = Mutex::new([(0, CountType::Int, 0); CALLBACKS]);
/// Error handlers, each with its kind of object and the language of its code.
static HANDLERS: Mutex<[(usize, HandleClass, CallbackLanguage); CALLBACKS]> =
    Mutex::new([(0, HandleClass::Comm, CallbackLanguage::C); CALLBACKS]);
/// Keys of attributes with their callbacks.
static KEYS: Mutex<Vec<(c_int, usize)>> = Mutex::new(Vec::new());

/// CallbackLanguage of a callback. Functions in Fortran get Fortran handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallbackLanguage {
    C,
    Fortran,
}

/// Type of the count that a reduction function gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountType {
    /// `int`, for functions of MPI_Op_create.
    Int,
    /// `MPI_Count`, for functions of MPI_Op_create_c.
    Large,
}

unsafe extern "C" fn operation<const N: usize>(
    a: *mut c_void,
    b: *mut c_void,
    count: *mut c_int,
    datatype: *mut usize,
) {
    let (function, count_type, operation) = OPERATIONS.lock().expect("nothing panics with the list")[N];
    // SAFETY: the program has registered a function with this signature. The datatype is valid during the call.
    unsafe {
        let function: unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut Raw) =
            std::mem::transmute(function);
        let mut datatype = handle_out(HandleClass::Type, *datatype);
        if is_fortran_operation(operation) {
            let mut datatype = fint_out(HandleClass::Type, datatype);
            return function(a, b, count, std::ptr::from_mut(&mut datatype).cast());
        }
        if count_type == CountType::Large {
            let mut count = i64::from(*count);
            return function(a, b, std::ptr::from_mut(&mut count).cast(), &mut datatype);
        }
        function(a, b, count, &mut datatype);
    }
}

unsafe extern "C" fn handler<const N: usize>(object: *mut usize, code: *mut c_int) {
    let (function, kind, language) = HANDLERS.lock().expect("nothing panics with the list")[N];
    // SAFETY: the program has registered a function with this signature.
    unsafe {
        let function: unsafe extern "C" fn(*mut Raw, *mut c_int, ...) = std::mem::transmute(function);
        let (mut object, mut code) = (handle_out(kind, *object), error_out(*code));
        if language == CallbackLanguage::Fortran {
            let mut object = fint_out(kind, object);
            return function(std::ptr::from_mut(&mut object).cast(), &mut code);
        }
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
    operation_of(function, CountType::Int)
}

/// Returns a function with the standard signature that calls the reduction function `function`, whose count has the type
/// `count_type`.
pub fn operation_of(function: usize, count_type: CountType) -> usize {
    if function == 0 {
        return 0;
    }
    let mut known = OPERATIONS.lock().expect("nothing panics with the list");
    let found = known.iter().position(|other| (other.0 == function && other.1 == count_type) || other.0 == 0);
    let index = found.unwrap_or_else(|| panic!("a program has more than {CALLBACKS} reduction functions"));
    (known[index].0, known[index].1) = (function, count_type);
    tables!(operation)[index]
}

/// Notes that the operation `operation` was created with the program's function `function`.
pub unsafe fn created_operation(function: usize, operation: Raw) {
    // SAFETY: the caller passes a new operation.
    unsafe { new_operation(operation) };
    let mut known = OPERATIONS.lock().expect("nothing panics with the list");
    if let Some(entry) = known.iter_mut().find(|other| other.0 == function && other.1 == CountType::Int) {
        entry.2 = operation;
    }
}

/// Returns a function with the standard signature that calls the error handler `function` of the program.
pub fn handler_in(kind: HandleClass, function: usize) -> usize {
    handler_of(kind, function, CallbackLanguage::C)
}

/// Returns a function with the standard signature that calls the error handler `function` in `language`.
pub fn handler_of(kind: HandleClass, function: usize, language: CallbackLanguage) -> usize {
    if function == 0 {
        return 0;
    }
    let mut known = HANDLERS.lock().expect("nothing panics with the list");
    let own = (function, kind, language);
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
    /// Functions that call the functions of the program, if these are not C code.
    proxies: Option<(CopyProxy, DeleteProxy)>,
}

/// Function that calls a copy function in another language. Its arguments are the copy function, handle, key, extra
/// state, type of the value, value, new value and flag.
pub type CopyProxy =
    unsafe extern "C" fn(usize, Raw, c_int, *mut c_void, c_int, *mut c_void, *mut c_void, *mut c_int) -> c_int;
/// Function that calls a delete function in another language. Its arguments are the delete function, handle, key, type
/// of the value, value and extra state.
pub type DeleteProxy = unsafe extern "C" fn(usize, Raw, c_int, c_int, *mut c_void, *mut c_void) -> c_int;

/// Type of attribute values that are address integers of Fortran.
const ADDRESS_VALUE: c_int = 1;

/// Makes `copy` and `delete` call the functions of the key `key`.
pub fn set_proxies(key: c_int, copy: CopyProxy, delete: DeleteProxy) {
    let keys = KEYS.lock().expect("nothing panics with the list");
    if let Some(&(_, at)) = keys.iter().rev().find(|known| known.0 == key) {
        // SAFETY: callbacks are never freed.
        unsafe { (*(at as *mut AttributeCallbacks)).proxies = Some((copy, delete)) };
    }
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
        let (handle, key) = (handle_out(of.kind, object), keyval_out(key));
        if let Some((copy, _)) = of.proxies {
            return error_in(copy(of.copy, handle, key, of.extra, ADDRESS_VALUE, value, new, flag));
        }
        let function: unsafe extern "C" fn(Raw, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int =
            std::mem::transmute(of.copy);
        error_in(function(handle, key, of.extra, value, new, flag))
    }
}

unsafe extern "C" fn delete_attribute(object: usize, key: c_int, value: *mut c_void, extra: *mut c_void) -> c_int {
    // SAFETY: as in `copy_attribute`.
    unsafe {
        let of = &*extra.cast::<AttributeCallbacks>();
        let (handle, key) = (handle_out(of.kind, object), keyval_out(key));
        if let Some((_, delete)) = of.proxies {
            return error_in(delete(of.delete, handle, key, ADDRESS_VALUE, value, of.extra));
        }
        let function: unsafe extern "C" fn(Raw, c_int, *mut c_void, *mut c_void) -> c_int =
            std::mem::transmute(of.delete);
        error_in(function(handle, key, value, of.extra))
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
    let extra: *mut AttributeCallbacks =
        Box::leak(Box::new(AttributeCallbacks { kind, copy, delete, extra, proxies: None }));
    let copy = match copy_kind(copy) {
        Some(constant) => constant,
        None => copy_attribute as *const () as usize,
    };
    let delete = if is_null_delete(delete) { 0 } else { delete_attribute as *const () as usize };
    // SAFETY: the function of mpi_api has this signature.
    unsafe {
        let function: unsafe extern "C" fn(usize, usize, *mut c_int, *mut c_void) -> c_int = std::mem::transmute(found);
        let code = function(copy, delete, key, extra.cast());
        if code == 0 {
            KEYS.lock().expect("nothing panics with the list").push((*key, extra as usize));
        }
        error_out(code)
    }
}

/// Functions and extra state of a generalised request.
pub struct GeneralisedCallbacks {
    pub query: unsafe extern "C" fn(*mut c_void, *mut RawStatus) -> c_int,
    pub free: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub cancel: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
    pub extra: *mut c_void,
    /// Handle of the request in the program.
    pub request: Raw,
}

/// Calls a function of a generalised request that is Fortran code.
macro_rules! fortran_request {
    ($function:expr, $($argument:expr),*) => {{
        let mut code = 0;
        let function: unsafe extern "C" fn(*mut c_void, ...) = std::mem::transmute($function);
        function($($argument,)* &raw mut code);
        code
    }};
}

pub unsafe extern "C" fn query_request(extra: *mut c_void, status: *mut Status) -> c_int {
    // SAFETY: `f_Grequest_start` has passed a generalised request as extra state.
    unsafe {
        let of = &*extra.cast::<GeneralisedCallbacks>();
        let mut own = RawStatus::default();
        own.set(&*status);
        let code = match is_fortran_request(of.request) {
            true => fortran_request!(of.query, of.extra, &raw mut own),
            false => (of.query)(of.extra, &mut own),
        };
        *status = own.standard();
        error_in(code)
    }
}

pub unsafe extern "C" fn free_request(extra: *mut c_void) -> c_int {
    // SAFETY: as in `query_request`. The library calls this function once and last.
    unsafe {
        let of = Box::from_raw(extra.cast::<GeneralisedCallbacks>());
        error_in(match is_fortran_request(of.request) {
            true => fortran_request!(of.free, of.extra),
            false => (of.free)(of.extra),
        })
    }
}

pub unsafe extern "C" fn cancel_request(extra: *mut c_void, complete: c_int) -> c_int {
    // SAFETY: as in `query_request`.
    unsafe {
        let of = &*extra.cast::<GeneralisedCallbacks>();
        let mut flag = complete;
        error_in(match is_fortran_request(of.request) {
            true => fortran_request!(of.cancel, of.extra, &raw mut flag),
            false => (of.cancel)(of.extra, complete),
        })
    }
}
