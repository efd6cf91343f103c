//! Real MPI programs: an unmodified C or C++ program as a [`crate::rank::Program`].
//!
//! `cc` wraps the compiler; `image` loads a program once a rank, each with globals of its own; `process` is a rank as its
//! MPI functions see it, `calls` are these functions; `clib` are the functions of the C library that a rank must not share.
#![allow(unsafe_code)]

pub mod abi;
mod ask;
mod attribute;
mod calls;
pub mod cc;
mod clib;
mod collective;
mod comm;
mod crash;
pub mod datatype;
mod error;
mod fault;
mod group;
mod handler;
mod handles;
mod held;
pub mod image;
mod info;
mod job;
mod leaks;
pub mod op;
mod payloads;
mod polling;
mod process;
mod program;
mod request;
mod sample;
mod timer;
mod topology;
mod types;
mod unwind;
mod window;

pub use clib::{set_default_threads, set_variables};
pub use image::ImageError;
pub use job::{ComputeMode, Endings, HostClock, Job, JobOptions, Output, Started, Stream, on_fatal};
pub use program::RealProgram;

use std::path::Path;

/// Opens the program at `path`, which `mcpsim cc` made.
///
/// # Errors
/// What is wrong with the file, and functions that nobody has.
pub fn open(path: &Path) -> Result<image::Image, image::ImageError> {
    image::Image::open(path, &clib::Host)
}
