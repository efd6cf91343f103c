//! Real code that computes on a CMP: how many do so at a time says how fast all of them proceed.
//!
//! What of its time is memory's is not known of real code. The platform's `slowdown` has by how much all ranks of a
//! CMP take longer where so many of them compute.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::shares::Owner;

/// The speed of a block that is alone: speeds are counted in parts of it.
const FULL: u64 = 1 << 32;

/// The blocks of code that are under way on a CMP, all at the same speed.
#[derive(Debug)]
pub(crate) struct CodeClock {
    /// The speed where 1, 2, … compute.
    speeds: Vec<u64>,
    /// What each block has done that has been there from the beginning: speeds times picoseconds.
    clock: u128,
    /// Until when that is right.
    now: u64,
    /// How many blocks have begun, which orders those that end at once.
    begun: u64,
    /// What the clock shows when a block has ended, its number, and whose it is.
    ends: BinaryHeap<Reverse<(u128, u64, Owner)>>,
}

impl CodeClock {
    /// Of a CMP with so many ranks, which take `slowdown` times as long by how many compute; none, if that never
    /// changes.
    pub fn new(ranks: usize, slowdown: impl Fn(usize) -> f64) -> Option<CodeClock> {
        let speed = |ranks: usize| ((FULL as f64 * slowdown(1) / slowdown(ranks)).round() as u64).max(1);
        let speeds: Vec<u64> = (1..=ranks).map(speed).collect();
        let differ = speeds.iter().any(|speed| *speed != FULL);
        differ.then(|| CodeClock { speeds, clock: 0, now: 0, begun: 0, ends: BinaryHeap::new() })
    }

    /// A block that takes `alone` picoseconds by itself begins at `time`, which is not before what came last.
    pub fn begin(&mut self, time: u64, alone: u64, owner: Owner) {
        self.pass(time);
        self.begun += 1;
        self.ends.push(Reverse((self.clock + u128::from(alone) * u128::from(FULL), self.begun, owner)));
    }

    /// Adds whose blocks have ended at `time`, in the order in which these began.
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

    /// When the first of the blocks ends if none begins before, and whose it is.
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

    /// When blocks end that begin at these times and take so long alone; all times in ns.
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
        // Alone for 400, then both at half speed: the first has its other 600 at 1600, and the second 600 of 1000.
        assert_eq!(ends(&[1.0, 2.0], &[(0, 1000), (400, 1000)]), [1600, 2000]);
        // Three at a quarter of their speed until the short one has ended at 400, then two at half of it.
        assert_eq!(ends(&[1.0, 2.0, 4.0], &[(0, 100), (0, 300), (0, 300)]), [400, 800, 800]);
    }

    #[test]
    fn a_slowdown_that_never_changes_takes_no_events() {
        assert!(CodeClock::new(4, |_| 1.5).is_none());
        assert!(CodeClock::new(1, |ranks| ranks as f64).is_none());
    }
}
