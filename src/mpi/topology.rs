//! Cartesian, graph and distributed-graph topologies (MPI-3.1, chapter 7): positions and neighbours of ranks.

mod cartesian;
mod dims;
mod distributed;
mod graph;

use std::ffi::c_int;

pub use cartesian::Cart;
pub use dims::dims_create;
pub use distributed::{Contribution, Edge, Neighbours};
pub use graph::GraphTopology;

use crate::abi::{MPI_CART, MPI_DIST_GRAPH, MPI_GRAPH};

/// Topology of a communicator, as seen by one of its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Cartesian topology (MPI_CART).
    Cart(Cart),
    /// Graph topology (MPI_GRAPH).
    Graph(GraphTopology),
    /// Distributed graph topology (MPI_DIST_GRAPH), with the edges of this member only.
    Distributed(Neighbours),
}

impl Topology {
    /// Constant that MPI_Topo_test returns for this topology.
    pub fn kind(&self) -> c_int {
        match self {
            Topology::Cart(_) => MPI_CART,
            Topology::Graph(_) => MPI_GRAPH,
            Topology::Distributed(_) => MPI_DIST_GRAPH,
        }
    }

    /// Sources and destinations of member `rank` in a neighbourhood collective, in the order of the blocks in its
    /// buffers (section 7.6). A neighbour MPI_PROC_NULL has a block in the buffers, too.
    pub fn neighbours(&self, rank: u32) -> (Vec<c_int>, Vec<c_int>) {
        match self {
            Topology::Cart(cart) => {
                let near = cart.neighbours(rank);
                (near.clone(), near)
            }
            Topology::Graph(graph) => {
                let near: Vec<c_int> = graph.neighbours(rank).iter().map(|&other| other as c_int).collect();
                (near.clone(), near)
            }
            Topology::Distributed(near) => {
                let ranks = |edges: &[Edge]| edges.iter().map(|edge| edge.rank as c_int).collect();
                (ranks(&near.sources), ranks(&near.destinations))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topology_says_its_kind_and_who_is_near() {
        let line = Topology::Cart(Cart::new(3, &[3], &[false]).unwrap());
        assert_eq!((line.kind(), line.neighbours(0)), (MPI_CART, (vec![-3, 1], vec![-3, 1])));
        let graph = Topology::Graph(GraphTopology::new(2, &[2, 3], &[1, 1, 0]).unwrap());
        assert_eq!((graph.kind(), graph.neighbours(0)), (MPI_GRAPH, (vec![1, 1], vec![1, 1])));
        let edge = |rank| Edge { rank, weight: 1 };
        let near = Neighbours { sources: vec![edge(1)], destinations: vec![edge(2), edge(0)], weighted: false };
        let near = Topology::Distributed(near);
        assert_eq!((near.kind(), near.neighbours(0)), (MPI_DIST_GRAPH, (vec![1], vec![2, 0])));
    }
}
