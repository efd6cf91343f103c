//! Figures of a run's time: parts of the time (compute, send, wait …), as the mean over ranks and for each rank.

use crate::engine::Outcome;
use crate::profile::TimeParts;
use crate::report::palette::{COLLECTIVE, COMPUTE, ENDED, RECV, SEND, WAIT};
use crate::units::SimTime;

use super::axis::PlotAxis;
use super::canvas::{Anchor, BLACK, Color, Dash, Figure, GRAY, GRID, Style, WHITE};
use super::frame::{Head, PlotFrame, WIDTH, begin, feet, frame, horizontal, title_below, vertical};
use super::source::{PARTS, part_seconds, path_rows, predicted_seconds, run_title};

/// Maximum number of bars in a figure.
const MOST_BARS: usize = 160;

/// Colours of the time parts in [`PARTS`].
pub(super) const PART_COLORS: [Color; 5] = [COMPUTE, SEND, RECV, WAIT, COLLECTIVE];

fn predicted_text(run: &Outcome) -> String {
    format!("predicted time {}", run.predicted)
}

/// Returns the figure of the mean time parts over ranks; `None` if the predicted time is zero.
pub(super) fn parts(run: &Outcome) -> Option<Figure> {
    let means = part_seconds(&run.mean_parts);
    let ended = (predicted_seconds(run) - means.iter().sum::<f64>()).max(0.0);
    let mut rows: Vec<(String, f64, Color)> =
        (0..PARTS.len()).map(|index| (PARTS[index].to_owned(), means[index], PART_COLORS[index])).collect();
    rows.push(("ended early".to_owned(), ended, ENDED));
    let more = format!("{}: the mean over ranks of each part", predicted_text(run));
    (run.predicted > SimTime::ZERO).then(|| waterfall(run, "time-parts", more, &rows))
}

/// Returns the figure of the critical path's parts; `None` if the predicted time is zero.
pub(super) fn path(run: &Outcome) -> Option<Figure> {
    let rows = Some(path_rows(&run.path)).filter(|rows| !rows.is_empty())?;
    let more =
        format!("{}: parts of the critical path (imbalance: compute beyond the mean over ranks)", predicted_text(run));
    Some(waterfall(run, "time-path", more, &rows))
}

/// Returns a waterfall chart of the predicted time: each part starts at the end of the previous part.
fn waterfall(run: &Outcome, name: &str, more: String, rows: &[(String, f64, Color)]) -> Figure {
    let predicted = predicted_seconds(run);
    let height = 78.0 + 26.0 * (rows.len() + 1) as f64 + 50.0;
    let (mut figure, top) = begin(name, &Head { title: run_title(run), more, ..Head::default() }, height);
    let axis = PlotAxis::time("time", predicted);
    let widest = rows.iter().map(|(name, ..)| Style::PLAIN.width(name)).fold(0.0, f64::max);
    let left = 14.0 + Style::PLAIN.bold().width("predicted time").max(widest) + 10.0;
    let frame = PlotFrame { left, top: top + 4.0, right: WIDTH - 30.0, bottom: height - 50.0 };
    for (value, _) in &axis.marks {
        let x = frame.x(axis.at(*value));
        figure.line(vec![(x, frame.top), (x, frame.bottom)], GRID, 1.0, Dash::Solid);
    }
    let step = (frame.bottom - frame.top) / (rows.len() + 1) as f64;
    let mut start = 0.0;
    for (index, (name, length, color)) in rows.iter().enumerate() {
        let y = frame.top + step * index as f64;
        let (x1, x2) = (frame.x(axis.at(start)), frame.x(axis.at(start + length)));
        figure.rect((x1, y + 5.0), (x2.max(x1 + 0.5), y + step - 5.0), *color);
        // A line in the waterfall chart leads to the start of the next part.
        figure.line(vec![(x2, y + step - 5.0), (x2, y + step + 5.0)], GRAY, 0.7, Dash::Solid);
        label(&mut figure, frame, (x1, x2), y + step / 2.0, &share_text(*length, predicted));
        figure.text((left - 10.0, y + step / 2.0 + 4.0), name, Style::PLAIN, Anchor::End);
        start += length;
    }
    let y = frame.top + step * rows.len() as f64;
    figure.rect((frame.x(0.0), y + 5.0), (frame.x(axis.at(predicted)), y + step - 5.0), BLACK);
    let text = run.predicted.to_string();
    label(&mut figure, frame, (frame.x(0.0), frame.x(axis.at(predicted))), y + step / 2.0, &text);
    figure.text((left - 10.0, y + step / 2.0 + 4.0), "predicted time", Style::PLAIN.bold(), Anchor::End);
    horizontal(&mut figure, frame, &axis);
    feet(&mut figure, frame);
    figure
}

fn share_text(seconds: f64, whole: f64) -> String {
    let time = SimTime::from_ps((seconds * 1e12).round() as u64);
    format!("{time}   {}", super::super::numbers::percent(super::super::numbers::share(seconds, whole)))
}

/// Draws the label of a bar after, before or inside the bar, depending on the available width.
pub(super) fn label(figure: &mut Figure, frame: PlotFrame, (x1, x2): (f64, f64), middle: f64, text: &str) {
    let (width, y) = (Style::PLAIN.width(text) + 12.0, middle + 4.0);
    // A white rectangle hides grid lines behind the bar's label.
    let mut on_white = |from: f64| figure.rect((from, middle - 7.5), (from + width - 8.0, middle + 7.5), WHITE);
    if x2 + width < frame.right {
        on_white(x2 + 5.0);
        figure.text((x2 + 7.0, y), text, Style::PLAIN, Anchor::Start);
    } else if x1 - width > frame.left {
        on_white(x1 + 3.0 - width);
        figure.text((x1 - 7.0, y), text, Style::PLAIN, Anchor::End);
    } else {
        figure.text((x2 - 8.0, y), text, Style::PLAIN.colored(WHITE), Anchor::End);
    }
}

/// Returns the figure with one bar per rank, or per group of ranks if the run has many ranks. Returns `None` if the
/// Outcome has no list of ranks.
pub(super) fn ranks(run: &Outcome) -> Option<Figure> {
    if run.per_rank.is_empty() || run.predicted == SimTime::ZERO {
        return None;
    }
    let together = together(run.per_rank.len(), MOST_BARS);
    let bars: Vec<[f64; 5]> =
        run.per_rank.chunks(together).map(|ranks| mean(ranks.iter().map(|rank| &rank.parts))).collect();
    let legend: Vec<(Color, String)> = PART_COLORS.into_iter().zip(PARTS.map(str::to_owned)).collect();
    let more = format!("{}, the dashed line; every rank's time by what it was spent on", predicted_text(run));
    let (mut figure, top) =
        begin("time-ranks", &Head { title: run_title(run), more, legend, ..Head::default() }, 400.0);
    let axis = PlotAxis::time("time", predicted_seconds(run));
    let frame = frame(&figure, top, &axis, 50.0);
    vertical(&mut figure, frame, &axis);
    let step = frame.width() / bars.len() as f64;
    let gap = (step * 0.12).min(4.0);
    for (index, bar) in bars.iter().enumerate() {
        let (x1, x2) = (frame.left + step * index as f64 + gap, frame.left + step * (index + 1) as f64 - gap);
        stack(&mut figure, frame, &axis, (x1, x2), &colored(bar));
    }
    let y = frame.y(axis.at(predicted_seconds(run)));
    figure.line(vec![(frame.left, y), (frame.right, y)], BLACK, 1.0, Dash::Dashed);
    let every = rank_marks(run.per_rank.len());
    for rank in (0..run.per_rank.len()).step_by(every) {
        let x = frame.left + step * ((rank / together) as f64 + 0.5);
        figure.line(vec![(x, frame.bottom), (x, frame.bottom + 4.0)], BLACK, 1.0, Dash::Solid);
        figure.text((x, frame.bottom + 16.0), &run.per_rank[rank].rank.to_string(), Style::TICK, Anchor::Middle);
    }
    let title = if together > 1 { format!("rank (a bar is the mean of {together})") } else { "rank".to_owned() };
    title_below(&mut figure, frame, &title, 34.0);
    feet(&mut figure, frame);
    Some(figure)
}

/// Returns the time parts of a rank with their colours.
fn colored(parts: &[f64; 5]) -> Vec<(f64, Color)> {
    parts.iter().copied().zip(PART_COLORS).collect()
}

/// Draws the time parts of a rank as a stacked bar.
pub(super) fn stack(
    figure: &mut Figure,
    frame: PlotFrame,
    axis: &PlotAxis,
    (x1, x2): (f64, f64),
    parts: &[(f64, Color)],
) {
    let mut below = 0.0;
    for &(part, color) in parts {
        if part > 0.0 {
            figure.rect((x1, frame.y(axis.at(below + part))), (x2, frame.y(axis.at(below))), color);
        }
        below += part;
    }
}

/// Returns the mean of each time part over ranks, in seconds.
pub(super) fn mean<'a>(all: impl ExactSizeIterator<Item = &'a TimeParts>) -> [f64; 5] {
    let count = all.len().max(1) as f64;
    let sums = all.map(part_seconds).fold([0.0; 5], |sums, parts| std::array::from_fn(|part| sums[part] + parts[part]));
    sums.map(|sum| sum / count)
}

/// Returns the distance between consecutive ranks that have a label on the axis.
pub(super) fn rank_marks(ranks: usize) -> usize {
    together(ranks, 20)
}

/// Returns the number of ranks per group so that a figure has at most `most` groups. The number of ranks per group is
/// round, so ranks with an axis label are the first of their groups.
pub(super) fn together(ranks: usize, most: usize) -> usize {
    let round = |power: u32| match ranks.is_power_of_two() {
        true => [1, 2, 4].map(|factor| factor << (3 * power)),
        false => [1, 2, 5].map(|factor| factor * 10usize.pow(power)),
    };
    (0..18).flat_map(round).find(|&step| ranks.div_ceil(step) <= most).unwrap_or(ranks)
}
