//! Conversion of figures to PDF files of one page. Texts are drawn as outlines, so no font is needed.

use std::fmt::Write;

use super::canvas::{Color, Figure, Mark, Place, Turn};
use super::font::{self, Stroke};

/// Points (1/72 inch) per pixel (1/96 inch).
const POINTS: f64 = 0.75;

impl Figure {
    /// Returns the figure as the content of a PDF file.
    pub fn pdf(&self) -> Vec<u8> {
        let scale = POINTS * self.scale;
        let mut content = format!("{} 0 0 -{} 0 {} cm\n1 j\n", scale, scale, self.height * scale);
        self.marks.iter().for_each(|mark| write_mark(&mut content, mark));
        let (width, height) = (self.width * scale, self.height * scale);
        let objects = [
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
            format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:.2} {height:.2}] /Resources << >> /Contents 4 0 R >>"
            ),
            format!("<< /Length {} >>\nstream\n{content}endstream", content.len()),
        ];
        let mut file = "%PDF-1.4\n".to_owned();
        let mut offsets = String::new();
        for (number, object) in (1..).zip(&objects) {
            put(&mut offsets, format_args!("{:010} 00000 n \n", file.len()));
            put(&mut file, format_args!("{number} 0 obj\n{object}\nendobj\n"));
        }
        let (table, count) = (file.len(), objects.len() + 1);
        put(&mut file, format_args!("xref\n0 {count}\n0000000000 65535 f \n{offsets}"));
        put(&mut file, format_args!("trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n"));
        file.into_bytes()
    }
}

fn put(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("writing to a String cannot fail");
}

/// Returns a colour as three numbers from 0 to 1.
fn parts(Color(red, green, blue): Color) -> String {
    [red, green, blue].map(|part| format!("{:.3}", f64::from(part) / 255.0)).join(" ")
}

fn write_path(content: &mut String, places: &[Place]) {
    for (index, (x, y)) in places.iter().enumerate() {
        put(content, format_args!("{x:.2} {y:.2} {}\n", if index == 0 { "m" } else { "l" }));
    }
}

fn write_mark(content: &mut String, mark: &Mark) {
    match mark {
        Mark::Area { corners, color } => {
            put(content, format_args!("{} rg\n", parts(*color)));
            write_path(content, corners);
            content.push_str("f\n");
        }
        Mark::Line { places, color, width, dash } => {
            let dash = dash.pattern().iter().map(f32::to_string).collect::<Vec<_>>().join(" ");
            put(content, format_args!("{} RG {width:.2} w [{dash}] 0 d\n", parts(*color)));
            write_path(content, places);
            content.push_str("S\n");
        }
        Mark::Text { at, text, size, weight, color, turn } => {
            let scale = font::scale(*size, *weight);
            put(content, format_args!("{} rg\n", parts(*color)));
            for glyph in font::glyphs(text, *size, *weight) {
                let place = |x: f32, y: f32| {
                    let (x, y) = (glyph.x + f64::from(x) * scale, f64::from(y) * scale);
                    match turn {
                        Turn::Level => (at.0 + x, at.1 - y),
                        Turn::Up => (at.0 - y, at.1 - x),
                    }
                };
                write_outline(content, &font::outline(*weight, glyph.id), place);
            }
        }
    }
}

/// Writes the outline of a glyph. `place` converts positions in the glyph to positions in the figure.
fn write_outline(content: &mut String, outline: &[Stroke], place: impl Fn(f32, f32) -> Place) {
    let mut last = (0.0, 0.0);
    for stroke in outline {
        match *stroke {
            Stroke::Move(x, y) | Stroke::Line(x, y) => {
                last = place(x, y);
                let operator = if matches!(stroke, Stroke::Move(..)) { "m" } else { "l" };
                put(content, format_args!("{:.2} {:.2} {operator}\n", last.0, last.1));
            }
            // PDF has cubic curves only; this cubic curve equals the quadratic curve.
            Stroke::Curve([x1, y1, x, y]) => {
                let (middle, end) = (place(x1, y1), place(x, y));
                let near =
                    |end: Place| (end.0 + (middle.0 - end.0) * 2.0 / 3.0, end.1 + (middle.1 - end.1) * 2.0 / 3.0);
                let (first, second) = (near(last), near(end));
                for (x, y) in [first, second, end] {
                    put(content, format_args!("{x:.2} {y:.2} "));
                }
                content.push_str("c\n");
                last = end;
            }
            Stroke::Close => content.push_str("h\n"),
        }
    }
    if !outline.is_empty() {
        content.push_str("f\n");
    }
}

#[cfg(test)]
mod tests {
    use super::super::canvas::{Anchor, RED, Style};
    use super::*;

    #[test]
    fn a_file_has_one_page_and_its_table_of_objects_is_right() {
        let mut figure = Figure::new("f", 400.0, 200.0);
        figure.rect((10.0, 10.0), (20.0, 20.0), RED);
        figure.text((30.0, 30.0), "A b", Style::PLAIN, Anchor::Start);
        let file = String::from_utf8(figure.with_width(800.0).pdf()).unwrap();
        assert!(file.starts_with("%PDF-1.4\n") && file.contains("/MediaBox [0 0 600.00 300.00]"), "{file}");
        assert!(file.contains("0.769 0.118 0.227 rg\n10.00 10.00 m\n20.00 10.00 l\n"), "{file}");
        let table: usize = file.lines().rev().nth(1).unwrap().parse().unwrap();
        assert!(file[table..].starts_with("xref\n0 5\n"));
        for (number, line) in (1..5).zip(file[table..].lines().skip(3)) {
            let offset: usize = line[..10].parse().unwrap();
            assert!(file[offset..].starts_with(&format!("{number} 0 obj\n")), "{line}");
        }
    }
}
