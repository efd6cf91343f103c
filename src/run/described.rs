//! Simulation runs of applications that a TOML file describes: connection of platform, application and engine.

use std::sync::Arc;

use crate::app::{App, BoundApp, TargetMachine};
use crate::engine::{Labels, Outcome, Processes, RunError, Simulation};
use crate::mpi::check_rules;
use crate::platform::{Platform, Site};

use super::conduct::{Conduct, Prediction, agree};
use super::error::PredictError;
use super::host;
use super::placement::placed;
use super::record;
use super::resolved::Resolved;

/// Places the ranks of the application on the machine, and simulates the application.
pub(super) fn simulate(run: &Resolved, app: &App, conduct: Conduct<'_>) -> Result<Option<Prediction>, PredictError> {
    let settings = &run.settings;
    if conduct.recorded && app.has_fragments() {
        return Err(PredictError::input(format!(
            "--record: {} is a program of fragments, whose threads a trace cannot distinguish from collectives; \
             expected another application",
            app.name()
        )));
    }
    let (bound, platform, sites, labels) = agree(conduct.processes, bind(run, app))?;
    let bound = if settings.details.task_logs { bound.with_names() } else { bound };
    let header = record::header(&platform, sites.len(), &labels.app, settings.model.name(), settings.seed);
    let simulation = Simulation::new(&platform, sites.clone(), settings.options(), labels);
    let recorded =
        record::run(&simulation, &(), &bound.on(platform.clone(), &sites), (conduct, settings.details), &header)?;
    let Some((mut outcome, trace)) = recorded else { return Ok(None) };
    outcome.results = bound.results(&std::mem::take(&mut outcome.timers));
    Ok(Some(Prediction { outcome, trace, exit_code: 0, notes: Vec::new() }))
}

/// Returns the result of the run on the first host process, including the memory use of all host processes.
pub(super) fn concluded(
    ran: Option<Result<Outcome, RunError>>,
    processes: &Processes,
) -> Result<Option<Outcome>, PredictError> {
    let peaks = processes.gather(host::peak_rss());
    let Some(ran) = ran else { return Ok(None) };
    let mut outcome = ran?;
    outcome.host.peak_rss_bytes = peaks.into_iter().sum();
    Ok(Some(outcome))
}

/// Returns the application bound to its ranks, the machine, the cores of the ranks, and the labels of MPI calls.
fn bind(run: &Resolved, app: &App) -> Result<(BoundApp, Arc<Platform>, Vec<Site>, Labels), PredictError> {
    let settings = &run.settings;
    check_rules(&run.platform.platform)?;
    let (platform, sites) = placed(settings, run.platform.platform.clone(), None)?;
    let target = TargetMachine {
        ranks: sites.len() as u32,
        rates: platform.core.clone(),
        seed: settings.seed,
        max_turns: settings.max_turns.unwrap_or(TargetMachine::DEFAULT_MAX_TURNS),
    };
    let bound = app.bind(target)?;
    let labels = Labels {
        app: app.name().to_owned(),
        model: settings.model.name().to_owned(),
        seed: settings.seed,
        config: run.to_json()?,
    };
    Ok((bound, Arc::new(platform), sites, labels))
}
