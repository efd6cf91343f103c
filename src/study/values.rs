//! Text forms of the values on a study's axis: lists, ranges and the machine shapes of a number of cores.

use toml::Value;

use crate::config::{ConfigError, Override};
use crate::platform::Shape;
use crate::units::{Bandwidth, Bytes, Rate, SimSpan, split_quantity};

/// Maximum number of values of a study's axis.
const MOST: usize = 1_000_000;

/// Parses `1,2,4`, `16,1,1;8,2,1`, `1us..50us:log5`, `64..512:lin8`, `0..1:+0.25`, `1..64:x2` or `1..8` as values of
/// `key`.
///
/// If the text contains a `;`, values are separated by `;`, otherwise by commas outside brackets and quotes. Machine
/// shapes contain commas, so `;` always separates shapes.
///
/// # Errors
/// A value of the axis is invalid. The error message contains neither the key nor the text; the caller adds both.
pub(super) fn parse(key: &str, text: &str) -> Result<Vec<Value>, String> {
    if let Some((first, rest)) = text.split_once("..") {
        return range(first, rest);
    }
    let shape = key == "platform.nct" || key == "run.nct";
    let parts = if text.contains(';') || shape { text.split(';').collect() } else { at_commas(text) };
    let mut parts: Vec<&str> = parts.into_iter().map(str::trim).collect();
    if parts.len() > 1 && parts.last() == Some(&"") {
        parts.pop();
    }
    if parts.iter().any(|part| part.is_empty()) {
        return Err("expected a value between any two separators".to_owned());
    }
    if let Some(range) = parts.iter().find_map(|part| range_of_others(part)) {
        return Err(format!("expected values, or a range such as {range}; in quotes it is text"));
    }
    parts.into_iter().map(|part| value(part).map_err(|error| error.to_string())).collect()
}

/// Rewrites `64:128` and `64:128:8`, which are ranges in other tools, in the syntax of mcpsim.
fn range_of_others(text: &str) -> Option<String> {
    let ends: Vec<&str> = text.split(':').map(str::trim).collect();
    let step = match ends[..] {
        [_, _] => String::new(),
        [_, _, step] => format!(":+{step}"),
        _ => return None,
    };
    let numbers: Vec<RangeEnd<'_>> = ends.iter().filter_map(|end| RangeEnd::read(end).ok()).collect();
    let alike = numbers.len() == ends.len() && numbers.iter().all(|end| end.unit.is_empty());
    alike.then(|| format!("{}..{}{step}", ends[0], ends[1]))
}

/// Parses a value of an axis in the form of `--set`.
fn value(text: &str) -> Result<Value, ConfigError> {
    Override::parse(&format!("run.value={text}")).map(|over| over.value)
}

/// Returns all machine shapes with `cores` cores, the largest number of nodes first.
pub(super) fn shapes(cores: u32) -> Vec<Value> {
    let divisors = |number: u32| (1..=number).rev().filter(move |part| number.is_multiple_of(*part));
    let shapes =
        divisors(cores).flat_map(|nodes| divisors(cores / nodes).map(move |cmps| (nodes, cmps, cores / nodes / cmps)));
    shapes.map(|(nodes, cmps, threads)| Value::String(format!("{nodes},{cmps},{threads}"))).collect()
}

/// Returns the core counts in the values of the axis key `cores`.
pub(super) fn core_counts(values: &[Value]) -> Result<Vec<u32>, ConfigError> {
    let count = |value: &Value| {
        let number = value.as_integer().and_then(|number| u32::try_from(number).ok());
        number.filter(|number| (1..=Shape::MOST_CORES).contains(number)).ok_or_else(|| {
            let most = Shape::MOST_CORES;
            ConfigError::new(format!("expected numbers of cores from 1 to {most} in cores; found {value}"))
        })
    };
    values.iter().map(count).collect()
}

fn at_commas(text: &str) -> Vec<&str> {
    let (mut depth, mut quoted, mut start, mut parts) = (0i32, false, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '[' | '{' | '(' if !quoted => depth += 1,
            ']' | '}' | ')' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Method by which a range of axis values progresses from its first to its last value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// The range of axis values has the stated number of values with equal differences.
    Linear(usize),
    /// The range of axis values has the stated number of values with equal ratios.
    Log(usize),
    /// Every value of the range is the previous value plus the stated step.
    Step(f64),
    /// Every value of the range is the previous value times the stated factor.
    Factor(f64),
}

const WAYS: &str =
    "expected FIRST..LAST:WAY with the way log5 (5 values at equal ratios), lin5 (at equal distances), +2 or x2";

fn range(first: &str, rest: &str) -> Result<Vec<Value>, String> {
    let (last, way) = rest.rsplit_once(':').map_or((rest, None), |(last, way)| (last, Some(way.trim())));
    let (first, last) = (RangeEnd::read(first)?, RangeEnd::read(last)?);
    let whole = first.whole && last.whole && first.unit.is_empty();
    let way = match way {
        None if whole => Way::Step(1.0),
        None => return Err(WAYS.to_owned()),
        Some(text) => read_way(text, last.unit)?,
    };
    let scale = first.in_unit_of(&last)?;
    let (from, to) = (first.number, last.number * scale);
    let numbers = numbers(from, to, way)?;
    // If the step of the range has a fraction, all values are written with a fraction.
    let whole = whole && !matches!(way, Way::Step(step) | Way::Factor(step) if step.fract() != 0.0);
    let texts: Vec<String> = numbers.into_iter().map(|number| first.text(number, whole)).collect();
    if let Some(pair) = texts.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!(
            "the value {} would occur twice: ask for fewer values, or write 1.0..2.0 for fractions",
            pair[0]
        ));
    }
    texts.iter().map(|text| value(text).map_err(|error| error.to_string())).collect()
}

fn read_way(text: &str, unit: &str) -> Result<Way, String> {
    let count = |text: &str| text.parse().ok().filter(|count| (2..=MOST).contains(count));
    let number = |text: &str| match split_quantity(text) {
        Some((number, found)) if found.is_empty() || found == unit => Some(number),
        _ => None,
    };
    let way = if let Some(rest) = text.strip_prefix("log") {
        count(rest).map(Way::Log)
    } else if let Some(rest) = text.strip_prefix("lin") {
        count(rest).map(Way::Linear)
    } else if let Some(rest) = text.strip_prefix('+') {
        number(rest).filter(|step| *step > 0.0).map(Way::Step)
    } else if let Some(rest) = text.strip_prefix('x') {
        number(rest).filter(|factor| *factor > 1.0).map(Way::Factor)
    } else {
        None
    };
    way.ok_or_else(|| WAYS.to_owned())
}

/// Returns the values of a range. Ranges of equal differences or ratios end exactly at the last value. Ranges of steps
/// or factors end at or before the last value.
fn numbers(from: f64, to: f64, way: Way) -> Result<Vec<f64>, String> {
    let positive = from > 0.0 && to > 0.0;
    match way {
        Way::Log(_) | Way::Factor(_) if !positive => {
            return Err("expected FIRST and LAST above zero, for equal \
        ratios"
                .to_owned());
        }
        Way::Step(_) | Way::Factor(_) if to < from => return Err("expected FIRST below LAST".to_owned()),
        _ => {}
    }
    let spread = |count: usize, at: &dyn Fn(f64) -> f64| {
        let last = (count - 1) as f64;
        (0..count).map(|index| if index + 1 == count { to } else { at(index as f64 / last) }).collect()
    };
    // The tolerance prevents that a rounding error drops the last value of the range.
    let within = |value: &f64| *value <= to * (1.0 + 1e-12);
    let numbers: Vec<f64> = match way {
        Way::Linear(count) => spread(count, &|part| from + (to - from) * part),
        Way::Log(count) => spread(count, &|part| from * (to / from).powf(part)),
        Way::Step(step) => (0..=MOST).map(|index| from + step * index as f64).take_while(within).collect(),
        Way::Factor(factor) => (0..=MOST).map(|index| from * factor.powi(index as i32)).take_while(within).collect(),
    };
    if numbers.len() > MOST {
        return Err(format!("expected at most {MOST} values"));
    }
    Ok(numbers)
}

/// First or last value of a range of axis values, with its unit.
#[derive(Clone, Copy, Debug)]
struct RangeEnd<'a> {
    number: f64,
    unit: &'a str,
    /// True if the number is written without a fraction.
    whole: bool,
}

impl<'a> RangeEnd<'a> {
    fn read(text: &'a str) -> Result<Self, String> {
        let text = text.trim();
        let negative = text.strip_prefix('-');
        let bare = negative.unwrap_or(text);
        let (number, unit) = split_quantity(bare)
            .filter(|(number, _)| number.is_finite())
            .ok_or_else(|| format!("expected a number, with its unit if it has one; found \"{text}\""))?;
        let digits = bare.strip_suffix(unit).unwrap_or(bare).trim();
        let whole = digits.bytes().all(|digit| digit.is_ascii_digit());
        Ok(RangeEnd { number: if negative.is_some() { -number } else { number }, unit, whole })
    }

    /// Returns the factor that converts a number in the unit of `other` to the unit of `self`.
    fn in_unit_of(&self, other: &RangeEnd<'_>) -> Result<f64, String> {
        if self.unit == other.unit {
            return Ok(1.0);
        }
        let size = |unit: &str| -> [Option<f64>; 4] {
            let one = format!("1 {unit}");
            [
                one.parse::<SimSpan>().ok().map(|span| span.as_ps() as f64),
                one.parse::<Bytes>().ok().filter(|_| !unit.is_empty()).map(|size| size.get() as f64),
                // The conversion uses 1000 units, because one unit of a small bandwidth unit may be less than a byte
                // per second.
                format!("1000 {unit}").parse::<Bandwidth>().ok().map(|bandwidth| bandwidth.get() as f64),
                one.parse::<Rate>().ok().map(Rate::get),
            ]
        };
        let ratio = size(other.unit).into_iter().zip(size(self.unit)).find_map(|(other, own)| Some(other? / own?));
        ratio.ok_or_else(|| {
            format!("expected FIRST and LAST in units of one kind; found \"{}\" and \"{}\"", self.unit, other.unit)
        })
    }

    /// Formats a number in the unit of the range with six significant digits, or as whole bytes.
    fn text(&self, number: f64, whole: bool) -> String {
        let one = format!("1 {}", self.unit).parse::<Bytes>().ok().filter(|_| !self.unit.is_empty());
        let rounded = if whole { number.round() } else { significant(number) };
        match one.map(|one| number * one.get() as f64) {
            Some(bytes) if (rounded * (bytes / number)).fract() != 0.0 => format!("{} B", bytes.round()),
            _ if self.unit.is_empty() && !whole && rounded.fract() == 0.0 => format!("{rounded:.1}"),
            _ => format!("{rounded} {}", self.unit).trim_end().to_owned(),
        }
    }
}

/// Rounds a number to six significant digits.
fn significant(number: f64) -> f64 {
    format!("{number:.5e}").parse().expect("a formatted number is a number")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(key: &str, text: &str) -> Result<Vec<String>, String> {
        let values = parse(key, text)?;
        Ok(values.into_iter().map(|value| value.as_str().map_or(value.to_string(), str::to_owned)).collect())
    }

    #[test]
    fn lists_are_parted_by_commas_or_where_values_hold_some_by_semicolons() {
        for (key, text, expected) in [
            ("app.n", "64, 128,256", &["64", "128", "256"][..]),
            ("app.class", "S,W", &["S", "W"]),
            ("platform.nct", "16,1,1;8,2,1", &["16,1,1", "8,2,1"]),
            ("run.nct", "4,2,2", &["4,2,2"]),
            ("run.nct", "4,2,2;", &["4,2,2"]),
            ("run.nct", "[4, 2, 2]; [2, 4, 2]", &["[4, 2, 2]", "[2, 4, 2]"]),
            ("run.intervals", "[1, 2],[\"a,b\", 3]", &["[1, 2]", "[\"a,b\", 3]"]),
            ("app.x", "1.5", &["1.5"]),
        ] {
            assert_eq!(texts(key, text).unwrap(), expected, "{text}");
        }
        assert!(texts("app.n", "1,,2").unwrap_err().ends_with("expected a value between any two separators"));
        assert!(texts("app.n", "").is_err());
        for (text, range) in [("64:128", "64..128"), ("1,64:128:8", "64..128:+8")] {
            let expected = format!("expected values, or a range such as {range}; in quotes it is text");
            assert_eq!(texts("app.n", text).unwrap_err(), expected);
        }
        assert_eq!(texts("app.at", "\"64:128\",a:b,1us:2us").unwrap(), ["64:128", "a:b", "1us:2us"]);
    }

    #[test]
    fn ranges_go_from_end_to_end() {
        for (text, expected) in [
            ("1..4", &["1", "2", "3", "4"][..]),
            ("1..64:x4", &["1", "4", "16", "64"]),
            ("1..70:x4", &["1", "4", "16", "64"]),
            ("10..30:+10", &["10", "20", "30"]),
            ("0..1:+0.25", &["0.0", "0.25", "0.5", "0.75", "1.0"]),
            ("1us..100us:log3", &["1 us", "10 us", "100 us"]),
            ("1us..50us:log5", &["1 us", "2.65915 us", "7.07107 us", "18.803 us", "50 us"]),
            ("1 us..1 ms:log4", &["1 us", "10 us", "100 us", "1000 us"]),
            ("1us..7us:+3us", &["1 us", "4 us", "7 us"]),
            ("1 Gbit/s .. 1 GB/s:lin3", &["1 Gbit/s", "4.5 Gbit/s", "8 Gbit/s"]),
            ("1 KiB..1 MiB:log3", &["1 KiB", "32 KiB", "1024 KiB"]),
            ("1 KiB..2 KiB:log3", &["1 KiB", "1448 B", "2 KiB"]),
            ("100..1000:log3", &["100", "316", "1000"]),
            ("1.0..2.0:lin3", &["1.0", "1.5", "2.0"]),
            ("8..2:lin3", &["8", "5", "2"]),
            ("-1.0..1.0:lin3", &["-1.0", "0.0", "1.0"]),
        ] {
            assert_eq!(texts("app.n", text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn ranges_that_make_no_sense_are_explained() {
        for (text, error) in [
            ("1us..5us", WAYS),
            ("1..5:log", WAYS),
            ("1..5:log1", WAYS),
            ("1..5:x1", WAYS),
            ("1..5:+0", WAYS),
            ("1..5:up", WAYS),
            ("0..5:log3", "expected FIRST and LAST above zero, for equal ratios"),
            ("5..1", "expected FIRST below LAST"),
            ("x..5:lin2", "expected a number, with its unit if it has one; found \"x\""),
            ("1us..5GB:lin2", "expected FIRST and LAST in units of one kind; found \"us\" and \"GB\""),
            ("1us..5:lin2", "expected FIRST and LAST in units of one kind; found \"us\" and \"\""),
            ("1..3:lin5", "the value 2 would occur twice: ask for fewer values, or write 1.0..2.0 for fractions"),
            ("0..1000000000000", "expected at most 1000000 values"),
        ] {
            assert_eq!(texts("app.n", text).unwrap_err(), error);
        }
    }

    #[test]
    fn all_shapes_of_16_cores() {
        let texts: Vec<String> = shapes(16).iter().map(|value| value.as_str().unwrap().to_owned()).collect();
        let expected = "16,1,1 8,2,1 8,1,2 4,4,1 4,2,2 4,1,4 2,8,1 2,4,2 2,2,4 2,1,8 1,16,1 1,8,2 1,4,4 1,2,8 1,1,16";
        assert_eq!(texts.join(" "), expected);
        assert!(shapes(7).len() == 3 && shapes(1).len() == 1);
    }
}
