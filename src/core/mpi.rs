//! MPI on top of `rank`: communicators and collectives. Turns what an MPI program asks into point-to-point calls.

pub mod abi;
mod comm;
mod cost;
pub mod datatype;
pub mod fault;
mod group;
pub mod groups;
pub mod info;
mod library;
mod mover;
mod names;
mod nodes;
pub mod op;
mod process;
mod rules;
mod runner;
pub mod schedule;
mod selection;
mod staged;
pub mod topology;
mod tuning;

pub use comm::CommMember;
pub use cost::DataCost;
pub use group::{Group, Listing};
pub use library::{default_algorithm, methods, number_of, numbered};
pub use mover::{CalledData, Elements, Mover, NoData};
pub use names::{algorithm_word, collective_of, collective_word, non_blocking_name};
pub use process::{MpiDriver, Strand};
pub use rules::{check_rules, choose, fits, rule_size, suits};
pub use runner::{CalledCollective, Runner};
pub use schedule::suitable;
pub use selection::read_mpich_selection;
pub use tuning::{Rules, read_open_mpi_rules, write_open_mpi_rules};

use crate::platform::{Algorithm, Collective};
use crate::profile::{StepSource, TaskLog, TimerSums, Unwaited};
use crate::rank::{Call, CallSite, Envelope, Reply};
use crate::units::Bytes;

/// A rank's code in terms of MPI: point-to-point calls go straight to the engine, collectives through their schedules.
pub trait MpiProgram: Send {
    /// Takes the reply to the last action and gives the next.
    ///
    /// A blocking collective is answered by `Done`, a non-blocking one by `Started`.
    fn next(&mut self, reply: Reply<'_>) -> MpiCall;

    /// As [`MpiProgram::next`], in the form that is fast for point-to-point calls, which need not be wrapped and
    /// copied: a collective is put into `aside`, and the call returned is then of no account.
    #[inline]
    fn next_call(&mut self, reply: Reply<'_>, aside: &mut Aside) -> Call {
        match self.next(reply) {
            MpiCall::Call(call) => call,
            collective => {
                *aside = Some(Box::new(collective));
                Call::Yield
            }
        }
    }

    /// Where the program is, see [`crate::rank::Program::position`].
    fn position(&self) -> Option<String> {
        None
    }

    /// The call that it is in, see [`crate::rank::Program::call_name`].
    fn call_name(&self) -> Option<&'static str> {
        None
    }

    /// Where it makes its present call, see [`crate::rank::Program::site`].
    fn site(&self) -> CallSite {
        CallSite::Unknown
    }

    /// Where a step stands, see [`crate::rank::Program::step_name`].
    fn step_name(&self, step: u32) -> String {
        step.to_string()
    }

    /// The same with the file's name and the line, see [`crate::rank::Program::site_name`].
    fn site_name(&self, step: u32) -> String {
        self.step_name(step)
    }

    /// What a step does, see [`crate::rank::Program::step_source`].
    fn step_source(&self, step: u32) -> StepSource {
        let _ = step;
        StepSource::default()
    }

    /// See [`crate::rank::Program::sum_timers`].
    fn sum_timers(&self, sums: &mut TimerSums) {
        let _ = sums;
    }

    /// See [`crate::rank::Program::sum_unwaited`].
    fn sum_unwaited(&self, sums: &mut Unwaited) {
        let _ = sums;
    }

    /// See [`crate::rank::Program::sender`].
    fn sender(&self, sent: &Envelope, size: Bytes) -> Option<String> {
        let _ = (sent, size);
        None
    }

    /// See [`crate::rank::Program::task_log`].
    fn task_log(&mut self) -> Option<Box<TaskLog>> {
        None
    }
}

/// Where a program puts an action that is no mere call.
pub type Aside = Option<Box<MpiCall>>;

/// What an MPI program asks for.
#[derive(Debug)]
pub enum MpiCall {
    /// A call that needs no translation; ranks and contexts are the world's (see [`CommMember`]).
    Call(Call),
    /// A blocking collective.
    Collective(CollectiveCall),
    /// A non-blocking collective; its request goes into the waits of [`Call`].
    StartCollective(CollectiveCall),
}

/// Whether who calls a collective waits in it: libraries have algorithms of their own for those that do not block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallForm {
    /// It returns when the caller's part is done.
    Blocking,
    /// It gives a request, and goes on beside the caller (MPI-3.1, section 5.12).
    NonBlocking,
}

/// One rank's part in a collective.
#[derive(Clone, Debug)]
pub struct CollectiveCall {
    /// Which.
    pub collective: Collective,
    /// Among whom.
    pub comm: CommMember,
    /// The root's rank in `comm`; 0 where there is none.
    pub root: u32,
    /// How much data.
    pub sizes: Sizes,
    /// The algorithm, if the program insists; otherwise the platform's rules, then the defaults.
    pub algorithm: Option<Algorithm>,
}

/// The sizes of a collective's data.
///
/// | collective | `Same(s)` | `Each(v)` |
/// |---|---|---|
/// | barrier | ignored | – |
/// | bcast, reduce, allreduce, scan, exscan | the whole buffer | – |
/// | gather, scatter, allgather | one rank's block | – |
/// | gatherv | this rank's block | the block of each rank |
/// | scatterv | this rank's block | the block of each rank; only the root needs to give it |
/// | allgatherv, reduce_scatter | every rank's block | the block of each rank |
/// | alltoall | what each rank sends each | – |
/// | alltoallv | what this rank sends each | what this rank sends to each rank |
#[derive(Clone, Debug)]
pub enum Sizes {
    /// The same for all.
    Same(Bytes),
    /// One a rank of the communicator.
    Each(std::sync::Arc<[Bytes]>),
}
