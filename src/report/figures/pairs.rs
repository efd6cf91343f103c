//! Figures of time matrices: message times or clusters, with one field per pair of ranks.

use crate::matrices::Parameters;
use crate::units::Bytes;

use super::super::clusters::span;
use super::canvas::{Anchor, Color, Figure, PALETTE, Style};
use super::frame::{Head, PlotFrame, begin};
use super::matrix::{bar, box_around, color, fields_frame, ranks};
use super::run::together;

/// Maximum number of fields per row of a matrix figure.
const MOST_FIELDS: usize = 128;

/// Titles of the axes in a matrix figure.
const ROWS: &str = "x, whose clock measured (rank)";
const COLUMNS: &str = "y, its partner (rank)";

/// Returns the figure of a time matrix in which the colour of a field shows the message time.
pub fn values_figure(name: &str, parameters: &Parameters, matrix: usize, values: &[f64]) -> Figure {
    let side = parameters.ranks as usize;
    let together = together(side, MOST_FIELDS);
    let fields = side.div_ceil(together);
    let mut sums = vec![(0.0, 0u32); fields * fields];
    for (element, value) in values.iter().enumerate().filter(|(_, value)| **value > 0.0) {
        let (sum, count) = &mut sums[element / side / together * fields + element % side / together];
        *sum += value;
        *count += 1;
    }
    let means: Vec<f64> = sums.iter().map(|(sum, count)| sum / f64::from((*count).max(1))).collect();
    let above = || means.iter().copied().filter(|mean| *mean > 0.0);
    let (least, most) = (above().fold(f64::INFINITY, f64::min), above().fold(0.0, f64::max));
    let is_log = most / least >= 20.0;
    let shade = |value: f64| match (most > least, is_log) {
        (false, _) => 1.0,
        (_, false) => 0.15 + 0.85 * (value - least) / (most - least),
        (_, true) => 0.15 + 0.85 * (value / least).ln() / (most / least).ln(),
    };
    let mut more = format!("{} of {}", parameters.test.name(), Bytes::new(parameters.length(matrix)));
    more.push_str(if is_log { ", shades by the logarithm of time" } else { "" });
    let (mut figure, frame, step) = field(&format!("{name}-values"), name, more, (fields, together));
    for (index, mean) in means.iter().enumerate().filter(|(_, mean)| **mean > 0.0) {
        square(&mut figure, frame, index / fields, index % fields, step, color(shade(*mean)));
    }
    box_around(&mut figure, frame);
    ranks(&mut figure, frame, side, step / together as f64, [ROWS, COLUMNS]);
    if most > 0.0 {
        let middle = if is_log { (least * most).sqrt() } else { f64::midpoint(least, most) };
        let scale: Vec<(f64, f64)> = match most > least {
            true => [least, middle, most].map(|value| (shade(value), value)).to_vec(),
            false => vec![(1.0, most)],
        };
        bar(&mut figure, frame, "time", &scale, span);
    }
    figure
}

/// Returns the figure of a time matrix in which the colour of a field shows the cluster of the rank pair. Only the
/// largest clusters have their own colour.
pub fn clusters_figure(name: &str, parameters: &Parameters, matrix: usize, labels: &[u32]) -> Figure {
    let side = parameters.ranks as usize;
    let together = together(side, MOST_FIELDS);
    let fields = side.div_ceil(together);
    let count = labels.iter().max().map_or(0, |most| *most as usize + 1);
    let mut sizes = vec![0usize; count];
    labels.iter().for_each(|label| sizes[*label as usize] += 1);
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|cluster| (std::cmp::Reverse(sizes[*cluster]), *cluster));
    let shown = order.len().min(PALETTE.len() - 1);
    // The clusters in the legend are in the order of their times.
    let mut named = order[..shown].to_vec();
    named.sort_unstable();
    let color_of = |label: u32| {
        let place = named.iter().position(|cluster| *cluster == label as usize);
        PALETTE[place.unwrap_or(PALETTE.len() - 1)]
    };
    let (length, test) = (Bytes::new(parameters.length(matrix)), parameters.test.name());
    let more = format!("{count} clusters, {test} of {length}");
    let (mut figure, frame, step) = field(&format!("{name}-clusters"), name, more, (fields, together));
    for index in 0..fields * fields {
        // A field that covers several pairs of ranks shows the pair in its middle.
        let rank = |at: usize| (at * together + together / 2).min(side - 1);
        let label = labels[rank(index / fields) * side + rank(index % fields)];
        square(&mut figure, frame, index / fields, index % fields, step, color_of(label));
    }
    box_around(&mut figure, frame);
    ranks(&mut figure, frame, side, step / together as f64, [ROWS, COLUMNS]);
    let pairs = |size: usize| format!("{size} pair{}", if size == 1 { "" } else { "s" });
    let mut words: Vec<(Color, String)> = named
        .iter()
        .map(|cluster| (color_of(*cluster as u32), format!("{}: {}", cluster + 1, pairs(sizes[*cluster]))))
        .collect();
    if count > shown {
        let rest: usize = order[shown..].iter().map(|cluster| sizes[*cluster]).sum();
        words.push((PALETTE[PALETTE.len() - 1], format!("{} more: {rest}", count - shown)));
    }
    figure.text((frame.right + 18.0, frame.top + 10.0), "cluster", Style::PLAIN, Anchor::Start);
    for (line, (color, text)) in words.iter().enumerate() {
        let (x, y) = (frame.right + 18.0, frame.top + 30.0 + 18.0 * line as f64);
        figure.rect((x, y - 9.0), (x + 10.0, y + 1.0), *color);
        figure.text((x + 15.0, y), text, Style::TICK, Anchor::Start);
    }
    figure
}

fn square(figure: &mut Figure, frame: PlotFrame, row: usize, column: usize, step: f64, color: Color) {
    let (x, y) = (frame.left + column as f64 * step, frame.top + row as f64 * step);
    figure.rect((x, y), (x + step, y + step), color);
}

/// Returns an empty matrix figure, the position of its fields, and the width of a field.
fn field(file: &str, title: &str, mut more: String, (fields, together): (usize, usize)) -> (Figure, PlotFrame, f64) {
    if together > 1 {
        more.push_str(&format!("; a field is {together} × {together} pairs"));
    }
    let (mut figure, top) = begin(file, &Head { title: title.to_owned(), more, ..Head::default() }, 560.0);
    let (frame, step) = fields_frame(&mut figure, top, fields);
    (figure, frame, step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrices::PairTest;

    #[test]
    fn a_matrix_is_drawn_by_values_and_by_clusters() {
        let parameters = Parameters {
            ranks: 4,
            test: PairTest::OneToOne,
            begin: 1024,
            end: 1025,
            step: 1,
            repeats: 1,
            noise_bytes: 0,
            noise_messages: 0,
            noise_ranks: 0,
        };
        let labels = [0, 1, 2, 2, 1, 0, 2, 2, 2, 2, 0, 1, 2, 2, 1, 0];
        let values = labels.map(|label| f64::from(label) * 1e-6);
        let figure = values_figure("a", &parameters, 0, &values);
        let words: Vec<&str> = figure.words().collect();
        assert!(
            ["one_to_one of 1 KiB", "1.00 us", "1.50 us", "2.00 us"].iter().all(|word| words.contains(word)),
            "{words:?}"
        );
        let figure = clusters_figure("a", &parameters, 0, &labels);
        let words: Vec<&str> = figure.words().collect();
        assert!(words.contains(&"3: 8 pairs") && words.contains(&"3 clusters, one_to_one of 1 KiB"), "{words:?}");
        assert_eq!(figure.name, "a-clusters");
    }
}
