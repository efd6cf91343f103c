//! Non-blocking collectives of Open MPI, implemented by `libnbc` (`ompi/mca/coll/libnbc` of 4.0.7, 4.1.4 and 5.0.9).
//! Every round of an algorithm waits for the end of the previous round. Rooted collectives and exchanges start all
//! messages at once. In trees, the root and member 0 swap their positions
//! ([`RootNumbering::Swapped`](crate::schedule::RootNumbering)).

use super::{ChoiceContext, KIB};
use mcpsim_base::platform::{Algorithm, Collective, Library, Method};

/// Returns the algorithm that `libnbc` of this Open MPI version chooses.
pub(super) fn decide(library: Library, question: ChoiceContext) -> Method {
    use Algorithm::*;
    let ChoiceContext { collective, ranks, size, element, ordered, .. } = question;
    let divisible = size / u64::from(element) >= 1 << ranks.max(1).ilog2();
    // Open MPI has reductions by recursive halving since version 4.1.
    let halves = library != Library::OpenMpi40 && divisible && !ordered;
    Method::from(match collective {
        Collective::Barrier => Dissemination,
        Collective::Bcast if ranks <= 4 => Linear,
        Collective::Bcast => Binomial,
        Collective::Reduce if ranks > 2 && halves => Rabenseifner,
        Collective::Reduce if ranks > 4 || size < 64 * KIB || ordered => Binomial,
        Collective::Reduce => return Method::from(Pipeline).in_segments(8 << 10),
        Collective::Allreduce if ranks < 4 || size < 64 * KIB || ordered => Binomial,
        Collective::Allreduce if halves => Rabenseifner,
        Collective::Allreduce => Ring,
        Collective::ReduceScatter => Nonoverlapping,
        Collective::Scan | Collective::Exscan => Chain,
        Collective::Allgather
        | Collective::Allgatherv
        | Collective::Alltoall
        | Collective::Alltoallv
        | Collective::Gather
        | Collective::Gatherv
        | Collective::Scatter
        | Collective::Scatterv => Linear,
    })
}
