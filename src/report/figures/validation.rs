//! Figures of a validation: the errors of predictions, and also the times if the validation case defines a plot.

use std::collections::BTreeMap;

use crate::study::Measure;
use crate::study::validate::{ValidatedPoint, Validation};

use super::axis::PlotAxis;
use super::canvas::{BLACK, Color, Dash, Figure, GRAY, PALETTE, Place, RED};
use super::frame::{Head, PlotFrame, begin, feet, frame, horizontal, vertical};

/// Maximum number of curves in a figure.
const MOST_CURVES: usize = 7;

/// Horizontal distance in pixels between the dots of different communication models at one point.
const ASIDE: f64 = 5.0;

/// Returns the figures of a validation case.
pub fn validation_figures(validation: &Validation) -> Vec<Figure> {
    errors(validation).into_iter().chain(times(validation)).collect()
}

/// Draws the relative error of every predicted point over its measured time, with the allowed error and the spread of
/// the measured runs.
fn errors(validation: &Validation) -> Option<Figure> {
    let points: Vec<&ValidatedPoint> = validation.points.iter().filter(|point| !point.given).collect();
    let least = points.iter().map(|point| point.measured_s).reduce(f64::min)?;
    let most = points.iter().map(|point| point.measured_s).reduce(f64::max)?;
    let models = 0..validation.models.len().min(PALETTE.len());
    let limit = validation.limit.map(|limit| limit.max_percent);
    let all = points.iter().flat_map(|point| models.clone().map(|model| point.error_percent(model)));
    let least_range = limit.unwrap_or(1.0);
    let (low, high) = all.fold((-least_range, least_range), |(low, high), error| (low.min(error), high.max(error)));
    let dashed = limit.map_or(String::new(), |limit| format!(" dashed: the limit of {limit}%;"));
    let y = PlotAxis::between("predicted / measured − 1 (%)", low, high);
    let x = if most > least * 3.0 {
        PlotAxis::log_time("measured time", least, most)
    } else {
        PlotAxis::time("measured time", most)
    };
    let legend = validation.models.iter().zip(PALETTE).map(|(of, color)| {
        (color, format!("{}: mean {:.1}%, max {:.1}%", of.model, of.all.mean_percent, of.all.max_percent))
    });
    let head = Head {
        title: format!("{}: {} points predicted", validation.case, points.len()),
        more: format!("relative error;{dashed} lines: the range of the measured runs{}", more_models(validation)),
        legend: legend.collect(),
        ..Head::default()
    };
    let (mut figure, top) = begin(&format!("{}-error", validation.case), &head, 400.0);
    let frame = frame(&figure, top, &y, 50.0);
    vertical(&mut figure, frame, &y);
    horizontal(&mut figure, frame, &x);
    let across = |figure: &mut Figure, percent: f64, color: Color, dash: Dash| {
        let height = frame.y(y.at(percent));
        figure.line(vec![(frame.left, height), (frame.right, height)], color, 1.0, dash);
    };
    across(&mut figure, 0.0, BLACK, Dash::Solid);
    for percent in limit.into_iter().flat_map(|limit| [limit, -limit]) {
        across(&mut figure, percent, RED, Dash::Dashed);
    }
    for point in &points {
        // A line shows the spread of the measured runs around their median.
        let at = frame.x(x.at(point.measured_s));
        let place = |seconds: f64| {
            let percent = (seconds / point.measured_s - 1.0) * 100.0;
            (at, frame.y(y.at(percent.clamp(low, high))))
        };
        figure.line(vec![place(point.measured_min_s), place(point.measured_max_s)], GRAY, 1.0, Dash::Solid);
    }
    // The dots of different communication models are drawn next to each other, because equal predictions would cover
    // each other.
    let beside = |model: usize| ASIDE * (model as f64 - (models.len() - 1) as f64 / 2.0);
    for (model, color) in models.clone().zip(PALETTE) {
        for point in &points {
            let at = (frame.x(x.at(point.measured_s)) + beside(model), frame.y(y.at(point.error_percent(model))));
            figure.dot(at, 3.2, color);
        }
    }
    feet(&mut figure, frame);
    Some(figure)
}

/// Returns a note that lists the communication models without a colour in the figure.
fn more_models(validation: &Validation) -> String {
    let more = validation.models.len().saturating_sub(PALETTE.len());
    if more == 0 { String::new() } else { format!("; {more} more in the table") }
}

/// Draws times over a column of the validation case: dots for measured points, rings for points used for calibration,
/// solid lines for mcpsim, and dashed lines for the first other communication model.
fn times(validation: &Validation) -> Vec<Figure> {
    let Some(plot) = &validation.plot else { return Vec::new() };
    let values = |point: &ValidatedPoint, columns: &[String]| {
        columns.iter().filter_map(|column| point.values.get(column).cloned()).collect::<Vec<_>>()
    };
    let mut figures: BTreeMap<Vec<String>, Vec<&ValidatedPoint>> = BTreeMap::new();
    for point in &validation.points {
        figures.entry(values(point, &plot.figures)).or_default().push(point);
    }
    figures.retain(|_, points| points.iter().any(|point| !point.given));
    let several = figures.len() > 1;
    let mut drawn = Vec::new();
    for (kind, points) in figures {
        let mut curves: BTreeMap<Vec<String>, Vec<(f64, &ValidatedPoint)>> = BTreeMap::new();
        for point in points {
            let x = point.values.get(&plot.x).and_then(|cell| cell.parse::<f64>().ok());
            if let Some(x) = x.filter(|x| x.is_finite()) {
                curves.entry(values(point, &plot.curves)).or_default().push((x, point));
            }
        }
        let pairs: Vec<String> =
            plot.figures.iter().zip(&kind).map(|(column, cell)| format!("{column} {cell}")).collect();
        let end = if several { format!("-{}", kind.join("-")) } else { String::new() };
        let name = format!("{}-times{end}", validation.case);
        drawn.extend(curves_of(&name, validation, &plot.x, &pairs.join(", "), curves));
    }
    drawn
}

fn curves_of(
    name: &str,
    validation: &Validation,
    title: &str,
    kind: &str,
    mut curves: BTreeMap<Vec<String>, Vec<(f64, &ValidatedPoint)>>,
) -> Option<Figure> {
    let mut numbers: Vec<f64> = curves.values().flatten().map(|(x, _)| *x).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    let times =
        |point: &ValidatedPoint| point.predicted_s.iter().copied().chain([point.measured_s]).collect::<Vec<_>>();
    let all: Vec<f64> = curves.values().flatten().flat_map(|(_, point)| times(point)).collect();
    let least = all.iter().copied().reduce(f64::min)?;
    let most = all.iter().copied().reduce(f64::max)?;
    let y = if most > least * 4.0 { PlotAxis::log_time("time", least, most) } else { PlotAxis::time("time", most) };
    let x = PlotAxis::values(title, Measure::Number, &numbers);
    let legend = PALETTE.into_iter().zip(curves.keys()).map(|(color, cells)| (color, cells.join(" ")));
    let kind = if kind.is_empty() { String::new() } else { format!(", {kind}") };
    let dashed = validation.models.get(1).map_or(String::new(), |errors| format!("; dashed: {}", errors.model));
    let head = Head {
        title: format!("{}{kind}", validation.case),
        more: format!("dots: measured (small: used for calibration); lines: mcpsim{dashed}"),
        legend: legend.filter(|(_, name)| !name.is_empty()).collect(),
        ..Head::default()
    };
    let (mut figure, top) = begin(name, &head, 420.0);
    let frame: PlotFrame = frame(&figure, top, &y, 50.0);
    vertical(&mut figure, frame, &y);
    horizontal(&mut figure, frame, &x);
    let place = |x_value: f64, seconds: f64| -> Place { (frame.x(x.at(x_value)), frame.y(y.at(seconds))) };
    for (points, color) in curves.values_mut().take(MOST_CURVES).zip(PALETTE) {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (model, dash) in [(1, Dash::Dashed), (0, Dash::Solid)] {
            let along: Vec<Place> =
                points.iter().filter_map(|(x, point)| Some(place(*x, *point.predicted_s.get(model)?))).collect();
            if along.len() > 1 {
                figure.line(along, color, if model == 0 { 1.8 } else { 1.0 }, dash);
            }
        }
        for (x, point) in points.iter() {
            figure.dot(place(*x, point.measured_s), if point.given { 2.4 } else { 4.0 }, color);
        }
    }
    feet(&mut figure, frame);
    Some(figure)
}

#[cfg(test)]
mod tests {
    use super::super::super::validation::tests::sample;
    use super::super::canvas::Mark;
    use super::*;

    #[test]
    fn errors_and_times_are_drawn_with_what_they_say() {
        let figures = validation_figures(&sample());
        let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
        assert_eq!(names, ["sample-error", "sample-times"]);
        let words: Vec<Vec<&str>> = figures.iter().map(|figure| figure.words().collect()).collect();
        for word in ["sample: 2 points predicted", "mcpsim: mean 7.5%, max 10.0%", "-20", "0", "measured time (s)"] {
            assert!(words[0].contains(&word), "{word} in {:?}", words[0]);
        }
        for word in ["a,b", "ranks", "1", "2", "4"] {
            assert!(words[1].contains(&word), "{word} in {:?}", words[1]);
        }
    }

    #[test]
    fn models_that_agree_stand_side_by_side_and_none_shares_a_colour() {
        let mut many = sample();
        let first = many.models[0].clone();
        many.models.resize(9, first);
        many.points.iter_mut().for_each(|point| point.predicted_s = vec![point.predicted_s[0]; 9]);
        let figure = errors(&many).unwrap();
        assert!(figure.words().any(|word| word.ends_with("; 2 more in the table")), "{figure:?}");
        let dot = |mark: &Mark| match mark {
            Mark::Area { corners, color } if corners.len() > 4 => Some((corners[0], *color)),
            _ => None,
        };
        let dots: Vec<(Place, Color)> = figure.marks.iter().filter_map(dot).collect();
        // The test has two points, and as many communication models as colours.
        assert_eq!(dots.len(), 2 * PALETTE.len());
        for (number, (at, color)) in dots.iter().enumerate() {
            let others = &dots[number + 1..];
            assert!(others.iter().all(|(other, _)| other != at), "{at:?} twice");
            assert_eq!(others.iter().filter(|(_, other)| other == color).count(), usize::from(number % 2 == 0));
        }
    }

    #[test]
    fn a_case_whose_points_are_all_given_has_no_figures() {
        let mut all_given = sample();
        all_given.points.iter_mut().for_each(|point| point.given = true);
        assert!(validation_figures(&all_given).is_empty());
    }
}
