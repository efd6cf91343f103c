//! Simulation runs that optionally record a trace.

use std::sync::Arc;

use crate::engine::{Outcome, PreparedRun, RankPrograms, Screen, Simulation};
use crate::platform::Platform;
use crate::profile::{function_profiles, message_kinds, message_sizes, message_sorts, site_profiles};
use crate::rank::{Program, Tallies};
use crate::trace::{Header, Recording};

use super::conduct::Conduct;
use super::described::concluded;
use super::error::PredictError;
use super::request::Details;

/// Result of a simulation run: the Outcome, and the content of the trace file if the run records a trace.
pub(super) type Recorded = (Outcome, Option<Vec<u8>>);

/// Runs `simulation`. The output of ranks is printed on `screen`, and a trace with the header `header` is recorded if
/// there is a header. The first host process gets the result.
pub(super) fn run(
    simulation: &Simulation<'_>,
    screen: &dyn Screen,
    programs: &dyn RankPrograms,
    (conduct, details): (Conduct<'_>, Details),
    header: &Header,
) -> Result<Option<Recorded>, PredictError> {
    if !details.functions && !details.sites {
        return traced(simulation, screen, programs, conduct, header);
    }
    let tallies = Arc::new(Tallies::new(simulation.sites(), details.sites));
    let counted = |rank| -> Box<dyn Program> { Box::new(tallies.wrap(rank, programs.program(rank))) };
    let ran = traced(simulation, screen, &counted, conduct, header);
    let ranks: Vec<_> = conduct.processes.gather(tallies.take()).into_iter().flatten().collect();
    let told = |(outcome, trace): Recorded| {
        let sent = message_sorts(&ranks);
        let outcome = Outcome {
            functions: Some(function_profiles(&ranks)),
            sites: details.sites.then(|| site_profiles(&ranks)),
            sizes: Some(message_sizes(&sent)),
            kinds: Some(message_kinds(&sent)),
            sent,
            ..outcome
        };
        (outcome, trace)
    };
    Ok(ran?.map(told))
}

/// Runs the simulation with a recorded trace but without a host profile.
fn traced(
    simulation: &Simulation<'_>,
    screen: &dyn Screen,
    programs: &dyn RankPrograms,
    conduct: Conduct<'_>,
    header: &Header,
) -> Result<Option<Recorded>, PredictError> {
    let Conduct { progress, processes, recorded, .. } = conduct;
    let prepared = PreparedRun { simulation, processes, screen, progress };
    if !recorded {
        let ran = programs.run_prepared(prepared);
        return Ok(concluded(ran, processes)?.map(|outcome| (outcome, None)));
    }
    let recording = Arc::new(Recording::new(header.ranks).of_code(!header.factors.is_empty()));
    let recorder = |rank| -> Box<dyn Program> { Box::new(recording.wrap(rank, programs.program(rank))) };
    let ran = prepared.run_boxed(&recorder);
    processes.gather(recording.give()).into_iter().for_each(|portion| recording.take_in(portion));
    let Some(outcome) = concluded(ran, processes)? else { return Ok(None) };
    let bytes = recording.finish(header).map_err(|error| PredictError::input(format!("--record: {error}")))?;
    Ok(Some((outcome, Some(bytes))))
}

/// Returns the header of a trace that a run on `platform` records.
pub(super) fn header(platform: &Platform, ranks: usize, app: &str, model: &str, seed: u64) -> Header {
    let shape = platform.shape;
    Header {
        mcpsim: env!("CARGO_PKG_VERSION").to_owned(),
        ranks: ranks as u32,
        app: app.to_owned(),
        platform: platform.name.clone(),
        model: model.to_owned(),
        nct: [shape.nodes, shape.cmps, shape.cores],
        seed,
        rates: Header::rates(&platform.core),
        factors: Vec::new(),
    }
}
