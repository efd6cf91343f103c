//! Which algorithm a collective uses, by communicator size and message size: data only, the schedules are in `mpi`.

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

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

/// How a collective is made of point-to-point messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// Everybody with the root, or everybody with everybody, all messages at once.
    Linear,
    /// One after another along the ranks.
    Chain,
    /// A binomial tree.
    Binomial,
    /// Hensgen, Finkel, Manber 1988: in round k with the ranks 2^k away, no exchange of roles.
    Dissemination,
    /// Pairs at distance 1, 2, 4, … exchange all they have.
    RecursiveDoubling,
    /// Pairs at distance p/2, p/4, … exchange the half the other needs.
    RecursiveHalving,
    /// p − 1 steps around a ring.
    Ring,
    /// Bruck et al. 1997: ⌈log2 p⌉ steps with packed blocks.
    Bruck,
    /// p − 1 steps, each a permutation of pairs.
    Pairwise,
    /// Rabenseifner 2004: reduce-scatter, then gather or allgather.
    Rabenseifner,
    /// van de Geijn: scatter, then allgather.
    ScatterAllgather,
}

/// One row of a collective's rule table: applies to communicators of at most `up_to_ranks` and messages of at most `up_to_bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveRule {
    /// Greatest communicator size; `u32::MAX` for any.
    pub up_to_ranks: u32,
    /// Greatest message size, as the collective defines it (see `mpi`); [`Bytes::MAX`] for any.
    pub up_to_bytes: Bytes,
    /// What to use.
    pub algorithm: Algorithm,
}

/// The rules a platform states; a collective without any uses the defaults of `mpi`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectiveRules {
    rules: Vec<(Collective, Vec<CollectiveRule>)>,
}

impl CollectiveRules {
    /// Replaces the rules of `collective`; the first that applies is used.
    pub fn set(&mut self, collective: Collective, rules: Vec<CollectiveRule>) {
        self.rules.retain(|(other, _)| *other != collective);
        self.rules.push((collective, rules));
    }

    /// All rules, in the order in which their collectives were set.
    pub fn iter(&self) -> impl Iterator<Item = (Collective, &[CollectiveRule])> {
        self.rules.iter().map(|(collective, rules)| (*collective, rules.as_slice()))
    }

    /// The algorithm stated for `collective` among `ranks` with messages of `size`, if any.
    pub fn algorithm(&self, collective: Collective, ranks: u32, size: Bytes) -> Option<Algorithm> {
        let (_, rules) = self.rules.iter().find(|(other, _)| *other == collective)?;
        rules.iter().find(|rule| ranks <= rule.up_to_ranks && size <= rule.up_to_bytes).map(|rule| rule.algorithm)
    }
}
