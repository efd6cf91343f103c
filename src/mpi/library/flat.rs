//! Algorithm selection of the default library: MPICH's algorithms that ignore nodes, chosen by thresholds.

use super::ChoiceContext;
use crate::schedule::keeps_rank_order;
use mcpsim_base::platform::{Algorithm, Collective, Method};
use mcpsim_base::units::Bytes;

/// Returns the algorithm that the default library chooses.
pub(super) fn decide(question: ChoiceContext) -> Method {
    let ChoiceContext { collective, ranks, size, total, ordered, .. } = question;
    let size = match collective {
        Collective::Allgather | Collective::Allgatherv | Collective::ReduceScatter => total,
        Collective::Barrier | Collective::Gatherv | Collective::Scatterv | Collective::Alltoallv => 0,
        _ => size,
    };
    let algorithm = default_algorithm(collective, ranks, Bytes::new(size));
    if !ordered || keeps_rank_order(collective, algorithm) {
        return algorithm.into();
    }
    Method::from(match collective {
        Collective::ReduceScatter => Algorithm::Binomial,
        _ => Algorithm::RecursiveDoubling,
    })
}

/// Returns the default algorithm of `collective` among `ranks` ranks with messages of `size` bytes (see
/// [`super::super::rule_size`]). The choices are those of MPICH, with the thresholds of its control variables
/// (`MPIR_CVAR_…`, MPICH 3.0 and later), which follow Thakur, Rabenseifner, Gropp 2005 with few changes.
///
/// Operators are assumed to commute, and elements to have 8 bytes. MPICH's barriers, bcasts and reductions that first
/// combine data within a node are not included. Messages of these algorithms cross nodes as often as messages of the
/// algorithms that ignore nodes.
pub fn default_algorithm(collective: Collective, ranks: u32, size: Bytes) -> Algorithm {
    const KIB: u64 = 1024;
    let size = size.get();
    let two_to_k = ranks.is_power_of_two();
    // Rabenseifner's algorithm divides the elements among the greatest power of two not above the number of ranks.
    let divisible = size / 8 >= 1 << ranks.max(1).ilog2();
    match collective {
        Collective::Barrier => Algorithm::Dissemination,
        // The thresholds of MPICH are BCAST_MIN_PROCS 8 and BCAST_SHORT_MSG_SIZE 12288.
        Collective::Bcast if ranks < 8 || size < 12 * KIB => Algorithm::Binomial,
        Collective::Bcast => Algorithm::ScatterAllgather,
        // The thresholds of MPICH are REDUCE_SHORT_MSG_SIZE 2048 and ALLREDUCE_SHORT_MSG_SIZE 2048.
        Collective::Reduce if size <= 2 * KIB || !divisible => Algorithm::Binomial,
        Collective::Allreduce if size <= 2 * KIB || !divisible => Algorithm::RecursiveDoubling,
        Collective::Reduce | Collective::Allreduce => Algorithm::Rabenseifner,
        Collective::Gather | Collective::Scatter => Algorithm::Binomial,
        // MPICH and Open MPI also choose this algorithm, because only the root knows the sizes.
        Collective::Gatherv | Collective::Scatterv => Algorithm::Linear,
        // The thresholds of MPICH are ALLGATHER_LONG_MSG_SIZE 524288 and ALLGATHER_SHORT_MSG_SIZE 81920.
        Collective::Allgather | Collective::Allgatherv => match size {
            _ if two_to_k && size < 512 * KIB => Algorithm::RecursiveDoubling,
            _ if !two_to_k && size < 80 * KIB => Algorithm::Bruck,
            _ => Algorithm::Ring,
        },
        // The thresholds of MPICH are ALLTOALL_SHORT_MSG_SIZE 256 and ALLTOALL_MEDIUM_MSG_SIZE 32768.
        Collective::Alltoall if size <= 256 && ranks >= 8 => Algorithm::Bruck,
        Collective::Alltoall if size > 32 * KIB => Algorithm::Pairwise,
        Collective::Alltoall | Collective::Alltoallv => Algorithm::Linear,
        Collective::Scan | Collective::Exscan => Algorithm::RecursiveDoubling,
        // The threshold of MPICH is REDSCAT_COMMUTATIVE_LONG_MSG_SIZE 524288.
        Collective::ReduceScatter if size < 512 * KIB => Algorithm::RecursiveHalving,
        Collective::ReduceScatter => Algorithm::Pairwise,
    }
}
