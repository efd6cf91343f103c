//! Limits of eager sends: the largest eager message size, and the number of eager messages in flight.

use mcpsim_core::platform::Level;

use super::super::protocol::{self, RankPair};
use super::{Campaign, SMALL};

/// Highest tried number of eager messages in flight. A higher limit of messages in flight has no effect in practice.
const MOST_CREDITS: u32 = 1024;
/// Fewest messages in flight with which the tests can distinguish a limit of messages in flight from the size threshold
/// of a single message.
const FEWEST: u32 = 8;
/// Highest share of the campaign time that a sender waits for one late receiver. `LEAST_DELAY` is the least wait of the
/// sender, in seconds.
const SHARE: f64 = 0.02;
const LEAST_DELAY: f64 = 0.01;
/// Number of equal outcomes after which a trial of eager sends is decided.
const MOST_VOTES: u32 = 2;

impl Campaign<'_> {
    /// Returns the largest message size whose send ends before its receive is posted. Returns `None` if sends of all
    /// sizes end before the receive is posted.
    pub(super) fn eager(&mut self, level: Level, pair: RankPair) -> Option<u64> {
        let done = self.done();
        (self.tell)(&format!("{}: eager threshold", level.name()), done);
        let (mut low, mut high) = (0, self.plan.most_bytes);
        if self.ends_early(pair, high, 1) {
            return None;
        }
        while high - low > 1 {
            // The search for the eager threshold first bisects on a logarithmic scale, because thresholds differ by
            // orders of magnitude.
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

    /// Returns the number of small messages that a rank may have in flight to another rank before a send waits. Returns
    /// `None` if the tests find no limit or no message is eager.
    pub(super) fn credits(&mut self, level: Level, pair: RankPair, eager: Option<u64>) -> Option<u32> {
        let bytes = eager.map_or(SMALL[0], |eager| eager.min(SMALL[0]));
        let done = self.done();
        (self.tell)(&format!("{}: messages under way", level.name()), done);
        // A share of the campaign time bounds the number of messages, because messages are slow if ranks wait for their
        // core.
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
        // A second trial finds a real limit of messages in flight again, but not a limit that a single delay of the
        // ranks has caused.
        (!self.ends_early(pair, bytes, high) && self.ends_early(pair, bytes, low)).then_some(low)
    }

    /// Returns true if `count` sends end while the second rank pauses and has not posted the receives.
    fn ends_early(&mut self, pair: RankPair, bytes: u64, count: u32) -> bool {
        let port = &mut *self.port;
        port.barrier();
        protocol::ping_pong(port, pair, bytes, 1);
        let once = protocol::ping_pong(port, pair, bytes, 2);
        let mut delay = vec![f64::from(4 * count + 16) * once + 200e-6];
        if count > 1 {
            // Several sends are tried only after single messages were fast, so a delayed single message must not
            // lengthen the pause.
            delay[0] = delay[0].min((self.plan.budget * SHARE).max(LEAST_DELAY) * 2.0);
        }
        port.share(pair.first, &mut delay);
        let (mut early, mut late) = (0, 0);
        while early < MOST_VOTES && late < MOST_VOTES {
            port.barrier();
            let mut took = vec![protocol::early_sends(port, pair, bytes, count, delay[0])];
            port.share(pair.first, &mut took);
            // Eager sends end while the second rank is still pausing before its receives.
            *(if took[0] < delay[0] / 2.0 { &mut early } else { &mut late }) += 1;
        }
        early == MOST_VOTES
    }
}
