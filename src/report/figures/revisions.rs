//! Figures of a test over revisions: time, messages and volume of each revision. Marks show changes that exceed noise.

use crate::revisions::{RevisionChange, RevisionRow, RevisionTable, Verdict};

use super::axis::PlotAxis;
use super::canvas::{Anchor, BLACK, Color, Dash, Figure, GRAY, Place, RED, Style, colors};
use super::frame::{Head, PlotFrame, begin, feet, fit, frame, title_below, vertical};

/// Maximum number of revision labels below a figure.
const MOST_WORDS: usize = 40;

/// Returns the figures of a test over revisions. Quantities without values are omitted.
pub fn revision_figures(table: &RevisionTable) -> Vec<Figure> {
    let times = Quantity {
        name: "revisions-time",
        what: if table.real { "measured time" } else { "predicted time" },
        sample: |row| &row.times_s,
        change: |row| row.time_change,
        axis: PlotAxis::time,
    };
    let messages = Quantity {
        name: "revisions-messages",
        what: "messages",
        sample: |row| &row.messages,
        change: |row| row.messages_change,
        axis: PlotAxis::count,
    };
    let volume = Quantity {
        name: "revisions-volume",
        what: "volume",
        sample: |row| &row.bytes,
        change: |row| row.bytes_change,
        axis: PlotAxis::volume,
    };
    [times, messages, volume].iter().filter_map(|quantity| draw(table, quantity)).collect()
}

/// Quantity that a figure shows for the revisions of a program.
struct Quantity {
    name: &'static str,
    what: &'static str,
    sample: fn(&RevisionRow) -> &Vec<f64>,
    change: fn(&RevisionRow) -> Option<RevisionChange>,
    axis: fn(&str, f64) -> PlotAxis,
}

fn draw(table: &RevisionTable, quantity: &Quantity) -> Option<Figure> {
    let all = table.revisions.iter().flat_map(quantity.sample);
    let most = all.copied().reduce(f64::max)?;
    let mut commits: Vec<&str> = Vec::new();
    let mut series: Vec<&str> = Vec::new();
    for row in &table.revisions {
        if !commits.contains(&row.commit.hash.as_str()) {
            commits.push(&row.commit.hash);
        }
        if !series.contains(&row.arguments.as_str()) {
            series.push(&row.arguments);
        }
    }
    let y = (quantity.axis)(quantity.what, most);
    let legend = colors().zip(&series).filter(|(_, name)| !name.is_empty());
    let head = Head {
        title: format!("{}: {} by revision", table.run, quantity.what),
        more: "mean and range of the runs; red rings: changed beyond noise; ×: no result".to_owned(),
        legend: legend.map(|(color, name)| (color, (*name).to_owned())).collect(),
        ..Head::default()
    };
    let (mut figure, top) = begin(quantity.name, &head, 460.0);
    let guess = frame(&figure, top, &y, 50.0);
    let frame = PlotFrame { bottom: figure.height - 150.0, ..guess };
    vertical(&mut figure, frame, &y);
    let step = frame.width() / commits.len() as f64;
    let middle = |commit: usize| frame.left + step * (commit as f64 + 0.5);
    words(&mut figure, frame, table, &commits, step);
    for (name, color) in series.iter().zip(colors()) {
        let mut along: Vec<Place> = Vec::new();
        for row in table.revisions.iter().filter(|row| row.arguments == *name) {
            let commit = commits.iter().position(|hash| *hash == row.commit.hash)?;
            let sample = (quantity.sample)(row);
            if sample.is_empty() {
                figure.text((middle(commit), frame.bottom - 5.0), "×", Style::PLAIN.colored(GRAY), Anchor::Middle);
                continue;
            }
            let height = |value: f64| frame.y(y.at(value));
            let mean = sample.iter().sum::<f64>() / sample.len() as f64;
            let at = (middle(commit), height(mean));
            let ends =
                sample.iter().fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(*value), high.max(*value)));
            figure.line(vec![(at.0, height(ends.0)), (at.0, height(ends.1))], color, 1.0, Dash::Solid);
            let changed =
                (quantity.change)(row).is_some_and(|change| matches!(change.verdict, Verdict::More | Verdict::Less));
            if changed {
                figure.dot(at, 7.0, RED);
            }
            figure.dot(at, if changed { 4.6 } else { 3.4 }, color);
            along.push(at);
        }
        thin(&mut figure, along, color);
    }
    feet(&mut figure, frame);
    Some(figure)
}

fn thin(figure: &mut Figure, along: Vec<Place>, color: Color) {
    if along.len() > 1 {
        figure.line(along, color, 1.2, Dash::Solid);
    }
}

/// Draws vertical labels with the start of each revision's hash and commit message.
fn words(figure: &mut Figure, frame: PlotFrame, table: &RevisionTable, commits: &[&str], step: f64) {
    let every = commits.len().div_ceil(MOST_WORDS);
    for (index, hash) in commits.iter().enumerate().step_by(every) {
        let x = frame.left + step * (index as f64 + 0.5);
        figure.line(vec![(x, frame.bottom), (x, frame.bottom + 4.0)], BLACK, 1.0, Dash::Solid);
        let Some(row) = table.revisions.iter().find(|row| row.commit.hash == **hash) else { continue };
        let text = format!("{} {}", hash.chars().take(7).collect::<String>(), row.commit.subject);
        let text = fit(&text, Style::TICK, 122.0);
        figure.text((x + 3.6, frame.bottom + 8.0), &text, Style::TICK.up(), Anchor::End);
    }
    title_below(figure, frame, "revision", 142.0);
}
