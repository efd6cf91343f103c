//! Assignment of a study's axes to figures. One axis of the study is horizontal, one axis selects the colour, and the
//! others select the figure.

use crate::study::{AxisSteps, Combination, Measure, PointResult, Results, Speedup};

use super::canvas::Color;
use super::source::{KINDS, path_kinds};

/// Maximum number of curves in a figure.
const MOST_SERIES: usize = 7;

/// Predicted time of a study's point over all seeds of the point.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PointSample {
    /// Mean predicted time over the seeds, in seconds.
    pub mean: f64,
    /// Least and greatest predicted time over the seeds, in seconds.
    pub range: (f64, f64),
    /// Mean over the seeds of each part of the predicted time, in the order of the panel's parts.
    pub parts: Vec<f64>,
    /// True if the point is the fastest of all points that do the same work.
    pub best: bool,
    /// Number of ranks at the point.
    pub ranks: Option<u64>,
    /// Speed-up over the base of the comparison, if the number of ranks varies.
    pub speedup: Option<Speedup>,
}

/// Points of one colour in a figure: a curve, or bars.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PointSeries {
    /// Text of the values that all points of the curve have in common.
    pub name: String,
    /// Predicted time at each value of the horizontal axis; `None` if the point has no prediction.
    pub samples: Vec<Option<PointSample>>,
}

/// Parts into which a predicted time is divided.
#[derive(Debug, PartialEq)]
pub(super) struct Kinds {
    /// Title of the division into parts.
    pub what: &'static str,
    /// Names and colours of the time parts.
    pub names: &'static [(&'static str, Color)],
}

/// Parts of the critical path, whose sum is the predicted time.
const PATH: Kinds = Kinds { what: "parts of the critical path", names: &KINDS };

/// Content of one figure of a study.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Panel {
    /// Title of the horizontal axis.
    pub title: String,
    /// Labels of the values on the horizontal axis.
    pub steps: Vec<String>,
    /// Values on the horizontal axis as numbers, if all values are numbers.
    pub numbers: Option<(Measure, Vec<f64>)>,
    /// Prefix that the names of all curves have in common.
    pub common: String,
    /// Curves or bar colours of the figure.
    pub series: Vec<PointSeries>,
    /// Parts into which the predicted times are divided.
    pub parts: &'static Kinds,
    /// Values of the study's keys that do not vary in the figure, such as "app.n=64".
    pub fixed: String,
}

/// Returns the machine of a study, such as "on dahu (4, 2, 2)", as far as all points have the same machine and shape.
pub(in crate::report) fn machine(results: &Results) -> String {
    let outcomes = || results.points.iter().filter_map(|point| point.outcome.as_ref());
    let Some(first) = outcomes().next() else { return String::new() };
    let shape = match outcomes().all(|outcome| outcome.nct == first.nct) {
        true => {
            let [nodes, cmps, cores] = first.nct;
            format!(" ({nodes}, {cmps}, {cores})")
        }
        false => String::new(),
    };
    match outcomes().all(|outcome| outcome.platform == first.platform) && !first.platform.is_empty() {
        true => format!(" on {}{shape}", first.platform),
        false => String::new(),
    }
}

/// Returns the contents of a study's figures, in the order of the study's axes.
pub(super) fn panels(results: &Results) -> Vec<Panel> {
    let varies = |axis: &usize| results.axes[*axis].steps.len() > 1 && !results.axes[*axis].is_seed();
    let free: Vec<usize> = (0..results.axes.len()).filter(varies).collect();
    let Some(across) = across(results, &free) else { return Vec::new() };
    let rest: Vec<usize> = free.iter().copied().filter(|&axis| axis != across).collect();
    let colored = rest.iter().copied().filter(|&axis| results.axes[axis].steps.len() <= MOST_SERIES);
    let colored = colored.max_by_key(|&axis| (results.axes[axis].steps.len(), std::cmp::Reverse(axis)));
    let own: Vec<usize> = rest.into_iter().filter(|&axis| Some(axis) != colored).collect();
    let combinations = results.combinations();
    let all: Vec<(Vec<usize>, usize)> = (0..results.points.len()).map(|index| (results.steps(index), index)).collect();

    let mut kinds: Vec<Vec<usize>> =
        all.iter().map(|(steps, _)| own.iter().map(|&axis| steps[axis]).collect()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let panel = |kind: Vec<usize>| {
        let here = |steps: &[usize]| own.iter().zip(&kind).all(|(&axis, &step)| steps[axis] == step);
        let series = |color: usize| {
            let name = colored.map_or(String::new(), |axis| results.axes[axis].steps[color].join(" & "));
            let sample = |step: usize| {
                let wanted = |steps: &[usize]| {
                    here(steps) && steps[across] == step && colored.is_none_or(|axis| steps[axis] == color)
                };
                let indices: Vec<usize> =
                    all.iter().filter(|(steps, _)| wanted(steps)).map(|(_, index)| *index).collect();
                sample(results, &indices, &combinations)
            };
            PointSeries { name, samples: (0..results.axes[across].steps.len()).map(sample).collect() }
        };
        let axis = &results.axes[across];
        let fixed = own.iter().zip(&kind).map(|(&axis, &step)| step_text(&results.axes[axis], step));
        Panel {
            title: title(axis),
            common: colored.map_or(String::new(), |axis| format!("{}:", title(&results.axes[axis]))),
            steps: axis.steps.iter().map(|values| values.join(" & ")).collect(),
            numbers: numbers(axis),
            series: (0..colored.map_or(1, |axis| results.axes[axis].steps.len())).map(series).collect(),
            parts: &PATH,
            fixed: fixed.collect::<Vec<_>>().join("  "),
        }
    };
    kinds.into_iter().map(panel).collect()
}

/// Returns the horizontal axis of a figure: the axis with the most values among the numeric axes of the study, or among
/// all axes if no axis is numeric.
fn across(results: &Results, free: &[usize]) -> Option<usize> {
    let steps = |axis: &usize| results.axes[*axis].steps.len();
    let numeric = free.iter().copied().filter(|&axis| numbers(&results.axes[axis]).is_some() && steps(&axis) > 2);
    let most = |axes: &mut dyn Iterator<Item = usize>| axes.max_by_key(|axis| (steps(axis), std::cmp::Reverse(*axis)));
    most(&mut numeric.clone()).or_else(|| most(&mut free.iter().copied()))
}

/// Returns the values of a study's axis as numbers: the values of the axis's first key, if these are distinct numbers.
fn numbers(axis: &AxisSteps) -> Option<(Measure, Vec<f64>)> {
    let (measure, numbers) = Measure::of(axis.steps.iter().map(|values| values[0].as_str()))?;
    let mut sorted = numbers.clone();
    sorted.sort_by(f64::total_cmp);
    sorted.windows(2).all(|pair| pair[0] < pair[1]).then_some((measure, numbers))
}

/// Returns the title of a study's axis, which lists the keys of the axis. The title also explains the numbers of a
/// machine shape.
fn title(axis: &AxisSteps) -> String {
    let title = axis.keys.join(" & ");
    if title.ends_with(".nct") { format!("{title}: nodes, CMPs per node, cores per CMP") } else { title }
}

/// Returns the label of a value on a study's axis, such as "app.n=64 run.ranks=8".
fn step_text(axis: &AxisSteps, step: usize) -> String {
    let pairs = axis.keys.iter().zip(&axis.steps[step]).map(|(key, value)| format!("{key} = {value}"));
    pairs.collect::<Vec<_>>().join(", ")
}

fn sample(results: &Results, indices: &[usize], combinations: &[Combination]) -> Option<PointSample> {
    let points: Vec<(&PointResult, f64)> = indices
        .iter()
        .filter_map(|&index| Some((&results.points[index], results.points[index].predicted_ps()? as f64 / 1e12)))
        .collect();
    if points.is_empty() {
        return None;
    }
    let times = points.iter().map(|(_, time)| *time);
    let count = points.len() as f64;
    let mut sums = vec![0.0; KINDS.len()];
    for outcome in points.iter().filter_map(|(point, _)| point.outcome.as_ref()) {
        let parts = path_kinds(&outcome.path);
        sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
    }
    let own = combinations.iter().find(|found| found.points.iter().any(|point| indices.contains(point)));
    Some(PointSample {
        mean: times.clone().sum::<f64>() / count,
        range: (times.clone().fold(f64::INFINITY, f64::min), times.fold(0.0, f64::max)),
        parts: sums.into_iter().map(|sum| sum / count).collect(),
        best: own.is_some_and(|own| own.best),
        ranks: own.and_then(|own| own.ranks),
        speedup: own.and_then(|own| own.speedup),
    })
}
