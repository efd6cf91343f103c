//! Ready fragments of an MPI process, in the order of their execution.

use std::collections::VecDeque;

use super::options::{Order, Unfold};

/// Records of the ready fragments of an MPI process.
#[derive(Debug)]
pub(super) struct Ready {
    unfold: Unfold,
    order: Order,
    plain: VecDeque<u32>,
    /// Ready structured fragments. Empty if the options treat structured fragments like the other fragments.
    structured: VecDeque<u32>,
}

impl Ready {
    pub fn new(unfold: Unfold, order: Order) -> Self {
        Ready { unfold, order, plain: VecDeque::new(), structured: VecDeque::new() }
    }

    pub fn len(&self) -> usize {
        self.plain.len() + self.structured.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn push(&mut self, record: u32, structured: bool) {
        match structured && self.unfold != Unfold::InTurn {
            true => self.structured.push_back(record),
            false => self.plain.push_back(record),
        }
    }

    /// Removes and returns the record of the fragment that is executed next.
    pub fn pop(&mut self) -> Option<u32> {
        let Ready { unfold, order, plain, structured } = self;
        let next = |queue: &mut VecDeque<u32>| match order {
            Order::Fifo => queue.pop_front(),
            Order::Lifo => queue.pop_back(),
        };
        match unfold {
            // Fragments are taken from the front, because a structured fragment that still has fragments to create is
            // appended at the back.
            Unfold::Early => structured.pop_front().or_else(|| next(plain)),
            _ => next(plain).or_else(|| structured.pop_front()),
        }
    }

    /// Removes and returns the record of the fragment that would be executed last, for transfer to another process.
    /// Returns a structured fragment only if no other fragment is ready.
    pub fn give(&mut self) -> Option<u32> {
        let last = match self.order {
            Order::Fifo => self.plain.pop_back(),
            Order::Lifo => self.plain.pop_front(),
        };
        last.or_else(|| self.structured.pop_back())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structured_fragments_have_their_turn_early_late_or_in_turn() {
        let drained = |unfold, order| {
            let mut ready = Ready::new(unfold, order);
            for record in 0..6 {
                ready.push(record, record % 2 == 1);
            }
            std::iter::from_fn(|| ready.pop()).collect::<Vec<_>>()
        };
        assert_eq!(drained(Unfold::Early, Order::Fifo), [1, 3, 5, 0, 2, 4]);
        assert_eq!(drained(Unfold::InTurn, Order::Fifo), [0, 1, 2, 3, 4, 5]);
        assert_eq!(drained(Unfold::Late, Order::Fifo), [0, 2, 4, 1, 3, 5]);
        assert_eq!(drained(Unfold::InTurn, Order::Lifo), [5, 4, 3, 2, 1, 0]);
        assert_eq!(drained(Unfold::Late, Order::Lifo), [4, 2, 0, 1, 3, 5]);
    }

    #[test]
    fn others_get_what_would_be_last() {
        let given = |order| {
            let mut ready = Ready::new(Unfold::Early, order);
            (0..4).for_each(|record| ready.push(record, record == 0));
            std::iter::from_fn(|| ready.give()).collect::<Vec<_>>()
        };
        assert_eq!(given(Order::Fifo), [3, 2, 1, 0]);
        assert_eq!(given(Order::Lifo), [1, 2, 3, 0]);
    }
}
