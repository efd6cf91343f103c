//! Steps 1 and 2: the ranges of values in one matrix.

/// How wide a range of values may be; also how far the value of a cluster may be from an element that it stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precision {
    /// Seconds.
    Seconds(f64),
    /// A share of the least value of a range.
    Share(f64),
}

impl Precision {
    /// How much more than `least` the greatest value of a range may be.
    pub fn width(self, least: f64) -> f64 {
        match self {
            Precision::Seconds(seconds) => seconds,
            Precision::Share(share) => share * least,
        }
    }

    /// Whether `value` may stand for `element`. A range's values differ from each other by its width at most, so that
    /// each may stand for all others; a billionth is for the arithmetic.
    pub fn allows(self, value: f64, element: f64) -> bool {
        (value - element).abs() <= self.width(element) * (1.0 + 1e-9)
    }
}

/// The range of each value: numbers from 0 on, in the order of values.
///
/// The least `first` values are the first range, whatever their width: the diagonal, where it is the least. It grows to
/// the right as long as it is no wider than the precision; then it is shifted to the right by one, and stays there if
/// it can grow again. What it leaves on its left are ranges of one value each. The next range begins behind it, with
/// one value: only the diagonal gives a reason for `first`.
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
        // 1 to 2; shifted by one it reaches 2.1, but cannot grow beyond that.
        assert_eq!(ranges(&[5.0, 1.0, 1.5, 2.0, 5.5, 2.1], 1, ONE), [2, 0, 0, 0, 2, 1]);
        assert_eq!(ranges(&[1.0, 1.5, 2.0, 4.0], 1, ONE), [0, 0, 0, 1]);
    }

    #[test]
    fn a_shift_stays_where_the_range_grows() {
        // 0 to 1 has three values, 0.9 to 1.9 has four: the two left of it are ranges of their own.
        let values = [0.0, 0.5, 0.9, 1.2, 1.4, 1.9, 3.5];
        // From [0, 0.5, 0.9]: shifted [0.5, 0.9, 1.2] grows to 1.4; shifted [0.9, 1.2, 1.4, 1.9] cannot grow to 3.5.
        assert_eq!(ranges(&values, 1, ONE), [0, 1, 1, 1, 1, 2, 3]);
    }

    #[test]
    fn the_first_range_has_as_many_values_as_the_matrix_has_ranks() {
        assert_eq!(ranges(&[0.0, 9.0, 3.0, 0.0], 2, ONE), [0, 2, 1, 0]);
        // Even if they are further apart.
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
