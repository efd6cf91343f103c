//! Timers of a described application over all ranks, and the results computed from them.

use serde::{Deserialize, Serialize};

use crate::units::SimSpan;

/// Statistics of the elements of all timers, over the ranks added so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerSums {
    elements: Vec<TimerElement>,
    ranks: u64,
}

/// Statistics of one element of a timer, over the ranks added so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct TimerElement {
    longest: SimSpan,
    shortest: SimSpan,
    sum_ps: u128,
}

impl TimerSums {
    /// Adds the times `times` of one rank, one time per timer element. All ranks have equally many timer elements.
    pub fn add(&mut self, times: impl Iterator<Item = SimSpan>) {
        let element = |time: SimSpan| TimerElement { longest: time, shortest: time, sum_ps: time.as_ps().into() };
        self.merge(TimerSums { elements: times.map(element).collect(), ranks: 1 });
    }

    /// Adds the ranks of `other` to the statistics. The result does not depend on the order of additions.
    pub fn merge(&mut self, other: TimerSums) {
        if self.ranks == 0 {
            *self = other;
            return;
        }
        self.ranks += other.ranks;
        for (mine, theirs) in self.elements.iter_mut().zip(other.elements) {
            mine.longest = mine.longest.max(theirs.longest);
            mine.shortest = mine.shortest.min(theirs.shortest);
            mine.sum_ps += theirs.sum_ps;
        }
    }

    /// For each timer element, the greatest time of a rank in seconds.
    pub fn longest(&self) -> impl Iterator<Item = f64> {
        self.elements.iter().map(|element| element.longest.as_seconds())
    }

    /// For each timer element, the least time of a rank in seconds.
    pub fn shortest(&self) -> impl Iterator<Item = f64> {
        self.elements.iter().map(|element| element.shortest.as_seconds())
    }

    /// For each timer element, the mean time over all ranks in seconds.
    pub fn mean(&self) -> impl Iterator<Item = f64> {
        self.elements.iter().map(|element| element.sum_ps as f64 / self.ranks as f64 * 1e-12)
    }
}

/// A result that a described application computes from its timers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AppResult {
    /// Name of the result in the application file.
    pub name: String,
    /// The value, or the reason why the result has no value. The JSON key is `value` or `error`.
    #[serde(flatten)]
    pub found: AppFigure,
    /// Unit of the value; empty for a plain number.
    pub unit: String,
}

/// Value of an application's result, or the reason for a missing value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AppFigure {
    /// The result is this finite number.
    Value(f64),
    /// Reason why the result has no value, with the source position.
    Error(String),
}

impl AppResult {
    /// Value of the result, if the result has a value.
    pub fn value(&self) -> Option<f64> {
        match self.found {
            AppFigure::Value(value) => Some(value),
            AppFigure::Error(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_add_up_in_any_order() {
        let rank = |ps: [u64; 2]| {
            let mut sums = TimerSums::default();
            sums.add(ps.into_iter().map(SimSpan::from_ps));
            sums
        };
        let ranks = [rank([1_000_000, 9]), rank([3_000_000, 3]), rank([5_000_000, 0])];
        let merged = |order: [usize; 3]| {
            let mut all = TimerSums::default();
            order.into_iter().for_each(|of| all.merge(ranks[of].clone()));
            all
        };
        let all = merged([0, 1, 2]);
        assert_eq!(all, merged([2, 0, 1]));
        assert_eq!(all.longest().collect::<Vec<_>>(), [5e-6, 9e-12]);
        assert_eq!(all.shortest().collect::<Vec<_>>(), [1e-6, 0.0]);
        let means: Vec<f64> = all.mean().collect();
        assert!((means[0] / 3e-6 - 1.0).abs() < 1e-15 && (means[1] / 4e-12 - 1.0).abs() < 1e-15, "{means:?}");
    }
}
