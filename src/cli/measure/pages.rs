//! Page-aligned message buffers, as common benchmark programs use them.
//!
//! A copy from the memory of another process handles each touched page separately. If the buffer of a message is not
//! aligned, the copy touches one more page. The additional page takes a tenth of the time of a 4 KiB message.

use std::ops::{Deref, DerefMut};

use crate::measure::ProgramVec;

const PAGE: usize = 4096;

/// Buffer of bytes that starts at a page boundary.
pub(super) struct PageBuffer {
    room: ProgramVec<u8>,
    start: usize,
    length: usize,
}

impl PageBuffer {
    /// Creates a buffer of `length` bytes that have the value `value`.
    pub fn new(length: usize, value: u8) -> PageBuffer {
        let room = ProgramVec::new(value, if length > 0 { length + PAGE } else { 0 });
        let start = if length > 0 { room.as_ptr().align_offset(PAGE) } else { 0 };
        PageBuffer { room, start, length }
    }

    /// Enlarges the buffer to at least `length` bytes. The content of the buffer is lost.
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
