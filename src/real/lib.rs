//! Real programs inside mcpsim: C and C++ sources are compiled, the result is loaded once a rank, and each rank runs it
//! with a C library and an MPI of its own.
//!
//! It knows no command line and no studies. Programs that use mcpsim as a library take the crate `mcpsim`, which has
//! these modules beside those of the simulator.
//!
//! The modules are listed in the order of their dependence: a module uses only those above it.

pub mod loader;

pub mod cc;

pub mod process;

pub mod mpi_api;
