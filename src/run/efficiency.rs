//! Parallel efficiencies of a simulation run, which need a second run on a machine with an ideal network.

use crate::engine::RankTime;
use crate::profile::{Efficiencies, TimeParts};

use super::application::Application;
use super::conduct::{Conduct, Prediction};
use super::error::PredictError;
use super::request::Details;
use super::resolved::Resolved;
use super::values::Model;

impl Resolved {
    /// Predicts the run as [`Resolved::run_in`] does, and a second time with an ideal network. The Outcome then
    /// contains the efficiencies. The run must have a single host process.
    ///
    /// # Errors
    /// The errors are those of [`Resolved::run`], textbook models, which have no ideal network, and task runtimes, in
    /// which threads compute as well as ranks.
    pub fn efficiencies_in(&self, conduct: Conduct<'_>) -> Result<Option<Prediction>, PredictError> {
        if let Model::Textbook(_) = self.settings.model {
            return Err(PredictError::input("--efficiencies: expected --model mcpsim or two-level".to_owned()));
        }
        if let Application::Described(app) = &self.application
            && app.has_fragments()
        {
            return Err(PredictError::input(format!(
                "--efficiencies: {} is a program of fragments, whose threads compute beside their ranks; expected another \
                 application",
                app.name()
            )));
        }
        let mut first = self.clone();
        // The efficiencies need the compute time of each rank.
        first.settings.details.per_rank = true;
        let Some(mut first) = first.first_in(conduct, "--efficiencies")? else {
            return Ok(None);
        };
        let mut again = first.again.clone();
        again.platform.platform = again.platform.platform.with_ideal_network();
        again.settings.details = Details::default();
        (again.settings.workers, again.settings.pairs) = (Some(1), false);
        let Some(ideal) = again.run_in(Conduct { recorded: false, ..conduct })? else { return Ok(None) };
        let outcome = &mut first.prediction.outcome;
        let useful = |(index, rank): (usize, &RankTime)| match outcome.rank_threads.get(index) {
            // The factor of MPI regards all time outside of MPI as useful.
            Some(of) => TimeParts { compute: of.main_outside_mpi, ..rank.parts },
            None => rank.parts,
        };
        let parts: Vec<TimeParts> = outcome.per_rank.iter().enumerate().map(useful).collect();
        outcome.efficiencies = Efficiencies::from_run(outcome.predicted, ideal.outcome.predicted, &parts);
        Ok(Some(first.prediction))
    }
}
