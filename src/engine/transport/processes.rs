//! Exchange of events between workers in several host processes, over a [`HostNetwork`].
//!
//! The threads of a host process meet at a barrier, as without MPI. Then the leader, which is the thread that created
//! the network, exchanges packages with the leaders of the other host processes on behalf of all threads of its host
//! process. `link` implements the leader; `arrivals` receives packages, and `bulk_sender` sends messages of ranks that
//! run ahead. `relay` passes packages between the threads of a host process and their leader. `wire` defines the format
//! of batches between host processes.
#![allow(unsafe_code)]

mod arrivals;
mod bulk_sender;
mod link;
mod network;
mod process_threads;
mod relay;
mod wire;
mod world;

pub use link::merge_words;
pub use network::{HostNetwork, HostReduction, HostRequest};
pub use process_threads::ProcessThreads;
pub use relay::{ProcessExchange, ProcessTransport};
pub use world::TransportWorld;
