//! Library that replaces MPI libraries with the standard binary interface of MPI 5 for programs as built. The processes of
//! ranks load it instead of their MPI library.
#![allow(unsafe_code)]

mod abi;
#[allow(dead_code)]
#[path = "../openmpi/callbacks.rs"]
mod callbacks;
#[path = "../openmpi/convert.rs"]
mod convert;
#[path = "../openmpi/functions.rs"]
mod functions;
mod handles;
#[path = "../openmpi/special.rs"]
mod special;
