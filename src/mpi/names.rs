//! Names of collectives and algorithms: MPI function names, and the words used in platform files and traces.

use mcpsim_base::platform::{Algorithm, Collective};

/// Name of the blocking MPI function of `collective`.
pub(super) fn blocking_name(collective: Collective) -> &'static str {
    names(collective).1
}

/// Name of the non-blocking MPI function of `collective`. Reports use it as the source position of the collective,
/// which runs concurrently with its caller.
pub fn non_blocking_name(collective: Collective) -> &'static str {
    names(collective).2
}

/// Word for `collective` in platform files and traces.
pub fn collective_word(collective: Collective) -> &'static str {
    names(collective).0
}

/// Collective that the blocking or non-blocking MPI function `function` implements.
pub fn collective_of(function: &str) -> Option<Collective> {
    Collective::ALL.into_iter().find(|&collective| {
        let (_, blocking, non_blocking) = names(collective);
        function == blocking || function == non_blocking
    })
}

fn names(collective: Collective) -> (&'static str, &'static str, &'static str) {
    match collective {
        Collective::Barrier => ("barrier", "MPI_Barrier", "MPI_Ibarrier"),
        Collective::Bcast => ("bcast", "MPI_Bcast", "MPI_Ibcast"),
        Collective::Reduce => ("reduce", "MPI_Reduce", "MPI_Ireduce"),
        Collective::Allreduce => ("allreduce", "MPI_Allreduce", "MPI_Iallreduce"),
        Collective::Gather => ("gather", "MPI_Gather", "MPI_Igather"),
        Collective::Gatherv => ("gatherv", "MPI_Gatherv", "MPI_Igatherv"),
        Collective::Scatter => ("scatter", "MPI_Scatter", "MPI_Iscatter"),
        Collective::Scatterv => ("scatterv", "MPI_Scatterv", "MPI_Iscatterv"),
        Collective::Allgather => ("allgather", "MPI_Allgather", "MPI_Iallgather"),
        Collective::Allgatherv => ("allgatherv", "MPI_Allgatherv", "MPI_Iallgatherv"),
        Collective::Alltoall => ("alltoall", "MPI_Alltoall", "MPI_Ialltoall"),
        Collective::Alltoallv => ("alltoallv", "MPI_Alltoallv", "MPI_Ialltoallv"),
        Collective::Scan => ("scan", "MPI_Scan", "MPI_Iscan"),
        Collective::Exscan => ("exscan", "MPI_Exscan", "MPI_Iexscan"),
        Collective::ReduceScatter => ("reduce_scatter", "MPI_Reduce_scatter", "MPI_Ireduce_scatter"),
    }
}

/// Word for `algorithm` in platform files and traces.
pub fn algorithm_word(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Linear => "linear",
        Algorithm::LinearSync => "linear_sync",
        Algorithm::Chain => "chain",
        Algorithm::Pipeline => "pipeline",
        Algorithm::Chains => "chains",
        Algorithm::Binary => "binary",
        Algorithm::SplitBinary => "split_binary",
        Algorithm::InOrderBinary => "in_order_binary",
        Algorithm::Binomial => "binomial",
        Algorithm::Knomial => "knomial",
        Algorithm::Dissemination => "dissemination",
        Algorithm::DoubleRing => "double_ring",
        Algorithm::RecursiveDoubling => "recursive_doubling",
        Algorithm::RecursiveHalving => "recursive_halving",
        Algorithm::Butterfly => "butterfly",
        Algorithm::Ring => "ring",
        Algorithm::SegmentedRing => "segmented_ring",
        Algorithm::NeighborExchange => "neighbor_exchange",
        Algorithm::Bruck => "bruck",
        Algorithm::Pairwise => "pairwise",
        Algorithm::TwoProcs => "two_procs",
        Algorithm::Rabenseifner => "rabenseifner",
        Algorithm::ScatterAllgather => "scatter_allgather",
        Algorithm::ScatterRing => "scatter_ring",
        Algorithm::Nonoverlapping => "nonoverlapping",
        Algorithm::NodeAware => "node_aware",
    }
}

#[cfg(test)]
mod tests {
    use super::super::rules::tests::COLLECTIVES;
    use super::super::schedule::suitable;
    use super::*;

    #[test]
    fn words_are_what_files_say() {
        for collective in COLLECTIVES {
            assert_eq!(serde_json::to_value(collective).unwrap(), collective_word(collective));
            for &algorithm in suitable(collective) {
                assert_eq!(serde_json::to_value(algorithm).unwrap(), algorithm_word(algorithm));
            }
        }
    }
}
