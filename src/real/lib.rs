//! Real programs in mcpsim: C and C++ sources are compiled, the result is loaded once per rank, and each rank runs its
//! instance with a simulated C library and MPI.
//!
//! This crate contains neither a command line nor studies. Programs that use mcpsim as a library use the crate
//! `mcpsim`, which re-exports these modules and those of the simulator.
//!
//! The modules are listed in the order of their dependencies: a module uses only those above it.

pub mod loader;

pub mod cc;

pub mod process;

pub mod mpi_api;
