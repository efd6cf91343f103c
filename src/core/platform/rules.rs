//! Which algorithm a collective uses, by communicator size and message size: data only, the schedules and the
//! libraries' choices are in `mpi`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::node_map::NodeMap;
use super::selection::Selection;
use crate::units::{Bytes, SimSpan};

/// A collective operation; the blocking and the non-blocking form are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Collective {
    Barrier,
    Bcast,
    Reduce,
    Allreduce,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Scan,
    Exscan,
    ReduceScatter,
}

impl Collective {
    /// All, in their order.
    pub const ALL: [Collective; 15] = [
        Collective::Barrier,
        Collective::Bcast,
        Collective::Reduce,
        Collective::Allreduce,
        Collective::Gather,
        Collective::Gatherv,
        Collective::Scatter,
        Collective::Scatterv,
        Collective::Allgather,
        Collective::Allgatherv,
        Collective::Alltoall,
        Collective::Alltoallv,
        Collective::Scan,
        Collective::Exscan,
        Collective::ReduceScatter,
    ];
}

/// How a collective is made of point-to-point messages. `mpi::schedule` says which suits which collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// Everybody with the root, or everybody with everybody; `fan` messages at a time.
    Linear,
    /// The same where receivers pace the senders: what the root asks for, or windows of `fan` messages.
    LinearSync,
    /// One after another along the ranks, passing on the last segment while the next comes.
    Chain,
    /// A chain of segments, the next receive posted while the last segment is passed on.
    Pipeline,
    /// `fan` chains that begin at the root.
    Chains,
    /// A binary tree.
    Binary,
    /// A binary tree, one half of the data down each side; pairs then exchange the halves.
    SplitBinary,
    /// A binary tree whose subtrees are ranges of ranks.
    InOrderBinary,
    /// A binomial tree.
    Binomial,
    /// A tree of radix `fan`.
    Knomial,
    /// Hensgen, Finkel, Manber 1988: in round k with the ranks 2^k away, no exchange of roles.
    Dissemination,
    /// Around the ring twice.
    DoubleRing,
    /// Pairs at distance 1, 2, 4, … exchange all they have.
    RecursiveDoubling,
    /// Pairs at distance p/2, p/4, … exchange the half the other needs.
    RecursiveHalving,
    /// Pairs at distance 1, 2, … exchange halves; a mirror permutation brings the blocks home.
    Butterfly,
    /// p − 1 steps around a ring.
    Ring,
    /// A ring whose blocks go in segments.
    SegmentedRing,
    /// p/2 steps with the two neighbours in turn.
    NeighborExchange,
    /// Bruck et al. 1997: ⌈log2 p⌉ steps with packed blocks.
    Bruck,
    /// p − 1 steps, each a permutation of pairs.
    Pairwise,
    /// One exchange between two ranks.
    TwoProcs,
    /// Rabenseifner 2004: reduce-scatter, then gather or allgather.
    Rabenseifner,
    /// van de Geijn: scatter, then allgather.
    ScatterAllgather,
    /// Scatter, then an allgather around a ring whatever the size.
    ScatterRing,
    /// Two collectives one after another through rank 0, each as the library does it.
    Nonoverlapping,
    /// Flat collectives within nodes and among members of different nodes, as the library puts them together.
    NodeAware,
}

/// An algorithm with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Method {
    /// How.
    pub algorithm: Algorithm,
    /// The greatest segment, bytes; 0 for none, or what the algorithm has by itself.
    #[serde(default)]
    pub segment: u32,
    /// The chains, the radix of a tree, or the messages at a time; 0 for what the algorithm has by itself.
    #[serde(default)]
    pub fan: u32,
}

impl From<Algorithm> for Method {
    fn from(algorithm: Algorithm) -> Self {
        Method { algorithm, segment: 0, fan: 0 }
    }
}

impl Method {
    /// The same in segments of at most this many bytes.
    pub const fn in_segments(self, segment: u32) -> Self {
        Method { segment, ..self }
    }

    /// The same with this many chains, children or messages at a time.
    pub const fn by(self, fan: u32) -> Self {
        Method { fan, ..self }
    }
}

/// Whose choice of algorithms, and whose details of them, a platform has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Library {
    /// Flat algorithms with the thresholds of MPICH 3.
    #[default]
    #[serde(rename = "mpich-3-flat")]
    Mpich3Flat,
    /// Open MPI 4.0.
    #[serde(rename = "openmpi-4.0")]
    OpenMpi40,
    /// Open MPI 4.1.
    #[serde(rename = "openmpi-4.1")]
    OpenMpi41,
    /// Open MPI 5.0.
    #[serde(rename = "openmpi-5.0")]
    OpenMpi50,
    /// MPICH 4.
    #[serde(rename = "mpich-4")]
    Mpich4,
}

impl Library {
    /// All, the default first.
    pub const ALL: [Library; 5] =
        [Library::Mpich3Flat, Library::OpenMpi40, Library::OpenMpi41, Library::OpenMpi50, Library::Mpich4];

    /// What files and options call it.
    pub fn name(self) -> &'static str {
        match self {
            Library::Mpich3Flat => "mpich-3-flat",
            Library::OpenMpi40 => "openmpi-4.0",
            Library::OpenMpi41 => "openmpi-4.1",
            Library::OpenMpi50 => "openmpi-5.0",
            Library::Mpich4 => "mpich-4",
        }
    }

    /// Whether it has collectives that look at nodes unless it is told otherwise.
    pub fn sees_nodes(self) -> bool {
        matches!(self, Library::OpenMpi50 | Library::Mpich4)
    }

    /// Whether it is Open MPI of any version.
    pub fn is_open_mpi(self) -> bool {
        matches!(self, Library::OpenMpi40 | Library::OpenMpi41 | Library::OpenMpi50)
    }
}

/// One row of a collective's rule table: applies to communicators and messages within these limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveRule {
    /// Least communicator size.
    pub from_ranks: u32,
    /// Greatest communicator size; `u32::MAX` for any.
    pub up_to_ranks: u32,
    /// Least message size, as the collective defines it (see `mpi`).
    pub from_bytes: Bytes,
    /// Greatest message size; [`Bytes::MAX`] for any.
    pub up_to_bytes: Bytes,
    /// Which size is meant.
    pub volume: Volume,
    /// What to use.
    pub method: Method,
}

/// The size that a rule goes by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Volume {
    /// As the collective defines it (see `mpi`).
    #[default]
    Usual,
    /// What a rank sends or receives in all, of a size that is a block's.
    Total,
    /// The mean block, of a size that is that of all blocks.
    Mean,
}

impl CollectiveRule {
    /// `method` for any communicator and message.
    pub fn always(method: Method) -> Self {
        CollectiveRule {
            from_ranks: 0,
            up_to_ranks: u32::MAX,
            from_bytes: Bytes::ZERO,
            up_to_bytes: Bytes::MAX,
            volume: Volume::Usual,
            method,
        }
    }

    fn applies(&self, ranks: u32, size: Bytes) -> bool {
        let size = match self.volume {
            Volume::Usual => size,
            Volume::Total => Bytes::new(size.get().saturating_mul(u64::from(ranks))),
            Volume::Mean => Bytes::new(size.get() / u64::from(ranks.max(1))),
        };
        (self.from_ranks..=self.up_to_ranks).contains(&ranks) && (self.from_bytes..=self.up_to_bytes).contains(&size)
    }
}

/// How a platform chooses: the rules it states, and where none applies the library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectiveRules {
    /// Who chooses where no rule does.
    pub library: Library,
    /// What a block costs a rank each time that it is packed, unpacked or copied by itself.
    pub block_overhead: SimSpan,
    /// What describing such blocks as one datatype costs, each time that some of them go in one message.
    pub datatype_overhead: SimSpan,
    /// A file of rules that are to be added.
    pub file: Option<String>,
    /// What a selection file says where no rule applies.
    pub selection: Option<Arc<Selection>>,
    /// The node of each rank, for libraries that look at it; none: as if all were on one.
    pub nodes: Option<Arc<NodeMap>>,
    rules: Vec<(Collective, Vec<CollectiveRule>)>,
}

impl CollectiveRules {
    /// Only the choice of `library`.
    pub fn of(library: Library) -> Self {
        CollectiveRules { library, ..CollectiveRules::default() }
    }

    /// Replaces the rules of `collective`; the first that applies is used.
    pub fn set(&mut self, collective: Collective, rules: Vec<CollectiveRule>) {
        self.rules.retain(|(other, _)| *other != collective);
        self.rules.push((collective, rules));
    }

    /// Adds rules of `collective` that hold where none before does.
    pub fn add(&mut self, collective: Collective, mut rules: Vec<CollectiveRule>) {
        match self.rules.iter_mut().find(|(other, _)| *other == collective) {
            Some((_, all)) => all.append(&mut rules),
            None => self.rules.push((collective, rules)),
        }
    }

    /// All rules, in the order in which their collectives were set.
    pub fn iter(&self) -> impl Iterator<Item = (Collective, &[CollectiveRule])> {
        self.rules.iter().map(|(collective, rules)| (*collective, rules.as_slice()))
    }

    /// What is stated for `collective` among `ranks` with messages of `size`, if anything.
    pub fn method(&self, collective: Collective, ranks: u32, size: Bytes) -> Option<Method> {
        let (_, rules) = self.rules.iter().find(|(other, _)| *other == collective)?;
        rules.iter().find(|rule| rule.applies(ranks, size)).map(|rule| rule.method)
    }
}
