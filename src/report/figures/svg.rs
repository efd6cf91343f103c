//! Conversion of figures to SVG files. Text is drawn as outlines, so no font is needed.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::canvas::{Color, Figure, Mark, Place, Turn};
use super::font::{self, Stroke, Weight};

impl Figure {
    /// Returns the figure as the content of an SVG file.
    pub fn svg(&self) -> String {
        let mut body = String::new();
        let mut letters = BTreeMap::new();
        for mark in &self.marks {
            write_mark(&mut body, &mut letters, mark);
        }
        let mut defs = String::new();
        for ((weight, id), outline) in letters {
            put(&mut defs, format_args!("<path id=\"{}\" d=\"{}\"/>\n", letter(weight, id), outline));
        }
        let (width, height) = (self.width, self.height);
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" \
             width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
             <defs>\n{defs}</defs>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n{body}</svg>\n"
        )
    }
}

type Letters = BTreeMap<(Weight, u16), String>;

fn put(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("a String takes all that is written");
}

fn letter(weight: Weight, id: u16) -> String {
    format!("{}{id}", if weight == Weight::Bold { "b" } else { "r" })
}

fn write_mark(body: &mut String, letters: &mut Letters, mark: &Mark) {
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
            let scale = font::scale(*size, *weight);
            let turn = if *turn == Turn::Up { " rotate(-90)" } else { "" };
            put(
                body,
                format_args!(
                    "<g aria-label=\"{}\" fill=\"{}\" transform=\"translate({} {}){turn} scale({scale:.6} -{scale:.6})\">",
                    escaped(text),
                    hex(*color),
                    number(at.0),
                    number(at.1)
                ),
            );
            for glyph in font::glyphs(text, *size, *weight) {
                let key = (*weight, glyph.id.0);
                let outline = letters.entry(key).or_insert_with(|| path(&font::outline(*weight, glyph.id)));
                if !outline.is_empty() {
                    let (name, x) = (letter(*weight, glyph.id.0), number(glyph.x / scale));
                    put(body, format_args!("<use xlink:href=\"#{name}\" x=\"{x}\"/>"));
                }
            }
            body.push_str("</g>\n");
        }
    }
}

fn path(outline: &[Stroke]) -> String {
    let mut text = String::new();
    for stroke in outline {
        match stroke {
            Stroke::Move(x, y) => put(&mut text, format_args!("M{x} {y}")),
            Stroke::Line(x, y) => put(&mut text, format_args!("L{x} {y}")),
            Stroke::Curve([x1, y1, x, y]) => put(&mut text, format_args!("Q{x1} {y1} {x} {y}")),
            Stroke::Close => text.push('Z'),
        }
    }
    text
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

fn hex(Color(red, green, blue): Color) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Escapes text for an XML attribute, and removes control characters, which XML 1.0 forbids.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
