//! Workers in several processes, over MPI.
//!
//! The threads of a process meet as they do without MPI; then one of them, the leader, which is the thread that started
//! MPI (MPI_THREAD_FUNNELED), exchanges with the leaders of the other processes for all. `link` is what leaders do,
//! with `arrivals` and early messages by `bulk_sender`, `relay` how threads and their leader hand each other things, `wire`
//! the form in which batches travel.
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
