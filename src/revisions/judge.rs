//! Significance of the difference between two sets of runs: Welch's test.

use puruspe::betai;
use serde::{Deserialize, Serialize};

/// Result of a significance test between two revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The change between two revisions does not exceed noise.
    Same,
    /// The compared value has increased.
    More,
    /// The compared value has decreased.
    Less,
    /// No significance test is possible, because a single run has no variance.
    Untested,
}

/// Change of a measured value from one revision to the next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RevisionChange {
    /// Change of the mean value in percent of the previous mean.
    pub percent: f64,
    /// Probability that chance alone causes such a change or a greater one, multiplied by the number of comparisons
    /// (Bonferroni). The probability is `None` if the runs have no variance or there is only one run per revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// Result of the significance test.
    pub verdict: Verdict,
}

impl RevisionChange {
    /// Tests if the mean of a value has changed. `comparisons` is the number of tests, for the correction of multiple
    /// tests.
    pub fn of(
        before: &[f64],
        after: &[f64],
        alpha: f64,
        least_percent: f64,
        comparisons: usize,
    ) -> Option<RevisionChange> {
        let (old, new) = (mean(before)?, mean(after)?);
        let percent = if old == new { 0.0 } else { (new / old - 1.0) * 100.0 };
        let direction = if new > old { Verdict::More } else { Verdict::Less };
        let single = before.len() < 2 || after.len() < 2;
        let exact = variance(before) == 0.0 && variance(after) == 0.0;
        // Simulated times without variance are exact, so every difference between such times counts.
        if percent.abs() < least_percent || old == new {
            let p =
                if exact || single { None } else { welch(before, after).map(|p| (p * comparisons as f64).min(1.0)) };
            return Some(RevisionChange {
                percent,
                p,
                verdict: if single && old != new { Verdict::Untested } else { Verdict::Same },
            });
        }
        if single {
            return Some(RevisionChange { percent, p: None, verdict: Verdict::Untested });
        }
        if exact {
            return Some(RevisionChange { percent, p: None, verdict: direction });
        }
        let p = (welch(before, after)? * comparisons as f64).min(1.0);
        Some(RevisionChange { percent, p: Some(p), verdict: if p < alpha { direction } else { Verdict::Same } })
    }
}

fn mean(sample: &[f64]) -> Option<f64> {
    (!sample.is_empty()).then(|| sample.iter().sum::<f64>() / sample.len() as f64)
}

/// Returns the variance of a sample.
fn variance(sample: &[f64]) -> f64 {
    let Some(mean) = mean(sample).filter(|_| sample.len() > 1) else { return 0.0 };
    if sample.iter().all(|value| *value == sample[0]) {
        return 0.0;
    }
    sample.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (sample.len() - 1) as f64
}

/// Returns the two-sided p value of Welch's t test (1947) for two samples with unequal variances. Returns `None` if a
/// sample has fewer than two values, or both samples have no variance.
pub fn welch(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let (va, vb) = (variance(a) / a.len() as f64, variance(b) / b.len() as f64);
    if va + vb == 0.0 {
        return None;
    }
    let t = (mean(a)? - mean(b)?) / (va + vb).sqrt();
    let freedom = (va + vb).powi(2) / (va.powi(2) / (a.len() - 1) as f64 + vb.powi(2) / (b.len() - 1) as f64);
    // Student's distribution is computed from the incomplete beta function.
    Some(betai(freedom / 2.0, 0.5, freedom / (freedom + t * t)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn welch_is_that_of_the_tables() {
        // Student's t with 10 degrees of freedom has the two-sided 5 % point 2.228. Equal sample sizes n and variances
        // yield 2 (n - 1) = 10 degrees of freedom.
        let a = [-1.0, 1.0, -1.0, 1.0, -1.0, 1.0];
        let step = 2.228_138_85 * (2.0f64 * 1.2 / 6.0).sqrt();
        let b: Vec<f64> = a.iter().map(|value| value + step).collect();
        assert!((welch(&a, &b).unwrap() - 0.05).abs() < 1e-6, "{:?}", welch(&a, &b));
        assert_eq!((welch(&[1.0], &b), welch(&[1.0, 1.0], &[2.0, 2.0])), (None, None));
    }

    #[test]
    fn a_tenth_more_is_found_in_noise_of_a_hundredth_and_noise_is_not() {
        let noise = [0.99, 1.003, 1.01, 0.997, 1.0];
        let slower: Vec<f64> = noise.iter().map(|value| value * 1.1).collect();
        let change = RevisionChange::of(&noise, &slower, 0.01, 0.5, 5).unwrap();
        assert!(change.verdict == Verdict::More && (change.percent - 10.0).abs() < 1e-9 && change.p.unwrap() < 1e-4);
        let other = [1.005, 0.992, 1.001, 1.012, 0.999];
        assert_eq!(RevisionChange::of(&noise, &other, 0.01, 0.0, 5).unwrap().verdict, Verdict::Same);
        assert_eq!(RevisionChange::of(&slower, &noise, 0.01, 0.5, 5).unwrap().verdict, Verdict::Less);
    }

    #[test]
    fn without_scatter_a_difference_is_one_and_one_run_is_not_tested() {
        let change = |a: &[f64], b: &[f64]| RevisionChange::of(a, b, 0.01, 0.5, 1).unwrap().verdict;
        assert_eq!(change(&[2.0, 2.0], &[2.02, 2.02]), Verdict::More);
        assert_eq!(change(&[2.0, 2.0], &[2.0, 2.0]), Verdict::Same);
        assert_eq!(change(&[2.0, 2.0], &[2.001, 2.001]), Verdict::Same);
        assert_eq!(change(&[2.0], &[3.0]), Verdict::Untested);
        assert_eq!(change(&[2.0], &[2.0]), Verdict::Same);
        assert_eq!(RevisionChange::of(&[], &[1.0], 0.01, 0.5, 1), None);
    }
}
