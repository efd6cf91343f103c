//! One-dimensional fits: search for the parameter value whose predicted times are nearest to the measured times.

/// Number of iterations of the search, which reduce a search interval of 1 : 10^6 to a hundred-thousandth.
const STEPS: usize = 30;

/// Golden-section search (Kiefer 1953) for the minimum of a unimodal function of ln x. The caller evaluates the
/// function, so that several searches can advance concurrently.
#[derive(Clone, Debug)]
pub(super) struct GoldenSection {
    /// Logarithms of the bounds of the search interval.
    ends: (f64, f64),
    whole: (f64, f64),
    /// Interior points of the search interval, each with its function value.
    inside: [Option<(f64, f64)>; 2],
    steps: usize,
    /// Least and greatest function value among the parameter values that were evaluated.
    range: (f64, f64),
}

/// Ratio of the golden section, (√5 − 1) / 2.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

impl GoldenSection {
    /// Creates a search for a parameter between two positive values.
    pub fn new(least: f64, most: f64) -> GoldenSection {
        let ends = (least.ln(), most.ln());
        GoldenSection { ends, whole: ends, inside: [None; 2], steps: 0, range: (f64::INFINITY, f64::NEG_INFINITY) }
    }

    /// Returns the next parameter value to evaluate; `None` when the search has ended.
    pub fn next(&self) -> Option<f64> {
        let (low, high) = self.ends;
        let place = match self.inside {
            [None, _] => high - GOLDEN * (high - low),
            [_, None] => low + GOLDEN * (high - low),
            _ => return None,
        };
        (self.steps < STEPS).then(|| place.exp())
    }

    /// Reports the function value of the parameter value that [`GoldenSection::next`] returned.
    pub fn tell(&mut self, value: f64, result: f64) {
        let found = Some((value.ln(), result));
        self.range = (self.range.0.min(result), self.range.1.max(result));
        if self.inside[0].is_none() {
            self.inside[0] = found
        } else {
            self.inside[1] = found
        }
        if let [Some(left), Some(right)] = self.inside {
            self.steps += 1;
            if left.1 < right.1 {
                self.ends.1 = right.0;
                self.inside = [None, Some(left)];
            } else {
                self.ends.0 = left.0;
                self.inside = [Some(right), None];
            }
        }
    }

    /// Returns the best parameter value that was evaluated.
    pub fn best(&self) -> f64 {
        ((self.ends.0 + self.ends.1) / 2.0).exp()
    }

    /// Returns true if the function had the same value for all parameter values.
    pub fn is_flat(&self) -> bool {
        self.range.0 == self.range.1
    }

    /// Returns true if the best parameter value is at a bound of the search interval, so that a better value may be
    /// outside the interval.
    pub fn at_an_end(&self) -> bool {
        let near = (self.whole.1 - self.whole.0) * 1e-3;
        self.ends.0 - self.whole.0 < near || self.whole.1 - self.ends.1 < near
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn least(from: f64, to: f64, f: impl Fn(f64) -> f64) -> (f64, bool, usize) {
        let mut search = GoldenSection::new(from, to);
        let mut asked = 0;
        while let Some(value) = search.next() {
            search.tell(value, f(value));
            asked += 1;
        }
        (search.best(), search.at_an_end(), asked)
    }

    #[test]
    fn the_least_is_found_to_a_hundred_thousandth() {
        for wanted in [1e-4, 0.3, 7.0, 950.0] {
            let (found, at_an_end, asked) = least(1e-5, 1e4, |x: f64| (x / wanted).ln().powi(2));
            assert!((found / wanted - 1.0).abs() < 1e-5, "{found} for {wanted}");
            assert!(!at_an_end && asked <= STEPS + 1, "{asked}");
        }
    }

    #[test]
    fn a_best_value_beyond_the_interval_is_noticed() {
        for beyond in [0.5, 50.0] {
            assert!(least(1.0, 10.0, |x: f64| (x / beyond).ln().powi(2)).1);
        }
    }
}
