//! Replacements of C library functions whose effects or state ranks must not share: program end, time, standard
//! streams, environment, signals, identity and working directory.
//!
//! Programs call the replacements instead of the functions of the C library, because all ranks run in one host
//! process. On threads that a program starts, the clock functions return the real time.
#![allow(unsafe_code)]

mod affinity;
mod by_number;
mod children;
mod cwd_umask;
mod deadlines;
mod descriptors;
mod end;
mod environment;
mod files;
mod floats;
mod futex;
mod identity;
mod input;
mod keys;
mod locales;
mod locks;
mod mappings;
mod names;
mod output;
mod pending;
mod poll;
mod refused;
mod rlimits;
mod shared_sync;
mod signals;
mod streams;
mod teams;
mod threads;
mod time;

use std::cell::Cell;
use std::ffi::c_int;

use crate::process::NamedFunction;
use crate::process::call_tree;
use crate::process::folded;
use crate::process::kernels;
use crate::process::sample;
use crate::process::{Process, current};
use mcpsim_core::rank::FailureKind;

pub use cwd_umask::count_thread;
pub use cwd_umask::enter;
pub use descriptors::protect_open;
pub use environment::{environment, set_default_threads, set_environment, set_variables};
pub use files::raise_limits;
pub use futex::Futexes;
pub use identity::ProcessNumbers;
pub use output::survive_size_limit;
pub use signals::{FaultAction, fault_action};
pub use streams::{close_streams, flush, open_streams};
pub use threads::threads_were_started;
pub use time::EPOCH_SECONDS;

/// Tables of the replacement functions in the submodules of `clib`.
const FUNCTIONS: [&[NamedFunction]; 32] = [
    affinity::FUNCTIONS,
    call_tree::FUNCTIONS,
    by_number::FUNCTIONS,
    children::FUNCTIONS,
    deadlines::FUNCTIONS,
    descriptors::FUNCTIONS,
    end::FUNCTIONS,
    environment::FUNCTIONS,
    files::FUNCTIONS,
    floats::FUNCTIONS,
    folded::FUNCTIONS,
    identity::FUNCTIONS,
    input::FUNCTIONS,
    kernels::FUNCTIONS,
    keys::FUNCTIONS,
    locales::FUNCTIONS,
    locks::FUNCTIONS,
    mappings::FUNCTIONS,
    names::FUNCTIONS,
    output::FUNCTIONS,
    pending::FUNCTIONS,
    cwd_umask::FUNCTIONS,
    refused::FUNCTIONS,
    shared_sync::FUNCTIONS,
    rlimits::FUNCTIONS,
    sample::FUNCTIONS,
    poll::FUNCTIONS,
    signals::FUNCTIONS,
    streams::FUNCTIONS,
    teams::FUNCTIONS,
    threads::FUNCTIONS,
    time::FUNCTIONS,
];

/// Returns the address of the replacement of the C library function `name`.
pub fn find(name: &str) -> Option<usize> {
    let found = FUNCTIONS.iter().flat_map(|table| table.iter()).find(|(known, _)| *known == name);
    found.map(|(_, function)| function.0 as usize)
}

/// Ends the rank, because a library that the rank has opened cannot be loaded.
pub fn refuse(error: &dyn std::fmt::Display) {
    if let Some(p) = current() {
        p.fail_at("dlopen".to_owned(), FailureKind::Error, error.to_string());
    }
}

/// Variables of the C library that exist once per rank.
#[derive(Debug, Default)]
pub struct Variables {
    streams: streams::Streams,
    environment: environment::Environment,
    signals: signals::Signals,
    end: end::AtQuickExit,
    place: cwd_umask::FileContext,
    locale: locales::Locale,
    /// True if the rank has changed its working directory, umask or locale.
    surroundings: Cell<bool>,
    pipes: children::Pipes,
    affinity: affinity::Affinity,
    keys: keys::Keys,
    waits: files::Waits,
    data_end: mappings::Break,
}

impl Variables {
    /// Exchanges the host thread's C library state with the rank's state, if the rank has changed its C library
    /// state. `swap` is called whenever the rank's code is resumed or suspended on the host thread.
    #[inline(always)]
    pub fn swap(&self) {
        if self.surroundings.get() {
            self.exchange();
        }
    }

    #[cold]
    fn exchange(&self) {
        self.place.swap();
        if self.locale.is_own() {
            self.locale.exchange();
        }
    }

    /// Marks that [`Variables::swap`] must exchange the rank's working directory, umask and locale.
    fn has_surroundings(&self) {
        self.surroundings.set(true);
    }
}

/// Names of C library variables that exist once per rank.
pub const VARIABLES: [&str; 6] = ["stdin", "stdout", "stderr", "environ", "__environ", "_environ"];

/// Returns the address of the C library variable `name` of the rank `p`.
pub fn data(p: &Process, name: &str) -> Option<usize> {
    match name {
        "stdin" => Some(p.variables.streams.address(0)),
        "stdout" => Some(p.variables.streams.address(1)),
        "stderr" => Some(p.variables.streams.address(2)),
        "environ" | "__environ" | "_environ" => Some(p.variables.environment.address()),
        _ => None,
    }
}

/// Sets `errno` to `number` and returns -1, which is the result of C library functions that fail.
pub fn error(number: c_int) -> c_int {
    // SAFETY: `__errno_location` returns a valid pointer to the `errno` of the current thread.
    unsafe { *libc::__errno_location() = number };
    -1
}
