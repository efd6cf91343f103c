//! Sizes of the data blocks of a schedule.

use std::sync::Arc;

use super::step::Blocks;
use mcpsim_base::units::Bytes;

/// Sizes of a schedule's data blocks in bytes. Sums of sizes saturate.
#[derive(Clone, Debug)]
pub enum BlockLayout {
    /// One buffer divided into `parts` blocks whose sizes differ by at most one element; larger blocks are first. If
    /// the buffer is not a whole number of elements, the last element is shorter.
    Split {
        /// Size of the buffer in bytes.
        total: Bytes,
        /// Number of blocks of the buffer; at least 1.
        parts: u32,
        /// Number of bytes of an element, which is never divided; at least 1.
        element: u32,
    },
    /// One buffer divided into `parts` parts as by `Split`. Each part is divided into `inner` segments of `segment`
    /// bytes; the last segments may be shorter or empty. If `segment` is 0, sizes of segments differ by at most one
    /// element, and larger segments are first.
    Nested {
        /// Size of the buffer in bytes.
        total: Bytes,
        /// Number of parts of the buffer; at least 1.
        parts: u32,
        /// Number of segments per part; at least 1.
        inner: u32,
        /// Number of bytes of a segment, a multiple of `element`.
        segment: u64,
        /// Number of bytes of an element, which is never divided; at least 1.
        element: u32,
    },
    /// One buffer divided into `parts` blocks (a power of two) by repeated halving; the first half is never the larger
    /// one.
    Halved {
        /// Size of the buffer in bytes.
        total: Bytes,
        /// Number of blocks into which the buffer is divided.
        parts: u32,
        /// Number of bytes of an element, which is never divided; at least 1.
        element: u32,
    },
    /// Two blocks per rank of `block` bytes together; the first block has at most `head` bytes.
    Headed {
        /// Number of bytes of both blocks of a rank.
        block: Bytes,
        /// Greatest size of the first block.
        head: Bytes,
        /// Number of ranks, each with two blocks.
        ranks: u32,
    },
    /// Blocks in a contiguous range of a buffer.
    Window {
        /// Offset of the range in the buffer, in bytes.
        start: u64,
        /// Size of the whole buffer.
        whole: Bytes,
        /// Layout of the blocks within the range.
        inner: Box<BlockLayout>,
    },
    /// All blocks have the same size.
    Uniform {
        /// Size of each block in bytes.
        block: Bytes,
        /// Number of blocks in the layout.
        parts: u32,
    },
    /// Blocks with different sizes, which the list states in bytes.
    Varying(Arc<[Bytes]>),
}

impl BlockLayout {
    /// Number of blocks in the layout.
    pub fn parts(&self) -> u32 {
        match self {
            BlockLayout::Split { parts, .. }
            | BlockLayout::Uniform { parts, .. }
            | BlockLayout::Halved { parts, .. } => *parts,
            BlockLayout::Nested { parts, inner, .. } => parts * inner,
            BlockLayout::Headed { ranks, .. } => 2 * ranks,
            BlockLayout::Varying(sizes) => sizes.len() as u32,
            BlockLayout::Window { inner, .. } => inner.parts(),
        }
    }

    /// Total size of `blocks` in bytes. Takes constant time, except for varying sizes and for `Blocks::Bit` of a split
    /// buffer.
    pub fn bytes(&self, blocks: Blocks) -> Bytes {
        match self {
            BlockLayout::Uniform { block, parts } => {
                Bytes::new(block.get().saturating_mul(u64::from(blocks.count(*parts))))
            }
            BlockLayout::Split { total, .. }
            | BlockLayout::Nested { total, .. }
            | BlockLayout::Halved { total, .. } => match blocks {
                Blocks::All | Blocks::Down(_) => *total,
                _ => self.divided(blocks),
            },
            BlockLayout::Headed { .. } => self.divided(blocks),
            BlockLayout::Window { inner, .. } => inner.bytes(blocks),
            BlockLayout::Varying(sizes) => sum(blocks.indices(sizes.len() as u32).map(|block| sizes[block as usize])),
        }
    }

    /// Size of the buffer that contains all blocks.
    pub fn whole(&self) -> Bytes {
        match self {
            BlockLayout::Window { whole, .. } => *whole,
            _ => self.bytes(Blocks::All),
        }
    }

    /// Total size of `blocks` in bytes, for the layouts that divide one buffer.
    fn divided(&self, blocks: Blocks) -> Bytes {
        let parts = u64::from(self.parts());
        let (first, count) = match blocks {
            Blocks::Up { first, count } => (u64::from(first), u64::from(count)),
            Blocks::All | Blocks::Down(_) => (0, parts),
            Blocks::Bit(_) => {
                return sum(blocks.indices(self.parts()).map(|block| self.bytes(Blocks::one(block))));
            }
        };
        let end = first + count;
        let to_end = self.offset(end.min(parts)) - self.offset(first);
        Bytes::new(to_end + self.offset(end.saturating_sub(parts)))
    }

    /// Offset of block `block` in a divided buffer in bytes. For `block` = number of blocks, returns the size of the
    /// buffer.
    pub fn offset(&self, block: u64) -> u64 {
        match *self {
            BlockLayout::Split { total, parts, element } => split(total, u64::from(parts), element, block),
            BlockLayout::Nested { total, parts, inner, segment, element } => {
                let (part, place) = (block / u64::from(inner), block % u64::from(inner));
                let start = split(total, u64::from(parts), element, part);
                if place == 0 {
                    return start;
                }
                let length = split(total, u64::from(parts), element, part + 1) - start;
                start
                    + match segment {
                        0 => split(Bytes::new(length), u64::from(inner), element, place),
                        _ => place.saturating_mul(segment).min(length),
                    }
            }
            BlockLayout::Halved { total, parts, element } => {
                if block >= u64::from(parts) {
                    return total.get();
                }
                let (mut start, mut length) = (0, total.get().div_ceil(u64::from(element)));
                for bit in (0..parts.ilog2()).rev() {
                    let half = length / 2;
                    if block >> bit & 1 == 1 {
                        start += half;
                        length -= half;
                    } else {
                        length = half;
                    }
                }
                start.saturating_mul(u64::from(element)).min(total.get())
            }
            BlockLayout::Headed { block: size, head, .. } => {
                let before = (block / 2).saturating_mul(size.get());
                before.saturating_add(if block % 2 == 1 { head.min(size).get() } else { 0 })
            }
            BlockLayout::Window { start, ref inner, .. } => start.saturating_add(inner.offset(block)),
            BlockLayout::Uniform { block: size, .. } => block.saturating_mul(size.get()),
            BlockLayout::Varying(_) => 0,
        }
    }
}

/// Offset in bytes of block `block` if a buffer is split into `parts` blocks of whole elements, larger blocks first.
fn split(total: Bytes, parts: u64, element: u32, block: u64) -> u64 {
    let element = u64::from(element);
    let elements = total.get().div_ceil(element);
    let (each, larger) = (elements / parts, elements % parts);
    (each * block + block.min(larger)).saturating_mul(element).min(total.get())
}

fn sum(sizes: impl Iterator<Item = Bytes>) -> Bytes {
    Bytes::new(sizes.fold(0, |sum: u64, size| sum.saturating_add(size.get())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(layout: &BlockLayout) -> Vec<u64> {
        (0..layout.parts()).map(|block| layout.bytes(Blocks::one(block)).get()).collect()
    }

    #[test]
    fn a_split_buffer_has_whole_elements_and_the_larger_blocks_first() {
        let split = |total, parts| BlockLayout::Split { total: Bytes::new(total), parts, element: 8 };
        assert_eq!(sizes(&split(80, 4)), [24, 24, 16, 16]);
        assert_eq!(sizes(&split(75, 4)), [24, 24, 16, 11]);
        assert_eq!(sizes(&split(8, 3)), [8, 0, 0]);
        assert_eq!(sizes(&split(0, 3)), [0, 0, 0]);
    }

    #[test]
    fn parts_have_segments_of_a_size_or_as_even_as_they_can_be() {
        let nested =
            |parts, inner, segment| BlockLayout::Nested { total: Bytes::new(200), parts, inner, segment, element: 8 };
        assert_eq!(sizes(&nested(1, 4, 64)), [64, 64, 64, 8]);
        // The two parts have 13 and 12 elements of 8 bytes.
        assert_eq!(sizes(&nested(2, 3, 40)), [40, 40, 24, 40, 40, 16]);
        assert_eq!(sizes(&nested(2, 3, 0)), [40, 32, 32, 32, 32, 32]);
        assert_eq!(sizes(&nested(1, 4, 80)), [80, 80, 40, 0]);
    }

    #[test]
    fn halves_are_halved_the_first_one_smaller() {
        let halved = |total, parts| BlockLayout::Halved { total: Bytes::new(total), parts, element: 8 };
        assert_eq!(sizes(&halved(56, 4)), [8, 16, 16, 16]);
        assert_eq!(sizes(&halved(88, 8)), [8, 8, 8, 16, 8, 16, 8, 16]);
        assert_eq!(sizes(&halved(8, 2)), [0, 8]);
    }

    #[test]
    fn a_head_is_no_longer_than_the_block() {
        let headed = |head| BlockLayout::Headed { block: Bytes::new(100), head: Bytes::new(head), ranks: 2 };
        assert_eq!(sizes(&headed(30)), [30, 70, 30, 70]);
        assert_eq!(sizes(&headed(300)), [100, 0, 100, 0]);
    }

    #[test]
    fn cyclic_blocks_are_the_sum_of_their_parts() {
        let layouts = [
            BlockLayout::Split { total: Bytes::new(83), parts: 7, element: 4 },
            BlockLayout::Uniform { block: Bytes::new(5), parts: 7 },
            BlockLayout::Varying((0..7).map(Bytes::new).collect()),
            BlockLayout::Nested { total: Bytes::new(83), parts: 7, inner: 1, segment: 8, element: 4 },
            BlockLayout::Nested { total: Bytes::new(83), parts: 1, inner: 7, segment: 12, element: 4 },
        ];
        for layout in &layouts {
            let each = sizes(layout);
            for first in 0..7 {
                for count in 0..=7 {
                    let blocks = Blocks::Up { first, count };
                    let expected: u64 = blocks.indices(7).map(|block| each[block as usize]).sum();
                    assert_eq!(layout.bytes(blocks).get(), expected, "{layout:?} {first} {count}");
                }
            }
            for bit in 0..4 {
                let blocks = Blocks::Bit(bit);
                assert_eq!(blocks.count(7) as usize, blocks.indices(7).count());
                let expected: u64 = blocks.indices(7).map(|block| each[block as usize]).sum();
                assert_eq!(layout.bytes(blocks).get(), expected);
            }
        }
    }

    #[test]
    fn sizes_past_64_bits_saturate() {
        let block = Bytes::MAX;
        assert_eq!(BlockLayout::Uniform { block, parts: 3 }.bytes(Blocks::All), Bytes::MAX);
        assert_eq!(BlockLayout::Varying([block, block].into()).bytes(Blocks::All), Bytes::MAX);
        assert_eq!(BlockLayout::Split { total: block, parts: 3, element: 8 }.bytes(Blocks::All), Bytes::MAX);
    }
}
