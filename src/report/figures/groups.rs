//! Figures of messages in size groups: bars of each group's share of count, volume and time, and pie charts.

use super::axis::PlotAxis;
use super::canvas::{Anchor, Color, Dash, Figure, PALETTE, Style, WHITE, colors};
use super::frame::{BarWords, Head, begin, feet, frame, vertical};
use crate::report::histogram::GroupShares;

/// Totals to which the shares of size groups relate, and the colours of the bars for these totals.
const OF: [(&str, Color); 3] = [("of count", PALETTE[0]), ("of volume", PALETTE[1]), ("of time", PALETTE[2])];

fn share(row: &GroupShares, of: usize) -> Option<f64> {
    [Some(row.count_share), Some(row.bytes_share), row.time_share][of]
}

/// Returns the figures of the size groups: a bar chart, and pie charts of count, of volume, and of time if the time is
/// known.
pub fn group_figures(title: &str, rows: &[GroupShares]) -> Vec<Figure> {
    let known = (0..3).filter(|&of| rows.iter().any(|row| share(row, of).is_some()));
    let pies = known.map(|of| pie(title, rows, of));
    std::iter::once(bars(title, rows)).chain(pies).collect()
}

fn bars(title: &str, rows: &[GroupShares]) -> Figure {
    let known: Vec<usize> = (0..3).filter(|&of| rows.iter().any(|row| share(row, of).is_some())).collect();
    let legend = known.iter().map(|&of| (OF[of].1, OF[of].0.to_owned())).collect();
    let more = "messages in groups of sizes: shares in percent".to_owned();
    let head = Head { title: title.to_owned(), more, legend, ..Head::default() };
    let (mut figure, top) = begin("groups", &head, 400.0);
    let axis = PlotAxis::count("percent", 104.0);
    let guess = frame(&figure, top, &axis, 50.0);
    let names: Vec<String> = rows.iter().map(GroupShares::name).collect();
    let (frame, words) = BarWords::below(&mut figure, guess, &names);
    vertical(&mut figure, frame, &axis);
    let step = frame.width() / rows.len().max(1) as f64;
    let width = step * 0.8 / known.len().max(1) as f64;
    for (place, row) in rows.iter().enumerate() {
        let left = frame.left + step * place as f64 + step * 0.1;
        for (bar, &of) in known.iter().enumerate() {
            let Some(value) = share(row, of) else { continue };
            let (x1, y) = (left + width * bar as f64, frame.y(axis.at(value)));
            figure.rect((x1, y), (x1 + width * 0.92, frame.bottom), OF[of].1);
            if width > 26.0 {
                let text = format!("{value:.1}");
                figure.text((x1 + width * 0.46, y - 4.0), &text, Style::TICK, Anchor::Middle);
            }
        }
    }
    words.draw(&mut figure, frame, "size of a message, bytes");
    feet(&mut figure, frame);
    figure
}

fn pie(title: &str, rows: &[GroupShares], of: usize) -> Figure {
    let name = format!("groups-{}", OF[of].0.trim_start_matches("of "));
    let value = |row: &GroupShares| share(row, of).unwrap_or(0.0);
    let legend = colors().zip(rows).map(|(color, row)| (color, format!("{} B  {:.1}%", row.name(), value(row))));
    let more = format!("shares {} by size", OF[of].0);
    let head = Head { title: title.to_owned(), more, legend: legend.collect(), ..Head::default() };
    let (mut figure, top) = begin(&name, &head, 420.0);
    let (x, radius) = (super::frame::WIDTH / 2.0, (420.0 - top - 20.0) / 2.0);
    let y = top + radius;
    let at = |share: f64| {
        let turn = share / 100.0 * std::f64::consts::TAU;
        (x + radius * turn.sin(), y - radius * turn.cos())
    };
    let mut from = 0.0;
    for (row, color) in rows.iter().zip(colors()) {
        let to = from + value(row);
        let steps = ((to - from) * 2.0).ceil().max(1.0) as usize;
        let rim = (0..=steps).map(|step| at(from + (to - from) * step as f64 / steps as f64));
        let corners: Vec<_> = std::iter::once((x, y)).chain(rim).collect();
        figure.area(corners, color);
        figure.line(vec![(x, y), at(from)], WHITE, 1.5, Dash::Solid);
        if to - from > 4.0 {
            let (rim_x, rim_y) = at((from + to) / 2.0);
            let place = (x + (rim_x - x) * 0.65, y + (rim_y - y) * 0.65 + 4.0);
            figure.text(place, &format!("{:.1}%", to - from), Style::PLAIN.bold().colored(WHITE), Anchor::Middle);
        }
        from = to;
    }
    figure
}
