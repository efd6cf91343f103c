//! Delays of a transfer in the `fair` contention model, and the contention on a path that is charged to the resources
//! that caused the delays.
//!
//! A transfer can be delayed before its head leaves, because the sender's core copies other messages or the sender's
//! adapter carries other messages. A transfer can also be delayed after its head arrives, on the wire or in the final
//! copy, whichever ends later. The contention of a transfer is its additional time compared with the same transfer
//! alone. The contention is divided among the delays. The delays exceed the contention if an earlier delay hid a part
//! of a later delay. Then each delay is charged in proportion.

use serde::{Deserialize, Serialize};

use mcpsim_base::platform::Level;
use mcpsim_base::profile::{Resource, UplinkKind};
use mcpsim_base::units::SimSpan;

/// Delays of a transfer by resource. The struct is small, because each message in flight has such a struct.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Delays {
    /// Delay of the transfer before its head left the sender.
    before: SimSpan,
    /// Delays after the head of the transfer left, one for each resource in `of`.
    after: [SimSpan; MOST],
    by: Option<Resource>,
    of: [Option<Resource>; MOST],
}

/// Maximum number of resources that delay a transfer after its head has left: the adapters of sender and receiver, the
/// duplex capacity and an uplink, or a core and its caches and memory.
const MOST: usize = 4;

impl Delays {
    /// Creates the delays of a transfer whose head was delayed for `before` by the resource `by`.
    pub fn of_head(before: SimSpan, by: Option<Resource>) -> Self {
        Delays { before: if by.is_some() { before } else { SimSpan::ZERO }, by, ..Delays::default() }
    }

    /// Returns the delays with a further delay, see [`Delays::add`].
    pub fn and(mut self, by: Resource, span: SimSpan) -> Self {
        self.add(by, span);
        self
    }

    /// Adds a delay of the transfer by the resource `by` after the head left.
    pub fn add(&mut self, by: Resource, span: SimSpan) {
        if span > SimSpan::ZERO {
            // A transfer that more resources delay than there is room for charges the last of them.
            match self.of.iter().position(|of| of.is_none_or(|of| of == by)) {
                Some(of) => {
                    self.of[of] = Some(by);
                    self.after[of] += span;
                }
                None => self.after[MOST - 1] += span,
            }
        }
    }

    /// Returns the delay of the transfer's head, without the delays after the head left the sender.
    pub fn to_head(self) -> Self {
        Delays::of_head(self.before, self.by)
    }

    /// Returns the delay of the transfer's head, and the resource that caused this delay.
    pub fn before_head(&self) -> (SimSpan, Option<Resource>) {
        (self.before, self.by)
    }

    /// Replaces the delays of the transfer on the wire by the delays of a copy that ended later. The delay of the
    /// transfer before its head left remains.
    pub fn copied(self, copy: Delays) -> Self {
        Delays { after: copy.after, of: copy.of, ..self }
    }

    /// Returns whether no resource delayed the transfer.
    pub fn is_none(&self) -> bool {
        self.before == SimSpan::ZERO && self.after.iter().all(|part| *part == SimSpan::ZERO)
    }

    /// Returns the resource and the delay of a transfer that only one resource delayed, once.
    #[inline]
    fn single(&self) -> Option<(Resource, SimSpan)> {
        match (self.by, self.of) {
            (Some(by), [None, ..]) => Some((by, self.before)),
            (None, [Some(of), None, ..]) => Some((of, self.after[0])),
            _ => None,
        }
    }

    /// Divides the time `contention` among the resources that delayed the transfer, in proportion to their delays.
    fn charged(&self, contention: SimSpan) -> [SimSpan; Resource::ALL.len()] {
        let mut parts = [SimSpan::ZERO; Resource::ALL.len()];
        for (of, part) in self.of.into_iter().zip(self.after) {
            if let Some(of) = of {
                parts[of.index()] += part;
            }
        }
        if let Some(by) = self.by {
            parts[by.index()] += self.before;
        }
        let all = parts.iter().map(|part| u128::from(part.as_ps())).sum::<u128>();
        let limit = u128::from(contention.as_ps());
        if all > limit {
            for part in &mut parts {
                *part = SimSpan::from_ps((u128::from(part.as_ps()) * limit / all) as u64);
            }
            // The remainder of the rounded division is charged to the resource with the greatest delay.
            let rest = contention - parts.iter().copied().sum();
            *parts.iter_mut().max_by_key(|part| part.as_ps()).expect("there are resources") += rest;
        }
        parts
    }
}

/// Contention of a path by resource and level. Within a node the resources are cores, caches, memory, and links between
/// CMPs, and the adapter: a message passes both of its directions, which count as one resource. Between nodes the
/// resources are cores, adapters, and the kinds of uplinks. Two elements concern computing blocks: the time that they wait
/// for memory, and the time that twice the memory bandwidth would save.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Charges([SimSpan; UPLINKS + UplinkKind::COUNT]);

/// Places of the times of computing blocks in [`Charges`].
const WAITED: usize = 14;
const SAVED: usize = 15;
/// Place of the first kind of uplinks in [`Charges`].
const UPLINKS: usize = 16;

impl Charges {
    fn place(level: Level, resource: Resource) -> Option<usize> {
        let within = |part: usize| (level != Level::InterNode).then_some(level as usize * 3 + part);
        let between = |part: usize| (level == Level::InterNode).then_some(6 + part);
        match resource {
            Resource::Core if level == Level::InterNode => between(0),
            Resource::Core => within(0),
            Resource::Cache => within(1),
            Resource::Memory => within(2),
            Resource::Interconnect => (level == Level::InterCmp).then_some(11),
            Resource::AdapterOut | Resource::AdapterIn | Resource::Duplex | Resource::Gap
                if level != Level::InterNode =>
            {
                Some(12 + level as usize)
            }
            Resource::AdapterOut => between(1),
            Resource::AdapterIn => between(2),
            Resource::Duplex => between(3),
            Resource::Gap => between(4),
            Resource::Uplink(kind) => (level == Level::InterNode).then_some(UPLINKS + kind.index()),
        }
    }

    /// Charges the contention of a transfer of `level` to the resources in `delays`.
    pub fn charge(&mut self, level: Level, contention: SimSpan, delays: &Delays) {
        if contention == SimSpan::ZERO {
            return;
        }
        // Most transfers are delayed by one resource, to which at most the contention is charged.
        if let Some((resource, delay)) = delays.single() {
            if let Some(place) = Charges::place(level, resource) {
                self.0[place] += delay.min(contention);
            }
            return;
        }
        for (resource, part) in Resource::ALL.into_iter().zip(delays.charged(contention)) {
            if let Some(place) = Charges::place(level, resource) {
                self.0[place] += part;
            }
        }
    }

    /// Adds a computing block that waited for memory for the time `waited`. Twice the memory bandwidth would shorten the
    /// block by `saved`.
    pub fn wait_for_memory(&mut self, waited: SimSpan, saved: SimSpan) {
        self.0[WAITED] += waited;
        self.0[SAVED] += saved;
    }

    /// Returns the time that computing blocks on the path waited for memory.
    pub fn memory_wait(&self) -> SimSpan {
        self.0[WAITED]
    }

    /// Returns the time that twice the memory bandwidth would save in the computing blocks on the path.
    pub fn saved_by_memory(&self) -> SimSpan {
        self.0[SAVED]
    }

    /// Returns the contention of the path that is charged to `resource` at `level`.
    pub fn of(&self, level: Level, resource: Resource) -> SimSpan {
        if level != Level::InterNode && matches!(resource, Resource::AdapterIn | Resource::Duplex | Resource::Gap) {
            return SimSpan::ZERO;
        }
        Charges::place(level, resource).map_or(SimSpan::ZERO, |place| self.0[place])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contention_is_divided_by_what_held_up_a_transfer_and_never_more_is_charged() {
        let ps = SimSpan::from_ps;
        let delays = Delays::of_head(ps(100), Some(Resource::Gap)).and(Resource::AdapterIn, ps(200));
        let charged = |contention| {
            let mut charges = Charges::default();
            charges.charge(Level::InterNode, ps(contention), &delays);
            [Resource::Gap, Resource::AdapterIn].map(|resource| charges.of(Level::InterNode, resource).as_ps())
        };
        assert_eq!(charged(1000), [100, 200]);
        assert_eq!(charged(300), [100, 200]);
        assert_eq!(charged(30), [10, 20]);
        assert_eq!(charged(31), [10, 21], "what rounding leaves is the greatest's");
        assert_eq!(charged(0), [0, 0]);
        // The delays of the copy, which ended last, replace the delays on the wire.
        let copied = delays.copied(Delays::default().and(Resource::Core, ps(7)));
        assert_eq!(copied, Delays::of_head(ps(100), Some(Resource::Gap)).and(Resource::Core, ps(7)));
        assert!(Delays::of_head(ps(5), None).is_none());
    }
}
