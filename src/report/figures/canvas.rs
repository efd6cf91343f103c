//! Drawing elements of a figure: areas, lines and texts at positions in pixels from the top left. Separate modules
//! write the elements as SVG and PNG.

use super::font::{self, Weight};
pub(super) use crate::report::palette::{BLACK, Color, GRAY, GRID, PALETTE, RED, WHITE, colors};

/// Position of a drawing element: distance from the left edge and from the upper edge, in pixels.
pub(super) type Place = (f64, f64);

/// Drawing element of a figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mark {
    /// A filled polygon of a figure.
    Area { corners: Vec<Place>, color: Color },
    /// A line through the positions `places`.
    Line { places: Vec<Place>, color: Color, width: f64, dash: Dash },
    /// A text on one line. `at` is a point on the baseline.
    Text { at: Place, text: String, size: f64, weight: Weight, color: Color, turn: Turn },
}

/// Dash pattern of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dash {
    Solid,
    Dashed,
    Dotted,
    Mixed,
}

impl Dash {
    /// All dash patterns of lines, in the order in which lines that overlap use the patterns.
    pub(super) const ALL: [Dash; 4] = [Dash::Solid, Dash::Dashed, Dash::Dotted, Dash::Mixed];

    /// Returns the lengths of dashes and gaps of a line, alternating; empty for a solid line.
    pub(super) fn pattern(self) -> &'static [f32] {
        match self {
            Dash::Solid => &[],
            Dash::Dashed => &[5.0, 3.0],
            Dash::Dotted => &[2.0, 3.5],
            Dash::Mixed => &[8.0, 3.0, 2.0, 3.0],
        }
    }
}

/// Direction of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The text is written left to right.
    Level,
    /// The text is written upwards.
    Up,
}

/// Part of a text (start, middle or end) that is placed at the text's position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Drawing, and the name of the file that will contain it.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// File name of the figure, without extension.
    pub name: String,
    pub(super) width: f64,
    pub(super) height: f64,
    /// Factor of the figure's size in files; texts and lines are scaled as well.
    pub(super) scale: f64,
    pub(super) marks: Vec<Mark>,
}

impl Figure {
    pub(super) fn new(name: impl Into<String>, width: f64, height: f64) -> Self {
        Figure { name: name.into(), width, height, scale: 1.0, marks: Vec::new() }
    }

    /// Returns the figure with a width of `width` CSS pixels (1/96 inch) in files.
    pub fn with_width(self, width: f64) -> Self {
        Figure { scale: width / self.width, ..self }
    }

    /// Adds a rectangle between two corners.
    pub(super) fn rect(&mut self, (x1, y1): Place, (x2, y2): Place, color: Color) {
        self.area(vec![(x1, y1), (x2, y1), (x2, y2), (x1, y2)], color);
    }

    pub(super) fn area(&mut self, corners: Vec<Place>, color: Color) {
        self.marks.push(Mark::Area { corners, color });
    }

    /// Adds a disc, approximated by a polygon.
    pub(super) fn dot(&mut self, (x, y): Place, radius: f64, color: Color) {
        let corner = |step: u32| {
            let (sin, cos) = (f64::from(step) / 24.0 * std::f64::consts::TAU).sin_cos();
            (x + radius * cos, y + radius * sin)
        };
        self.area((0..24).map(corner).collect(), color);
    }

    /// Adds a star with five points.
    pub(super) fn star(&mut self, (x, y): Place, radius: f64, color: Color) {
        let corner = |step: u32| {
            let radius = if step.is_multiple_of(2) { radius } else { radius * 0.42 };
            let (sin, cos) = (f64::from(step) / 10.0 * std::f64::consts::TAU).sin_cos();
            (x + radius * sin, y - radius * cos)
        };
        self.area((0..10).map(corner).collect(), color);
    }

    pub(super) fn line(&mut self, places: Vec<Place>, color: Color, width: f64, dash: Dash) {
        self.marks.push(Mark::Line { places, color, width, dash });
    }

    /// Adds a line of text whose anchor is at `at`.
    pub(super) fn text(&mut self, at: Place, text: &str, style: Style, anchor: Anchor) {
        let Style { size, weight, color, turn } = style;
        let back = match anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => font::width(text, size, weight) / 2.0,
            Anchor::End => font::width(text, size, weight),
        };
        let at = match turn {
            Turn::Level => (at.0 - back, at.1),
            Turn::Up => (at.0, at.1 + back),
        };
        self.marks.push(Mark::Text { at, text: text.to_owned(), size, weight, color, turn });
    }

    /// Iterates over all texts of the figure.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.marks.iter().filter_map(|mark| match mark {
            Mark::Text { text, .. } => Some(text.as_str()),
            _ => None,
        })
    }
}

/// Style of a text in a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Style {
    pub size: f64,
    pub weight: Weight,
    pub color: Color,
    pub turn: Turn,
}

impl Style {
    /// Default style of texts.
    pub const PLAIN: Style = Style { size: 11.0, weight: Weight::Regular, color: BLACK, turn: Turn::Level };
    /// Style of the labels of axis ticks.
    pub const TICK: Style = Style { size: 10.0, color: Color(0x40, 0x40, 0x40), ..Style::PLAIN };
    /// Style of figure titles.
    pub const TITLE: Style = Style { size: 13.0, weight: Weight::Bold, ..Style::PLAIN };

    pub fn bold(self) -> Style {
        Style { weight: Weight::Bold, ..self }
    }

    pub fn colored(self, color: Color) -> Style {
        Style { color, ..self }
    }

    pub fn up(self) -> Style {
        Style { turn: Turn::Up, ..self }
    }

    /// Returns the width of the text `text` in this style, in pixels.
    pub fn width(self, text: &str) -> f64 {
        font::width(text, self.size, self.weight)
    }
}
