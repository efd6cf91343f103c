//! Implements MPI on top of the module `rank`: communicators, and the translation of collectives into point-to-point
//! calls.

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
pub use tuning::{AppliedRules, Rules, read_open_mpi_rules, write_open_mpi_rules};

use mcpsim_base::platform::{Algorithm, Collective};
use mcpsim_base::rank::{Call, Describe, Reply};
use mcpsim_base::units::Bytes;

/// The code of one simulated MPI rank as a sequence of MPI calls. The engine receives point-to-point calls unchanged.
/// [`MpiDriver`] replaces a collective call by the point-to-point calls of the collective's algorithm.
pub trait MpiProgram: Describe + Send {
    /// Takes the engine's reply to the last action of the MPI program and returns the next action of the MPI program.
    ///
    /// The engine answers a blocking collective by `Done`, and a non-blocking collective by `Started`.
    fn next(&mut self, reply: Reply<'_>) -> MpiCall;

    /// Like [`MpiProgram::next`], but returns a plain call. If the program requests a collective, `collectives` begins
    /// the collective and returns its first call. A program returns a call where it creates the call, because a copy of
    /// the call would take longer.
    #[inline]
    fn next_call(&mut self, reply: Reply<'_>, collectives: &mut dyn BeginCollective) -> Call {
        match self.next(reply) {
            MpiCall::Call(call) => call,
            collective => collectives.begin(collective, &|| self.position()),
        }
    }
}

/// Begins the collectives that an MPI program requests.
pub trait BeginCollective {
    /// Begins the collective `requested` and returns the first call of the collective. `place` returns the position of
    /// the program for error messages.
    fn begin(&mut self, requested: MpiCall, place: &dyn Fn() -> Option<String>) -> Call;
}

/// Stores a requested collective for a caller that executes the collective itself and ignores the returned call.
impl BeginCollective for Option<MpiCall> {
    fn begin(&mut self, requested: MpiCall, _: &dyn Fn() -> Option<String>) -> Call {
        *self = Some(requested);
        Call::Yield
    }
}

/// Action that an MPI program requests from the engine.
#[derive(Debug)]
pub enum MpiCall {
    /// A call that the engine executes unchanged. Ranks and contexts of the call refer to MPI_COMM_WORLD (see
    /// [`CommMember`]).
    Call(Call),
    /// A blocking collective call.
    Collective(CollectiveCall),
    /// A non-blocking collective. The wait calls of [`Call`] accept the request of the collective.
    StartCollective(CollectiveCall),
}

/// Whether a collective blocks the calling rank. MPI libraries use different algorithms for blocking and non-blocking
/// calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallForm {
    /// The MPI function returns when the calling rank has no more work in the collective.
    Blocking,
    /// The function returns a request; the collective proceeds concurrently with the caller (MPI-3.1, section 5.12).
    NonBlocking,
}

/// A collective call, as made by one rank.
#[derive(Clone, Debug)]
pub struct CollectiveCall {
    /// Collective operation that the rank calls, such as a bcast.
    pub collective: Collective,
    /// Communicator of the collective, as seen by this rank.
    pub comm: CommMember,
    /// The root's rank in `comm`; 0 for collectives without a root.
    pub root: u32,
    /// Sizes of the data that the rank passes to the collective.
    pub sizes: Sizes,
    /// Algorithm that the program requests. If `None`, the rules of the platform file choose the algorithm; without
    /// such a rule, the modelled MPI library chooses.
    pub algorithm: Option<Algorithm>,
}

/// Sizes of a collective's data.
///
/// | collective | `Same(s)` | `Each(v)` |
/// |---|---|---|
/// | barrier | ignored | – |
/// | bcast, reduce, allreduce, scan, exscan | the whole buffer | – |
/// | gather, scatter, allgather | the block of one rank | – |
/// | gatherv | this rank's block | the block of each rank |
/// | scatterv | this rank's block | the block of each rank; required only at the root |
/// | allgatherv, reduce_scatter | the block of every rank | the block of each rank |
/// | alltoall | the block for each destination | – |
/// | alltoallv | the block for each destination | the block from this rank to each rank |
#[derive(Clone, Debug)]
pub enum Sizes {
    /// All ranks have the same data size.
    Same(Bytes),
    /// Data size of each rank of the communicator.
    Each(std::sync::Arc<[Bytes]>),
}
