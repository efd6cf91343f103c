//! Messages, bytes and rounds are as the algorithms' documentation says.

use super::super::suitable;
use super::symbolic::{Ran, run};
use crate::mpi::rules::tests::COLLECTIVES;
use crate::platform::{Algorithm, Collective};

/// Messages and bytes that all `p` ranks send together, with `n` bytes in the buffer or block; root 0.
fn formula(collective: Collective, algorithm: Algorithm, p: u64, n: u64) -> (u64, u64) {
    let log_up = u64::from(p.next_power_of_two().ilog2());
    let log = u64::from(p.ilog2());
    let q = 1 << log;
    let fold = p - q;
    let ones: u64 = (0..p).map(|i| u64::from(i.count_ones())).sum();
    match (collective, algorithm) {
        (Collective::Barrier, Algorithm::Dissemination) => (p * log_up, 0),
        (Collective::Barrier, Algorithm::Binomial) => (2 * (p - 1), 0),
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
        // Blocks of n bytes: p n in all.
        (Collective::ReduceScatter, Algorithm::RecursiveHalving) => {
            (q * log + 2 * fold, (q - 1) * p * n + fold * (p + 1) * n)
        }
        (Collective::ReduceScatter, Algorithm::Binomial) => (2 * (p - 1), (p - 1) * p * n + ones * n),
        (Collective::ReduceScatter, _) => (p * (p - 1), (p - 1) * p * n),
    }
}

#[test]
fn messages_and_bytes_are_what_the_formulas_say() {
    for collective in COLLECTIVES {
        for &algorithm in suitable(collective) {
            for p in (1..=17).chain([32, 33]) {
                // Divisible by p and the powers of two up to 32; below and above what makes an allgather a ring.
                let n = p * 64_000;
                let Ran { messages, bytes, .. } = run(collective, algorithm, p as u32, 0, n);
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
            let steps = run(collective, algorithm, p, 0, 8192).steps;
            assert!(steps <= 3 * 7 + 5, "{collective:?} by {algorithm:?} among {p}: {steps} steps");
        }
    }
}

#[test]
fn a_barrier_of_a_million_ranks_needs_twenty_steps_and_little_memory() {
    use super::super::{Schedule, Seat, Step};
    use crate::units::Bytes;
    let seat = Seat { size: 1 << 20, rank: 12_345, root: 0 };
    let mut schedule = Schedule::new(Collective::Barrier, Algorithm::Dissemination, seat, Bytes::ZERO).unwrap();
    let steps = std::iter::from_fn(|| Some(schedule.next_step())).take_while(|step| *step != Step::Done).count();
    assert_eq!(steps, 20);
    assert!(size_of::<Schedule>() <= 96, "{}", size_of::<Schedule>());
}
