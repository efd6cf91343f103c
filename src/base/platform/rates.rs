//! Computing rates of cores, and the computing time of a described block of work (roofline model).

use std::collections::HashMap;

use serde::Deserialize;

use super::{HardwareThreads, Site};
use crate::units::{Bandwidth, Bytes, Rate, SimSpan};

/// Computing rates of a core, and the mutual slowdown of cores that share a CMP or a node.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreRates {
    /// Floating-point operations per second.
    pub flops: Rate,
    /// Instructions per second.
    pub instructions: Rate,
    /// Memory bandwidth of a single core without other cores.
    pub memory: Bandwidth,
    /// Memory bandwidth of a CMP, which the ranks on the CMP share.
    pub cmp_memory: Bandwidth,
    /// Memory bandwidth of a node, which the ranks on the node share.
    pub node_memory: Bandwidth,
    /// Ranks among which the memory bandwidths of CMP and node are divided.
    pub memory_sharing: MemorySharing,
    /// Computing rates for data in the caches of the CMP, if stated.
    pub in_cache: Option<CacheRates>,
    /// Core time of a test for messages that finds no message. The cost of a poll is greater than zero, because
    /// otherwise a polling loop would never advance the clock of its rank.
    pub poll: SimSpan,
    /// Core time of posting a receive, blocking or nonblocking. If the rank waits for the message, the wait hides this
    /// time.
    pub post_overhead: SimSpan,
    /// On a core with more ranks than hardware threads: time until a rank that has waited continues after another rank.
    /// The time of a context switch includes the other rank's last test for messages and the process switch. Only
    /// levels with the contention model `fair` use this time.
    pub context_switch: SimSpan,
    /// Longest time for which a thread computes while other threads of its rank wait for a core.
    pub time_slice: SimSpan,
    /// Time of real code on the target machine divided by the time of the same code on the host.
    pub scale_factor: ScaleFactor,
    /// Slowdown of real code if 1, 2, … ranks share the CMP; the last value applies to more ranks.
    pub slowdown: Vec<f64>,
    /// Hardware threads of each core.
    pub threads: HardwareThreads,
}

/// Time of real code on the target machine divided by the time of the same code on the host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ScaleFactor {
    /// The machine states no factor. A target core is as fast as a host core.
    #[default]
    Unstated,
    /// The factor is derived from the rates of the machine and from kernels that are timed on the host.
    Auto,
    /// The machine states the factor.
    Stated(f64),
}

impl ScaleFactor {
    /// Returns the factor; 1 if no factor is known.
    pub fn factor(self) -> f64 {
        match self {
            ScaleFactor::Unstated | ScaleFactor::Auto => 1.0,
            ScaleFactor::Stated(factor) => factor,
        }
    }

    /// Returns whether the machine states the factor.
    pub fn is_stated(self) -> bool {
        matches!(self, ScaleFactor::Stated(_))
    }
}

/// Division of the memory bandwidth of a CMP and of a node among ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemorySharing {
    /// All ranks that are placed on the CMP or node have equal parts at all times.
    #[default]
    Placed,
    /// The computing blocks and the copies that use memory at the time share the bandwidth, max-min fair.
    Fair,
}

/// Computing rates of a core for data in the caches of its CMP, without memory accesses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheRates {
    /// Bytes of the caches of a CMP, which are divided equally among the CMP's ranks.
    pub size: Bytes,
    /// Floating-point operations per second.
    pub flops: Rate,
    /// Instructions per second.
    pub instructions: Rate,
    /// Bytes per second from and to caches.
    pub bandwidth: Bandwidth,
}

/// Work of a described computing block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Number of floating-point operations.
    pub flops: f64,
    /// Number of instructions.
    pub instructions: f64,
    /// Number of bytes moved from and to memory.
    pub bytes: f64,
    /// Bytes of the data that the block uses; `None`: the data never fit into a cache.
    pub working_set: Option<f64>,
}

/// Part of the memory bandwidth and of the caches that a rank has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryPart {
    /// Memory bandwidth of the rank in bytes per second (see [`CoreRates::memory_share`]).
    pub bandwidth: f64,
    /// Bytes of the caches of the CMP that the rank has.
    pub cache: f64,
}

impl From<f64> for MemoryPart {
    /// Creates a part with this memory bandwidth and without caches.
    fn from(bandwidth: f64) -> Self {
        MemoryPart { bandwidth, cache: 0.0 }
    }
}

impl CoreRates {
    /// Default value of `poll`.
    pub const POLL: SimSpan = SimSpan::from_ns(100);
    /// Default value of `time_slice`: the base slice of Linux 6.6 on a machine with eight or more processors, which is
    /// 0.75 ms times one plus the binary logarithm of the number of processors, at most eight (`kernel/sched/fair.c`).
    pub const TIME_SLICE: SimSpan = SimSpan::from_us(3000);

    /// Returns the memory bandwidth of a rank in bytes per second if `on_cmp` ranks share its CMP and `on_node` ranks
    /// share its node: the least of the core's bandwidth, an equal part of the CMP's bandwidth, and an equal part of
    /// the node's bandwidth.
    pub fn memory_share(&self, on_cmp: u32, on_node: u32) -> f64 {
        self.memory_share_slowed(1.0, on_cmp, on_node)
    }

    /// Returns the memory bandwidth as [`CoreRates::memory_share`], for a rank whose computation takes `slower` times
    /// as long because of sibling threads. The rank's equal part of CMP and node is increased by this factor, because
    /// sibling threads slow the core and not the memory.
    pub fn memory_share_slowed(&self, slower: f64, on_cmp: u32, on_node: u32) -> f64 {
        let core = self.memory.get() as f64;
        let cmp = slower * self.cmp_memory.get() as f64 / f64::from(on_cmp.max(1));
        let node = slower * self.node_memory.get() as f64 / f64::from(on_node.max(1));
        core.min(cmp).min(node)
    }

    /// Returns the factor on the host time of each rank's own code (eq. 1 of the MCPSim paper): `scale_factor`, times
    /// the slowdown for the number of ranks on the rank's CMP. If memory is shared over time, the slowdown is the
    /// slowdown of a single rank, because other ranks slow the rank only while they compute.
    pub fn code_factors(&self, sites: &[Site]) -> Vec<f64> {
        let mut on_cmp = HashMap::new();
        sites.iter().for_each(|site| *on_cmp.entry((site.node, site.cmp)).or_insert(0usize) += 1);
        let ranks = |site: &Site| match self.memory_sharing {
            MemorySharing::Placed => on_cmp[&(site.node, site.cmp)],
            MemorySharing::Fair => 1,
        };
        sites.iter().map(|site| self.scale_factor.factor() * self.slowdown_of(ranks(site))).collect()
    }

    /// Returns the slowdown of code that only streams memory, if `ranks` ranks share a CMP: the bandwidth of a core
    /// divided by an equal part of the CMP's bandwidth, at least 1.
    pub fn streaming_slowdown(&self, ranks: u32) -> f64 {
        (self.memory.get() as f64 * f64::from(ranks) / self.cmp_memory.get() as f64).max(1.0)
    }

    /// Returns the slowdown of real code if `ranks` ranks, at least one, share a CMP.
    pub fn slowdown_of(&self, ranks: usize) -> f64 {
        // The last value of the table applies to more ranks.
        self.slowdown.get(ranks - 1).or(self.slowdown.last()).copied().unwrap_or(1.0)
    }

    /// Returns the slowdown of code that is bounded by memory only in the part `part` of its time, from 0 to 1.
    pub fn bound_by_memory(slowdown: &[f64], part: f64) -> Vec<f64> {
        let alone = slowdown.first().copied().unwrap_or(1.0);
        slowdown.iter().map(|factor| alone + part * (factor - alone)).collect()
    }

    /// Returns the time of `work` for a rank with this part of memory and caches. If the data fit into this part of the
    /// caches, the rates in caches apply, otherwise [`CoreRates::span`].
    pub fn span_with(&self, work: Work, part: MemoryPart) -> Option<SimSpan> {
        let Some(rates) = self.in_cache.filter(|_| self.fits(work, part)) else {
            return self.span(work, part.bandwidth);
        };
        let in_cache = CoreRates { flops: rates.flops, instructions: rates.instructions, ..self.clone() };
        in_cache.span(work, rates.bandwidth.get() as f64)
    }

    /// Returns whether the data of `work` fit into the rank's part of the caches, if rates for data in caches are
    /// stated.
    pub fn fits(&self, work: Work, part: MemoryPart) -> bool {
        self.in_cache.is_some() && work.working_set.is_some_and(|set| set <= part.cache)
    }

    /// Returns the time of `work` for a rank with a memory bandwidth of `memory` bytes per second (see
    /// [`CoreRates::memory_share`]).
    ///
    /// The time is the greatest of the times for arithmetic, instructions and memory (roofline model: Williams,
    /// Waterman, Patterson 2009). `None`: an amount is negative or not a number, or the time is longer than 213 days.
    pub fn span(&self, work: Work, memory: f64) -> Option<SimSpan> {
        let parts = [self.flops.seconds(work.flops), self.instructions.seconds(work.instructions), work.bytes / memory];
        if parts.iter().any(|part| part.is_nan() || *part < 0.0) {
            return None;
        }
        SimSpan::from_seconds(parts.into_iter().fold(0.0, f64::max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates() -> CoreRates {
        CoreRates {
            flops: Rate::new(10e9).unwrap(),
            instructions: Rate::new(2e9).unwrap(),
            memory: Bandwidth::new(5_000_000_000).unwrap(),
            cmp_memory: Bandwidth::new(8_000_000_000).unwrap(),
            node_memory: Bandwidth::new(12_000_000_000).unwrap(),
            memory_sharing: Default::default(),
            in_cache: None,
            poll: CoreRates::POLL,
            post_overhead: SimSpan::ZERO,
            context_switch: SimSpan::ZERO,
            time_slice: CoreRates::TIME_SLICE,
            scale_factor: Default::default(),
            slowdown: vec![1.0],
            threads: Default::default(),
        }
    }

    #[test]
    fn the_scarcest_of_core_cmp_and_node_bounds_a_ranks_memory() {
        assert_eq!(rates().memory_share(1, 1), 5e9);
        assert_eq!(rates().memory_share(2, 2), 4e9);
        assert_eq!(rates().memory_share(2, 4), 3e9);
    }

    #[test]
    fn ranks_that_stream_share_the_bandwidth_of_the_cmp() {
        // A core has 5 GB/s and the CMP 8 GB/s.
        assert_eq!([1, 2, 4].map(|ranks| rates().streaming_slowdown(ranks)), [1.0, 1.25, 2.5]);
    }

    #[test]
    fn a_block_takes_the_longest_of_its_parts() {
        let span =
            |flops, instructions, bytes| rates().span(Work { flops, instructions, bytes, working_set: None }, 4e9);
        // The work takes 1 s of arithmetic, 0.5 s of instructions and 0.25 s of memory. In the other cases the
        // instructions or the memory take longest.
        assert_eq!(span(10e9, 1e9, 1e9), SimSpan::from_seconds(1.0));
        assert_eq!(span(10e9, 4e9, 1e9), SimSpan::from_seconds(2.0));
        assert_eq!(span(10e9, 4e9, 12e9), SimSpan::from_seconds(3.0));
        assert_eq!(span(0.0, 0.0, 0.0), Some(SimSpan::ZERO));
    }

    #[test]
    fn what_fits_the_caches_has_their_rates() {
        let size = Bytes::new(1000);
        let (flops, bandwidth) = (Rate::new(20e9).unwrap(), Bandwidth::new(100_000_000_000).unwrap());
        let caches = CacheRates { size, flops, instructions: rates().instructions, bandwidth };
        let rates = CoreRates { in_cache: Some(caches), ..rates() };
        let part = MemoryPart { bandwidth: 4e9, cache: 500.0 };
        let span = |working_set, flops, bytes| {
            let work = Work { flops, bytes, working_set, ..Work::default() };
            rates.span_with(work, part).unwrap().as_seconds()
        };
        assert_eq!(
            [span(None, 10e9, 0.0), span(Some(501.0), 10e9, 0.0), span(Some(500.0), 10e9, 0.0)],
            [1.0, 1.0, 0.5]
        );
        assert_eq!([span(None, 0.0, 4e9), span(Some(501.0), 0.0, 4e9), span(Some(0.0), 0.0, 4e9)], [1.0, 1.0, 0.04]);
        let without = CoreRates { in_cache: None, ..rates.clone() };
        let work = Work { bytes: 4e9, working_set: Some(1.0), ..Work::default() };
        assert_eq!(without.span_with(work, part), SimSpan::from_seconds(1.0));
        assert_eq!(rates.span_with(work, 4e9.into()), SimSpan::from_seconds(1.0), "no part of a cache");
    }

    #[test]
    fn an_amount_that_makes_no_time_is_refused() {
        for wrong in [-1.0, f64::NAN, f64::INFINITY, 1e30] {
            assert_eq!(rates().span(Work { flops: wrong, ..Work::default() }, 4e9), None, "{wrong}");
            assert_eq!(rates().span(Work { bytes: wrong, ..Work::default() }, 4e9), None, "{wrong}");
        }
    }
}
