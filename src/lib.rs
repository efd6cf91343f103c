//! mcpsim predicts how long an MPI program would take on a multi-core cluster, and why.
//!
//! The modules below are listed in the order of their dependence: a module uses only those above it
//! (`tests/tidy.rs` holds them to it). ARCHITECTURE.md draws the whole.

pub mod units;

pub mod config;

pub mod platform;

pub mod profile;

pub mod rank;

pub mod engine;

pub mod mpi;

pub mod trace;

pub mod app;

pub mod loader;

pub mod cc;

pub mod process;

pub mod mpi_api;

pub mod study;

pub mod measure;

pub mod report;

pub mod cli;
