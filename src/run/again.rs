//! A run that is made more than once, each time a little different. A real program runs once, and its recording is
//! replayed.

use std::io::Write;

use tempfile::NamedTempFile;

use super::application::Application;
use super::conduct::{Conduct, Prediction};
use super::error::PredictError;
use super::resolved::Resolved;

/// The first of several runs.
pub(super) struct FirstRun {
    /// What it gave; with a trace only if one was wanted.
    pub(super) prediction: Prediction,
    /// The same once more.
    pub(super) again: Resolved,
    /// A recording lives as long as it is replayed.
    _recording: Option<NamedTempFile>,
}

impl Resolved {
    /// As [`Resolved::run_in`], for an option that needs the run again.
    ///
    /// # Errors
    /// As of [`Resolved::run`]; no scratch file for a recording.
    pub(super) fn first_in(&self, conduct: Conduct<'_>, option: &str) -> Result<Option<FirstRun>, PredictError> {
        let is_real = matches!(self.application, Application::Real(_));
        let Some(mut prediction) = self.run_in(Conduct { recorded: conduct.recorded || is_real, ..conduct })? else {
            return Ok(None);
        };
        let trace = prediction.trace.take();
        let (again, recording) = match &trace {
            Some(trace) if is_real => {
                let scratch =
                    |error: std::io::Error| PredictError::input(format!("{option}: no scratch file: {error}"));
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
