//! Real MPI programs: an unmodified C or C++ program as a [`crate::rank::Program`].
//!
//! `cc` wraps the compiler; `image` loads a program once a rank, each with globals of its own; `process` is a rank as its
//! MPI functions see it, `calls` are these functions; `libc` are the functions of the C library that a rank must not share.
#![allow(unsafe_code)]

pub mod abi;
pub mod cc;
pub mod datatype;
pub mod fault;
pub mod group;
pub mod image;
pub mod info;
pub mod libc;
pub mod op;
pub mod topology;
