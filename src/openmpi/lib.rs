//! Library that replaces Open MPI 4 for programs as built. The processes of ranks load it instead of their MPI library.
#![allow(unsafe_code)]

mod abi;
mod callbacks;
mod convert;
mod fortran;
mod fortran_attributes;
mod functions;
mod indices;
mod objects;
mod special;
