//! Rules that select the algorithms of collectives by communicator size and message size. This module has only data;
//! the schedules of algorithms and the choices of MPI libraries are in `mpi`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::collective_times::CollectiveTimes;
use super::node_map::NodeMap;
use super::selection::Selection;
use crate::units::{Bytes, SimSpan};

/// A collective operation, blocking or non-blocking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
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
    /// All collective operations.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// All ranks exchange messages with the root, or all ranks with all ranks; `fan` messages at a time.
    Linear,
    /// As `Linear`, but the receivers set the pace: the root requests each part, or windows of `fan` messages.
    LinearSync,
    /// Each rank forwards data to the next rank: it sends the last segment while it receives the next segment.
    Chain,
    /// A chain of ranks that forwards segments; a rank posts the next receive while it sends the last segment.
    Pipeline,
    /// `fan` chains of ranks that begin at the root.
    Chains,
    /// A binary tree of ranks.
    Binary,
    /// A binary tree of ranks in which each subtree of the root gets one half of the data; then pairs of ranks exchange
    /// the halves.
    SplitBinary,
    /// A binary tree of ranks whose subtrees are ranges of ranks.
    InOrderBinary,
    /// A binomial tree of ranks.
    Binomial,
    /// A k-nomial tree of ranks with radix `fan`.
    Knomial,
    /// Hensgen, Finkel, Manber 1988: in round k each rank sends to the rank 2^k ahead and receives from the rank 2^k
    /// behind.
    Dissemination,
    /// A message passes twice around the ring of ranks.
    DoubleRing,
    /// Pairs of ranks at distance 1, 2, 4, … exchange all their data.
    RecursiveDoubling,
    /// Pairs of ranks at distance p/2, p/4, … exchange the half of the data that the partner needs.
    RecursiveHalving,
    /// Pairs of ranks at distance 1, 2, … exchange halves of the data; a mirror permutation then returns the blocks to
    /// their owners.
    Butterfly,
    /// p − 1 steps around a ring of p ranks.
    Ring,
    /// A ring of ranks that forwards blocks in segments.
    SegmentedRing,
    /// p/2 steps, in which each of p ranks exchanges data with its two neighbours alternately.
    NeighborExchange,
    /// Bruck et al. 1997: ⌈log2 p⌉ steps in which p ranks send packed blocks.
    Bruck,
    /// p − 1 steps, in each of which every one of p ranks sends to one rank and receives from one rank.
    Pairwise,
    /// One exchange of messages between two ranks.
    TwoProcs,
    /// Rabenseifner 2004: a reduce-scatter, followed by a gather or allgather.
    Rabenseifner,
    /// van de Geijn: a scatter, followed by an allgather.
    ScatterAllgather,
    /// A scatter, followed by an allgather around a ring for every size.
    ScatterRing,
    /// Two collectives in sequence through rank 0, each with the method of the MPI library.
    Nonoverlapping,
    /// Collectives within nodes, and collectives among ranks of different nodes, combined as the MPI library does.
    NodeAware,
}

/// An algorithm of a collective with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Method {
    /// Algorithm of the collective.
    pub algorithm: Algorithm,
    /// Greatest segment size in bytes; 0 for no segments, or for the default of the algorithm.
    #[serde(default)]
    pub segment: u32,
    /// Number of chains, radix of a tree, or number of messages at a time; 0 for the default of the algorithm.
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

/// MPI library whose choices of algorithms, and details of algorithms, a platform uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Library {
    /// MPICH 3 without node-aware algorithms.
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
    /// All MPI libraries, the default first.
    pub const ALL: [Library; 5] =
        [Library::Mpich3Flat, Library::OpenMpi40, Library::OpenMpi41, Library::OpenMpi50, Library::Mpich4];

    /// Name of the MPI library in files and options.
    pub fn name(self) -> &'static str {
        match self {
            Library::Mpich3Flat => "mpich-3-flat",
            Library::OpenMpi40 => "openmpi-4.0",
            Library::OpenMpi41 => "openmpi-4.1",
            Library::OpenMpi50 => "openmpi-5.0",
            Library::Mpich4 => "mpich-4",
        }
    }

    /// Returns whether the default choices of the MPI library include node-aware collectives.
    pub fn sees_nodes(self) -> bool {
        matches!(self, Library::OpenMpi50 | Library::Mpich4)
    }

    /// Returns whether the MPI library is Open MPI of any version.
    pub fn is_open_mpi(self) -> bool {
        matches!(self, Library::OpenMpi40 | Library::OpenMpi41 | Library::OpenMpi50)
    }
}

/// A rule for a collective, which applies to communicators and messages within these limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveRule {
    /// Least communicator size to which the rule applies.
    pub from_ranks: u32,
    /// Greatest communicator size to which the rule applies; `u32::MAX` for any size.
    pub up_to_ranks: u32,
    /// Least message size in bytes to which the rule applies, as defined by the collective (see `mpi`).
    pub from_bytes: Bytes,
    /// Greatest message size in bytes to which the rule applies; [`Bytes::MAX`] for any size.
    pub up_to_bytes: Bytes,
    /// Definition of the message size in this rule.
    pub volume: Volume,
    /// Algorithm and parameters that the rule selects.
    pub method: Method,
}

/// Definition of the message size in a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Volume {
    /// The message size is as defined by the collective (see `mpi`).
    #[default]
    Usual,
    /// The message size is the number of all bytes that a rank sends or receives. The usual size is one block.
    Total,
    /// The message size is the mean block size. The usual size is the sum of all blocks.
    Mean,
}

impl CollectiveRule {
    /// Creates a rule that selects `method` for all communicators and messages.
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

/// Selection of collective algorithms on a platform: rules, and an MPI library for all other cases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectiveRules {
    /// MPI library that selects the algorithm if no rule applies.
    pub library: Library,
    /// Core time of each block of data that is packed, unpacked or copied separately.
    pub block_overhead: SimSpan,
    /// Core time per message of describing several separate blocks as one datatype.
    pub datatype_overhead: SimSpan,
    /// Name of a file with additional rules.
    pub file: Option<String>,
    /// Selection file, which applies if no rule applies.
    pub selection: Option<Arc<Selection>>,
    /// Node of each rank, for node-aware MPI libraries; `None`: all ranks are on one node.
    pub nodes: Option<Arc<NodeMap>>,
    /// Times of collectives under `--model xu-hwang`; a collective with a time does not run its algorithm.
    pub times: Option<Arc<CollectiveTimes>>,
    rules: Vec<(Collective, Vec<CollectiveRule>)>,
}

impl CollectiveRules {
    /// Creates a selection without rules, in which `library` always selects.
    pub fn with_library(library: Library) -> Self {
        CollectiveRules { library, ..CollectiveRules::default() }
    }

    /// Replaces the rules of `collective`. The first rule that applies selects the algorithm.
    pub fn set(&mut self, collective: Collective, rules: Vec<CollectiveRule>) {
        self.rules.retain(|(other, _)| *other != collective);
        self.rules.push((collective, rules));
    }

    /// Appends rules of `collective`, which select the algorithm if no previous rule applies.
    pub fn add(&mut self, collective: Collective, mut rules: Vec<CollectiveRule>) {
        match self.rules.iter_mut().find(|(other, _)| *other == collective) {
            Some((_, all)) => all.append(&mut rules),
            None => self.rules.push((collective, rules)),
        }
    }

    /// Returns all rules, in the order in which their collectives were set.
    pub fn iter(&self) -> impl Iterator<Item = (Collective, &[CollectiveRule])> {
        self.rules.iter().map(|(collective, rules)| (*collective, rules.as_slice()))
    }

    /// Returns the method of the first rule for `collective` that applies to `ranks` ranks and messages of `size`.
    pub fn method(&self, collective: Collective, ranks: u32, size: Bytes) -> Option<Method> {
        let (_, rules) = self.rules.iter().find(|(other, _)| *other == collective)?;
        rules.iter().find(|rule| rule.applies(ranks, size)).map(|rule| rule.method)
    }
}
