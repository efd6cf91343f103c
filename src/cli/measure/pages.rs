//! Buffers that begin at a page, as those of the usual measuring programs do.
//!
//! What reads another process's memory takes each page that it touches by itself: a message whose buffers begin within
//! a page touches one more, a tenth of what 4 KiB take.

use std::ops::{Deref, DerefMut};

use crate::measure::ProgramVec;

const PAGE: usize = 4096;

/// Bytes from the beginning of a page on.
pub(super) struct PageBuffer {
    room: ProgramVec<u8>,
    start: usize,
    length: usize,
}

impl PageBuffer {
    /// So many bytes of this value.
    pub fn new(length: usize, value: u8) -> PageBuffer {
        let room = ProgramVec::new(value, if length > 0 { length + PAGE } else { 0 });
        let start = if length > 0 { room.as_ptr().align_offset(PAGE) } else { 0 };
        PageBuffer { room, start, length }
    }

    /// Makes it so long; what was in it is lost.
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
