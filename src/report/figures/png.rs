//! Conversion of figures to PNG files.

use tiny_skia::{FillRule, Paint, Path, PathBuilder, Pixmap, Stroke as Pen, StrokeDash, Transform};

use super::canvas::{Color, Figure, Mark, Place, Turn};
use super::font::{self, Stroke};

/// Number of pixels in the PNG file per pixel of the figure, so that the image is sharp on high-resolution screens and
/// in print.
const DENSITY: f32 = 2.0;

impl Figure {
    /// Returns the figure as the content of a PNG file; `None` if the image does not fit in memory.
    pub fn png(&self) -> Option<Vec<u8>> {
        let density = DENSITY * self.scale as f32;
        let pixels = |length: f64| (length as f32 * density).ceil() as u32;
        let mut map = Pixmap::new(pixels(self.width), pixels(self.height))?;
        map.fill(tiny_skia::Color::WHITE);
        self.marks.iter().for_each(|mark| draw(&mut map, mark, Transform::from_scale(density, density)));
        map.encode_png().ok()
    }
}

fn draw(map: &mut Pixmap, mark: &Mark, whole: Transform) {
    match mark {
        Mark::Area { corners, color } => {
            if let Some(path) = polygon(corners, true) {
                map.fill_path(&path, &paint(*color), FillRule::Winding, whole, None);
            }
        }
        Mark::Line { places, color, width, dash } => {
            let dash = StrokeDash::new(dash.pattern().to_vec(), 0.0);
            let pen = Pen { width: *width as f32, dash, line_join: tiny_skia::LineJoin::Round, ..Pen::default() };
            if let Some(path) = polygon(places, false) {
                map.stroke_path(&path, &paint(*color), &pen, whole, None);
            }
        }
        Mark::Text { at, text, size, weight, color, turn } => {
            let scale = font::scale(*size, *weight) as f32;
            let angle = if *turn == Turn::Up { -90.0 } else { 0.0 };
            for glyph in font::glyphs(text, *size, *weight) {
                let transform = whole
                    .pre_translate(at.0 as f32, at.1 as f32)
                    .pre_rotate(angle)
                    .pre_translate(glyph.x as f32, 0.0)
                    .pre_scale(scale, -scale);
                if let Some(path) = outline(&font::outline(*weight, glyph.id)) {
                    map.fill_path(&path, &paint(*color), FillRule::Winding, transform, None);
                }
            }
        }
    }
}

fn paint(Color(red, green, blue): Color) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(red, green, blue, 255);
    paint
}

fn polygon(places: &[Place], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (index, &(x, y)) in places.iter().enumerate() {
        let (x, y) = (x as f32, y as f32);
        if index == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
    }
    if closed {
        path.close();
    }
    path.finish()
}

fn outline(strokes: &[Stroke]) -> Option<Path> {
    let mut path = PathBuilder::new();
    for stroke in strokes {
        match *stroke {
            Stroke::Move(x, y) => path.move_to(x, y),
            Stroke::Line(x, y) => path.line_to(x, y),
            Stroke::Curve([x1, y1, x, y]) => path.quad_to(x1, y1, x, y),
            Stroke::Close => path.close(),
        }
    }
    path.finish()
}
