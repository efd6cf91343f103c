//! Which algorithm a collective uses: what the call insists on, else the platform's rule, else the defaults here.

use super::names::{algorithm_word, collective_word};
use super::schedule::suitable;
use super::{CollectiveCall, Sizes};
use crate::config::ConfigError;
use crate::platform::{Algorithm, Collective, CollectiveRules, Platform};
use crate::units::Bytes;

/// Whether `algorithm` suits `collective`.
///
/// An algorithm that suits only some communicator sizes suits, and falls back as its schedule's documentation says:
/// recursive doubling of an allgather is Bruck's algorithm unless there are 2^k ranks.
///
/// # Errors
/// A text that names both and lists what suits.
pub fn suits(collective: Collective, algorithm: Algorithm) -> Result<(), String> {
    let suitable = suitable(collective);
    if suitable.contains(&algorithm) {
        return Ok(());
    }
    let words: Vec<_> = suitable.iter().map(|&other| algorithm_word(other)).collect();
    let (algorithm, collective) = (algorithm_word(algorithm), collective_word(collective));
    let one_of = if words.len() == 1 { "" } else { "one of " };
    Err(format!("algorithm \"{algorithm}\" does not suit {collective}: expected {one_of}{}", words.join(", ")))
}

/// Whether the algorithms that a platform's rules name suit.
///
/// # Errors
/// The first that does not, with the collective and what would suit.
pub fn check_rules(platform: &Platform) -> Result<(), ConfigError> {
    for (collective, rules) in platform.collectives.iter() {
        for (index, rule) in rules.iter().enumerate() {
            suits(collective, rule.algorithm).map_err(|what| {
                let (word, name) = (collective_word(collective), &platform.name);
                ConfigError::new(format!("collectives.{word}[{index}] of platform {name}: {what}"))
            })?;
        }
    }
    Ok(())
}

/// The message size that rules go by, which is the same at every rank.
///
/// | collective | size |
/// |---|---|
/// | bcast, reduce, allreduce, scan, exscan | the buffer |
/// | gather, scatter, alltoall | one block |
/// | allgather, allgatherv, reduce_scatter | all blocks together |
/// | barrier, gatherv, scatterv, alltoallv | 0: ranks do not know each other's sizes |
pub fn rule_size(call: &CollectiveCall) -> Bytes {
    let sum = |sizes: &[Bytes]| sizes.iter().fold(0u64, |sum, size| sum.saturating_add(size.get()));
    match call.collective {
        Collective::Barrier | Collective::Gatherv | Collective::Scatterv | Collective::Alltoallv => Bytes::ZERO,
        Collective::Allgather | Collective::Allgatherv | Collective::ReduceScatter => match &call.sizes {
            Sizes::Same(block) => Bytes::new(block.get().saturating_mul(u64::from(call.comm.size()))),
            Sizes::Each(blocks) => Bytes::new(sum(blocks)),
        },
        Collective::Bcast
        | Collective::Reduce
        | Collective::Allreduce
        | Collective::Gather
        | Collective::Scatter
        | Collective::Alltoall
        | Collective::Scan
        | Collective::Exscan => match &call.sizes {
            Sizes::Same(size) => *size,
            Sizes::Each(_) => Bytes::ZERO,
        },
    }
}

/// The algorithm that `call` uses under a platform's `rules`.
///
/// # Errors
/// See [`suits`].
pub fn choose(call: &CollectiveCall, rules: &CollectiveRules) -> Result<Algorithm, String> {
    let (collective, ranks, size) = (call.collective, call.comm.size(), rule_size(call));
    match call.algorithm.or_else(|| rules.algorithm(collective, ranks, size)) {
        Some(algorithm) => suits(collective, algorithm).map(|()| algorithm),
        None => Ok(default_algorithm(collective, ranks, size)),
    }
}

/// The algorithm of `collective` among `ranks` with messages of `size` (see [`rule_size`]) where nobody chooses: MPICH's,
/// with the thresholds of its control variables (`MPIR_CVAR_…`, MPICH 3.0 and later), which are those of Thakur,
/// Rabenseifner, Gropp 2005 with few changes.
///
/// Operators are taken to commute, and elements to have 8 bytes. MPICH's forms of barrier, bcast and reductions that first
/// collect within a node are not among the algorithms here: messages cross nodes as often as the flat algorithm has them.
pub fn default_algorithm(collective: Collective, ranks: u32, size: Bytes) -> Algorithm {
    const KIB: u64 = 1024;
    let size = size.get();
    let two_to_k = ranks.is_power_of_two();
    // Rabenseifner's algorithm divides the elements among the greatest power of two up to the ranks.
    let divisible = size / 8 >= 1 << ranks.max(1).ilog2();
    match collective {
        Collective::Barrier => Algorithm::Dissemination,
        // BCAST_MIN_PROCS 8, BCAST_SHORT_MSG_SIZE 12288.
        Collective::Bcast if ranks < 8 || size < 12 * KIB => Algorithm::Binomial,
        Collective::Bcast => Algorithm::ScatterAllgather,
        // REDUCE_SHORT_MSG_SIZE 2048, ALLREDUCE_SHORT_MSG_SIZE 2048.
        Collective::Reduce if size <= 2 * KIB || !divisible => Algorithm::Binomial,
        Collective::Allreduce if size <= 2 * KIB || !divisible => Algorithm::RecursiveDoubling,
        Collective::Reduce | Collective::Allreduce => Algorithm::Rabenseifner,
        Collective::Gather | Collective::Scatter => Algorithm::Binomial,
        // MPICH and Open MPI both: only the root knows the sizes.
        Collective::Gatherv | Collective::Scatterv => Algorithm::Linear,
        // ALLGATHER_LONG_MSG_SIZE 524288, ALLGATHER_SHORT_MSG_SIZE 81920.
        Collective::Allgather | Collective::Allgatherv => match size {
            _ if two_to_k && size < 512 * KIB => Algorithm::RecursiveDoubling,
            _ if !two_to_k && size < 80 * KIB => Algorithm::Bruck,
            _ => Algorithm::Ring,
        },
        // ALLTOALL_SHORT_MSG_SIZE 256, ALLTOALL_MEDIUM_MSG_SIZE 32768.
        Collective::Alltoall if size <= 256 && ranks >= 8 => Algorithm::Bruck,
        Collective::Alltoall if size > 32 * KIB => Algorithm::Pairwise,
        Collective::Alltoall | Collective::Alltoallv => Algorithm::Linear,
        Collective::Scan | Collective::Exscan => Algorithm::RecursiveDoubling,
        // REDSCAT_COMMUTATIVE_LONG_MSG_SIZE 524288.
        Collective::ReduceScatter if size < 512 * KIB => Algorithm::RecursiveHalving,
        Collective::ReduceScatter => Algorithm::Pairwise,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// All collectives.
    pub(in crate::mpi) const COLLECTIVES: [Collective; 15] = [
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

    #[test]
    fn defaults_are_those_of_mpich() {
        use Algorithm::*;
        let kib = |n: u64| n << 10;
        for (collective, ranks, size, expected) in [
            (Collective::Barrier, 1 << 20, 0, Dissemination),
            (Collective::Bcast, 7, kib(1024), Binomial),
            (Collective::Bcast, 8, kib(12) - 1, Binomial),
            (Collective::Bcast, 8, kib(12), ScatterAllgather),
            (Collective::Reduce, 16, kib(2), Binomial),
            (Collective::Reduce, 16, kib(2) + 8, Rabenseifner),
            (Collective::Allreduce, 16, kib(2), RecursiveDoubling),
            (Collective::Allreduce, 16, kib(2) + 8, Rabenseifner),
            // 513 elements cannot be divided among 1024 ranks.
            (Collective::Allreduce, 1024, kib(4) + 8, RecursiveDoubling),
            // 600 among 1000 can: 512 of these take part.
            (Collective::Allreduce, 1000, 4800, Rabenseifner),
            (Collective::Gather, 100, kib(1024), Binomial),
            (Collective::Scatterv, 100, 0, Linear),
            (Collective::Allgather, 16, kib(512) - 1, RecursiveDoubling),
            (Collective::Allgather, 16, kib(512), Ring),
            (Collective::Allgather, 17, kib(80) - 1, Bruck),
            (Collective::Allgather, 17, kib(80), Ring),
            (Collective::Alltoall, 7, 256, Linear),
            (Collective::Alltoall, 8, 256, Bruck),
            (Collective::Alltoall, 8, kib(32), Linear),
            (Collective::Alltoall, 8, kib(32) + 1, Pairwise),
            (Collective::Alltoallv, 8, 0, Linear),
            (Collective::Scan, 8, 8, RecursiveDoubling),
            (Collective::ReduceScatter, 8, kib(512) - 1, RecursiveHalving),
            (Collective::ReduceScatter, 8, kib(512), Pairwise),
        ] {
            assert_eq!(
                default_algorithm(collective, ranks, Bytes::new(size)),
                expected,
                "{collective:?} {ranks} {size}"
            );
        }
    }

    #[test]
    fn every_default_suits() {
        for collective in COLLECTIVES {
            for ranks in [1, 2, 7, 8, 1000, u32::MAX] {
                for size in [0, 8, 256, 4096, 1 << 16, 1 << 20, u64::MAX] {
                    assert_eq!(suits(collective, default_algorithm(collective, ranks, Bytes::new(size))), Ok(()));
                }
            }
        }
    }

    #[test]
    fn an_algorithm_that_does_not_suit_is_answered_with_those_that_do() {
        assert_eq!(
            suits(Collective::Bcast, Algorithm::Ring).unwrap_err(),
            "algorithm \"ring\" does not suit bcast: expected one of binomial, scatter_allgather, linear, chain"
        );
        assert_eq!(
            suits(Collective::Gatherv, Algorithm::Binomial).unwrap_err(),
            "algorithm \"binomial\" does not suit gatherv: expected linear"
        );
    }
}
