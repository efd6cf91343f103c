//! Open MPI: the identifiers of its collective algorithms, and algorithm selection by the tables of versions 4.1 and
//! 5.0.

use super::{ChoiceContext, look_up, openmpi41};
use mcpsim_base::platform::{Algorithm, Collective, Method};

const fn of(algorithm: Algorithm) -> Method {
    Method { algorithm, segment: 0, fan: 0 }
}

/// Algorithms in the order of the identifiers 1, 2, … that Open MPI 4.1 and 5.0 use in the `coll_tuned_…_algorithm`
/// parameter of a collective.
pub fn numbered(collective: Collective) -> &'static [Method] {
    use Algorithm::*;
    match collective {
        Collective::Allgather => {
            const { &[of(Nonoverlapping), of(Bruck), of(RecursiveDoubling), of(Ring), of(NeighborExchange), of(TwoProcs)] }
        }
        Collective::Allgatherv => {
            const { &[of(Nonoverlapping), of(Bruck), of(Ring), of(NeighborExchange), of(TwoProcs)] }
        }
        Collective::Allreduce => {
            const { &[of(Linear), of(Nonoverlapping), of(RecursiveDoubling), of(Ring), of(SegmentedRing), of(Rabenseifner)] }
        }
        Collective::Alltoall => const { &[of(Linear), of(Pairwise), of(Bruck), of(LinearSync), of(TwoProcs)] },
        Collective::Alltoallv => const { &[of(Linear), of(Pairwise)] },
        Collective::Barrier => {
            const { &[of(Linear), of(DoubleRing), of(RecursiveDoubling), of(Dissemination), of(TwoProcs), of(Binomial)] }
        }
        Collective::Bcast => {
            const {
                &[
                    of(Linear),
                    of(Chains),
                    of(Pipeline),
                    of(SplitBinary),
                    of(Binary),
                    of(Binomial),
                    of(Knomial),
                    of(ScatterAllgather),
                    of(ScatterRing),
                ]
            }
        }
        Collective::Exscan | Collective::Scan => const { &[of(Chain), of(RecursiveDoubling)] },
        Collective::Gather => const { &[of(Linear).by(1), of(Binomial), of(LinearSync)] },
        Collective::Reduce => {
            const { &[of(Linear), of(Chains), of(Pipeline), of(Binary), of(Binomial), of(InOrderBinary), of(Rabenseifner)] }
        }
        Collective::ReduceScatter => const { &[of(Nonoverlapping), of(RecursiveHalving), of(Ring), of(Butterfly)] },
        Collective::Scatter => const { &[of(Linear).by(1), of(Binomial), of(Linear)] },
        Collective::Gatherv | Collective::Scatterv => const { &[of(Linear).by(1)] },
    }
}

/// Identifier of the algorithm of `method` in Open MPI; `None` if Open MPI does not have the algorithm.
pub fn number_of(collective: Collective, method: Method) -> Option<u8> {
    let methods = numbered(collective);
    let exact = methods.iter().position(|other| other.algorithm == method.algorithm && other.fan == method.fan);
    let place = exact.or_else(|| methods.iter().position(|other| other.algorithm == method.algorithm))?;
    Some(place as u8 + 1)
}

/// Returns the algorithm that Open MPI 4.1 chooses. Open MPI 5.0 uses the same tables for a collective within a node
/// and for a collective among node leaders.
pub(super) fn decide_by_tables(question: ChoiceContext) -> Method {
    let ChoiceContext { collective, ranks, size, total, ordered, .. } = question;
    let (table, size) = match collective {
        Collective::Allreduce if ordered => (openmpi41::ALLREDUCE_ORDERED, size),
        Collective::Allreduce => (openmpi41::ALLREDUCE, size),
        Collective::Alltoall => (openmpi41::ALLTOALL, size),
        Collective::Alltoallv => (openmpi41::ALLTOALLV, 0),
        Collective::Barrier => (openmpi41::BARRIER, 0),
        Collective::Bcast => (openmpi41::BCAST, size),
        Collective::Reduce if ordered => (openmpi41::REDUCE_ORDERED, size),
        Collective::Reduce => (openmpi41::REDUCE, size),
        Collective::ReduceScatter if ordered => return of(Algorithm::Nonoverlapping),
        Collective::ReduceScatter => (openmpi41::REDUCE_SCATTER, total),
        Collective::Allgather => (openmpi41::ALLGATHER, size),
        Collective::Allgatherv => (openmpi41::ALLGATHERV, size),
        Collective::Gather => (openmpi41::GATHER, size),
        Collective::Scatter => (openmpi41::SCATTER, size),
        // Open MPI's component `basic` implements gatherv and scatterv.
        Collective::Gatherv | Collective::Scatterv => return of(Algorithm::Linear).by(1),
        Collective::Scan | Collective::Exscan => return of(Algorithm::Chain),
    };
    numbered(collective)[usize::from(look_up(table, ranks, size)) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CallForm;
    use crate::nodes::NodeSpread;
    use crate::schedule::suitable;

    #[test]
    fn every_entry_of_the_tables_is_an_algorithm_that_suits() {
        for collective in crate::rules::tests::COLLECTIVES {
            for ranks in (1..70).chain([100, 200, 300, 600, 1500, 3000, 5000]) {
                for size in (0..24).map(|bit| 1u64 << bit).chain([0]) {
                    for ordered in [false, true] {
                        let question = ChoiceContext {
                            collective,
                            form: CallForm::Blocking,
                            ranks,
                            size,
                            total: size,
                            element: 1,
                            ordered,
                            spread: NodeSpread::FLAT,
                        };
                        assert!(suitable(collective).contains(&decide_by_tables(question).algorithm));
                    }
                }
            }
        }
    }

    #[test]
    fn numbers_and_algorithms_stand_for_each_other() {
        for collective in crate::rules::tests::COLLECTIVES {
            for (number, &method) in (1..).zip(numbered(collective)) {
                assert_eq!(number_of(collective, method), Some(number), "{collective:?} {method:?}");
            }
        }
        assert_eq!(number_of(Collective::Bcast, Algorithm::Chain.into()), None);
    }
}
