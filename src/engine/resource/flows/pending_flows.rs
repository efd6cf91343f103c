//! Announced flows, by the slot from which they count.

use std::collections::VecDeque;

/// Announced flow: bundle and start.
type Coming = (u32, u64);

/// Announced flows. Most flows count from one of few slots, usually the last one.
#[derive(Debug, Default)]
pub(super) struct PendingFlows {
    slots: VecDeque<(u64, Vec<Coming>)>,
    /// Empty lists for reuse.
    spare: Vec<Vec<Coming>>,
}

impl PendingFlows {
    /// Adds a flow that counts from `slot`.
    #[inline]
    pub fn add(&mut self, slot: u64, coming: Coming) {
        let mut at = self.slots.len();
        while at > 0 && self.slots[at - 1].0 > slot {
            at -= 1;
        }
        if at == 0 || self.slots[at - 1].0 < slot {
            self.slots.insert(at, (slot, self.spare.pop().unwrap_or_default()));
            at += 1;
        }
        self.slots[at - 1].1.push(coming);
    }

    /// Returns the first slot with flows; `u64::MAX` without flows.
    #[inline]
    pub fn first(&self) -> u64 {
        self.slots.front().map_or(u64::MAX, |(slot, _)| *slot)
    }

    /// Removes the flows of the first slot, if it is not after `time`. Returns them in the order of announcement.
    pub fn take_until(&mut self, time: u64) -> Option<Vec<Coming>> {
        if self.first() > time {
            return None;
        }
        self.slots.pop_front().map(|(_, flows)| flows)
    }

    /// Stores a returned list for reuse.
    pub fn keep_room(&mut self, mut flows: Vec<Coming>) {
        flows.clear();
        self.spare.push(flows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_come_by_their_slots_and_within_one_as_they_were_announced() {
        let mut announced = PendingFlows::default();
        let flows = [(30, 1), (10, 2), (20, 3), (10, 4), (30, 5), (20, 6)];
        flows.iter().for_each(|&(slot, bundle)| announced.add(slot, (bundle, slot + 1)));
        assert_eq!((announced.first(), announced.take_until(9)), (10, None));
        let mut taken = Vec::new();
        while let Some(flows) = announced.take_until(20) {
            taken.extend(flows.iter().map(|(bundle, _)| *bundle));
            announced.keep_room(flows);
        }
        assert_eq!((taken, announced.first()), (vec![2, 4, 3, 6], 30));
        announced.add(25, (7, 26));
        assert_eq!(announced.take_until(30), Some(vec![(7, 26)]));
        assert_eq!(announced.take_until(30), Some(vec![(1, 31), (5, 31)]));
        assert_eq!(announced.first(), u64::MAX);
    }
}
