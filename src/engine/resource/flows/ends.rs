//! What limits a bundle, the clock that its flows follow, and which flow ends first.
//!
//! A bundle is bound to the resource (or its pace) that limits it. Its flows end at marks of that resource's clock, so
//! that a level that moves costs an event a resource, not one a flow.

use std::cmp::Reverse;

use super::Flows;
use super::bundles::{ELSEWHERE, LostBytes, PACE};
use super::resources::{divided, exact, lesser};

impl Flows {
    /// What each flow of a bundle has got at `time`.
    #[inline]
    pub(super) fn value(&self, j: u32, time: u64) -> i128 {
        let home = &self.bundles.home[j as usize];
        home.offset + self.shown(j, self.bundles.bound[j as usize], time)
    }

    /// What the clock of `bound` shows a flow of the bundle.
    #[inline]
    pub(super) fn shown(&self, j: u32, bound: u32, time: u64) -> i128 {
        match bound {
            PACE => i128::from(self.bundles.pace[j as usize]) * i128::from(time),
            p => self.resources.clock_at(p, time),
        }
    }

    /// What limits a bundle, and to how much.
    fn limit_of(&self, j: u32) -> (u32, u64) {
        let (mut to, mut least) = (PACE, self.bundles.pace[j as usize]);
        for &p in self.bundles.path[j as usize].as_slice() {
            if self.resources.level[p as usize] < least {
                (to, least) = (p, self.resources.level[p as usize]);
            }
        }
        (to, least)
    }

    /// A bundle at home here has its first flow at `time`, which has got nothing.
    pub(super) fn bind(&mut self, j: u32, time: u64) {
        let at = j as usize;
        let (to, _) = self.limit_of(j);
        self.bundles.bound[at] = to;
        let shown = self.shown(j, to, time);
        let home = &mut self.bundles.home[at];
        home.offset = -shown;
        (home.lost, home.since, home.mark) = (LostBytes::default(), time, 0);
    }

    /// Binds the bundles on `p` to what limits them from `time` on, as far as they are at home here. Of
    /// two resources that have moved the one that was heard of last looks after what passes both.
    pub(super) fn bind_all(&mut self, p: u32, time: u64) {
        let on = std::mem::take(&mut self.resources.on[p as usize]);
        let two = self.wires.crosses_two();
        let level = self.resources.rate[p as usize];
        // A little less than what is tolerated: what is within this stays, as [`Flows::stays`] says exactly.
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

    /// Whether a bundle may stay bound as it is, which is limited to `least`.
    ///
    /// To be bound by a little more than the least costs less than to change.
    #[inline]
    fn stays(&self, bound: u32, pace: u64, least: u64) -> bool {
        let level = if bound == PACE { pace } else { self.resources.level[bound as usize] };
        level * 2000 <= least * (2000 + self.wires.tolerance) && level <= pace && (bound == PACE || least < pace)
    }

    /// Binds a bundle at home here to what limits it from `time` on, if it has flows and is not bound well.
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

    /// What each flow of a bundle has lost at `time`, since the bundle began.
    pub(super) fn lost(&self, j: u32, time: u64) -> LostBytes {
        self.lost_at(j, time, self.value(j, time))
    }

    /// As [`Flows::lost`], where each flow has got `value`.
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

    /// Where [`LostBytes`] have what is lost at `bound`; nothing is at the own pace.
    pub(super) fn part(&self, bound: u32) -> Option<usize> {
        self.resources.id.get(bound as usize).map(|id| id.kind().lost_at())
    }

    /// Says anew when the next flow of a bundle ends.
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

    /// The clock at which the next flow of a bundle ends.
    #[inline]
    pub(super) fn next_mark(&self, j: u32) -> i128 {
        let home = &self.bundles.home[j as usize];
        let (mark, _) = home.ends.first().expect("a bundle that ends has a flow");
        mark - home.offset
    }

    /// Takes the bundle bound to `p` whose flow ends first, if that is before `next`.
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

    /// The first end of `p` is to be found again, at the end of the slot.
    #[inline]
    pub(super) fn look_later(&mut self, p: u32) {
        if p != PACE && !std::mem::replace(&mut self.resources.ends[p as usize].stale, true) {
            self.stale.push(p);
        }
    }

    /// As [`Flows::look`], of what limits a bundle.
    #[inline]
    pub(super) fn look_again(&mut self, bound: u32) {
        if bound != PACE {
            self.look(bound);
        }
    }

    /// Finds the first end of the bundles bound to `p`.
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

    /// The first end of bundles bound to nothing but their pace: when, and of which.
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
