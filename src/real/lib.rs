//! Runs real MPI programs in mcpsim. C and C++ sources are compiled, and the compiled program is loaded once per rank.
//! Each rank runs its own instance of the program with a simulated C library and a simulated MPI.
//!
//! This crate contains neither a command line nor studies. Programs that use mcpsim as a library use the crate
//! `mcpsim`, which re-exports the modules of this crate and of the simulator.
//!
//! The modules are listed in the order of their dependencies. A module uses only the modules above it in the list.

pub mod loader;

pub mod cc;

pub mod process;

pub mod mpi_api;
