//! Placement of ranks on the cores of a machine.

use std::sync::Arc;

use crate::measure::{CollectiveFit, CollectiveTests, simulate_collectives};
use crate::platform::{
    CollectiveTimes, Level, MapBy, Placement, PlacementError, Places, Platform, Shape, Site, Textbook, cores_of,
};
use crate::units::{Bytes, SimSpan, counted};

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
    let ranks = settings.ranks.or(own_ranks).unwrap_or((platform.most_ranks() / settings.cores_per_rank).max(1));
    let machine = (platform.shape, platform.core.threads.count(), &*platform.places);
    let sites = sites_on(settings, machine, ranks, own_ranks)?;
    check_memory(ranks, available_memory())?;
    as_modelled(settings, platform, sites)
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
    if settings.cores_per_rank > 1 {
        return sites_of_groups(settings, (shape, threads, places), ranks, &placement);
    }
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

/// Returns the first core of each rank, if each rank has several cores. Ranks are placed on a machine whose cores are
/// the groups of cores of the ranks.
fn sites_of_groups(
    settings: &Settings,
    (shape, threads, places): (Shape, u32, &Places),
    ranks: u32,
    placement: &Placement,
) -> Result<Vec<Site>, PredictError> {
    let count = settings.cores_per_rank;
    let Some(groups) = shape.grouped(count) else {
        let text = format!(
            "--cores-per-rank {count}: expected a divisor of the {} cores of a CMP, or whole CMPs of a node, which has \
             {} CMPs",
            shape.cores, shape.cmps
        );
        return Err(PredictError::input(text));
    };
    let fits = |site: &Site| (site.cmp * shape.cores + site.core).is_multiple_of(count);
    if let Placement::Explicit(sites) = placement
        && let Some(rank) = sites.iter().position(|site| !fits(site))
    {
        let core = sites[rank].core;
        let text =
            format!("--cores-per-rank {count}: expected a core of rank {rank} that {count} divides; found {core}");
        return Err(PredictError::input(text));
    }
    let sites = match (placement, map_by(settings, shape, places)?) {
        (Placement::Explicit(_), _) => placement.sites_by_threads(shape, threads, ranks, settings.oversubscribe),
        (_, Some(MapBy::Domain { cores })) if cores % count != 0 => {
            let text =
                format!("--cores-per-rank {count}: expected --map-by with a place of a multiple of {count} cores");
            return Err(PredictError::input(text));
        }
        (_, Some(map_by)) => {
            let map_by = match map_by {
                MapBy::Domain { cores } => MapBy::Domain { cores: cores / count },
                other => other,
            };
            map_by.sites(groups, threads, ranks, settings.ranks_per_node, settings.oversubscribe)
        }
        (_, None) => placement.sites_by_threads(groups, threads, ranks, settings.oversubscribe),
    };
    let sites = sites.map_err(|error| {
        PredictError::input(format!("{} groups of {count} cores (--cores-per-rank): {error}", groups.total_cores()))
    })?;
    let first = |site: Site| match placement {
        Placement::Explicit(_) => site,
        _ => {
            let core = (site.cmp * groups.cores + site.core) * count;
            Site { node: site.node, cmp: core / shape.cores, core: core % shape.cores }
        }
    };
    Ok(sites.into_iter().map(first).collect())
}

/// Returns the platform as the network model sees it, and the cores of the ranks in this platform.
///
/// # Errors
/// The simulation of collectives that the model of Xu and Hwang requires fails.
pub(super) fn as_modelled(
    settings: &Settings,
    mut platform: Platform,
    sites: Vec<Site>,
) -> Result<(Platform, Vec<Site>), PredictError> {
    let shape = platform.shape;
    platform.spread_ranks(&sites);
    if let Some(part) = &settings.memory_bound {
        platform = platform.with_memory_bound(part.of_one());
    }
    Ok(match settings.model {
        Model::Mcpsim => (platform, sites),
        // The baseline model differs only in its network, not in the placement of ranks.
        Model::TwoLevel => (platform.two_level(), sites.into_iter().map(|site| site.two_level(shape)).collect()),
        Model::Textbook(model) => {
            let mut flat = platform.textbook(model, &sites);
            if model == Textbook::XuHwang {
                let message = flat.link(Level::InterNode).rows()[0].latency;
                flat.collectives.times = Some(Arc::new(collective_times(&platform, &sites, message)?));
            }
            (flat, sites.into_iter().map(|site| site.flat(shape)).collect())
        }
    })
}

/// Times of collectives by Xu and Hwang's model, fitted to simulated collectives of the ranks on `platform`. A message
/// without data takes `message`.
fn collective_times(platform: &Platform, sites: &[Site], message: SimSpan) -> Result<CollectiveTimes, PredictError> {
    // Repeated calls of a collective take the same time.
    let tests = CollectiveTests { most_bytes: 1 << 20, repeats: 1, budget: 0.0 };
    let timed = simulate_collectives(platform, sites.to_vec(), &tests)?;
    let mut times = CollectiveTimes::new(message);
    for fit in CollectiveFit::all(&timed) {
        times.add(fit.collective, fit.by_ranks.iter().map(|(ranks, hockney, _)| (*ranks, *hockney)));
    }
    Ok(times)
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
    use super::super::request::RunRequest;
    use super::*;
    use crate::config::Document;

    /// Returns the node and the number of the first core of each rank within its node, or the error.
    fn cores(run: &str, shape: (u32, u32, u32)) -> Result<Vec<(u32, u32)>, String> {
        let document = Document::parse("run", &format!("[run]\n{run}")).unwrap();
        let settings = Settings::merge(document, std::path::Path::new(""), &[], &RunRequest::new("run"));
        let settings = settings.map_err(|error| error.to_string())?;
        let shape = Shape::new(shape.0, shape.1, shape.2).unwrap();
        let ranks = settings.ranks.unwrap();
        let sites =
            sites_on(&settings, (shape, 1, &Places::default()), ranks, None).map_err(|error| error.to_string())?;
        Ok(sites.into_iter().map(|site| (site.node, site.cmp * shape.cores + site.core)).collect())
    }

    #[test]
    fn ranks_with_several_cores_have_groups_of_neighbouring_cores() {
        let two = |run: &str| cores(&format!("cores_per_rank = 2\n{run}"), (2, 2, 4));
        assert_eq!(two("ranks = 5"), Ok(vec![(0, 0), (0, 2), (0, 4), (0, 6), (1, 0)]));
        assert_eq!(two("ranks = 3\nplacement = \"cyclic\""), Ok(vec![(0, 0), (1, 0), (0, 2)]));
        assert_eq!(two("ranks = 3\nplacement = \"socket\""), Ok(vec![(0, 0), (0, 4), (0, 2)]));
        assert_eq!(two("ranks = 3\nmap_by = \"cmp\""), Ok(vec![(0, 0), (0, 4), (0, 2)]));
        assert_eq!(two("ranks = 3\nranks_per_node = 2"), Ok(vec![(0, 0), (0, 2), (1, 0)]));
        assert_eq!(cores("cores_per_rank = 8\nranks = 2", (2, 2, 4)), Ok(vec![(0, 0), (1, 0)]));
        assert_eq!(cores("cores_per_rank = 4\nranks = 3", (1, 4, 4)), Ok(vec![(0, 0), (0, 4), (0, 8)]));
    }

    #[test]
    fn groups_of_cores_that_do_not_fit_are_refused() {
        assert_eq!(
            cores("cores_per_rank = 3\nranks = 2", (2, 2, 4)).unwrap_err(),
            "--cores-per-rank 3: expected a divisor of the 4 cores of a CMP, or whole CMPs of a node, which has 2 CMPs"
        );
        assert_eq!(
            cores("cores_per_rank = 4\nranks = 5", (2, 2, 4)).unwrap_err(),
            "4 groups of 4 cores (--cores-per-rank): 5 ranks on 4 cores: give fewer --ranks, a larger --nct, or \
             --oversubscribe"
        );
    }

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
