//! Where ranks are on a machine, and what each has of its node's memory.

use std::collections::HashMap;

use crate::platform::{HardwareThreads, MemoryPart, Placement, PlacementError, Platform, Shape, Site, cores_of};
use crate::units::Bytes;

use super::error::PredictError;
use super::host::available_memory;
use super::settings::Settings;
use super::values::{Model, PlacementChoice};

/// The platform as the model sees it, and the ranks' places on it.
pub(crate) fn placed(
    settings: &Settings,
    mut platform: Platform,
    own_ranks: Option<u32>,
) -> Result<(Platform, Vec<Site>), PredictError> {
    let shape = platform.shape;
    let threads = platform.core.threads.count();
    let ranks = settings.ranks.or(own_ranks).unwrap_or(platform.places());
    if ranks > Shape::MOST_CORES {
        return Err(PredictError::input(format!("{ranks} ranks: expected at most {}", Shape::MOST_CORES)));
    }
    let placement = match &settings.placement {
        PlacementChoice::Block => Placement::Block,
        PlacementChoice::Cyclic => Placement::Cyclic,
        PlacementChoice::Socket => Placement::Socket,
        PlacementChoice::File(path) => Placement::read(path)?,
        PlacementChoice::Given(sites) => Placement::Explicit(sites.clone()),
    };
    let sites = placement.sites_by_threads(shape, threads, ranks, settings.oversubscribe);
    let sites = sites.map_err(|error| match error {
        // What fixes the number of ranks is not asked for another.
        PlacementError::TooManyRanks { ranks, cores, .. } if settings.ranks.is_none() && own_ranks.is_some() => {
            let cores = cores_of(cores, threads);
            PredictError::input(format!("{ranks} ranks on {cores}: give a larger --nct, or --oversubscribe"))
        }
        PlacementError::WrongLength { entries, ranks } => {
            let of = match &settings.placement {
                PlacementChoice::File(path) => path.display().to_string(),
                _ => "the placement".to_owned(),
            };
            PredictError::input(format!("{of} lists {entries} cores for {ranks} ranks: expected one a rank"))
        }
        error => PredictError::input(error.to_string()),
    })?;
    check_memory(ranks, available_memory())?;
    platform.spread_ranks(&sites);
    if let Some(part) = settings.memory_bound {
        platform = platform.with_memory_bound(part.of_one());
    }
    Ok(match settings.model {
        Model::Mcpsim => (platform, sites),
        // The baseline changes what is known of the machine, not where the ranks are.
        Model::Bigsim => (platform.two_level(), sites.into_iter().map(|site| site.two_level(shape)).collect()),
        Model::Textbook(model) => {
            let flat = platform.textbook(model, &sites);
            (flat, sites.into_iter().map(|site| site.flat(shape)).collect())
        }
    })
}

/// What each rank takes at least before it does anything, bytes.
const LEAST_RANK: u64 = 512;

/// An error if so many ranks cannot be in `available` memory, whatever they do.
fn check_memory(ranks: u32, available: Option<Bytes>) -> Result<(), PredictError> {
    let needed = Bytes::new(u64::from(ranks) * LEAST_RANK);
    match available {
        Some(available) if needed > available => Err(PredictError::input(format!(
            "{ranks} ranks take at least {needed} of memory, and {available} is available: give fewer ranks (--ranks, --nct)"
        ))),
        _ => Ok(()),
    }
}

/// What the ranks have of memory and caches, by their CMP.
pub(super) struct MemoryShares {
    cmps: u32,
    of_cmp: Vec<MemoryPart>,
    /// Of cores whose hardware threads slow each other.
    of_core: HashMap<Site, MemoryPart>,
}

impl MemoryShares {
    pub fn part(&self, site: Site) -> MemoryPart {
        let of_core = if self.of_core.is_empty() { None } else { self.of_core.get(&site).copied() };
        of_core.unwrap_or_else(|| self.of_cmp[(site.node * self.cmps + site.cmp) as usize])
    }
}

/// What each rank has of memory and caches.
pub fn memory_of(platform: &Platform, sites: &[Site]) -> Vec<MemoryPart> {
    let shares = memory_shares(platform, sites);
    sites.iter().map(|site| shares.part(*site)).collect()
}

pub(super) fn memory_shares(platform: &Platform, sites: &[Site]) -> MemoryShares {
    let (cmps, core) = (platform.shape.cmps, &platform.core);
    // Ranks that take turns at a hardware thread use the memory one at a time.
    let places = core.threads.places(sites);
    // A machine may have millions of nodes behind the last that is used.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_cannot_be_in_memory_are_refused_with_what_they_need() {
        assert!(check_memory(1 << 20, Some(Bytes::new(1 << 30))).is_ok());
        assert!(check_memory(1 << 20, None).is_ok());
        let error = check_memory(1 << 22, Some(Bytes::new(1 << 30))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "4194304 ranks take at least 2 GiB of memory, and 1 GiB is available: give fewer ranks (--ranks, --nct)"
        );
    }
}
