//! The buffers of messages' data: those of short messages are used again, for making them costs more than filling them.

use std::cell::RefCell;

use crate::rank::{Data, Payload};

/// Longer buffers go back to the system.
const LONGEST_KEPT: usize = 4096;
/// No more are kept on a thread.
const MOST_KEPT: usize = 4096;

thread_local! {
    static KEPT: RefCell<Vec<Data>> = const { RefCell::new(Vec::new()) };
}

/// An empty buffer with room for `size` bytes.
#[inline]
pub fn buffer(size: usize) -> Data {
    if size <= LONGEST_KEPT
        && let Some(mut kept) = KEPT.with_borrow_mut(Vec::pop)
    {
        kept.reserve(size);
        return kept;
    }
    Box::new(Vec::with_capacity(size))
}

/// A message's data that nobody needs any more.
#[inline]
pub fn done(payload: Payload) {
    if let Some(mut data) = payload
        && data.capacity() <= LONGEST_KEPT
    {
        data.clear();
        KEPT.with_borrow_mut(|kept| {
            if kept.len() < MOST_KEPT {
                kept.push(data);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_buffer_comes_back_empty_and_a_long_one_goes() {
        let mut data = buffer(8);
        data.extend_from_slice(&[1; 8]);
        let at = data.as_ptr();
        done(Some(data));
        let again = buffer(4);
        assert!(again.is_empty() && again.as_ptr() == at);
        done(Some(Box::new(Vec::with_capacity(LONGEST_KEPT + 1))));
        assert!(KEPT.with_borrow(Vec::is_empty));
        assert!(buffer(3 * LONGEST_KEPT).capacity() >= 3 * LONGEST_KEPT);
    }
}
