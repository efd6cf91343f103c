//! Expected times of collectives, computed by hand: one rank per node, latency L = 1000 ns, 1 ns per byte, no overheads
//! and no contention. All messages are eager, so a sender continues at once.
//!
//! Combining takes 3 ns per byte (two reads and a write at 1 GB/s of memory), copying 2 ns.

#[path = "collectives/surroundings.rs"]
mod surroundings;

use crate::support::collectives::{Line, each, line_clocks, part, part_by, run_lines, same};
use crate::support::{machine, ns, row, with_link};
use mcpsim::engine::{RunError, Waiting};
use mcpsim::mpi::{CollectiveCall, CommMember, Group, Sizes};
use mcpsim::platform::{Algorithm, CacheRates, Collective, Contention, Level, Link, Platform, Row};
use mcpsim::units::{Bandwidth, Bytes, SimSpan};

/// The latency.
const L: u64 = 1000;
/// Bytes of a buffer, or of each rank's block.
const N: u64 = 960;
/// Time of a message of N bytes: 1960.
const M: u64 = L + N;
/// Time to combine N bytes: 2880.
const C: u64 = 3 * N;
/// Time to copy N bytes: 1920.
const K: u64 = 2 * N;

fn ideal(ranks: u32) -> Platform {
    machine([ranks, 1, 1], Contention::Ideal)
}

/// Returns the end of `collective` by `algorithm` at each of `ranks` ranks; all begin at 0.
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

/// Runs this collective of the world as the program of each rank.
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

    // ⌈log2 p⌉ rounds; in each round every rank sends and receives.
    assert_eq!(done(Dissemination, 2), [L; 2]);
    assert_eq!(done(Dissemination, 3), [2 * L; 3]);
    assert_eq!(done(Dissemination, 4), [2 * L; 4]);
    assert_eq!(done(Dissemination, 5), [3 * L; 5]);

    // Up the tree, where 1, 2 and 4 are children of 0 and 3 of 2, and down again.
    assert_eq!(done(Binomial, 2), [L, 2 * L]);
    assert_eq!(done(Binomial, 3), [L, 2 * L, 2 * L]);
    // 2 receives from 3 at L, and 0 from 2 at 2 L; the release arrives at 1 and 2 at 3 L and at 3 one L later.
    assert_eq!(done(Binomial, 4), [2 * L, 3 * L, 3 * L, 4 * L]);
    assert_eq!(done(Binomial, 5), [2 * L, 3 * L, 3 * L, 4 * L, 3 * L]);

    assert_eq!(done(RecursiveDoubling, 2), [L; 2]);
    assert_eq!(done(RecursiveDoubling, 4), [2 * L; 4]);
    // 1 notifies 0 (at L) and waits. 0 and 2 exchange: 2's arrives at L, 0's leaves at L. 0 then releases 1.
    assert_eq!(done(RecursiveDoubling, 3), [L, 2 * L, 2 * L]);
    // 1 notifies 0 (L). 0 and 2: 0 receives at L, 2 at 2 L; 3 and 4 at L. Then 0 and 3: 0's leaves at L, 3's at L, both
    // receive at 2 L; 2 and 4: 4's arrives at 2 L, 2's leaves at 2 L. 0 releases 1 at 2 L.
    assert_eq!(done(RecursiveDoubling, 5), [2 * L, 3 * L, 2 * L, 2 * L, 3 * L]);
}

#[test]
fn bcast() {
    use Algorithm::{Binomial, Chain, Linear, ScatterAllgather};
    let done = |algorithm, ranks| by(algorithm, Collective::Bcast, ranks, &same(N));
    for algorithm in [Binomial, Chain, Linear, ScatterAllgather] {
        assert_eq!(done(algorithm, 1), [0], "alone");
    }

    // 1, 2 and 4 are children of the root, 3 of 2.
    assert_eq!(done(Binomial, 2), [0, M]);
    assert_eq!(done(Binomial, 3), [0, M, M]);
    assert_eq!(done(Binomial, 4), [0, M, M, 2 * M]);
    assert_eq!(done(Binomial, 5), [0, M, M, 2 * M, M]);
    // From root 1 the relative ranks 0, 1, 2, 3 are 1, 2, 3, 0.
    assert_eq!(rooted(1, Binomial, Collective::Bcast, 4, &same(N)), [2 * M, 0, M, M]);

    // The root sends all messages at once; nothing is shared.
    assert_eq!(done(Linear, 2), [0, M]);
    assert_eq!(done(Linear, 4), [0, M, M, M]);

    assert_eq!(done(Chain, 2), [0, M]);
    assert_eq!(done(Chain, 4), [0, M, 2 * M, 3 * M]);
    assert_eq!(rooted(2, Chain, Collective::Bcast, 3, &same(N)), [M, 2 * M, 0]);

    // Two halves of 480 B, H = L + 480 per message. The root sends half 1, then both exchange halves: half 0 leaves the
    // root at 0 too, the other's leaves at H.
    let h = L + 480;
    assert_eq!(done(ScatterAllgather, 2), [2 * h, h]);
    // Three blocks, T = L + 320. 1 and 2 get theirs at T. Around the ring, first round: 0 sends at 0, 1 and 2 at T, so
    // 0 has one more at 2 T, 1 at T, 2 at 2 T. Second: 0 sends at 2 T, 1 at T, 2 at 2 T.
    let t = L + 320;
    assert_eq!(done(ScatterAllgather, 3), [3 * t, 3 * t, 2 * t]);
    // Four blocks, Q = L + 240. 2 gets two blocks at H and forwards one, which 3 has at H + Q; 1 has its own at Q.
    // Doubling, distance 1: 0 has 1's at 2 Q, 1 has 0's at Q, 2 has 3's at H + 2 Q, 3 has 2's at H + Q. Distance 2, two
    // blocks each: 0 sends at 2 Q, 2 at H + 2 Q; 1 at Q, 3 at H + Q.
    let q = L + 240;
    assert_eq!(done(ScatterAllgather, 4), [2 * h + 2 * q, 2 * h + q, h + 2 * q, h + q]);
}

#[test]
fn a_chain_is_a_pipeline_of_segments() {
    // Three segments of S = 128 KiB on links that carry one message after another: 1 has segment k at L + (k + 1) S,
    // sends it then, and 2 has it at 2 L + (k + 2) S.
    let s = 128 << 10;
    let platform = machine([3, 1, 1], Contention::Queue);
    let done = all(&platform, Algorithm::Chain, Collective::Bcast, 3, &same(3 * s));
    assert_eq!(done, [0, L + 3 * s, 2 * L + 4 * s]);
}

#[test]
fn reduce() {
    use Algorithm::{Binomial, Linear, Rabenseifner};
    let done = |algorithm, ranks| by(algorithm, Collective::Reduce, ranks, &same(N));
    // A single rank copies the input to the output.
    for algorithm in [Binomial, Linear, Rabenseifner] {
        assert_eq!(done(algorithm, 1), [K]);
    }

    // All messages arrive at M; the root stores the last rank's and combines the others and its own.
    assert_eq!(done(Linear, 2), [M + C, 0]);
    assert_eq!(done(Linear, 3), [M + 2 * C, 0, 0]);
    assert_eq!(done(Linear, 4), [M + 3 * C, 0, 0, 0]);

    // The root copies its input until K < M, then combines. Leaves send their input.
    assert_eq!(done(Binomial, 2), [M + C, 0]);
    assert_eq!(done(Binomial, 3), [M + 2 * C, 0, 0]);
    // 2 has combined 3's at M + C; its result arrives at 0 at 2 M + C, long after 0 has combined 1's.
    assert_eq!(done(Binomial, 4), [2 * M + 2 * C, 0, M + C, 0]);
    assert_eq!(done(Binomial, 5), [2 * M + 3 * C, 0, M + C, 0, 0]);
    // With root 2 both others are leaves.
    assert_eq!(rooted(2, Binomial, Collective::Reduce, 3, &same(N)), [0, 0, M + 2 * C]);

    // All copy. Halves of 480 B: H = L + 480 per message, 3 · 480 to combine; then 1's half is sent to 0.
    let (h, half) = (L + 480, 3 * 480);
    assert_eq!(done(Rabenseifner, 2), [K + h + half + h, K + h + half]);
    // Then quarters: Q = L + 240 per message, 3 · 240 to combine; all have a quarter at E. 2 and 3 send theirs to 0 and
    // 1, then 1 its two to 0.
    let (q, quarter) = (L + 240, 3 * 240);
    let e = K + h + half + q + quarter;
    assert_eq!(done(Rabenseifner, 4), [e + q + h, e + q, e, e]);
    // 1 folds into 0, which has combined all at F. 2's half has waited there since K + H; 0's arrives at 2 at F + H,
    // and its result at 0 one message later.
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
    // With three ranks, 1 folds into 0, which has combined it at F.
    let f = K + M + C;

    assert_eq!(done(RecursiveDoubling, 2), [K + M + C; 2]);
    assert_eq!(done(RecursiveDoubling, 4), [K + 2 * (M + C); 4]);
    // 2's data have waited at 0 since K + M; 0's leave at F. 0 sends 1 the result.
    assert_eq!(done(RecursiveDoubling, 3), [f + C, f + C + M, f + M + C]);

    assert_eq!(done(Rabenseifner, 2), [K + h + half + h; 2]);
    assert_eq!(done(Rabenseifner, 4), [K + h + half + q + quarter + q + h; 4]);
    // 0 has its half at F + half and sends it; 2's result arrives at 0 at F + 2 H + half, the whole one message later
    // at 1.
    assert_eq!(done(Rabenseifner, 3), [f + h + half + h, f + h + half + h + M, f + h + half]);

    // p − 1 rounds of combined blocks, p − 1 of stored ones.
    assert_eq!(done(Ring, 2), [K + h + half + h; 2]);
    assert_eq!(done(Ring, 3), [K + 2 * (L + 320 + 3 * 320) + 2 * (L + 320); 3]);
    assert_eq!(done(Ring, 4), [K + 3 * (q + quarter) + 3 * q; 4]);
    // 80 bytes are ten elements: blocks of 32, 24 and 24. Copying takes 160. Round 1: rank r sends block r. So 0 gets
    // 24 of 2, 1 gets 32 and 2 gets 24: at 1184, 1192, 1184, combined at 1256, 1288, 1256. Round 2: block r − 1: 0 gets
    // block 1 of 2 and 1 block 2 of 0 at 1256 + 1024 = 2280, 2 gets block 0 of 1 at 1288 + 1032 = 2320; combined at
    // 2352, 2352, 2416. Then the results, block r + 1: 0 gets block 0 of 2 at 2416 + 1032 = 3448, 1 and 2 get blocks 1
    // and 2 at 2352 + 1024 = 3376. Last, received blocks are forwarded: 0 gets block 2 of 2 at 3376 + 1024 = 4400, 1
    // gets block 0 of 0 at 3448 + 1032 = 4480, 2 gets block 1 of 1 at 4400.
    assert_eq!(by(Ring, Collective::Allreduce, 3, &same(80)), [4400, 4480, 4400]);

    // Up the tree to S, and down.
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
    // The root has copied its own block (K) when the others' arrive at M > K.
    assert_eq!(done(Linear, 2), [M, 0]);
    assert_eq!(done(Linear, 4), [M, 0, 0, 0]);
    // Of 2000 bytes the copy takes longer: 4000 > 3000.
    assert_eq!(by(Linear, Collective::Gather, 3, &same(2000)), [4000, 0, 0]);

    assert_eq!(done(Binomial, 2), [M, 0]);
    assert_eq!(done(Binomial, 3), [M, 0, 0]);
    // 2 has 3's block at M and sends two.
    let two = L + 2 * N;
    assert_eq!(done(Binomial, 4), [M + two, 0, M, 0]);
    assert_eq!(done(Binomial, 5), [M + two, 0, M, 0, 0]);
    // 4 has two blocks of 6 at M + two, and sends four.
    assert_eq!(done(Binomial, 8), [M + two + L + 4 * N, 0, M, 0, M + two, 0, M, 0]);
    // With root 1 the relative ranks 0 to 3 are 1, 2, 3, 0: 3 receives 0's.
    assert_eq!(rooted(1, Binomial, Collective::Gather, 4, &same(N)), [0, M + two, 0, M]);

    // Blocks of 100, 200 and 300 bytes: the last arrives at 1300.
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
    // The root sends and then copies its own.
    assert_eq!(done(Linear, 2), [K, M]);
    assert_eq!(done(Linear, 4), [K, M, M, M]);
    assert_eq!(done(Binomial, 2), [K, M]);
    assert_eq!(done(Binomial, 3), [K, M, M]);
    // 2 gets two blocks, forwards one, copies the other.
    let two = L + 2 * N;
    assert_eq!(done(Binomial, 4), [K, M, two + K, two + M]);
    assert_eq!(done(Binomial, 5), [K, M, two + K, two + M, M]);

    let sizes = each(&[100, 200, 300]);
    assert_eq!(by(Linear, Collective::Scatterv, 3, &sizes), [200, 1200, 1300]);
    // The root ends when it has copied its own 300 bytes.
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
    // All ranks copy their own block, then execute the same rounds.
    assert_eq!(done(Ring, 2), [K + M; 2]);
    assert_eq!(done(Ring, 3), [K + 2 * M; 3]);
    assert_eq!(done(Ring, 4), [K + 3 * M; 4]);
    assert_eq!(done(Linear, 2), [K + M; 2]);
    assert_eq!(done(Linear, 4), [K + M; 4]);
    let two = L + 2 * N;
    assert_eq!(done(RecursiveDoubling, 2), [K + M; 2]);
    assert_eq!(done(RecursiveDoubling, 4), [K + M + two; 4]);
    assert_eq!(done(RecursiveDoubling, 8), [K + M + two + L + 4 * N; 8]);
    // Rounds of 1, 2, … blocks, the last with the remaining blocks; then all p are copied.
    assert_eq!(done(Bruck, 2), [K + M + 2 * K; 2]);
    assert_eq!(done(Bruck, 3), [K + M + M + 3 * K; 3]);
    assert_eq!(done(Bruck, 4), [K + M + two + 4 * K; 4]);
    assert_eq!(done(Bruck, 5), [K + M + two + M + 5 * K; 5]);
    // Without 2^k ranks, recursive doubling uses Bruck's algorithm.
    assert_eq!(done(RecursiveDoubling, 3), done(Bruck, 3));
}

#[test]
fn allgather_of_varying_blocks() {
    use Algorithm::{Bruck, Linear, RecursiveDoubling, Ring};
    let sizes = each(&[100, 200, 300]);
    let done = |algorithm| by(algorithm, Collective::Allgatherv, 3, &sizes);
    // Own blocks are copied at 200, 400, 600 and sent: 0 → 1 arrives at 1300, 1 → 2 at 1600, 2 → 0 at 1900. Then 0
    // sends 2's 300 B at 1900, 1 sends 0's 100 B at 1300, 2 sends 1's 200 B at 1600.
    assert_eq!(done(Ring), [2800, 3200, 2400]);
    // All at once: 0 gets 1's at 400 + 1200 and 2's at 600 + 1300; 1 gets 2's at 1900; 2 gets 1's at 1600.
    assert_eq!(done(Linear), [1900, 1900, 1600]);
    // Each sends to the previous rank: 1 → 0 arrives at 1600, 2 → 1 at 1900, 0 → 2 at 1300. Distance 2, each its own
    // again: 0 → 1 leaves at 1600, 1 → 2 at 1900, 2 → 0 at 1300; they arrive at 2700, 3100, 2600. All 600 B are copied
    // in 1200.
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
    // p blocks are rotated; in round k the blocks with bit k in their distance are packed and sent; p are rotated back.
    assert_eq!(done(Bruck, 2), [2 * K + (K + M) + 2 * K; 2]);
    // Bit 0 is in 1, bit 1 in 2.
    assert_eq!(done(Bruck, 3), [3 * K + 2 * (K + M) + 3 * K; 3]);
    assert_eq!(done(Bruck, 4), [4 * K + 2 * (2 * K + L + 2 * N) + 4 * K; 4]);
    // Bit 0 is in 1 and 3, bit 1 in 2 and 3, bit 2 in 4.
    assert_eq!(done(Bruck, 5), [5 * K + 2 * (2 * K + L + 2 * N) + (K + M) + 5 * K; 5]);
}

#[test]
fn blocks_of_bruck_cost_time_beside_their_bytes() {
    let mut platform = ideal(4);
    platform.collectives.block_overhead = SimSpan::from_ns(7);
    let done = all(&platform, Algorithm::Bruck, Collective::Alltoall, 4, &same(N));
    // In two rounds two blocks are packed and two unpacked; four are rotated back one by one.
    assert_eq!(done, [4 * K + 2 * (2 * K + L + 2 * N) + 4 * K + (2 * (2 + 2) + 4) * 7; 4]);
    // Each of the two rounds describes its blocks as one datatype.
    platform.collectives.datatype_overhead = SimSpan::from_ns(50);
    let described = all(&platform, Algorithm::Bruck, Collective::Alltoall, 4, &same(N));
    assert_eq!(described, [4 * K + 2 * (2 * K + L + 2 * N) + 4 * K + (2 * (2 + 2) + 4) * 7 + 2 * 50; 4]);
    // Algorithms that move whole buffers use no datatype.
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
    // A copy and a combination: 2 + 3 bytes moved per byte, at 2 GB/s if two buffers fit, otherwise at 1.
    assert_eq!(done(2 * N), [M + (K + C) / 2; 2]);
    assert_eq!(done(2 * N - 1), [M + K + C; 2]);
}

#[test]
fn alltoall_of_varying_blocks() {
    // Rank j gets 100 (j + 1) bytes from each, and from itself: copied at 200, 400, 600.
    let done = |algorithm| each_by(algorithm, Collective::Alltoallv, 3, |_| each(&[100, 200, 300]), 0);
    // 0 receives from 2 at 600 + 1100, 1 from 2 at 600 + 1200, 2 from 1 at 400 + 1300.
    assert_eq!(done(Algorithm::Linear), [1700, 1800, 1700]);
    // Distance 1: 0 → 1 arrives at 200 + 1200, 1 → 2 at 400 + 1300, 2 → 0 at 600 + 1100. Distance 2: 0 → 2 leaves at
    // 1700, 1 → 0 at 1400, 2 → 1 at 1700.
    assert_eq!(done(Algorithm::Pairwise), [2500, 2900, 3000]);
    // Ranks may have different sizes: 0 sends 500 B to 1 and receives nothing.
    let uneven = |rank| if rank == 0 { each(&[0, 500]) } else { each(&[0, 0]) };
    assert_eq!(each_by(Algorithm::Linear, Collective::Alltoallv, 2, uneven, 0), [L, L + 500]);
}

#[test]
fn scan() {
    use Algorithm::{Chain, RecursiveDoubling};
    let done = |algorithm, ranks| by(algorithm, Collective::Scan, ranks, &same(N));
    // Each copies, receives the prefix before it, combines, forwards.
    assert_eq!(done(Chain, 1), [K]);
    assert_eq!(done(Chain, 2), [K, K + M + C]);
    assert_eq!(done(Chain, 4), [K, K + (M + C), K + 2 * (M + C), K + 3 * (M + C)]);

    // Two copies: the result and the sum. Data from lower ranks are combined with both, data from higher ranks with the
    // sum.
    assert_eq!(done(RecursiveDoubling, 1), [2 * K]);
    let a = 2 * K + M + C;
    assert_eq!(done(RecursiveDoubling, 2), [a, a + C]);
    // 2 has no partner at distance 1, and 1 none at distance 2. 2's data wait at 0, 0's leave at A.
    assert_eq!(done(RecursiveDoubling, 3), [a + C, a + C, a + M + 2 * C]);
    // 0 and 2 are at A, 1 and 3 at A + C when they exchange with each other.
    assert_eq!(done(RecursiveDoubling, 4), [a + M + C, a + M + 2 * C, a + M + 2 * C, a + M + 3 * C]);
}

#[test]
fn exscan() {
    use Algorithm::{Chain, RecursiveDoubling};
    let done = |algorithm, ranks| by(algorithm, Collective::Exscan, ranks, &same(N));
    // 0 sends its input; middle ranks keep their input, copy it, combine, forward; the last rank keeps it.
    assert_eq!(done(Chain, 1), [0]);
    assert_eq!(done(Chain, 2), [0, M]);
    let step = M + K + C;
    assert_eq!(done(Chain, 3), [0, step, step + M]);
    assert_eq!(done(Chain, 4), [0, step, 2 * step, 2 * step + M]);

    // Like a scan, but the first data from lower ranks are copied; rank 0's output does not change.
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

    // Each copies its own block, and combines one per round.
    assert_eq!(done(Pairwise, 2), [K + M + C; 2]);
    assert_eq!(done(Pairwise, 3), [K + 2 * (M + C); 3]);
    assert_eq!(done(Pairwise, 4), [K + 3 * (M + C); 4]);

    // All p blocks are copied; halves are exchanged and combined; the own block is copied.
    assert_eq!(done(RecursiveHalving, 2), [2 * K + M + C + K; 2]);
    assert_eq!(done(RecursiveHalving, 4), [4 * K + (L + 2 * N) + 2 * C + M + C + K; 4]);
    // 1 folds all three blocks into 0, combined at F. 0 keeps blocks 0 and 1 and combines 2's, which have waited; 2
    // gets block 2 of 0, sent at F. 0 sends 1 its block.
    let f = 3 * K + (L + 3 * N) + 3 * C;
    assert_eq!(done(RecursiveHalving, 3), [f + 2 * C + K, f + 2 * C + M, f + M + C + K]);

    // The data are reduced to 0 with all blocks at S, then scattered.
    let s = 2 * K + (L + 2 * N) + 2 * C;
    assert_eq!(done(Binomial, 2), [s + K, s + M + K]);
    let s = 3 * K + (L + 3 * N) + 2 * (3 * C);
    assert_eq!(done(Binomial, 3), [s + K, s + M + K, s + M + K]);
    let s = 4 * K + 2 * (L + 4 * N + 4 * C);
    let two = L + 2 * N;
    assert_eq!(done(Binomial, 4), [s + K, s + M + K, s + two + K, s + two + M + K]);

    // Blocks of 100, 200, 300 bytes by pairs: copied at 200, 400, 600. Distance 1: 0 → 1 with 200 B arrives at 1400,
    // combined 600 later at 2000; 1 → 2 with 300 B at 1700, 900 later 2600; 2 → 0 with 100 B at 1700, 300 later 2000.
    // Distance 2: 0 → 2 leaves at 2000: 3300, 4200; 1 → 0 at 2000: 3100, 3400; 2 → 1 at 2600: 3800, 4400.
    assert_eq!(by(Pairwise, Collective::ReduceScatter, 3, &each(&[100, 200, 300])), [3400, 4400, 4200]);
}

#[test]
fn what_is_between_nodes_goes_on_while_a_rank_works_within_its_node() {
    use mcpsim::platform::{Library, Placement};
    // Two segments of S bytes, reduced within two nodes of two ranks and between them.
    let s = 65_536;
    let mut platform = machine([2, 1, 2], Contention::Ideal);
    platform.collectives.library = Library::OpenMpi50;
    platform.spread_ranks(&Placement::Block.sites(platform.shape, 4, false).unwrap());
    let line = |rank| Line::Collective(part(Collective::Reduce, rank, 4, same(2 * s)));
    let programs: Vec<_> = (0..4).map(|rank| vec![line(rank)]).collect();
    // The second rank of each node sends at once, and both parts arrive at 10 + S. The leaders combine the first one, 3
    // S. During the transfer of the other node's part, 1000 ns and 8 KiB at a time, they combine the second one, 3 S,
    // and never wait again: rank 0 combines received data twice more.
    assert_eq!(line_clocks(&platform, &programs), [10 + 13 * s, 0, 10 + 7 * s, 0]);
}
