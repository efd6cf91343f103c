//! Figures of a task runtime's code fragments: waiting time by arrival time of the fragment, and number of fragments
//! per stage over time. Figures of several runs share the same scales.

use crate::profile::{Stage, TaskAnalysis};
use crate::units::{SimSpan, SimTime};

use super::axis::PlotAxis;
use super::canvas::{Anchor, Color, Dash, Figure, PALETTE, Place, Style, colors};
use super::frame::{Head, PlotFrame, WIDTH, begin, feet, fit, frame, horizontal, vertical};

/// Colours of the stages of a task runtime's code fragments, in the order of the stages.
const COLORS: [Color; 4] = [PALETTE[3], PALETTE[0], PALETTE[1], PALETTE[2]];
/// Number of runs whose frames fit next to each other in one figure.
const MOST_BESIDE: usize = 3;
/// Gap between the frames of a figure in pixels.
const GAP: f64 = 18.0;

/// Returns the task figures of several named runs.
pub fn task_figures(runs: &[(String, TaskAnalysis)]) -> Vec<Figure> {
    let runs = &runs[..runs.len().min(MOST_BESIDE)];
    if runs.is_empty() || runs.iter().all(|(_, tasks)| tasks.end == SimTime::ZERO) {
        return Vec::new();
    }
    let mut figures = vec![waiting(runs), stages(runs)];
    figures.extend([(0, "waiting"), (1, "ready")].into_iter().filter_map(|(stage, name)| processes(runs, stage, name)));
    figures
}

/// Returns a figure with one frame per run and common axes. The function calls the drawing function with every frame.
fn panels(
    name: &str,
    head: Head,
    runs: &[(String, TaskAnalysis)],
    y: &PlotAxis,
    mut draw: impl FnMut(&mut Figure, &dyn Fn(f64, f64) -> Place, &TaskAnalysis),
) -> Figure {
    let end = runs.iter().map(|(_, tasks)| tasks.end.as_seconds()).fold(0.0, f64::max);
    let x = PlotAxis::time("time", end);
    let (mut figure, top) = begin(name, &head, 420.0);
    let whole = frame(&figure, top + 16.0, y, 50.0);
    let width = (WIDTH - 18.0 - whole.left - GAP * (runs.len() - 1) as f64) / runs.len() as f64;
    for (number, (run, tasks)) in runs.iter().enumerate() {
        let left = whole.left + (width + GAP) * number as f64;
        let part = PlotFrame { left, right: left + width, ..whole };
        match number {
            0 => vertical(&mut figure, part, y),
            _ => vertical(&mut figure, part, &y.without_words()),
        }
        horizontal(&mut figure, part, &x);
        // A long name of a run is truncated, but the time of the run is shown completely.
        let (bold, time) = (Style::PLAIN.bold(), format!(": {}", tasks.end));
        let title = fit(run, bold, width - bold.width(&time)) + &time;
        figure.text((part.x(0.5), part.top - 6.0), &title, Style::PLAIN.bold(), Anchor::Middle);
        draw(&mut figure, &|at, value| (part.x(x.at(at)), part.y(y.at(value))), tasks);
        feet(&mut figure, part);
    }
    figure
}

fn title(runs: &[(String, TaskAnalysis)]) -> String {
    runs.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" and ")
}

fn waiting(runs: &[(String, TaskAnalysis)]) -> Figure {
    let stays = || runs.iter().flat_map(|(_, tasks)| &tasks.waiting).flat_map(|waiting| &waiting.samples);
    let most = stays().map(|sample| sample.stay.as_seconds()).fold(0.0, f64::max);
    let y = PlotAxis::time("time in the stage", if most > 0.0 { most } else { 1e-12 });
    let legend = [Stage::Waiting, Stage::Ready].map(|stage| (COLORS[stage as usize], stage.name().to_owned())).into();
    let more = "time of fragments in a stage by the time at which they entered it; a dot is a fragment".to_owned();
    let head = Head { title: title(runs), more, legend, ..Head::default() };
    panels("tasks-waiting", head, runs, &y, |figure, place, tasks| {
        for waiting in &tasks.waiting {
            for sample in &waiting.samples {
                let at = place(sample.arrival.as_seconds(), sample.stay.as_seconds());
                figure.dot(at, 1.6, COLORS[waiting.stage as usize]);
            }
        }
    })
}

/// Returns a curve through the mean values of successive time steps in a run.
fn curve(step: SimSpan, means: &[f64], end: SimTime, place: &dyn Fn(f64, f64) -> Place) -> Vec<Place> {
    let middle = |number: usize| (step.as_seconds() * (number as f64 + 0.5)).min(end.as_seconds());
    means.iter().enumerate().map(|(number, &mean)| place(middle(number), mean)).collect()
}

fn stages(runs: &[(String, TaskAnalysis)]) -> Figure {
    let means = || runs.iter().flat_map(|(_, tasks)| &tasks.series.stages).flat_map(|series| &series.mean);
    let y = PlotAxis::count("fragments", means().copied().fold(1.0, f64::max));
    let legend = Stage::ALL.map(|stage| (COLORS[stage as usize], stage.name().to_owned())).into();
    let more = "how many fragments are in each stage, over all processes".to_owned();
    let head = Head { title: title(runs), more, legend, ..Head::default() };
    panels("tasks-stages", head, runs, &y, |figure, place, tasks| {
        for (series, color) in tasks.series.stages.iter().zip(COLORS) {
            figure.line(curve(tasks.series.step, &series.mean, tasks.end, place), color, 1.8, Dash::Solid);
        }
    })
}

/// Returns the figure with one curve per simulated MPI process. Returns `None` if the run does not record its processes
/// separately.
fn processes(runs: &[(String, TaskAnalysis)], stage: usize, name: &str) -> Option<Figure> {
    let all = || runs.iter().flat_map(|(_, tasks)| &tasks.series.processes);
    all().next()?;
    let most = all().flat_map(|process| &process[stage]).copied().fold(1.0, f64::max);
    let y = PlotAxis::count("fragments", most);
    let what = if stage == 0 { Stage::Waiting } else { Stage::Ready };
    let more = format!("{}: a curve for each process", what.name());
    let head = Head { title: title(runs), more, ..Head::default() };
    Some(panels(&format!("tasks-{name}-processes"), head, runs, &y, |figure, place, tasks| {
        for (process, color) in tasks.series.processes.iter().zip(colors()) {
            figure.line(curve(tasks.series.step, &process[stage], tasks.end, place), color, 1.0, Dash::Solid);
        }
    }))
}
