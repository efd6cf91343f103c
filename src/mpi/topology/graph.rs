//! Graphs known completely to every member (MPI-3.1, section 7.5.3).

use std::ffi::c_int;

use crate::abi::{MPI_ERR_ARG, MPI_UNDEFINED};
use crate::fault::Fault;

/// A graph as passed to MPI_Graph_create: one list with the neighbours of all nodes, and for each node the index in
/// this list at which the node's neighbours end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphTopology {
    index: Vec<u32>,
    edges: Vec<u32>,
}

impl GraphTopology {
    /// Creates a graph of `index.len()` nodes for a communicator of `members` ranks. Multiple edges, loops and one-way
    /// edges are permitted.
    ///
    /// # Errors
    /// There are more nodes than members, `index` decreases or does not end at the number of edges, or an edge leads
    /// to an unknown node.
    pub fn new(members: u32, index: &[c_int], edges: &[c_int]) -> Result<Self, Fault> {
        let (nodes, wrong) = (index.len(), |what| Err(Fault::new(MPI_ERR_ARG, what)));
        if nodes > members as usize {
            return wrong(format!("a graph of {nodes} nodes for a group of {members} members"));
        }
        let mut before = 0;
        for (node, &end) in index.iter().enumerate() {
            if end < before {
                return wrong(format!("index[{node}] is {end}, expected at least {before}"));
            }
            before = end;
        }
        if before as usize > edges.len() {
            return wrong(format!("index ends at {before}, beyond the {} edges", edges.len()));
        }
        let edges = &edges[..before as usize];
        if let Some((place, edge)) = edges.iter().enumerate().find(|&(_, &edge)| edge < 0 || edge as usize >= nodes) {
            return wrong(format!("edges[{place}] is {edge}, expected one of {nodes} nodes"));
        }
        let unsigned = |numbers: &[c_int]| numbers.iter().map(|&number| number as u32).collect();
        Ok(GraphTopology { index: unsigned(index), edges: unsigned(edges) })
    }

    /// Number of nodes of the graph.
    pub fn size(&self) -> u32 {
        self.index.len() as u32
    }

    /// For each node, the index in `edges` at which the neighbours of the node end.
    pub fn index(&self) -> &[u32] {
        &self.index
    }

    /// Neighbours of all nodes in one list.
    pub fn edges(&self) -> &[u32] {
        &self.edges
    }

    /// Neighbours of `rank`, in the order passed to MPI_Graph_create, with repetitions.
    ///
    /// # Panics
    /// If `rank` is not a node of the graph.
    pub fn neighbours(&self, rank: u32) -> &[u32] {
        let rank = rank as usize;
        let start = rank.checked_sub(1).map_or(0, |before| self.index[before]);
        &self.edges[start as usize..self.index[rank] as usize]
    }

    /// New rank of the caller in MPI_Graph_map and MPI_Graph_create: its own rank, or MPI_UNDEFINED if the rank is
    /// outside the graph.
    pub fn map(&self, rank: u32) -> c_int {
        if rank < self.size() { rank as c_int } else { MPI_UNDEFINED }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_standard() {
        let graph = GraphTopology::new(4, &[2, 3, 4, 6], &[1, 3, 0, 3, 0, 2]).unwrap();
        assert_eq!((0..4).map(|rank| graph.neighbours(rank)).collect::<Vec<_>>(), [&[1, 3][..], &[0], &[3], &[0, 2]]);
        assert_eq!((graph.size(), graph.index().len(), graph.edges().len()), (4, 4, 6));
    }

    #[test]
    fn nodes_may_have_no_neighbour_and_members_no_node() {
        let graph = GraphTopology::new(5, &[0, 2, 2], &[0, 0]).unwrap();
        assert_eq!((0..3).map(|rank| graph.neighbours(rank).len()).collect::<Vec<_>>(), [0, 2, 0]);
        assert_eq!([graph.map(2), graph.map(3)], [2, MPI_UNDEFINED]);
        assert_eq!(GraphTopology::new(5, &[], &[]).unwrap().size(), 0);
    }

    #[test]
    fn what_is_no_graph_is_an_error() {
        let what = |index: &[c_int], edges: &[c_int]| GraphTopology::new(3, index, edges).unwrap_err().what;
        assert_eq!(what(&[0, 0, 0, 0], &[]), "a graph of 4 nodes for a group of 3 members");
        assert_eq!(what(&[1, 0], &[0]), "index[1] is 0, expected at least 1");
        assert_eq!(what(&[-1], &[]), "index[0] is -1, expected at least 0");
        assert_eq!(what(&[1, 2], &[1, 2]), "edges[1] is 2, expected one of 2 nodes");
        assert_eq!(what(&[1, 2], &[-1, 0]), "edges[0] is -1, expected one of 2 nodes");
        assert_eq!(what(&[3], &[0]), "index ends at 3, beyond the 1 edges");
    }
}
