//! Pseudo-random permutations that need no memory: a Feistel network over the next power of four, iterated until the
//! result is within the range (Black and Rogaway 2002, "Ciphers with arbitrary finite domains").

const ROUNDS: u64 = 4;

/// Element `i` of the permutation of `0..n` that `seed` selects. Requires `i < n`.
pub(super) fn permuted(seed: u64, i: u64, n: u64) -> u64 {
    walk(i, n, |half, x| (0..ROUNDS).fold(x, |x, round| forward(seed, round, half, x)))
}

/// Position of `i` in the permutation of `0..n` that `seed` selects. Requires `i < n`.
pub(super) fn unpermuted(seed: u64, i: u64, n: u64) -> u64 {
    walk(i, n, |half, x| (0..ROUNDS).rev().fold(x, |x, round| backward(seed, round, half, x)))
}

/// Mixes all bits of `x` (Steele, Lea and Flood 2014, SplitMix64).
pub(super) fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Applies `network` until the result is below `n`. `n` is more than a quarter of the network's range, which is a power
/// of four, so fewer than four iterations are needed on average. The iteration terminates because the network is a
/// bijection and `i` itself is below `n`.
fn walk(i: u64, n: u64, network: impl Fn(u32, u64) -> u64) -> u64 {
    let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
    let half = bits.div_ceil(2).max(1);
    let mut x = network(half, i);
    while x >= n {
        x = network(half, x);
    }
    x
}

fn key(seed: u64, round: u64, half: u32, x: u64) -> u64 {
    mix(mix(seed).wrapping_add(round << 60) ^ x) & ((1 << half) - 1)
}

fn forward(seed: u64, round: u64, half: u32, x: u64) -> u64 {
    let (left, right) = (x >> half, x & ((1 << half) - 1));
    right << half | (left ^ key(seed, round, half, right))
}

fn backward(seed: u64, round: u64, half: u32, x: u64) -> u64 {
    let (left, right) = (x >> half, x & ((1 << half) - 1));
    (right ^ key(seed, round, half, left)) << half | left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_range_is_permuted_and_back() {
        for n in (1..70).chain([255, 256, 257, 1000]) {
            for seed in 0..3 {
                let image: Vec<u64> = (0..n).map(|i| permuted(seed, i, n)).collect();
                let mut sorted = image.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..n).collect::<Vec<_>>());
                assert!((0..n).all(|i| unpermuted(seed, image[i as usize], n) == i));
            }
        }
    }

    #[test]
    fn different_seeds_give_different_permutations() {
        let image = |seed| (0..100).map(|i| permuted(seed, i, 100)).collect::<Vec<_>>();
        assert_ne!(image(1), image(2));
        assert!(image(1).iter().enumerate().filter(|(i, x)| *i as u64 == **x).count() < 10);
    }

    #[test]
    fn the_greatest_range_needs_no_more_than_64_bits() {
        let n = i64::MAX as u64;
        assert_eq!(unpermuted(5, permuted(5, n - 1, n), n), n - 1);
    }
}
