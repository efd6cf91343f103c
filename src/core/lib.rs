//! The simulator inside mcpsim: a machine as values, ranks, the engine that brings their calls into the order of
//! virtual time, MPI as messages, traces, and described applications.
//!
//! It knows no real programs, no command line and no studies. Programs that use mcpsim as a library take the crate
//! `mcpsim`, which has these modules and those above them.
//!
//! The modules are listed in the order of their dependence: a module uses only those above it.

pub mod units;

pub mod config;

pub mod platform;

pub mod profile;

pub mod rank;

pub mod engine;

pub mod mpi;

pub mod trace;

pub mod app;
