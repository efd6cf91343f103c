//! Checks that the outputs of every rank are those of MPI-3.1, chapter 5, for every algorithm, number of ranks and
//! root.

use proptest::prelude::*;

use super::super::{Choice, RootNumbering, ScheduleStyle, keeps_rank_order, suitable};
use super::symbolic::{Cell, ScheduleCase, Term, run};
use crate::CallForm;
use crate::library::{self, ChoiceContext};
use crate::nodes::NodeSpread;
use crate::rules::tests::COLLECTIVES;
use mcpsim_base::platform::{Algorithm, Collective, Library, Method};

/// Expected contents of block `block` in rank `rank`'s output; `None` if unspecified.
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

/// Whether the output of `collective` has one block per rank.
fn by_rank(collective: Collective) -> bool {
    use Collective::*;
    matches!(
        collective,
        Gather | Gatherv | Scatter | Scatterv | Allgather | Allgatherv | Alltoall | Alltoallv | ReduceScatter
    )
}

fn check(case: ScheduleCase) {
    let ScheduleCase { collective, choice, size, root, .. } = case;
    let ran = run(case);
    let keeps = match choice.method.algorithm {
        Algorithm::Nonoverlapping => keeps_rank_order(Collective::Reduce, choice.first.algorithm),
        algorithm => keeps_rank_order(collective, algorithm),
    };
    // A binomial tree starts at the root unless contributions must be combined in order of ranks.
    let by_root = (collective, choice.method.algorithm) == (Collective::Reduce, Algorithm::Binomial) && root > 0;
    let ordered = keeps && (case.ordered || !by_root);
    for (rank, cells) in (0..).zip(&ran.outputs) {
        for (place, cell) in (0..).zip(cells) {
            // With one block per rank, a block consists of `ran.cells` test cells (indivisible byte ranges). Each cell
            // of an output block is compared with the same cell of the source block.
            let block = if by_rank(collective) { place / ran.cells } else { place };
            let Some(expected) = expected(collective, size, root, rank, block) else { continue };
            let at = |(from, block): Term| {
                (from, if by_rank(collective) { block * ran.cells + place % ran.cells } else { block })
            };
            let expected: Vec<Term> = expected.into_iter().map(at).collect();
            let mut found: Cell = cell.clone();
            if !ordered && let Some(terms) = &mut found {
                terms.sort_unstable();
            }
            assert_eq!(found, Some(expected), "{case:?}: cell {place} of rank {rank}");
        }
    }
}

/// The test case as the MPI library `library` runs it if a user selects `method`: unsuitable algorithms are replaced,
/// and inner collectives get algorithms.
fn asked(library: Library, collective: Collective, method: Method, case: ScheduleCase) -> ScheduleCase {
    let ScheduleCase { size, bytes, element, .. } = case;
    let blocks = if by_rank(collective) { u64::from(size) } else { 1 };
    let question = ChoiceContext {
        collective,
        form: CallForm::Blocking,
        ranks: size,
        size: bytes,
        total: bytes * blocks,
        element,
        ordered: false,
        spread: NodeSpread::FLAT,
    };
    let style = library::style(library);
    let choice = library::complete(library, question, library::settle(library, question, method));
    ScheduleCase { choice, style, collective, ..case }
}

/// Every algorithm of `collective` with several values of its parameters.
fn methods(collective: Collective) -> Vec<Method> {
    let mut methods = Vec::new();
    for &algorithm in suitable(collective) {
        let (segments, fan) = super::super::takes(collective, algorithm);
        let plain = Method::from(algorithm);
        methods.push(plain);
        methods.extend(segments.then(|| plain.in_segments(100)));
        methods.extend(fan.then(|| plain.by(3)));
        methods.extend(fan.then(|| plain.by(1)));
        methods.extend((segments && fan).then(|| plain.by(2).in_segments(64)));
    }
    methods
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

/// Whether `algorithm` handles every call without being replaced by another algorithm.
fn by_itself(algorithm: Algorithm) -> bool {
    use Algorithm::{NeighborExchange, Nonoverlapping, SegmentedRing, TwoProcs};
    !matches!(algorithm, NeighborExchange | Nonoverlapping | SegmentedRing | TwoProcs)
}

#[test]
fn every_method_of_every_library_ends_right() {
    // One MPI library of each schedule style.
    for library in [Library::Mpich3Flat, Library::OpenMpi41, Library::Mpich4] {
        for collective in COLLECTIVES {
            for method in methods(collective) {
                for size in 1..=33 {
                    if method.algorithm == Algorithm::TwoProcs && size > 2 {
                        continue;
                    }
                    let roots: &[u32] = if has_root(collective) { &[0, size - 1] } else { &[0] };
                    for &root in roots {
                        for bytes in if size < 9 { vec![0, 8, 1096] } else { vec![1096] } {
                            let choice = Choice::from(method);
                            for ordered in [false, true] {
                                let flat = ScheduleCase::flat(collective, method, size, bytes);
                                let case = ScheduleCase { choice, root, element: 8, ordered, ..flat };
                                check(asked(library, collective, method, case));
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Pairs: whether contributions must be combined in order of ranks, and whether the call blocks.
const FORMS: [(bool, CallForm); 4] = [
    (false, CallForm::Blocking),
    (true, CallForm::Blocking),
    (false, CallForm::NonBlocking),
    (true, CallForm::NonBlocking),
];

#[test]
fn every_choice_of_every_library_ends_right() {
    for library in Library::ALL {
        for collective in COLLECTIVES {
            for size in [1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 33, 64] {
                for bytes in [0, 8, 1000, 4096, 40_000, 400_000] {
                    for (ordered, form) in FORMS {
                        let element = 8;
                        let blocks = if by_rank(collective) { u64::from(size) } else { 1 };
                        let total = bytes * blocks;
                        let root = if has_root(collective) { size / 3 } else { 0 };
                        let question = ChoiceContext {
                            collective,
                            form,
                            ranks: size,
                            size: bytes,
                            total,
                            element,
                            ordered,
                            spread: NodeSpread::FLAT,
                        };
                        let (choice, style) = (library::decide(library, question), library::style(library));
                        let reduces = match choice.method.algorithm {
                            Algorithm::Nonoverlapping => (Collective::Reduce, choice.first.algorithm),
                            algorithm => (collective, algorithm),
                        };
                        assert!(!ordered || keeps_rank_order(reduces.0, reduces.1), "{question:?}");
                        let numbering = match (style, form) {
                            (ScheduleStyle::OpenMpi, CallForm::NonBlocking) => RootNumbering::Swapped,
                            _ => RootNumbering::Rotated,
                        };
                        check(ScheduleCase {
                            collective,
                            choice,
                            style,
                            size,
                            root,
                            bytes,
                            element,
                            ordered,
                            numbering,
                        });
                    }
                }
            }
        }
    }
}

#[test]
fn every_rank_ends_with_its_data_even_if_every_send_waits_for_its_receive() {
    for collective in COLLECTIVES {
        for &algorithm in suitable(collective).iter().filter(|other| by_itself(**other)) {
            for size in (1..=17).chain([32, 33]) {
                let roots = if has_root(collective) { size } else { 1 };
                for root in 0..roots {
                    check(ScheduleCase { root, ..ScheduleCase::flat(collective, algorithm, size, 1024) });
                }
            }
        }
    }
}

#[test]
fn more_ranks_than_a_batch_and_long_messages_end_as_well() {
    for collective in [Collective::Alltoall, Collective::Allgather] {
        for size in [34, 65, 66, 70, 97, 98] {
            check(ScheduleCase::flat(collective, Algorithm::Linear, size, 8));
        }
    }
    for size in [1, 2, 3, 8] {
        for algorithm in [Algorithm::Chain, Algorithm::ScatterAllgather] {
            check(ScheduleCase { root: size - 1, ..ScheduleCase::flat(Collective::Bcast, algorithm, size, 1 << 20) });
        }
    }
}

#[test]
fn every_reduction_has_an_algorithm_that_keeps_the_order_of_ranks() {
    assert!(!keeps_rank_order(Collective::Allreduce, Algorithm::Ring));
    for collective in COLLECTIVES {
        assert!(suitable(collective).iter().any(|&algorithm| keeps_rank_order(collective, algorithm)));
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
        let algorithm = suitable[algorithm % suitable.len()];
        if by_itself(algorithm) {
            check(ScheduleCase { root, ..ScheduleCase::flat(collective, algorithm, size, bytes) });
        }
    }
}
