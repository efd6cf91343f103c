//! Where ranks are on a machine, and what each has of its node's memory.

use crate::platform::{MemoryPart, Placement, PlacementError, Platform, Shape, Site};
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
    let ranks = settings.ranks.or(own_ranks).unwrap_or(shape.total_cores() as u32);
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
    let sites = placement.sites(shape, ranks, settings.oversubscribe).map_err(|error| match error {
        // What fixes the number of ranks is not asked for another.
        PlacementError::TooManyRanks { ranks, cores } if settings.ranks.is_none() && own_ranks.is_some() => {
            PredictError::input(format!("{ranks} ranks on {cores} cores: give a larger --nct, or --oversubscribe"))
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
}

impl MemoryShares {
    /// Bytes a second of memory.
    pub fn of(&self, site: Site) -> f64 {
        self.part(site).bandwidth
    }

    pub fn part(&self, site: Site) -> MemoryPart {
        self.of_cmp[(site.node * self.cmps + site.cmp) as usize]
    }
}

/// The memory bandwidth of each rank, bytes a second.
pub fn memory_of(platform: &Platform, sites: &[Site]) -> Vec<f64> {
    let shares = memory_shares(platform, sites);
    sites.iter().map(|site| shares.of(*site)).collect()
}

pub(super) fn memory_shares(platform: &Platform, sites: &[Site]) -> MemoryShares {
    let cmps = platform.shape.cmps;
    // Ranks on one core take turns, so that only one of them uses the memory at a time.
    let mut cores: Vec<Site> = sites.to_vec();
    cores.sort_unstable();
    cores.dedup();
    // A machine may have millions of nodes behind the last that is used.
    let nodes = cores.last().map_or(0, |site| site.node + 1);
    let mut on_cmp = vec![0u32; (nodes * cmps) as usize];
    cores.iter().for_each(|site| on_cmp[(site.node * cmps + site.cmp) as usize] += 1);
    let mut ranks = vec![0u32; on_cmp.len()];
    sites.iter().for_each(|site| ranks[(site.node * cmps + site.cmp) as usize] += 1);
    let caches = platform.core.in_cache.map_or(0.0, |rates| rates.size.get() as f64);
    let of_node = (0..).zip(on_cmp.chunks(cmps as usize)).flat_map(|(number, node)| {
        let on_node = node.iter().sum();
        let factor = platform.conditions.nodes.memory(number);
        node.iter().map(move |&on_cmp| platform.core.memory_share(on_cmp, on_node) * factor)
    });
    let parts = of_node.zip(ranks);
    let part = |(bandwidth, ranks)| MemoryPart { bandwidth, cache: caches / f64::from(u32::max(ranks, 1)) };
    MemoryShares { cmps, of_cmp: parts.map(part).collect() }
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
