//! Sizes, bandwidths and rates of computation.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::text::{self, UnitError};
use super::time::{PS_PER_SECOND, SimSpan};

/// A data size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Bytes(u64);

/// A bandwidth in bytes per second, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bandwidth(u64);

/// A computing rate in operations per second (floating-point operations or instructions), finite and above zero.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Bytes {
    /// A size of 0 bytes.
    pub const ZERO: Bytes = Bytes(0);
    /// Greatest size, which is above the size of any message. Tables of message sizes use it as the end of the last
    /// interval.
    pub const MAX: Bytes = Bytes(u64::MAX);

    /// Creates a size of `count` bytes.
    pub const fn new(count: u64) -> Self {
        Bytes(count)
    }

    /// Returns the size as a number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Bandwidth {
    /// Greatest bandwidth, used for a resource without a limit.
    pub const MAX: Bandwidth = Bandwidth(u64::MAX);

    /// Creates a bandwidth of `bytes_per_second`; `None` if it is zero.
    pub const fn new(bytes_per_second: u64) -> Option<Self> {
        if bytes_per_second == 0 { None } else { Some(Bandwidth(bytes_per_second)) }
    }

    /// Returns the bandwidth in bytes per second.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns `factor` times this bandwidth, at most [`Bandwidth::MAX`].
    #[must_use]
    pub const fn times(self, factor: u64) -> Self {
        match self.0.saturating_mul(factor) {
            0 => self,
            product => Bandwidth(product),
        }
    }

    /// Time to transfer `size` bytes if `sharers` transfers share this bandwidth equally. The time is size × sharers /
    /// bandwidth, rounded to the nearest picosecond (half a picosecond upwards). The result saturates.
    pub fn span(self, size: Bytes, sharers: u32) -> SimSpan {
        let scaled = size.0.checked_mul(u64::from(sharers)).and_then(|n| n.checked_mul(PS_PER_SECOND));
        match scaled.and_then(|n| n.checked_add(self.0 / 2)) {
            Some(n) => SimSpan::from_ps(n / self.0),
            None => {
                let n = u128::from(size.0) * u128::from(sharers) * u128::from(PS_PER_SECOND);
                let ps = (n + u128::from(self.0 / 2)) / u128::from(self.0);
                SimSpan::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
            }
        }
    }
}

impl Rate {
    /// Creates a rate of `per_second` operations per second; `None` unless `per_second` is finite and above zero.
    pub fn new(per_second: f64) -> Option<Self> {
        (per_second.is_finite() && per_second > 0.0).then_some(Rate(per_second))
    }

    /// Returns the rate in operations per second.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Time in seconds that `operations` operations take at this rate.
    pub fn seconds(self, operations: f64) -> f64 {
        operations / self.0
    }
}

impl std::str::FromStr for Bytes {
    type Err = UnitError;
    /// Reads a size such as "8", "64 KiB" or "1.5 MB". The result must be a whole number of bytes.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        text::parse_bytes(text).map(Bytes)
    }
}

impl std::str::FromStr for Bandwidth {
    type Err = UnitError;
    /// Reads a bandwidth such as "12.5 GB/s", "1 GiB/s" or "100 Gbit/s". A lower-case b means bit, so "100 Gb/s" and
    /// "100 Gbps" equal "100 Gbit/s".
    fn from_str(text: &str) -> Result<Self, UnitError> {
        text::parse_bandwidth(text).map(Bandwidth)
    }
}

impl std::str::FromStr for Rate {
    type Err = UnitError;
    /// Reads a rate such as "8 Gflop/s", "2.3e9 /s" or "3 Ginstr/s".
    fn from_str(text: &str) -> Result<Self, UnitError> {
        text::parse_rate(text).map(Rate)
    }
}

impl fmt::Display for Bytes {
    /// Prints the size with the binary unit in which the number is an integer, otherwise with a suitable number of
    /// decimals: "64 KiB", "1.500 MiB", "100 B".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write_bytes(f, self.0)
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write_decimal(f, self.0 as f64, "B/s")
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write_decimal(f, self.0, "/s")
    }
}

impl Serialize for Bandwidth {
    /// Serializes the bandwidth as bytes per second.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl Serialize for Rate {
    /// Serializes the rate as operations per second.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    /// Reads a text with a unit, or an integer number of bytes.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return u64::deserialize(deserializer).map(Bytes);
        }
        text::deserialize_text_or_integer(deserializer, "a size such as \"64 KiB\" or 65536", Bytes)
    }
}

impl<'de> Deserialize<'de> for Bandwidth {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text::deserialize_text(deserializer, "a bandwidth above zero such as \"12.5 GB/s\" or \"100 Gbit/s\"")
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text::deserialize_text(deserializer, "a rate of at least 1/s such as \"8 Gflop/s\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_span_is_size_times_sharers_over_bandwidth_rounded() {
        let gbs = Bandwidth::new(1_000_000_000).unwrap();
        assert_eq!(gbs.span(Bytes::new(1000), 1), SimSpan::from_ns(1000));
        assert_eq!(gbs.span(Bytes::new(1000), 3), SimSpan::from_ns(3000));
        // 10^12 / 3 is 333333333333.33, and twice this value is rounded to 666666666667.
        let three = Bandwidth::new(3).unwrap();
        assert_eq!(three.span(Bytes::new(2), 1).as_ps(), 666_666_666_667);
        // The intermediate product exceeds 64 bits, but the result does not.
        assert_eq!(gbs.span(Bytes::new(1 << 40), 1).as_ps(), (1u64 << 40) * 1000);
    }

    #[test]
    fn sizes_bandwidths_and_rates_read_with_units() {
        assert_eq!("64 KiB".parse(), Ok(Bytes::new(65536)));
        assert_eq!("64 KB".parse(), Ok(Bytes::new(64000)));
        assert_eq!("8".parse(), Ok(Bytes::new(8)));
        assert_eq!("1.5MiB".parse(), Ok(Bytes::new(3 << 19)));
        assert_eq!("12.5 GB/s".parse(), Ok(Bandwidth(12_500_000_000)));
        for bits in ["1 Gbit/s", "1 Gb/s", "1 Gbps", "1000 Mb/s"] {
            assert_eq!(bits.parse(), Ok(Bandwidth(125_000_000)), "{bits}");
        }
        assert_eq!("1 GBps".parse(), Ok(Bandwidth(1_000_000_000)));
        assert_eq!("8 Gflop/s".parse(), Ok(Rate(8e9)));
        assert_eq!("2 Ginstr/s".parse(), Ok(Rate(2e9)));
        for bad in ["0 B/s", "-1 GB/s", "1 GB", "x", "1 ps", "1 gb/s", "1 Gp", "1 b/s s"] {
            assert!(bad.parse::<Bandwidth>().is_err(), "{bad}");
        }
        assert!("0.3 B".parse::<Bytes>().is_err());
    }

    #[test]
    fn sizes_print_with_the_unit_that_fits() {
        for (bytes, text) in [
            (0, "0 B"),
            (100, "100 B"),
            (1024, "1 KiB"),
            (1500, "1500 B"),
            (65536, "64 KiB"),
            (3 << 19, "1536 KiB"),
            (8_789_062_500_000 << 10, "7.994 PiB"),
            (123_456_789, "117.7 MiB"),
        ] {
            assert_eq!(Bytes::new(bytes).to_string(), text);
        }
        assert_eq!(Bandwidth(12_500_000_000).to_string(), "12.50 GB/s");
    }
}
