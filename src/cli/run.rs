//! Where machine, application and engine meet: from a configuration to an Outcome.

use std::sync::Arc;

use crate::app::{App, BoundApp, Target};
use crate::engine::{Labels, Outcome, Progress, Simulation};
use crate::mpi::Process;
use crate::platform::{Placement, Platform, PlatformSource, Site};

use super::configuration::Configuration;
use super::exit::Failure;
use super::settings::Settings;
use super::values::{Model, PlacementChoice};

/// A run of which everything that can be wrong with its input has been looked at.
#[derive(Debug)]
pub(super) struct Job<'a> {
    settings: &'a Settings,
    /// Where the application came from.
    file: &'a str,
    /// The machine's table with its overrides and shape.
    platform_table: toml::Table,
    app: App,
    bound: BoundApp,
    /// The machine as the model sees it.
    platform: Arc<Platform>,
    sites: Vec<Site>,
}

impl<'a> Job<'a> {
    /// Loads the platform and the application, and places the ranks.
    pub fn prepare(configuration: &'a Configuration) -> Result<Self, Failure> {
        let Configuration { settings, platform, app, overrides } = configuration;
        let file = app.name();
        let mut source = PlatformSource::load(platform.clone(), overrides)?;
        if let Some(shape) = settings.shape {
            source = source.with_shape(shape);
        }
        let app = App::load(app.clone(), overrides)?;
        let (platform, sites) = place(settings, source.platform)?;
        let bound = app.bind(Target {
            ranks: sites.len() as u32,
            rates: platform.core.clone(),
            seed: settings.seed,
            max_turns: settings.max_turns.unwrap_or(Target::DEFAULT_MAX_TURNS),
        })?;
        Ok(Job { settings, file, platform_table: source.table, app, bound, platform: Arc::new(platform), sites })
    }

    /// Runs it to its end.
    pub fn simulate(&self, progress: &Progress) -> Result<Outcome, Failure> {
        let shares = memory_shares(&self.platform, &self.sites);
        let labels = Labels {
            app: self.app.name().to_owned(),
            model: self.settings.model.name().to_owned(),
            seed: self.settings.seed,
            config: self.to_json()?,
        };
        let simulation = Simulation::new(&self.platform, self.sites.clone(), self.settings.options(), labels);
        let program = |rank: u32| {
            let share = shares[rank as usize];
            Process::new(self.bound.program(rank, share), Arc::clone(&self.platform), share)
        };
        Ok(simulation.run(program, progress)?)
    }

    /// The merged tables `run`, `platform` and `app`, by the names that `--set` has for them.
    fn tables(&self) -> toml::Table {
        let mut app = self.app.config();
        app.insert("name".to_owned(), self.app.name().into());
        [("run", self.settings.table()), ("platform", self.platform_table.clone()), ("app", app)]
            .map(|(key, table)| (key.to_owned(), toml::Value::Table(table)))
            .into_iter()
            .collect()
    }

    /// The merged tables as a file that runs as it is.
    pub fn to_toml(&self) -> Result<String, Failure> {
        let text =
            toml::to_string(&self.tables()).map_err(|error| Failure::bad_input(format!("--show-config: {error}")))?;
        Ok(format!("# The merged configuration of {}; runs as it is: mcpsim FILE\n\n{text}", self.file))
    }

    /// The merged tables for the Outcome: without the number of workers, which changes nothing but `host`.
    fn to_json(&self) -> Result<serde_json::Value, Failure> {
        let mut value = serde_json::to_value(self.tables())
            .map_err(|error| Failure::bad_input(format!("{}: {error}", self.file)))?;
        if let Some(run) = value["run"].as_object_mut() {
            run.remove("workers");
        }
        Ok(value)
    }
}

/// The machine in the levels of the model, and each rank's core in it.
///
/// Ranks are placed on the machine as it is, so that both models refuse the same placements.
fn place(settings: &Settings, machine: Platform) -> Result<(Platform, Vec<Site>), Failure> {
    let shape = machine.shape;
    let placement = match &settings.placement {
        PlacementChoice::Block => Placement::Block,
        PlacementChoice::Cyclic => Placement::Cyclic,
        PlacementChoice::File(path) => Placement::read(path)?,
    };
    let cores = shape.total_cores();
    let too_many = |_| Failure::bad_input(format!("a rank on each of {cores} cores is too many: give --ranks"));
    let ranks = settings.ranks.map_or_else(|| u32::try_from(cores).map_err(too_many), Ok)?;
    let sites =
        placement.sites(shape, ranks, settings.oversubscribe).map_err(|error| Failure::bad_input(error.to_string()))?;
    Ok(match settings.model {
        Model::Mcpsim => (machine, sites),
        Model::Bigsim => (machine.two_level(), sites.into_iter().map(|site| site.two_level(shape)).collect()),
    })
}

/// The memory bandwidth of each rank in bytes a second: its part of its CMP's and of its node's.
fn memory_shares(platform: &Platform, sites: &[Site]) -> Vec<f64> {
    let shape = platform.shape;
    let cmp = |site: &Site| site.node as usize * shape.cmps as usize + site.cmp as usize;
    let mut on_node = vec![0; shape.nodes as usize];
    let mut on_cmp = vec![0; shape.nodes as usize * shape.cmps as usize];
    for site in sites {
        on_node[site.node as usize] += 1;
        on_cmp[cmp(site)] += 1;
    }
    sites.iter().map(|site| platform.core.memory_share(on_cmp[cmp(site)], on_node[site.node as usize])).collect()
}
