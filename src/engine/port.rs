//! A resource that transfers hold: a CMP's memory port, a node's memory interconnect, a NIC's two directions.

use std::collections::VecDeque;

use crate::units::{SimSpan, SimTime};

/// A resource. Its owner is one worker, and what it knows is only of the past.
#[derive(Clone, Debug, Default)]
pub struct Port {
    /// The ends of the transfers that hold it, in increasing order.
    ends: VecDeque<SimTime>,
    /// When the last transfer queued will have passed.
    free: SimTime,
}

impl Port {
    /// The number of transfers that hold the port at `time`, one that starts then included: the load k it sees.
    ///
    /// A transfer holds the port from its start up to, not including, its end.
    #[inline]
    pub fn load_at(&mut self, time: SimTime) -> u32 {
        while self.ends.front().is_some_and(|&end| end <= time) {
            self.ends.pop_front();
        }
        self.ends.len() as u32 + 1
    }

    /// A transfer that has started holds the port until `end`.
    #[inline]
    pub fn hold_until(&mut self, end: SimTime) {
        match self.ends.back() {
            Some(&last) if last > end => {
                let at = self.ends.partition_point(|&other| other <= end);
                self.ends.insert(at, end);
            }
            _ => self.ends.push_back(end),
        }
    }

    /// Queues a transfer that comes at `time` and occupies the port for `span`: gives its start.
    #[inline]
    pub fn queue(&mut self, time: SimTime, span: SimSpan) -> SimTime {
        let start = time.max(self.free);
        self.free = start + span;
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ps: u64) -> SimTime {
        SimTime::from_ps(ps)
    }

    #[test]
    fn the_load_counts_the_transfers_under_way() {
        let mut port = Port::default();
        assert_eq!(port.load_at(at(0)), 1);
        port.hold_until(at(10));
        assert_eq!(port.load_at(at(0)), 2);
        port.hold_until(at(5));
        assert_eq!(port.load_at(at(4)), 3);
        assert_eq!(port.load_at(at(5)), 2, "a transfer no longer holds the port at its end");
        assert_eq!(port.load_at(at(10)), 1);
    }

    #[test]
    fn queued_transfers_pass_one_after_another() {
        let mut port = Port::default();
        let span = SimSpan::from_ps(10);
        assert_eq!(port.queue(at(3), span), at(3));
        assert_eq!(port.queue(at(3), span), at(13));
        assert_eq!(port.queue(at(50), span), at(50));
    }
}
