//! Foundation of all other packages: units, input files, the target machine as values, statistics of a run, and the
//! interface between ranks and the engine.
//!
//! The modules are listed in the order of their dependence: a module uses only those above it.

#[cfg(test)]
extern crate self as mcpsim_base;
#[cfg(test)]
#[path = "../../tests/test_support/lib.rs"]
#[allow(dead_code, reason = "other packages use the rest")]
mod test_support;

pub mod units;

pub mod config;

pub mod platform;

pub mod profile;

pub mod rank;
