//! Data of messages in flight. The data are stored apart from events, because most events carry no data.

use std::mem::ManuallyDrop;

use serde::{Deserialize, Serialize};

use mcpsim_base::rank::Payload;

/// Index of a message's data in [`Payloads`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PayloadSlot(u32);

impl PayloadSlot {
    /// Index of a message without data.
    pub const NONE: PayloadSlot = PayloadSlot(u32::MAX);
}

/// Data of messages in flight, by index.
#[derive(Debug, Default)]
pub(super) struct Payloads {
    /// Data by index. An overwritten entry is always empty. Without `ManuallyDrop`, each write would read the old entry,
    /// which is rarely in a cache.
    kept: Vec<ManuallyDrop<Payload>>,
    free: Vec<u32>,
}

impl Payloads {
    /// Stores the data of a message, if any, and returns the index of the data.
    #[inline]
    pub fn put(&mut self, payload: Payload) -> PayloadSlot {
        if payload.is_none() { PayloadSlot::NONE } else { self.put_some(payload) }
    }

    fn put_some(&mut self, payload: Payload) -> PayloadSlot {
        match self.free.pop() {
            Some(slot) => {
                self.kept[slot as usize] = ManuallyDrop::new(payload);
                PayloadSlot(slot)
            }
            None => {
                self.kept.push(ManuallyDrop::new(payload));
                PayloadSlot(self.kept.len() as u32 - 1)
            }
        }
    }

    /// Removes the data of a message from the table and returns the data.
    #[inline]
    pub fn take(&mut self, slot: PayloadSlot) -> Payload {
        if slot == PayloadSlot::NONE {
            return None;
        }
        self.free.push(slot.0);
        ManuallyDrop::into_inner(std::mem::replace(&mut self.kept[slot.0 as usize], ManuallyDrop::new(None)))
    }
}

impl Drop for Payloads {
    fn drop(&mut self) {
        self.kept.drain(..).map(ManuallyDrop::into_inner).for_each(drop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_are_given_back_once_and_slots_are_used_again() {
        let mut payloads = Payloads::default();
        assert_eq!(payloads.put(None), PayloadSlot::NONE);
        let one = payloads.put(Some(vec![1].into()));
        let two = payloads.put(Some(vec![2].into()));
        assert_eq!(payloads.take(one), Some(vec![1].into()));
        assert_eq!(payloads.put(Some(vec![3].into())), one);
        assert_eq!(payloads.take(two), Some(vec![2].into()));
        assert_eq!(payloads.take(one), Some(vec![3].into()));
        assert_eq!(payloads.take(PayloadSlot::NONE), None);
    }
}
