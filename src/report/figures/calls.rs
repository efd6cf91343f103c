//! Bar charts of the MPI functions and source positions with the most time.

use super::super::numbers::{percent, share};
use super::axis::PlotAxis;
use super::canvas::{Anchor, Dash, Figure, GRID, PALETTE, Style};
use super::frame::{Head, PlotFrame, WIDTH, begin, feet, fit, horizontal};
use super::run::label;
use super::source::run_title;
use crate::engine::Outcome;
use crate::units::SimSpan;

/// Number of bars in a bar chart.
const MOST: usize = 20;
/// Maximum width of bar labels in pixels.
const WORDS: f64 = 380.0;

/// Label of a bar, and the time of all ranks that the bar shows.
type Bar = (String, SimSpan);

/// Returns the bar chart of MPI calls by function; `None` if the run did not count calls.
pub(super) fn by_function(run: &Outcome) -> Option<Figure> {
    let functions = run.functions.as_deref()?.iter();
    let calls: Vec<Bar> = functions.map(|one| (one.function.clone(), one.total.time)).collect();
    bars(run, "calls-by-function", "time in calls by function", &calls)
}

/// Returns the bar chart of MPI calls by source position; `None` if the positions are unknown.
pub(super) fn by_place(run: &Outcome) -> Option<Figure> {
    let sites = run.sites.as_deref().filter(|sites| sites.iter().any(|one| one.site.is_some()))?;
    let name = |function: &str, site: &Option<String>| match site {
        Some(site) => format!("{function} in {site}"),
        None => function.to_owned(),
    };
    let calls: Vec<Bar> = sites.iter().map(|one| (name(&one.function, &one.site), one.total.time)).collect();
    bars(run, "calls-by-place", "time in calls by source position", &calls)
}

fn bars(run: &Outcome, name: &str, what: &str, calls: &[Bar]) -> Option<Figure> {
    let shown = &calls[..calls.len().min(MOST)];
    let most = shown.iter().map(|(_, time)| time.as_ps()).max().filter(|most| *most > 0)?;
    let more = match calls.len() - shown.len() {
        0 => format!("{what}, all ranks together, with its share of all time"),
        rest => format!("{what}, all ranks together, with its share of all time; {rest} more are not shown"),
    };
    let height = 78.0 + 22.0 * shown.len() as f64 + 50.0;
    let (mut figure, top) = begin(name, &Head { title: run_title(run), more, ..Head::default() }, height);
    let axis = PlotAxis::picoseconds("time", most as f64);
    let words: Vec<String> = shown.iter().map(|(name, _)| fit(name, Style::PLAIN, WORDS)).collect();
    let widest = words.iter().map(|text| Style::PLAIN.width(text)).fold(0.0, f64::max);
    let frame = PlotFrame { left: 24.0 + widest, top: top + 4.0, right: WIDTH - 30.0, bottom: height - 50.0 };
    for (value, _) in &axis.marks {
        let x = frame.x(axis.at(*value));
        figure.line(vec![(x, frame.top), (x, frame.bottom)], GRID, 1.0, Dash::Solid);
    }
    let step = (frame.bottom - frame.top) / shown.len() as f64;
    let whole = run.predicted.as_ps() as f64 * f64::from(run.ranks);
    for (index, ((_, time), words)) in shown.iter().zip(&words).enumerate() {
        let y = frame.top + step * index as f64;
        let (x1, x2) = (frame.x(0.0), frame.x(axis.at(time.as_ps() as f64)));
        figure.rect((x1, y + 4.0), (x2.max(x1 + 0.5), y + step - 4.0), PALETTE[0]);
        let text = format!("{time}   {}", percent(share(time.as_ps() as f64, whole)));
        label(&mut figure, frame, (x1, x2), y + step / 2.0, &text);
        figure.text((frame.left - 10.0, y + step / 2.0 + 4.0), words, Style::PLAIN, Anchor::End);
    }
    horizontal(&mut figure, frame, &axis);
    feet(&mut figure, frame);
    Some(figure)
}
