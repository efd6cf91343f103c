//! Font of figures: DejaVu Sans. mcpsim contains the font, so a figure looks the same on every host.

use std::sync::LazyLock;

use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// Weight of a font: regular or bold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    Regular,
    Bold,
}

static FACES: LazyLock<[Face<'static>; 2]> = LazyLock::new(|| {
    [dejavu::sans::regular(), dejavu::sans::bold()].map(|data| Face::parse(data, 0).expect("a test reads the fonts"))
});

/// Segment of a glyph's outline in font units; the vertical axis points upwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stroke {
    Move(f32, f32),
    Line(f32, f32),
    Curve([f32; 4]),
    Close,
}

/// Glyph with its position in a line of text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Glyph {
    pub weight: Weight,
    pub id: GlyphId,
    /// Horizontal offset in pixels from the start of the text.
    pub x: f64,
}

fn face(weight: Weight) -> &'static Face<'static> {
    &FACES[weight as usize]
}

/// Returns the number of pixels per font unit.
pub(super) fn scale(size: f64, weight: Weight) -> f64 {
    size / f64::from(face(weight).units_per_em())
}

/// Returns the glyphs of the text `text` with their positions.
pub(super) fn glyphs(text: &str, size: f64, weight: Weight) -> Vec<Glyph> {
    let (face, scale) = (face(weight), scale(size, weight));
    let mut x = 0.0;
    text.chars()
        .map(|c| {
            let id = face.glyph_index(c).unwrap_or(GlyphId(0));
            let glyph = Glyph { weight, id, x };
            x += f64::from(face.glyph_hor_advance(id).unwrap_or(0)) * scale;
            glyph
        })
        .collect()
}

/// Returns the width of the text `text` in pixels.
pub(super) fn width(text: &str, size: f64, weight: Weight) -> f64 {
    let (face, scale) = (face(weight), scale(size, weight));
    let advance = |c: char| face.glyph_index(c).and_then(|id| face.glyph_hor_advance(id)).unwrap_or(0);
    text.chars().map(|c| f64::from(advance(c))).sum::<f64>() * scale
}

/// Returns the outline of a glyph; the outline of a blank is empty.
pub(super) fn outline(weight: Weight, id: GlyphId) -> Vec<Stroke> {
    let mut outline = Outline(Vec::new());
    face(weight).outline_glyph(id, &mut outline);
    outline.0
}

struct Outline(Vec<Stroke>);

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.0.push(Stroke::Move(x, y));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.0.push(Stroke::Line(x, y));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.0.push(Stroke::Curve([x1, y1, x, y]));
    }

    /// TrueType fonts have quadratic curves only; one quadratic curve approximates a cubic curve.
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.0.push(Stroke::Curve([(x1 + x2) / 2.0, (y1 + y2) / 2.0, x, y]));
    }

    fn close(&mut self) {
        self.0.push(Stroke::Close);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_fonts_have_the_letters_of_figures() {
        for weight in [Weight::Regular, Weight::Bold] {
            for c in ('!'..='~').chain("µ≤×–…".chars()) {
                let id = face(weight).glyph_index(c).unwrap_or_else(|| panic!("{c}"));
                assert!(!outline(weight, id).is_empty(), "{c}");
            }
        }
        assert!(width("mm", 10.0, Weight::Regular) > width("ii", 10.0, Weight::Regular));
        assert_eq!(width("", 10.0, Weight::Bold), 0.0);
    }
}
