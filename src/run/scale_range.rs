//! Ends of the prediction of a real program whose `scale_factor` is a range.

use crate::engine::HostScale;
use crate::platform::ScaleFactor;

use super::conduct::{Conduct, Prediction};
use super::error::PredictError;
use super::request::Details;
use super::resolved::Resolved;

impl Resolved {
    /// Returns the run with a stated `scale_factor`.
    #[must_use]
    pub fn with_scale_factor(mut self, factor: f64) -> Resolved {
        self.platform.platform.core.scale_factor = ScaleFactor::Stated(factor);
        self
    }

    /// Predicts the run as [`Resolved::run_in`] does, with the middle of the range `scale`, and replays the recorded run
    /// with both ends of the range. The run must have a single host process.
    ///
    /// # Errors
    /// The errors are those of [`Resolved::run`], and a temporary file that cannot be created.
    pub fn scaled_in(&self, conduct: Conduct<'_>, scale: HostScale) -> Result<Option<Prediction>, PredictError> {
        let run = self.clone().with_scale_factor(scale.middle());
        let Some(mut first) = run.first_in(conduct, "scale_factor = \"auto\"")? else { return Ok(None) };
        let mut again = first.again.clone();
        again.settings.details = Details::default();
        again.settings.pairs = false;
        let at = |factor: f64| {
            let ran = again.clone().with_scale_factor(factor).run_in(Conduct { recorded: false, ..conduct })?;
            Ok::<_, PredictError>(ran.map(|ran| ran.outcome.predicted))
        };
        let ends = [at(scale.low)?, at(scale.high)?];
        if let [Some(low), Some(high)] = ends {
            first.prediction.outcome.host.scale = Some(HostScale { predicted: Some([low, high]), ..scale });
        }
        Ok(Some(first.prediction))
    }
}
