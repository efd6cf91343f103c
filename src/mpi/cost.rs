//! What combining and copying data costs a rank.

use crate::platform::CoreRates;
use crate::units::{Bytes, SimSpan};

/// Seconds a byte of data that collectives combine or copy, of one rank.
///
/// The roofline of [`CoreRates::span`], which is linear in the size: combining does an operation for every 8 bytes,
/// reads two operands and writes one; copying reads and writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataCost {
    combine: f64,
    copy: f64,
}

impl DataCost {
    /// The costs of a rank whose memory bandwidth is `memory` bytes a second (see [`CoreRates::memory_share`]).
    pub fn new(core: &CoreRates, memory: f64) -> Self {
        DataCost { combine: core.flops.seconds(1.0 / 8.0).max(3.0 / memory), copy: 2.0 / memory }
    }

    /// The time to combine `size` with as much.
    pub fn combine(self, size: Bytes) -> SimSpan {
        span(self.combine, size)
    }

    /// The time to copy `size`.
    pub fn copy(self, size: Bytes) -> SimSpan {
        span(self.copy, size)
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
    use crate::platform::Work;
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
                scale_factor: 1.0,
                slowdown: Vec::new(),
                threads: Default::default(),
            };
            let memory = core.memory_share(4, 8);
            let cost = DataCost::new(&core, memory);
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
    fn a_span_without_end_saturates() {
        assert_eq!(span(1.0, Bytes::MAX), SimSpan::MAX);
        assert_eq!(span(f64::INFINITY, Bytes::ZERO), SimSpan::ZERO);
    }
}
