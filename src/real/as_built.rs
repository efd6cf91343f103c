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
//! A process continues after calls that need no reply, such as sends. The simulator reads these calls later. At any
//! time either the process or the simulator uses the memory of a rank (`memory::ProcessTurn`). The simulator may pass
//! three messages to a process that waits: the reply to its last call, a one-sided operation, or a reply to a strand.
//! The process answers the last two, and waits again.
//!
//! With several workers or several cores per rank, the process and the simulator alternate: a process waits for the
//! reply to each receive. Otherwise the ranks run ahead of virtual time (`ahead`). A receive from a certain source ends
//! as soon as the sender has written the message to the memory of the receiver (`early`), and the process continues.
//! The simulator waits until all processes have stopped. It then executes their calls in the order of virtual time, and
//! checks that it matches the same messages as the processes did. A rank waits for the simulator in calls whose result
//! depends on time, such as tests, receives from any source and reads of the clock, and in all waits if its threads
//! have clocks of their own.

mod ahead;
mod attach;
mod children;
mod connection;
mod crashed;
mod early;
mod foreign;
mod fork;
mod futex;
mod gate;
mod launch;
mod memory;
mod output;
mod own_process;
mod pinned;
mod reader;
mod remote;
mod setup;
mod strands;
mod sync;
mod tasks;
mod threads;
mod watch;
mod wire;
mod writer;

pub use attach::{attach, attached, begin_conversion, end_conversion, needs_rank};
pub use foreign::{ForeignProgram, MpiLibrary};
pub use launch::{LaunchError, Launched, Launcher};
pub use pinned::Pinned;
pub use setup::RankSetup;
pub use threads::charge;
