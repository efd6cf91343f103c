//! Statistics of repeated measurements: medians, quantiles, the uncertainty of medians, and outliers.

/// Summary of measured values, in the unit of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of values.
    pub count: usize,
    /// Minimum of the values.
    pub least: f64,
    /// Lower quartile of the values.
    pub lower_quartile: f64,
    /// Median of the values.
    pub median: f64,
    /// Upper quartile of the values.
    pub upper_quartile: f64,
    /// Maximum of the values.
    pub most: f64,
    /// Number of values further than three interquartile ranges outside the quartiles (Tukey's "far out" values).
    pub outliers: usize,
    /// Half the width of a 95 % confidence interval of the median, relative to the median.
    pub uncertainty: f64,
}

impl Summary {
    /// Summarises `values`. Returns `None` if there are no values or a value is not finite.
    pub fn of(values: &[f64]) -> Option<Summary> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let [low, median, high] = [0.25, 0.5, 0.75].map(|part| quantile(&sorted, part));
        let far = 3.0 * (high - low);
        let outliers = sorted.iter().filter(|value| **value < low - far || **value > high + far).count();
        Some(Summary {
            count: sorted.len(),
            least: sorted[0],
            lower_quartile: low,
            median,
            upper_quartile: high,
            most: sorted[sorted.len() - 1],
            outliers,
            uncertainty: uncertainty(&sorted, median),
        })
    }
}

/// Returns the quantile `part` (0 to 1) of the `sorted` values by interpolation.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part * (sorted.len() - 1) as f64;
    let (below, rest) = (place.floor() as usize, place.fract());
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + rest * (sorted[above] - sorted[below])
}

/// Returns the relative uncertainty of the median by order statistics. By the binomial law, an interval between two
/// order statistics contains the true median with a known probability, for any distribution of the values.
fn uncertainty(sorted: &[f64], median: f64) -> f64 {
    let count = sorted.len() as f64;
    let reach = 0.98 * count.sqrt();
    let low = (count / 2.0 - reach).floor();
    // There are too few values for a 95 % confidence interval.
    if low < 0.0 || median <= 0.0 {
        return f64::INFINITY;
    }
    let high = ((count / 2.0 + reach).ceil() as usize).min(sorted.len() - 1);
    (sorted[high] - sorted[low as usize]) / 2.0 / median
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_stand_between_values() {
        let summary = Summary::of(&[4.0, 1.0, 3.0, 2.0, 5.0]).unwrap();
        assert_eq!((summary.least, summary.lower_quartile, summary.median), (1.0, 2.0, 3.0));
        assert_eq!((summary.upper_quartile, summary.most, summary.count), (4.0, 5.0, 5));
        assert_eq!(Summary::of(&[1.0, 2.0]).unwrap().median, 1.5);
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn values_far_out_are_counted_and_do_not_move_the_median() {
        // The quartiles of the eleven test values are 10.25 and 11.75, so outliers are above 16.25 or below 5.75.
        let mut values = vec![9.0, 9.5, 10.0, 10.5, 11.0, 11.0, 11.0, 11.5, 12.0, 12.5, 18.5];
        let summary = Summary::of(&values).unwrap();
        assert_eq!((summary.outliers, summary.median), (1, 11.0));
        values[10] = 16.0;
        assert_eq!(Summary::of(&values).unwrap().outliers, 0);
    }

    #[test]
    fn the_median_of_more_values_is_surer() {
        let spread = |count: u32| -> Vec<f64> { (0..count).map(|i| 1.0 + f64::from(i) / f64::from(count)).collect() };
        let [few, more] = [20, 500].map(|count| Summary::of(&spread(count)).unwrap().uncertainty);
        assert!(few > 0.1 && more < 0.05, "{few} {more}");
        assert_eq!(Summary::of(&[2.0; 30]).unwrap().uncertainty, 0.0);
        assert_eq!(Summary::of(&[2.0; 3]).unwrap().uncertainty, f64::INFINITY);
    }
}
