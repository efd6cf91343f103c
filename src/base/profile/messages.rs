//! Numbers, bytes and times of messages by level of the machine and size interval, and by pair of ranks.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::platform::Level;
use crate::units::{Bytes, SimSpan};

/// Intervals of message sizes in a profile: `[0, b0]`, `(b0, b1]`, …, `(bn, ∞)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Bytes>", into = "Vec<Bytes>")]
pub struct Intervals {
    bounds: Vec<Bytes>,
    /// For each bit length of a message size, the index of the first interval that may contain the size.
    first: [u16; 65],
}

/// Error for bounds that do not define intervals of message sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntervalsError;

impl fmt::Display for IntervalsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected sizes in increasing order, at most 1000, such as \"256 B\", \"4 KiB\", \"64 KiB\"")
    }
}

impl std::error::Error for IntervalsError {}

impl Intervals {
    /// Creates the intervals of message sizes between `bounds`.
    ///
    /// # Errors
    /// The bounds do not increase, or there are more than 1000 bounds.
    pub fn new(bounds: Vec<Bytes>) -> Result<Self, IntervalsError> {
        if bounds.len() > 1000 || bounds.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(IntervalsError);
        }
        let mut first = [0; 65];
        for (bits, first) in first.iter_mut().enumerate().skip(1) {
            let least = Bytes::new(1 << (bits - 1));
            *first = bounds.iter().position(|bound| least <= *bound).unwrap_or(bounds.len()) as u16;
        }
        Ok(Intervals { bounds, first })
    }

    /// Number of intervals of message sizes.
    pub fn count(&self) -> usize {
        self.bounds.len() + 1
    }

    /// Bounds between the intervals of message sizes.
    pub fn bounds(&self) -> &[Bytes] {
        &self.bounds
    }

    /// Limits `(above, up_to)` of the interval with index `index`. The last interval has no upper limit.
    pub fn limits(&self, index: usize) -> (Bytes, Option<Bytes>) {
        let above = index.checked_sub(1).map_or(Bytes::ZERO, |before| self.bounds[before]);
        (above, self.bounds.get(index).copied())
    }

    /// Index of the interval that contains the message size `size`.
    #[inline]
    pub fn index(&self, size: Bytes) -> usize {
        let bits = (64 - size.get().leading_zeros()) as usize;
        let mut index = usize::from(self.first[bits]);
        while index < self.bounds.len() && size > self.bounds[index] {
            index += 1;
        }
        index
    }
}

impl TryFrom<Vec<Bytes>> for Intervals {
    type Error = IntervalsError;

    fn try_from(bounds: Vec<Bytes>) -> Result<Self, IntervalsError> {
        Intervals::new(bounds)
    }
}

impl From<Intervals> for Vec<Bytes> {
    fn from(intervals: Intervals) -> Self {
        intervals.bounds
    }
}

impl Default for Intervals {
    /// Creates intervals with bounds from 64 B to 4 MiB in factors of four.
    fn default() -> Self {
        let bounds = (0..9).map(|step| Bytes::new(64 << (2 * step))).collect();
        Intervals::new(bounds).expect("the default bounds increase")
    }
}

/// Messages of one level of the machine and one size interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageCell {
    /// Number of messages.
    pub count: u64,
    /// Sum of the message sizes in bytes. The value 2^64 − 1 means this sum or more.
    pub bytes: u64,
    /// Sum of the transfer times of the messages.
    pub time: SimSpan,
}

impl std::ops::AddAssign for MessageCell {
    fn add_assign(&mut self, other: MessageCell) {
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time += other.time;
    }
}

/// Statistics of messages by size interval and level of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageProfile {
    intervals: Intervals,
    /// Statistics of messages, indexed by size interval and level of the machine.
    cells: Vec<[MessageCell; 3]>,
}

impl MessageProfile {
    /// Creates a profile without messages.
    pub fn new(intervals: Intervals) -> Self {
        let cells = vec![[MessageCell::default(); 3]; intervals.count()];
        MessageProfile { intervals, cells }
    }

    /// Counts a message of `size` bytes at `level` whose transfer took `time`.
    #[inline]
    pub fn record(&mut self, level: Level, size: Bytes, time: SimSpan) {
        let index = self.intervals.index(size);
        self.cells[index][level as usize] += MessageCell { count: 1, bytes: size.get(), time };
    }

    /// Adds the message statistics of `other`.
    ///
    /// # Panics
    /// If the two profiles have different size intervals.
    pub fn merge(&mut self, other: &MessageProfile) {
        assert_eq!(self.intervals, other.intervals, "profiles of one run have the same intervals");
        for (mine, theirs) in self.cells.iter_mut().flatten().zip(other.cells.iter().flatten()) {
            *mine += *theirs;
        }
    }

    /// Returns the size intervals of the profile.
    pub fn intervals(&self) -> &Intervals {
        &self.intervals
    }

    /// Statistics of the messages of one size interval and one level.
    pub fn cell(&self, interval: usize, level: Level) -> MessageCell {
        self.cells[interval][level as usize]
    }

    /// Number, bytes and transfer times, summed over the messages of `level`.
    pub fn level(&self, level: Level) -> MessageCell {
        let mut sum = MessageCell::default();
        self.cells.iter().for_each(|row| sum += row[level as usize]);
        sum
    }

    /// Number, bytes and transfer times, summed over all messages.
    pub fn total(&self) -> MessageCell {
        let mut sum = MessageCell::default();
        Level::ALL.into_iter().for_each(|level| sum += self.level(level));
        sum
    }
}

/// Numbers and bytes of messages by pair of ranks. Only pairs with messages use memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pairs {
    cells: HashMap<(u32, u32), (u64, u64)>,
}

impl Pairs {
    /// Counts a message of `size` from one rank to another.
    pub fn record(&mut self, from: u32, to: u32, size: Bytes) {
        let cell = self.cells.entry((from, to)).or_default();
        cell.0 += 1;
        cell.1 = cell.1.saturating_add(size.get());
    }

    /// Adds the messages of `other` to the pairs.
    pub fn merge(&mut self, other: Pairs) {
        for (pair, (count, bytes)) in other.cells {
            let cell = self.cells.entry(pair).or_default();
            cell.0 += count;
            cell.1 = cell.1.saturating_add(bytes);
        }
    }

    /// Returns `(from, to, count, bytes)` of every pair of ranks, in order of `from`, then `to`.
    pub fn sorted(&self) -> Vec<(u32, u32, u64, u64)> {
        let mut rows: Vec<_> =
            self.cells.iter().map(|(&(from, to), &(count, bytes))| (from, to, count, bytes)).collect();
        rows.sort_unstable();
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_beyond_64_bits_stays_at_the_greatest() {
        let half = MessageCell { count: 1, bytes: 1 << 63, time: SimSpan::ZERO };
        let mut sum = half;
        sum += half;
        assert_eq!((sum.count, sum.bytes), (2, u64::MAX));
    }
}
