//! Uplinks of groups of nodes (such as switches): the resources between a group and the next larger place.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use mcpsim_base::platform::NodeGroup;
use mcpsim_base::units::Bandwidth;

use super::bundle_paths::ResourceKind;
use super::resources::ResourceId;

/// The uplinks of all groups of one kind.
#[derive(Clone, Debug)]
pub(crate) struct GroupUplinks {
    /// Capacity of each uplink in each direction in bytes per second; `None`: no limit.
    pub capacity: Option<Bandwidth>,
    /// For each node, the first node of the node's group. The worker that owns the first node of a group owns the
    /// uplink of the group.
    first_node: Vec<u32>,
}

impl GroupUplinks {
    /// Creates the uplinks of all groups of one kind. `numbers` has the number of each simulated node in the machine.
    pub fn new(group: &NodeGroup, numbers: &[u32]) -> Self {
        let mut first = FxHashMap::default();
        let first_node = (0..).zip(numbers).map(|(node, number)| *first.entry(group.of(*number)).or_insert(node));
        GroupUplinks { capacity: group.uplink, first_node: first_node.collect() }
    }
}

/// Returns whether any uplink of these kinds of groups has a capacity.
pub(super) fn any(kinds: &[GroupUplinks]) -> bool {
    kinds.iter().any(|kind| kind.capacity.is_some())
}

/// Adds the uplinks that a message between two nodes passes to the message's path. `kinds` has the uplinks of each kind
/// of group, smallest groups first. For each kind of group, a message leaves one group and enters another group, unless
/// both nodes are in the same group.
pub(super) fn add(kinds: &[GroupUplinks], from: u32, to: u32, path: &mut SmallVec<[ResourceId; 6]>) {
    for (number, kind) in (0..).zip(kinds) {
        let [from, to] = [from, to].map(|node| kind.first_node[node as usize]);
        if from == to {
            return;
        }
        if kind.capacity.is_some() {
            path.push(ResourceId::new(ResourceKind::UplinkOut, from, number));
            path.push(ResourceId::new(ResourceKind::UplinkIn, to, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpsim_base::platform::Members;
    use mcpsim_base::units::SimSpan;

    #[test]
    fn a_path_has_the_uplinks_of_all_groups_that_it_leaves_and_enters() {
        let kind = |members, uplink| NodeGroup {
            name: String::new(),
            members,
            uplink_latency: SimSpan::ZERO,
            uplink: Bandwidth::new(uplink),
        };
        // Nodes 0, 1, 4 and 7 of a machine have ranks. The switches have the nodes {0, 1}, {4}, {7}, and the groups of
        // switches have the nodes {0, 1}, {4, 7}.
        let numbers = [0, 1, 4, 7];
        let kinds = [kind(Members::Blocks(2), 10), kind(Members::Blocks(4), 0), kind(Members::Blocks(8), 5)];
        let kinds = kinds.map(|kind| GroupUplinks::new(&kind, &numbers));
        let path = |from, to| {
            let mut path = SmallVec::new();
            add(&kinds, from, to, &mut path);
            path.into_iter().map(|id: ResourceId| (id.kind(), id.node(), id.other())).collect::<Vec<_>>()
        };
        assert_eq!(path(0, 1), []);
        assert_eq!(path(1, 3), [(ResourceKind::UplinkOut, 0, 0), (ResourceKind::UplinkIn, 3, 0)]);
        assert_eq!(path(3, 2), [(ResourceKind::UplinkOut, 3, 0), (ResourceKind::UplinkIn, 2, 0)]);
        assert!(any(&kinds) && !any(&kinds[1..2]));
    }
}
