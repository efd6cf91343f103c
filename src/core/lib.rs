//! The simulator core of mcpsim: the machine as values, ranks, the engine that orders their calls by virtual time, MPI as
//! messages, traces, and described applications.
//!
//! This crate does not contain real programs, the command line or studies. Programs that use mcpsim as a library depend on
//! the crate `mcpsim`, which re-exports these modules and adds the others.
//!
//! The modules are listed in the order of their dependence: a module uses only those above it.

#[cfg(test)]
extern crate self as mcpsim_core;
#[cfg(test)]
#[path = "../../tests/test_support/lib.rs"]
#[allow(dead_code, reason = "other packages use the rest")]
mod test_support;

pub mod units;

pub mod config;

pub mod platform;

pub mod profile;

pub mod rank;

pub mod engine;

pub mod mpi;

pub mod trace;

pub mod app;
