//! Repetition of a simulation run with other seeds.

use crate::engine::Repeats;
use crate::process::ComputeMode;

use super::application::Application;
use super::conduct::{Conduct, Prediction, silent};
use super::error::PredictError;
use super::resolved::Resolved;

impl Resolved {
    /// Predicts the run as [`Resolved::run_in`] does, with `count` runs in total and consecutive seeds. The Outcome of
    /// the first run then contains statistics over these runs. A real program whose code is timed runs again; its output
    /// is discarded after the first run. The run must have a single host process.
    ///
    /// # Errors
    /// The errors are those of [`Resolved::run`].
    pub fn repeat_in(&self, conduct: Conduct<'_>, count: u32) -> Result<Option<Prediction>, PredictError> {
        let Some(first) = self.first_in(conduct, "--repeats")? else { return Ok(None) };
        let mut times = vec![first.prediction.outcome.predicted];
        let is_real = matches!(self.application, Application::Real(_));
        let console = silent();
        for number in 1..u64::from(count) {
            // Measured times of code scatter, so the program runs again. Without measured times a replay suffices.
            let is_timed = is_real && self.settings.job.compute == ComputeMode::Measure;
            let mut run = if is_timed { self.clone() } else { first.again.clone() };
            let seed = first.prediction.outcome.seed.wrapping_add(number);
            (run.settings.seed, run.settings.asked_seed) = (seed, Some(seed));
            let conduct =
                Conduct { recorded: false, console: if is_real { &console } else { conduct.console }, ..conduct };
            times.extend(run.run_in(conduct)?.map(|prediction| prediction.outcome.predicted));
        }
        let mut prediction = first.prediction;
        prediction.outcome.repeats = Some(Repeats::of(times));
        Ok(Some(prediction))
    }
}
