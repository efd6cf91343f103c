//! What a rank must not share of the C library: its end, its time, its standard streams, its environment, its signals, who and
//! where it is.
//!
//! These functions replace the C library's in programs. All ranks live in one process: its working directory and the mask of
//! new files' rights (umask) stay common to them, and a program that starts threads has the real clock on these.
#![allow(unsafe_code)]

mod deadlines;
mod end;
mod environment;
mod floats;
mod identity;
mod signals;
mod streams;
mod time;

use std::ffi::c_int;

use crate::process::Known;
use crate::process::sample;
use crate::process::{Process, current};
use crate::rank::FailureKind;

pub use environment::{environment, set_default_threads, set_environment, set_variables};
pub use streams::{close_streams, flush, open_streams};

/// The tables of this module's files.
const FUNCTIONS: [&[Known]; 9] = [
    deadlines::FUNCTIONS,
    end::FUNCTIONS,
    environment::FUNCTIONS,
    floats::FUNCTIONS,
    identity::FUNCTIONS,
    sample::FUNCTIONS,
    signals::FUNCTIONS,
    streams::FUNCTIONS,
    time::FUNCTIONS,
];

/// The address of the function `name`, if it is one of these.
pub fn find(name: &str) -> Option<usize> {
    let found = FUNCTIONS.iter().flat_map(|table| table.iter()).find(|(known, _)| *known == name);
    found.map(|(_, function)| function.0 as usize)
}

/// A library that the rank has opened cannot be loaded: ends the rank.
pub fn refuse(error: &dyn std::fmt::Display) {
    if let Some(p) = current() {
        p.fail_at("dlopen".to_owned(), FailureKind::Error, error.to_string());
    }
}

/// A rank's variables of the C library.
#[derive(Debug, Default)]
pub struct Variables {
    streams: streams::Streams,
    environment: environment::Environment,
    signals: signals::Signals,
    end: end::AtQuickExit,
}

/// Variables of the C library of which each rank has its own.
pub const VARIABLES: [&str; 6] = ["stdin", "stdout", "stderr", "environ", "__environ", "_environ"];

/// The address of the variable `name` that `p` owns.
pub fn data(p: &Process, name: &str) -> Option<usize> {
    match name {
        "stdin" => Some(p.variables.streams.address(0)),
        "stdout" => Some(p.variables.streams.address(1)),
        "stderr" => Some(p.variables.streams.address(2)),
        "environ" | "__environ" | "_environ" => Some(p.variables.environment.address()),
        _ => None,
    }
}

/// A function's result that stands for an error.
fn error(number: c_int) -> c_int {
    // SAFETY: the location is the thread's own.
    unsafe { *libc::__errno_location() = number };
    -1
}
