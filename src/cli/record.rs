//! Runs that are recorded if the user wants it.

use std::sync::Arc;

use crate::engine::{Outcome, Progress, Simulation};
use crate::platform::Platform;
use crate::rank::{Program, Rank};
use crate::trace::{Header, Recording};

use super::exit::Failure;

/// What a run gave: the outcome, and the trace's bytes if one was wanted.
pub(super) type Recorded = (Outcome, Option<Vec<u8>>);

/// Runs `simulation`, recorded if there is a `header`.
pub(super) fn run<P: Program>(
    simulation: &Simulation<'_>,
    make: impl Fn(Rank) -> P + Sync,
    progress: &Progress,
    header: Option<&Header>,
) -> Result<Recorded, Failure> {
    let Some(header) = header else { return Ok((simulation.run(make, progress)?, None)) };
    let recording = Arc::new(Recording::new(header.ranks));
    let outcome = simulation.run(|rank| recording.wrap(rank, make(rank)), progress)?;
    let bytes = recording.finish(header).map_err(|error| Failure::bad_input(format!("--record: {error}")))?;
    Ok((outcome, Some(bytes)))
}

/// What a trace says of a run on `platform`.
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
        scale: None,
    }
}
