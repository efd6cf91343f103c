//! Conversion of a study's axis values to numbers, for tables that programs read and for the axes of figures.

use crate::units::{Bandwidth, Bytes, Rate, SimSpan, split_quantity};

/// Kind of quantity on a study's axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// A plain number without a unit.
    Number,
    /// The quantity is a time in seconds.
    Time,
    /// The quantity is a size in bytes.
    Size,
    /// The quantity is a bandwidth in bytes per second.
    Bandwidth,
    /// The quantity is a rate in operations per second.
    Rate,
}

impl Measure {
    /// Returns the suffix that states the unit in a column name; empty for plain numbers.
    pub fn suffix(self) -> &'static str {
        match self {
            Measure::Number => "",
            Measure::Time => "_s",
            Measure::Size => "_bytes",
            Measure::Bandwidth => "_bytes_per_s",
            Measure::Rate => "_per_s",
        }
    }

    /// Parses `text` as a quantity of this kind.
    fn read(self, text: &str) -> Option<f64> {
        match self {
            Measure::Number => text.parse().ok().filter(|number: &f64| number.is_finite()),
            Measure::Time => text.parse().ok().map(|span: SimSpan| span.as_ps() as f64 / 1e12),
            Measure::Size => text.parse().ok().map(|size: Bytes| size.get() as f64),
            Measure::Bandwidth => text.parse().ok().map(|bandwidth: Bandwidth| bandwidth.get() as f64),
            Measure::Rate => text.parse().ok().map(Rate::get),
        }
    }

    /// Returns the kind of quantity that all `texts` have in common, and the numbers of the texts; `None` without a
    /// common kind.
    pub fn of<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Option<(Measure, Vec<f64>)> {
        let all = [Measure::Number, Measure::Time, Measure::Size, Measure::Bandwidth, Measure::Rate];
        let read = |measure: Measure| {
            let numbers: Option<Vec<f64>> = texts.clone().map(|text| measure.read(text)).collect();
            numbers.filter(|numbers| !numbers.is_empty()).map(|numbers| (measure, numbers))
        };
        // Every quantity in a text, such as "0 s", starts with a digit; other text is not a quantity.
        if texts.clone().any(|text| split_quantity(text.trim_start_matches('-')).is_none()) {
            return None;
        }
        all.into_iter().find_map(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> Option<(Measure, Vec<f64>)> {
        Measure::of(texts.iter().copied())
    }

    #[test]
    fn values_of_one_kind_have_a_measure() {
        assert_eq!(of(&["1", "2.5", "-3"]), Some((Measure::Number, vec![1.0, 2.5, -3.0])));
        assert_eq!(of(&["1 us", "2ms"]), Some((Measure::Time, vec![1e-6, 2e-3])));
        assert_eq!(of(&["1 KiB", "512"]), Some((Measure::Size, vec![1024.0, 512.0])));
        assert_eq!(of(&["8 Gbit/s", "2 GB/s"]), Some((Measure::Bandwidth, vec![1e9, 2e9])));
        assert_eq!(of(&["8 Gflop/s"]), Some((Measure::Rate, vec![8e9])));
        assert_eq!(of(&["16,1,1", "8,2,1"]), None);
        assert_eq!(of(&["S", "W"]), None);
        assert_eq!(of(&["1 us", "2 GB"]), None);
        assert_eq!(of(&["inf"]), None);
        assert_eq!(of(&[]), None);
    }
}
