//! A rank as real code: an unmodified C or C++ program as a [`mcpsim_core::rank::Program`], whatever its MPI functions are.
//!
//! `rank` is a rank as its code sees it, `program` as the engine sees it, `ask` how the one asks the other, and `job`
//! what all ranks share. `timer` and `sample` tell what code costs. `clib` are the functions of the C library that
//! ranks must not share; `crash` and `unwind` say where a rank was. `heap` is the
//! memory of ranks where writes beside blocks are looked for. The MPI functions stand above: what the loader is
//! to find of them is given from there, and what they keep of a rank comes in through [`Interface`].

pub(crate) mod ask;
mod checks;
pub(crate) mod clib;
pub(crate) mod crash;
mod function;
pub(crate) mod heap;
pub(crate) mod job;
mod launched;
mod outermost;
mod polling;
mod program;
mod rank;
mod sample;
mod signature;
mod timer;
pub(crate) mod unwind;

pub use checks::{CollectiveRecord, ComparedArguments, PeerSignatures};
pub use clib::{ProcessNumbers, set_default_threads, set_variables, survive_size_limit};
pub use crash::running as running_ranks;
pub(crate) use crash::{GivenMemory, RemoteAccess};
pub use function::{Function, NamedFunction};
pub use job::{
    Buffering, Checks, ComputeMode, Endings, HostClock, Job, JobOptions, JobProgram, Output, Started, Stream, on_fatal,
};
pub use launched::SIMULATED_RANK;
pub(crate) use outermost::outermost;
pub use program::RealProgram;
pub use rank::{Interface, Process, ProgramMemory, RankStage};
pub(crate) use rank::{bytes, current, current_as, put_text, run_as, run_as_nobody, text};
pub use signature::Signature;
