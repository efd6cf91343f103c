//! Expected times of collectives, computed by hand. Each node has one rank. The latency is L = 1000 ns, a byte takes 1
//! ns, and there are no overheads and no contention. All messages are eager, so a sender continues at once. Comments
//! give times in ns unless they use L, M, C or K.
//!
//! Combining takes 3 ns per byte (two reads and a write at a memory bandwidth of 1 GB/s). Copying takes 2 ns per byte.

#[path = "collectives/surroundings.rs"]
mod surroundings;

use crate::support::collectives::{Line, each, line_clocks, part, part_by, run_lines, same};
use crate::support::{machine, ns, row, with_link};
use mcpsim::engine::{RunError, Waiting};
use mcpsim::mpi::{CollectiveCall, CommMember, Group, Sizes};
use mcpsim::platform::{Algorithm, CacheRates, Collective, Contention, Level, Link, Platform, Row};
use mcpsim::units::{Bandwidth, Bytes, SimSpan};

/// Latency of a message in ns.
const L: u64 = 1000;
/// Number of bytes in a buffer, or in each rank's block.
const N: u64 = 960;
/// Time in ns of a message of N bytes: 1960.
const M: u64 = L + N;
/// Time in ns to combine N bytes: 2880.
const C: u64 = 3 * N;
/// Time in ns to copy N bytes: 1920.
const K: u64 = 2 * N;

fn ideal(ranks: u32) -> Platform {
    machine([ranks, 1, 1], Contention::Ideal)
}

/// Returns the time at which each of `ranks` ranks ends the collective `collective` with the algorithm `algorithm`. All
/// ranks begin at 0 ns.
fn by(algorithm: Algorithm, collective: Collective, ranks: u32, sizes: &Sizes) -> Vec<u64> {
    rooted(0, algorithm, collective, ranks, sizes)
}

fn rooted(root: u32, algorithm: Algorithm, collective: Collective, ranks: u32, sizes: &Sizes) -> Vec<u64> {
    each_by(algorithm, collective, ranks, |_| sizes.clone(), root)
}

fn each_by(
    algorithm: Algorithm,
    collective: Collective,
    ranks: u32,
    sizes: impl Fn(u32) -> Sizes,
    root: u32,
) -> Vec<u64> {
    let call = |rank| CollectiveCall { root, ..part_by(algorithm, collective, rank, ranks, sizes(rank)) };
    let programs: Vec<_> = (0..ranks).map(|rank| vec![Line::Collective(call(rank))]).collect();
    line_clocks(&ideal(ranks), &programs)
}

/// Runs a collective on MPI_COMM_WORLD as the whole program of each rank. Returns the clocks of the ranks.
fn all(platform: &Platform, algorithm: Algorithm, collective: Collective, ranks: u32, sizes: &Sizes) -> Vec<u64> {
    let line = |rank| Line::Collective(part_by(algorithm, collective, rank, ranks, sizes.clone()));
    let programs: Vec<_> = (0..ranks).map(|rank| vec![line(rank)]).collect();
    line_clocks(platform, &programs)
}

#[test]
fn barrier() {
    use Algorithm::{Binomial, Dissemination, RecursiveDoubling};
    let done = |algorithm, ranks| by(algorithm, Collective::Barrier, ranks, &same(0));
    for algorithm in [Dissemination, Binomial, RecursiveDoubling] {
        assert_eq!(done(algorithm, 1), [0], "alone");
    }

    // The dissemination algorithm has ⌈log2 p⌉ rounds for p ranks. In each round every rank sends one message and
    // receives one message.
    assert_eq!(done(Dissemination, 2), [L; 2]);
    assert_eq!(done(Dissemination, 3), [2 * L; 3]);
    assert_eq!(done(Dissemination, 4), [2 * L; 4]);
    assert_eq!(done(Dissemination, 5), [3 * L; 5]);

    // Messages move up the tree to rank 0 and down again. Ranks 1, 2 and 4 are children of rank 0, and rank 3 is a
    // child of rank 2.
    assert_eq!(done(Binomial, 2), [L, 2 * L]);
    assert_eq!(done(Binomial, 3), [L, 2 * L, 2 * L]);
    // Rank 2 receives from rank 3 at L, and rank 0 receives from rank 2 at 2 L. The release arrives at ranks 1 and 2 at
    // 3 L, and at rank 3 at 4 L.
    assert_eq!(done(Binomial, 4), [2 * L, 3 * L, 3 * L, 4 * L]);
    assert_eq!(done(Binomial, 5), [2 * L, 3 * L, 3 * L, 4 * L, 3 * L]);

    assert_eq!(done(RecursiveDoubling, 2), [L; 2]);
    assert_eq!(done(RecursiveDoubling, 4), [2 * L; 4]);
    // Rank 1 notifies rank 0, which receives the message at L, and waits. Ranks 0 and 2 exchange messages: the message
    // of rank 2 arrives at L, and the message of rank 0 leaves at L. Rank 0 then releases rank 1.
    assert_eq!(done(RecursiveDoubling, 3), [L, 2 * L, 2 * L]);
    // Rank 1 notifies rank 0, which receives the message at L. Ranks 0 and 2 exchange: rank 0 receives at L, rank 2 at
    // 2 L. Ranks 3 and 4 exchange and receive at L. Ranks 0 and 3 then exchange: both messages leave at L and arrive at
    // 2 L. Ranks 2 and 4 exchange: the message of rank 4 arrives at 2 L, and the message of rank 2 leaves at 2 L. Rank
    // 0 releases rank 1 at 2 L.
    assert_eq!(done(RecursiveDoubling, 5), [2 * L, 3 * L, 2 * L, 2 * L, 3 * L]);
}

#[test]
fn bcast() {
    use Algorithm::{Binomial, Chain, Linear, ScatterAllgather};
    let done = |algorithm, ranks| by(algorithm, Collective::Bcast, ranks, &same(N));
    for algorithm in [Binomial, Chain, Linear, ScatterAllgather] {
        assert_eq!(done(algorithm, 1), [0], "alone");
    }

    // Ranks 1, 2 and 4 are children of the root, and rank 3 is a child of rank 2.
    assert_eq!(done(Binomial, 2), [0, M]);
    assert_eq!(done(Binomial, 3), [0, M, M]);
    assert_eq!(done(Binomial, 4), [0, M, M, 2 * M]);
    assert_eq!(done(Binomial, 5), [0, M, M, 2 * M, M]);
    // With root 1, the relative ranks 0, 1, 2, 3 are the ranks 1, 2, 3, 0.
    assert_eq!(rooted(1, Binomial, Collective::Bcast, 4, &same(N)), [2 * M, 0, M, M]);

    assert_eq!(done(Linear, 2), [0, M]);
    assert_eq!(done(Linear, 4), [0, M, M, M]);

    assert_eq!(done(Chain, 2), [0, M]);
    assert_eq!(done(Chain, 4), [0, M, 2 * M, 3 * M]);
    assert_eq!(rooted(2, Chain, Collective::Bcast, 3, &same(N)), [M, 2 * M, 0]);

    // The buffer has two halves of 480 B, and a message of a half takes H = L + 480. The root sends half 1 at 0 ns.
    // Then the root and rank 1 exchange halves: half 0 leaves the root at 0 ns, and half 1 leaves rank 1 at H.
    let h = L + 480;
    assert_eq!(done(ScatterAllgather, 2), [2 * h, h]);
    // The buffer has three blocks, and a message of a block takes T = L + 320. Ranks 1 and 2 receive their blocks at T.
    // In the first round of the ring, rank 0 sends at 0 ns and ranks 1 and 2 send at T, so rank 0 receives a block at 2
    // T, rank 1 at T and rank 2 at 2 T. In the second round, rank 0 sends at 2 T, rank 1 at T and rank 2 at 2 T.
    let t = L + 320;
    assert_eq!(done(ScatterAllgather, 3), [3 * t, 3 * t, 2 * t]);
    // The buffer has four blocks, and a message of a block takes Q = L + 240. Rank 2 receives two blocks at H and
    // forwards one block, which arrives at rank 3 at H + Q. Rank 1 receives its block at Q. In the round with distance
    // 1, rank 0 receives the block of rank 1 at 2 Q, rank 1 that of rank 0 at Q, rank 2 that of rank 3 at H + 2 Q, and
    // rank 3 that of rank 2 at H + Q. In the round with distance 2, messages have two blocks. Rank 0 sends at 2 Q, rank
    // 2 at H + 2 Q, rank 1 at Q and rank 3 at H + Q.
    let q = L + 240;
    assert_eq!(done(ScatterAllgather, 4), [2 * h + 2 * q, 2 * h + q, h + 2 * q, h + q]);
}

#[test]
fn a_chain_is_a_pipeline_of_segments() {
    // The buffer has three segments of S = 128 KiB, and the links carry one message after another. Rank 1 receives
    // segment k at L + (k + 1) S and forwards it at once. Rank 2 receives segment k at 2 L + (k + 2) S.
    let s = 128 << 10;
    let platform = machine([3, 1, 1], Contention::Queue);
    let done = all(&platform, Algorithm::Chain, Collective::Bcast, 3, &same(3 * s));
    assert_eq!(done, [0, L + 3 * s, 2 * L + 4 * s]);
}

#[test]
fn reduce() {
    use Algorithm::{Binomial, Linear, Rabenseifner};
    let done = |algorithm, ranks| by(algorithm, Collective::Reduce, ranks, &same(N));
    // If the communicator has one rank, the rank copies its input to its output.
    for algorithm in [Binomial, Linear, Rabenseifner] {
        assert_eq!(done(algorithm, 1), [K]);
    }

    // All messages arrive at M. The root stores the data of the last rank and combines all other data with it.
    assert_eq!(done(Linear, 2), [M + C, 0]);
    assert_eq!(done(Linear, 3), [M + 2 * C, 0, 0]);
    assert_eq!(done(Linear, 4), [M + 3 * C, 0, 0, 0]);

    // The root copies its input until K, which is less than M, and then combines. Leaves send their input.
    assert_eq!(done(Binomial, 2), [M + C, 0]);
    assert_eq!(done(Binomial, 3), [M + 2 * C, 0, 0]);
    // Rank 2 has combined the data of rank 3 at M + C. The result arrives at rank 0 at 2 M + C, after rank 0 has
    // combined the data of rank 1.
    assert_eq!(done(Binomial, 4), [2 * M + 2 * C, 0, M + C, 0]);
    assert_eq!(done(Binomial, 5), [2 * M + 3 * C, 0, M + C, 0, 0]);
    // With root 2, both other ranks are leaves.
    assert_eq!(rooted(2, Binomial, Collective::Reduce, 3, &same(N)), [0, 0, M + 2 * C]);

    // All ranks copy their input before the first round. A message of a half (480 B) takes H = L + 480, and combining a
    // half takes 3 · 480 ns. Then rank 1 sends its half to rank 0.
    let (h, half) = (L + 480, 3 * 480);
    assert_eq!(done(Rabenseifner, 2), [K + h + half + h, K + h + half]);
    // The next round moves quarters: a message takes Q = L + 240, and combining takes 3 · 240 ns. All ranks have a
    // combined quarter at time E. Ranks 2 and 3 send their quarters to ranks 0 and 1. Then rank 1 sends two quarters to
    // rank 0.
    let (q, quarter) = (L + 240, 3 * 240);
    let e = K + h + half + q + quarter;
    assert_eq!(done(Rabenseifner, 4), [e + q + h, e + q, e, e]);
    // Rank 1 sends its whole buffer to rank 0, which has combined the buffer at F. The half of rank 2 arrived at rank 0
    // at K + H. The half of rank 0 arrives at rank 2 at F + H, and the result of rank 2 arrives at rank 0 one message
    // later.
    let f = K + M + C;
    assert_eq!(done(Rabenseifner, 3), [f + h + half + h, K, f + h + half]);
}

#[test]
fn allreduce() {
    use Algorithm::{Binomial, Rabenseifner, RecursiveDoubling, Ring};
    let done = |algorithm, ranks| by(algorithm, Collective::Allreduce, ranks, &same(N));
    for algorithm in [Binomial, Rabenseifner, RecursiveDoubling, Ring] {
        assert_eq!(done(algorithm, 1), [K], "alone, the input is copied");
    }
    let (h, half, q, quarter) = (L + 480, 3 * 480, L + 240, 3 * 240);
    // With three ranks, rank 1 sends its data to rank 0, which has combined the data of both ranks at F.
    let f = K + M + C;

    assert_eq!(done(RecursiveDoubling, 2), [K + M + C; 2]);
    assert_eq!(done(RecursiveDoubling, 4), [K + 2 * (M + C); 4]);
    // The data of rank 2 have already arrived at rank 0 at K + M. The data of rank 0 leave at F. Rank 0 then sends the
    // result to rank 1.
    assert_eq!(done(RecursiveDoubling, 3), [f + C, f + C + M, f + M + C]);

    assert_eq!(done(Rabenseifner, 2), [K + h + half + h; 2]);
    assert_eq!(done(Rabenseifner, 4), [K + h + half + q + quarter + q + h; 4]);
    // Rank 0 has combined its half at F + half and sends the half. The result of rank 2 arrives at rank 0 at F + 2 H +
    // half, and the whole result arrives at rank 1 one message later.
    assert_eq!(done(Rabenseifner, 3), [f + h + half + h, f + h + half + h + M, f + h + half]);

    // In p − 1 rounds the received blocks are combined, and in p − 1 further rounds the received blocks are stored.
    assert_eq!(done(Ring, 2), [K + h + half + h; 2]);
    assert_eq!(done(Ring, 3), [K + 2 * (L + 320 + 3 * 320) + 2 * (L + 320); 3]);
    assert_eq!(done(Ring, 4), [K + 3 * (q + quarter) + 3 * q; 4]);
    // The buffer of 80 bytes has ten elements, which form blocks of 32, 24 and 24 bytes. Copying the buffer takes 160
    // ns. In round 1, rank r sends block r. Rank 0 receives 24 bytes of rank 2 at 1184 ns, rank 1 receives 32 bytes at
    // 1192 ns, and rank 2 receives 24 bytes at 1184 ns. The blocks are combined at 1256, 1288 and 1256 ns. In round 2,
    // rank r sends block r − 1. Rank 0 receives block 1 of rank 2 and rank 1 receives block 2 of rank 0 at 1256 + 1024
    // = 2280 ns. Rank 2 receives block 0 of rank 1 at 1288 + 1032 = 2320 ns. The blocks are combined at 2352, 2352 and
    // 2416 ns. In round 3, rank r sends its result, block r + 1. Rank 0 receives block 0 of rank 2 at 2416 + 1032 =
    // 3448 ns. Ranks 1 and 2 receive blocks 1 and 2 at 2352 + 1024 = 3376 ns. In round 4, received blocks are
    // forwarded. Rank 0 receives block 2 of rank 2 at 3376 + 1024 = 4400 ns, rank 1 receives block 0 of rank 0 at 3448
    // + 1032 = 4480 ns, and rank 2 receives block 1 of rank 1 at 4400 ns.
    assert_eq!(by(Ring, Collective::Allreduce, 3, &same(80)), [4400, 4480, 4400]);

    // The data is reduced up the tree until S, and the result is broadcast down the tree.
    assert_eq!(done(Binomial, 2), [K + M + C, K + M + C + M]);
    let s = K + M + 2 * C;
    assert_eq!(done(Binomial, 3), [s, s + M, s + M]);
    let s = K + 2 * M + 2 * C;
    assert_eq!(done(Binomial, 4), [s, s + M, s + M, s + 2 * M]);
}

#[test]
fn gather() {
    use Algorithm::{Binomial, Linear};
    let done = |algorithm, ranks| by(algorithm, Collective::Gather, ranks, &same(N));
    assert_eq!(done(Linear, 1), [K]);
    assert_eq!(done(Binomial, 1), [K]);
    // The root has copied its own block at K, before the blocks of the other ranks arrive at M > K.
    assert_eq!(done(Linear, 2), [M, 0]);
    assert_eq!(done(Linear, 4), [M, 0, 0, 0]);
    // For blocks of 2000 bytes, the copy takes longer than a message: 4000 > 3000.
    assert_eq!(by(Linear, Collective::Gather, 3, &same(2000)), [4000, 0, 0]);

    assert_eq!(done(Binomial, 2), [M, 0]);
    assert_eq!(done(Binomial, 3), [M, 0, 0]);
    // Rank 2 receives the block of rank 3 at M and sends two blocks.
    let two = L + 2 * N;
    assert_eq!(done(Binomial, 4), [M + two, 0, M, 0]);
    assert_eq!(done(Binomial, 5), [M + two, 0, M, 0, 0]);
    // Rank 4 receives two blocks of rank 6 at M + two and sends four blocks.
    assert_eq!(done(Binomial, 8), [M + two + L + 4 * N, 0, M, 0, M + two, 0, M, 0]);
    // With root 1, the relative ranks 0 to 3 are the ranks 1, 2, 3, 0. Rank 3 therefore receives the block of rank 0.
    assert_eq!(rooted(1, Binomial, Collective::Gather, 4, &same(N)), [0, M + two, 0, M]);

    // The blocks have 100, 200 and 300 bytes. The last of these blocks arrives at 1300 ns.
    let sizes = each(&[100, 200, 300]);
    assert_eq!(by(Linear, Collective::Gatherv, 3, &sizes), [1300, 0, 0]);
    assert_eq!(rooted(2, Linear, Collective::Gatherv, 3, &sizes), [0, 0, 1200]);
    assert_eq!(by(Linear, Collective::Gatherv, 1, &each(&[100])), [200]);
}

#[test]
fn scatter() {
    use Algorithm::{Binomial, Linear};
    let done = |algorithm, ranks| by(algorithm, Collective::Scatter, ranks, &same(N));
    assert_eq!(done(Linear, 1), [K]);
    assert_eq!(done(Binomial, 1), [K]);
    assert_eq!(done(Linear, 2), [K, M]);
    assert_eq!(done(Linear, 4), [K, M, M, M]);
    assert_eq!(done(Binomial, 2), [K, M]);
    assert_eq!(done(Binomial, 3), [K, M, M]);
    // Rank 2 receives two blocks, forwards one block and copies the other.
    let two = L + 2 * N;
    assert_eq!(done(Binomial, 4), [K, M, two + K, two + M]);
    assert_eq!(done(Binomial, 5), [K, M, two + K, two + M, M]);

    let sizes = each(&[100, 200, 300]);
    assert_eq!(by(Linear, Collective::Scatterv, 3, &sizes), [200, 1200, 1300]);
    // The root ends when it has copied its own block of 300 bytes.
    assert_eq!(rooted(2, Linear, Collective::Scatterv, 3, &sizes), [1100, 1200, 600]);
    assert_eq!(by(Linear, Collective::Scatterv, 1, &each(&[100])), [200]);
}

#[test]
fn allgather() {
    use Algorithm::{Bruck, Linear, RecursiveDoubling, Ring};
    let done = |algorithm, ranks| by(algorithm, Collective::Allgather, ranks, &same(N));
    for algorithm in [Linear, RecursiveDoubling, Ring] {
        assert_eq!(done(algorithm, 1), [K], "alone, one's own block is copied");
    }
    assert_eq!(done(Bruck, 1), [2 * K], "to the rotated buffer and back");
    // All ranks copy their own block, and then all ranks execute the same rounds.
    assert_eq!(done(Ring, 2), [K + M; 2]);
    assert_eq!(done(Ring, 3), [K + 2 * M; 3]);
    assert_eq!(done(Ring, 4), [K + 3 * M; 4]);
    assert_eq!(done(Linear, 2), [K + M; 2]);
    assert_eq!(done(Linear, 4), [K + M; 4]);
    let two = L + 2 * N;
    assert_eq!(done(RecursiveDoubling, 2), [K + M; 2]);
    assert_eq!(done(RecursiveDoubling, 4), [K + M + two; 4]);
    assert_eq!(done(RecursiveDoubling, 8), [K + M + two + L + 4 * N; 8]);
    // The rounds of Bruck's algorithm send 1, 2, 4, … blocks, and the last round sends the remaining blocks. Then all p
    // blocks are copied.
    assert_eq!(done(Bruck, 2), [K + M + 2 * K; 2]);
    assert_eq!(done(Bruck, 3), [K + M + M + 3 * K; 3]);
    assert_eq!(done(Bruck, 4), [K + M + two + 4 * K; 4]);
    assert_eq!(done(Bruck, 5), [K + M + two + M + 5 * K; 5]);
    // If the number of ranks is not a power of two, recursive doubling uses Bruck's algorithm.
    assert_eq!(done(RecursiveDoubling, 3), done(Bruck, 3));
}

#[test]
fn allgather_of_varying_blocks() {
    use Algorithm::{Bruck, Linear, RecursiveDoubling, Ring};
    let sizes = each(&[100, 200, 300]);
    let done = |algorithm| by(algorithm, Collective::Allgatherv, 3, &sizes);
    // The ranks have copied their own blocks at 200, 400 and 600 ns and send them. The message 0 → 1 arrives at 1300
    // ns, 1 → 2 at 1600 ns and 2 → 0 at 1900 ns. Then rank 0 forwards the 300 B of rank 2 at 1900 ns, rank 1 forwards
    // the 100 B of rank 0 at 1300 ns, and rank 2 forwards the 200 B of rank 1 at 1600 ns.
    assert_eq!(done(Ring), [2800, 3200, 2400]);
    // Each rank sends to all ranks at once. Rank 0 receives the block of rank 1 at 400 + 1200 ns and that of rank 2 at
    // 600 + 1300 ns. Rank 1 receives the block of rank 2 at 1900 ns. Rank 2 receives the block of rank 1 at 1600 ns.
    assert_eq!(done(Linear), [1900, 1900, 1600]);
    // Each rank sends its block to the previous rank. The message 1 → 0 arrives at 1600 ns, 2 → 1 at 1900 ns and 0 → 2
    // at 1300 ns. In the round with distance 2, each rank sends its own block again. The message 0 → 1 leaves at 1600
    // ns, 1 → 2 at 1900 ns and 2 → 0 at 1300 ns. The messages 0 → 1, 1 → 2 and 2 → 0 of this round arrive at 2700, 3100
    // and 2600 ns. Copying all 600 B takes 1200 ns.
    assert_eq!(done(Bruck), [3800, 3900, 4300]);
    assert_eq!(done(RecursiveDoubling), done(Bruck));
}

#[test]
fn alltoall() {
    use Algorithm::{Bruck, Linear, Pairwise};
    let done = |algorithm, ranks| by(algorithm, Collective::Alltoall, ranks, &same(N));
    assert_eq!(done(Linear, 1), [K]);
    assert_eq!(done(Pairwise, 1), [K]);
    assert_eq!(done(Bruck, 1), [2 * K], "rotated in and out");
    assert_eq!(done(Linear, 2), [K + M; 2]);
    assert_eq!(done(Linear, 4), [K + M; 4]);
    assert_eq!(done(Pairwise, 2), [K + M; 2]);
    assert_eq!(done(Pairwise, 3), [K + 2 * M; 3]);
    assert_eq!(done(Pairwise, 4), [K + 3 * M; 4]);
    // In Bruck's alltoall each rank first rotates its p blocks. In round k, each rank packs and sends the blocks whose
    // distance to their destination has bit k set. At the end, each rank rotates its p blocks back.
    assert_eq!(done(Bruck, 2), [2 * K + (K + M) + 2 * K; 2]);
    // With three ranks, blocks have the distances 1 and 2: bit 0 is set in 1 and bit 1 is set in 2.
    assert_eq!(done(Bruck, 3), [3 * K + 2 * (K + M) + 3 * K; 3]);
    assert_eq!(done(Bruck, 4), [4 * K + 2 * (2 * K + L + 2 * N) + 4 * K; 4]);
    // With five ranks, blocks have the distances 1 to 4: bit 0 is set in 1 and 3, bit 1 in 2 and 3, and bit 2 in 4.
    assert_eq!(done(Bruck, 5), [5 * K + 2 * (2 * K + L + 2 * N) + (K + M) + 5 * K; 5]);
}

#[test]
fn blocks_of_bruck_cost_time_beside_their_bytes() {
    let mut platform = ideal(4);
    platform.collectives.block_overhead = SimSpan::from_ns(7);
    let done = all(&platform, Algorithm::Bruck, Collective::Alltoall, 4, &same(N));
    // In each of two rounds, each rank packs two blocks and unpacks two blocks. At the end, each rank rotates four
    // blocks one by one.
    assert_eq!(done, [4 * K + 2 * (2 * K + L + 2 * N) + 4 * K + (2 * (2 + 2) + 4) * 7; 4]);
    // In each of the two rounds, the blocks are described by one datatype, which has an overhead.
    platform.collectives.datatype_overhead = SimSpan::from_ns(50);
    let described = all(&platform, Algorithm::Bruck, Collective::Alltoall, 4, &same(N));
    assert_eq!(described, [4 * K + 2 * (2 * K + L + 2 * N) + 4 * K + (2 * (2 + 2) + 4) * 7 + 2 * 50; 4]);
    let allgather = all(&platform, Algorithm::Bruck, Collective::Allgather, 4, &same(N));
    assert_eq!(allgather, by(Algorithm::Bruck, Collective::Allgather, 4, &same(N)));
}

#[test]
fn what_fits_the_caches_is_combined_and_copied_there() {
    let done = |cache: u64| {
        let mut platform = ideal(2);
        let (flops, instructions) = (platform.core.flops, platform.core.instructions);
        let bandwidth = Bandwidth::new(2_000_000_000).unwrap();
        platform.core.in_cache = Some(CacheRates { size: Bytes::new(cache), flops, instructions, bandwidth });
        all(&platform, Algorithm::RecursiveDoubling, Collective::Allreduce, 2, &same(N))
    };
    // A copy moves 2 bytes and a combination moves 3 bytes per byte of the buffer. The rate is 2 GB/s if two buffers
    // fit in the cache, and 1 GB/s otherwise.
    assert_eq!(done(2 * N), [M + (K + C) / 2; 2]);
    assert_eq!(done(2 * N - 1), [M + K + C; 2]);
}

#[test]
fn alltoall_of_varying_blocks() {
    // Rank j receives 100 (j + 1) bytes from each rank. The ranks have copied their own blocks at 200, 400 and 600 ns.
    let done = |algorithm| each_by(algorithm, Collective::Alltoallv, 3, |_| each(&[100, 200, 300]), 0);
    // Rank 0 receives its last block from rank 2 at 600 + 1100 ns, rank 1 from rank 2 at 600 + 1200 ns, and rank 2 from
    // rank 1 at 400 + 1300 ns.
    assert_eq!(done(Algorithm::Linear), [1700, 1800, 1700]);
    // In the round with distance 1, the message 0 → 1 arrives at 200 + 1200 ns, 1 → 2 at 400 + 1300 ns and 2 → 0 at 600
    // + 1100 ns. In the round with distance 2, the message 0 → 2 leaves at 1700 ns, 1 → 0 at 1400 ns and 2 → 1 at 1700
    // ns.
    assert_eq!(done(Algorithm::Pairwise), [2500, 2900, 3000]);
    // The block sizes may differ between ranks. Rank 0 sends 500 B to rank 1 and receives nothing.
    let uneven = |rank| if rank == 0 { each(&[0, 500]) } else { each(&[0, 0]) };
    assert_eq!(each_by(Algorithm::Linear, Collective::Alltoallv, 2, uneven, 0), [L, L + 500]);
}

#[test]
fn scan() {
    use Algorithm::{Chain, RecursiveDoubling};
    let done = |algorithm, ranks| by(algorithm, Collective::Scan, ranks, &same(N));
    // Each rank copies its input, receives the previous rank's result, combines it with its data and forwards it.
    assert_eq!(done(Chain, 1), [K]);
    assert_eq!(done(Chain, 2), [K, K + M + C]);
    assert_eq!(done(Chain, 4), [K, K + (M + C), K + 2 * (M + C), K + 3 * (M + C)]);

    // Each rank copies its input twice, as the result and as the sum. In a scan, data from lower ranks are combined
    // with the result and with the sum. In a scan, data from higher ranks are combined only with the sum.
    assert_eq!(done(RecursiveDoubling, 1), [2 * K]);
    let a = 2 * K + M + C;
    assert_eq!(done(RecursiveDoubling, 2), [a, a + C]);
    // Rank 2 has no partner at distance 1, and rank 1 has no partner at distance 2. The data of rank 2 arrive at rank 0
    // early, and the data of rank 0 leave at A.
    assert_eq!(done(RecursiveDoubling, 3), [a + C, a + C, a + M + 2 * C]);
    // Ranks 0 and 2 exchange at A, and ranks 1 and 3 exchange at A + C.
    assert_eq!(done(RecursiveDoubling, 4), [a + M + C, a + M + 2 * C, a + M + 2 * C, a + M + 3 * C]);
}

#[test]
fn exscan() {
    use Algorithm::{Chain, RecursiveDoubling};
    let done = |algorithm, ranks| by(algorithm, Collective::Exscan, ranks, &same(N));
    // Rank 0 sends its input. Each middle rank copies its input, receives the previous ranks' result, combines it with
    // the copy and forwards the sum. The last rank only receives.
    assert_eq!(done(Chain, 1), [0]);
    assert_eq!(done(Chain, 2), [0, M]);
    let step = M + K + C;
    assert_eq!(done(Chain, 3), [0, step, step + M]);
    assert_eq!(done(Chain, 4), [0, step, 2 * step, 2 * step + M]);

    // An exclusive scan is a scan in which the first data from lower ranks are copied instead of combined. Rank 0 has
    // no output.
    assert_eq!(done(RecursiveDoubling, 1), [K]);
    let a = K + M + C;
    assert_eq!(done(RecursiveDoubling, 2), [a, a + K]);
    assert_eq!(done(RecursiveDoubling, 3), [a + C, a + K, a + M + K + C]);
    assert_eq!(done(RecursiveDoubling, 4), [a + M + C, a + K + M + C, a + M + K + C, a + K + M + 2 * C]);
}

#[test]
fn reduce_scatter() {
    use Algorithm::{Binomial, Pairwise, RecursiveHalving};
    let done = |algorithm, ranks| by(algorithm, Collective::ReduceScatter, ranks, &same(N));
    assert_eq!(done(Pairwise, 1), [K]);
    assert_eq!(done(RecursiveHalving, 1), [2 * K]);
    assert_eq!(done(Binomial, 1), [2 * K]);

    assert_eq!(done(Pairwise, 2), [K + M + C; 2]);
    assert_eq!(done(Pairwise, 3), [K + 2 * (M + C); 3]);
    assert_eq!(done(Pairwise, 4), [K + 3 * (M + C); 4]);

    // Each rank copies all p blocks, exchanges and combines halves, and copies its own block to the output.
    assert_eq!(done(RecursiveHalving, 2), [2 * K + M + C + K; 2]);
    assert_eq!(done(RecursiveHalving, 4), [4 * K + (L + 2 * N) + 2 * C + M + C + K; 4]);
    // Rank 1 sends all three blocks to rank 0, which has combined them at F. Rank 0 combines blocks 0 and 1 with the
    // data of rank 2, which arrived earlier. Rank 2 receives block 2, which rank 0 sends at F. Rank 0 then sends rank 1
    // its block.
    let f = 3 * K + (L + 3 * N) + 3 * C;
    assert_eq!(done(RecursiveHalving, 3), [f + 2 * C + K, f + 2 * C + M, f + M + C + K]);

    // All blocks are reduced to rank 0 until S, and the result is then scattered.
    let s = 2 * K + (L + 2 * N) + 2 * C;
    assert_eq!(done(Binomial, 2), [s + K, s + M + K]);
    let s = 3 * K + (L + 3 * N) + 2 * (3 * C);
    assert_eq!(done(Binomial, 3), [s + K, s + M + K, s + M + K]);
    let s = 4 * K + 2 * (L + 4 * N + 4 * C);
    let two = L + 2 * N;
    assert_eq!(done(Binomial, 4), [s + K, s + M + K, s + two + K, s + two + M + K]);

    // The blocks have 100, 200 and 300 bytes and are copied at 200, 400 and 600 ns. In the round with distance 1, the
    // message 0 → 1 with 200 B arrives at 1400 ns and is combined at 2000 ns. The message 1 → 2 with 300 B arrives at
    // 1700 ns and is combined at 2600 ns. The message 2 → 0 with 100 B arrives at 1700 ns and is combined at 2000 ns.
    // In the round with distance 2, the message 0 → 2 leaves at 2000 ns, arrives at 3300 ns and is combined at 4200 ns.
    // The message 1 → 0 leaves at 2000 ns, arrives at 3100 ns and is combined at 3400 ns. The message 2 → 1 leaves at
    // 2600 ns, arrives at 3800 ns and is combined at 4400 ns.
    assert_eq!(by(Pairwise, Collective::ReduceScatter, 3, &each(&[100, 200, 300])), [3400, 4400, 4200]);
}

#[test]
fn what_is_between_nodes_goes_on_while_a_rank_works_within_its_node() {
    use mcpsim::platform::{Library, Placement};
    // Two segments of S bytes are reduced within each of two nodes with two ranks, and then between the nodes.
    let s = 65_536;
    let mut platform = machine([2, 1, 2], Contention::Ideal);
    platform.collectives.library = Library::OpenMpi50;
    platform.spread_ranks(&Placement::Block.sites(platform.shape, 4, false).unwrap());
    let line = |rank| Line::Collective(part(Collective::Reduce, rank, 4, same(2 * s)));
    let programs: Vec<_> = (0..4).map(|rank| vec![line(rank)]).collect();
    // The second rank of each node sends both segments at once, and both segments arrive at 10 + S. The first rank
    // (leader) of each node combines the first segment in 3 S. While the first segment of the other node is
    // transferred, which takes 1000 ns and S ns in pieces of 8 KiB, the leaders combine the second segment in 3 S. The
    // leaders of the nodes never wait afterwards. Rank 0 combines two more segments, received from the other node.
    assert_eq!(line_clocks(&platform, &programs), [10 + 13 * s, 0, 10 + 7 * s, 0]);
}
