//! Part of the memory bandwidth and caches of a node that each rank has, for a placement of all ranks.

use std::collections::HashMap;

use super::{Domain, HardwareThreads, MemoryPart, Platform, Shape, Site};

/// Parts of memory bandwidth and caches by the positions of ranks.
#[derive(Clone, Debug)]
pub struct MemoryShares {
    shape: Shape,
    /// Number of cores of a unit that ranks share: the smallest domain with a cache or memory of its own, or a CMP.
    unit: u32,
    /// For each unit of cores, the part of memory bandwidth and caches that each rank on the unit has.
    of_unit: Vec<MemoryPart>,
    /// Parts of the ranks on cores whose hardware threads slow each other.
    of_core: HashMap<Site, MemoryPart>,
}

impl MemoryShares {
    /// Computes the parts of memory bandwidth and caches for ranks at `sites` of `platform`.
    pub fn new(platform: &Platform, sites: &[Site]) -> Self {
        let (shape, core) = (platform.shape, &platform.core);
        let (caches, memories) = (platform.places.cache(), platform.places.memory());
        let cores = |domain: Option<&Domain>| domain.map_or(shape.cores, |domain| domain.cores);
        let (of_cache, of_memory) = (cores(caches.map(|of| of.0)), cores(memories.map(|of| of.0)));
        let unit = of_cache.min(of_memory);
        // Ranks that take turns on a hardware thread use the memory one after another.
        let places = core.threads.places(sites);
        // A machine may have millions of nodes without ranks after the last node with ranks.
        let nodes = places.last().map_or(0, |site| site.node + 1);
        let per_node = shape.cmps * shape.cores;
        let core_of = |site: &Site| site.node * per_node + site.cmp * shape.cores + site.core;
        let counted = |sites: &[Site], cores: u32| {
            let mut on = vec![0u32; (nodes * (per_node / cores)) as usize];
            sites.iter().for_each(|site| on[(core_of(site) / cores) as usize] += 1);
            on
        };
        let on_cmp = counted(&places, shape.cores);
        let on_memory = counted(&places, of_memory);
        let ranks = counted(sites, of_cache);
        let on_node: Vec<u32> = on_cmp.chunks(shape.cmps as usize).map(|node| node.iter().sum()).collect();
        let size = core.in_cache.map_or(0.0, |rates| rates.size.get() as f64);
        // `first` is the number of the first core of a unit of cores.
        let part = |slower: f64, first: u32| {
            let node = first / per_node;
            let of_cmp = on_cmp[(first / shape.cores) as usize];
            let shared = core.memory_share_slowed(slower, of_cmp, on_node[node as usize]);
            let of_domain = memories.map_or(f64::INFINITY, |(_, bandwidth)| {
                slower * bandwidth.get() as f64 / f64::from(on_memory[(first / of_memory) as usize].max(1))
            });
            MemoryPart {
                bandwidth: shared.min(of_domain) * platform.conditions.nodes.memory(node),
                cache: size / f64::from(ranks[(first / of_cache) as usize].max(1)),
            }
        };
        let of_unit = (0..nodes * (per_node / unit)).map(|number| part(1.0, number * unit)).collect();
        let slowed = |(site, ranks): (Site, u32)| {
            let slower = core.threads.factor(ranks);
            (slower != 1.0).then(|| (site, part(slower, core_of(&site))))
        };
        let of_core = match core.threads.count() {
            1 => HashMap::new(),
            _ => HardwareThreads::ranks_of_cores(sites).into_iter().filter_map(slowed).collect(),
        };
        MemoryShares { shape, unit, of_unit, of_core }
    }

    /// Returns the part of memory bandwidth and caches of a rank at `site`.
    ///
    /// # Panics
    /// No rank is on the node of `site` or on a later node.
    pub fn part(&self, site: Site) -> MemoryPart {
        let of_core = if self.of_core.is_empty() { None } else { self.of_core.get(&site).copied() };
        of_core.unwrap_or_else(|| {
            let core = (site.node * self.shape.cmps + site.cmp) * self.shape.cores + site.core;
            self.of_unit[(core / self.unit) as usize]
        })
    }

    /// Returns the parts of memory bandwidth and caches of the ranks at `sites`.
    pub fn of_ranks(platform: &Platform, sites: &[Site]) -> Vec<MemoryPart> {
        let shares = MemoryShares::new(platform, sites);
        sites.iter().map(|site| shares.part(*site)).collect()
    }
}
