//! Data of a message: bytes of its own, or bytes that a sender lends.
//!
//! A real program's data are copied twice if the message owns a copy: from the sender to the message and from there to
//! the receiver. A sender therefore lends its buffer as long as the buffer does not change, which is until its send
//! completes. A receiver that takes the data before copies them directly. If the message outlives the loan, the message
//! gets a copy.
#![allow(unsafe_code)]

use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;

/// Data of a message in a separate allocation, because messages are moved often and most messages have no data.
pub struct Data(NonNull<LentData>);

/// Loan of a sender's buffer to a message. The sender ends the loan before the buffer changes.
pub struct Loan(NonNull<LentData>);

/// Content of a message, to which the message and perhaps a loan refer.
struct LentData {
    /// Bytes that the message owns.
    own: Vec<u8>,
    /// Buffer of the sender that contains the bytes, if the message does not own them.
    lent: Option<NonNull<[u8]>>,
    /// A loan refers to this content.
    has_loan: bool,
    /// The message was consumed or dropped during the loan.
    is_consumed: bool,
}

// SAFETY: data of its own belong to one thread at a time. Only simulations in which one thread runs all ranks lend
// buffers, as `Data::lend` requires.
unsafe impl Send for Data {}
// SAFETY: shared references permit only reads, and a loan ends only in the thread that runs all ranks.
unsafe impl Sync for Data {}

impl LentData {
    /// Copies the lent bytes.
    #[cold]
    fn copy(&mut self) {
        if let Some(lent) = self.lent.take() {
            // SAFETY: the sender's buffer is valid and does not change during the loan.
            self.own.extend_from_slice(unsafe { lent.as_ref() });
        }
    }
}

impl From<Vec<u8>> for Data {
    fn from(own: Vec<u8>) -> Self {
        let content = Box::new(LentData { own, lent: None, has_loan: false, is_consumed: false });
        Data(NonNull::from(Box::leak(content)))
    }
}

impl Data {
    #[inline(always)]
    fn content(&self) -> &LentData {
        // SAFETY: the content exists until both the data and the loan are dropped.
        unsafe { self.0.as_ref() }
    }

    #[inline(always)]
    fn content_mut(&mut self) -> &mut LentData {
        // SAFETY: the content exists until both the data and the loan are dropped. The loan accesses the content only
        // when it ends, which is not during the borrow.
        unsafe { self.0.as_mut() }
    }

    /// Returns the bytes for changes. Lent bytes are copied first.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut Vec<u8> {
        let content = self.content_mut();
        if content.lent.is_some() {
            content.copy();
        }
        &mut content.own
    }

    /// Returns the bytes, which are copied if they are lent.
    pub fn into_vec(mut self) -> Vec<u8> {
        std::mem::take(self.bytes_mut())
    }

    /// Number of bytes that the message can own without another allocation.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.content().own.capacity()
    }

    /// Lets the message refer to `buffer` until the loan ends. The message owns no bytes and is not lent.
    ///
    /// # Safety
    /// `buffer` is valid for reads and does not change until the loan ends. The loan and the data stay in the present
    /// thread during the loan.
    pub unsafe fn lend(&mut self, buffer: NonNull<[u8]>) -> Loan {
        let content = self.content_mut();
        debug_assert!(content.own.is_empty() && !content.has_loan);
        (content.lent, content.has_loan) = (Some(buffer), true);
        Loan(self.0)
    }

    /// Consumes the data. Returns empty data for another message, unless a loan still refers to the data.
    #[inline]
    pub fn recycle(mut self) -> Option<Data> {
        let content = self.content_mut();
        if content.has_loan {
            content.is_consumed = true;
            std::mem::forget(self);
            return None;
        }
        content.own.clear();
        Some(self)
    }
}

impl Deref for Data {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        let content = self.content();
        match content.lent {
            // SAFETY: the sender's buffer is valid and does not change during the loan.
            Some(lent) => unsafe { lent.as_ref() },
            None => &content.own,
        }
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        let content = self.content_mut();
        if content.has_loan {
            content.is_consumed = true;
        } else {
            // SAFETY: the content was allocated in a box, and no loan refers to it.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

impl Loan {
    /// Ends the loan. If the message has not been consumed, the message gets a copy of the lent bytes in the data that
    /// `room` returns for their number. Returns empty data for another message, if any.
    pub fn end(self, room: impl FnOnce(usize) -> Data) -> Option<Data> {
        let mut loan = std::mem::ManuallyDrop::new(self);
        // SAFETY: the content exists until both the data and the loan are dropped.
        let content = unsafe { loan.0.as_mut() };
        content.has_loan = false;
        let lent = content.lent.take();
        if std::mem::take(&mut content.is_consumed) {
            content.own.clear();
            return Some(Data(loan.0));
        }
        // SAFETY: the sender's buffer is valid and does not change during the loan.
        let lent = unsafe { lent?.as_ref() };
        let mut copy = room(lent.len());
        copy.bytes_mut().extend_from_slice(lent);
        std::mem::swap(&mut content.own, copy.bytes_mut());
        Some(copy)
    }
}

impl Drop for Loan {
    /// Ends the loan at the end of a run. Nothing reads the message any more.
    fn drop(&mut self) {
        // SAFETY: the content exists until both the data and the loan are dropped.
        let content = unsafe { self.0.as_mut() };
        (content.lent, content.has_loan) = (None, false);
        if content.is_consumed {
            drop(Data(self.0));
        }
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}

impl fmt::Debug for Loan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Loan")
    }
}

impl PartialEq for Data {
    fn eq(&self, other: &Data) -> bool {
        self[..] == other[..]
    }
}

impl Eq for Data {}

#[cfg(test)]
mod tests {
    use super::*;

    fn lent(bytes: &[u8]) -> (Data, Loan) {
        let mut data = Data::from(Vec::new());
        // SAFETY: the tests keep the bytes until the loan ends, and use one thread.
        let loan = unsafe { data.lend(NonNull::from(bytes)) };
        (data, loan)
    }

    #[test]
    fn a_message_that_is_consumed_during_the_loan_is_not_copied() {
        let bytes = [1, 2, 3];
        let (data, loan) = lent(&bytes);
        assert_eq!((data.as_ptr(), &data[..]), (bytes.as_ptr(), &bytes[..]));
        assert!(data.recycle().is_none());
        let again = loan.end(|_| unreachable!("nobody needs a copy")).unwrap();
        assert!(again.is_empty() && again.recycle().is_some());
    }

    #[test]
    fn a_message_that_outlives_the_loan_gets_a_copy() {
        let bytes = [1, 2, 3];
        let (data, loan) = lent(&bytes);
        let rest = loan.end(|size| Data::from(Vec::with_capacity(size)));
        assert_ne!(data.as_ptr(), bytes.as_ptr());
        assert!(rest.is_some_and(|rest| rest.is_empty()));
        assert_eq!(&data[..], [1, 2, 3]);
        assert!(data.recycle().is_some_and(|data| data.is_empty() && data.capacity() >= 3));
    }

    #[test]
    fn changes_of_lent_data_leave_the_sender_alone() {
        let bytes = [1, 2, 3];
        let (mut data, loan) = lent(&bytes);
        data.bytes_mut()[0] = 7;
        drop(loan.end(|size| Data::from(Vec::with_capacity(size))));
        assert_eq!((&data[..], bytes), (&[7, 2, 3][..], [1, 2, 3]));
        let (data, loan) = lent(&bytes);
        assert_eq!(data.into_vec(), bytes);
        drop(loan);
    }

    #[test]
    fn either_end_may_be_dropped_first() {
        let bytes = [1, 2, 3];
        let (data, loan) = lent(&bytes);
        drop(data);
        drop(loan);
        let (data, loan) = lent(&bytes);
        drop(loan);
        assert!(data.is_empty());
    }
}
