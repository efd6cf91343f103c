//! Figure of the communication matrix: one field per pair of ranks, or per pair of rank groups if there are many ranks.

use super::super::numbers::{count as count_text, volume as volume_text};
use super::canvas::{Anchor, BLACK, Color, Dash, Figure, Style, WHITE};
use super::frame::{Head, PlotFrame, begin, title_below};
use super::run::{rank_marks, together};
use super::source::run_title;
use crate::engine::{Outcome, PairMessages};

/// Maximum number of fields per row of the communication matrix.
const MOST_FIELDS: usize = 128;
/// Width of the communication matrix in pixels.
const SIDE: f64 = 440.0;

/// Height of the colour bar with its labels, in pixels.
const BAR: f64 = 280.0;

/// Returns the figure of the number of messages between each pair of ranks. Returns `None` if the run did not count
/// messages by pair, or sent no messages.
pub(super) fn count(run: &Outcome) -> Option<Figure> {
    matrix(run, "matrix-count", ["messages between pairs of ranks", "messages"], |pair| pair.count, count_text)
}

/// Returns the figure of the bytes between each pair of ranks. Returns `None` if the run did not count messages by
/// pair, or all messages were empty.
pub(super) fn volume(run: &Outcome) -> Option<Figure> {
    matrix(run, "matrix-volume", ["volume between pairs of ranks", "volume"], |pair| pair.bytes, volume_text)
}

fn matrix(
    run: &Outcome,
    name: &str,
    [what, unit]: [&str; 2],
    value: impl Fn(&PairMessages) -> u64,
    text: impl Fn(u64) -> String,
) -> Option<Figure> {
    let together = together(run.ranks as usize, MOST_FIELDS) as u32;
    let fields = run.ranks.div_ceil(together) as usize;
    let mut sums = vec![0u64; fields * fields];
    for pair in run.pairs.as_deref()?.iter().filter(|pair| pair.from < run.ranks && pair.to < run.ranks) {
        let sum = &mut sums[(pair.from / together) as usize * fields + (pair.to / together) as usize];
        *sum = sum.saturating_add(value(pair));
    }
    let most = *sums.iter().max().filter(|&&most| most > 0)?;
    let least = *sums.iter().filter(|&&sum| sum > 0).min()?;
    // The colour scale is logarithmic if the range of values is wide.
    let is_log = most / least >= 20;
    let mut more = what.to_owned();
    if is_log {
        more.push_str(", shades by their logarithm");
    }
    if !borders(run).is_empty() {
        more.push_str("; lines between nodes");
    }
    if together > 1 {
        more.push_str(&format!("; a field is the sum of {together} × {together} ranks"));
    }
    let (mut figure, top) = begin(name, &Head { title: run_title(run), more, ..Head::default() }, 560.0);
    let (frame, step) = fields_frame(&mut figure, top, fields);
    let shade = |sum: u64| match is_log {
        false => 0.25 + 0.75 * (sum - least) as f64 / (most - least).max(1) as f64,
        true => 0.15 + 0.85 * (sum as f64 / least as f64).ln() / (most as f64 / least as f64).ln(),
    };
    for (index, &sum) in sums.iter().enumerate().filter(|(_, sum)| **sum > 0) {
        let (x, y) = (frame.left + (index % fields) as f64 * step, frame.top + (index / fields) as f64 * step);
        figure.rect((x, y), (x + step, y + step), color(if most == least { 1.0 } else { shade(sum) }));
    }
    nodes(&mut figure, frame, run, step / together as f64);
    let words = ["sender (rank)", "receiver (rank)"];
    ranks(&mut figure, frame, run.ranks as usize, step / together as f64, words);
    let middle = if is_log { (least as f64 * most as f64).sqrt() as u64 } else { least + (most - least) / 2 };
    let mut scale = vec![least, middle, most];
    scale.dedup();
    let scale: Vec<(f64, u64)> = match scale[..] {
        [only] => vec![(1.0, only)],
        _ => scale.into_iter().map(|value| (shade(value), value)).collect(),
    };
    bar(&mut figure, frame, unit, &scale, text);
    Some(figure)
}

/// Returns the first rank of each node except the first node. The list of ranks is empty if nodes are too small to be
/// drawn.
fn borders(run: &Outcome) -> Vec<usize> {
    let borders: Vec<usize> =
        (1..run.per_rank.len()).filter(|&rank| run.per_rank[rank].node != run.per_rank[rank - 1].node).collect();
    if borders.len() < 40 && borders.len() + 1 < run.per_rank.len() { borders } else { Vec::new() }
}

/// Draws lines in the communication matrix at the borders between nodes.
fn nodes(figure: &mut Figure, frame: PlotFrame, run: &Outcome, step: f64) {
    for border in borders(run) {
        let at = border as f64 * step;
        let gray = Color(0x99, 0x99, 0x99);
        figure.line(vec![(frame.left + at, frame.top), (frame.left + at, frame.bottom)], gray, 0.6, Dash::Solid);
        figure.line(vec![(frame.left, frame.top + at), (frame.right, frame.top + at)], gray, 0.6, Dash::Solid);
    }
    box_around(figure, frame);
}

/// Returns the frame of a matrix figure with `fields` fields per row, and the width of a field. The width is a whole
/// number of pixels, so the figure shows no seams.
pub(super) fn fields_frame(figure: &mut Figure, top: f64, fields: usize) -> (PlotFrame, f64) {
    let step = (SIDE / fields as f64).floor();
    let side = step * fields as f64;
    let (left, top) = (70.0, (top + 4.0).round());
    // The figure leaves room for rank numbers and axis titles below the fields.
    figure.height = top + side.max(BAR) + 60.0;
    (PlotFrame { left, top, right: left + side, bottom: top + side }, step)
}

/// Draws the outline of the matrix figure.
pub(super) fn box_around(figure: &mut Figure, frame: PlotFrame) {
    let corners = [
        (frame.left, frame.top),
        (frame.right, frame.top),
        (frame.right, frame.bottom),
        (frame.left, frame.bottom),
        (frame.left, frame.top),
    ];
    figure.line(corners.to_vec(), BLACK, 1.0, Dash::Solid);
}

/// Draws the rank numbers on both axes of a matrix figure, and the titles of rows and columns.
pub(super) fn ranks(figure: &mut Figure, frame: PlotFrame, ranks: usize, step: f64, [rows, columns]: [&str; 2]) {
    for rank in (0..ranks).step_by(rank_marks(ranks)) {
        let at = (rank as f64 + 0.5) * step;
        figure.text((frame.left + at, frame.bottom + 15.0), &rank.to_string(), Style::TICK, Anchor::Middle);
        figure.text((frame.left - 6.0, frame.top + at + 3.6), &rank.to_string(), Style::TICK, Anchor::End);
    }
    title_below(figure, frame, columns, 33.0);
    figure.text((24.0, (frame.top + frame.bottom) / 2.0), rows, Style::PLAIN.up(), Anchor::Middle);
}

/// Draws the colour bar of a matrix figure and the title of the bar.
pub(super) fn bar<V: Copy>(
    figure: &mut Figure,
    frame: PlotFrame,
    title: &str,
    scale: &[(f64, V)],
    text: impl Fn(V) -> String,
) {
    figure.text((frame.right + 28.0, frame.top + 10.0), title, Style::PLAIN, Anchor::Start);
    let frame = PlotFrame { top: frame.top + 12.0, ..frame };
    let height = if scale.len() == 1 { 12.0 } else { 220.0 };
    let (left, right) = (frame.right + 28.0, frame.right + 44.0);
    let (top, low) = (frame.top + 10.0, scale[0].0);
    let steps = if scale.len() == 1 { 1 } else { 64 };
    for index in 0..steps {
        let shade = if steps == 1 { 1.0 } else { 1.0 - (1.0 - low) * f64::from(index) / 63.0 };
        // Each step of the colour bar overlaps the previous step, so the figure shows no seams.
        let from = top + height * f64::from(index) / f64::from(steps);
        figure.rect((left, from), (right, top + height), color(shade));
    }
    let words = |shade: f64| top + if low < 1.0 { 4.0 + height * (1.0 - shade) / (1.0 - low) } else { 10.0 };
    for (shade, value) in scale {
        figure.text((right + 7.0, words(*shade)), &text(*value), Style::TICK, Anchor::Start);
    }
    figure.rect((left, top + height + 16.0), (right, top + height + 28.0), WHITE);
    let corners = [
        (left, top + height + 16.0),
        (right, top + height + 16.0),
        (right, top + height + 28.0),
        (left, top + height + 28.0),
        (left, top + height + 16.0),
    ];
    figure.line(corners.to_vec(), BLACK, 0.6, Dash::Solid);
    figure.text((right + 7.0, top + height + 26.0), "none", Style::TICK, Anchor::Start);
}

/// Returns the colour of a shade from 0 to 1, on a scale from nearly white over blue to nearly black.
pub(super) fn color(shade: f64) -> Color {
    let stops = [(0.0, Color(0xf0, 0xf6, 0xfc)), (0.5, Color(0x56, 0xa0, 0xd3)), (1.0, Color(0x08, 0x30, 0x6b))];
    let shade = shade.clamp(0.0, 1.0);
    let pair = if shade < 0.5 { [stops[0], stops[1]] } else { [stops[1], stops[2]] };
    let [(low, Color(r1, g1, b1)), (high, Color(r2, g2, b2))] = pair;
    let mix =
        |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * (shade - low) / (high - low)).round() as u8;
    Color(mix(r1, r2), mix(g1, g2), mix(b1, b2))
}
