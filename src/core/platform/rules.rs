//! Rules for the algorithms of collectives, by communicator size and message size. Data only; schedules and the
//! choices of libraries are in `mpi`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::node_map::NodeMap;
use super::selection::Selection;
use crate::units::{Bytes, SimSpan};

/// A collective operation, blocking or non-blocking.
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
    /// All collectives, in order.
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

/// Algorithm of a collective. `mpi::schedule` defines which algorithms suit which collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// All members with the root, or all with all; `fan` messages at a time.
    Linear,
    /// Like `Linear`, paced by the receivers: the root requests each part, or windows of `fan` messages.
    LinearSync,
    /// One after another along the ranks, sending the last segment while receiving the next.
    Chain,
    /// A chain of segments, with the next receive posted while the last segment is sent.
    Pipeline,
    /// `fan` chains that begin at the root.
    Chains,
    /// A binary tree.
    Binary,
    /// A binary tree with one half of the data down each side; pairs then exchange the halves.
    SplitBinary,
    /// A binary tree whose subtrees are ranges of ranks.
    InOrderBinary,
    /// A binomial tree.
    Binomial,
    /// A tree of radix `fan`.
    Knomial,
    /// Hensgen, Finkel, Manber 1988: in round k each rank sends to the rank 2^k ahead and receives from the rank 2^k
    /// behind.
    Dissemination,
    /// Twice around the ring.
    DoubleRing,
    /// Pairs at distance 1, 2, 4, … exchange all their data.
    RecursiveDoubling,
    /// Pairs at distance p/2, p/4, … exchange the half that the partner needs.
    RecursiveHalving,
    /// Pairs at distance 1, 2, … exchange halves; a mirror permutation returns the blocks to their owners.
    Butterfly,
    /// p − 1 steps around a ring.
    Ring,
    /// A ring with segmented blocks.
    SegmentedRing,
    /// p/2 steps, alternately with the two neighbours.
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
    /// Scatter, then an allgather around a ring for every size.
    ScatterRing,
    /// Two collectives in sequence through rank 0, each with the library's method.
    Nonoverlapping,
    /// Flat collectives within nodes and among members of different nodes, as composed by the library.
    NodeAware,
}

/// An algorithm with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Method {
    /// Algorithm.
    pub algorithm: Algorithm,
    /// Greatest segment size in bytes; 0 for none, or for the algorithm's default.
    #[serde(default)]
    pub segment: u32,
    /// Number of chains, radix of a tree, or number of messages at a time; 0 for the algorithm's default.
    #[serde(default)]
    pub fan: u32,
}

impl From<Algorithm> for Method {
    fn from(algorithm: Algorithm) -> Self {
        Method { algorithm, segment: 0, fan: 0 }
    }
}

impl Method {
    /// Sets the greatest segment size in bytes.
    pub const fn in_segments(self, segment: u32) -> Self {
        Method { segment, ..self }
    }

    /// Sets the number of chains, children or messages at a time.
    pub const fn by(self, fan: u32) -> Self {
        Method { fan, ..self }
    }
}

/// MPI library whose choices and details of algorithms a platform uses.
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
    /// All libraries, the default first.
    pub const ALL: [Library; 5] =
        [Library::Mpich3Flat, Library::OpenMpi40, Library::OpenMpi41, Library::OpenMpi50, Library::Mpich4];

    /// Name in files and options.
    pub fn name(self) -> &'static str {
        match self {
            Library::Mpich3Flat => "mpich-3-flat",
            Library::OpenMpi40 => "openmpi-4.0",
            Library::OpenMpi41 => "openmpi-4.1",
            Library::OpenMpi50 => "openmpi-5.0",
            Library::Mpich4 => "mpich-4",
        }
    }

    /// Whether its default choices include node-aware collectives.
    pub fn sees_nodes(self) -> bool {
        matches!(self, Library::OpenMpi50 | Library::Mpich4)
    }

    /// Whether it is Open MPI of any version.
    pub fn is_open_mpi(self) -> bool {
        matches!(self, Library::OpenMpi40 | Library::OpenMpi41 | Library::OpenMpi50)
    }
}

/// One rule of a collective: applies to communicators and messages within these limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveRule {
    /// Least communicator size.
    pub from_ranks: u32,
    /// Greatest communicator size; `u32::MAX` for any.
    pub up_to_ranks: u32,
    /// Least message size, as defined by the collective (see `mpi`).
    pub from_bytes: Bytes,
    /// Greatest message size; [`Bytes::MAX`] for any.
    pub up_to_bytes: Bytes,
    /// Definition of the message size.
    pub volume: Volume,
    /// Method to use.
    pub method: Method,
}

/// Definition of the message size in a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Volume {
    /// As defined by the collective (see `mpi`).
    #[default]
    Usual,
    /// All bytes that a rank sends or receives, if the usual size is one block.
    Total,
    /// The mean block size, if the usual size is the sum of all blocks.
    Mean,
}

impl CollectiveRule {
    /// Creates a rule with `method` for all communicators and messages.
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

/// Algorithm selection of a platform: its rules, and the library for all other cases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectiveRules {
    /// Library that chooses if no rule applies.
    pub library: Library,
    /// Cost of each separately packed, unpacked or copied block.
    pub block_overhead: SimSpan,
    /// Cost of describing several such blocks as one datatype, per message.
    pub datatype_overhead: SimSpan,
    /// File with additional rules.
    pub file: Option<String>,
    /// Selection file, used if no rule applies.
    pub selection: Option<Arc<Selection>>,
    /// Node of each rank, for node-aware libraries; `None`: all on one node.
    pub nodes: Option<Arc<NodeMap>>,
    rules: Vec<(Collective, Vec<CollectiveRule>)>,
}

impl CollectiveRules {
    /// Creates rules with only the choices of `library`.
    pub fn with_library(library: Library) -> Self {
        CollectiveRules { library, ..CollectiveRules::default() }
    }

    /// Replaces the rules of `collective`. The first applicable rule is used.
    pub fn set(&mut self, collective: Collective, rules: Vec<CollectiveRule>) {
        self.rules.retain(|(other, _)| *other != collective);
        self.rules.push((collective, rules));
    }

    /// Appends rules of `collective`, used if no previous rule applies.
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

    /// Method of the first applicable rule for `collective` among `ranks` with messages of `size`.
    pub fn method(&self, collective: Collective, ranks: u32, size: Bytes) -> Option<Method> {
        let (_, rules) = self.rules.iter().find(|(other, _)| *other == collective)?;
        rules.iter().find(|rule| rule.applies(ranks, size)).map(|rule| rule.method)
    }
}
