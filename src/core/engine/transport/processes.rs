//! Transport between workers in several processes, over a [`HostNetwork`].
//!
//! The threads of a process meet as without MPI. Then the leader, which is the thread that created
//! the network, exchanges with the leaders of the other processes on behalf of all threads. `link` implements
//! the leader; `arrivals` receives packages and `bulk_sender` sends early messages. `relay` passes packages between
//! threads and their leader. `wire` is the format of batches between processes.
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
