//! Formatting of numbers: counts, volumes, rates, percentages, bars.

use crate::units::SimSpan;

/// Formats a count. Counts of up to nine digits are exact and have thousands separators; larger counts have four
/// significant digits: "12,345", "1.234 G".
pub fn count(number: u64) -> String {
    count_up_to(number, 999_999_999)
}

/// Formats a count like [`count`] in at most nine columns.
pub(super) fn short_count(number: u64) -> String {
    count_up_to(number, 9_999_999)
}

fn count_up_to(number: u64, exact: u64) -> String {
    if number <= exact {
        let digits = number.to_string();
        let mut text = String::new();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        return text;
    }
    scaled(number as f64, 1000.0, &["", "k", "M", "G", "T", "P", "E"], "")
}

/// Formats a rate, such as "1.235 M messages/s"; the text is "-" if the rate is not a number.
pub fn rate(per_second: f64, what: &str) -> String {
    if !per_second.is_finite() || per_second < 0.0 {
        return format!("- {what}/s");
    }
    let number = scaled(per_second.round(), 1000.0, &["", "k", "M", "G", "T", "P", "E"], "");
    let number = if per_second < 999.5 { format!("{per_second:.0}") } else { number };
    format!("{number} {what}/s")
}

/// Formats bytes with a binary unit and four significant digits: "100 B", "1.500 KiB", "117.7 MiB".
pub(super) fn volume(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    scaled(bytes as f64, 1024.0, &["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"], "B")
}

/// Formats a quantity with its unit and four significant digits: "1.500 us", "117.7 MiB", "6.790 GB/s", "0.2500".
pub(super) fn figure(value: f64, unit: &str) -> String {
    let size = value.abs();
    match unit {
        "s" if let Some(span) = SimSpan::from_seconds(value).filter(|_| value >= 0.0) => return span.to_string(),
        "B" if (0.0..1e18).contains(&value) => return volume(value.round() as u64),
        _ if unit.ends_with("/s") && !has_prefix(unit) && (1.0..1e20).contains(&value) => {
            return scaled(value, 1000.0, &["", "k", "M", "G", "T", "P", "E"], unit);
        }
        _ => {}
    }
    let number = match size {
        0.0 => "0".to_owned(),
        size if value == value.trunc() && size < 1e9 => format!("{value}"),
        size if (1e-3..1e6).contains(&size) => {
            let digits = (3 - size.log10().floor() as i32).max(0) as usize;
            format!("{value:.digits$}")
        }
        _ => format!("{value:.3e}"),
    };
    format!("{number} {unit}").trim_end().to_owned()
}

/// Returns true if `unit` already has a prefix, such as MB/s. The formatting functions add no second prefix.
fn has_prefix(unit: &str) -> bool {
    let base = unit.strip_prefix(['k', 'K', 'M', 'G', 'T', 'P', 'E']).unwrap_or_default();
    ["B/", "iB/", "b/", "bit/", "flop", "Flop", "FLOP"].iter().any(|known| base.starts_with(known))
}

fn scaled(value: f64, step: f64, prefixes: &[&str], unit: &str) -> String {
    let mut value = value;
    let mut power = 0;
    // The number 999.95 would be rounded to "1000".
    while value >= step * (1.0 - 5e-5) && power + 1 < prefixes.len() {
        value /= step;
        power += 1;
    }
    let digits = match value {
        value if value >= 999.95 => 0,
        value if value >= 99.995 => 1,
        value if value >= 9.9995 => 2,
        _ => 3,
    };
    format!("{value:.digits$} {}{unit}", prefixes[power]).trim_end().to_owned()
}

/// Returns the fraction `part` / `whole`, at most 1; 0 if `whole` is 0.
pub(super) fn share(part: f64, whole: f64) -> f64 {
    let share = part / whole;
    if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
}

/// Formats a fraction as "45.2%"; a small fraction that would round to zero is "<0.1%".
pub(super) fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 0.0 && percent < 0.05 => "<0.1%".to_owned(),
        percent => format!("{percent:.1}%"),
    }
}

/// Returns a text bar of `width` columns that is filled to the fraction `share`; a dot marks a small nonzero fraction.
pub(super) fn bar(share: f64, width: usize) -> String {
    match (share * width as f64).round() as usize {
        0 if share > 0.0 => ".".to_owned(),
        marks => "#".repeat(marks.min(width)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_as_long_as_they_can_be_read() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (12_345_678, "12,345,678"),
            (999_999_999, "999,999,999"),
            (1_234_567_890, "1.235 G"),
            (999_999_999_999, "1.000 T"),
            (u64::MAX, "18.45 E"),
        ] {
            assert_eq!(count(number), text);
        }
    }

    #[test]
    fn volumes_have_binary_units() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.000 KiB"),
            (1_048_575, "1.000 MiB"),
            (123_456_789, "117.7 MiB"),
            (1_000 << 10, "1000 KiB"),
            (u64::MAX, "16.00 EiB"),
        ] {
            assert_eq!(volume(bytes), text);
        }
    }

    #[test]
    fn rates_of_nothing_are_no_numbers() {
        assert_eq!(rate(0.0, "messages"), "0 messages/s");
        assert_eq!(rate(42.4, "messages"), "42 messages/s");
        assert_eq!(rate(1_234_567.0, "messages"), "1.235 M messages/s");
        assert_eq!(rate(f64::NAN, "messages"), "- messages/s");
        assert_eq!(rate(f64::INFINITY, "messages"), "- messages/s");
    }

    #[test]
    fn shares_of_nothing_are_zero_and_small_ones_stay_visible() {
        assert_eq!(share(0.0, 0.0), 0.0);
        assert_eq!(percent(share(1.0, 3.0)), "33.3%");
        assert_eq!(percent(share(1.0, 1e9)), "<0.1%");
        assert_eq!(percent(0.0), "0.0%");
        assert_eq!(bar(0.0, 10), "");
        assert_eq!(bar(0.001, 10), ".");
        assert_eq!(bar(1.0, 10), "##########");
    }
}
