//! First in, first out: the discipline of adapters for small messages, of ports under `queue`, and of a core's copies.

use mcpsim_base::units::{SimSpan, SimTime};

/// Resource that serves one use after another, in the order of arrival.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fifo {
    /// End of the last use in the queue.
    free: SimTime,
}

impl Fifo {
    /// Queues a use that arrives at `time` and holds the resource for `span`; returns its start.
    #[inline(always)]
    pub fn queue(&mut self, time: SimTime, span: SimSpan) -> SimTime {
        let start = time.max(self.free);
        self.free = start + span;
        start
    }

    /// Returns the end of the last use in the queue.
    #[inline]
    pub fn free(&self) -> SimTime {
        self.free
    }

    /// Sets the end of the last use, which was unknown when the use began.
    pub fn end_at(&mut self, time: SimTime) {
        self.free = time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_follow_one_another() {
        let (at, span) = (SimTime::from_ps, SimSpan::from_ps(10));
        let mut fifo = Fifo::default();
        assert_eq!(fifo.queue(at(3), span), at(3));
        assert_eq!(fifo.queue(at(3), span), at(13));
        assert_eq!(fifo.queue(at(50), span), at(50));
        fifo.end_at(at(70));
        assert_eq!((fifo.queue(at(60), span), fifo.free()), (at(70), at(80)));
    }
}
