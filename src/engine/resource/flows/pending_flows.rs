//! Flows to come, by the slot from which they count.

use std::collections::VecDeque;

/// A flow to come: its bundle, and when it starts.
type Coming = (u32, u64);

/// Flows to come. Most count from one of few slots, the last of which is the most likely.
#[derive(Debug, Default)]
pub(super) struct PendingFlows {
    slots: VecDeque<(u64, Vec<Coming>)>,
    /// Empty lists, kept for their room.
    spare: Vec<Vec<Coming>>,
}

impl PendingFlows {
    /// One more that counts from `slot`.
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

    /// The first slot from which any count; `u64::MAX` if there is none.
    #[inline]
    pub fn first(&self) -> u64 {
        self.slots.front().map_or(u64::MAX, |(slot, _)| *slot)
    }

    /// Takes those of the first slot, if that is not after `time`, in the order in which they came.
    pub fn take_until(&mut self, time: u64) -> Option<Vec<Coming>> {
        if self.first() > time {
            return None;
        }
        self.slots.pop_front().map(|(_, flows)| flows)
    }

    /// Takes back a list that was given.
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
