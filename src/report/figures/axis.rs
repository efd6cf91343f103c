//! Axes of figures: positions of values, tick marks and their labels.

use crate::study::Measure;
use crate::units::{Bandwidth, Bytes, SimSpan};

/// Approximate number of tick marks on a linear axis of a figure.
const MARKS: f64 = 6.5;

/// Mapping from values to positions on an axis of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spacing {
    Linear,
    Log,
}

/// Axis of a figure, from its least to its greatest value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlotAxis {
    pub title: String,
    spacing: Spacing,
    from: f64,
    to: f64,
    /// Values at which the axis has tick marks, and the labels of the marks.
    pub marks: Vec<(f64, String)>,
}

impl PlotAxis {
    /// Returns a figure axis for seconds from zero to slightly above `most`, in a suitable unit.
    pub fn time(title: &str, most: f64) -> PlotAxis {
        let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"), (1e-12, "ps")];
        let (unit, name) = units.into_iter().find(|(unit, _)| most >= *unit).unwrap_or((1.0, "s"));
        PlotAxis::from_zero(format!("{title} ({name})"), most, unit)
    }

    /// Returns a figure axis for picoseconds from zero to slightly above `most`, in a suitable unit.
    pub fn picoseconds(title: &str, most: f64) -> PlotAxis {
        let units = [(1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns"), (1.0, "ps")];
        let (unit, name) = units.into_iter().find(|(unit, _)| most >= *unit).unwrap_or((1.0, "ps"));
        PlotAxis::from_zero(format!("{title} ({name})"), most, unit)
    }

    /// Returns a figure axis for bytes from zero, in a suitable unit.
    pub fn volume(title: &str, most: f64) -> PlotAxis {
        let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let power = (0..units.len()).rev().find(|&power| most >= 1024f64.powi(power as i32)).unwrap_or(0);
        PlotAxis::from_zero(format!("{title} ({})", units[power]), most, 1024f64.powi(power as i32))
    }

    /// Returns a figure axis for counts from zero.
    pub fn count(title: &str, most: f64) -> PlotAxis {
        let units = [(1e9, " (billions)"), (1e6, " (millions)"), (1e4, " (thousands)")];
        let (unit, name) = units.into_iter().find(|(unit, _)| most >= *unit).unwrap_or((1.0, ""));
        let unit = if unit == 1e4 { 1e3 } else { unit };
        PlotAxis::from_zero(format!("{title}{name}"), most, unit)
    }

    /// Returns a linear figure axis between two numbers of either sign.
    pub fn between(title: &str, least: f64, most: f64) -> PlotAxis {
        let step = nice_step((most - least) / MARKS);
        let room = (most - least) * 0.05;
        let (from, to) = (least - room, most + room);
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let marks = (from / step).ceil() as i64..=(to / step).floor() as i64;
        let marks = marks.map(|index| (index as f64 * step, format!("{:.decimals$}", index as f64 * step))).collect();
        PlotAxis { title: title.to_owned(), spacing: Spacing::Linear, from, to, marks }
    }

    fn from_zero(title: String, most: f64, unit: f64) -> PlotAxis {
        let step = nice_step(most / unit / MARKS);
        let to = if most > 0.0 { most * 1.06 } else { step * unit };
        let count = (to / unit / step * (1.0 + 1e-9)).floor() as usize;
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let decimals = if (step * 10f64.powi(decimals as i32)).fract() > 1e-6 { decimals + 1 } else { decimals };
        let mark = |index: usize| (index as f64 * step * unit, format!("{:.decimals$}", index as f64 * step));
        let marks: Vec<(f64, String)> = (0..=count).map(mark).collect();
        PlotAxis { title, spacing: Spacing::Linear, from: 0.0, to, marks }
    }

    /// Returns a logarithmic figure axis between two positive times in seconds.
    pub fn log_time(title: &str, least: f64, most: f64) -> PlotAxis {
        let (from, to) = (least / 1.15, most * 1.15);
        let wide = to / from > 300.0;
        let factors: &[f64] = if wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let powers = from.log10().floor() as i32..=to.log10().ceil() as i32;
        let values = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
        let marks = values.filter(|value| (from..=to).contains(value)).map(|value| (value, time_text(value))).collect();
        PlotAxis { title: title.to_owned(), spacing: Spacing::Log, from, to, marks }
    }

    /// Returns a figure axis for the values that an axis of a study has. Tick marks that would overlap are omitted.
    pub fn values(title: &str, measure: Measure, values: &[f64]) -> PlotAxis {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let spacing = if are_ratios(values) { Spacing::Log } else { Spacing::Linear };
        let (from, to) = match spacing {
            Spacing::Log => (least / (most / least).powf(0.04), most * (most / least).powf(0.04)),
            Spacing::Linear if least == most => (least - 1.0, most + 1.0),
            Spacing::Linear => (least - (most - least) * 0.04, most + (most - least) * 0.04),
        };
        let marks = values.iter().map(|&value| (value, value_text(measure, value))).collect();
        PlotAxis { title: title.to_owned(), spacing, from, to, marks }
    }

    /// Returns the figure axis, extended so that it contains the values `least` and `most`.
    pub fn containing(self, least: f64, most: f64) -> PlotAxis {
        PlotAxis { from: self.from.min(least * 0.97), to: self.to.max(most * 1.03), ..self }
    }

    /// Returns the figure axis without the labels of its tick marks.
    pub fn without_words(&self) -> PlotAxis {
        let marks = self.marks.iter().map(|(value, _)| (*value, String::new())).collect();
        PlotAxis { title: String::new(), marks, ..self.clone() }
    }

    /// Returns the position of `value` on the figure axis: 0 at the start, 1 at the end.
    pub fn at(&self, value: f64) -> f64 {
        match self.spacing {
            Spacing::Linear => (value - self.from) / (self.to - self.from),
            Spacing::Log => (value / self.from).ln() / (self.to / self.from).ln(),
        }
    }
}

/// Returns the smallest number of at least `step` that is 1, 2, 2.5 or 5 times a power of ten.
fn nice_step(step: f64) -> f64 {
    if step.is_nan() || step <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|factor| factor * power >= step * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// Returns true if the values span large ratios and therefore suit a logarithmic axis.
pub(super) fn are_ratios(values: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    let (Some(&least), Some(&most)) = (sorted.first(), sorted.last()) else { return false };
    if least <= 0.0 || sorted.len() < 3 {
        return least > 0.0 && most / least > 20.0;
    }
    let spread = |steps: Vec<f64>| {
        let mean = steps.iter().sum::<f64>() / steps.len() as f64;
        steps.iter().map(|step| (step / mean - 1.0).powi(2)).sum::<f64>()
    };
    let ratios = spread(sorted.windows(2).map(|pair| (pair[1] / pair[0]).ln()).collect());
    let distances = spread(sorted.windows(2).map(|pair| pair[1] - pair[0]).collect());
    most / least > 4.0 && ratios < distances
}

fn time_text(seconds: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"), (1e-12, "ps")];
    let (unit, name) = units.into_iter().find(|(unit, _)| seconds >= unit * (1.0 - 1e-9)).unwrap_or((1e-12, "ps"));
    format!("{} {name}", short(seconds / unit))
}

/// Returns the shortest text of a value on a study's axis.
pub(super) fn value_text(measure: Measure, value: f64) -> String {
    let span = |text: String| tidy(&text);
    match measure {
        Measure::Number => short(value),
        Measure::Time => span(SimSpan::from_seconds(value).map_or(short(value), |span| format!("{span:.3}"))),
        Measure::Size => span(format!("{:.3}", Bytes::new(value as u64))),
        Measure::Bandwidth => Bandwidth::new(value as u64).map_or("0".to_owned(), |rate| span(format!("{rate:.3}"))),
        Measure::Rate => tidy(&super::super::numbers::rate(value, "")),
    }
}

/// Formats a number with three significant digits, without trailing zeros.
fn short(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e7).contains(&value.abs()) {
        return format!("{value:.1e}");
    }
    let digits = if value == 0.0 { 0 } else { (2 - value.abs().log10().floor() as i32).max(0) as usize };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Shortens the text of a quantity, such as "1.000 us" to "1 us".
fn tidy(text: &str) -> String {
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(axis: &PlotAxis) -> Vec<&str> {
        axis.marks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn axes_from_zero_have_a_few_round_marks_and_end_above_the_most() {
        let axis = PlotAxis::time("time", 3.075e-3);
        assert_eq!(
            (axis.title.as_str(), words(&axis)),
            ("time (ms)", vec!["0.0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0"])
        );
        assert!((axis.at(3.075e-3) - 1.0 / 1.06).abs() < 1e-12);
        assert_eq!(words(&PlotAxis::time("t", 0.9e-6)), ["0", "200", "400", "600", "800"]);
        assert_eq!(words(&PlotAxis::count("n", 1200.0)), ["0", "200", "400", "600", "800", "1000", "1200"]);
        let axis = PlotAxis::count("n", 2.2e6);
        assert_eq!((axis.title.as_str(), words(&axis)), ("n (millions)", vec!["0.0", "0.5", "1.0", "1.5", "2.0"]));
        let axis = PlotAxis::volume("v", 7.5 * 1048576.0);
        assert_eq!((axis.title.as_str(), words(&axis)), ("v (MiB)", vec!["0", "2", "4", "6"]));
        for nothing in [PlotAxis::count("n", 0.0), PlotAxis::time("t", 0.0), PlotAxis::volume("v", 0.0)] {
            assert!(nothing.marks.len() == 2 && nothing.at(0.0) == 0.0, "{nothing:?}");
        }
    }

    #[test]
    fn axes_of_ratios_are_logarithmic() {
        assert!(are_ratios(&[1.0, 2.0, 4.0, 8.0]) && are_ratios(&[50.0, 1.0, 7.0]));
        assert!(
            !are_ratios(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) && !are_ratios(&[0.0, 1.0, 10.0]) && !are_ratios(&[1.0, 2.0])
        );
        let axis = PlotAxis::log_time("t", 1e-6, 1e-3);
        assert_eq!(words(&axis), ["1 us", "10 us", "100 us", "1 ms"]);
        assert_eq!(words(&PlotAxis::log_time("t", 1.1e-3, 9e-3)), ["1 ms", "2 ms", "5 ms", "10 ms"]);
    }

    #[test]
    fn values_are_said_shortly() {
        for (measure, value, text) in [
            (Measure::Number, 1024.0, "1024"),
            (Measure::Number, 0.25, "0.25"),
            (Measure::Time, 7.07107e-6, "7.07 us"),
            (Measure::Time, 50e-6, "50 us"),
            (Measure::Size, 65536.0, "64 KiB"),
            (Measure::Bandwidth, 1.25e9, "1.25 GB/s"),
        ] {
            assert_eq!(value_text(measure, value), text);
        }
    }
}
