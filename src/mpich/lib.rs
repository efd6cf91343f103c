//! Library that replaces MPICH for programs as built. The processes of ranks load it instead of their MPI library.
#![allow(unsafe_code)]

mod abi;
#[path = "../openmpi/callbacks.rs"]
mod callbacks;
#[path = "../openmpi/convert.rs"]
mod convert;
mod fortran;
#[path = "../openmpi/functions.rs"]
mod functions;
#[path = "../openmpi/special.rs"]
mod special;
