//! Limiting resource of a bundle, the clock of its flows, and the flow that ends first.
//!
//! A bundle is bound to the resource that limits it, or to its pace. Its flows end at marks of that resource's clock. A
//! moved level therefore costs one event per resource, not one per flow.

use std::cmp::Reverse;

use super::Flows;
use super::bundles::{ELSEWHERE, LostBytes, PACE};
use super::resources::{divided, exact, lesser};

impl Flows {
    /// Returns the amount that each flow of a bundle has transferred at `time`.
    #[inline]
    pub(super) fn value(&self, j: u32, time: u64) -> i128 {
        let home = &self.bundles.home[j as usize];
        home.offset + self.shown(j, self.bundles.bound[j as usize], time)
    }

    /// Returns the clock of `bound` for a flow of the bundle.
    #[inline]
    pub(super) fn shown(&self, j: u32, bound: u32, time: u64) -> i128 {
        match bound {
            PACE => i128::from(self.bundles.pace[j as usize]) * i128::from(time),
            p => self.resources.clock_at(p, time),
        }
    }

    /// Returns the limiting resource of a bundle, or [`PACE`], and the limit.
    fn limit_of(&self, j: u32) -> (u32, u64) {
        let (mut to, mut least) = (PACE, self.bundles.pace[j as usize]);
        for &p in self.bundles.path[j as usize].as_slice() {
            if self.resources.level[p as usize] < least {
                (to, least) = (p, self.resources.level[p as usize]);
            }
        }
        (to, least)
    }

    /// Binds a bundle of this worker whose first flow starts at `time`.
    pub(super) fn bind(&mut self, j: u32, time: u64) {
        let at = j as usize;
        let (to, _) = self.limit_of(j);
        self.bundles.bound[at] = to;
        let shown = self.shown(j, to, time);
        let home = &mut self.bundles.home[at];
        home.offset = -shown;
        (home.lost, home.since, home.mark) = (LostBytes::default(), time, 0);
    }

    /// Binds the bundles on `p` to their limiting resources from `time` on, if this worker is their home. If both
    /// resources of a bundle have moved, the resource with the greater number handles the bundle.
    pub(super) fn bind_all(&mut self, p: u32, time: u64) {
        let on = std::mem::take(&mut self.resources.on[p as usize]);
        let two = self.wires.crosses_two();
        let level = self.resources.rate[p as usize];
        // Slightly less than the tolerance, so that rounding cannot contradict the exact test of [`Flows::stays`].
        let tolerated = (1.0 - f64::EPSILON * 4.0) * exact(2000 + self.wires.tolerance) / 2000.0;
        for member in &on {
            let bound = self.bundles.bound[member.bundle as usize];
            match self.resources.rate.get(bound as usize) {
                _ if !two => {}
                Some(&rate) => {
                    let least = lesser(lesser(level, self.resources.rate[member.other as usize]), member.pace);
                    if rate < member.pace && rate <= least * tolerated {
                        continue;
                    }
                }
                None => {
                    let least = lesser(level, self.resources.rate[member.other as usize]);
                    if bound == PACE && member.pace <= least {
                        continue;
                    }
                }
            }
            let is_seen_later = two && member.other > p && self.resources.moved[member.other as usize];
            if bound != ELSEWHERE && !is_seen_later {
                self.bind_anew(member.bundle, time);
            }
        }
        self.resources.on[p as usize] = on;
    }

    /// Returns true if a bundle with the limit `least` may remain bound to `bound`.
    ///
    /// A bound slightly above the least limit is tolerated, because a change costs more.
    #[inline]
    fn stays(&self, bound: u32, pace: u64, least: u64) -> bool {
        let level = if bound == PACE { pace } else { self.resources.level[bound as usize] };
        level * 2000 <= least * (2000 + self.wires.tolerance) && level <= pace && (bound == PACE || least < pace)
    }

    /// Binds a bundle of this worker to its limiting resource from `time` on, if it has flows and may not stay bound.
    pub(super) fn bind_anew(&mut self, j: u32, time: u64) {
        let at = j as usize;
        let (to, least) = self.limit_of(j);
        if self.bundles.home[at].ends.is_empty() || self.stays(self.bundles.bound[at], self.bundles.pace[at], least) {
            return;
        }
        let (value, lost) = (self.value(j, time), self.lost(j, time));
        self.bundles.bound[at] = to;
        let shown = self.shown(j, to, time);
        let home = &mut self.bundles.home[at];
        (home.lost, home.since, home.mark) = (lost, time, value);
        home.offset = value - shown;
        self.offer(j);
        self.look_later(to);
    }

    /// Returns the loss of each flow of a bundle at `time`, since the bundle began.
    pub(super) fn lost(&self, j: u32, time: u64) -> LostBytes {
        self.lost_at(j, time, self.value(j, time))
    }

    /// Returns the loss as [`Flows::lost`], if each flow has transferred `value`.
    #[inline]
    pub(super) fn lost_at(&self, j: u32, time: u64, value: i128) -> LostBytes {
        let home = &self.bundles.home[j as usize];
        let mut lost = home.lost;
        if let Some(part) = self.part(self.bundles.bound[j as usize]) {
            let at_pace = i128::from(self.bundles.pace[j as usize]) * i128::from(time - home.since);
            lost.0[part] += at_pace - (value - home.mark);
        }
        lost
    }

    /// Returns the part of [`LostBytes`] for losses at `bound`; `None` at the own pace.
    pub(super) fn part(&self, bound: u32) -> Option<usize> {
        self.resources.id.get(bound as usize).map(|id| self.lost_at_resource(*id))
    }

    /// Enters the next end of a bundle. Older entries become stale.
    pub(super) fn offer(&mut self, j: u32) {
        let home = &mut self.bundles.home[j as usize];
        home.version += 1;
        let Some((mark, _)) = home.ends.first() else { return };
        let mark = mark - home.offset;
        match self.bundles.bound[j as usize] {
            PACE => {
                let end = divided(mark.max(0) as u128, self.bundles.pace[j as usize]);
                self.paced.push(Reverse((end, j, home.version)));
            }
            p => self.resources.ends[p as usize].marks.push(Reverse((mark, j, home.version))),
        }
    }

    /// Returns the clock at which the next flow of a bundle ends.
    #[inline]
    pub(super) fn next_mark(&self, j: u32) -> i128 {
        let home = &self.bundles.home[j as usize];
        let (mark, _) = home.ends.first().expect("a bundle that ends has a flow");
        mark - home.offset
    }

    /// Removes the first entry of the bundles bound to `p`, if a flow ends before `next`. Returns its bundle.
    pub(super) fn first_before(&mut self, p: u32, next: u64) -> Option<u32> {
        while let Some(&Reverse((mark, j, version))) = self.resources.ends[p as usize].marks.peek() {
            let is_meant = self.bundles.home[j as usize].version == version;
            if is_meant && self.resources.time_of(p, mark) >= next {
                return None;
            }
            self.resources.ends[p as usize].marks.pop();
            if is_meant {
                return Some(j);
            }
        }
        None
    }

    /// Marks the first end of `p` for computation at the end of the slot.
    #[inline]
    pub(super) fn look_later(&mut self, p: u32) {
        if p != PACE && !std::mem::replace(&mut self.resources.ends[p as usize].stale, true) {
            self.stale.push(p);
        }
    }

    /// Calls [`Flows::look`] for the limiting resource of a bundle.
    #[inline]
    pub(super) fn look_again(&mut self, bound: u32) {
        if bound != PACE {
            self.look(bound);
        }
    }

    /// Computes the first end of the bundles bound to `p`.
    pub(super) fn look(&mut self, p: u32) {
        let ends = &mut self.resources.ends[p as usize];
        ends.stale = false;
        while let Some(&Reverse((_, j, version))) = ends.marks.peek()
            && self.bundles.home[j as usize].version != version
        {
            ends.marks.pop();
        }
        let first = ends.marks.peek().map(|&Reverse((mark, _, _))| mark);
        let end = first.map_or(u64::MAX, |mark| self.resources.time_of(p, mark));
        self.due.set(p, end);
    }

    /// Returns the first end, and its bundle, of the bundles bound to their pace.
    pub(super) fn first_paced(&mut self) -> Option<(u64, u32)> {
        loop {
            let &Reverse((end, j, version)) = self.paced.peek()?;
            if self.bundles.home[j as usize].version == version {
                return Some((end, j));
            }
            self.paced.pop();
        }
    }
}
