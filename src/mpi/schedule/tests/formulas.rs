//! Checks that messages, bytes and rounds equal the formulas in the algorithms' documentation.

use super::super::suitable;
use super::symbolic::{ScheduleCase, SymbolicRun, run};
use crate::rules::tests::COLLECTIVES;
use crate::schedule::Choice;
use mcpsim_base::platform::{Algorithm, Collective, Method};

/// Formulas for the numbers of messages and bytes that all `p` ranks send together, if the buffer or block has `n`
/// bytes and the root is 0.
fn formula(collective: Collective, algorithm: Algorithm, p: u64, n: u64) -> (u64, u64) {
    let log_up = u64::from(p.next_power_of_two().ilog2());
    let log = u64::from(p.ilog2());
    let q = 1 << log;
    let fold = p - q;
    let ones: u64 = (0..p).map(|i| u64::from(i.count_ones())).sum();
    match (collective, algorithm) {
        (Collective::Barrier, Algorithm::Dissemination) => (p * log_up, 0),
        (Collective::Barrier, Algorithm::Binomial | Algorithm::Linear) => (2 * (p - 1), 0),
        (Collective::Barrier, _) => (q * log + 2 * fold, 0),
        (Collective::Bcast, Algorithm::ScatterAllgather) if p.is_power_of_two() && n < 512 << 10 => {
            (p - 1 + p * log, ones * n / p + (p - 1) * n)
        }
        (Collective::Bcast, Algorithm::ScatterAllgather) => (p - 1 + p * (p - 1), ones * n / p + (p - 1) * n),
        (Collective::Bcast, Algorithm::Chain) => ((p - 1) * n.div_ceil(128 << 10).max(1), (p - 1) * n),
        (Collective::Reduce, Algorithm::Rabenseifner) => (q * log + q - 1 + fold, (q - 1) * n + log * n / 2 + fold * n),
        (Collective::Bcast | Collective::Reduce, _) => (p - 1, (p - 1) * n),
        (Collective::Allreduce, Algorithm::RecursiveDoubling) => (q * log + 2 * fold, (q * log + 2 * fold) * n),
        (Collective::Allreduce, Algorithm::Rabenseifner) => (2 * q * log + 2 * fold, 2 * (q - 1) * n + 2 * fold * n),
        (Collective::Allreduce, Algorithm::Ring) => (2 * p * (p - 1), 2 * (p - 1) * n),
        (Collective::Allreduce, _) => (2 * (p - 1), 2 * (p - 1) * n),
        (Collective::Gather | Collective::Scatter, Algorithm::Binomial) => (p - 1, ones * n),
        (Collective::Gather | Collective::Scatter | Collective::Gatherv | Collective::Scatterv, _) => {
            (p - 1, (p - 1) * n)
        }
        (Collective::Allgather | Collective::Allgatherv, Algorithm::Bruck | Algorithm::RecursiveDoubling) => {
            (p * log_up, p * (p - 1) * n)
        }
        (Collective::Alltoall, Algorithm::Bruck) => (p * log_up, p * ones * n),
        (Collective::Allgather | Collective::Allgatherv | Collective::Alltoall | Collective::Alltoallv, _) => {
            (p * (p - 1), p * (p - 1) * n)
        }
        (Collective::Scan | Collective::Exscan, Algorithm::Chain) => (p - 1, (p - 1) * n),
        (Collective::Scan | Collective::Exscan, _) => {
            let messages: u64 = (0..log_up).map(|k| (0..p).filter(|r| r ^ (1 << k) < p).count() as u64).sum();
            (messages, messages * n)
        }
        // A reduce_scatter of blocks of n bytes has p n bytes of data.
        (Collective::ReduceScatter, Algorithm::RecursiveHalving) => {
            (q * log + 2 * fold, (q - 1) * p * n + fold * (p + 1) * n)
        }
        (Collective::ReduceScatter, Algorithm::Binomial) => (2 * (p - 1), (p - 1) * p * n + ones * n),
        (Collective::ReduceScatter, _) => (p * (p - 1), (p - 1) * p * n),
    }
}

/// Whether another test covers `algorithm`, or `algorithm` executes other algorithms.
fn has_own_test(algorithm: Algorithm) -> bool {
    use Algorithm::*;
    matches!(
        algorithm,
        Pipeline
            | Chains
            | Binary
            | SplitBinary
            | InOrderBinary
            | Knomial
            | ScatterRing
            | DoubleRing
            | SegmentedRing
            | NeighborExchange
            | TwoProcs
            | Nonoverlapping
            | Butterfly
            | LinearSync
    )
}

#[test]
fn messages_and_bytes_are_what_the_formulas_say() {
    for collective in COLLECTIVES {
        for &algorithm in suitable(collective).iter().filter(|other| !has_own_test(**other)) {
            for p in (1..=17).chain([32, 33]) {
                // The sizes for all p lie below and above the threshold of the ring allgather.
                let n = p * 64_000;
                let SymbolicRun { messages, bytes, .. } = run(ScheduleCase::flat(collective, algorithm, p as u32, n));
                let n = if collective == Collective::Barrier { 0 } else { n };
                let bytes = if collective == Collective::Barrier { 0 } else { bytes };
                assert_eq!(
                    (messages, bytes),
                    formula(collective, algorithm, p, n),
                    "{collective:?} by {algorithm:?} among {p} with {n}"
                );
            }
        }
    }
}

#[test]
fn messages_and_bytes_of_open_mpi_s_algorithms_are_what_the_formulas_say() {
    use Algorithm::*;
    use Collective::{Allgather, Allreduce, Alltoall, Barrier, Bcast, Gather, Reduce, ReduceScatter};
    for p in (2..=17u64).chain([32, 33]) {
        let n = p * 6400;
        let segments = n.div_ceil(1000);
        let ones: u64 = (0..p).map(|i| u64::from(i.count_ones())).sum();
        let plain = Method::from;
        let all = (p - 1) * n;
        let mut expected = vec![
            (Barrier, plain(DoubleRing), (2 * p, 0)),
            // Each member receives half of the data down the tree, and the other half from its partner.
            (Bcast, plain(SplitBinary), (2 * (p - 1), all)),
            (Bcast, plain(ScatterRing), (p - 1 + p * (p - 1), ones * n / p + all)),
            // The last rank is the top of the tree and sends the result to the root.
            (Reduce, plain(InOrderBinary), (p, p * n)),
            (Reduce, plain(InOrderBinary).in_segments(1000), ((p - 1) * segments + 1, p * n)),
            (Gather, plain(LinearSync).in_segments(100), (3 * (p - 1), all)),
            (Gather, plain(Linear).by(1), (p - 1, all)),
            (Alltoall, plain(LinearSync), (p * (p - 1), p * all)),
            (ReduceScatter, plain(Ring), (p * (p - 1), p * all)),
            // A block has 6400 bytes, which is 6.4 turns of 1000 bytes, rounded to 6.
            (Allreduce, plain(SegmentedRing).in_segments(1000), (p * (p - 1) * 7, 2 * all)),
        ];
        for tree in [Pipeline, Chains, Binary, Knomial] {
            for collective in [Bcast, Reduce] {
                expected.push((collective, plain(tree), (p - 1, all)));
                expected.push((collective, plain(tree).in_segments(1000), ((p - 1) * segments, all)));
            }
        }
        if p % 2 == 0 {
            expected.push((Allgather, plain(NeighborExchange), (p * p / 2, p * all)));
        }
        if p.is_power_of_two() {
            let log = u64::from(p.ilog2());
            // A member whose folded number is a palindrome in binary already holds its own block.
            let away = p - (1 << log.div_ceil(2));
            expected.push((ReduceScatter, plain(Butterfly), (p * log + away, p * all + away * n)));
        }
        for (collective, method, counts) in expected {
            let SymbolicRun { messages, bytes, .. } = run(ScheduleCase::flat(collective, method, p as u32, n));
            let bytes = if collective == Barrier { 0 } else { bytes };
            assert_eq!((messages, bytes), counts, "{collective:?} by {method:?} among {p} with {n}");
        }
    }
}

#[test]
fn two_collectives_one_after_another_have_the_messages_of_both() {
    let choice = Choice {
        method: Algorithm::Nonoverlapping.into(),
        first: Algorithm::Binomial.into(),
        second: Method::from(Algorithm::Knomial),
    };
    let ran = |collective, p| run(ScheduleCase { choice, ..ScheduleCase::flat(collective, Algorithm::Linear, p, 800) });
    for p in 2..20u32 {
        let (n, p1) = (800, u64::from(p) - 1);
        let (allreduce, allgather) = (ran(Collective::Allreduce, p), ran(Collective::Allgather, p));
        assert_eq!((allreduce.messages, allreduce.bytes), (2 * p1, 2 * p1 * n));
        let ones: u64 = (0..p).map(|i| u64::from(i.count_ones())).sum();
        assert_eq!((allgather.messages, allgather.bytes), (2 * p1, ones * n + p1 * u64::from(p) * n));
    }
}

#[test]
fn logarithmic_algorithms_take_logarithmically_many_steps() {
    let logarithmic = [
        (Collective::Barrier, Algorithm::Dissemination),
        (Collective::Barrier, Algorithm::Binomial),
        (Collective::Barrier, Algorithm::RecursiveDoubling),
        (Collective::Bcast, Algorithm::Binomial),
        (Collective::Reduce, Algorithm::Rabenseifner),
        (Collective::Allreduce, Algorithm::RecursiveDoubling),
        (Collective::Allreduce, Algorithm::Rabenseifner),
        (Collective::Gather, Algorithm::Binomial),
        (Collective::Scan, Algorithm::RecursiveDoubling),
    ];
    for (collective, algorithm) in logarithmic {
        for p in [64u32, 100, 127, 128] {
            let steps = run(ScheduleCase::flat(collective, algorithm, p, 8192)).steps;
            assert!(steps <= 3 * 7 + 5, "{collective:?} by {algorithm:?} among {p}: {steps} steps");
        }
    }
}

#[test]
fn a_barrier_of_a_million_ranks_needs_twenty_steps_and_little_memory() {
    use super::super::{Extent, Schedule, Seat, Step};
    use mcpsim_base::units::Bytes;
    let (seat, extent) = (Seat::with_root_0(1 << 20, 12_345), Extent { size: Bytes::ZERO, element: 1 });
    let dissemination = Method::from(Algorithm::Dissemination).into();
    let (mut schedule, _) = Schedule::plan(Collective::Barrier, dissemination, seat, extent).unwrap();
    let steps = std::iter::from_fn(|| Some(schedule.next_step())).take_while(|step| *step != Step::Done).count();
    assert_eq!(steps, 20);
    assert!(size_of::<Schedule>() <= 128, "{}", size_of::<Schedule>());
}
