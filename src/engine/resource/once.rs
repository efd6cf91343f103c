//! Load judged once, when a transfer starts: the discipline of `share` and `measured`. A port is a CMP's memory port, a
//! node's memory interconnect, or one direction of a NIC.

use std::collections::VecDeque;

use mcpsim_base::units::{SimSpan, SimTime};

use super::fifo::Fifo;

/// Resource that transfers hold. Each port belongs to one worker. A port knows only transfers that have already
/// started.
#[derive(Clone, Debug, Default)]
pub struct Port {
    /// Earliest end of the transfers that hold the port. If transfers hold the port, this time is no earlier than the
    /// start of any transfer.
    first: SimTime,
    /// Number of transfers that hold the port.
    holders: u32,
    /// Ends of all transfers that hold the port except the first to end, in increasing order; usually empty.
    others: VecDeque<SimTime>,
    /// Transfers that pass the port one after another, under `queue`.
    line: Fifo,
    /// End and bytes of the transfer that started last; zero bytes once the transfer is counted as changed.
    last: (SimTime, u64),
    /// Bytes that have passed the port, and bytes of transfers whose share would have changed in flight.
    pub passed: u64,
    pub changed: u64,
}

impl Port {
    /// Returns the load k: the number of transfers that hold the port at `time`, including one that starts then.
    ///
    /// A transfer holds the port from its start up to, not including, its end.
    #[inline(always)]
    pub fn load_at(&mut self, time: SimTime) -> u32 {
        if self.holders > 0 && self.first <= time {
            self.leave(time);
        }
        self.holders + 1
    }

    /// Removes the first transfer to end, and all transfers whose end is no later than `time`.
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

    /// Adds a transfer of `bytes` that holds the port from `time` to `end`. The caller has called `load_at` for this
    /// time.
    ///
    /// Counts the bytes of transfers whose share changes, although the contention model fixes the share at the start of
    /// a transfer. The share of the previous transfer changes if that transfer is still in flight. The share of the new
    /// transfer changes if an earlier transfer ends sooner.
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

    /// Case of [`Port::hold`] in which other transfers hold the port.
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

    /// Queues a transfer of `bytes` that arrives at `time` and occupies the port for `span`; returns its start. Counts
    /// the bytes of a transfer that waits: with shared bandwidth it would not have waited.
    #[inline]
    pub fn queue(&mut self, time: SimTime, span: SimSpan, bytes: u64) -> SimTime {
        let start = self.line.queue(time, span);
        self.passed = self.passed.saturating_add(bytes);
        if start > time {
            self.changed = self.changed.saturating_add(bytes);
        }
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
        assert_eq!(port.queue(at(3), SimSpan::from_ps(10), 1), at(3));
        assert_eq!(port.queue(at(3), SimSpan::from_ps(10), 10), at(13));
        assert_eq!((port.passed, port.changed), (11, 10));
    }
}
