//! Figures of the load of a network: the links of all switches, and the load of links and adapters over time.

use super::super::headline::clip;
use super::super::numbers::percent;
use super::axis::PlotAxis;
use super::canvas::{Anchor, Color, Dash, Figure, Place, Style, WHITE};
use super::frame::{Head, PlotFrame, WIDTH, begin, horizontal};
use super::matrix::{bar, box_around, color};
use super::source::{predicted_seconds, run_title};
use crate::engine::Outcome;
use crate::profile::{LinkLoad, LoadOverTime};

/// Greatest number of links in the figure of loads over time.
const MOST_LINKS: usize = 32;
/// Greatest number of switches in the figure of the network.
const MOST_SWITCHES: usize = 600;
/// Greatest number of switches with names in the figure of the network.
const MOST_NAMES: usize = 20;
/// Height of a row of the figure of loads over time, in pixels.
const ROW: f64 = 13.0;
/// Color of a switch.
const SWITCH: Color = Color(0x59, 0x59, 0x59);

/// Returns the figure of the load of resources over time. Returns `None` if the run did not record loads.
pub(super) fn over_time(run: &Outcome) -> Option<Figure> {
    let load = run.load_over_time.as_deref().filter(|load| !load.kinds.is_empty())?;
    let kinds = load.kinds.iter().map(|of| (format!("{} ({}, mean)", of.kind, of.count), &of.mean[..]));
    let links = load.links.iter().take(MOST_LINKS).map(|of| (of.link.clone(), &of.load[..]));
    let (kinds, links): (Vec<_>, Vec<_>) = (kinds.collect(), links.collect());
    let mut more = "load over time: all resources of a kind".to_owned();
    match load.links.len() {
        0 => {}
        all if all > MOST_LINKS => more.push_str(&format!(", and the {MOST_LINKS} busiest links")),
        _ => more.push_str(", and the links with load"),
    }
    let (mut figure, top) = begin("load-time", &Head { title: run_title(run), more, ..Head::default() }, 560.0);
    let rows: Vec<&(String, &[f64])> = kinds.iter().chain(&links).collect();
    let widest = rows.iter().map(|(name, _)| Style::TICK.width(&shown(name))).fold(0.0, f64::max);
    let gap = if links.is_empty() { 0.0 } else { 6.0 };
    let (left, top) = (14.0 + widest + 8.0, (top + 4.0).round());
    let frame = PlotFrame { left, top, right: WIDTH - 110.0, bottom: top + ROW * rows.len() as f64 + gap };
    figure.height = frame.bottom.max(frame.top + 290.0) + 50.0;
    let axis = PlotAxis::time("time", predicted_seconds(run));
    let span = load.span.as_seconds();
    let end = frame.x(axis.at(predicted_seconds(run)));
    for (number, (name, loads)) in rows.iter().enumerate() {
        let y = frame.top + ROW * number as f64 + if number < kinds.len() { 0.0 } else { gap };
        let mut at = 0;
        for equal in loads.chunk_by(|a, b| step(*a) == step(*b)) {
            // Whole pixels avoid seams between spans.
            let [from, to] = [at, at + equal.len()].map(|at| frame.x(axis.at(span * at as f64)).min(end).round());
            at += equal.len();
            if equal[0] > 0.0 {
                figure.rect((from, y), (to, y + ROW), color(shade(step(equal[0]))));
            }
        }
        figure.text((frame.left - 6.0, y + ROW - 3.0), &shown(name), Style::TICK, Anchor::End);
    }
    box_around(&mut figure, frame);
    horizontal(&mut figure, frame, &axis);
    bar(&mut figure, frame, "load", &scale(), percent);
    Some(figure)
}

/// Returns the figure of the switches and the mean load of their links. Returns `None` if the run did not record the
/// loads of links, or if there are too many switches.
pub(super) fn links(run: &Outcome) -> Option<Figure> {
    let load = run.load_over_time.as_deref()?;
    if load.links.is_empty() || load.switches.len() > MOST_SWITCHES {
        return None;
    }
    let more = "switches and links; colour and width by the mean load of the busier direction".to_owned();
    let (mut figure, top) = begin("load-network", &Head { title: run_title(run), more, ..Head::default() }, 560.0);
    let rows = load.switches.values().map(|of| of.row).max().unwrap_or(0);
    let height = if rows > 0 { 110.0 * f64::from(rows) + 60.0 } else { 440.0 };
    let frame = PlotFrame { left: 30.0, top: top + 20.0, right: WIDTH - 120.0, bottom: top + height.max(300.0) };
    figure.height = frame.bottom + 30.0;
    let names = load.switches.len() <= MOST_NAMES;
    let places = places(load, frame, rows);
    let place = |switch: u32| places.iter().find(|(of, _)| *of == switch).map(|(_, place)| *place);
    for (ends, mean) in cables(&load.links) {
        if let [Some(from), Some(to)] = ends.map(place) {
            figure.line(vec![from, to], color(shade(mean)), 0.8 + 2.4 * mean, Dash::Solid);
        }
    }
    for (switch, at) in &places {
        figure.dot(*at, if names { 6.0 } else { 3.0 }, SWITCH);
        if names && let Some(of) = load.switches.get(switch) {
            let room = frame.width() / load.switches.values().filter(|other| other.row == of.row).count() as f64;
            let name = name_within(&of.name, if rows > 0 { room } else { 120.0 });
            let width = Style::TICK.width(&name);
            let y = if rows > 0 && of.row < rows { at.1 + 19.0 } else { at.1 - 10.0 };
            figure.rect((at.0 - width / 2.0 - 2.0, y - 9.0), (at.0 + width / 2.0 + 2.0, y + 3.0), WHITE);
            figure.text((at.0, y), &name, Style::TICK, Anchor::Middle);
        }
    }
    bar(&mut figure, frame, "mean load", &scale(), percent);
    Some(figure)
}

/// Returns pairs of switches with the load of the busier direction of the busiest cable, least load first.
fn cables(links: &[LinkLoad]) -> Vec<([u32; 2], f64)> {
    let mut cables = std::collections::BTreeMap::<[u32; 2], f64>::new();
    for link in links {
        let [a, b] = link.ends;
        let load = cables.entry([a.min(b), a.max(b)]).or_default();
        *load = load.max(link.mean);
    }
    let mut cables: Vec<_> = cables.into_iter().collect();
    cables.sort_by(|a, b| a.1.total_cmp(&b.1));
    cables
}

/// Returns the place of each switch: in rows by the distance from the nodes, or on a circle if there is one row.
fn places(load: &LoadOverTime, frame: PlotFrame, rows: u32) -> Vec<(u32, Place)> {
    let mut places = Vec::new();
    for row in 0..=rows {
        let of_row: Vec<u32> = load.switches.iter().filter(|(_, of)| of.row == row).map(|(at, _)| *at).collect();
        for (number, switch) in of_row.iter().enumerate() {
            let at = (number as f64 + 0.5) / of_row.len() as f64;
            let place = if rows > 0 {
                (frame.x(at), frame.y(0.06 + 0.88 * f64::from(row) / f64::from(rows)))
            } else {
                let (sin, cos) = (at * std::f64::consts::TAU).sin_cos();
                (frame.x(0.5 + 0.44 * sin), frame.y(0.5 + 0.44 * cos))
            };
            places.push((*switch, place));
        }
    }
    places
}

/// Returns the name of a switch, or only its numbers if the name is wider than `room` pixels.
pub(super) fn name_within(name: &str, room: f64) -> String {
    if Style::TICK.width(name) + 6.0 <= room {
        return name.to_owned();
    }
    let numbers: Vec<&str> = name.split(|of: char| !of.is_ascii_digit()).filter(|part| !part.is_empty()).collect();
    if numbers.is_empty() { clip(name, 12) } else { numbers.join(", ") }
}

/// Rounds a load to a fiftieth. Less than a hundredth stays visible.
fn step(load: f64) -> f64 {
    if load > 0.0 { (load * 50.0).round().max(0.5) / 50.0 } else { 0.0 }
}

fn shade(load: f64) -> f64 {
    0.15 + 0.85 * load
}

/// Shades of the colour bar with their loads.
fn scale() -> Vec<(f64, f64)> {
    [0.0, 0.25, 0.5, 0.75, 1.0].map(|load| (shade(load), load)).into()
}

fn shown(name: &str) -> String {
    clip(name, 44)
}
