//! Supersteps: resources find their levels by water-filling, and who feels a change is judged next.

use crate::units::SimTime;

use super::resources::UNIT;
use super::{Flows, News};

/// Supersteps of a slot; what has not settled by then is left until the next.
pub(in crate::engine) const SUPERSTEPS: u32 = 24;

impl Flows {
    /// Judges own resources by the levels as they are: true if any level has moved so that others may feel it. What
    /// others are to hear is in the outbox; [`Flows::take_levels`] follows, once theirs has been heard.
    pub fn judge(&mut self, time: SimTime) -> bool {
        let mut moves = false;
        self.counts.supersteps += 1;
        for p in std::mem::take(&mut self.dirty) {
            let at = p as usize;
            self.resources.dirty[at] = false;
            let (level, used) = self.judged(p);
            self.resources.use_of(p, used, time.as_ps());
            if level == self.resources.level[at] {
                continue;
            }
            moves |= has_moved(self.resources.told[at], level, self.wires.tolerance);
            self.levels.push((p, level));
            let resource = self.resources.id[at].0;
            for worker in (0..self.wires.first_node.len() as u32).filter(|&worker| worker != self.wires.me) {
                self.outbox.push((worker, News::Level { resource, level }));
            }
        }
        moves
    }

    /// All levels that were judged, here and elsewhere, hold from `time` on: finds who feels it.
    pub fn take_levels(&mut self, time: SimTime) {
        let mut moves = std::mem::take(&mut self.moves);
        for (p, level) in self.levels.drain(..) {
            self.resources.set_level(p, level, time.as_ps());
            moves.push((p, level));
            if !std::mem::replace(&mut self.resources.ends[p as usize].stale, true) {
                self.stale.push(p);
            }
        }
        for (p, level) in moves.drain(..) {
            let told = &mut self.resources.told[p as usize];
            let old = *told;
            let moved = has_moved(old, level, self.wires.tolerance);
            if !moved {
                continue;
            }
            *told = level;
            for &(j, h) in &self.resources.on[p as usize] {
                let at = j as usize;
                if self.bundles.is_home[at] && !self.bundles.felt[at] {
                    self.bundles.felt[at] = true;
                    self.felt.push(j);
                }
                if level.min(old) >= self.others(j, h) {
                    continue;
                }
                for &q in self.bundles.path[at].as_slice() {
                    let q = q as usize;
                    if q != p as usize && self.resources.own[q] && !self.resources.dirty[q] {
                        self.resources.dirty[q] = true;
                        self.dirty.push(q as u32);
                    }
                }
            }
        }
        self.moves = moves;
    }

    /// The slot ends with levels that have not settled.
    pub fn give_up(&mut self) {
        self.counts.unsettled += 1;
    }

    /// The rate that a bundle could have but for the resource at `h` of its path.
    #[inline]
    fn others(&self, j: u32, h: u32) -> u64 {
        let mut least = self.bundles.pace[j as usize];
        for (g, &q) in (0..).zip(self.bundles.path[j as usize].as_slice()) {
            if g != h {
                least = least.min(self.resources.level[q as usize]);
            }
        }
        least
    }

    /// The level of `p` by its flows as they are, and how much of its capacity these use.
    fn judged(&mut self, p: u32) -> (u64, u64) {
        let at = p as usize;
        let capacity = self.resources.capacity[at];
        let mut limits = std::mem::take(&mut self.limits);
        limits.clear();
        let mut weight = 0;
        for &(j, h) in &self.resources.on[at] {
            let weighs = self.bundles.weight[j as usize] as u64;
            limits.push((self.others(j, h), weighs));
            weight += weighs;
        }
        let level = filled(capacity, weight, &limits);
        let used = limits.iter().map(|&(limit, weighs)| limit.min(level) * weighs / UNIT).sum::<u64>();
        self.limits = limits;
        (level, used.min(capacity))
    }
}

/// Whether a level has moved by more than so many thousandths.
fn has_moved(old: u64, new: u64, tolerance: u64) -> bool {
    old.abs_diff(new) * 1000 > old * tolerance
}

/// The greatest rate that each of the flows may have which others do not limit to less; where all are limited, what is
/// left for one.
fn filled(capacity: u64, weight: u64, limits: &[(u64, u64)]) -> u64 {
    if weight == 0 {
        return capacity;
    }
    let mut level = capacity * UNIT / weight;
    let mut before = 0;
    loop {
        let (mut sum, mut below, mut top) = (0, 0, 0);
        for &(limit, weighs) in limits {
            if limit < level {
                sum += limit * weighs;
                below += weighs;
                top = limit.max(top);
            }
        }
        if below == weight {
            return (capacity.saturating_sub(sum / UNIT) + top).clamp(1, capacity);
        }
        if below <= before {
            return level.clamp(1, capacity);
        }
        before = below;
        level = level.max((capacity * UNIT).saturating_sub(sum) / (weight - below));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_share_equally_what_others_leave() {
        let limits = |all: &[(u64, u64)]| all.iter().map(|&(limit, flows)| (limit, flows * UNIT)).collect::<Vec<_>>();
        let level = |all: &[(u64, u64)]| {
            let limits = limits(all);
            filled(1000, limits.iter().map(|(_, weight)| weight).sum(), &limits)
        };
        assert_eq!(level(&[]), 1000);
        assert_eq!(level(&[(1000, 4)]), 250);
        // One is limited to 100: the others share 900.
        assert_eq!(level(&[(100, 1), (1000, 3)]), 300);
        assert_eq!(level(&[(100, 1), (290, 1), (1000, 2)]), 305);
        // Both are limited elsewhere: 500 + 300 more could be had.
        assert_eq!(level(&[(200, 1), (300, 1)]), 800);
    }

    #[test]
    fn a_flow_that_starts_half_way_through_a_slot_counts_half() {
        // 1.5 flows: each may have 666, which is all the capacity over the slot.
        assert_eq!(filled(1000, UNIT + UNIT / 2, &[(1000, UNIT), (1000, UNIT / 2)]), 666);
        assert_eq!(filled(1000, UNIT / 4, &[(1000, UNIT / 4)]), 1000);
    }
}
