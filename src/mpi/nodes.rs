//! Members of a communicator grouped by node.
//!
//! Nodes are numbered in the order of their first members. The *place* of a member is its index among the members on
//! its node. Members with the same place on different nodes form a *row*. Row 0 consists of the node leaders.

use super::{CommMember, Group};
use mcpsim_base::platform::{NodeMap, RegularNodes};
use mcpsim_base::rank::Rank;

/// Distribution of a communicator's members over nodes.
#[derive(Clone, Debug)]
pub struct Nodes {
    comm: CommMember,
    form: NodeForm,
}

/// Representation of a [`Nodes`].
#[derive(Clone, Debug)]
enum NodeForm {
    /// Regular distribution of the members of MPI_COMM_WORLD over nodes, stored as a formula.
    Regular(RegularNodes),
    /// Irregular distribution: the members on each node, and per member its node and its index on the node.
    Listed { members: Vec<Vec<u32>>, places: Vec<(u32, u32)> },
}

/// Properties of the distribution of members over nodes. An MPI library chooses a collective algorithm by these
/// properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeSpread {
    /// Number of nodes with members; 1 if unknown.
    pub nodes: u32,
    /// Greatest number of members per node.
    pub most: u32,
    /// Whether all nodes have the same number of members.
    pub equal: bool,
}

impl NodeSpread {
    /// Distribution in which all members are on one node.
    pub const FLAT: NodeSpread = NodeSpread { nodes: 1, most: 1, equal: true };

    /// Whether the members are on several nodes, at least one of which has several members.
    pub fn is_deep(self) -> bool {
        self.nodes > 1 && self.most > 1
    }
}

impl Nodes {
    /// Groups the members of `comm`. Takes constant time for the world with a regular placement, otherwise time
    /// linear in the number of members.
    pub fn new(comm: &CommMember, map: &NodeMap) -> Self {
        let world = Group::Strided { first: 0, stride: 1, size: map.ranks() };
        let form = match map.regular() {
            Some(regular) if *comm.group() == world => NodeForm::Regular(regular),
            _ => listed(comm, map),
        };
        Nodes { comm: comm.clone(), form }
    }

    /// Returns the properties of the distribution by which an MPI library chooses a collective algorithm.
    pub fn spread(&self) -> NodeSpread {
        match &self.form {
            NodeForm::Regular(regular) => NodeSpread { nodes: regular.nodes, most: regular.per_node, equal: true },
            NodeForm::Listed { members, .. } => {
                let sizes = || members.iter().map(|node| node.len() as u32);
                let most = sizes().max().unwrap_or(1);
                NodeSpread { nodes: members.len() as u32, most, equal: sizes().all(|size| size == most) }
            }
        }
    }

    /// Whether the members are in order of ranks if they are listed node by node.
    pub fn is_in_order(&self) -> bool {
        match &self.form {
            NodeForm::Regular(regular) => !regular.cyclic || regular.nodes == 1 || regular.per_node == 1,
            NodeForm::Listed { members, .. } => members.iter().flatten().copied().eq(0..self.comm.size()),
        }
    }

    /// Member with index `place` among the members on node `node`.
    pub fn member(&self, node: u32, place: u32) -> u32 {
        match &self.form {
            NodeForm::Regular(RegularNodes { nodes, cyclic: true, .. }) => node + place * nodes,
            NodeForm::Regular(RegularNodes { per_node, .. }) => node * per_node + place,
            NodeForm::Listed { members, .. } => members[node as usize][place as usize],
        }
    }

    /// Node of `member`, and index of `member` among the members on this node.
    pub fn place(&self, member: u32) -> (u32, u32) {
        match &self.form {
            NodeForm::Regular(RegularNodes { nodes, cyclic: true, .. }) => (member % nodes, member / nodes),
            NodeForm::Regular(RegularNodes { per_node, .. }) => (member / per_node, member % per_node),
            NodeForm::Listed { places, .. } => places[member as usize],
        }
    }

    /// Leader of node `node`, which is the first member on the node.
    pub fn leader(&self, node: u32) -> u32 {
        self.member(node, 0)
    }

    /// Communicator of the members on the node of this member.
    pub fn mine(&self) -> CommMember {
        let (node, place) = self.place(self.comm.rank());
        let group = match &self.form {
            NodeForm::Regular(RegularNodes { nodes, per_node, cyclic: true }) => strided(node, *nodes, *per_node),
            NodeForm::Regular(RegularNodes { per_node, .. }) => strided(node * per_node, 1, *per_node),
            NodeForm::Listed { members, .. } => self.group(members[node as usize].iter().copied()),
        };
        CommMember::new(self.comm.id(), place, group)
    }

    /// Communicator of the members with index `row` on their nodes, one member per node. `None` if this member has
    /// another index. Every node must have more than `row` members.
    pub fn row(&self, row: u32) -> Option<CommMember> {
        let (node, place) = self.place(self.comm.rank());
        if place != row {
            return None;
        }
        let group = match &self.form {
            NodeForm::Regular(RegularNodes { nodes, cyclic: true, .. }) => strided(row * nodes, 1, *nodes),
            NodeForm::Regular(RegularNodes { nodes, per_node, .. }) => strided(row, *per_node, *nodes),
            NodeForm::Listed { members, .. } => self.group(members.iter().map(|node| node[row as usize])),
        };
        Some(CommMember::new(self.comm.id(), node, group))
    }

    /// Communicator of the members `first` (rank 0) and `second` (rank 1). `None` if this member is neither `first` nor
    /// `second`.
    pub fn pair(&self, first: u32, second: u32) -> Option<CommMember> {
        let place = [first, second].into_iter().position(|member| member == self.comm.rank())?;
        Some(CommMember::new(self.comm.id(), place as u32, self.group([first, second].into_iter())))
    }

    fn group(&self, members: impl Iterator<Item = u32>) -> Group {
        Group::from_ranks(members.map(|member| self.comm.world(member)).collect::<Vec<Rank>>())
    }
}

/// Creates a strided group. A single member gets stride 1, because equal groups must have equal representations.
fn strided(first: Rank, stride: u32, size: u32) -> Group {
    Group::Strided { first, stride: if size == 1 { 1 } else { stride }, size }
}

fn listed(comm: &CommMember, map: &NodeMap) -> NodeForm {
    let mut members: Vec<Vec<u32>> = Vec::new();
    let mut places = Vec::with_capacity(comm.size() as usize);
    let mut numbers = std::collections::BTreeMap::new();
    for (member, rank) in (0..).zip(comm.group().ranks()) {
        let node = *numbers.entry(map.node(rank)).or_insert_with(|| {
            members.push(Vec::new());
            members.len() - 1
        });
        places.push((node as u32, members[node].len() as u32));
        members[node].push(member);
    }
    NodeForm::Listed { members, places }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpsim_base::platform::Site;

    fn map(nodes: &[u32]) -> NodeMap {
        NodeMap::from_sites(&nodes.iter().map(|&node| Site { node, cmp: 0, core: 0 }).collect::<Vec<_>>())
    }

    /// World ranks of the members of a group, and the index of this member in the group.
    type Seen = (Vec<Rank>, u32);

    fn seen(map: &NodeMap, group: &Group, member: u32) -> (Seen, Option<Seen>) {
        let nodes = Nodes::new(&CommMember::new(0, member, group.clone()), map);
        let mine = nodes.mine();
        let row = nodes.row(0).map(|row| (row.group().ranks().collect(), row.rank()));
        ((mine.group().ranks().collect(), mine.rank()), row)
    }

    #[test]
    fn formulas_give_what_lists_give() {
        for nodes in [&[0u32, 0, 0, 1, 1, 1][..], &[0, 1, 2, 0, 1, 2], &[7, 7, 7, 7], &[3, 2, 1]] {
            let map = map(nodes);
            assert!(map.regular().is_some());
            let size = nodes.len() as u32;
            for member in 0..size {
                let comm = CommMember::new(0, member, Group::Strided { first: 0, stride: 1, size });
                let by_formula = Nodes::new(&comm, &map);
                let by_list = Nodes { comm: comm.clone(), form: listed(&comm, &map) };
                assert_eq!(by_formula.spread(), by_list.spread());
                assert_eq!(by_formula.is_in_order(), by_list.is_in_order());
                for other in 0..size {
                    assert_eq!(by_formula.place(other), by_list.place(other));
                    let (node, _) = by_list.place(other);
                    assert_eq!(by_formula.leader(node), by_list.leader(node));
                    assert_eq!(by_formula.member(node, by_list.place(other).1), other);
                    assert_eq!(by_list.member(node, by_list.place(other).1), other);
                }
                assert_eq!(by_formula.mine(), by_list.mine());
                for row in 0..by_list.spread().most {
                    assert_eq!(by_formula.row(row), by_list.row(row));
                }
            }
        }
    }

    #[test]
    fn nodes_are_numbered_by_their_first_members() {
        let map = map(&[5, 5, 3, 3, 5, 9]);
        let group = Group::from_ranks(vec![2, 0, 4, 5, 3]);
        let nodes = Nodes::new(&CommMember::new(1, 0, group.clone()), &map);
        assert_eq!(nodes.spread(), NodeSpread { nodes: 3, most: 2, equal: false });
        assert_eq!(
            (0..5).map(|member| nodes.place(member)).collect::<Vec<_>>(),
            [(0, 0), (1, 0), (1, 1), (2, 0), (0, 1)]
        );
        assert_eq!(seen(&map, &group, 0), ((vec![2, 3], 0), Some((vec![2, 0, 5], 0))));
        assert_eq!(seen(&map, &group, 2), ((vec![0, 4], 1), None));
        assert_eq!(seen(&map, &group, 3), ((vec![5], 0), Some((vec![2, 0, 5], 2))));
        let pair = nodes.pair(4, 0).unwrap();
        assert_eq!((pair.rank(), pair.world(0), pair.world(1)), (1, 3, 2));
        assert_eq!(nodes.pair(1, 2), None);
    }
}
