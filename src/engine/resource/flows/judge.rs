//! Supersteps: resources compute their levels by water-filling. Resources that a change affects follow in the next
//! superstep.

use mcpsim_base::units::SimTime;

use super::Flows;
use super::filling::filled;
use super::limit_counts::{EXACT, LimitCounts};
use super::resources::{Member, exact};

/// Number of supersteps after the first of a slot. Levels that have not settled by then change at the next slot.
pub(crate) const SUPERSTEPS: u32 = 24;

impl Flows {
    /// Computes the levels of own resources from the current levels. Adds changed levels to the outbox. Returns true
    /// if a level has moved by more than the tolerance. [`Flows::take_levels`] must follow, after the messages of other
    /// workers have been received.
    pub fn judge(&mut self, time: SimTime) -> bool {
        let mut moves = false;
        let mut dirty = std::mem::take(&mut self.dirty);
        self.counts.supersteps += 1;
        for p in dirty.drain(..) {
            let at = p as usize;
            self.resources.asks[at] = self.resources.rate[at];
            let (level, used) = self.judged(p);
            self.resources.use_of(p, used, time.as_ps());
            if level == self.resources.level[at] {
                continue;
            }
            moves |= has_moved(self.resources.told[at], level, self.wires.tolerance);
            self.levels.push((p, level));
            self.publish(p, level);
        }
        self.dirty = dirty;
        moves
    }

    /// Sets all computed levels, of this worker and of others, from `time` on. Marks the resources that are affected.
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
            if !has_moved(old, level, self.wires.tolerance) {
                continue;
            }
            *told = level;
            if !std::mem::replace(&mut self.resources.moved[p as usize], true) {
                self.moved.push(p);
            }
            self.rouse(p, level.min(old));
        }
        self.moves = moves;
    }

    /// Marks the resources that share bundles with `p`, whose level has moved from or to `least`. Bundles that other
    /// resources limit to less are not affected. A bundle that they limit to `least` is affected, because the levels of
    /// two resources of its path may have fallen to the same value.
    fn rouse(&mut self, p: u32, least: u64) {
        let on = std::mem::take(&mut self.resources.on[p as usize]);
        if self.wires.crosses_two() {
            let least = exact(least);
            for member in &on {
                if least < self.resources.asks[member.other as usize] && least < member.pace {
                    self.dirt(member.other);
                }
            }
        } else {
            for member in &on {
                let j = member.bundle as usize;
                if least <= self.limit_of_many(p, member) {
                    for at in 0..self.bundles.path[j].len() {
                        let q = self.bundles.path[j][at];
                        if q != p {
                            self.dirt(q);
                        }
                    }
                }
            }
        }
        self.resources.on[p as usize] = on;
    }

    /// Marks a resource for the next superstep if this worker owns it.
    #[inline]
    pub(super) fn dirt(&mut self, p: u32) {
        if std::mem::replace(&mut self.resources.asks[p as usize], 0.0) > 0.0 {
            self.dirty.push(p);
        }
    }

    /// Records that the slot ends before levels have settled.
    pub fn give_up(&mut self) {
        self.counts.unsettled += 1;
    }

    /// Returns the rate of a bundle's flows without the limit of the resource `p`.
    pub(super) fn limit_of_many(&self, p: u32, member: &Member) -> u64 {
        let j = member.bundle as usize;
        let others = self.bundles.path[j].iter().filter(|&&q| q != p);
        others.fold(self.bundles.pace[j], |least, &q| least.min(self.resources.level[q as usize]))
    }

    /// Computes the level of `p` and the used part of its capacity.
    fn judged(&mut self, p: u32) -> (u64, u64) {
        let at = p as usize;
        let (capacity, weight, last) =
            (self.resources.capacity[at], self.resources.weight[at], self.resources.level[at]);
        if !self.wires.crosses_two() {
            // Each step of water-filling reads all limits, so longer paths are read once.
            let mut limits = std::mem::take(&mut self.limits);
            let on = self.resources.on[at].iter();
            limits.extend(on.map(|member| (self.limit_of_many(p, member), member.weight as u64)));
            let found = filled(capacity, weight, last, |level| LimitCounts::of(level, limits.iter().copied()));
            limits.clear();
            self.limits = limits;
            return found;
        }
        let on = self.resources.on[at].as_slice();
        filled(capacity, weight, last, |level| {
            if level.saturating_mul(weight) <= EXACT {
                LimitCounts::of_two(level, on, &self.resources.rate)
            } else {
                LimitCounts::of(level, on.iter().map(|member| (self.limit_of_many(p, member), member.weight as u64)))
            }
        })
    }
}

/// Returns true if a level has moved by more than `tolerance` thousandths.
fn has_moved(old: u64, new: u64, tolerance: u64) -> bool {
    old.abs_diff(new) * 1000 > old * tolerance
}
