//! The MPI functions of the library, which the build generates, and functions that mcpsim does not have.
#![allow(non_snake_case, clippy::all)]

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::AtomicUsize;

use mcpsim_core::mpi::abi::Status;
use mcpsim_real::as_built::{begin_conversion, end_conversion, needs_rank};

use crate::abi::*;
use crate::callbacks::*;
use crate::convert::*;
use crate::special::*;

macro_rules! absent {
    ($name:ident $profiling:ident) => {
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> c_int {
            absent(stringify!($name))
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $profiling() -> c_int {
            absent(stringify!($name))
        }
    };
}

macro_rules! c2f {
    ($name:ident $profiling:ident $class:ident) => {
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(handle: Raw) -> c_int {
            fint_out(HandleClass::$class, handle)
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $profiling(handle: Raw) -> c_int {
            fint_out(HandleClass::$class, handle)
        }
    };
}

macro_rules! f2c {
    ($name:ident $profiling:ident $class:ident) => {
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(handle: c_int) -> Raw {
            fint_in(HandleClass::$class, handle)
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $profiling(handle: c_int) -> Raw {
            fint_in(HandleClass::$class, handle)
        }
    };
}

/// Queries of extensions. mcpsim has no extensions.
macro_rules! nothing {
    ($name:ident $profiling:ident) => {
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> c_int {
            0
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $profiling() -> c_int {
            0
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/functions.rs"));
