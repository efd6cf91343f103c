//! Simulation runs that are repeated with small changes. A real program runs only once; further runs replay the
//! recording of the first run.

use std::io::Write;

use tempfile::NamedTempFile;

use super::application::Application;
use super::conduct::{Conduct, Prediction};
use super::error::PredictError;
use super::resolved::Resolved;

/// The first of several simulation runs with small changes.
pub(super) struct FirstRun {
    /// Result of the first run. The result of the run contains a trace only if the user requests a trace.
    pub(super) prediction: Prediction,
    /// Description of the first run, from which the run is repeated.
    pub(super) again: Resolved,
    /// Temporary file of the recorded run, which must exist during all replays.
    _recording: Option<NamedTempFile>,
}

impl Resolved {
    /// Predicts like [`Resolved::run_in`], for an option that repeats the run.
    ///
    /// # Errors
    /// The errors are those of [`Resolved::run`], and a temporary file of a recording that cannot be created.
    pub(super) fn first_in(&self, conduct: Conduct<'_>, option: &str) -> Result<Option<FirstRun>, PredictError> {
        let is_real = matches!(self.application, Application::Real(_));
        let Some(mut prediction) = self.run_in(Conduct { recorded: conduct.recorded || is_real, ..conduct })? else {
            return Ok(None);
        };
        let trace = prediction.trace.take();
        let (again, recording) = match &trace {
            Some(trace) if is_real => {
                let scratch = |error: std::io::Error| {
                    PredictError::input(format!(
                        "{option}: cannot create a temporary file: \
                    {error}"
                    ))
                };
                let mut file = tempfile::Builder::new().suffix(".trace").tempfile().map_err(scratch)?;
                file.write_all(trace).map_err(scratch)?;
                (self.clone().replaying(file.path()), Some(file))
            }
            _ => (self.clone(), None),
        };
        prediction.trace = trace.filter(|_| conduct.recorded);
        Ok(Some(FirstRun { prediction, again, _recording: recording }))
    }
}
