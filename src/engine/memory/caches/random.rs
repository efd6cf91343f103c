//! Cache that replaces bytes from every buffer with equal probability. If buffers are used in turn and do not fit
//! together, a part of each buffer stays in the cache.
//!
//! Each byte that enters a full cache of C bytes replaces one of the C bytes. After m bytes, a byte is still there with
//! the probability (1 − 1/C)^m, which is e^(−m/C).

use mcpsim_base::platform::CacheReplacement;
use rustc_hash::FxHashMap;

use super::{BufferKey, parts};

/// Number of squarings that compute e^(−x) as (1 − x/16)^16. This product is the same on every host.
const SQUARINGS: u32 = 4;
/// Product of probabilities below which the held bytes are computed anew.
const LEAST: f64 = 1e-100;

/// Cache with random replacement.
#[derive(Debug)]
pub(in crate::memory) struct RandomCache {
    size: f64,
    /// Bytes in the cache.
    filled: f64,
    /// Probability that a byte of the first moment is still in the cache.
    survival: f64,
    buffers: FxHashMap<BufferKey, PartialBuffer>,
}

/// A buffer that may be in the cache in part.
#[derive(Clone, Copy, Debug)]
struct PartialBuffer {
    /// Greatest number of used bytes.
    extent: f64,
    /// Bytes in the cache when the survival probability of the cache was `survival`.
    held: f64,
    survival: f64,
}

impl RandomCache {
    /// Creates an empty cache of `size` bytes.
    pub fn new(size: u64) -> RandomCache {
        RandomCache { size: size as f64, filled: 0.0, survival: 1.0, buffers: FxHashMap::default() }
    }

    /// Uses the first `bytes` bytes of a buffer; returns the number of parts that were not in the cache.
    /// The bytes of a buffer at its first use were there, if all buffers have fitted in the cache.
    pub fn touch(&mut self, key: BufferKey, bytes: u64) -> u64 {
        let all = parts(CacheReplacement::Random);
        let used = bytes as f64;
        if bytes == 0 || self.size <= 0.0 {
            return if bytes == 0 { 0 } else { all };
        }
        let known = self.buffers.get(&key).copied();
        let (extent, held) = known
            .map_or((used, 0.0), |buffer| (buffer.extent.max(used), buffer.held * (self.survival / buffer.survival)));
        // The held bytes are anywhere in the buffer.
        let old_extent = known.map_or(used, |buffer| buffer.extent);
        let present = (held * (used / old_extent).min(1.0)).min(used);
        let missing = used - present;
        let over = (missing - (self.size - self.filled)).max(0.0);
        let is_first = known.is_none() && over == 0.0;
        let stays = survivors(over / self.size);
        let held = if over > 0.0 {
            let others = (self.filled - held).max(0.0) * stays;
            self.filled = self.size;
            self.size - others
        } else {
            self.filled += missing;
            held + missing
        };
        self.survival *= stays;
        if self.survival < LEAST {
            self.renew();
        }
        let held = held.clamp(0.0, extent);
        self.buffers.insert(key, PartialBuffer { extent, held, survival: self.survival });
        match is_first {
            true => 0,
            false => (missing / used * all as f64).round() as u64,
        }
    }

    /// Computes the held bytes of each buffer anew, and forgets buffers of which less than a byte is held.
    fn renew(&mut self) {
        for buffer in self.buffers.values_mut() {
            buffer.held *= self.survival / buffer.survival;
            buffer.survival = 1.0;
        }
        self.buffers.retain(|_, buffer| buffer.held >= 1.0);
        self.survival = 1.0;
    }
}

/// Returns e^(−x).
fn survivors(x: f64) -> f64 {
    let mut product = (1.0 - x / f64::from(1 << SQUARINGS)).max(0.0);
    for _ in 0..SQUARINGS {
        product *= product;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_that_fit_together_stay() {
        let mut cache = RandomCache::new(100);
        for _ in 0..3 {
            assert_eq!([(1, 40), (2, 40), (3, 20)].map(|(key, bytes)| cache.touch(key, bytes)), [0; 3]);
        }
        assert_eq!(cache.touch(4, 0), 0);
    }

    #[test]
    fn a_part_of_buffers_that_do_not_fit_together_stays() {
        // Two buffers of 100 bytes are used in turn. The part h of a buffer is in the cache at its use, and 1 - h of the
        // other buffer. The part s = e^-(1 - h) of the other buffer stays, so 1 - (1 - h) s of the used buffer is then
        // in the cache. The use of the other buffer leaves the part s: h = s - (1 - h) s^2, so h is 0.341. 10.5 of 16
        // parts are missing, which is rounded to 11.
        let mut cache = RandomCache::new(100);
        let found: Vec<u64> = (0..40).map(|turn| cache.touch(turn % 2, 100)).collect();
        assert_eq!(found[38..], [11, 11]);
        // Of a single buffer of twice the size of the cache, half is in the cache.
        let mut cache = RandomCache::new(100);
        let found: Vec<u64> = (0..20).map(|_| cache.touch(1, 200)).collect();
        assert_eq!((found[0], found[1], found[19]), (16, 8, 8));
        // An empty cache holds nothing.
        assert_eq!(RandomCache::new(0).touch(1, 10), 16);
    }

    #[test]
    fn a_buffer_used_after_long_is_gone() {
        let mut cache = RandomCache::new(100);
        assert_eq!(cache.touch(1, 50), 0);
        (2..2000).for_each(|key| _ = cache.touch(key, 90));
        assert_eq!(cache.touch(1, 50), 16);
        assert!(cache.buffers.len() < 1000, "{}", cache.buffers.len());
    }
}
