//! Workers in several processes, over MPI.
//!
//! The threads of a process meet as they do without MPI; then one of them, the leader, which is the thread that started
//! MPI (MPI_THREAD_FUNNELED), exchanges with the leaders of the other processes for all. `link` is what leaders do,
//! with `arrivals` and early messages by `courier`, `relay` how threads and their leader hand each other things, `wire`
//! the form in which batches travel.
#![allow(unsafe_code)]

mod arrivals;
mod courier;
mod link;
mod relay;
mod team;
mod window;
mod wire;
mod world;

pub use relay::{MpiTransport, ProcessExchange};
pub use team::Team;
pub use window::HostWindow;
pub use world::{World, end_all, leave, leave_soon};
