//! What is sent without waiting for its receiver: up to which size, and how many messages of it.

use mcpsim_core::platform::Level;

use super::super::protocol::{self, RankPair};
use super::{Campaign, SMALL};

/// More messages than this are not tried: a rank that may have so many under way meets no limit in practice.
const MOST_CREDITS: u32 = 1024;
/// A limit that is to be told from a single message under way needs room for so many.
const FEWEST: u32 = 8;
/// The part of all time that waiting for a receiver may take at once, and the seconds that it may at least.
const SHARE: f64 = 0.02;
const LEAST_DELAY: f64 = 0.01;
/// The answer that is given so often counts.
const MOST_VOTES: u32 = 2;

impl Campaign<'_> {
    /// The greatest size whose send ends before its receive is posted; `None` if that of every size does.
    pub(super) fn eager(&mut self, level: Level, pair: RankPair) -> Option<u64> {
        let done = self.done();
        (self.tell)(&format!("{}: eager threshold", level.name()), done);
        let (mut low, mut high) = (0, self.plan.most_bytes);
        if self.ends_early(pair, high, 1) {
            return None;
        }
        while high - low > 1 {
            // In steps of ratios first: thresholds are of any order of magnitude.
            let ratio = (low.max(1) as f64 * high as f64).sqrt() as u64;
            let middle = if high > 4 * low.max(1) { ratio } else { low.midpoint(high) };
            let middle = middle.clamp(low + 1, high - 1);
            if self.ends_early(pair, middle, 1) {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(low)
    }

    /// How many small messages a rank may have under way to another before a send waits; `None` if no limit shows, or
    /// nothing is eager.
    pub(super) fn credits(&mut self, level: Level, pair: RankPair, eager: Option<u64>) -> Option<u32> {
        let bytes = eager.map_or(SMALL[0], |eager| eager.min(SMALL[0]));
        let done = self.done();
        (self.tell)(&format!("{}: messages under way", level.name()), done);
        // As many as a share of the time allows, where ranks that wait for their core make messages slow.
        let port = &mut *self.port;
        let least = (0..5).map(|_| protocol::ping_pong(port, pair, bytes, 1)).fold(f64::INFINITY, f64::min);
        let mut most = vec![((self.plan.budget * SHARE).max(LEAST_DELAY) / least.max(1e-9) / 4.0).min(1e6)];
        port.share(pair.first, &mut most);
        let most = (most[0] as u32).min(MOST_CREDITS);
        if most < FEWEST || self.ends_early(pair, bytes, most) || !self.ends_early(pair, bytes, 1) {
            return None;
        }
        let (mut low, mut high) = (1, most);
        while high - low > 1 {
            let middle = if high > 4 * low { low * 2 } else { low.midpoint(high) };
            if self.ends_early(pair, bytes, middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        // A limit shows again: what held ranks up once does not.
        (!self.ends_early(pair, bytes, high) && self.ends_early(pair, bytes, low)).then_some(low)
    }

    /// Whether `count` sends end while the second rank pauses, and posts no receive.
    fn ends_early(&mut self, pair: RankPair, bytes: u64, count: u32) -> bool {
        let port = &mut *self.port;
        port.barrier();
        protocol::ping_pong(port, pair, bytes, 1);
        let once = protocol::ping_pong(port, pair, bytes, 2);
        let mut delay = vec![f64::from(4 * count + 16) * once + 200e-6];
        if count > 1 {
            // Several sends are asked for where a single message is quick: one that was held up is no measure.
            delay[0] = delay[0].min((self.plan.budget * SHARE).max(LEAST_DELAY) * 2.0);
        }
        port.share(pair.first, &mut delay);
        let (mut early, mut late) = (0, 0);
        while early < MOST_VOTES && late < MOST_VOTES {
            port.barrier();
            let mut took = vec![protocol::early_sends(port, pair, bytes, count, delay[0])];
            port.share(pair.first, &mut took);
            // The second rank pauses on after eager sends.
            *(if took[0] < delay[0] / 2.0 { &mut early } else { &mut late }) += 1;
        }
        early == MOST_VOTES
    }
}
