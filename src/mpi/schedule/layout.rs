//! How many bytes the blocks of a schedule have.

use std::sync::Arc;

use super::step::Blocks;
use crate::units::Bytes;

/// The sizes of a schedule's blocks. Sums saturate.
#[derive(Clone, Debug)]
pub enum Layout {
    /// One buffer in `parts` blocks that differ by at most one element, the larger ones first; where the buffer is no
    /// whole number of elements, the last element is a shorter one.
    Split {
        /// The buffer.
        total: Bytes,
        /// The number of blocks; at least 1.
        parts: u32,
        /// What is not divided; at least 1 byte.
        element: u32,
    },
    /// Blocks of one size.
    Uniform {
        /// A block.
        block: Bytes,
        /// The number of blocks.
        parts: u32,
    },
    /// A size for each block.
    Varying(Arc<[Bytes]>),
}

impl Layout {
    /// The number of blocks.
    pub fn parts(&self) -> u32 {
        match self {
            Layout::Split { parts, .. } | Layout::Uniform { parts, .. } => *parts,
            Layout::Varying(sizes) => sizes.len() as u32,
        }
    }

    /// The size of `blocks` together. Constant time, but for varying sizes and for a bit of a split buffer.
    pub fn bytes(&self, blocks: Blocks) -> Bytes {
        match self {
            Layout::Uniform { block, parts } => Bytes::new(block.get().saturating_mul(u64::from(blocks.count(*parts)))),
            Layout::Split { total, parts, .. } => match blocks {
                Blocks::All | Blocks::Down(_) => *total,
                Blocks::Up { first, count } => {
                    let end = u64::from(first) + u64::from(count);
                    let parts = u64::from(*parts);
                    let wrapped = end.saturating_sub(parts);
                    let to_end = self.offset(end.min(parts)) - self.offset(u64::from(first));
                    Bytes::new(to_end + self.offset(wrapped))
                }
                Blocks::Bit(_) => sum(blocks.indices(*parts).map(|block| self.bytes(Blocks::one(block)))),
            },
            Layout::Varying(sizes) => sum(blocks.indices(sizes.len() as u32).map(|block| sizes[block as usize])),
        }
    }

    /// Where block `block` of a split buffer starts, bytes; block `parts` is its end.
    pub(crate) fn offset(&self, block: u64) -> u64 {
        let Layout::Split { total, parts, element } = self else { return 0 };
        let element = u64::from(*element);
        let elements = total.get().div_ceil(element);
        let (each, larger) = (elements / u64::from(*parts), elements % u64::from(*parts));
        (each * block + block.min(larger)).saturating_mul(element).min(total.get())
    }
}

fn sum(sizes: impl Iterator<Item = Bytes>) -> Bytes {
    Bytes::new(sizes.fold(0, |sum: u64, size| sum.saturating_add(size.get())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(layout: &Layout) -> Vec<u64> {
        (0..layout.parts()).map(|block| layout.bytes(Blocks::one(block)).get()).collect()
    }

    #[test]
    fn a_split_buffer_has_whole_elements_and_the_larger_blocks_first() {
        let split = |total, parts| Layout::Split { total: Bytes::new(total), parts, element: 8 };
        assert_eq!(sizes(&split(80, 4)), [24, 24, 16, 16]);
        assert_eq!(sizes(&split(75, 4)), [24, 24, 16, 11]);
        assert_eq!(sizes(&split(8, 3)), [8, 0, 0]);
        assert_eq!(sizes(&split(0, 3)), [0, 0, 0]);
    }

    #[test]
    fn cyclic_blocks_are_the_sum_of_their_parts() {
        let layouts = [
            Layout::Split { total: Bytes::new(83), parts: 7, element: 4 },
            Layout::Uniform { block: Bytes::new(5), parts: 7 },
            Layout::Varying((0..7).map(Bytes::new).collect()),
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
        assert_eq!(Layout::Uniform { block, parts: 3 }.bytes(Blocks::All), Bytes::MAX);
        assert_eq!(Layout::Varying([block, block].into()).bytes(Blocks::All), Bytes::MAX);
        assert_eq!(Layout::Split { total: block, parts: 3, element: 8 }.bytes(Blocks::All), Bytes::MAX);
    }
}
