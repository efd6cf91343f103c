//! Conversion of figures to SVG files. Texts remain texts, which viewers can search and copy. Each text states its
//! width, so the layout is the same with any font.

use std::fmt::Write;

use super::canvas::{Figure, Mark, Place, Turn};
use super::font::{self, Weight};
use crate::report::palette::hex;

impl Figure {
    /// Returns the figure as the content of an SVG file.
    pub fn svg(&self) -> String {
        let mut body = String::new();
        for mark in &self.marks {
            write_mark(&mut body, mark);
        }
        let (width, height) = (self.width, self.height);
        let (wide, high) = (number(width * self.scale), number(height * self.scale));
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"{FONTS}\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n{body}</svg>\n"
        )
    }
}

/// Fonts of texts; the layout uses the first.
const FONTS: &str = "DejaVu Sans, Bitstream Vera Sans, Verdana, sans-serif";

fn put(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("a String takes all that is written");
}

fn write_mark(body: &mut String, mark: &Mark) {
    match mark {
        Mark::Area { corners, color } => {
            put(body, format_args!("<polygon points=\"{}\" fill=\"{}\"/>\n", places(corners), hex(*color)));
        }
        Mark::Line { places: along, color, width, dash } => {
            let lengths: Vec<String> = dash.pattern().iter().map(f32::to_string).collect();
            let dash = match lengths.is_empty() {
                true => String::new(),
                false => format!(" stroke-dasharray=\"{}\"", lengths.join(" ")),
            };
            put(
                body,
                format_args!(
                    "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{dash}/>\n",
                    places(along),
                    hex(*color),
                    number(*width)
                ),
            );
        }
        Mark::Text { at, text, size, weight, color, turn } => {
            let (x, y, length) = (number(at.0), number(at.1), number(font::width(text, *size, *weight)));
            let turn = match turn {
                Turn::Up => format!(" transform=\"rotate(-90 {x} {y})\""),
                Turn::Level => String::new(),
            };
            let bold = if *weight == Weight::Bold { " font-weight=\"bold\"" } else { "" };
            put(
                body,
                format_args!(
                    "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" fill=\"{}\" textLength=\"{length}\" \
                     lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\"{bold}{turn}>{}</text>\n",
                    number(*size),
                    hex(*color),
                    escaped(text)
                ),
            );
        }
    }
}

fn places(places: &[Place]) -> String {
    places.iter().map(|(x, y)| format!("{},{}", number(*x), number(*y))).collect::<Vec<_>>().join(" ")
}

/// Formats a number with up to two decimals, without trailing zeros.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Escapes text for XML, and removes control characters, which XML 1.0 forbids.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
