//! Quantities with units: instants and spans of virtual time, sizes, bandwidths and rates, and the text forms of these
//! quantities.
//!
//! All quantities that mcpsim adds or compares are integers, so that a prediction is the same on every host. Texts are
//! read with a unit ("1.2 us", "4 KiB", "12.5 GB/s") and written with a suitable unit.

mod quantity;
mod text;
mod time;

pub use quantity::{Bandwidth, Bytes, Rate};
pub use text::{UnitError, counted, parse_number_with_unit, signed, split_quantity};
pub use time::{SimSpan, SimTime, picoseconds};
