//! Runs that are repeated with small changes. A real program runs once, and its recording is replayed.

use std::io::Write;

use tempfile::NamedTempFile;

use super::application::Application;
use super::conduct::{Conduct, Prediction};
use super::error::PredictError;
use super::resolved::Resolved;

/// First of several runs.
pub(super) struct FirstRun {
    /// Its result; with a trace only if requested.
    pub(super) prediction: Prediction,
    /// Same run, to be repeated.
    pub(super) again: Resolved,
    /// Temporary recording; it must outlive all replays.
    _recording: Option<NamedTempFile>,
}

impl Resolved {
    /// Predicts like [`Resolved::run_in`], for an option that repeats the run.
    ///
    /// # Errors
    /// See [`Resolved::run`]; also if no temporary file can be made for a recording.
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
