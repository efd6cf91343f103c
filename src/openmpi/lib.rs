//! Library that replaces Open MPI 4 for programs as built. mcpsim preloads it into the process of each rank.
#![allow(unsafe_code, missing_docs, non_snake_case, non_upper_case_globals)]
#![allow(clippy::all)]

mod abi;
mod callbacks;
mod convert;
mod interpose;
mod special;

mod functions {
    use std::ffi::{c_char, c_int, c_void};
    use std::sync::atomic::AtomicUsize;

    use mcpsim_core::mpi::abi::Status;

    use crate::abi::*;
    use crate::callbacks::*;
    use crate::convert::*;
    use crate::special::{contents_out, settle};

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
}
