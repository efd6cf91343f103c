//! Pool of buffers for message data. The pool exists because allocating a short buffer costs more than copying the
//! data, and new memory for long buffers causes page faults.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ptr::NonNull;

use mcpsim_core::rank::{Data, Loan, Payload};

/// Maximum size in bytes of message buffers in the first size class.
const SHORT: usize = 4096;
/// Maximum size in bytes of message buffers in the pool. The sizes of size classes above `SHORT` are powers of two.
/// Longer message buffers are freed.
const LONGEST_KEPT: usize = SHORT << (CLASSES - 1);
const CLASSES: usize = 12;
/// Maximum number of pooled message buffers per size class and host thread.
const MOST_KEPT: usize = 4096;
/// Maximum total size in bytes of long message buffers in the pool of a host thread.
const MOST_BYTES: usize = 64 << 20;

thread_local! {
    static KEPT: RefCell<Kept> = const {
        RefCell::new(Kept { classes: [const { Vec::new() }; CLASSES], bytes: 0, empty: Vec::new() })
    };
}

/// Pool of message buffers of a host thread.
struct Kept {
    classes: [Vec<Data>; CLASSES],
    /// Total size in bytes of the long message buffers in the pool.
    bytes: usize,
    /// Message buffers without memory for data, for messages whose senders lend their buffers.
    empty: Vec<Data>,
}

/// Calls `body` with the pool of the host thread. Returns the default value at the end of the thread, when it has no pool.
fn with_pool<T: Default>(body: impl FnOnce(&mut Kept) -> T) -> T {
    KEPT.try_with(|kept| body(&mut kept.borrow_mut())).unwrap_or_default()
}

/// Returns the size class of long message buffers with room for `size` bytes.
fn class_for(size: usize) -> usize {
    (size.next_power_of_two() / SHORT).ilog2() as usize
}

/// Returns the number of bytes that a message buffer of the capacity `capacity` contributes to the total size of long
/// buffers.
fn long(capacity: usize) -> usize {
    if capacity <= SHORT { 0 } else { capacity }
}

/// Returns an empty message buffer with room for `size` bytes.
#[inline]
pub fn buffer(size: usize) -> Data {
    if size > SHORT {
        return long_buffer(size);
    }
    let kept = with_pool(|kept| {
        let buffer = kept.classes[0].pop()?;
        kept.bytes -= long(buffer.capacity());
        Some(buffer)
    });
    match kept {
        Some(mut buffer) => {
            buffer.bytes_mut().reserve(size);
            buffer
        }
        None => Vec::with_capacity(size).into(),
    }
}

#[inline(never)]
fn long_buffer(size: usize) -> Data {
    if size > LONGEST_KEPT {
        return Vec::with_capacity(size).into();
    }
    let class = class_for(size);
    let kept = with_pool(|kept| {
        let buffer = kept.classes[class].pop()?;
        kept.bytes -= long(buffer.capacity());
        Some(buffer)
    });
    kept.unwrap_or_else(|| Vec::with_capacity(SHORT << class).into())
}

/// Returns the buffer of a consumed message to the pool.
#[inline]
pub fn done(payload: Payload) {
    let Some(data) = payload else { return };
    let Some(data) = data.recycle() else { return };
    if data.capacity() > SHORT {
        return long_done(data);
    }
    with_pool(|kept| {
        let short = if data.capacity() == 0 { &mut kept.empty } else { &mut kept.classes[0] };
        if short.len() < MOST_KEPT {
            short.push(data);
        }
    });
}

#[inline(never)]
fn long_done(data: Data) {
    if data.capacity() <= LONGEST_KEPT {
        with_pool(|kept| kept.keep(data));
    }
}

/// Least size in bytes of a message whose sender lends its buffer. The data of a shorter message are copied faster than
/// a loan begins and ends.
pub const LEAST_LENT: usize = 512;

/// Returns the data of a message that refers to `buffer` until the loan ends.
///
/// # Safety
/// `buffer` is valid and does not change until the loan ends, and one thread runs all ranks.
#[inline(never)]
pub unsafe fn lend(buffer: NonNull<[u8]>) -> (Data, Loan) {
    let empty = with_pool(|kept| kept.empty.pop());
    let mut data = empty.unwrap_or_else(|| Vec::new().into());
    // SAFETY: the caller guarantees that the buffer does not change during the loan.
    let loan = unsafe { data.lend(buffer) };
    (data, loan)
}

/// Ends a loan. A message that its receiver has not taken gets a copy of the data.
#[inline(never)]
pub fn end(loan: Loan) {
    let rest = loan.end(|size| {
        #[cfg(test)]
        tests::COPIED.set(tests::COPIED.get() + 1);
        buffer(size)
    });
    done(rest);
}

impl Kept {
    fn keep(&mut self, data: Data) {
        // The message buffer belongs to the largest size class whose buffers fit in the buffer's capacity.
        let class = (data.capacity() / SHORT).ilog2() as usize;
        self.make_room(long(data.capacity()), class);
        let bytes = self.bytes + long(data.capacity());
        if self.classes[class].len() < MOST_KEPT && bytes <= MOST_BYTES {
            self.bytes = bytes;
            self.classes[class].push(data);
        }
    }

    /// Frees long message buffers of other size classes, which were used less recently, to make room for a buffer of
    /// `size` bytes.
    fn make_room(&mut self, size: usize, class: usize) {
        if self.bytes + size <= MOST_BYTES {
            return;
        }
        for other in (1..CLASSES).filter(|&other| other != class) {
            while self.bytes + size > MOST_BYTES
                && let Some(old) = self.classes[other].pop()
            {
                self.bytes -= old.capacity();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// Number of messages that were copied at the end of a loan.
        pub static COPIED: Cell<u64> = const { Cell::new(0) };
    }

    fn kept() -> (usize, usize) {
        KEPT.with_borrow(|kept| (kept.classes.iter().map(Vec::len).sum(), kept.bytes))
    }

    #[test]
    fn a_buffer_comes_back_empty_and_a_very_long_one_goes() {
        for size in [8, SHORT, SHORT + 1, 3 * SHORT, 4 * SHORT, LONGEST_KEPT] {
            let mut data = buffer(size);
            data.bytes_mut().extend_from_slice(&[1; 8]);
            let at = data.as_ptr();
            done(Some(data));
            let again = buffer(size);
            assert!(again.is_empty() && again.as_ptr() == at && again.capacity() >= size, "{size}");
            assert_eq!(kept(), (0, 0));
        }
        done(Some(Vec::with_capacity(LONGEST_KEPT + 1).into()));
        done(None);
        assert_eq!(kept(), (0, 0));
        assert!(buffer(2 * LONGEST_KEPT).capacity() >= 2 * LONGEST_KEPT);
    }

    #[test]
    fn a_buffer_made_elsewhere_serves_what_fits() {
        done(Some(Vec::with_capacity(3 * SHORT - 1).into()));
        done(Some(Vec::with_capacity(SHORT + 1).into()));
        assert!(buffer(2 * SHORT).capacity() >= 2 * SHORT);
        assert!(buffer(2 * SHORT + 1).capacity() > 2 * SHORT);
        assert!(buffer(SHORT).capacity() >= SHORT);
        assert_eq!(kept(), (0, 0));
    }

    #[test]
    fn only_messages_that_outlive_their_loans_are_copied() {
        let bytes = [7; LEAST_LENT];
        // SAFETY: the bytes do not change, and the test has one thread.
        let lend = || unsafe { lend(NonNull::from(&bytes)) };
        let (data, loan) = lend();
        let (other, second) = lend();
        assert_eq!((data.as_ptr(), &data[..]), (bytes.as_ptr(), &bytes[..]));
        done(Some(data));
        end(loan);
        assert_eq!((COPIED.get(), KEPT.with_borrow(|kept| kept.empty.len())), (0, 1));
        end(second);
        assert_eq!((COPIED.get(), KEPT.with_borrow(|kept| kept.empty.len())), (1, 2));
        assert!(other.as_ptr() != bytes.as_ptr() && other[..] == bytes);
        done(Some(other));
        assert_eq!((kept(), lend().0.as_ptr()), ((1, 0), bytes.as_ptr()));
    }

    #[test]
    fn only_so_much_is_kept() {
        let many: Vec<_> = (0..2 * MOST_BYTES / LONGEST_KEPT).map(|_| buffer(LONGEST_KEPT)).collect();
        many.into_iter().for_each(|data| done(Some(data)));
        assert_eq!(kept(), (MOST_BYTES / LONGEST_KEPT, MOST_BYTES));
        done(Some(buffer(2 * SHORT)));
        assert_eq!(kept(), (MOST_BYTES / LONGEST_KEPT, MOST_BYTES - LONGEST_KEPT + 2 * SHORT));
    }
}
