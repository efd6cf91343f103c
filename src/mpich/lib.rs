//! Library that replaces MPICH for programs as built. mcpsim preloads it into the process of each rank.
#![allow(unsafe_code)]

mod abi;
#[path = "../openmpi/callbacks.rs"]
mod callbacks;
#[path = "../openmpi/convert.rs"]
mod convert;
#[path = "../openmpi/functions.rs"]
mod functions;
#[path = "../openmpi/interpose.rs"]
mod interpose;
#[path = "../openmpi/special.rs"]
mod special;
