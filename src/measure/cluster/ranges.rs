//! Steps 1 and 2: ranges of values in one matrix.

/// Greatest width of a range of values; also the greatest distance between the value of a cluster and an element that
/// it represents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precision {
    /// Seconds.
    Seconds(f64),
    /// Fraction of the least value of a range.
    Share(f64),
}

impl Precision {
    /// Returns the width of a range whose least value is `least`.
    pub fn width(self, least: f64) -> f64 {
        match self {
            Precision::Seconds(seconds) => seconds,
            Precision::Share(share) => share * least,
        }
    }

    /// Returns whether `value` may represent `element`. Values of a range differ at most by its width, so each may
    /// represent all others; a billionth is for rounding errors.
    pub fn allows(self, value: f64, element: f64) -> bool {
        (value - element).abs() <= self.width(element) * (1.0 + 1e-9)
    }
}

/// Returns the number of each value's range, from 0, in the order of values.
///
/// The least `first` values form the first range, regardless of its width; they are the diagonal if it is the least.
/// The range is extended to the right while it is no wider than the precision. Then it is shifted right by one, and
/// keeps this position if it can be extended again. Each value that it leaves on its left is a range of its own. The
/// next range begins after it with one value, because `first` applies only to the diagonal.
pub fn ranges(values: &[f64], first: usize, precision: Precision) -> Vec<u32> {
    let mut order: Vec<u32> = (0..values.len() as u32).collect();
    order.sort_unstable_by(|a, b| values[*a as usize].total_cmp(&values[*b as usize]).then(a.cmp(b)));
    let value = |place: usize| values[order[place] as usize];
    let fits = |left: usize, place: usize| value(place) - value(left) <= precision.width(value(left));
    let grown = |left: usize, mut right: usize| {
        while right < order.len() && fits(left, right) {
            right += 1;
        }
        right
    };
    let mut labels = vec![0; values.len()];
    let mut label = 0;
    let (mut start, mut least) = (0, first.max(1));
    while start < order.len() {
        let mut left = start;
        let mut right = grown(left, (start + least).min(order.len()));
        while right < order.len() {
            let further = grown(left + 1, right + 1);
            if further == right + 1 {
                break;
            }
            (left, right) = (left + 1, further);
        }
        for place in start..left {
            labels[order[place] as usize] = label;
            label += 1;
        }
        order[left..right].iter().for_each(|element| labels[*element as usize] = label);
        label += 1;
        (start, least) = (right, 1);
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Precision = Precision::Seconds(1.0);

    #[test]
    fn a_range_is_no_wider_than_the_precision() {
        // 1 to 2; after a shift by one the range reaches 2.1, but cannot be extended further.
        assert_eq!(ranges(&[5.0, 1.0, 1.5, 2.0, 5.5, 2.1], 1, ONE), [2, 0, 0, 0, 2, 1]);
        assert_eq!(ranges(&[1.0, 1.5, 2.0, 4.0], 1, ONE), [0, 0, 0, 1]);
    }

    #[test]
    fn a_shift_stays_where_the_range_grows() {
        // 0 to 1 has three values, 0.9 to 1.9 has four: the two values on its left are ranges of their own.
        let values = [0.0, 0.5, 0.9, 1.2, 1.4, 1.9, 3.5];
        // From [0, 0.5, 0.9]: shifted [0.5, 0.9, 1.2] extends to 1.4; shifted [0.9, 1.2, 1.4, 1.9] cannot extend to
        // 3.5.
        assert_eq!(ranges(&values, 1, ONE), [0, 1, 1, 1, 1, 2, 3]);
    }

    #[test]
    fn the_first_range_has_as_many_values_as_the_matrix_has_ranks() {
        assert_eq!(ranges(&[0.0, 9.0, 3.0, 0.0], 2, ONE), [0, 2, 1, 0]);
        // The same holds if the values are further apart.
        assert_eq!(ranges(&[0.0, 9.0, 3.0, 20.0], 2, ONE), [0, 1, 0, 2]);
        assert_eq!(ranges(&[7.0], 4, ONE), [0]);
    }

    #[test]
    fn a_share_scales_with_the_least_value_and_leaves_nothing_with_zeros() {
        let tenth = Precision::Share(0.1);
        assert_eq!(ranges(&[0.0, 0.0, 1e-9, 100.0, 109.0, 111.0], 1, tenth), [0, 0, 1, 2, 2, 3]);
        assert!(tenth.allows(1.05, 1.0) && !tenth.allows(1.2, 1.0) && tenth.allows(0.0, 0.0));
        assert!(!tenth.allows(1e-12, 0.0));
    }

    #[test]
    fn all_values_alike_are_one_range() {
        assert_eq!(ranges(&[2.0; 9], 3, ONE), [0; 9]);
    }
}
