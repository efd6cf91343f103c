//! Text forms of numbers with units. Only this module contains the names of units.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserializer, Unexpected, Visitor};

use super::time::PS_PER_SECOND;

/// Error for a text that is not a number with a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    expected: &'static str,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.expected)
    }
}

impl std::error::Error for UnitError {}

const TIME_UNITS: &[(&str, f64)] =
    &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("ns", 1e-9), ("ps", 1e-12), ("min", 60.0), ("h", 3600.0)];

const SIZE_UNITS: &[(&str, f64)] = &[
    ("B", 1.0),
    ("KB", 1e3),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];

/// Splits a text such as "1.2 us" into the number and the unit. `None` if the text does not begin with a number.
pub fn split_quantity(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    // The number is the longest prefix of the text that is a number. The prefix includes the exponent of "1e-3 ns" but
    // excludes the "e" of "1e".
    let end = (1..=text.len()).rev().find(|&end| {
        text.is_char_boundary(end)
            && text.as_bytes()[end - 1].is_ascii_digit() | (text.as_bytes()[end - 1] == b'.')
            && text[..end].parse::<f64>().is_ok()
    })?;
    Some((text[..end].parse().ok()?, text[end..].trim_start()))
}

/// Returns a number with the noun that it counts, such as `1 node` or `3 nodes`.
pub fn counted(number: impl Into<u64>, noun: &str) -> String {
    match number.into() {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    }
}

/// Formats a difference with its sign and `decimals` decimals: "+1.5", "-0.1". A value that is rounded to zero has no
/// sign: "0.0".
pub fn signed(change: f64, decimals: usize) -> String {
    let text = format!("{change:+.decimals$}");
    match text.strip_prefix(['+', '-']) {
        Some(rest) if rest.chars().all(|c| matches!(c, '0' | '.')) => rest.to_owned(),
        _ => text,
    }
}

fn lookup(units: &[(&str, f64)], unit: &str) -> Option<f64> {
    units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
}

/// Converts a number with a unit of time to seconds, or a number with a unit of size to bytes: `("2.5", "us")`, `("4",
/// "KiB")`.
///
/// Returns `None` for other units. Expressions of applications use this function for literals such as `2.5 us`.
pub fn parse_number_with_unit(number: f64, unit: &str) -> Option<f64> {
    lookup(TIME_UNITS, unit).or_else(|| lookup(SIZE_UNITS, unit)).map(|factor| number * factor)
}

/// Reads a text such as "1.2 us" as a time in seconds, from 0 to 213 days.
pub(super) fn parse_seconds(text: &str) -> Result<f64, UnitError> {
    split_quantity(text)
        .and_then(|(number, unit)| Some(number * lookup(TIME_UNITS, unit)?))
        .filter(|seconds| (0.0..(u64::MAX / PS_PER_SECOND) as f64).contains(seconds))
        .ok_or(UnitError { expected: "a time such as \"1.2 us\"" })
}

pub(super) fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    split_quantity(text)
        .and_then(
            |(number, unit)| if unit.is_empty() { Some(number) } else { Some(number * lookup(SIZE_UNITS, unit)?) },
        )
        .filter(|bytes| bytes.fract() == 0.0 && (0.0..9e18).contains(bytes))
        .map(|bytes| bytes as u64)
        .ok_or(UnitError { expected: "a size such as \"64 KiB\" or 65536" })
}

pub(super) fn parse_bandwidth(text: &str) -> Result<u64, UnitError> {
    split_quantity(text)
        .and_then(|(number, unit)| {
            // Network speeds are stated in "Gb/s" and "Gbps". By IEEE 1541, b is a bit and B a byte.
            let unit = unit.strip_suffix("/s").or_else(|| unit.strip_suffix("ps").filter(|unit| unit.len() > 1))?;
            let bits = unit.strip_suffix("bit").or_else(|| unit.strip_suffix('b').filter(|_| unit.len() > 1));
            let bits = bits.and_then(decimal_prefix).map(|factor| factor / 8.0);
            Some(number * bits.or_else(|| lookup(SIZE_UNITS, unit))?)
        })
        .filter(|rate| (1.0..1e18).contains(rate))
        .map(|rate| rate.round() as u64)
        .ok_or(UnitError { expected: "a bandwidth above zero such as \"12.5 GB/s\" or \"100 Gbit/s\"" })
}

pub(super) fn parse_rate(text: &str) -> Result<f64, UnitError> {
    split_quantity(text)
        .and_then(|(number, unit)| {
            let unit = unit.strip_suffix("/s")?;
            let prefix = ["flop", "instr"].iter().find_map(|name| unit.strip_suffix(name)).unwrap_or(unit);
            Some(number * decimal_prefix(prefix)?)
        })
        .filter(|rate| (1.0..1e24).contains(rate))
        .ok_or(UnitError { expected: "a rate of at least 1/s such as \"8 Gflop/s\"" })
}

fn decimal_prefix(prefix: &str) -> Option<f64> {
    lookup(&[("", 1.0), ("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)], prefix)
}

/// Writes `value` with `digits` significant digits, or with all digits of the integer part if the integer part has more
/// digits.
fn write_significant(f: &mut fmt::Formatter<'_>, value: f64, unit: &str) -> fmt::Result {
    let digits = f.precision().unwrap_or(4).max(1);
    let before = if value >= 1.0 { value.log10().floor() as usize + 1 } else { 1 };
    let text = format!("{value:.*} {unit}", digits.saturating_sub(before));
    f.pad_integral(true, "", &text)
}

/// Writes `value` in a suitable unit. The unit is chosen after rounding, so that 999.96 us prints as "1.000 ms" and
/// not as "1000 us".
fn write_scaled(f: &mut fmt::Formatter<'_>, value: f64, units: &[(&str, f64)]) -> fmt::Result {
    let digits = f.precision().unwrap_or(4).max(1) as i32;
    let rounding = 1.0 + 0.5 * 10f64.powi(-digits);
    let (unit, factor) =
        units.iter().find(|(_, factor)| value * rounding >= *factor).unwrap_or(&units[units.len() - 1]);
    write_significant(f, value / factor, unit)
}

pub(super) fn write_time(f: &mut fmt::Formatter<'_>, ps: u64) -> fmt::Result {
    match ps {
        0 => f.pad_integral(true, "", "0 s"),
        1..=999 => f.pad_integral(true, "", &format!("{ps} ps")),
        _ => write_scaled(f, ps as f64, &[("s", 1e12), ("ms", 1e9), ("us", 1e6), ("ns", 1e3)]),
    }
}

pub(super) fn write_bytes(f: &mut fmt::Formatter<'_>, bytes: u64) -> fmt::Result {
    let exact = [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
        .into_iter()
        .find(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor))
        .map(|(unit, factor)| (unit, bytes / factor))
        .filter(|(_, number)| *number < 1_000_000);
    match exact {
        Some((unit, number)) => f.pad_integral(true, "", &format!("{number} {unit}")),
        None if bytes < 10_000 => f.pad_integral(true, "", &format!("{bytes} B")),
        None => write_scaled(
            f,
            bytes as f64,
            &[
                ("EiB", 2f64.powi(60)),
                ("PiB", 2f64.powi(50)),
                ("TiB", 1_099_511_627_776.0),
                ("GiB", 1_073_741_824.0),
                ("MiB", 1_048_576.0),
                ("KiB", 1024.0),
            ],
        ),
    }
}

pub(super) fn write_decimal(f: &mut fmt::Formatter<'_>, value: f64, unit: &str) -> fmt::Result {
    for (prefix, factor) in [("T", 1e12), ("G", 1e9), ("M", 1e6), ("K", 1e3)] {
        if value >= factor {
            return write_significant(f, value / factor, &format!("{prefix}{unit}"));
        }
    }
    write_significant(f, value, unit)
}

/// Deserializes a text by [`FromStr`]. For a value that is not a text, the error states `expected`.
pub(super) fn deserialize_text<'de, D, T>(deserializer: D, expected: &'static str) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr,
{
    deserializer.deserialize_any(TextVisitor { expected, from_integer: None })
}

/// Like [`deserialize_text`], but also accepts integers.
pub(super) fn deserialize_text_or_integer<'de, D, T>(
    deserializer: D,
    expected: &'static str,
    from_integer: fn(u64) -> T,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr,
{
    deserializer.deserialize_any(TextVisitor { expected, from_integer: Some(from_integer) })
}

struct TextVisitor<T> {
    expected: &'static str,
    from_integer: Option<fn(u64) -> T>,
}

impl<T: FromStr> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
        match (self.from_integer, u64::try_from(number)) {
            (Some(make), Ok(number)) => Ok(make(number)),
            _ => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        match self.from_integer {
            Some(make) => Ok(make(number)),
            None => Err(E::invalid_value(Unexpected::Unsigned(number), &self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::signed;

    #[test]
    fn a_change_that_rounds_to_zero_has_no_sign() {
        let texts = [(1.57, 1), (-0.06, 1), (-0.04, 1), (0.0, 2), (-0.0, 1), (f64::NEG_INFINITY, 1)];
        let texts = texts.map(|(change, decimals)| signed(change, decimals));
        assert_eq!(texts.each_ref().map(String::as_str), ["+1.6", "-0.1", "0.0", "0.00", "0.0", "-inf"]);
        assert_eq!(signed(f64::NAN, 1), "NaN");
    }
}
