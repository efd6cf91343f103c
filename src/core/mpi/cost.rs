//! What combining and copying data costs a rank.

use crate::platform::{CollectiveRules, CoreRates, MemoryPart};
use crate::units::{Bytes, SimSpan};

use super::schedule::{BlockLayout, Blocks};

/// What combining and copying costs one rank, in collectives of any size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataCost {
    beyond: DataRates,
    /// Where caches have rates of their own: these, and the bytes that the rank has of them.
    within: Option<(DataRates, f64)>,
}

/// Seconds a byte of data that one collective combines or copies.
///
/// The roofline of [`CoreRates::span`], which is linear in the size: combining does an operation for every 8 bytes,
/// reads two operands and writes one; copying reads and writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataRates {
    combine: f64,
    copy: f64,
}

impl DataCost {
    /// The costs of a rank that has this part of memory and caches; of memory alone, if it is a number: bytes a second
    /// (see [`CoreRates::memory_share`]).
    pub fn new(core: &CoreRates, part: impl Into<MemoryPart>) -> Self {
        let part = part.into();
        let rates = |flops: f64, memory: f64| DataRates { combine: flops.max(3.0 / memory), copy: 2.0 / memory };
        let within = core
            .in_cache
            .map(|cached| (rates(cached.flops.seconds(1.0 / 8.0), cached.bandwidth.get() as f64), part.cache));
        DataCost { beyond: rates(core.flops.seconds(1.0 / 8.0), part.bandwidth), within }
    }

    /// The costs in a collective whose buffers have `size` bytes: in caches, where two of them fit.
    pub fn over(self, size: impl FnOnce() -> Bytes) -> DataRates {
        match self.within {
            Some((within, cache)) if 2.0 * size().get() as f64 <= cache => within,
            _ => self.beyond,
        }
    }
}

impl DataRates {
    /// The time to combine `size` with as much.
    pub fn combine(self, size: Bytes) -> SimSpan {
        span(self.combine, size)
    }

    /// The time to copy `size`.
    pub fn copy(self, size: Bytes) -> SimSpan {
        span(self.copy, size)
    }
}

/// What blocks that do not lie one behind the other cost a rank beside their bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ApartCost {
    datatype: SimSpan,
    block: SimSpan,
}

impl ApartCost {
    /// As the platform states it.
    pub fn of(rules: &CollectiveRules) -> Self {
        ApartCost { datatype: rules.datatype_overhead, block: rules.block_overhead }
    }

    /// Whether it is nothing.
    #[inline(always)]
    pub fn is_none(self) -> bool {
        self.datatype == SimSpan::ZERO && self.block == SimSpan::ZERO
    }

    /// That of copying these blocks, or of packing them into a message: those of a step of Bruck's alltoall are described
    /// as one datatype.
    #[cold]
    pub fn copied(self, layout: &BlockLayout, blocks: Blocks) -> SimSpan {
        match blocks {
            Blocks::Bit(_) => self.datatype + self.unpacked(layout, blocks),
            Blocks::All | Blocks::Down(_) | Blocks::Up { .. } => self.unpacked(layout, blocks),
        }
    }

    /// That of unpacking these blocks.
    #[cold]
    pub fn unpacked(self, layout: &BlockLayout, blocks: Blocks) -> SimSpan {
        match blocks {
            Blocks::Bit(_) | Blocks::Down(_) => self.block * u64::from(blocks.count(layout.parts())),
            Blocks::All | Blocks::Up { .. } => SimSpan::ZERO,
        }
    }
}

/// Saturates: the engine reports clocks that pass the end of time.
fn span(per_byte: f64, size: Bytes) -> SimSpan {
    if size == Bytes::ZERO {
        return SimSpan::ZERO;
    }
    SimSpan::from_seconds(per_byte * size.get() as f64).unwrap_or(SimSpan::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::{CacheRates, Work};
    use crate::units::{Bandwidth, Rate};

    #[test]
    fn data_costs_the_roofline_of_its_arithmetic_and_traffic() {
        let bandwidth = |gbs: u64| Bandwidth::new(gbs * 1_000_000_000).unwrap();
        for gflops in [0.01, 1.0, 100.0] {
            let core = CoreRates {
                flops: Rate::new(gflops * 1e9).unwrap(),
                instructions: Rate::new(1e9).unwrap(),
                memory: bandwidth(10),
                cmp_memory: bandwidth(20),
                node_memory: bandwidth(40),
                memory_law: Default::default(),
                in_cache: None,
                poll: CoreRates::POLL,
                post_overhead: SimSpan::ZERO,
                context_switch: SimSpan::ZERO,
                scale_factor: 1.0,
                slowdown: Vec::new(),
                threads: Default::default(),
            };
            let memory = core.memory_share(4, 8);
            let cost = DataCost::new(&core, memory).over(|| Bytes::MAX);
            for size in [0u64, 8, 4096, 1 << 30] {
                let bytes = size as f64;
                let combine = Work { flops: bytes / 8.0, instructions: 0.0, bytes: 3.0 * bytes, working_set: None };
                let copy = Work { flops: 0.0, instructions: 0.0, bytes: 2.0 * bytes, working_set: None };
                for (got, work) in [(cost.combine(Bytes::new(size)), combine), (cost.copy(Bytes::new(size)), copy)] {
                    let expected = core.span(work, memory).unwrap();
                    // One rounding of a double apart.
                    assert!(got.as_ps().abs_diff(expected.as_ps()) <= 1 + expected.as_ps() / (1 << 50));
                }
            }
        }
    }

    #[test]
    fn what_fits_the_caches_costs_what_it_costs_there() {
        let bandwidth = |gbs: u64| Bandwidth::new(gbs * 1_000_000_000).unwrap();
        let flops = Rate::new(1e12).unwrap();
        let core = CoreRates {
            flops,
            instructions: flops,
            memory: bandwidth(6),
            cmp_memory: bandwidth(60),
            node_memory: bandwidth(60),
            memory_law: Default::default(),
            in_cache: Some(CacheRates { size: Bytes::new(2000), flops, instructions: flops, bandwidth: bandwidth(30) }),
            poll: CoreRates::POLL,
            post_overhead: SimSpan::ZERO,
            context_switch: SimSpan::ZERO,
            scale_factor: 1.0,
            slowdown: Vec::new(),
            threads: Default::default(),
        };
        let cost = DataCost::new(&core, MemoryPart { bandwidth: 6e9, cache: 2000.0 });
        // Two buffers of 1000 B fit: 2 and 3 bytes moved for each, at 30 GB/s; beyond at 6.
        for (buffer, copy, combine) in [(1000, 100, 150), (1001, 500, 750)] {
            let rates = cost.over(|| Bytes::new(buffer));
            assert_eq!(rates.copy(Bytes::new(1500)), SimSpan::from_ns(copy));
            assert_eq!(rates.combine(Bytes::new(1500)), SimSpan::from_ns(combine));
        }
        let unstated = DataCost::new(&CoreRates { in_cache: None, ..core }, 6e9);
        assert_eq!(unstated.over(|| Bytes::ZERO).copy(Bytes::new(1500)), SimSpan::from_ns(500));
    }

    #[test]
    fn a_span_without_end_saturates() {
        assert_eq!(span(1.0, Bytes::MAX), SimSpan::MAX);
        assert_eq!(span(f64::INFINITY, Bytes::ZERO), SimSpan::ZERO);
    }
}
