//! Slots: equidistant points of virtual time at which rates change.

use mcpsim_base::units::{SimSpan, SimTime};

/// Grid of slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotGrid {
    slot: u64,
    /// Time by which a worker may be ahead of another worker.
    lookahead: u64,
}

impl SlotGrid {
    /// Creates slots of this length. A worker may be `lookahead` ahead of another worker.
    pub fn new(slot: SimSpan, lookahead: SimSpan) -> Self {
        SlotGrid { slot: slot.as_ps().max(1), lookahead: lookahead.as_ps() }
    }

    /// Length of a slot in picoseconds.
    pub fn slot(self) -> u64 {
        self.slot
    }

    /// Returns the last slot not after `time`.
    pub fn floor(self, time: u64) -> u64 {
        time - time % self.slot
    }

    /// Returns the first slot after `time`.
    pub fn after(self, time: u64) -> u64 {
        self.floor(time).saturating_add(self.slot)
    }

    /// Returns the slot from which a transfer counts that left at `left` and starts at `head`, and of which no other
    /// worker must know.
    pub fn counted_at_once(self, left: SimTime, head: SimTime) -> u64 {
        self.floor(head.as_ps()).max(self.after(left.as_ps()))
    }

    /// Returns the slot from which a transfer counts that left at `left` and starts at `head`. This is the last slot
    /// not after its start, if the announcement can reach all workers by then.
    pub fn counted(self, left: SimTime, head: SimTime) -> u64 {
        let left = left.as_ps();
        let heard = left.saturating_add(self.lookahead);
        let heard = if heard.is_multiple_of(self.slot) { heard } else { self.after(heard) };
        self.floor(head.as_ps()).max(heard).max(self.after(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_counts_from_the_slot_before_its_start_if_that_can_be_heard_of() {
        let at = SimTime::from_ps;
        // Latency 100: slots of 50, windows of 50.
        let grid = SlotGrid::new(SimSpan::from_ps(50), SimSpan::from_ps(50));
        assert_eq!(grid.counted(at(10), at(110)), 100);
        assert_eq!(grid.counted(at(0), at(100)), 100);
        assert_eq!(grid.counted(at(49), at(149)), 100);
        assert_eq!(grid.counted(at(10), at(175)), 150);
        // Without latency, the announcement is known from the next slot on.
        let grid = SlotGrid::new(SimSpan::from_ps(50), SimSpan::ZERO);
        assert_eq!(grid.counted(at(10), at(10)), 50);
        assert_eq!(grid.counted(at(50), at(50)), 100);
        assert_eq!((grid.floor(99), grid.after(99), grid.after(100)), (50, 100, 150));
    }
}
