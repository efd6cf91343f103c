//! What cores compute a second, and what a described block of work costs (roofline).

use std::collections::HashMap;

use serde::Deserialize;

use super::{HardwareThreads, Site};
use crate::units::{Bandwidth, Bytes, Rate, SimSpan};

/// What a core does a second, and how cores that share a CMP or a node slow each other.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreRates {
    /// Floating-point operations a second.
    pub flops: Rate,
    /// Instructions a second.
    pub instructions: Rate,
    /// Memory bandwidth a core can use alone.
    pub memory: Bandwidth,
    /// Memory bandwidth of a CMP, shared by the ranks placed on it.
    pub cmp_memory: Bandwidth,
    /// Memory bandwidth of a node, shared by the ranks placed on it.
    pub node_memory: Bandwidth,
    /// Among whom these are shared.
    pub memory_law: MemoryLaw,
    /// What a core does a second with data that the caches of its CMP hold, where that is something else.
    pub in_cache: Option<CacheRates>,
    /// What a look for messages that finds none costs: without it a polling loop would never pass its instant. Above
    /// zero.
    pub poll: SimSpan,
    /// What posting a receive costs, blocking or not. A wait for its message hides it.
    pub post_overhead: SimSpan,
    /// What passes on a core with more ranks than hardware threads until one that has waited goes on after another: that
    /// one's last look for messages, and the change from process to process. It counts where levels are `fair`.
    pub context_switch: SimSpan,
    /// Target time over host time of the same real code.
    pub scale_factor: f64,
    /// What real code's time is multiplied by when 1, 2, … ranks share the CMP; the last holds beyond.
    pub slowdown: Vec<f64>,
    /// Its hardware threads.
    pub threads: HardwareThreads,
}

/// Among whom the memory bandwidth of a CMP and of a node is shared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryLaw {
    /// The ranks placed there, each an equal part all the time.
    #[default]
    Placed,
    /// The blocks that compute there at a time, and the copies that go through memory: max-min fair.
    Fair,
}

/// What a core does a second with data that the caches of its CMP hold. It uses no memory then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheRates {
    /// Bytes of the caches of a CMP, of which each of its ranks has an equal part.
    pub size: Bytes,
    /// Floating-point operations.
    pub flops: Rate,
    /// Instructions.
    pub instructions: Rate,
    /// Bytes moved from and to caches.
    pub bandwidth: Bandwidth,
}

/// An amount of work of a described block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Floating-point operations.
    pub flops: f64,
    /// Instructions.
    pub instructions: f64,
    /// Bytes moved from and to memory.
    pub bytes: f64,
    /// Bytes of the data that it uses; none: they never fit a cache.
    pub working_set: Option<f64>,
}

/// What a rank has of memory and caches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryPart {
    /// Bytes a second of memory (see [`CoreRates::memory_share`]).
    pub bandwidth: f64,
    /// Bytes of the caches of its CMP.
    pub cache: f64,
}

impl From<f64> for MemoryPart {
    /// No part of a cache.
    fn from(bandwidth: f64) -> Self {
        MemoryPart { bandwidth, cache: 0.0 }
    }
}

impl CoreRates {
    /// The poll of a platform that states none.
    pub const POLL: SimSpan = SimSpan::from_ns(100);

    /// The memory bandwidth of one rank where `on_cmp` ranks share its CMP and `on_node` its node, in bytes a second:
    /// the least of the core's own, an equal part of the CMP's and an equal part of the node's.
    pub fn memory_share(&self, on_cmp: u32, on_node: u32) -> f64 {
        self.memory_share_slowed(1.0, on_cmp, on_node)
    }

    /// The same of a rank all of whose computing takes `slower` times as long beside siblings: by so much more than its
    /// equal part, as these slow its core and not the memory.
    pub fn memory_share_slowed(&self, slower: f64, on_cmp: u32, on_node: u32) -> f64 {
        let core = self.memory.get() as f64;
        let cmp = slower * self.cmp_memory.get() as f64 / f64::from(on_cmp.max(1));
        let node = slower * self.node_memory.get() as f64 / f64::from(on_node.max(1));
        core.min(cmp).min(node)
    }

    /// What the host time of each rank's own code is multiplied by (the MCPSim paper's eq. 1): `scale_factor`, and the
    /// slowdown by as many ranks as there are on its CMP. Where memory is shared over time, it is that of a rank alone:
    /// others slow it while they compute.
    pub fn code_factors(&self, sites: &[Site]) -> Vec<f64> {
        let mut on_cmp = HashMap::new();
        sites.iter().for_each(|site| *on_cmp.entry((site.node, site.cmp)).or_insert(0usize) += 1);
        let ranks = |site: &Site| match self.memory_law {
            MemoryLaw::Placed => on_cmp[&(site.node, site.cmp)],
            MemoryLaw::Fair => 1,
        };
        sites.iter().map(|site| self.scale_factor * self.slowdown_of(ranks(site))).collect()
    }

    /// The slowdown of code where `ranks`, at least one, share a CMP.
    pub fn slowdown_of(&self, ranks: usize) -> f64 {
        // Past the end of the table the last holds.
        self.slowdown.get(ranks - 1).or(self.slowdown.last()).copied().unwrap_or(1.0)
    }

    /// The slowdown where memory bounds only this part, of 1, of the code's time.
    pub fn bound_by_memory(slowdown: &[f64], part: f64) -> Vec<f64> {
        let alone = slowdown.first().copied().unwrap_or(1.0);
        slowdown.iter().map(|factor| alone + part * (factor - alone)).collect()
    }

    /// The time `work` takes a rank with this part of memory and caches: as [`CoreRates::span`], or by the rates within
    /// caches if what it uses fits there.
    pub fn span_with(&self, work: Work, part: MemoryPart) -> Option<SimSpan> {
        let Some(rates) = self.in_cache.filter(|_| self.fits(work, part)) else {
            return self.span(work, part.bandwidth);
        };
        let in_cache = CoreRates { flops: rates.flops, instructions: rates.instructions, ..self.clone() };
        in_cache.span(work, rates.bandwidth.get() as f64)
    }

    /// Whether what `work` uses fits the part of the caches, where these have rates of their own.
    pub fn fits(&self, work: Work, part: MemoryPart) -> bool {
        self.in_cache.is_some() && work.working_set.is_some_and(|set| set <= part.cache)
    }

    /// The time `work` takes a rank whose memory bandwidth is `memory` bytes a second (see
    /// [`CoreRates::memory_share`]).
    ///
    /// Roofline (Williams, Waterman, Patterson 2009): the slowest of arithmetic, instructions and memory.
    /// `None` if an amount is negative or not a number, or the time is longer than 213 days.
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
            memory_law: Default::default(),
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
