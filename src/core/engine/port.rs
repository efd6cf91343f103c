//! A resource that transfers hold: a CMP's memory port, a node's memory interconnect, a NIC's two directions.

use std::collections::VecDeque;

use crate::units::{SimSpan, SimTime};

/// A resource. Its owner is one worker, and what it knows is only of the past.
#[derive(Clone, Debug, Default)]
pub struct Port {
    /// The least end of the transfers that hold it; no less than any start yet, if there are some.
    first: SimTime,
    /// How many hold it.
    holders: u32,
    /// The ends of all but the first to end, in increasing order: mostly there are none.
    others: VecDeque<SimTime>,
    /// When the last transfer queued will have passed.
    free: SimTime,
    /// When the transfer that started last ends, and its bytes; none once these are counted as changed.
    last: (SimTime, u64),
    /// Bytes that have passed, and those of transfers whose share changed while they were under way.
    pub passed: u64,
    pub changed: u64,
}

impl Port {
    /// The number of transfers that hold the port at `time`, one that starts then included: the load k it sees.
    ///
    /// A transfer holds the port from its start up to, not including, its end.
    #[inline(always)]
    pub fn load_at(&mut self, time: SimTime) -> u32 {
        if self.holders > 0 && self.first <= time {
            self.leave(time);
        }
        self.holders + 1
    }

    /// Those whose end is no later than `time` leave, at least the first.
    #[inline(never)]
    fn leave(&mut self, time: SimTime) {
        self.holders -= 1;
        while self.holders > 0 {
            self.first = self.others.pop_front().expect("others hold it");
            if self.first > time {
                break;
            }
            self.holders -= 1;
        }
    }

    /// A transfer of `bytes` that starts at `time`, for which the load has been asked, holds the port until `end`.
    ///
    /// Counts it, and the one before, as one whose share changes, where a law judges that once. The one before has
    /// another share if it is still under way; this one will, if one that started earlier ends sooner.
    #[inline(always)]
    pub fn hold(&mut self, time: SimTime, end: SimTime, bytes: u64) {
        self.passed = self.passed.saturating_add(bytes);
        self.holders += 1;
        if self.holders == 1 {
            (self.first, self.last) = (end, (end, bytes));
        } else {
            self.hold_beside(time, end, bytes);
        }
    }

    /// As [`Port::hold`], where others are under way.
    #[inline(never)]
    fn hold_beside(&mut self, time: SimTime, end: SimTime, bytes: u64) {
        let (before, theirs) = self.last;
        if before > time {
            self.changed = self.changed.saturating_add(theirs);
        }
        self.last = (end, bytes);
        let sooner = self.first;
        if end < sooner {
            self.first = end;
            self.others.push_front(sooner);
            return;
        }
        if sooner < end {
            self.changed = self.changed.saturating_add(bytes);
            self.last.1 = 0;
        }
        match self.others.back() {
            Some(&last) if last > end => {
                let at = self.others.partition_point(|&other| other <= end);
                self.others.insert(at, end);
            }
            _ => self.others.push_back(end),
        }
    }

    /// A transfer of `bytes` that came at `time` starts at `start`, once those before it have passed: had they shared,
    /// it would not have waited.
    #[inline]
    pub fn count_queued(&mut self, time: SimTime, start: SimTime, bytes: u64) {
        self.passed = self.passed.saturating_add(bytes);
        if start > time {
            self.changed = self.changed.saturating_add(bytes);
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
        port.hold(at(0), at(10), 1);
        assert_eq!(port.load_at(at(0)), 2);
        port.hold(at(0), at(5), 1);
        assert_eq!(port.load_at(at(4)), 3);
        assert_eq!(port.load_at(at(5)), 2, "a transfer no longer holds the port at its end");
        assert_eq!(port.load_at(at(10)), 1);
    }

    #[test]
    fn a_transfer_whose_share_changes_is_counted_once() {
        let mut port = Port::default();
        let mut start = |time, end, bytes| {
            port.load_at(at(time));
            port.hold(at(time), at(end), bytes);
            port.changed
        };
        assert_eq!(start(0, 100, 1), 0);
        assert_eq!(start(50, 200, 10), 11, "the first is joined; the second outlives it");
        assert_eq!(start(60, 80, 100), 11, "it ends before both");
        assert_eq!(start(70, 75, 1000), 111, "it is joined");
        assert_eq!(start(300, 400, 10_000), 111);
        assert_eq!(start(400, 500, 100_000), 111, "one ends as the next starts");
        assert_eq!(port.passed, 111_111);
        let mut port = Port::default();
        port.count_queued(at(3), at(3), 1);
        port.count_queued(at(3), at(13), 10);
        assert_eq!((port.passed, port.changed), (11, 10));
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
