//! Messages between workers about flows.

use serde::{Deserialize, Serialize};

use super::Flows;
use super::bundles::BundleKey;
use super::resources::ResourceId;

/// Message about flows from a worker to another worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FlowUpdate {
    /// A flow will start at `head` and counts from `slot`, both in picoseconds.
    Starts { bundle: BundleKey, slot: u64, head: u64 },
    /// A flow ends before the next slot.
    Ends { bundle: BundleKey },
    /// A resource has another level. `number` is the owner's number of the resource.
    Level { owner: u32, number: u32, level: u64 },
    /// Level of a resource for a new subscriber, and the level from which other levels were computed last.
    FirstLevel { resource: u64, number: u32, level: u64, told: u64 },
}

impl Flows {
    /// Receives a message of another worker. Levels take effect in [`Flows::take_levels`].
    pub fn hear(&mut self, news: FlowUpdate) {
        match news {
            FlowUpdate::Starts { bundle, slot, head } => {
                self.will_start(bundle, slot, head);
            }
            FlowUpdate::Ends { bundle } => {
                let j = self.bundle(bundle);
                self.has_ended(j);
            }
            FlowUpdate::Level { owner, number, level } => {
                self.levels.push((self.subscribed(owner, number), level));
            }
            FlowUpdate::FirstLevel { resource, number, level, told } => {
                self.take_first_level(ResourceId(resource), number, (level, told));
            }
        }
    }

    /// Returns true if the outbox contains messages.
    #[inline(always)]
    pub fn has_news(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Removes all messages from the outbox.
    pub fn outbox(&mut self) -> std::vec::Drain<'_, (u32, FlowUpdate)> {
        self.outbox.drain(..)
    }
}
