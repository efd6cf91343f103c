//! The floating-point environment (`<fenv.h>`): the C library's functions, before which is noted that the rank has one
//! of its own.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::process::{Function, NamedFunction, Process, current};

/// As the mathematical library has them.
mod host {
    use super::{c_int, c_void};

    #[link(name = "m")]
    unsafe extern "C" {
        pub fn feclearexcept(which: c_int) -> c_int;
        pub fn fedisableexcept(which: c_int) -> c_int;
        pub fn feenableexcept(which: c_int) -> c_int;
        pub fn fegetenv(to: *mut c_void) -> c_int;
        pub fn fegetexceptflag(to: *mut c_void, which: c_int) -> c_int;
        pub fn feholdexcept(to: *mut c_void) -> c_int;
        pub fn feraiseexcept(which: c_int) -> c_int;
        pub fn fesetenv(from: *const c_void) -> c_int;
        pub fn fesetexceptflag(from: *const c_void, which: c_int) -> c_int;
        pub fn fesetmode(from: *const c_void) -> c_int;
        pub fn fesetround(how: c_int) -> c_int;
        pub fn fetestexcept(which: c_int) -> c_int;
        pub fn feupdateenv(from: *const c_void) -> c_int;
    }
}

macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        pub const FUNCTIONS: &[NamedFunction] = &[$((stringify!($name), Function($name as *const ()))),*];

        $(
            unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
                current().inspect(|p: &&Process| p.keep_floats());
                // SAFETY: the caller's arguments.
                unsafe { host::$name($($argument),*) }
            }
        )*
    };
}

functions! {
    feclearexcept(which: c_int);
    fedisableexcept(which: c_int);
    feenableexcept(which: c_int);
    fegetenv(to: *mut c_void);
    fegetexceptflag(to: *mut c_void, which: c_int);
    feholdexcept(to: *mut c_void);
    feraiseexcept(which: c_int);
    fesetenv(from: *const c_void);
    fesetexceptflag(from: *const c_void, which: c_int);
    fesetmode(from: *const c_void);
    fesetround(how: c_int);
    fetestexcept(which: c_int);
    feupdateenv(from: *const c_void);
}
