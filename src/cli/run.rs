//! Where machine, application and engine meet.

use std::sync::Arc;

use crate::app::{BoundApp, Target};
use crate::engine::{Labels, Outcome, Processes, Progress, RunError, Simulation};
use crate::mpi::{Process, check_rules};
use crate::platform::{Placement, Platform, Shape, Site};
use crate::rank::Rank;

use super::configuration::Configuration;
use super::exit::Failure;
use super::host;
use super::launch::agree;
use super::record::{self, Recorded};
use super::settings::Settings;
use super::values::{Model, PlacementChoice};

/// How a run is carried out.
#[derive(Clone, Copy)]
pub(super) struct Manner<'a> {
    /// Seen and steered from outside.
    pub progress: &'a Progress,
    /// In these processes, the first of which gets the result.
    pub processes: &'a Processes,
    /// Whether a trace is wanted.
    pub recorded: bool,
    /// Whether calls are profiled by function.
    pub functions: bool,
}

/// Loads the platform and the application, places the ranks, and runs.
///
/// Everything that can be wrong with the input shows here, before the first event.
pub(super) fn simulate(configuration: &Configuration, manner: Manner<'_>) -> Result<Option<Recorded>, Failure> {
    let settings = &configuration.settings;
    let (bound, platform, sites, labels) = agree(manner.processes, bind(configuration))?;
    let memory = memory_shares(&platform, &sites);
    let make = |rank: Rank| {
        let share = memory.of(sites[rank as usize]);
        Process::new(bound.program(rank, share), platform.clone(), share)
    };
    let header = record::header(&platform, sites.len(), &labels.app, settings.model.name(), settings.seed);
    let simulation = Simulation::new(&platform, sites.clone(), settings.options(), labels);
    record::run(&simulation, &(), make, manner, &header)
}

/// What the run gave on the first process, with the memory that all of them took.
pub(super) fn concluded(
    ran: Option<Result<Outcome, RunError>>,
    processes: &Processes,
) -> Result<Option<Outcome>, Failure> {
    let peaks = processes.gather(host::peak_rss());
    let Some(ran) = ran else { return Ok(None) };
    let mut outcome = ran?;
    outcome.host.peak_rss_bytes = peaks.into_iter().sum();
    Ok(Some(outcome))
}

/// The application for its ranks, the machine, and where they are on it.
fn bind(configuration: &Configuration) -> Result<(BoundApp, Arc<Platform>, Vec<Site>, Labels), Failure> {
    let settings = &configuration.settings;
    let source = configuration.platform()?;
    check_rules(&source.platform)?;
    let app = configuration.app()?;
    let (platform, sites) = placed(settings, source.platform, None)?;
    let target = Target {
        ranks: sites.len() as u32,
        rates: platform.core.clone(),
        seed: settings.seed,
        max_turns: settings.max_turns.unwrap_or(Target::DEFAULT_MAX_TURNS),
    };
    let bound = app.bind(target)?;
    let labels = Labels {
        app: app.name().to_owned(),
        model: settings.model.name().to_owned(),
        seed: settings.seed,
        config: configuration.to_json()?,
    };
    Ok((bound, Arc::new(platform), sites, labels))
}

/// The platform as the model sees it, and the ranks' places on it.
pub(super) fn placed(
    settings: &Settings,
    platform: Platform,
    own_ranks: Option<u32>,
) -> Result<(Platform, Vec<Site>), Failure> {
    let shape = platform.shape;
    let ranks = settings.ranks.or(own_ranks).unwrap_or(shape.total_cores() as u32);
    if ranks > Shape::MOST_CORES {
        return Err(Failure::bad_input(format!("{ranks} ranks: expected at most {}", Shape::MOST_CORES)));
    }
    let placement = match &settings.placement {
        PlacementChoice::Block => Placement::Block,
        PlacementChoice::Cyclic => Placement::Cyclic,
        PlacementChoice::File(path) => Placement::read(path)?,
        PlacementChoice::Given(sites) => Placement::Explicit(sites.clone()),
    };
    let sites =
        placement.sites(shape, ranks, settings.oversubscribe).map_err(|error| Failure::bad_input(error.to_string()))?;
    Ok(match settings.model {
        Model::Mcpsim => (platform, sites),
        // The baseline changes what is known of the machine, not where the ranks are.
        Model::Bigsim => (platform.two_level(), sites.into_iter().map(|site| site.two_level(shape)).collect()),
    })
}

/// The memory bandwidth of the ranks by their CMP.
pub(super) struct MemoryShares {
    cmps: u32,
    of_cmp: Vec<f64>,
}

impl MemoryShares {
    pub fn of(&self, site: Site) -> f64 {
        self.of_cmp[(site.node * self.cmps + site.cmp) as usize]
    }
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
    let of_node = on_cmp.chunks(cmps as usize).flat_map(|node| {
        let on_node = node.iter().sum();
        node.iter().map(move |&on_cmp| platform.core.memory_share(on_cmp, on_node))
    });
    MemoryShares { cmps, of_cmp: of_node.collect() }
}
