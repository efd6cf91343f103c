//! Virtual time: an instant ([`SimTime`]) and a length ([`SimSpan`]), both in whole picoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::text::{self, UnitError};

/// Number of picoseconds in a second.
pub(super) const PS_PER_SECOND: u64 = 1_000_000_000_000;

/// An instant of virtual time: picoseconds since the start of the simulated program.
///
/// The greatest instant, [`SimTime::NEVER`] (213 days), means "not yet known" or "after everything". Sums of times
/// saturate at this instant. If the clock of a rank reaches this instant, the engine reports an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, schemars::JsonSchema)]
#[schemars(transparent)]
pub struct SimTime(u64);

/// A span of virtual time in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, schemars::JsonSchema)]
#[schemars(transparent)]
pub struct SimSpan(u64);

impl SimTime {
    /// The start of the simulated program.
    pub const ZERO: SimTime = SimTime(0);
    /// The greatest instant, which is later than every instant that a run can reach.
    pub const NEVER: SimTime = SimTime(u64::MAX);

    /// Creates the instant `ps` picoseconds after the start of the simulated program.
    pub const fn from_ps(ps: u64) -> Self {
        SimTime(ps)
    }

    /// Returns the picoseconds since the start of the simulated program.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Returns the seconds since the start of the simulated program, rounded to a double.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / PS_PER_SECOND as f64
    }

    /// Returns the span from `earlier` to `self`, or zero if `earlier` is later than `self`.
    pub const fn since(self, earlier: SimTime) -> SimSpan {
        SimSpan(self.0.saturating_sub(earlier.0))
    }
}

impl SimSpan {
    /// A span of zero picoseconds.
    pub const ZERO: SimSpan = SimSpan(0);
    /// The longest span that can be represented, 213 days.
    pub const MAX: SimSpan = SimSpan(u64::MAX);

    /// Creates a span of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        SimSpan(ps)
    }

    /// Creates a span of `ns` nanoseconds, at most [`SimSpan::MAX`].
    pub const fn from_ns(ns: u64) -> Self {
        SimSpan(ns.saturating_mul(1000))
    }

    /// Creates a span of `us` microseconds, at most [`SimSpan::MAX`].
    pub const fn from_us(us: u64) -> Self {
        SimSpan(us.saturating_mul(1_000_000))
    }

    /// Creates a span of `seconds`, rounded to the nearest picosecond; `None` if `seconds` is negative, not a number,
    /// or more than 213 days.
    pub fn from_seconds(seconds: f64) -> Option<Self> {
        let ps = (seconds * PS_PER_SECOND as f64).round();
        // 2^64 is the least double above the range of u64.
        (0.0..18_446_744_073_709_551_616.0).contains(&ps).then_some(SimSpan(ps as u64))
    }

    /// Returns the length in picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Returns the length in seconds, rounded to a double.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / PS_PER_SECOND as f64
    }

    /// Returns the difference of the spans, or zero if `other` is longer than `self`.
    pub const fn saturating_sub(self, other: SimSpan) -> SimSpan {
        SimSpan(self.0.saturating_sub(other.0))
    }
}

impl Add<SimSpan> for SimTime {
    type Output = SimTime;
    /// Returns the instant `span` later. The sum saturates at [`SimTime::NEVER`].
    fn add(self, span: SimSpan) -> SimTime {
        SimTime(self.0.saturating_add(span.0))
    }
}

impl AddAssign<SimSpan> for SimTime {
    fn add_assign(&mut self, span: SimSpan) {
        *self = *self + span;
    }
}

impl Add for SimSpan {
    type Output = SimSpan;
    fn add(self, other: SimSpan) -> SimSpan {
        SimSpan(self.0.saturating_add(other.0))
    }
}

impl AddAssign for SimSpan {
    fn add_assign(&mut self, other: SimSpan) {
        *self = *self + other;
    }
}

impl Sub for SimSpan {
    type Output = SimSpan;
    /// # Panics
    /// In debug builds, if `other` is longer than `self`.
    fn sub(self, other: SimSpan) -> SimSpan {
        debug_assert!(other.0 <= self.0, "a span cannot be negative");
        self.saturating_sub(other)
    }
}

impl Mul<u64> for SimSpan {
    type Output = SimSpan;
    fn mul(self, times: u64) -> SimSpan {
        SimSpan(self.0.saturating_mul(times))
    }
}

impl std::iter::Sum for SimSpan {
    fn sum<I: Iterator<Item = SimSpan>>(spans: I) -> SimSpan {
        spans.fold(SimSpan::ZERO, Add::add)
    }
}

impl std::str::FromStr for SimSpan {
    type Err = UnitError;
    /// Reads a span such as "1.2 us". The units are s, ms, us, ns, ps, min and h.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        text::parse_seconds(text).map(|seconds| SimSpan::from_seconds(seconds).expect("parse_seconds checks the range"))
    }
}

impl fmt::Display for SimSpan {
    /// Prints four significant digits and the largest unit with which the number is at least 1: "1.250 us". A
    /// precision in the format string is the number of significant digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write_time(f, self.0)
    }
}

impl fmt::Display for SimTime {
    /// Prints the [`SimSpan`] since the start of the simulated program.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write_time(f, self.0)
    }
}

impl Serialize for SimTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl Serialize for SimSpan {
    /// Serializes the value as an integer number of picoseconds.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for SimTime {
    /// Reads an integer number of picoseconds. Files that users write contain no instants.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(SimTime)
    }
}

impl<'de> Deserialize<'de> for SimSpan {
    /// In files, requires a text with a unit, because the unit of a bare number would be unclear. Between host
    /// processes, reads an integer number of picoseconds.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return u64::deserialize(deserializer).map(SimSpan);
        }
        text::deserialize_text(deserializer, "a time such as \"1.2 us\"")
    }
}

/// Reads a span in a file of results, which is an integer number of picoseconds in every format.
///
/// # Errors
/// The value is not an integer number of picoseconds.
pub fn picoseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SimSpan, D::Error> {
    u64::deserialize(deserializer).map(SimSpan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_and_print_with_units() {
        for (text, ps) in [
            ("1.2 us", 1_200_000),
            ("0s", 0),
            ("3ms", 3_000_000_000),
            ("7 ps", 7),
            ("2 min", 120 * PS_PER_SECOND),
            ("1e-3 ns", 1),
        ] {
            assert_eq!(text.parse::<SimSpan>(), Ok(SimSpan::from_ps(ps)), "{text}");
        }
        for (ps, text) in [
            (0, "0 s"),
            (1, "1 ps"),
            (999, "999 ps"),
            (1_250_000, "1.250 us"),
            (12_345_678, "12.35 us"),
            (999_960_000, "1.000 ms"),
            (61 * PS_PER_SECOND, "61.00 s"),
        ] {
            assert_eq!(SimSpan::from_ps(ps).to_string(), text);
        }
    }

    #[test]
    fn a_span_without_unit_or_with_a_wrong_one_is_refused() {
        for text in ["7", "7 GB", "-1 us", "us", "", "nan us", "1 us us", "1e30 s"] {
            assert!(text.parse::<SimSpan>().is_err(), "{text}");
        }
    }

    #[test]
    fn instants_saturate_instead_of_wrapping() {
        assert_eq!(SimTime::NEVER + SimSpan::from_ps(1), SimTime::NEVER);
        assert_eq!(SimTime::from_ps(3).since(SimTime::from_ps(5)), SimSpan::ZERO);
        assert_eq!([SimSpan::from_ns(u64::MAX), SimSpan::from_us(u64::MAX)], [SimSpan::MAX; 2]);
    }
}
