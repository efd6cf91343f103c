//! Methods of university courses for measuring the LogP parameters with two processes and a clock.

use super::super::port::RankPort;
use super::super::protocol::{self, RankPair};

/// Number of repetitions N, so large that unequal starts and ends of the two ranks do not matter.
pub const COURSE_MESSAGES: u32 = 1000;

/// Results of three methods for measuring LogP parameters: times in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Course {
    /// L + 2 o: One rank sends and receives N times, while the other rank receives and sends N times. L + 2 o is the
    /// total time divided by 2 N.
    pub message: f64,
    /// g: one rank sends N messages that the other rank receives. The time until the receiver has all messages is
    /// divided by N.
    pub gap: f64,
    /// o: one rank sends, computes and receives N times, while the other rank receives, sends and computes N times. The
    /// computation is longer than 2 L + 2 o. o is half of the excess of the total time per repetition over the
    /// computation.
    pub overhead: f64,
}

impl Course {
    /// Measures the three LogP times. Both ranks of the pair call this function; the results of the first rank are
    /// valid.
    pub fn measured(port: &mut dyn RankPort, pair: RankPair, bytes: u64) -> Course {
        let message = protocol::ping_pong(port, pair, bytes, COURSE_MESSAGES);
        let gap = protocol::window(port, pair, bytes, COURSE_MESSAGES) / f64::from(COURSE_MESSAGES);
        let mut work = vec![4.0 * message];
        port.share(pair.first, &mut work);
        let took = protocol::work_between(port, pair, bytes, COURSE_MESSAGES, work[0]);
        Course { message, gap, overhead: (took - work[0]) / 2.0 }
    }

    /// Returns L, the time of a message without the two overheads o.
    pub fn latency(&self) -> f64 {
        self.message - 2.0 * self.overhead
    }
}
