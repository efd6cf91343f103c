//! Virtual time that a rank spends on combining and copying the data of collectives.

use mcpsim_base::platform::{CollectiveRules, CoreRates, MemoryPart, Platform};
use mcpsim_base::units::{Bytes, SimSpan};

use super::schedule::{BlockLayout, Blocks};

/// Costs of combining and copying data on one rank, for collectives of any size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataCost {
    beyond: DataRates,
    /// Rates for data in caches, and the cache capacity of the rank in bytes. `None` if the platform file states no
    /// cache rates.
    within: Option<(DataRates, f64)>,
}

/// Seconds of virtual time per byte of data that a collective combines or copies.
///
/// The rates are derived from the roofline of [`CoreRates::span`], which is linear in the size. Combining performs one
/// operation per 8 bytes, reads two operands and writes one. Copying reads one operand and writes one operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataRates {
    combine: f64,
    copy: f64,
}

impl DataCost {
    /// Creates the costs of a rank that may use the share `part` of the memory bandwidth and caches. If `part` is a
    /// number, it is the memory bandwidth in bytes per second (see [`CoreRates::memory_share`]).
    pub fn new(core: &CoreRates, part: impl Into<MemoryPart>) -> Self {
        let part = part.into();
        let rates = |flops: f64, memory: f64| DataRates { combine: flops.max(3.0 / memory), copy: 2.0 / memory };
        let within = core
            .in_cache
            .map(|cached| (rates(cached.flops.seconds(1.0 / 8.0), cached.bandwidth.get() as f64), part.cache));
        DataCost { beyond: rates(core.flops.seconds(1.0 / 8.0), part.bandwidth), within }
    }

    /// Creates the costs of a rank of a machine, as [`DataCost::new`]. If the simulator models caches and the platform
    /// file states no rates for data in caches, a copy takes at most as long as the copy of a message. The simulator
    /// adds the time of data beyond caches.
    pub fn of_machine(platform: &Platform, part: impl Into<MemoryPart>) -> Self {
        let mut cost = DataCost::new(&platform.core, part);
        if let Some(rate) = platform.cached_copy_rate().filter(|_| cost.within.is_none()) {
            cost.beyond.copy = cost.beyond.copy.min(1.0 / rate.get() as f64);
        }
        cost
    }

    /// Rates for a collective whose buffers have `size` bytes. The cache rates apply if two buffers fit into the
    /// cache.
    pub fn over(self, size: impl FnOnce() -> Bytes) -> DataRates {
        match self.within {
            Some((within, cache)) if 2.0 * size().get() as f64 <= cache => within,
            _ => self.beyond,
        }
    }
}

impl DataRates {
    /// Virtual time to combine two operands of `size` bytes.
    pub fn combine(self, size: Bytes) -> SimSpan {
        span(self.combine, size)
    }

    /// Virtual time to copy `size` bytes.
    pub fn copy(self, size: Bytes) -> SimSpan {
        span(self.copy, size)
    }
}

/// Additional cost of packing and unpacking non-contiguous blocks on one rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct ApartCost {
    datatype: SimSpan,
    block: SimSpan,
}

impl ApartCost {
    /// Reads the packing costs from the platform's rules for collectives.
    pub fn from_rules(rules: &CollectiveRules) -> Self {
        ApartCost { datatype: rules.datatype_overhead, block: rules.block_overhead }
    }

    /// Whether packing and unpacking blocks cost nothing.
    #[inline(always)]
    pub fn is_none(self) -> bool {
        self.datatype == SimSpan::ZERO && self.block == SimSpan::ZERO
    }

    /// Virtual time for copying `blocks`, or for packing `blocks` into a message. One datatype describes all blocks of
    /// a message of Bruck's alltoall.
    #[cold]
    pub fn copied(self, layout: &BlockLayout, blocks: Blocks) -> SimSpan {
        match blocks {
            Blocks::Bit(_) => self.datatype + self.unpacked(layout, blocks),
            Blocks::All | Blocks::Down(_) | Blocks::Up { .. } => self.unpacked(layout, blocks),
        }
    }

    /// Virtual time for unpacking `blocks` from a message.
    #[cold]
    pub fn unpacked(self, layout: &BlockLayout, blocks: Blocks) -> SimSpan {
        match blocks {
            Blocks::Bit(_) | Blocks::Down(_) => self.block * u64::from(blocks.count(layout.parts())),
            Blocks::All | Blocks::Up { .. } => SimSpan::ZERO,
        }
    }
}

/// Virtual time for `size` bytes at `per_byte` seconds per byte. A result that is too large becomes the greatest
/// representable time, because the engine reports overflowing clocks.
fn span(per_byte: f64, size: Bytes) -> SimSpan {
    if size == Bytes::ZERO {
        return SimSpan::ZERO;
    }
    SimSpan::from_seconds(per_byte * size.get() as f64).unwrap_or(SimSpan::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpsim_base::platform::{CacheRates, Work};
    use mcpsim_base::units::Rate;
    use test_support::{gigabytes, rates};

    #[test]
    fn data_costs_the_roofline_of_its_arithmetic_and_traffic() {
        for gflops in [0.01, 1.0, 100.0] {
            let core = CoreRates {
                flops: Rate::new(gflops * 1e9).unwrap(),
                memory: gigabytes(10),
                cmp_memory: gigabytes(20),
                node_memory: gigabytes(40),
                ..rates()
            };
            let memory = core.memory_share(4, 8);
            let cost = DataCost::new(&core, memory).over(|| Bytes::MAX);
            for size in [0u64, 8, 4096, 1 << 30] {
                let bytes = size as f64;
                let combine = Work { flops: bytes / 8.0, instructions: 0.0, bytes: 3.0 * bytes, working_set: None };
                let copy = Work { flops: 0.0, instructions: 0.0, bytes: 2.0 * bytes, working_set: None };
                for (got, work) in [(cost.combine(Bytes::new(size)), combine), (cost.copy(Bytes::new(size)), copy)] {
                    let expected = core.span(work, memory).unwrap();
                    // The computed and the expected time differ by at most one rounding of a double.
                    assert!(got.as_ps().abs_diff(expected.as_ps()) <= 1 + expected.as_ps() / (1 << 50));
                }
            }
        }
    }

    #[test]
    fn what_fits_the_caches_costs_what_it_costs_there() {
        let flops = Rate::new(1e12).unwrap();
        let core = CoreRates {
            flops,
            instructions: flops,
            memory: gigabytes(6),
            cmp_memory: gigabytes(60),
            node_memory: gigabytes(60),
            in_cache: Some(CacheRates { size: Bytes::new(2000), flops, instructions: flops, bandwidth: gigabytes(30) }),
            ..rates()
        };
        let cost = DataCost::new(&core, MemoryPart { bandwidth: 6e9, cache: 2000.0 });
        // A copy moves 2 bytes per byte of the buffer, a combination 3. Two buffers of 1000 B fit into the cache and
        // are moved at 30 GB/s. Larger buffers do not fit into the cache and are moved at 6 GB/s.
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
