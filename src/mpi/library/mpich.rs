//! Algorithm selection of MPICH 4. Algorithms that ignore nodes follow MPICH's file `generic.json`. Non-blocking
//! collectives follow a separate file (`mpir/generic.json`) with other thresholds, and only bcast and reduce have
//! node-aware algorithms.

use super::super::CallForm;
use super::ChoiceContext;
use mcpsim_base::platform::{Algorithm, Collective, Method};

/// Whether MPICH 4 chooses its node-aware algorithm (`ch4/generic.json` of 4.0).
pub(super) fn sees_nodes(question: ChoiceContext) -> bool {
    let ChoiceContext { collective, form, ranks, size, .. } = question;
    match collective {
        _ if form == CallForm::NonBlocking => matches!(collective, Collective::Bcast | Collective::Reduce),
        Collective::Bcast => ranks < 8 || size < 12_288 || ranks.is_power_of_two() && size < 524_288,
        Collective::Barrier | Collective::Reduce | Collective::Allreduce => true,
        _ => false,
    }
}

/// Returns the algorithm that MPICH 4 chooses if it ignores nodes.
pub(super) fn decide(question: ChoiceContext) -> Method {
    use Algorithm::*;
    const KIB: u64 = 1 << 10;
    let ChoiceContext { collective, form, ranks, size, total, element, ordered, .. } = question;
    let (few, short) = if form == CallForm::NonBlocking { (2 * KIB, 2 * KIB) } else { (8, 256) };
    let two_to_k = ranks.is_power_of_two();
    // Rabenseifner's algorithm divides the elements among the greatest power of two not above the number of ranks.
    let divisible = size / u64::from(element) >= 1 << ranks.max(1).ilog2();
    Method::from(match collective {
        Collective::Barrier => Dissemination,
        Collective::Bcast if ranks < 8 || size <= 12 * KIB => Binomial,
        Collective::Bcast if two_to_k && size <= 512 * KIB => ScatterAllgather,
        Collective::Bcast => ScatterRing,
        Collective::Allreduce if size <= few || !divisible => RecursiveDoubling,
        Collective::Reduce if size <= 2 * KIB || !divisible => Binomial,
        Collective::Allreduce | Collective::Reduce => Rabenseifner,
        Collective::Allgather | Collective::Allgatherv if two_to_k && total < 512 * KIB => RecursiveDoubling,
        Collective::Allgather | Collective::Allgatherv if !two_to_k && total < 80 * KIB => Bruck,
        Collective::Allgather | Collective::Allgatherv => Ring,
        Collective::ReduceScatter if ordered => Binomial,
        Collective::ReduceScatter if total < 512 * KIB => RecursiveHalving,
        Collective::ReduceScatter => Pairwise,
        Collective::Gather | Collective::Scatter => Binomial,
        Collective::Gatherv | Collective::Scatterv => Linear,
        Collective::Scan | Collective::Exscan => RecursiveDoubling,
        Collective::Alltoall if size <= short && ranks >= 8 => Bruck,
        Collective::Alltoall if size > 32 * KIB => Pairwise,
        Collective::Alltoall | Collective::Alltoallv => Linear,
    })
}
