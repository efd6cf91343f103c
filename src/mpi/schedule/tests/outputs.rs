//! Every rank ends with what MPI-3.1, chapter 5 says, whatever the algorithm, number of ranks and root.

use proptest::prelude::*;

use super::super::{keeps_rank_order, suitable};
use super::symbolic::{Cell, Term, run};
use crate::mpi::rules::tests::COLLECTIVES;
use crate::platform::{Algorithm, Collective};

/// What rank `rank`'s output must hold in block `block`; `None` where it does not matter.
fn expected(collective: Collective, size: u32, root: u32, rank: u32, block: u32) -> Option<Vec<Term>> {
    let is_root = rank == root;
    let over = |ranks: std::ops::Range<u32>| ranks.map(|from| (from, block)).collect();
    match collective {
        Collective::Barrier => None,
        Collective::Bcast => Some(vec![(root, block)]),
        Collective::Reduce => is_root.then(|| over(0..size)),
        Collective::Allreduce => Some(over(0..size)),
        Collective::Gather | Collective::Gatherv => is_root.then(|| vec![(block, block)]),
        Collective::Scatter | Collective::Scatterv => (block == rank).then(|| vec![(root, block)]),
        Collective::Allgather | Collective::Allgatherv => Some(vec![(block, block)]),
        Collective::Alltoall | Collective::Alltoallv => Some(vec![(block, rank)]),
        Collective::Scan => Some(over(0..rank + 1)),
        Collective::Exscan => (rank > 0).then(|| over(0..rank)),
        Collective::ReduceScatter => (block == rank).then(|| over(0..size)),
    }
}

fn check(collective: Collective, algorithm: Algorithm, size: u32, root: u32, bytes: u64) {
    let ran = run(collective, algorithm, size, root, bytes);
    let ordered = keeps_rank_order(collective, algorithm, root);
    for (rank, cells) in (0..).zip(&ran.outputs) {
        for (block, cell) in (0..).zip(cells) {
            let Some(expected) = expected(collective, size, root, rank, block) else { continue };
            let mut found: Cell = cell.clone();
            if !ordered && let Some(terms) = &mut found {
                terms.sort_unstable();
            }
            assert_eq!(
                found,
                Some(expected),
                "{collective:?} by {algorithm:?} among {size} from {root}: block {block} of rank {rank}"
            );
        }
    }
}

fn has_root(collective: Collective) -> bool {
    matches!(
        collective,
        Collective::Bcast
            | Collective::Reduce
            | Collective::Gather
            | Collective::Gatherv
            | Collective::Scatter
            | Collective::Scatterv
    )
}

#[test]
fn every_rank_ends_with_its_data_even_if_every_send_waits_for_its_receive() {
    for collective in COLLECTIVES {
        for &algorithm in suitable(collective) {
            for size in (1..=17).chain([32, 33]) {
                let roots = if has_root(collective) { size } else { 1 };
                for root in 0..roots {
                    check(collective, algorithm, size, root, 1024);
                }
            }
        }
    }
}

#[test]
fn more_ranks_than_a_batch_and_long_messages_end_as_well() {
    for collective in [Collective::Alltoall, Collective::Allgather] {
        for size in [34, 65, 66, 70, 97, 98] {
            check(collective, Algorithm::Linear, size, 0, 8);
        }
    }
    for size in [1, 2, 3, 8] {
        for algorithm in [Algorithm::Chain, Algorithm::ScatterAllgather] {
            check(Collective::Bcast, algorithm, size, size - 1, 1 << 20);
        }
    }
}

#[test]
fn every_reduction_has_an_algorithm_that_keeps_the_order_of_ranks() {
    assert!(!keeps_rank_order(Collective::Allreduce, Algorithm::Ring, 0));
    assert!(!keeps_rank_order(Collective::Reduce, Algorithm::Binomial, 1));
    for collective in COLLECTIVES {
        assert!(suitable(collective).iter().any(|&algorithm| keeps_rank_order(collective, algorithm, 1)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_collective_size_root_and_length_ends_right(
        which in 0..COLLECTIVES.len(), algorithm in 0usize..4, size in 1u32..70, root in 0u32..70,
        bytes in prop_oneof![Just(0u64), 1u64..64, 1u64..2_000_000],
    ) {
        let collective = COLLECTIVES[which];
        let suitable = suitable(collective);
        let root = if has_root(collective) { root % size } else { 0 };
        check(collective, suitable[algorithm % suitable.len()], size, root, bytes);
    }
}
