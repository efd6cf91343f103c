//! The simulator of mcpsim: traces and described applications, and the modules of the packages below.
//!
//! This crate does not contain real programs, the command line or studies. Programs that use mcpsim as a library depend on
//! the crate `mcpsim`, which re-exports these modules and adds the others.
//!
//! The modules are listed in the order of their dependence: a module uses only those above it.

pub use mcpsim_base::{config, platform, profile, rank, units};

pub use mcpsim_engine as engine;

pub use mcpsim_mpi as mpi;

pub mod trace;

pub mod app;
