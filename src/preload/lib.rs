//! Library that the dynamic linker loads into each process of a program as built. It replaces functions of the C library
//! and redirects MPI libraries to those of mcpsim.
//!
//! The dynamic linker loads the library twice: as a preloaded library, whose functions precede those of the C library,
//! and as an audit library in a name space of its own.
#![allow(unsafe_code)]

mod audit;
mod c11;
mod clocks;
mod end;
mod identity;
mod next;
mod once;
mod openmp;
mod soname;
mod system_calls;
mod threads;
mod variables;
