//! Placement of ranks on the cores of a machine.

use crate::platform::{MapBy, Placement, PlacementError, Places, Platform, Shape, Site, cores_of};
use crate::units::{Bytes, counted};

use super::error::PredictError;
use super::host::available_memory;
use super::settings::Settings;
use super::values::{Model, PlacementChoice};

/// Returns the platform as the network model sees it, and the cores of the ranks.
pub(crate) fn placed(
    settings: &Settings,
    platform: Platform,
    own_ranks: Option<u32>,
) -> Result<(Platform, Vec<Site>), PredictError> {
    let ranks = settings.ranks.or(own_ranks).unwrap_or(platform.most_ranks());
    let machine = (platform.shape, platform.core.threads.count(), &*platform.places);
    let sites = sites_on(settings, machine, ranks, own_ranks)?;
    check_memory(ranks, available_memory())?;
    Ok(as_modelled(settings, platform, sites))
}

/// Returns the cores of `ranks` ranks on a machine with this shape, number of hardware threads per core, and places.
pub(super) fn sites_on(
    settings: &Settings,
    (shape, threads, places): (Shape, u32, &Places),
    ranks: u32,
    own_ranks: Option<u32>,
) -> Result<Vec<Site>, PredictError> {
    if ranks > Shape::MOST_CORES {
        return Err(PredictError::input(format!("{ranks} ranks: expected at most {}", Shape::MOST_CORES)));
    }
    let placement = match &settings.placement {
        PlacementChoice::Block => Placement::Block,
        PlacementChoice::Cyclic => Placement::Cyclic,
        PlacementChoice::Socket => Placement::Socket,
        PlacementChoice::File(path) => Placement::Explicit(Placement::read_on(path, shape, places)?),
        PlacementChoice::Given(sites) => Placement::Explicit(sites.clone()),
    };
    let sites = match map_by(settings, shape, places)? {
        Some(map_by) => map_by.sites(shape, threads, ranks, settings.ranks_per_node, settings.oversubscribe),
        None => placement.sites_by_threads(shape, threads, ranks, settings.oversubscribe),
    };
    sites.map_err(|error| match error {
        // If the application fixes the number of ranks, the error does not advise changing this number.
        PlacementError::TooManyRanks { ranks, cores, .. } if settings.ranks.is_none() && own_ranks.is_some() => {
            let cores = cores_of(cores, threads);
            let ranks = counted(ranks, "rank");
            PredictError::input(format!("{ranks} on {cores}: give a larger --nct, or --oversubscribe"))
        }
        PlacementError::WrongLength { entries, ranks } => {
            let of = match &settings.placement {
                PlacementChoice::File(path) => path.display().to_string(),
                _ => "the placement".to_owned(),
            };
            let (entries, ranks) = (counted(entries as u64, "core"), counted(ranks, "rank"));
            PredictError::input(format!("{of} lists {entries} for {ranks}: expected one core per rank"))
        }
        error => PredictError::input(error.to_string()),
    })
}

/// Returns the platform as the network model sees it, and the cores of the ranks in this platform.
pub(super) fn as_modelled(settings: &Settings, mut platform: Platform, sites: Vec<Site>) -> (Platform, Vec<Site>) {
    let shape = platform.shape;
    platform.spread_ranks(&sites);
    if let Some(part) = settings.memory_bound {
        platform = platform.with_memory_bound(part.of_one());
    }
    match settings.model {
        Model::Mcpsim => (platform, sites),
        // The baseline model differs only in its network, not in the placement of ranks.
        Model::TwoLevel => (platform.two_level(), sites.into_iter().map(|site| site.two_level(shape)).collect()),
        Model::Textbook(model) => {
            let flat = platform.textbook(model, &sites);
            (flat, sites.into_iter().map(|site| site.flat(shape)).collect())
        }
    }
}

/// Returns the unit of the machine (such as node or socket) over which ranks are distributed, if the settings name a
/// unit or limit the ranks per node.
fn map_by(settings: &Settings, shape: Shape, places: &Places) -> Result<Option<MapBy>, PredictError> {
    let name = match (&settings.map_by, &settings.placement) {
        (Some(name), PlacementChoice::Block) => name.as_str(),
        (Some(name), _) => {
            return Err(PredictError::input(format!(
                "expected either a placement or --map-by; found both (--map-by {name})"
            )));
        }
        (None, _) if settings.ranks_per_node.is_none() => return Ok(None),
        (None, PlacementChoice::Block) => "core",
        (None, PlacementChoice::Cyclic) => "node",
        (None, PlacementChoice::Socket) => "cmp",
        (None, PlacementChoice::File(_) | PlacementChoice::Given(_)) => {
            let text = "--ranks-per-node: expected no list of cores, which places every rank; found one";
            return Err(PredictError::input(text));
        }
    };
    let named = MapBy::named(name, shape, places);
    named.map(Some).map_err(|error| PredictError::input(format!("--map-by {name}: {error}")))
}

/// Least host memory that a simulated rank needs, in bytes.
const LEAST_RANK: u64 = 512;

/// Checks that `ranks` simulated ranks fit into `available` host memory.
pub(super) fn check_memory(ranks: u32, available: Option<Bytes>) -> Result<(), PredictError> {
    let needed = Bytes::new(u64::from(ranks) * LEAST_RANK);
    match available {
        Some(available) if needed > available => Err(PredictError::input(format!(
            "{ranks} ranks take at least {needed} of memory, and {available} is available: give fewer ranks (--ranks, --nct)"
        ))),
        _ => Ok(()),
    }
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
