//! Repeated runs that differ only in their seeds, and the statistics of their predictions.

use serde::{Deserialize, Serialize};

use mcpsim_base::units::SimTime;

/// The predicted times of repeated runs, and their statistics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Repeats {
    /// Number of repeated runs.
    pub runs: u32,
    /// Mean of the predicted times in seconds.
    pub mean_s: f64,
    /// Standard deviation of the predicted times in seconds.
    pub deviation_s: f64,
    /// 95 % prediction interval of the predicted time of a further run in seconds, if predicted times are normally
    /// distributed: mean ± t · deviation · √(1 + 1/runs).
    pub interval_s: [f64; 2],
    /// Predicted times in picoseconds, in the order of the seeds.
    pub predicted_ps: Vec<SimTime>,
}

/// Prediction of a further value from a sample of values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NextValue {
    /// Mean of the sample.
    pub mean: f64,
    /// Standard deviation of the sample.
    pub deviation: f64,
    /// 95 % prediction interval of a further value, if values are normally distributed: mean ± t · deviation · √(1 +
    /// 1/number of values).
    pub interval: [f64; 2],
}

impl NextValue {
    /// Computes the prediction of a further value from `values`, which are at least two nonnegative numbers.
    pub fn of(values: &[f64]) -> Self {
        let number = values.len() as f64;
        let mean = values.iter().sum::<f64>() / number;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (number - 1.0)).sqrt();
        let off = student(values.len() - 1) * deviation * (1.0 + 1.0 / number).sqrt();
        NextValue { mean, deviation, interval: [(mean - off).max(0.0), mean + off] }
    }
}

/// Quantile of Student's t distribution at 97.5 % for 1 to 10 degrees of freedom.
const STUDENT: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];

impl Repeats {
    /// Computes the statistics of the predicted times `times`, which are at least two.
    pub fn of(times: Vec<SimTime>) -> Self {
        let seconds: Vec<f64> = times.iter().map(|time| time.as_seconds()).collect();
        let NextValue { mean: mean_s, deviation: deviation_s, interval: interval_s } = NextValue::of(&seconds);
        Repeats { runs: times.len() as u32, mean_s, deviation_s, interval_s, predicted_ps: times }
    }
}

/// Returns the quantile of Student's t distribution at 97.5 % (beyond the table by the Cornish-Fisher expansion,
/// accurate to a thousandth).
fn student(freedom: usize) -> f64 {
    const Z: f64 = 1.959_964;
    match STUDENT.get(freedom - 1) {
        Some(known) => *known,
        None => {
            let v = freedom as f64;
            let (z3, z5, z7) = (Z.powi(3), Z.powi(5), Z.powi(7));
            Z + (z3 + Z) / (4.0 * v)
                + (5.0 * z5 + 16.0 * z3 + 3.0 * Z) / (96.0 * v * v)
                + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * Z) / (384.0 * v.powi(3))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpsim_base::units::SimSpan;

    #[test]
    fn an_interval_is_students() {
        let at = |ns| SimTime::ZERO + SimSpan::from_ns(ns);
        let of = Repeats::of(vec![at(90), at(100), at(110)]);
        assert!((of.mean_s - 100e-9).abs() < 1e-15 && (of.deviation_s - 10e-9).abs() < 1e-15);
        // 4.303 × 10 × √(4/3) = 49.69.
        assert!((of.interval_s[0] - 50.31e-9).abs() < 1e-11 && (of.interval_s[1] - 149.69e-9).abs() < 1e-11, "{of:?}");
        for (freedom, t) in [(11, 2.201), (20, 2.086), (60, 2.000), (1000, 1.962)] {
            assert!((student(freedom) - t).abs() < 1.5e-3, "{freedom}: {}", student(freedom));
        }
    }
}
