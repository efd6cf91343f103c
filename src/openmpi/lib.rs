//! Library that replaces Open MPI 4 for programs as built. The processes of ranks load it instead of their MPI library.
#![allow(unsafe_code)]

mod abi;
mod callbacks;
mod convert;
mod functions;
mod indices;
#[allow(dead_code)]
mod objects;
mod special;
