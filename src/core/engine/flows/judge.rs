//! Supersteps: resources find their levels by water-filling, and who feels a change is judged next.

use crate::units::SimTime;

use super::resources::{Member, UNIT};
use super::{Flows, News};

/// Supersteps of a slot; what has not settled by then is left until the next.
pub(in crate::engine) const SUPERSTEPS: u32 = 24;

impl Flows {
    /// Judges own resources by the levels as they are: true if any level has moved so that others may feel it. What
    /// others are to hear is in the outbox; [`Flows::take_levels`] follows, once theirs has been heard.
    pub fn judge(&mut self, time: SimTime) -> bool {
        let mut moves = false;
        let mut dirty = std::mem::take(&mut self.dirty);
        self.counts.supersteps += 1;
        for p in dirty.drain(..) {
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
        self.dirty = dirty;
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

    /// The level of `p` has moved from or to `least`: those that share bundles with it are judged next, but for bundles
    /// that others limit to no more.
    fn rouse(&mut self, p: u32, least: u64) {
        let on = std::mem::take(&mut self.resources.on[p as usize]);
        for member in &on {
            match self.resources.dirty.get(member.other as usize) {
                Some(true) => {}
                Some(false) if least < self.limit(p, member) => self.dirt(member.other),
                Some(false) => {}
                None if least < self.limit(p, member) => {
                    for at in 0..self.bundles.path[member.bundle as usize].len() {
                        let q = self.bundles.path[member.bundle as usize][at];
                        if q != p {
                            self.dirt(q);
                        }
                    }
                }
                None => {}
            }
        }
        self.resources.on[p as usize] = on;
    }

    /// A resource is to be judged, if it is this worker's.
    #[inline]
    pub(super) fn dirt(&mut self, p: u32) {
        if !std::mem::replace(&mut self.resources.dirty[p as usize], true) {
            self.dirty.push(p);
        }
    }

    /// The slot ends with levels that have not settled.
    pub fn give_up(&mut self) {
        self.counts.unsettled += 1;
    }

    /// The rate that each flow of a bundle could have but for the resource `p`.
    #[inline(always)]
    pub(super) fn limit(&self, p: u32, member: &Member) -> u64 {
        // There is no resource of the number MANY.
        match self.resources.level.get(member.other as usize) {
            Some(level) => member.pace.min(*level),
            None => self.limit_of_many(p, member),
        }
    }

    #[inline(never)]
    fn limit_of_many(&self, p: u32, member: &Member) -> u64 {
        let others = self.bundles.path[member.bundle as usize].iter().filter(|&&q| q != p);
        others.fold(member.pace, |least, &q| least.min(self.resources.level[q as usize]))
    }

    /// The level of `p` by its flows as they are, and how much of its capacity these use.
    fn judged(&self, p: u32) -> (u64, u64) {
        let at = p as usize;
        let on = self.resources.on[at].as_slice();
        let limits = || on.iter().map(|member| (self.limit(p, member), member.weight));
        filled(self.resources.capacity[at], self.resources.weight[at], self.resources.level[at], limits)
    }
}

/// Whether a level has moved by more than so many thousandths.
fn has_moved(old: u64, new: u64, tolerance: u64) -> bool {
    old.abs_diff(new) * 1000 > old * tolerance
}

/// What limits are on either side of a level.
#[derive(Default)]
struct Sides {
    /// Of those that are less: the sum, the weight, the greatest.
    sum: u64,
    below: u64,
    top: u64,
    /// The least of the others.
    next: u64,
}

impl Sides {
    /// Of limits, each with a weight.
    #[inline(always)]
    fn of(level: u64, limits: impl Iterator<Item = (u64, u64)>) -> Sides {
        limits.fold(Sides { next: u64::MAX, ..Sides::default() }, |sides, (limit, weight)| {
            // Without a branch, which nobody could foresee: flows that share alike have limits close to the level.
            let mask = u64::from(limit < level).wrapping_neg();
            Sides {
                sum: sides.sum + ((limit * weight) & mask),
                below: sides.below + (weight & mask),
                top: sides.top.max(limit & mask),
                next: sides.next.min(limit | mask),
            }
        })
    }
}

/// The greatest rate that each of the flows may have which others do not limit to less (where all are limited, what is
/// left for one), and how much of the capacity all use. `limits`, each with a weight, weigh `weight` together.
///
/// What flows get that may have at most a level each grows with the level, ever more slowly: Newton's steps to where
/// that is the capacity come from below, but for the first, which begins at `last`, mostly close to the end. Where
/// rounding lets several levels be it, it is the least, which is found from the equal share on, whatever `last` was.
#[inline(always)]
fn filled<I: Iterator<Item = (u64, u64)>>(capacity: u64, weight: u64, last: u64, limits: impl Fn() -> I) -> (u64, u64) {
    if weight == 0 {
        return (capacity, 0);
    }
    let all = capacity * UNIT;
    let share = all / weight;
    let mut level = last.max(share);
    let (mut from_share, mut fallen) = (level == share, false);
    loop {
        let Sides { sum, below, top, next } = Sides::of(level, limits());
        let (left, others) = (all.saturating_sub(sum), weight - below);
        if others == 0 {
            if from_share || left >= weight {
                let level = (capacity.saturating_sub(sum / UNIT) + top).clamp(1, capacity);
                return (level, (sum / UNIT).min(capacity));
            }
            (level, from_share) = (share, true);
            continue;
        }
        let found = left / others;
        // The flows that are limited to less than what was found are those that left it, and no others could have.
        let is_least = from_share || (found >= share && left >= (top + 1) * others + below);
        if found <= next && is_least {
            let level = found.clamp(1, capacity);
            return (level, (sum / UNIT + others * level / UNIT).min(capacity));
        }
        let falls = found < level;
        if from_share || (falls && !fallen) || (!falls && found > next) {
            (level, fallen) = (found.max(share), fallen || falls);
        } else {
            (level, from_share) = (share, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some numbers below an end, always the same ones.
    fn numbers() -> impl FnMut(u64) -> u64 {
        let mut x = 1_u64;
        move |end| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 33) % end
        }
    }

    #[test]
    fn flows_share_equally_what_others_leave() {
        let level = |all: &[(u64, u64)]| {
            let limits = || all.iter().map(|&(limit, flows)| (limit, flows * UNIT));
            let levels = [1, 250, 300, 305, 1000]
                .map(|last| filled(1000, limits().map(|(_, weight)| weight).sum(), last, limits));
            assert!(levels.iter().all(|level| *level == levels[0]), "{levels:?}");
            levels[0]
        };
        assert_eq!(level(&[]), (1000, 0));
        assert_eq!(level(&[(1000, 4)]), (250, 1000));
        // One is limited to 100: the others share 900.
        assert_eq!(level(&[(100, 1), (1000, 3)]), (300, 1000));
        assert_eq!(level(&[(100, 1), (290, 1), (1000, 2)]), (305, 1000));
        // Both are limited elsewhere: 500 + 300 more could be had.
        assert_eq!(level(&[(200, 1), (300, 1)]), (800, 500));
    }

    #[test]
    fn levels_are_those_of_one_flow_after_the_other() {
        let mut some = numbers();
        for _ in 0..2000 {
            let flows = 1 + some(40);
            let limits: Vec<_> = (0..flows).map(|_| (1 + some(100_000), UNIT)).collect();
            let mut sorted: Vec<_> = limits.iter().map(|&(limit, _)| limit).collect();
            sorted.sort_unstable();
            let (mut left, mut level) = (1_000_000, None);
            for (at, &limit) in sorted.iter().enumerate() {
                let share = left / (flows - at as u64);
                if limit >= share {
                    level = Some(share);
                    break;
                }
                left -= limit;
            }
            let level = level.unwrap_or(left + sorted[sorted.len() - 1]).min(1_000_000);
            let (found, used) = filled(1_000_000, flows * UNIT, some(1_000_001), || limits.iter().copied());
            assert!(found.abs_diff(level) <= 1, "{found} for {level}");
            let all = sorted.iter().map(|&limit| limit.min(found)).sum::<u64>();
            assert!(all.abs_diff(used) <= flows, "{used} for {all}");
        }
    }

    #[test]
    fn a_level_does_not_depend_on_the_last_one() {
        let mut some = numbers();
        for round in 0..5000_u64 {
            // Few values, so that many are equal, on all sides of the equal share.
            let (flows, values) = (1 + some(12), 1 + some(1 + round % 40));
            let limits: Vec<_> = (0..flows).map(|_| (1 + some(values), 1 + some(3) * UNIT / 2)).collect();
            let weight = limits.iter().map(|(_, weight)| weight).sum();
            let capacity = 1 + some(values * flows + 10);
            let level = |last| filled(capacity, weight, last, || limits.iter().copied());
            let from_share = level(0);
            for last in 0..values + 30 {
                assert_eq!(level(last), from_share, "{limits:?}, {capacity}, {last}");
            }
        }
    }

    #[test]
    fn a_flow_that_starts_half_way_through_a_slot_counts_half() {
        // 1.5 flows: each may have 666, which is all the capacity over the slot.
        let level = |limits: &[(u64, u64)]| {
            let weight = limits.iter().map(|(_, weight)| weight).sum();
            filled(1000, weight, 1000, || limits.iter().copied()).0
        };
        assert_eq!(level(&[(1000, UNIT), (1000, UNIT / 2)]), 666);
        assert_eq!(level(&[(1000, UNIT / 4)]), 1000);
    }
}
