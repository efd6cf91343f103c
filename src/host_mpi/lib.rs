//! Messages between the host processes of a simulation, over the MPI library of the host.
//!
//! The package `host_mpi` does not interpret the messages. Besides the measurements of the package `cli`, only the
//! package `host_mpi` needs an MPI library and libclang. Without the feature `mpi` the package is empty.
#![cfg(feature = "mpi")]
#![allow(unsafe_code)]

mod end;
mod network;
mod window;

pub use end::{end_all, leave, leave_soon};
pub use network::MpiNetwork;
pub use window::HostWindow;
