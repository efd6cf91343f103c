//! Part of each rank in its node's memory and caches, for a placement of all ranks.

use std::collections::HashMap;

use super::{HardwareThreads, MemoryPart, Platform, Site};

/// Parts of memory and caches by the places of ranks.
#[derive(Debug)]
pub struct MemoryShares {
    cmps: u32,
    of_cmp: Vec<MemoryPart>,
    /// Parts of ranks on cores with mutually slowing hardware threads.
    of_core: HashMap<Site, MemoryPart>,
}

impl MemoryShares {
    /// Computes the parts for ranks at `sites` of `platform`.
    pub fn new(platform: &Platform, sites: &[Site]) -> Self {
        let (cmps, core) = (platform.shape.cmps, &platform.core);
        // Ranks that take turns on a hardware thread use the memory one at a time.
        let places = core.threads.places(sites);
        // A machine may have millions of unused nodes after the last used one.
        let nodes = places.last().map_or(0, |site| site.node + 1);
        let at = |site: &Site| (site.node * cmps + site.cmp) as usize;
        let mut on_cmp = vec![0u32; (nodes * cmps) as usize];
        places.iter().for_each(|site| on_cmp[at(site)] += 1);
        let mut ranks = vec![0u32; on_cmp.len()];
        sites.iter().for_each(|site| ranks[at(site)] += 1);
        let on_node: Vec<u32> = on_cmp.chunks(cmps as usize).map(|node| node.iter().sum()).collect();
        let caches = core.in_cache.map_or(0.0, |rates| rates.size.get() as f64);
        let part = |slower: f64, node: u32, cmp: usize| MemoryPart {
            bandwidth: core.memory_share_slowed(slower, on_cmp[cmp], on_node[node as usize])
                * platform.conditions.nodes.memory(node),
            cache: caches / f64::from(u32::max(ranks[cmp], 1)),
        };
        let of_cmp = (0..on_cmp.len()).map(|cmp| part(1.0, cmp as u32 / cmps, cmp)).collect();
        let slowed = |(site, ranks): (Site, u32)| {
            let slower = core.threads.factor(ranks);
            (slower != 1.0).then(|| (site, part(slower, site.node, at(&site))))
        };
        let of_core = match core.threads.count() {
            1 => HashMap::new(),
            _ => HardwareThreads::ranks_of_cores(sites).into_iter().filter_map(slowed).collect(),
        };
        MemoryShares { cmps, of_cmp, of_core }
    }

    /// Part of a rank at `site`.
    ///
    /// # Panics
    /// If there is no rank on its node or a later one.
    pub fn part(&self, site: Site) -> MemoryPart {
        let of_core = if self.of_core.is_empty() { None } else { self.of_core.get(&site).copied() };
        of_core.unwrap_or_else(|| self.of_cmp[(site.node * self.cmps + site.cmp) as usize])
    }

    /// Parts of the ranks at `sites`.
    pub fn of_ranks(platform: &Platform, sites: &[Site]) -> Vec<MemoryPart> {
        let shares = MemoryShares::new(platform, sites);
        sites.iter().map(|site| shares.part(*site)).collect()
    }
}
