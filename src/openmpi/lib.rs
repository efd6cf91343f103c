//! Library that replaces Open MPI 4 for programs as built. mcpsim preloads it into the process of each rank.
#![allow(unsafe_code)]

mod abi;
mod callbacks;
mod convert;
mod functions;
mod interpose;
mod special;
