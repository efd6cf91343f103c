//! Division of a buffer into segments, halves and blocks of whole elements.

use super::{Parts, Seat};
use mcpsim_base::units::Bytes;

/// Buffer size and element size of a collective whose buffer is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Size of the whole buffer in bytes.
    pub size: Bytes,
    /// Number of bytes of an element, which is never divided; at least 1.
    pub element: u32,
}

/// Greatest number of segments of a buffer. A segment size that would lead to more segments is increased.
const MOST: u64 = 1 << 20;

impl Extent {
    /// Number of elements in the buffer.
    pub fn count(self) -> u64 {
        self.size.get().div_ceil(u64::from(self.element.max(1)))
    }

    /// Number of elements in a segment of about `segment` bytes. Returns all elements if `segment` is 0, smaller than
    /// an element, or at least the buffer size. Otherwise returns the nearest number of elements.
    pub fn in_segment(self, segment: u32) -> u64 {
        let (segment, element, count) = (u64::from(segment), u64::from(self.element.max(1)), self.count());
        if segment < element || segment >= element.saturating_mul(count) {
            return count;
        }
        segment / element + u64::from(segment % element > element / 2)
    }

    /// Number of segments of about `segment` bytes in the buffer, and the division of the buffer into these segments.
    pub(super) fn segments(self, segment: u32) -> (u32, Parts) {
        let count = self.count();
        let each = self.in_segment(segment).max(count.div_ceil(MOST)).max(1);
        match count.div_ceil(each) {
            0 | 1 => (1, Parts::Split(1)),
            inner => (inner as u32, self.nested(1, inner as u32, each)),
        }
    }

    /// Number of segments in each half of the buffer, and the division of the buffer into these segments. The first
    /// half has at least as many elements as the second half.
    pub(super) fn half_segments(self, segment: u32) -> (u32, u32, Parts) {
        let [first, second] = self.halves();
        let each = match u64::from(segment) / u64::from(self.element.max(1)) {
            _ if segment == 0 => first,
            each => each.max(first.div_ceil(MOST)).max(1),
        };
        let [inner, other] = [first, second].map(|half| half.div_ceil(each.max(1)) as u32);
        (inner, other, self.nested(2, inner.max(1), each))
    }

    /// Number of elements in each half of the buffer.
    pub fn halves(self) -> [u64; 2] {
        let count = self.count();
        [count - count / 2, count / 2]
    }

    /// Number of blocks with data, and the division of the buffer into one block per member. The blocks have equally
    /// many elements, but the last blocks may be shorter or empty.
    pub(super) fn even_blocks(self, seat: Seat) -> (u32, Parts) {
        let each = self.count().div_ceil(u64::from(seat.size)).max(1);
        (self.count().div_ceil(each) as u32, self.nested(1, seat.size, each))
    }

    /// Number of turns of a segmented ring, which handles about `segment` bytes of each block per turn.
    pub fn turns(self, ranks: u32, segment: u32) -> u32 {
        let around = u64::from(ranks).saturating_mul(self.in_segment(segment)).max(1);
        let rest = self.count() % around;
        let more = rest >= u64::from(ranks) && rest > around / 2;
        (self.count() / around + u64::from(more)).clamp(1, MOST) as u32
    }

    fn nested(self, parts: u32, inner: u32, each: u64) -> Parts {
        Parts::Nested { parts, inner, segment: each.saturating_mul(u64::from(self.element.max(1))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(size: u64, element: u32) -> Extent {
        Extent { size: Bytes::new(size), element }
    }

    #[test]
    fn segments_are_whole_elements() {
        assert_eq!(extent(4096, 8).segments(1024).0, 4);
        assert_eq!(extent(4104, 8).segments(1024).0, 5);
        // The segment size is 0, less than an element, or more than the buffer.
        assert_eq!(extent(4096, 8).segments(0), (1, Parts::Split(1)));
        assert_eq!(extent(4096, 8).segments(7), (1, Parts::Split(1)));
        assert_eq!(extent(4096, 8).segments(4096), (1, Parts::Split(1)));
        // 100 bytes contain 8 elements of 12 bytes and 4 more bytes; 107 bytes are nearer to 9 elements.
        assert_eq!(extent(1200, 12).in_segment(100), 8);
        assert_eq!(extent(1200, 12).in_segment(107), 9);
        assert_eq!(extent(0, 8).segments(1024), (1, Parts::Split(1)));
    }

    #[test]
    fn a_segmented_ring_goes_around_once_more_for_more_than_half_a_round() {
        // With 4 ranks and segments of 10 elements, a turn handles 40 elements.
        assert_eq!(extent(800, 8).turns(4, 80), 2);
        assert_eq!(extent(8 * 120, 8).turns(4, 80), 3);
        assert_eq!(extent(8 * 141, 8).turns(4, 80), 4);
        assert_eq!(extent(8 * 20, 8).turns(4, 80), 1);
    }
}
