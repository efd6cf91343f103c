//! What a rank must not share of the C library: its end, its time, its standard streams, its environment, its signals,
//! who and where it is.
//!
//! These functions replace the C library's in programs. All ranks live in one process. A program that starts threads
//! has the real clock on these.
#![allow(unsafe_code)]

mod alarms;
mod allocation;
mod by_number;
mod children;
mod cwd_umask;
mod deadlines;
mod descriptors;
mod end;
mod environment;
mod exec;
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
mod reap;
mod rlimits;
mod scheduling;
mod shared_sync;
mod signals;
mod streams;
mod teams;
mod threads;
mod time;
mod users;
mod zones;

use std::cell::Cell;
use std::ffi::c_int;

use crate::process::NamedFunction;
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

/// The tables of this module's files.
const FUNCTIONS: [&[NamedFunction]; 34] = [
    alarms::FUNCTIONS,
    allocation::FUNCTIONS,
    shared_sync::FUNCTIONS,
    by_number::FUNCTIONS,
    children::FUNCTIONS,
    deadlines::FUNCTIONS,
    descriptors::FUNCTIONS,
    end::FUNCTIONS,
    environment::FUNCTIONS,
    exec::FUNCTIONS,
    files::FUNCTIONS,
    floats::FUNCTIONS,
    identity::FUNCTIONS,
    input::FUNCTIONS,
    keys::FUNCTIONS,
    locales::FUNCTIONS,
    locks::FUNCTIONS,
    mappings::FUNCTIONS,
    names::FUNCTIONS,
    output::FUNCTIONS,
    pending::FUNCTIONS,
    cwd_umask::FUNCTIONS,
    reap::FUNCTIONS,
    rlimits::FUNCTIONS,
    sample::FUNCTIONS,
    scheduling::FUNCTIONS,
    poll::FUNCTIONS,
    signals::FUNCTIONS,
    streams::FUNCTIONS,
    teams::FUNCTIONS,
    threads::FUNCTIONS,
    time::FUNCTIONS,
    users::FUNCTIONS,
    zones::FUNCTIONS,
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
    place: cwd_umask::FileContext,
    locale: locales::Locale,
    /// Whether the rank has a place or a locale of its own.
    surroundings: Cell<bool>,
    pipes: children::Pipes,
    children: reap::Children,
    limits: rlimits::RankLimits,
    scheduling: scheduling::Scheduling,
    zones: zones::Zones,
    keys: keys::Keys,
    waits: files::Waits,
    data_end: mappings::Break,
}

impl Variables {
    /// The rank's code begins to run on this thread, or stops.
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

    /// Threads that run the rank's code are to be given what it has of its own.
    fn has_surroundings(&self) {
        self.surroundings.set(true);
    }
}

/// Variables of the C library of which each rank has its own.
pub const VARIABLES: [&str; 12] = [
    "stdin",
    "stdout",
    "stderr",
    "environ",
    "__environ",
    "_environ",
    "tzname",
    "__tzname",
    "timezone",
    "__timezone",
    "daylight",
    "__daylight",
];

/// The address of the variable `name` that `p` owns.
pub fn data(p: &Process, name: &str) -> Option<usize> {
    match name {
        "stdin" => Some(p.variables.streams.address(0)),
        "stdout" => Some(p.variables.streams.address(1)),
        "stderr" => Some(p.variables.streams.address(2)),
        "environ" | "__environ" | "_environ" => Some(p.variables.environment.address()),
        "tzname" | "__tzname" | "timezone" | "__timezone" | "daylight" | "__daylight" => {
            Some(p.variables.zones.address(name))
        }
        _ => None,
    }
}

/// A function's result that stands for an error.
pub fn error(number: c_int) -> c_int {
    // SAFETY: the location is the thread's own.
    unsafe { *libc::__errno_location() = number };
    -1
}
