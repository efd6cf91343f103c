//! Figures of a machine: the places of a node, and the switches or groups above the nodes.

use super::super::headline::clip;
use super::super::numbers::count;
use super::canvas::{Anchor, Color, Dash, Figure, GRAY, Place, Style, WHITE, colors};
use super::frame::{Head, PlotFrame, WIDTH, begin};
use super::network::name_within;
use crate::platform::{DrawnSwitch, MachineDrawing, PlaceOverview, PlatformOverview};

/// Greatest number of switches in the figure of a machine.
pub const MOST_DRAWN_SWITCHES: usize = 600;
/// Greatest number of switches of a row with names.
const MOST_NAMES: usize = 12;
/// Color of a switch.
const SWITCH: Color = Color(0x59, 0x59, 0x59);
/// Colors of the boxes of nested places, the greatest place first.
const BOXES: [Color; 4] =
    [Color(0xf1, 0xf1, 0xf1), Color(0xdd, 0xe8, 0xf2), Color(0xc3, 0xdb, 0xee), Color(0xa5, 0xca, 0xe6)];
/// Color of a core.
const CORE: Color = Color(0x00, 0x72, 0xb2);

/// Returns the figures of a machine: `machine-node`, and `machine-network` if it has a drawing.
pub fn machine_figures(machine: &PlatformOverview, drawing: Option<&MachineDrawing>) -> Vec<Figure> {
    [Some(node(machine)), drawing.map(|drawing| network(machine, drawing))].into_iter().flatten().collect()
}

/// Returns the figure of the places within a node: nested boxes, the largest place outside.
fn node(machine: &PlatformOverview) -> Figure {
    let nodes = u64::from(machine.nct.nodes).max(1);
    let within = |place: &&PlaceOverview| place.nodes.is_none();
    let mut places: Vec<&PlaceOverview> = machine.places.iter().filter(within).collect();
    places.sort_by_key(|place| std::cmp::Reverse((place.cores.most, place.place == "node")));
    let described = |place: &&PlaceOverview| {
        let number = match place.count / nodes {
            1 => place.place.clone(),
            number => format!("{} x {}", count(number), place.place),
        };
        let cache = place.cache.map(|cache| format!("cache {cache}"));
        let memory = place.memory_bandwidth.map(|bandwidth| format!("memory {bandwidth}"));
        let words: Vec<String> = [Some(number), cache, memory].into_iter().flatten().collect();
        words.join(", ")
    };
    let more = places.iter().map(described).collect::<Vec<_>>().join("; ");
    let title = format!("{}: a node", machine.platform);
    let (mut figure, top) = begin("machine-node", &Head { title, more, ..Head::default() }, 420.0);
    let frame = PlotFrame { left: 14.0, top, right: WIDTH - 14.0, bottom: top + 300.0 };
    figure.height = frame.bottom + 14.0;
    nest(&mut figure, &places, 0, frame);
    figure
}

/// Draws a place of the first kind of `places` in `frame`, and the smaller places within it.
fn nest(figure: &mut Figure, places: &[&PlaceOverview], depth: usize, frame: PlotFrame) {
    let [place, smaller @ ..] = places else { return };
    if smaller.is_empty() {
        return figure.rect((frame.left, frame.top), (frame.right, frame.bottom), CORE);
    }
    figure.rect((frame.left, frame.top), (frame.right, frame.bottom), BOXES[depth.min(BOXES.len() - 1)]);
    let named = frame.width() > 60.0;
    if named {
        let name = clip(&place.place, (frame.width() / 7.0) as usize);
        figure.text((frame.left + 4.0, frame.top + 11.0), &name, Style::TICK, Anchor::Start);
    }
    let inner = (smaller[0].count / place.count.max(1)).max(1);
    let height = frame.bottom - frame.top;
    let [gap, top] = [(frame.width() * 0.02).clamp(0.5, 6.0), if named { 16.0 } else { 0.0 }];
    // The grid has cells that are as square as possible.
    let columns = (1..=inner).min_by_key(|&columns| {
        let [wide, high] =
            [frame.width() / columns as f64, (height - top) / inner.div_ceil(columns) as f64].map(|side| side.max(0.1));
        // Full rows are better than square cells.
        let partial = if inner.is_multiple_of(columns) { 0 } else { 600 };
        ((wide / high).ln().abs() * 1000.0) as u64 + partial
    });
    let columns = columns.unwrap_or(1);
    let rows = inner.div_ceil(columns);
    let [wide, high] = [(frame.width() - gap) / columns as f64, (height - top - gap) / rows as f64];
    for at in 0..inner {
        let (left, upper) =
            (frame.left + gap + wide * (at % columns) as f64, frame.top + top + gap + high * (at / columns) as f64);
        let cell = PlotFrame { left, top: upper, right: left + wide - gap, bottom: upper + high - gap };
        if cell.right > cell.left && cell.bottom > cell.top {
            nest(figure, smaller, depth + 1, cell);
        }
    }
}

/// Returns the figure of switches and cables.
fn network(machine: &PlatformOverview, drawing: &MachineDrawing) -> Figure {
    let legend: Vec<(Color, String)> = colors().zip(drawing.kinds.iter().cloned()).collect();
    let title = format!("{}: {} nodes", machine.platform, count(machine.nct.nodes.into()));
    let more = "switches or groups, and their links; below a switch: number of its nodes".to_owned();
    let (mut figure, top) = begin("machine-network", &Head { title, more, legend, ..Head::default() }, 560.0);
    let rows = drawing.switches.iter().map(|of| of.row).max().unwrap_or(0);
    let height = if rows > 0 { 110.0 * f64::from(rows) + 70.0 } else { 460.0 };
    let frame = PlotFrame { left: 20.0, top: top + 10.0, right: WIDTH - 20.0, bottom: top + height.max(240.0) };
    figure.height = frame.bottom + 30.0;
    let places = places(&drawing.switches, frame, rows);
    let shades: Vec<Color> = colors().take(drawing.kinds.len().max(1)).collect();
    for cable in &drawing.cables {
        let ends = cable.ends.map(|end| places[end]);
        let width = (0.7 + 0.5 * f64::from(cable.count - 1)).min(4.0);
        figure.line(ends.to_vec(), shades[cable.kind % shades.len()], width, Dash::Solid);
    }
    for (of, at) in drawing.switches.iter().zip(&places) {
        let in_row = drawing.switches.iter().filter(|other| other.row == of.row).count();
        let named = in_row <= MOST_NAMES;
        figure.dot(*at, if named { 6.0 } else { 3.0 }, SWITCH);
        if !named {
            continue;
        }
        let room = if rows > 0 { frame.width() / in_row as f64 } else { 120.0 };
        let mut label = |y: f64, text: &str, style: Style| {
            let width = style.width(text);
            figure.rect((at.0 - width / 2.0 - 2.0, y - 9.0), (at.0 + width / 2.0 + 2.0, y + 3.0), WHITE);
            figure.text((at.0, y), text, style, Anchor::Middle);
        };
        label(at.1 - 10.0, &name_within(&of.name, room), Style::TICK);
        if of.nodes > 0 {
            label(at.1 + 19.0, &count(of.nodes.into()), Style::TICK.colored(GRAY));
        }
    }
    figure
}

/// Returns the place of each switch: in rows by the distance from the nodes, or on a circle if there is one row.
fn places(switches: &[DrawnSwitch], frame: PlotFrame, rows: u32) -> Vec<Place> {
    let mut totals = vec![0_usize; rows as usize + 1];
    switches.iter().for_each(|of| totals[of.row as usize] += 1);
    let mut next = vec![0_usize; rows as usize + 1];
    let place = |of: &DrawnSwitch| {
        let row = of.row as usize;
        let at = (next[row] as f64 + 0.5) / totals[row] as f64;
        next[row] += 1;
        if rows > 0 {
            return (frame.x(at), frame.y(0.06 + 0.88 * f64::from(of.row) / f64::from(rows)));
        }
        let (sin, cos) = (at * std::f64::consts::TAU).sin_cos();
        (frame.x(0.5 + 0.44 * sin), frame.y(0.5 + 0.44 * cos))
    };
    switches.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Platform;

    #[test]
    fn a_node_has_a_box_per_place_and_a_square_per_core() {
        let platform = Platform::embedded();
        let figures = machine_figures(&platform.overview(None), None);
        assert_eq!(figures.len(), 1);
        let cores = u64::from(platform.shape.cmps * platform.shape.cores);
        let squares = figures[0]
            .marks
            .iter()
            .filter(|mark| matches!(mark, super::super::canvas::Mark::Area { color, .. } if *color == CORE));
        assert_eq!(squares.count() as u64, cores);
    }

    #[test]
    fn switches_are_in_rows_above_their_nodes() {
        let switch = |name: &str, row, nodes| DrawnSwitch { name: name.to_owned(), row, nodes };
        let drawing = MachineDrawing {
            switches: vec![switch("leaf 0", 0, 2), switch("leaf 1", 0, 1), switch("spine", 1, 0)],
            cables: Vec::new(),
            kinds: Vec::new(),
        };
        let figures = machine_figures(&Platform::embedded().overview(None), Some(&drawing));
        let words: Vec<&str> = figures[1].words().collect();
        assert!(["leaf 0", "leaf 1", "spine", "2", "1"].iter().all(|word| words.contains(word)), "{words:?}");
    }
}
