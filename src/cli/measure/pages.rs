//! Page-aligned buffers, as in the usual benchmark programs.
//!
//! A copy from another process's memory handles each touched page separately. A message whose buffers are not aligned
//! touches one more page, a tenth of the time of 4 KiB.

use std::ops::{Deref, DerefMut};

use crate::measure::ProgramVec;

const PAGE: usize = 4096;

/// Bytes with a page-aligned start.
pub(super) struct PageBuffer {
    room: ProgramVec<u8>,
    start: usize,
    length: usize,
}

impl PageBuffer {
    /// Creates a buffer of `length` copies of `value`.
    pub fn new(length: usize, value: u8) -> PageBuffer {
        let room = ProgramVec::new(value, if length > 0 { length + PAGE } else { 0 });
        let start = if length > 0 { room.as_ptr().align_offset(PAGE) } else { 0 };
        PageBuffer { room, start, length }
    }

    /// Enlarges the buffer to `length`; its content is lost.
    pub fn make_room(&mut self, length: usize, value: u8) {
        if self.length < length {
            *self = PageBuffer::new(length, value);
        }
    }
}

impl Deref for PageBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.room[self.start..self.start + self.length]
    }
}

impl DerefMut for PageBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.room[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_begin_at_a_page_and_hold_what_is_asked_for() {
        let mut buffer = PageBuffer::new(5000, 7);
        assert_eq!((buffer.as_ptr() as usize % PAGE, buffer.len(), buffer[4999]), (0, 5000, 7));
        buffer.make_room(3, 1);
        assert_eq!(buffer.len(), 5000);
        buffer.make_room(1 << 20, 1);
        assert_eq!((buffer.as_ptr() as usize % PAGE, buffer.len(), buffer[0]), (0, 1 << 20, 1));
        assert!(PageBuffer::new(0, 0).is_empty());
    }
}
