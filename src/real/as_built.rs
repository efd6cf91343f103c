//! Ranks that are operating-system processes: MPI programs as built, with a library of mcpsim in place of their MPI
//! library.
//!
//! The program of a rank runs in a process of its own. The library in the process contains `mpi_api` and is cut at
//! [`Call`](mcpsim_core::rank::Call) and [`Reply`](mcpsim_core::rank::Reply): where a fiber would be suspended, the
//! process writes its calls to memory that it shares with the simulator, and waits for the reply.
//!
//! ```text
//!   program ─▶ MPI function of its ABI ─▶ mpi_api ─▶ attach ══ memory, wire ══▶ remote (a `Program`) ─▶ engine
//! ```
//!
//! Process and simulator alternate strictly. A process continues after calls that need no reply, such as sends; the
//! simulator reads these calls when it gets control.

mod attach;
mod children;
mod connection;
mod crashed;
mod foreign;
mod fork;
mod gate;
mod launch;
mod memory;
mod output;
mod own_process;
mod pinned;
mod reader;
mod remote;
mod setup;
mod sync;
mod tasks;
mod threads;
mod wire;
mod writer;

pub use attach::{attach, attached, needs_rank};
pub use foreign::{ForeignProgram, MpiLibrary};
pub use launch::{LaunchError, Launched, Launcher};
pub use pinned::Pinned;
pub use setup::RankSetup;
pub use threads::charge;
