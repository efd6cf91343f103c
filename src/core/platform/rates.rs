//! Computing rates of cores, and the time of a described block of work (roofline).

use std::collections::HashMap;

use serde::Deserialize;

use super::{HardwareThreads, Site};
use crate::units::{Bandwidth, Bytes, Rate, SimSpan};

/// Rates of a core, and the mutual slowdown of cores that share a CMP or a node.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreRates {
    /// Floating-point operations per second.
    pub flops: Rate,
    /// Instructions per second.
    pub instructions: Rate,
    /// Memory bandwidth available to a single core.
    pub memory: Bandwidth,
    /// Memory bandwidth of a CMP, shared by the ranks placed on it.
    pub cmp_memory: Bandwidth,
    /// Memory bandwidth of a node, shared by the ranks placed on it.
    pub node_memory: Bandwidth,
    /// Ranks that share these bandwidths.
    pub memory_sharing: MemorySharing,
    /// Rates for data in the caches of the CMP, if stated.
    pub in_cache: Option<CacheRates>,
    /// Time of a test for messages that finds none. Above zero, because otherwise a polling loop would never advance
    /// its clock.
    pub poll: SimSpan,
    /// Time to post a receive, blocking or not. Hidden by a wait for its message.
    pub post_overhead: SimSpan,
    /// On a core with more ranks than hardware threads, the time until a rank that has waited continues after another
    /// rank: the other rank's last test for messages and the process switch. Used with `fair` levels.
    pub context_switch: SimSpan,
    /// Target time divided by host time of the same real code.
    pub scale_factor: f64,
    /// Slowdown of real code if 1, 2, … ranks share the CMP; the last applies beyond.
    pub slowdown: Vec<f64>,
    /// Hardware threads.
    pub threads: HardwareThreads,
}

/// Sharing of the memory bandwidth of a CMP and of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemorySharing {
    /// Among the ranks placed there, in equal parts at all times.
    #[default]
    Placed,
    /// Among the blocks that compute there at the time and the copies through memory: max-min fair.
    Fair,
}

/// Rates of a core for data in the caches of its CMP, without memory accesses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheRates {
    /// Bytes of the caches of a CMP, equally divided among its ranks.
    pub size: Bytes,
    /// Floating-point operations per second.
    pub flops: Rate,
    /// Instructions per second.
    pub instructions: Rate,
    /// Bytes per second from and to caches.
    pub bandwidth: Bandwidth,
}

/// Work of a described block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Floating-point operations.
    pub flops: f64,
    /// Instructions.
    pub instructions: f64,
    /// Bytes moved from and to memory.
    pub bytes: f64,
    /// Bytes of the used data; `None`: they never fit into a cache.
    pub working_set: Option<f64>,
}

/// Part of memory and caches of a rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryPart {
    /// Memory bandwidth in bytes per second (see [`CoreRates::memory_share`]).
    pub bandwidth: f64,
    /// Bytes of the caches of its CMP.
    pub cache: f64,
}

impl From<f64> for MemoryPart {
    /// A part without caches.
    fn from(bandwidth: f64) -> Self {
        MemoryPart { bandwidth, cache: 0.0 }
    }
}

impl CoreRates {
    /// Default of `poll`.
    pub const POLL: SimSpan = SimSpan::from_ns(100);

    /// Memory bandwidth of one rank in bytes per second if `on_cmp` ranks share its CMP and `on_node` its node: the
    /// least of the core's bandwidth, an equal part of the CMP's and an equal part of the node's.
    pub fn memory_share(&self, on_cmp: u32, on_node: u32) -> f64 {
        self.memory_share_slowed(1.0, on_cmp, on_node)
    }

    /// Like [`CoreRates::memory_share`], for a rank whose computing takes `slower` times as long because of sibling
    /// threads. Its equal part is increased by that factor, because siblings slow the core and not the memory.
    pub fn memory_share_slowed(&self, slower: f64, on_cmp: u32, on_node: u32) -> f64 {
        let core = self.memory.get() as f64;
        let cmp = slower * self.cmp_memory.get() as f64 / f64::from(on_cmp.max(1));
        let node = slower * self.node_memory.get() as f64 / f64::from(on_node.max(1));
        core.min(cmp).min(node)
    }

    /// Factors on the host time of each rank's own code (eq. 1 of the MCPSim paper): `scale_factor`, times the
    /// slowdown for the number of ranks on its CMP. If memory is shared over time, the slowdown is that of a single
    /// rank, because others slow it only while they compute.
    pub fn code_factors(&self, sites: &[Site]) -> Vec<f64> {
        let mut on_cmp = HashMap::new();
        sites.iter().for_each(|site| *on_cmp.entry((site.node, site.cmp)).or_insert(0usize) += 1);
        let ranks = |site: &Site| match self.memory_sharing {
            MemorySharing::Placed => on_cmp[&(site.node, site.cmp)],
            MemorySharing::Fair => 1,
        };
        sites.iter().map(|site| self.scale_factor * self.slowdown_of(ranks(site))).collect()
    }

    /// Slowdown of code if `ranks`, at least one, share a CMP.
    pub fn slowdown_of(&self, ranks: usize) -> f64 {
        // The last factor applies beyond the table.
        self.slowdown.get(ranks - 1).or(self.slowdown.last()).copied().unwrap_or(1.0)
    }

    /// Slowdown of code whose time memory bounds only in this part, from 0 to 1.
    pub fn bound_by_memory(slowdown: &[f64], part: f64) -> Vec<f64> {
        let alone = slowdown.first().copied().unwrap_or(1.0);
        slowdown.iter().map(|factor| alone + part * (factor - alone)).collect()
    }

    /// Time of `work` for a rank with this part of memory and caches: by the rates in caches if its data fit there,
    /// else by [`CoreRates::span`].
    pub fn span_with(&self, work: Work, part: MemoryPart) -> Option<SimSpan> {
        let Some(rates) = self.in_cache.filter(|_| self.fits(work, part)) else {
            return self.span(work, part.bandwidth);
        };
        let in_cache = CoreRates { flops: rates.flops, instructions: rates.instructions, ..self.clone() };
        in_cache.span(work, rates.bandwidth.get() as f64)
    }

    /// Whether the data of `work` fit into the part of the caches, if these have rates of their own.
    pub fn fits(&self, work: Work, part: MemoryPart) -> bool {
        self.in_cache.is_some() && work.working_set.is_some_and(|set| set <= part.cache)
    }

    /// Time of `work` for a rank with a memory bandwidth of `memory` bytes per second (see
    /// [`CoreRates::memory_share`]).
    ///
    /// Roofline (Williams, Waterman, Patterson 2009): the slowest of arithmetic, instructions and memory. `None` if
    /// an amount is negative or not a number, or if the time is longer than 213 days.
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
            scale_factor: 1.0,
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
    fn a_block_takes_the_longest_of_its_parts() {
        let span =
            |flops, instructions, bytes| rates().span(Work { flops, instructions, bytes, working_set: None }, 4e9);
        // 1 s of arithmetic, 0.5 s of instructions, 0.25 s of memory; then each of the others as the longest.
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
