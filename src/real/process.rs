//! Runs an unmodified C or C++ program as a simulated rank, which is a [`mcpsim_core::rank::Program`] of the
//! simulation engine. The module `process` does not depend on the MPI functions.
//!
//! `rank` contains the state that the rank's code uses, and `program` implements the interface of a rank to the
//! simulation engine. `ask` sends calls from the rank's code to the simulation engine. `job` contains the state that
//! all ranks share. `timer` and `sample` measure the cost of code. `clib` replaces functions of the C library that
//! ranks must not share. `crash` and `unwind` report the position of a rank. `heap` provides heap memory whose bounds
//! are checked. `folded` provides memory that all ranks share. The module `mpi_api` provides the MPI functions to the loader and attaches the per-rank MPI state
//! through [`Interface`].

pub(crate) mod ask;
mod call_tree;
mod checks;
pub(crate) mod clib;
mod counts;
pub(crate) mod crash;
pub(crate) mod folded;
mod function;
pub(crate) mod heap;
pub(crate) mod job;
mod kernels;
mod launched;
mod outermost;
mod polling;
mod program;
mod rank;
mod sample;
mod signature;
mod string_list;
mod task;
pub(crate) mod team;
mod timer;
pub(crate) mod unwind;

pub use checks::{CollectiveRecord, ComparedArguments, PeerSignatures};
pub use clib::{
    EPOCH_SECONDS, ProcessNumbers, find as replacement, set_default_threads, set_variables, survive_size_limit,
};
pub use counts::CurrentCall;
pub use crash::running as running_ranks;
pub(crate) use crash::{GivenMemory, RemoteAccess};
pub use folded::ShareMemory;
pub use function::{Function, NamedFunction};
pub use job::{
    Buffering, Checks, ComputeMode, Endings, HostClock, Job, JobOptions, JobProgram, Output, RanksAs, StartMethod,
    Started, Stream, on_fatal,
};
pub use kernels::{KERNELS, KernelRates, KernelTable, PRECISIONS};
pub use launched::{SIMULATED_RANK, environment as launched_environment, variables as launched_variables};
pub(crate) use outermost::outermost;
pub use program::RealProgram;
pub use rank::{Interface, Process, ProgramMemory, RankStage};
pub(crate) use rank::{bytes, current, current_as, put_text, run_as, run_as_nobody, text, with_current};
pub use signature::Signature;
pub use task::{RankCores, TaskContext};
pub(crate) use timer::{use_host_clock, wall};
