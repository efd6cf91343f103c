//! The node of each rank, for MPI libraries with node-aware collectives.

use super::level::Site;

/// The node of each rank of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeMap {
    of: Box<[u32]>,
    regular: Option<RegularNodes>,
}

/// Distribution of equal numbers of ranks to all nodes, in an order that a formula gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegularNodes {
    /// Number of nodes.
    pub nodes: u32,
    /// Number of ranks per node.
    pub per_node: u32,
    /// Whether rank r is on node r mod `nodes`. If false, rank r is on node r / `per_node`.
    pub cyclic: bool,
}

impl NodeMap {
    /// Creates the map for ranks on the cores `sites`.
    pub fn from_sites(sites: &[Site]) -> Self {
        let of: Box<[u32]> = sites.iter().map(|site| site.node).collect();
        let regular = regular(&of);
        NodeMap { of, regular }
    }

    /// Returns the node of the rank `rank` of MPI_COMM_WORLD.
    pub fn node(&self, rank: u32) -> u32 {
        self.of[rank as usize]
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> u32 {
        self.of.len() as u32
    }

    /// Returns the distribution of the ranks as a formula, if such a formula exists.
    pub fn regular(&self) -> Option<RegularNodes> {
        self.regular
    }
}

fn regular(of: &[u32]) -> Option<RegularNodes> {
    let ranks = of.len() as u32;
    let nodes = of.iter().collect::<std::collections::BTreeSet<_>>().len() as u32;
    if nodes == 0 || !ranks.is_multiple_of(nodes) {
        return None;
    }
    let per_node = ranks / nodes;
    [false, true].map(|cyclic| RegularNodes { nodes, per_node, cyclic }).into_iter().find(|regular| {
        // Nodes are numbered by the first rank on each node.
        (0..ranks).all(|rank| {
            let node = if regular.cyclic { rank % nodes } else { rank / per_node };
            let first = if regular.cyclic { node } else { node * per_node };
            of[rank as usize] == of[first as usize]
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(nodes: &[u32]) -> NodeMap {
        NodeMap::from_sites(&nodes.iter().map(|&node| Site { node, cmp: 0, core: 0 }).collect::<Vec<_>>())
    }

    #[test]
    fn equal_nodes_in_order_or_in_turn_need_no_list() {
        let regular = |nodes, per_node, cyclic| Some(RegularNodes { nodes, per_node, cyclic });
        assert_eq!(map(&[0, 0, 0, 1, 1, 1]).regular(), regular(2, 3, false));
        assert_eq!(map(&[4, 2, 4, 2]).regular(), regular(2, 2, true));
        assert_eq!(map(&[0, 0]).regular(), regular(1, 2, false));
        assert_eq!(map(&[0, 1]).regular(), regular(2, 1, false));
        assert_eq!(map(&[0, 0, 1]).regular(), None);
        assert_eq!(map(&[0, 1, 1, 0]).regular(), None);
        assert_eq!(map(&[]).regular(), None);
    }
}
