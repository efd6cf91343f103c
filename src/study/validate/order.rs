//! Comparison of the predicted order of a case's points with the measured order. The order matters if a user selects
//! the fastest point by predictions.

use serde::Serialize;

/// Agreement of a communication model's order of points with the measured order, in each group of at least three
/// points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OrderFound {
    /// Number of groups of points with at least three points.
    pub groups: usize,
    /// Number of groups in which the point with the least predicted time also has the least measured time.
    pub best_found: usize,
    /// Largest excess of the measured time of the point with the least predicted time over the least measured time of
    /// its group, in percent.
    pub lost_percent: f64,
    /// Spearman's rank correlation of predicted and measured times, as the mean over groups.
    pub rank_correlation: f64,
}

impl OrderFound {
    /// Compares the predicted and the measured order in the groups of points `groups`, each with its measured and
    /// predicted time. Returns `None` if no group has three points.
    pub fn of(groups: impl IntoIterator<Item = Vec<(f64, f64)>>) -> Option<OrderFound> {
        let mut found = OrderFound { groups: 0, best_found: 0, lost_percent: 0.0, rank_correlation: 0.0 };
        for points in groups.into_iter().filter(|points| points.len() >= 3) {
            let least = |of: fn(&(f64, f64)) -> f64| points.iter().min_by(|a, b| of(a).total_cmp(&of(b)));
            let (Some(fastest), Some(chosen)) = (least(|point| point.0), least(|point| point.1)) else { continue };
            let lost = (chosen.0 / fastest.0 - 1.0) * 100.0;
            found.groups += 1;
            found.best_found += usize::from(lost == 0.0);
            found.lost_percent = found.lost_percent.max(lost);
            found.rank_correlation += spearman(&points);
        }
        found.rank_correlation /= found.groups.max(1) as f64;
        (found.groups > 0).then_some(found)
    }
}

/// Returns Spearman's rank correlation of predicted and measured times. Equal times get the mean of their positions in
/// the order.
fn spearman(points: &[(f64, f64)]) -> f64 {
    let ranks = |of: fn(&(f64, f64)) -> f64| -> Vec<f64> {
        let rank = |point: &(f64, f64)| {
            let below = points.iter().filter(|other| of(other) < of(point)).count() as f64;
            let equal = points.iter().filter(|other| of(other) == of(point)).count() as f64;
            below + (equal - 1.0) / 2.0
        };
        points.iter().map(rank).collect()
    };
    let (a, b) = (ranks(|point| point.0), ranks(|point| point.1));
    let middle = (points.len() - 1) as f64 / 2.0;
    let product = |x: &[f64], y: &[f64]| -> f64 { x.iter().zip(y).map(|(x, y)| (x - middle) * (y - middle)).sum() };
    let scale = (product(&a, &a) * product(&b, &b)).sqrt();
    if scale > 0.0 { product(&a, &b) / scale } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_is_found_or_something_is_lost() {
        let right = vec![(1.0, 1.1), (2.0, 2.5), (3.0, 2.9)];
        let wrong = vec![(1.0, 2.0), (1.1, 1.9), (3.0, 4.0), (4.0, 5.0)];
        let few = vec![(1.0, 9.0), (2.0, 1.0)];
        let found = OrderFound::of([right.clone(), wrong, few.clone()]).unwrap();
        assert_eq!((found.groups, found.best_found), (2, 1));
        assert!((found.lost_percent - 10.0).abs() < 1e-9);
        // The rank correlations of the two groups are 1 and 1 - 6 × 2 / (4 × 15) = 0.8.
        assert!((found.rank_correlation - 0.9).abs() < 1e-12, "{found:?}");
        assert_eq!(OrderFound::of([few]), None);
        let reversed = right.into_iter().map(|(measured, predicted)| (measured, -predicted)).collect();
        assert_eq!(OrderFound::of([reversed]).unwrap().rank_correlation, -1.0);
    }
}
