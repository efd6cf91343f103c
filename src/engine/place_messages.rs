//! Counts of messages by the least common place of the sender's and the receiver's core: the smallest place with both
//! cores.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use mcpsim_base::platform::{Level, Places, Platform, Shape, Site};
use mcpsim_base::rank::Rank;
use mcpsim_base::units::{Bytes, SimSpan};

use super::outcome::Messages;

/// Messages whose least common place (smallest place with both cores) is of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlaceMessages {
    /// Name of the kind of place in the platform file, or `cmp`, `node` or `machine`.
    pub place: String,
    /// Number, bytes and transfer time of the messages.
    #[serde(flatten)]
    pub messages: Messages,
}

/// Counts of the messages of a worker, by kind of the least common place of sender and receiver.
#[derive(Debug)]
pub(super) struct PlaceCounter {
    places: Arc<Places>,
    shape: Shape,
    /// Number of each rank's core in the machine.
    cores: Vec<u32>,
    /// Counts for each domain, then for CMP, node, each group and machine.
    counts: Vec<Messages>,
}

impl PlaceCounter {
    /// Creates a counter for ranks on the cores `sites`; `None` if the platform states no places.
    pub fn new(platform: &Platform, sites: &[Site]) -> Option<Box<PlaceCounter>> {
        let (places, shape) = (&platform.places, platform.shape);
        let core = |site: &Site| (site.node * shape.cmps + site.cmp) * shape.cores + site.core;
        (!places.is_empty()).then(|| {
            let counts = vec![Messages::default(); places.classes() + 2];
            Box::new(PlaceCounter { places: places.clone(), shape, cores: sites.iter().map(core).collect(), counts })
        })
    }

    /// Counts a message from one rank to another.
    pub fn record(&mut self, level: Level, (from, to): (Rank, Rank), size: Bytes, time: SimSpan) {
        let [from, to] = [from, to].map(|rank| self.cores[rank as usize]);
        let domains = self.places.domains.len();
        let at = match (level, self.places.class(self.shape, from, to, level)) {
            (Level::IntraCmp, None) => domains,
            (Level::InterCmp, None) => domains + 1,
            (Level::InterNode, Some(class)) => class + 2,
            (_, class) => class.expect("two nodes have a class"),
        };
        let sum = &mut self.counts[at];
        sum.count += 1;
        sum.bytes = sum.bytes.saturating_add(size.get());
        sum.time += time;
    }

    /// Returns the counts of messages in the order of places, smallest first.
    pub fn into_counts(self) -> Vec<Messages> {
        self.counts
    }
}

/// Adds the counts of another worker.
pub(super) fn merge(mine: &mut [Messages], theirs: &[Messages]) {
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        mine.count += theirs.count;
        mine.bytes = mine.bytes.saturating_add(theirs.bytes);
        mine.time += theirs.time;
    }
}

/// Returns the counts of messages with the names of the places.
pub(super) fn rows(places: &Places, counts: Vec<Messages>) -> Vec<PlaceMessages> {
    let domains = places.domains.iter().map(|domain| domain.name.as_str());
    let groups = places.groups.iter().map(|group| group.name.as_str());
    let names = domains.chain(["cmp", "node"]).chain(groups).chain(["machine"]);
    names.zip(counts).map(|(place, messages)| PlaceMessages { place: place.to_owned(), messages }).collect()
}
