//! Ends of the prediction of a real program whose `scale_factor` is a range.

use crate::engine::HostScale;
use crate::measure::{Figures, Speed};
use crate::platform::{CoreRates, ScaleFactor};
use crate::process::ComputeMode;

use super::application::Application;
use super::conduct::{Conduct, Prediction};
use super::error::PredictError;
use super::request::Details;
use super::resolved::Resolved;

/// Kernels that are compared with the rates of a machine: dense arithmetic and streaming.
pub const COMPARED_KERNELS: [&str; 2] = ["multiply_add_wide", "triad_far"];
/// Factor by which each end of the range of a loaded host is wider.
const LOADED: f64 = 1.5;

/// Returns the range of factors of a machine with the rates `core`, whose ends are the factors of dense arithmetic and
/// of streaming.
pub fn host_scale(host: &Figures, core: &CoreRates, is_loaded: bool) -> Option<HostScale> {
    let speed = Speed::of(host, &[]);
    let known = COMPARED_KERNELS.iter().all(|name| host.seconds.contains_key(*name));
    let [dense, streaming] = [speed.wide_flops / core.flops.get(), speed.memory / core.memory.get() as f64];
    let wider = if is_loaded { LOADED } else { 1.0 };
    let (low, high) = (dense.min(streaming) / wider, dense.max(streaming) * wider);
    let is_range = low > 0.0 && high.is_finite();
    (known && is_range).then(|| HostScale { processor: host.machine.clone(), low, high, predicted: None })
}

impl Resolved {
    /// Returns true if the run times a real program for a machine whose `scale_factor` follows from the host's kernels.
    pub fn is_scaled_by_host(&self) -> bool {
        let is_timed =
            matches!(self.application, Application::Real(_)) && self.settings.job.compute == ComputeMode::Measure;
        is_timed && self.platform.platform.core.scale_factor == ScaleFactor::Auto
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Kernel;
    use crate::units::{Bandwidth, Rate};

    #[test]
    fn the_ends_of_the_range_are_dense_arithmetic_and_streaming() {
        let work = |name: &str| Kernel::all().iter().find(|kernel| kernel.name == name).unwrap().work;
        // The host has 40 Gflop/s and 20 GB/s, the target 10 Gflop/s and 10 GB/s.
        let seconds = [(COMPARED_KERNELS[0], 40e9), (COMPARED_KERNELS[1], 20e9)];
        let seconds = seconds.map(|(name, rate)| (name.to_owned(), work(name) / rate)).into();
        let host = Figures { machine: "CPU".to_owned(), seconds };
        let core = CoreRates {
            flops: Rate::new(10e9).unwrap(),
            memory: Bandwidth::new(10_000_000_000).unwrap(),
            ..crate::platform::Platform::load(crate::platform::Platform::default_document(), &[]).unwrap().core
        };
        let found = host_scale(&host, &core, false).unwrap();
        assert!((found.low - 2.0).abs() < 1e-9 && (found.high - 4.0).abs() < 1e-9, "{found:?}");
        let loaded = host_scale(&host, &core, true).unwrap();
        assert!((loaded.low - 2.0 / 1.5).abs() < 1e-9 && (loaded.high - 6.0).abs() < 1e-9, "{loaded:?}");
        assert_eq!(host_scale(&Figures::default(), &core, false), None);
    }
}
