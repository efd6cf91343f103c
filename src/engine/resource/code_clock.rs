//! Speed of real code on a CMP, which depends on the number of blocks that compute at the same time.
//!
//! The part of real code's time that memory bounds is unknown. The platform's `slowdown` states the factor of time by
//! the number of computing ranks of a CMP.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::shares::Owner;

/// Speed of a block that computes alone. Other speeds are parts of this number.
const FULL: u64 = 1 << 32;

/// Active blocks of code on a CMP. All blocks have the same speed.
#[derive(Debug)]
pub(crate) struct CodeClock {
    /// Speed by the number of computing blocks, from one block.
    speeds: Vec<u64>,
    /// Integral of the speed over picoseconds during which blocks compute.
    clock: u128,
    /// Time in picoseconds to which the clock has been advanced.
    now: u64,
    /// Number of started blocks. Blocks that end at the same time are ordered by start.
    begun: u64,
    /// Clock at the end of each block, number of the block, and owner.
    ends: BinaryHeap<Reverse<(u128, u64, Owner)>>,
}

impl CodeClock {
    /// Creates the clock of a CMP with `ranks` ranks. `slowdown` is the factor of time by the number of computing
    /// ranks. Returns `None` if the factor is constant.
    pub fn new(ranks: usize, slowdown: impl Fn(usize) -> f64) -> Option<CodeClock> {
        let speed = |ranks: usize| ((FULL as f64 * slowdown(1) / slowdown(ranks)).round() as u64).max(1);
        let speeds: Vec<u64> = (1..=ranks).map(speed).collect();
        let differ = speeds.iter().any(|speed| *speed != FULL);
        differ.then(|| CodeClock { speeds, clock: 0, now: 0, begun: 0, ends: BinaryHeap::new() })
    }

    /// Starts a block at `time` that takes `alone` picoseconds alone. Times of calls must not decrease.
    pub fn begin(&mut self, time: u64, alone: u64, owner: Owner) {
        self.pass(time);
        self.begun += 1;
        self.ends.push(Reverse((self.clock + u128::from(alone) * u128::from(FULL), self.begun, owner)));
    }

    /// Removes the blocks that have ended at `time`. Adds their owners to `owners` in the order of the starts.
    pub fn ended(&mut self, time: u64, owners: &mut Vec<Owner>) {
        self.pass(time);
        let mut ended = Vec::new();
        while let Some(&Reverse((mark, number, owner))) = self.ends.peek()
            && mark <= self.clock
        {
            self.ends.pop();
            ended.push((number, owner));
        }
        ended.sort_unstable();
        owners.extend(ended.into_iter().map(|(_, owner)| owner));
    }

    /// Returns the end and the owner of the block that ends first, if no further block begins before.
    pub fn next(&self) -> Option<(u64, Owner)> {
        let &Reverse((mark, _, owner)) = self.ends.peek()?;
        let left = mark.saturating_sub(self.clock).div_ceil(u128::from(self.speed()));
        Some((self.now.saturating_add(u64::try_from(left).unwrap_or(u64::MAX)), owner))
    }

    fn speed(&self) -> u64 {
        let computing = self.ends.len().clamp(1, self.speeds.len());
        self.speeds[computing - 1]
    }

    fn pass(&mut self, time: u64) {
        debug_assert!(time >= self.now, "a CMP's time went backwards");
        if !self.ends.is_empty() {
            self.clock += u128::from(self.speed()) * u128::from(time.saturating_sub(self.now));
        }
        self.now = self.now.max(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the end in ns of each block. A block has a start and a duration alone, both in ns.
    fn ends(slowdown: &[f64], blocks: &[(u64, u64)]) -> Vec<u64> {
        let mut clock = CodeClock::new(slowdown.len(), |ranks| slowdown[ranks - 1]).expect("it slows");
        let mut ends = vec![0; blocks.len()];
        let mut starts = (0..).zip(blocks).peekable();
        loop {
            match (starts.peek(), clock.next()) {
                (Some((rank, (start, alone))), next) if next.is_none_or(|(end, _)| start * 1000 <= end) => {
                    clock.begin(start * 1000, alone * 1000, (*rank, 0));
                    starts.next();
                }
                (_, Some((end, _))) => {
                    let mut owners = Vec::new();
                    clock.ended(end, &mut owners);
                    owners.into_iter().for_each(|(rank, _)| ends[rank as usize] = (end + 500) / 1000);
                }
                (_, None) => return ends,
            }
        }
    }

    #[test]
    fn blocks_are_slowed_by_those_that_are_under_way() {
        assert_eq!(ends(&[1.0, 2.0], &[(0, 1000)]), [1000]);
        assert_eq!(ends(&[1.0, 2.0], &[(0, 1000), (0, 1000)]), [2000; 2]);
        // The first block is alone for 400, then both have half speed. At 1600 the first ends, with 600 of the second's
        // 1000 done.
        assert_eq!(ends(&[1.0, 2.0], &[(0, 1000), (400, 1000)]), [1600, 2000]);
        // Three blocks have a quarter of the speed until the short one ends at 400. The other two then have half.
        assert_eq!(ends(&[1.0, 2.0, 4.0], &[(0, 100), (0, 300), (0, 300)]), [400, 800, 800]);
    }

    #[test]
    fn a_slowdown_that_never_changes_takes_no_events() {
        assert!(CodeClock::new(4, |_| 1.5).is_none());
        assert!(CodeClock::new(1, |ranks| ranks as f64).is_none());
    }
}
