//! Colours of figures and pages. Each meaning has one colour, which all figures and pages use.

/// Colour of a drawing element: red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Color(pub u8, pub u8, pub u8);

pub(super) const BLACK: Color = Color(0x1a, 0x1a, 0x1a);
pub(super) const GRAY: Color = Color(0x66, 0x66, 0x66);
pub(super) const GRID: Color = Color(0xe3, 0xe3, 0xe3);
pub(super) const WHITE: Color = Color(0xff, 0xff, 0xff);
/// Colour of the best point of a study.
pub(super) const RED: Color = Color(0xc4, 0x1e, 0x3a);

pub(super) const COMPUTE: Color = Color(0x00, 0x72, 0xb2);
pub(super) const SEND: Color = Color(0xe6, 0x9f, 0x00);
pub(super) const RECV: Color = Color(0x86, 0xcf, 0xc3);
pub(super) const WAIT: Color = Color(0xd5, 0x5e, 0x00);
pub(super) const COLLECTIVE: Color = Color(0x00, 0x9e, 0x73);
/// Time between a rank's end and the end of the run.
pub(super) const ENDED: Color = Color(0xd9, 0xd9, 0xd9);
pub(super) const IMBALANCE: Color = Color(0x56, 0xb4, 0xe9);
/// Core time of messages, reductions and polling, where one part contains all of them.
pub(super) const OVERHEADS: Color = Color(0x7f, 0x7f, 0x7f);
pub(super) const REDUCTION: Color = Color(0x8a, 0x6d, 0x3b);
pub(super) const POLL: Color = Color(0xb8, 0xb8, 0xb8);
pub(super) const LATENCY: Color = Color(0xb5, 0xb0, 0x00);
pub(super) const BYTES: Color = Color(0x00, 0x56, 0x4a);
pub(super) const CONTENTION: Color = Color(0x9e, 0x01, 0x42);
pub(super) const PROTOCOL: Color = Color(0x6a, 0x51, 0xa3);
pub(super) const INTRA_CMP: Color = Color(0xf4, 0xb6, 0xd2);
pub(super) const INTER_CMP: Color = Color(0xcc, 0x79, 0xa7);
pub(super) const INTER_NODE: Color = Color(0x7a, 0x1f, 0x5c);

/// Colours of curves that can be distinguished with any colour vision deficiency (Okabe and Ito 2008), without the
/// lightest colour.
pub(super) const PALETTE: [Color; 7] = [
    Color(0x00, 0x72, 0xb2),
    Color(0xe6, 0x9f, 0x00),
    Color(0x00, 0x9e, 0x73),
    Color(0xcc, 0x79, 0xa7),
    Color(0x56, 0xb4, 0xe9),
    Color(0xd5, 0x5e, 0x00),
    Color(0x7f, 0x7f, 0x7f),
];

/// Meanings of colours in HTML pages: name, colour on a light page, colour on a dark page.
const MEANINGS: [(&str, Color, Color); 18] = [
    ("best", RED, Color(0xf2, 0x6d, 0x82)),
    ("compute", COMPUTE, Color(0x4a, 0xa8, 0xdd)),
    ("send", SEND, SEND),
    ("recv", RECV, RECV),
    ("wait", WAIT, Color(0xe8, 0x7d, 0x2c)),
    ("collective", COLLECTIVE, Color(0x2b, 0xc7, 0x9b)),
    ("ended", ENDED, Color(0x4a, 0x4d, 0x52)),
    ("imbalance", IMBALANCE, Color(0x8f, 0xcf, 0xf5)),
    ("overheads", OVERHEADS, Color(0x9a, 0x9a, 0x9a)),
    ("reduction", REDUCTION, Color(0xb3, 0x92, 0x5a)),
    ("poll", POLL, Color(0x70, 0x70, 0x70)),
    ("latency", LATENCY, LATENCY),
    ("bytes", BYTES, Color(0x4f, 0x8a, 0x80)),
    ("contention", CONTENTION, Color(0xe0, 0x50, 0x7f)),
    ("protocol", PROTOCOL, Color(0xa9, 0x9a, 0xf0)),
    ("intra-cmp", INTRA_CMP, INTRA_CMP),
    ("inter-cmp", INTER_CMP, INTER_CMP),
    ("inter-node", INTER_NODE, Color(0xb0, 0x4a, 0x8e)),
];

/// Returns an endless sequence of curve colours: the palette, the palette with darker colours, then the palette again.
pub(super) fn colors() -> impl Iterator<Item = Color> {
    let darker = PALETTE.map(|Color(red, green, blue)| {
        let part = |light: u8| (f64::from(light) * 0.55) as u8;
        Color(part(red), part(green), part(blue))
    });
    PALETTE.into_iter().chain(darker).cycle()
}

/// Returns a colour in the form `#rrggbb`.
pub(super) fn hex(Color(red, green, blue): Color) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Returns the declarations of CSS variables for all meanings, such as `--compute`, and for seven curves, `--c0` to
/// `--c6`.
pub(super) fn style_variables(is_dark: bool) -> String {
    let meaning = |(name, light, dark): &(&str, Color, Color)| (name.to_string(), if is_dark { *dark } else { *light });
    let curves = PALETTE.into_iter().enumerate().map(|(index, color)| match is_dark && index == 0 {
        true => (format!("c{index}"), Color(0x4a, 0xa8, 0xdd)),
        false => (format!("c{index}"), color),
    });
    MEANINGS.iter().map(meaning).chain(curves).map(|(name, color)| format!("--{name}:{};", hex(color))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fourteen_series_have_colours_of_their_own() {
        let found: Vec<Color> = colors().take(15).collect();
        assert!((0..14).all(|at| !found[..at].contains(&found[at])), "{found:?}");
        assert_eq!(found[14], found[0]);
    }

    #[test]
    fn every_meaning_has_a_colour_of_its_own() {
        for is_dark in [false, true] {
            let mut found: Vec<Color> = MEANINGS.map(|(_, light, dark)| if is_dark { dark } else { light }).to_vec();
            found.sort_by_key(|color| hex(*color));
            found.dedup();
            assert_eq!(found.len(), MEANINGS.len());
        }
        assert!(style_variables(false).starts_with("--best:#c41e3a;--compute:#0072b2;"));
    }
}
