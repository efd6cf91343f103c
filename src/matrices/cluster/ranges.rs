//! Steps 1 and 2 of the clustering: ranges of similar times within one matrix.

/// Greatest width of a range of times. The width is also the greatest distance between the value of a cluster and a
/// matrix element that the cluster value represents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precision {
    /// Width of a range in seconds.
    Seconds(f64),
    /// Width as a fraction of the least value in a range.
    Share(f64),
}

impl Precision {
    /// Returns the width of a range of times whose least value is `least`.
    pub fn width(self, least: f64) -> f64 {
        match self {
            Precision::Seconds(seconds) => seconds,
            Precision::Share(share) => share * least,
        }
    }

    /// Returns true if the cluster value `value` may represent the matrix element `element`. Values of one range differ
    /// at most by the width of the range, so each value may represent all other values of the same range. The
    /// comparison has a tolerance of a billionth for rounding errors.
    pub fn allows(self, value: f64, element: f64) -> bool {
        (value - element).abs() <= self.width(element) * (1.0 + 1e-9)
    }
}

/// Returns the index of the range that contains each value. Ranges are numbered from 0 in the order of increasing
/// values.
///
/// The least `first` values form the first range of values, regardless of the width of the range. If the diagonal of
/// the matrix has the least values, the first range is the diagonal. A range is extended to greater values while the
/// range is no wider than the precision. Then the range is shifted by one value, and the shift is retained if the range
/// can be extended again. A value that a shift leaves behind forms a range of its own. The parameter `first` does not
/// apply to later ranges, which begin with a single value.
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
        // The first range of values is 1 to 2. After a shift by one value the first range of values reaches 2.1, but
        // cannot be extended further.
        assert_eq!(ranges(&[5.0, 1.0, 1.5, 2.0, 5.5, 2.1], 1, ONE), [2, 0, 0, 0, 2, 1]);
        assert_eq!(ranges(&[1.0, 1.5, 2.0, 4.0], 1, ONE), [0, 0, 0, 1]);
    }

    #[test]
    fn a_shift_stays_where_the_range_grows() {
        // The range 0 to 1 has three values and the range 0.9 to 1.9 has four, so the two values below 0.9 form their
        // own ranges.
        let values = [0.0, 0.5, 0.9, 1.2, 1.4, 1.9, 3.5];
        // The value range [0, 0.5, 0.9] is shifted to [0.5, 0.9, 1.2] and extended to 1.4. After a shift to [0.9, 1.2,
        // 1.4, 1.9], the value range cannot be extended to 3.5.
        assert_eq!(ranges(&values, 1, ONE), [0, 1, 1, 1, 1, 2, 3]);
    }

    #[test]
    fn the_first_range_has_as_many_values_as_the_matrix_has_ranks() {
        assert_eq!(ranges(&[0.0, 9.0, 3.0, 0.0], 2, ONE), [0, 2, 1, 0]);
        // The ranges of values are the same if the values are further apart.
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
