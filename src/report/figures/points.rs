//! A study's points as curves and bars: what is drawn from left to right, what gets a colour, and what a figure of its
//! own.

use crate::study::{AxisSteps, Measure, PointResult, Results};

use super::canvas::Color;
use super::source::{KINDS, path_kinds};

/// More curves than this cannot be told apart.
const MOST_SERIES: usize = 7;

/// The time of a point, over its seeds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PointSample {
    /// The mean, in seconds.
    pub mean: f64,
    /// The least and the greatest.
    pub range: (f64, f64),
    /// Each part, in the order of the panel's, the mean over seeds.
    pub parts: Vec<f64>,
    /// Whether it is the best among those that do the same work.
    pub best: bool,
}

/// A curve, or the bars of one colour.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PointSeries {
    /// What it has in common.
    pub name: String,
    /// At each step of the horizontal axis; none where no point has a prediction.
    pub samples: Vec<Option<PointSample>>,
}

/// The parts of a time.
#[derive(Debug, PartialEq)]
pub(super) struct Kinds {
    /// What they are parts of.
    pub what: &'static str,
    /// Their names and colours.
    pub names: &'static [(&'static str, Color)],
}

/// Of the critical path: their sum is the time.
const PATH: Kinds = Kinds { what: "parts of the critical path", names: &KINDS };

/// What one figure shows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Panel {
    /// What the horizontal axis is.
    pub title: String,
    /// Its steps, as they are read.
    pub steps: Vec<String>,
    /// As numbers, if they are.
    pub numbers: Option<(Measure, Vec<f64>)>,
    /// What the names of series begin with.
    pub common: String,
    /// What is drawn.
    pub series: Vec<PointSeries>,
    /// What the parts of the time are.
    pub parts: &'static Kinds,
    /// The values of the keys that each figure has its own of: "app.n=64".
    pub fixed: String,
}

/// The figures of a study, in the order of its axes.
pub(super) fn panels(results: &Results) -> Vec<Panel> {
    let varies = |axis: &usize| results.axes[*axis].steps.len() > 1 && !results.axes[*axis].is_seed();
    let free: Vec<usize> = (0..results.axes.len()).filter(varies).collect();
    let Some(across) = across(results, &free) else { return Vec::new() };
    let rest: Vec<usize> = free.iter().copied().filter(|&axis| axis != across).collect();
    let colored = rest.iter().copied().filter(|&axis| results.axes[axis].steps.len() <= MOST_SERIES);
    let colored = colored.max_by_key(|&axis| (results.axes[axis].steps.len(), std::cmp::Reverse(axis)));
    let own: Vec<usize> = rest.into_iter().filter(|&axis| Some(axis) != colored).collect();
    let combinations = results.combinations();
    let best: Vec<usize> = combinations.iter().filter(|found| found.best).map(|found| found.points[0]).collect();
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
                sample(results, &indices, &best)
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

/// The axis from left to right: of those that are numbers the one with most steps, else of all.
fn across(results: &Results, free: &[usize]) -> Option<usize> {
    let steps = |axis: &usize| results.axes[*axis].steps.len();
    let numeric = free.iter().copied().filter(|&axis| numbers(&results.axes[axis]).is_some() && steps(&axis) > 2);
    let most = |axes: &mut dyn Iterator<Item = usize>| axes.max_by_key(|axis| (steps(axis), std::cmp::Reverse(*axis)));
    most(&mut numeric.clone()).or_else(|| most(&mut free.iter().copied()))
}

/// The steps of an axis by the values of its first key, if these are numbers that all differ.
fn numbers(axis: &AxisSteps) -> Option<(Measure, Vec<f64>)> {
    let (measure, numbers) = Measure::of(axis.steps.iter().map(|values| values[0].as_str()))?;
    let mut sorted = numbers.clone();
    sorted.sort_by(f64::total_cmp);
    sorted.windows(2).all(|pair| pair[0] < pair[1]).then_some((measure, numbers))
}

/// The keys of an axis, and what the numbers of a shape are.
fn title(axis: &AxisSteps) -> String {
    let title = axis.keys.join(" & ");
    if title.ends_with(".nct") { format!("{title}: nodes, CMPs a node, cores a CMP") } else { title }
}

/// "app.n=64 run.ranks=8".
fn step_text(axis: &AxisSteps, step: usize) -> String {
    let pairs = axis.keys.iter().zip(&axis.steps[step]).map(|(key, value)| format!("{key} = {value}"));
    pairs.collect::<Vec<_>>().join(", ")
}

fn sample(results: &Results, indices: &[usize], best: &[usize]) -> Option<PointSample> {
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
    Some(PointSample {
        mean: times.clone().sum::<f64>() / count,
        range: (times.clone().fold(f64::INFINITY, f64::min), times.fold(0.0, f64::max)),
        parts: sums.into_iter().map(|sum| sum / count).collect(),
        best: best.iter().any(|best| indices.contains(best)),
    })
}
