//! Selection of collective algorithms as real MPI libraries do: by the communicator, the sizes, and whether the
//! operator commutes.
//!
//! The algorithm is looked up in a table of thresholds. The choice depends only on arguments that are equal at all
//! ranks, so all ranks choose the same algorithm. If the chosen algorithm cannot handle a call, the MPI library uses
//! another algorithm ([`settle`]); this module returns the algorithm that runs.

mod flat;
mod libnbc;
mod mpich;
mod openmpi;
mod openmpi40;
mod openmpi41;

pub use flat::default_algorithm;
pub use openmpi::{number_of, numbered};

use super::CallForm;
use super::nodes::NodeSpread;
use super::schedule::{Choice, Extent, ScheduleStyle, suitable, takes};
use mcpsim_base::platform::{Algorithm, Collective, Library, Method};

/// Properties of a collective call that determine the choice of its algorithm.
#[derive(Clone, Copy, Debug)]
pub struct ChoiceContext {
    /// Collective operation that the program calls.
    pub collective: Collective,
    /// Whether the call of the collective blocks.
    pub form: CallForm,
    /// Number of ranks in the communicator.
    pub ranks: u32,
    /// Size in bytes of the buffer, or of one block if every rank has a block. If the blocks differ in size, their mean
    /// size. The size is 0 if ranks do not know it.
    pub size: u64,
    /// Sum of the sizes of all ranks' blocks in bytes; same as `size` if the data are not divided among ranks.
    pub total: u64,
    /// Number of bytes of an element, at least 1. Algorithms do not divide an element.
    pub element: u32,
    /// Whether the contributions of ranks must be combined in order of ranks.
    pub ordered: bool,
    /// Distribution of the communicator's members over nodes.
    pub spread: NodeSpread,
}

impl ChoiceContext {
    /// Context for a collective over `size` bytes that an algorithm of this collective executes. The algorithm of the
    /// inner collective is chosen without regard to nodes.
    fn of(self, collective: Collective, size: u64) -> Self {
        ChoiceContext { collective, size, total: size, spread: NodeSpread::FLAT, ..self }
    }

    fn extent(self) -> Extent {
        Extent { size: mcpsim_base::units::Bytes::new(self.total), element: self.element }
    }
}

/// Algorithms by size: pairs of an exclusive limit of the size in bytes and the identifier of an algorithm. The last
/// pair has no size limit.
type Sizes = &'static [(u64, u8)];
/// Algorithms by communicator size: pairs of an exclusive limit of the number of ranks and a [`Sizes`]. The last pair
/// has no limit of the number of ranks.
type Table = &'static [(u32, Sizes)];

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// Value that means "no limit of the number of ranks".
const ANY: u32 = u32::MAX;
/// Value that means "no limit of the message size".
const ALL: u64 = u64::MAX;

/// Looks up the identifier of the algorithm for a communicator of `ranks` ranks and data of `size` bytes.
fn look_up(table: Table, ranks: u32, size: u64) -> u8 {
    let (last, rows) = table.split_last().expect("a table has rows");
    let (_, sizes) = rows.iter().find(|(below, _)| ranks < *below).unwrap_or(last);
    let (last, entries) = sizes.split_last().expect("a row has entries");
    entries.iter().find(|(below, _)| size < *below).unwrap_or(last).1
}

/// Returns the schedule style of `library`, which selects details of algorithms in which MPI libraries differ.
pub fn style(library: Library) -> ScheduleStyle {
    match library {
        Library::Mpich3Flat => ScheduleStyle::Flat,
        Library::Mpich4 => ScheduleStyle::Mpich,
        _ => ScheduleStyle::OpenMpi,
    }
}

/// Number of chains in Open MPI when the user selects the algorithm (`coll_tuned_…_chain_fanout`).
const CHAINS: u32 = 4;

/// Algorithms, with useful parameters, that a user can select for `collective` among `ranks` ranks with `library`. If
/// `nodes` is set, the list includes node-aware algorithms.
pub fn methods(library: Library, collective: Collective, ranks: u32, nodes: bool) -> Vec<Method> {
    let segments: &[u32] = &[0, 4 << 10, 32 << 10, 128 << 10];
    let mut methods: Vec<Method> = if library.is_open_mpi() {
        numbered(collective).to_vec()
    } else {
        suitable(collective).iter().map(|&algorithm| algorithm.into()).collect()
    };
    methods.retain(|method| method.algorithm != Algorithm::TwoProcs || ranks == 2);
    // `Chains` with a single chain would be the same as a pipeline.
    methods.iter_mut().filter(|method| method.algorithm == Algorithm::Chains).for_each(|method| method.fan = CHAINS);
    if nodes && has_nodes_form(collective) {
        methods.push(Algorithm::NodeAware.into());
    }
    let with_segments = |method: Method| {
        let segments = if takes(collective, method.algorithm).0 { segments } else { &[0] };
        segments.iter().map(move |&segment| method.in_segments(segment))
    };
    methods.into_iter().flat_map(with_segments).collect()
}

/// Whether MPI libraries have a node-aware algorithm for `collective`.
pub fn has_nodes_form(collective: Collective) -> bool {
    use Collective::{Allgather, Allreduce, Barrier, Bcast, Gather, Reduce, Scatter};
    matches!(collective, Barrier | Bcast | Reduce | Allreduce | Gather | Scatter | Allgather)
}

/// Whether the node-aware algorithm of `library` can handle the call. A node-aware algorithm needs several nodes with
/// several members and an operator that commutes. Open MPI may also need equally many members per node.
fn can_see_nodes(library: Library, question: ChoiceContext) -> bool {
    let ChoiceContext { collective, ordered, spread, .. } = question;
    let wants_equal = match collective {
        Collective::Gather | Collective::Scatter | Collective::Allgather => true,
        Collective::Bcast | Collective::Reduce => library.is_open_mpi(),
        _ => false,
    };
    let equal = spread.equal || !wants_equal;
    has_nodes_form(collective) && spread.is_deep() && !ordered && equal
}

/// Whether `library` chooses the node-aware algorithm by default.
fn sees_nodes(library: Library, question: ChoiceContext) -> bool {
    let does = if library.is_open_mpi() { question.form == CallForm::Blocking } else { mpich::sees_nodes(question) };
    does && library.sees_nodes() && can_see_nodes(library, question)
}

/// Returns the algorithm that `library` chooses, with the algorithms of the inner collectives.
pub fn decide(library: Library, question: ChoiceContext) -> Choice {
    if sees_nodes(library, question) {
        return Method::from(Algorithm::NodeAware).into();
    }
    let method = match library {
        _ if library.is_open_mpi() && question.form == CallForm::NonBlocking => libnbc::decide(library, question),
        Library::Mpich3Flat => flat::decide(question),
        Library::OpenMpi40 => openmpi40::decide(question),
        Library::OpenMpi41 | Library::OpenMpi50 => openmpi::decide_by_tables(question),
        Library::Mpich4 => mpich::decide(question),
    };
    complete(library, question, settle(library, question, method))
}

/// If `method` executes several inner collectives, adds the algorithms that `library` chooses for the inner
/// collectives.
pub fn complete(library: Library, question: ChoiceContext, method: Method) -> Choice {
    if method.algorithm != Algorithm::Nonoverlapping {
        return method.into();
    }
    if let (CallForm::NonBlocking, true, Collective::ReduceScatter) =
        (question.form, library.is_open_mpi(), question.collective)
    {
        return Choice { method, first: Algorithm::Binomial.into(), second: Algorithm::Linear.into() };
    }
    let total = question.total;
    let part = |collective, size| decide(library, question.of(collective, size)).method;
    let (first, second) = match question.collective {
        Collective::Allgather => (part(Collective::Gather, question.size), part(Collective::Bcast, total)),
        Collective::Allgatherv => (Method::from(Algorithm::Linear).by(1), part(Collective::Bcast, total)),
        Collective::ReduceScatter => (part(Collective::Reduce, total), Method::from(Algorithm::Linear).by(1)),
        _ => (part(Collective::Reduce, total), part(Collective::Bcast, total)),
    };
    Choice { method, first, second }
}

/// Returns the algorithm that runs if the user selects `method`. MPI libraries replace an algorithm that cannot handle
/// the call.
pub fn settle(library: Library, question: ChoiceContext, method: Method) -> Method {
    if method.algorithm == Algorithm::NodeAware && !question.ordered && !can_see_nodes(library, question) {
        return decide(library, ChoiceContext { spread: NodeSpread::FLAT, ..question }).method;
    }
    use Algorithm::{
        Bruck, Linear, NeighborExchange, Pipeline, Rabenseifner, RecursiveDoubling, Ring, ScatterAllgather,
        ScatterRing, SegmentedRing, SplitBinary,
    };
    let (ranks, extent) = (question.ranks, question.extent());
    let count = extent.count();
    let plain = |algorithm: Algorithm| Method::from(algorithm);
    let open_mpi = library.is_open_mpi();
    match (question.collective, method.algorithm) {
        (Collective::Allgather | Collective::Allgatherv, RecursiveDoubling) if !ranks.is_power_of_two() => plain(Bruck),
        (Collective::Allgather | Collective::Allgatherv, NeighborExchange) if ranks % 2 == 1 => plain(Ring),
        (Collective::Allreduce, SegmentedRing)
            if count < u64::from(ranks).saturating_mul(extent.in_segment(method.segment)) =>
        {
            settle(library, question, plain(Ring))
        }
        (Collective::Allreduce, Ring) if open_mpi && count < u64::from(ranks) => plain(RecursiveDoubling),
        (Collective::Allreduce | Collective::Reduce, Rabenseifner)
            if open_mpi && (ranks < 2 || count < 1 << ranks.ilog2()) =>
        {
            plain(Linear)
        }
        (Collective::Bcast, ScatterAllgather | ScatterRing) if open_mpi && count < u64::from(ranks) => plain(Linear),
        (Collective::Bcast, SplitBinary) => {
            let [_, smaller] = extent.halves();
            if smaller == 0 || u64::from(method.segment) > smaller * u64::from(question.element) {
                plain(Pipeline).in_segments(method.segment)
            } else {
                method
            }
        }
        _ => method,
    }
}
