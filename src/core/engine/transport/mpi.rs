//! Transport between workers in several processes, over MPI.
//!
//! The threads of a process meet as without MPI. Then the leader, which is the thread that started MPI
//! (MPI_THREAD_FUNNELED), exchanges with the leaders of the other processes on behalf of all threads. `link` implements
//! the leader; `arrivals` receives packages and `bulk_sender` sends early messages. `relay` passes packages between
//! threads and their leader. `wire` is the format of batches between processes.
#![allow(unsafe_code)]

mod arrivals;
mod bulk_sender;
mod link;
mod process_threads;
mod relay;
mod window;
mod wire;
mod world;

pub use process_threads::ProcessThreads;
pub use relay::{MpiTransport, ProcessExchange};
pub use window::HostWindow;
pub use world::{TransportWorld, end_all, leave, leave_soon};
