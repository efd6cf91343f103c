//! Figures of a study. The predicted time is drawn as curves over numeric values, and as bars over other values. The
//! figures mark the best point of the study.

use crate::units::SimTime;

use super::super::numbers::count;
use super::axis::{PlotAxis, value_text};
use super::canvas::{Anchor, BLACK, Color, Dash, Figure, GRAY, PALETTE, Place, RED, Style};
use super::frame::{BarWords, Head, PlotFrame, begin, dashes, feet, frame, horizontal, vertical};
use super::points::{Panel, PointSample, machine, panels};
use super::run::stack;
use super::scaling;
use crate::study::Results;

/// Largest number of time figures of a study.
const MOST_PANELS: usize = 24;
const TITLE: &str = "predicted time";

/// Returns the figures of a study. One figure shows predicted times for each combination of the axes that are neither
/// horizontal nor selected by colour. If the figure of times has only one colour, a second figure shows the parts of
/// the predicted times.
pub(super) fn figures(results: &Results) -> Vec<Figure> {
    let panels = panels(results);
    let several = panels.len() > 1;
    let title = format!("{}: {} points{}", results.study, count(results.points.len() as u64), machine(results));
    let mut figures = Vec::new();
    for (number, panel) in (1..).zip(panels.iter().take(MOST_PANELS)) {
        let name = |what: &str| if several { format!("study-{what}-{number}") } else { format!("study-{what}") };
        figures.extend(match &panel.numbers {
            Some(_) => curves(&name("time"), &title, panel),
            None => bars(&name("time"), &title, panel),
        });
        figures.extend(scaling::speedup(&name("speedup"), &title, panel));
        figures.extend(scaling::efficiency(&name("efficiency"), &title, panel));
        if panel.series.len() == 1 {
            figures.extend(parts(&name("parts"), &title, panel));
        }
    }
    figures
}

fn samples(panel: &Panel) -> impl Iterator<Item = &PointSample> {
    panel.series.iter().flat_map(|series| &series.samples).flatten()
}

/// Returns the heading of a figure that shows `panel`.
pub(super) fn head(title: &str, panel: &Panel, what: &str) -> Head {
    let mut more = what.to_owned();
    if !panel.fixed.is_empty() {
        more.push_str(&format!(" with {}", panel.fixed));
    }
    if samples(panel).any(|sample| sample.range.0 < sample.range.1) {
        more.push_str(if what == TITLE { "; mean and range over seeds" } else { ", mean over seeds" });
    }
    if panel.series.iter().any(|series| series.samples.iter().any(Option::is_none)) {
        more.push_str("; ×: no prediction");
    }
    let starred = samples(panel).filter(|sample| sample.best).count();
    let best = panel.series.iter().find_map(|series| {
        let step = series.samples.iter().position(|sample| sample.as_ref().is_some_and(|sample| sample.best))?;
        let time = SimTime::from_ps((series.samples[step].as_ref()?.mean * 1e12).round() as u64);
        let colored = if series.name.is_empty() { String::new() } else { format!(", {}", series.name) };
        Some(match starred {
            1 => format!("best: {time} at {}{colored}", short(panel, step)),
            _ => "best of each problem".to_owned(),
        })
    });
    let names = panel.series.iter().filter(|series| !series.name.is_empty()).map(|series| series.name.clone());
    let (common, legend) = (panel.common.clone(), PALETTE.into_iter().zip(names).collect());
    Head { title: title.to_owned(), more, best: best.unwrap_or_default(), common, legend, lines: Vec::new() }
}

/// Returns the shortest label of a value on the horizontal axis.
fn short(panel: &Panel, step: usize) -> String {
    match &panel.numbers {
        Some((measure, numbers)) => value_text(*measure, numbers[step]),
        None => panel.steps[step].clone(),
    }
}

/// Returns the axis of times, which is logarithmic if the times span large ratios.
fn time_axis(panel: &Panel) -> Option<PlotAxis> {
    let least = samples(panel).map(|sample| sample.range.0).reduce(f64::min)?;
    let most = samples(panel).map(|sample| sample.range.1).reduce(f64::max)?;
    let wide = least > 0.0 && most / least > 12.0;
    Some(if wide { PlotAxis::log_time(TITLE, least, most) } else { PlotAxis::time(TITLE, most) })
}

fn curves(name: &str, title: &str, panel: &Panel) -> Option<Figure> {
    let (measure, numbers) = panel.numbers.as_ref()?;
    let y = time_axis(panel)?;
    let means: Vec<Vec<(f64, f64)>> = panel
        .series
        .iter()
        .map(|series| {
            let point = |(step, sample): (usize, &Option<PointSample>)| Some((numbers[step], sample.as_ref()?.mean));
            series.samples.iter().enumerate().filter_map(point).collect()
        })
        .collect();
    let lines = dashes(&means);
    let head = Head { lines: lines.clone(), ..head(title, panel, TITLE) };
    let (mut figure, top) = begin(name, &head, 420.0);
    let x = PlotAxis::values(&panel.title, *measure, numbers);
    let frame = frame(&figure, top, &y, 50.0);
    vertical(&mut figure, frame, &y);
    horizontal(&mut figure, frame, &x);
    let place = |step: usize, time: f64| (frame.x(x.at(numbers[step])), frame.y(y.at(time)));
    let mut best = Vec::new();
    for ((series, color), dash) in panel.series.iter().zip(PALETTE).zip(lines) {
        let mut order: Vec<usize> = (0..numbers.len()).collect();
        order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
        // A point without a prediction interrupts the curve.
        for run in order.split(|&step| series.samples[step].is_none()) {
            let along: Vec<Place> =
                run.iter().filter_map(|&step| Some(place(step, series.samples[step].as_ref()?.mean))).collect();
            if along.len() > 1 {
                figure.line(along, color, 2.0, dash);
            }
        }
        for (step, sample) in series.samples.iter().enumerate() {
            let Some(sample) = sample else {
                missing(&mut figure, (frame.x(x.at(numbers[step])), frame.bottom));
                continue;
            };
            let at = place(step, sample.mean);
            spread(&mut figure, at.0, place(step, sample.range.0).1, place(step, sample.range.1).1, color);
            if numbers.len() <= 60 {
                figure.dot(at, 3.4, color);
            }
            if sample.best {
                best.push(at);
            }
        }
    }
    feet(&mut figure, frame);
    for at in best {
        figure.star(at, 9.0, RED);
    }
    Some(figure)
}

/// Draws a mark for a point of the study without a prediction.
fn missing(figure: &mut Figure, (x, bottom): Place) {
    figure.text((x, bottom - 5.0), "×", Style::PLAIN.colored(GRAY), Anchor::Middle);
}

/// Draws the range between the least and the greatest predicted time over all seeds.
fn spread(figure: &mut Figure, x: f64, low: f64, high: f64, color: Color) {
    if (low - high).abs() > 0.5 {
        figure.line(vec![(x, low), (x, high)], color, 1.0, Dash::Solid);
        for y in [low, high] {
            figure.line(vec![(x - 4.0, y), (x + 4.0, y)], color, 1.0, Dash::Solid);
        }
    }
}

fn bars(name: &str, title: &str, panel: &Panel) -> Option<Figure> {
    let y = PlotAxis::time(TITLE, samples(panel).map(|sample| sample.range.1).reduce(f64::max)?);
    let (mut figure, top) = begin(name, &head(title, panel, TITLE), 420.0);
    let (frame, step) = bar_frame(&mut figure, top, &y, panel);
    let series = panel.series.len() as f64;
    let room = (step * 0.78).min(60.0 * series);
    let mut best = Vec::new();
    for (number, (series_, color)) in panel.series.iter().zip(PALETTE).enumerate() {
        for (index, sample) in series_.samples.iter().enumerate() {
            let left = frame.left + step * (index as f64 + 0.5) - room / 2.0 + room / series * number as f64;
            let right = left + room / series * if series > 1.0 { 0.92 } else { 1.0 };
            let Some(sample) = sample else {
                missing(&mut figure, ((left + right) / 2.0, frame.bottom));
                continue;
            };
            let high = frame.y(y.at(sample.mean));
            figure.rect((left, high), (right, frame.bottom), color);
            let middle = (left + right) / 2.0;
            spread(&mut figure, middle, frame.y(y.at(sample.range.0)), frame.y(y.at(sample.range.1)), BLACK);
            if sample.best {
                best.push((middle, frame.y(y.at(sample.range.1)) - 10.0));
            }
        }
    }
    feet(&mut figure, frame);
    for above in best {
        figure.star(above, 7.0, RED);
    }
    Some(figure)
}

/// Returns the frame of a bar chart with labels below the bars, and the distance between the bars in pixels.
fn bar_frame(figure: &mut Figure, top: f64, y: &PlotAxis, panel: &Panel) -> (PlotFrame, f64) {
    let steps: Vec<String> = (0..panel.steps.len()).map(|step| short(panel, step)).collect();
    let guess = frame(figure, top, y, 50.0);
    let (frame, words) = BarWords::below(figure, guess, &steps);
    vertical(figure, frame, y);
    words.draw(figure, frame, &panel.title);
    (frame, frame.width() / steps.len() as f64)
}

/// Returns the figure that shows the parts of the predicted time for each point of the study.
fn parts(name: &str, title: &str, panel: &Panel) -> Option<Figure> {
    let series = &panel.series[0];
    let y = PlotAxis::time("time", samples(panel).map(|sample| sample.mean).reduce(f64::max)?);
    let names = panel.parts.names;
    let legend: Vec<(Color, String)> = names.iter().map(|(name, color)| (*color, (*name).to_owned())).collect();
    let head = Head { legend, common: String::new(), ..head(title, panel, panel.parts.what) };
    let (mut figure, top) = begin(name, &head, 440.0);
    let (frame, step) = bar_frame(&mut figure, top, &y, panel);
    let room = (step * 0.74).min(60.0);
    let mut best = Vec::new();
    for (index, sample) in series.samples.iter().enumerate() {
        let middle = frame.left + step * (index as f64 + 0.5);
        let Some(sample) = sample else {
            missing(&mut figure, (middle, frame.bottom));
            continue;
        };
        let (left, right) = (middle - room / 2.0, middle + room / 2.0);
        let parts: Vec<(f64, Color)> =
            sample.parts.iter().copied().zip(names.iter().map(|(_, color)| *color)).collect();
        stack(&mut figure, frame, &y, (left, right), &parts);
        let high = frame.y(y.at(sample.mean));
        figure.line(vec![(left - 2.0, high), (right + 2.0, high)], BLACK, 1.4, Dash::Solid);
        if sample.best {
            best.push((middle, high - 10.0));
        }
    }
    feet(&mut figure, frame);
    for above in best {
        figure.star(above, 7.0, RED);
    }
    Some(figure)
}
