//! Messages between the host processes of a simulation, over the MPI library of the host.
//!
//! This package does not know the content of the messages. It is the only one, besides the measurements of `cli`, that
//! an MPI library and libclang are needed for. Without the feature `mpi` it is empty.
#![cfg(feature = "mpi")]
#![allow(unsafe_code)]

mod end;
mod network;
mod window;

pub use end::{end_all, leave, leave_soon};
pub use network::MpiNetwork;
pub use window::HostWindow;
