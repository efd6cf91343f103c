//! Repetition of a simulation run with other seeds.

use crate::engine::Repeats;

use super::conduct::{Conduct, Prediction};
use super::error::PredictError;
use super::resolved::Resolved;

impl Resolved {
    /// Predicts the run as [`Resolved::run_in`] does, with `count` runs in total and consecutive seeds. The Outcome of
    /// the first run then contains statistics over these runs. The run must have a single host process.
    ///
    /// # Errors
    /// The errors are those of [`Resolved::run`].
    pub fn repeat_in(&self, conduct: Conduct<'_>, count: u32) -> Result<Option<Prediction>, PredictError> {
        let Some(first) = self.first_in(conduct, "--repeats")? else { return Ok(None) };
        let mut times = vec![first.prediction.outcome.predicted];
        for number in 1..u64::from(count) {
            let mut run = first.again.clone();
            let seed = first.prediction.outcome.seed.wrapping_add(number);
            (run.settings.seed, run.settings.asked_seed) = (seed, Some(seed));
            let conduct = Conduct { recorded: false, ..conduct };
            times.extend(run.run_in(conduct)?.map(|prediction| prediction.outcome.predicted));
        }
        let mut prediction = first.prediction;
        prediction.outcome.repeats = Some(Repeats::of(times));
        Ok(Some(prediction))
    }
}
