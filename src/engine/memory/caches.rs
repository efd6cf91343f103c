//! Buffers in the caches of a CMP. A full cache replaces whole buffers, least recently used first, or bytes
//! from every buffer with equal probability.

mod random;

use mcpsim_base::platform::CacheReplacement;
use rustc_hash::FxHashMap;

use random::RandomCache;

/// A buffer's name: its rank, and which of this rank's it is.
pub(super) type BufferKey = u64;

/// No place.
const NONE: u32 = u32::MAX;

/// Number of parts of a buffer; a cache may hold some parts.
pub(super) const fn parts(replacement: CacheReplacement) -> u64 {
    match replacement {
        CacheReplacement::LeastRecent => 1,
        CacheReplacement::Random => 16,
    }
}

/// The caches of a CMP taken as one.
#[derive(Debug)]
pub(super) enum Cache {
    LeastRecent(RecentCache),
    Random(RandomCache),
}

impl Cache {
    /// Creates an empty cache of `size` bytes.
    pub fn new(size: u64, replacement: CacheReplacement) -> Cache {
        match replacement {
            CacheReplacement::LeastRecent => Cache::LeastRecent(RecentCache::new(size)),
            CacheReplacement::Random => Cache::Random(RandomCache::new(size)),
        }
    }

    /// Uses the first `bytes` bytes of a buffer; returns the number of [`parts`] that the cache did not hold.
    pub fn touch(&mut self, key: BufferKey, bytes: u64) -> u64 {
        match self {
            Cache::LeastRecent(cache) => u64::from(!cache.touch(key, bytes)),
            Cache::Random(cache) => cache.touch(key, bytes),
        }
    }
}

/// A cache of whole buffers that replaces the least recently used buffer.
#[derive(Debug)]
pub(super) struct RecentCache {
    size: u64,
    held: u64,
    /// A buffer has left the cache. From then on, the buffers are in a list by last use.
    full: bool,
    /// Number of uses of buffers.
    uses: u64,
    places: FxHashMap<BufferKey, u32>,
    buffers: Vec<Buffer>,
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
}

/// A buffer in the cache.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    key: BufferKey,
    bytes: u64,
    /// Number of the last use while no buffer has left the cache; the list by last use is then not needed.
    last_use: u64,
    newer: u32,
    older: u32,
}

impl RecentCache {
    /// An empty cache of so many bytes.
    pub fn new(size: u64) -> Self {
        RecentCache {
            size,
            held: 0,
            full: false,
            uses: 0,
            places: FxHashMap::default(),
            buffers: Vec::new(),
            free: Vec::new(),
            newest: NONE,
            oldest: NONE,
        }
    }

    /// The first `bytes` of a buffer are used: whether at least half of them were there. What is used for the first
    /// time was, as long as all buffers have fitted.
    pub fn touch(&mut self, key: BufferKey, bytes: u64) -> bool {
        let mut was_there = false;
        self.uses += 1;
        let place = match self.places.get(&key).copied() {
            Some(place) => {
                if self.full {
                    self.unlink(place);
                }
                let buffer = &mut self.buffers[place as usize];
                let more = bytes.saturating_sub(buffer.bytes);
                buffer.bytes += more;
                buffer.last_use = self.uses;
                self.held += more;
                was_there = bytes <= 2 * (buffer.bytes - more);
                place
            }
            None => {
                let buffer = Buffer { key, bytes, last_use: self.uses, newer: NONE, older: NONE };
                let place = match self.free.pop() {
                    Some(place) => {
                        self.buffers[place as usize] = buffer;
                        place
                    }
                    None => {
                        self.buffers.push(buffer);
                        self.buffers.len() as u32 - 1
                    }
                };
                self.places.insert(key, place);
                self.held += bytes;
                place
            }
        };
        if self.full {
            self.link(place);
        } else if self.held > self.size {
            self.full = true;
            self.link_all();
        }
        while self.held > self.size {
            self.drop_oldest();
        }
        bytes <= self.size && (was_there || !self.full)
    }

    /// Creates the list by last use when the first buffer is to leave the cache.
    fn link_all(&mut self) {
        let mut places: Vec<u32> = (0..self.buffers.len() as u32).collect();
        places.sort_unstable_by_key(|&place| self.buffers[place as usize].last_use);
        places.into_iter().for_each(|place| self.link(place));
    }

    fn drop_oldest(&mut self) {
        let place = self.oldest;
        let Buffer { key, bytes, .. } = self.buffers[place as usize];
        self.unlink(place);
        self.places.remove(&key);
        self.free.push(place);
        self.held -= bytes;
    }

    fn unlink(&mut self, place: u32) {
        let Buffer { newer, older, .. } = self.buffers[place as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.buffers[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.buffers[older as usize].newer = newer,
        }
    }

    fn link(&mut self, place: u32) {
        let older = std::mem::replace(&mut self.newest, place);
        let buffer = &mut self.buffers[place as usize];
        (buffer.newer, buffer.older) = (NONE, older);
        match older {
            NONE => self.oldest = place,
            older => self.buffers[older as usize].newer = place,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_that_fit_together_stay() {
        let mut cache = RecentCache::new(100);
        // 100 bytes in all, again and again.
        for _ in 0..3 {
            assert!([(1, 40), (2, 40), (3, 20)].into_iter().all(|(key, bytes)| cache.touch(key, bytes)));
        }
        assert!(!cache.touch(4, 1), "it is full");
    }

    #[test]
    fn of_buffers_used_in_turn_none_stays_if_they_do_not_fit_together() {
        let mut cache = RecentCache::new(100);
        assert!([1, 2].into_iter().all(|key| cache.touch(key, 40)));
        for _ in 0..3 {
            assert!([3, 1, 2].into_iter().all(|key| !cache.touch(key, 40)));
        }
        // The one used last is there, and as soon as others are used no more, all are.
        assert!(cache.touch(2, 40) && cache.touch(1, 40));
        assert!(!cache.touch(3, 40) && cache.touch(1, 40) && cache.touch(3, 40));
    }

    #[test]
    fn a_buffer_has_its_greatest_extent_and_may_be_too_large() {
        let mut cache = RecentCache::new(100);
        assert!(cache.touch(1, 10) && cache.touch(1, 60) && cache.touch(1, 5));
        assert!(!cache.touch(2, 101) && !cache.touch(2, 101));
        assert!(!cache.touch(1, 60) && cache.touch(1, 60), "all has left");
        assert!(cache.touch(1, 90) && cache.touch(1, 90), "most was there");
        assert!(!cache.touch(3, 1) && !cache.touch(3, 3) && cache.touch(3, 6), "most was not there, then half");
    }

    #[test]
    fn the_buffer_that_leaves_first_is_the_one_used_longest_ago() {
        let mut cache = RecentCache::new(100);
        for key in [1, 2, 3, 4, 2, 1] {
            assert!(cache.touch(key, 25));
        }
        // The fifth buffer replaces the third, and the sixth replaces the fourth.
        cache.touch(5, 25);
        cache.touch(6, 25);
        assert!([1, 2].into_iter().all(|key| cache.touch(key, 25)));
        assert!(!cache.touch(3, 25) && !cache.touch(4, 25));
    }
}
