//! What limits a bundle, the clock that its flows follow, and which flow ends first.
//!
//! A bundle is bound to the resource (or its pace) that limits it. Its flows end at marks of that resource's clock, so
//! that a level that moves costs an event a resource, not one a flow.

use std::cmp::Reverse;

use super::bundles::{Losses, PACE};
use super::resources::{ResourceKind, divided};
use super::{Due, Flows};

impl Flows {
    /// What each flow of a bundle has got at `time`.
    #[inline]
    pub(super) fn value(&self, j: u32, time: u64) -> i128 {
        let home = &self.bundles.home[j as usize];
        home.offset + self.shown(j, home.bound, time)
    }

    /// What the clock of `bound` shows a flow of the bundle.
    #[inline]
    pub(super) fn shown(&self, j: u32, bound: u32, time: u64) -> i128 {
        match bound {
            PACE => i128::from(self.bundles.pace[j as usize]) * i128::from(time),
            p => self.resources.clock_at(p, time),
        }
    }

    /// Binds a bundle to what limits it from `time` on; one that has begun `anew` has got nothing.
    pub(super) fn bind(&mut self, j: u32, time: u64, anew: bool) {
        let at = j as usize;
        let (mut to, mut least) = (PACE, self.bundles.pace[at]);
        for &p in self.bundles.path[at].as_slice() {
            if self.resources.level[p as usize] < least {
                (to, least) = (p, self.resources.level[p as usize]);
            }
        }
        let was = self.bundles.home[at].bound;
        if anew {
            self.bundles.home[at].bound = to;
            self.bundles.home[at].offset = -self.shown(j, to, time);
            let home = &mut self.bundles.home[at];
            (home.lost, home.since, home.mark) = (Losses::default(), time, 0);
            return;
        }
        // To be bound by a little more than the least costs less than to change.
        let level = |p: u32| if p == PACE { self.bundles.pace[at] } else { self.resources.level[p as usize] };
        let enough = level(was) * 2000 <= least * (2000 + self.wires.tolerance) && (to != PACE || was == PACE);
        if was == to || (enough && level(was) <= self.bundles.pace[at]) {
            return;
        }
        let (value, lost) = (self.value(j, time), self.lost(j, time));
        let home = &mut self.bundles.home[at];
        (home.lost, home.since, home.mark) = (lost, time, value);
        self.bundles.home[at].bound = to;
        self.bundles.home[at].offset = value - self.shown(j, to, time);
        self.offer(j);
        self.look_later(to);
    }

    /// What each flow of a bundle has lost at `time`, since the bundle began.
    pub(super) fn lost(&self, j: u32, time: u64) -> Losses {
        let home = &self.bundles.home[j as usize];
        let mut lost = home.lost;
        if let Some(part) = self.part(home.bound) {
            let at_pace = i128::from(self.bundles.pace[j as usize]) * i128::from(time - home.since);
            lost.0[part] += at_pace - (self.value(j, time) - home.mark);
        }
        lost
    }

    /// Where [`Losses`] have what is lost at `bound`; nothing is at the own pace.
    pub(super) fn part(&self, bound: u32) -> Option<usize> {
        match self.resources.id.get(bound as usize)?.kind() {
            ResourceKind::Out => Some(0),
            ResourceKind::In => Some(1),
            ResourceKind::Duplex | ResourceKind::Pair => Some(2),
        }
    }

    /// Says anew when the next flow of a bundle ends.
    pub(super) fn offer(&mut self, j: u32) {
        let home = &mut self.bundles.home[j as usize];
        home.version += 1;
        let Some(&Reverse((mark, _))) = home.ends.peek() else { return };
        let mark = mark - home.offset;
        match home.bound {
            PACE => {
                let end = divided(mark.max(0) as u128, self.bundles.pace[j as usize]);
                self.due.push(Reverse((end, Due::Bundle(j), home.version)));
            }
            p => self.resources.ends[p as usize].marks.push(Reverse((mark, j, home.version))),
        }
    }

    /// The clock at which the next flow of a bundle ends.
    #[inline]
    pub(super) fn next_mark(&self, j: u32) -> i128 {
        let home = &self.bundles.home[j as usize];
        let Reverse((mark, _)) = home.ends.peek().expect("a bundle that ends has a flow");
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
        ends.version += 1;
        let (first, version) = (ends.marks.peek().map(|&Reverse((mark, _, _))| mark), ends.version);
        if let Some(mark) = first {
            let end = self.resources.time_of(p, mark);
            self.due.push(Reverse((end, Due::Resource(p), version)));
        }
    }

    #[inline]
    pub(super) fn is_meant(&self, due: Due, version: u32) -> bool {
        match due {
            Due::Resource(p) => self.resources.ends[p as usize].version == version,
            Due::Bundle(j) => self.bundles.home[j as usize].version == version,
        }
    }
}
