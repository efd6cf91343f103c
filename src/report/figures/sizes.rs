//! Figures of messages by size and network level: count and volume (figures 12 and 13 of the MCPSim paper).

use crate::engine::{IntervalMessages, LevelTotals, Messages, Outcome};
use crate::units::Bytes;

use super::super::numbers::{percent, share};
use super::axis::PlotAxis;
use super::canvas::{Anchor, BLACK, Color, Dash, Figure, Style, WHITE};
use super::frame::{Head, begin, feet, frame, title_below, vertical};
use super::source::run_title;
use crate::report::palette::{INTER_CMP, INTER_NODE, INTRA_CMP};

/// Names and colours of the network levels, the nearest level first.
pub(super) const LEVELS: [(&str, Color); 3] =
    [("intra-CMP", INTRA_CMP), ("inter-CMP", INTER_CMP), ("inter-node", INTER_NODE)];

/// Returns the figure of the number of messages by size and network level; `None` without messages.
pub(super) fn count(run: &Outcome) -> Option<Figure> {
    let more = format!("{} messages by size and level", super::super::numbers::count(run.messages.count));
    let axis = |most: f64| PlotAxis::count("messages", most);
    distribution(run, "messages-count", &more, |cell| cell.count, axis)
}

/// Returns the figure of the bytes by message size and network level; `None` without bytes.
pub(super) fn volume(run: &Outcome) -> Option<Figure> {
    let more = format!("{} in messages by size and level", super::super::numbers::volume(run.messages.bytes));
    let axis = |most: f64| PlotAxis::volume("volume", most);
    distribution(run, "messages-volume", &more, |cell| cell.bytes, axis)
}

/// Returns the figure of the transfer times by message size and network level; `None` without transfer times.
pub(super) fn time(run: &Outcome) -> Option<Figure> {
    let all = run.profile.iter().flat_map(|row| by_level(&row.levels));
    all.map(|cell| cell.time.as_ps()).try_fold(0, u64::checked_add)?;
    let axis = |most: f64| PlotAxis::picoseconds("time of all messages", most);
    distribution(
        run,
        "messages-time",
        "messages under way by size and level, all added up",
        |cell| cell.time.as_ps(),
        axis,
    )
}

fn distribution(
    run: &Outcome,
    name: &str,
    more: &str,
    value: impl Fn(Messages) -> u64,
    axis: impl Fn(f64) -> PlotAxis,
) -> Option<Figure> {
    let cells = |interval: &IntervalMessages| by_level(&interval.levels).map(&value);
    let used = |interval: &IntervalMessages| cells(interval).iter().any(|&value| value > 0);
    let first = run.profile.iter().position(used)?;
    let last = run.profile.iter().rposition(used)?;
    let rows = &run.profile[first..=last];
    let of_level = |level: usize| rows.iter().map(|row| cells(row)[level]).sum::<u64>();
    let all: u64 = (0..3).map(of_level).sum();
    let legend: Vec<(Color, String)> = (0..3)
        .map(|level| {
            let part = percent(share(of_level(level) as f64, all as f64));
            (LEVELS[level].1, format!("{}  {part}", LEVELS[level].0))
        })
        .collect();
    let head = Head { title: run_title(run), more: more.to_owned(), legend, ..Head::default() };
    let (mut figure, top) = begin(name, &head, 400.0);
    let most = rows.iter().map(|row| cells(row).iter().sum::<u64>()).max().unwrap_or(0);
    // The vertical axis leaves room for a label above the highest bar.
    let axis = axis(most as f64 * 1.04);
    let frame = frame(&figure, top, &axis, 50.0);
    vertical(&mut figure, frame, &axis);
    let step = frame.width() / rows.len() as f64;
    let gap = (step * 0.18).max((step - 70.0) / 2.0);
    for (index, row) in rows.iter().enumerate() {
        let (x1, x2) = (frame.left + step * index as f64 + gap, frame.left + step * (index + 1) as f64 - gap);
        let middle = (x1 + x2) / 2.0;
        let mut below = 0;
        for (value, (_, color)) in cells(row).into_iter().zip(LEVELS) {
            let (low, high) = (frame.y(axis.at(below as f64)), frame.y(axis.at((below + value) as f64)));
            figure.rect((x1, high), (x2, low), color);
            below += value;
        }
        if below > 0 {
            let text = percent(share(below as f64, all as f64));
            let (high, half) = (frame.y(axis.at(below as f64)), Style::TICK.width(&text) / 2.0 + 2.0);
            // A rectangle hides grid lines behind the bar's label.
            figure.rect((middle - half, high - 14.0), (middle + half, high - 3.0), WHITE);
            figure.text((middle, high - 5.0), &text, Style::TICK, Anchor::Middle);
        }
        figure.line(vec![(middle, frame.bottom), (middle, frame.bottom + 4.0)], BLACK, 1.0, Dash::Solid);
        // Labels of bars that would touch a neighbouring label are drawn on two lines.
        let style = Style { size: if step < 58.0 { 8.5 } else { Style::TICK.size }, ..Style::TICK };
        figure.text((middle, frame.bottom + 16.0), &interval(row), style, Anchor::Middle);
    }
    title_below(&mut figure, frame, "size of a message", 34.0);
    feet(&mut figure, frame);
    Some(figure)
}

/// Returns the message totals of the network levels in the order of [`LEVELS`].
fn by_level(levels: &LevelTotals) -> [Messages; 3] {
    [levels.intra_cmp, levels.inter_cmp, levels.inter_node]
}

fn interval(row: &IntervalMessages) -> String {
    match row.up_to {
        Some(up_to) => format!("≤ {}", Bytes::new(up_to)),
        None => format!("> {}", Bytes::new(row.above)),
    }
}
