//! Slots: the moments at which rates are judged anew, on a grid of simulated time.

use mcpsim_base::units::{SimSpan, SimTime};

/// The grid of slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotGrid {
    slot: u64,
    /// How far a worker may be ahead of another.
    lookahead: u64,
}

impl SlotGrid {
    /// Slots of this length, where a worker may be `lookahead` ahead of another.
    pub fn new(slot: SimSpan, lookahead: SimSpan) -> Self {
        SlotGrid { slot: slot.as_ps().max(1), lookahead: lookahead.as_ps() }
    }

    /// The length of a slot.
    pub fn slot(self) -> u64 {
        self.slot
    }

    /// The last slot not after `time`.
    pub fn floor(self, time: u64) -> u64 {
        time - time % self.slot
    }

    /// The first slot after `time`.
    pub fn after(self, time: u64) -> u64 {
        self.floor(time).saturating_add(self.slot)
    }

    /// The slot from which on a transfer counts that left at `left` and starts at `head`: the last before it starts, if
    /// all workers can hear of it by then.
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
        // Without latency the next slot is the first that can know.
        let grid = SlotGrid::new(SimSpan::from_ps(50), SimSpan::ZERO);
        assert_eq!(grid.counted(at(10), at(10)), 50);
        assert_eq!(grid.counted(at(50), at(50)), 100);
        assert_eq!((grid.floor(99), grid.after(99), grid.after(100)), (50, 100, 150));
    }
}
