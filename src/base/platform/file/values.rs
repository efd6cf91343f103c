//! Types of values that occur only in platform files.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{BoolDeserializer, F64Deserializer, I64Deserializer, MapAccessDeserializer, StrDeserializer};
use serde::de::{Deserialize, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor};

use super::super::ScaleFactor;
use crate::units::{Bandwidth, SimSpan};

/// A finite number above zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Factor(pub f64);

impl Factor {
    /// Multiplies a time by the factor, rounded to a picosecond.
    pub fn of_span(self, span: SimSpan) -> SimSpan {
        // A factor of 1 does not change the span. A double holds only 53 of the 64 bits of a span.
        if self.0 == 1.0 { span } else { SimSpan::from_ps((span.as_ps() as f64 * self.0).round() as u64) }
    }

    /// Multiplies a bandwidth by the factor, rounded to a byte per second; `None` if the result is zero.
    pub fn of_bandwidth(self, bandwidth: Bandwidth) -> Option<Bandwidth> {
        let scaled = (bandwidth.get() as f64 * self.0).round();
        if self.0 == 1.0 { Some(bandwidth) } else { Bandwidth::new(scaled as u64) }
    }

    /// Multiplies a bandwidth as [`Factor::of_bandwidth`]; the result is at least one byte per second.
    pub fn of_capacity(self, bandwidth: Bandwidth) -> Bandwidth {
        self.of_bandwidth(bandwidth).or(Bandwidth::new(1)).expect("a byte a second is a bandwidth")
    }
}

impl<'de> Deserialize<'de> for Factor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FactorVisitor;
        impl Visitor<'_> for FactorVisitor {
            type Value = Factor;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number above zero such as 1.5")
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Factor, E> {
                match number.is_finite() && number > 0.0 {
                    true => Ok(Factor(number)),
                    false => Err(E::invalid_value(Unexpected::Float(number), &self)),
                }
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Factor, E> {
                match number > 0 {
                    true => Ok(Factor(number as f64)),
                    false => Err(E::invalid_value(Unexpected::Signed(number), &self)),
                }
            }
        }
        deserializer.deserialize_any(FactorVisitor)
    }
}

/// A factor on the times of real code: a number above zero, or "auto".
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StatedScale(pub ScaleFactor);

impl<'de> Deserialize<'de> for StatedScale {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ScaleVisitor;
        impl Visitor<'_> for ScaleVisitor {
            type Value = StatedScale;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"auto\" or a number above zero such as 1.5")
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<StatedScale, E> {
                match number.is_finite() && number > 0.0 {
                    true => Ok(StatedScale(ScaleFactor::Stated(number))),
                    false => Err(E::invalid_value(Unexpected::Float(number), &self)),
                }
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<StatedScale, E> {
                match number > 0 {
                    true => Ok(StatedScale(ScaleFactor::Stated(number as f64))),
                    false => Err(E::invalid_value(Unexpected::Signed(number), &self)),
                }
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<StatedScale, E> {
                match text {
                    "auto" => Ok(StatedScale(ScaleFactor::Auto)),
                    _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(ScaleVisitor)
    }
}

/// One value for every load, or a list with one value per load.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PerLoad<T> {
    All(T),
    Each(Vec<T>),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for PerLoad<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PerLoadVisitor(PhantomData))
    }
}

/// Deserializes all values except lists as `T`, so that their errors are the errors of a single value.
struct PerLoadVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for PerLoadVisitor<T> {
    type Value = PerLoad<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or a list of values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = sequence.next_element()? {
            values.push(value);
        }
        Ok(PerLoad::Each(values))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        let deserializer: StrDeserializer<'_, E> = text.into_deserializer();
        T::deserialize(deserializer).map(PerLoad::All)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        let deserializer: I64Deserializer<E> = number.into_deserializer();
        T::deserialize(deserializer).map(PerLoad::All)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        let deserializer: F64Deserializer<E> = number.into_deserializer();
        T::deserialize(deserializer).map(PerLoad::All)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        let deserializer: BoolDeserializer<E> = value.into_deserializer();
        T::deserialize(deserializer).map(PerLoad::All)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(PerLoad::All)
    }
}
