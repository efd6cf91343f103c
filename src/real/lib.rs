//! Runs MPI programs in mcpsim from their sources. Real C and C++ sources are compiled, and the compiled program is
//! loaded once per rank. Each rank runs its own instance of the program with a simulated C library and a simulated
//! MPI.
//!
//! The crate `real` contains neither a command line nor studies. Programs that use mcpsim as a library use the crate
//! `mcpsim`, which re-exports the modules of the crate `real` and of the simulator.
//!
//! The list of modules follows the order of dependencies. A module uses only the modules above it in the list.

pub mod loader;

pub mod cc;

pub mod process;

pub mod mpi_api;

pub mod as_built;
