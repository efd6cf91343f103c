//! Repeated runs: the same with other seeds. A real program runs once, and its recording is replayed for the others.

use crate::engine::{Outcome, Repeats};

use super::application::Application;
use super::conduct::{Conduct, Prediction};
use super::error::PredictError;
use super::resolved::Resolved;

impl Resolved {
    /// As [`Resolved::run_in`], and `count` runs in all with seeds from the run's own on, of which the Outcome then
    /// tells. In one process.
    ///
    /// # Errors
    /// As of [`Resolved::run`].
    pub fn repeat_in(&self, conduct: Conduct<'_>, count: u32) -> Result<Option<Prediction>, PredictError> {
        let is_real = matches!(self.application, Application::Real(_));
        let Some(first) = self.run_in(Conduct { recorded: conduct.recorded || is_real, ..conduct })? else {
            return Ok(None);
        };
        let scratch = |error: std::io::Error| PredictError::input(format!("--repeats: no scratch file: {error}"));
        // It lives as long as it is replayed.
        let mut file = tempfile::Builder::new().suffix(".trace").tempfile().map_err(scratch)?;
        let again = match &first.trace {
            Some(trace) if is_real => {
                std::io::Write::write_all(&mut file, trace).map_err(scratch)?;
                self.clone().replaying(file.path())
            }
            _ => self.clone(),
        };
        let mut times = vec![first.outcome.predicted];
        for number in 1..u64::from(count) {
            let mut run = again.clone();
            let seed = first.outcome.seed.wrapping_add(number);
            (run.settings.seed, run.settings.asked_seed) = (seed, Some(seed));
            let conduct = Conduct { recorded: false, ..conduct };
            times.extend(run.run_in(conduct)?.map(|prediction| prediction.outcome.predicted));
        }
        let outcome = Outcome { repeats: Some(Repeats::of(times)), ..first.outcome };
        let trace = first.trace.filter(|_| conduct.recorded);
        Ok(Some(Prediction { outcome, trace, ..first }))
    }
}
