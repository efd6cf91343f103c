//! Distributed graphs (MPI-3.1, section 7.5.4): any member may pass any edge to MPI_Dist_graph_create, and every
//! member obtains its own edges.

use std::collections::BTreeMap;
use std::ffi::c_int;

use crate::abi::MPI_ERR_ARG;
use crate::fault::Fault;

/// An edge as seen by one of the two members that it connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Rank of the other member that the edge connects.
    pub rank: u32,
    /// Weight of the edge; 1 if the graph has no weights.
    pub weight: c_int,
}

/// The graph edges of one member of the communicator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// Edges of the graph that lead to the member.
    pub sources: Vec<Edge>,
    /// Edges of the graph that begin at the member.
    pub destinations: Vec<Edge>,
    /// Whether the edges of the graph have weights.
    pub weighted: bool,
}

/// Edges (source, destination, weight) that one member passes to MPI_Dist_graph_create.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contribution {
    edges: Vec<(u32, u32, c_int)>,
    weighted: bool,
}

impl Neighbours {
    /// Edges passed to MPI_Dist_graph_create_adjacent, in the same order; weights are `None` for MPI_UNWEIGHTED.
    ///
    /// # Errors
    /// Only incoming or only outgoing edges have weights, a neighbour is not in the communicator of `members` ranks,
    /// or a weight is negative.
    pub fn adjacent(
        members: u32,
        sources: (&[c_int], Option<&[c_int]>),
        destinations: (&[c_int], Option<&[c_int]>),
    ) -> Result<Self, Fault> {
        let weighted = sources.1.is_some();
        if weighted != destinations.1.is_some() {
            return Err(Fault::new(MPI_ERR_ARG, "weights for one direction only, expected for both or none"));
        }
        let edges = |(ranks, weights): (&[c_int], Option<&[c_int]>)| {
            let edge = |(place, &rank)| {
                let rank = member(members, rank)?;
                Ok(Edge { rank, weight: weight(weights, place)? })
            };
            ranks.iter().enumerate().map(edge).collect::<Result<Vec<_>, Fault>>()
        };
        Ok(Neighbours { sources: edges(sources)?, destinations: edges(destinations)?, weighted })
    }

    /// Edges of a member, computed from the messages of all contributors ([`Contribution::by_end`]). The edges are
    /// ordered by contributor; the edges of one contributor are in the order of the call.
    ///
    /// # Errors
    /// Some contributors passed weights and others did not.
    pub fn from_messages(weighted: bool, by_giver: &BTreeMap<u32, Vec<u32>>) -> Result<Self, Fault> {
        let mut near = Neighbours { weighted, ..Neighbours::default() };
        for (giver, edges) in by_giver {
            if (edges[0] != 0) != weighted {
                let what = format!("rank {giver} and this one differ: only one of them gave weights");
                return Err(Fault::new(MPI_ERR_ARG, what));
            }
            for edge in edges[1..].chunks_exact(3) {
                let list = if edge[0] != 0 { &mut near.sources } else { &mut near.destinations };
                list.push(Edge { rank: edge[1], weight: edge[2] as c_int });
            }
        }
        Ok(near)
    }
}

impl Contribution {
    /// Edges passed to MPI_Dist_graph_create: the next `degrees[i]` destinations belong to `sources[i]`.
    ///
    /// # Errors
    /// A degree is negative, the sum of the degrees exceeds the number of destinations, a source or destination is not
    /// in the communicator of `members` ranks, or a weight is negative.
    pub fn new(
        members: u32,
        sources: &[c_int],
        degrees: &[c_int],
        destinations: &[c_int],
        weights: Option<&[c_int]>,
    ) -> Result<Self, Fault> {
        let mut edges = Vec::with_capacity(destinations.len());
        for (place, (&source, &degree)) in sources.iter().zip(degrees).enumerate() {
            let source = member(members, source)?;
            let known = usize::try_from(degree).ok().filter(|degree| edges.len() + degree <= destinations.len());
            let degree = known.ok_or_else(|| {
                let left = destinations.len() - edges.len();
                Fault::new(MPI_ERR_ARG, format!("degrees[{place}] is {degree}, expected 0 to {left}"))
            })?;
            let start = edges.len();
            for (at, &destination) in destinations.iter().enumerate().skip(start).take(degree) {
                edges.push((source, member(members, destination)?, weight(weights, at)?));
            }
        }
        Ok(Contribution { edges, weighted: weights.is_some() })
    }

    /// Messages to the members that the edges connect. A message states whether the edges have weights. Then the
    /// message lists for each edge: whether the edge leads to the receiver of the message, the rank of the other
    /// member, and the weight.
    pub fn by_end(&self) -> BTreeMap<u32, Vec<u32>> {
        let mut told = BTreeMap::new();
        for &(source, destination, weight) in &self.edges {
            for (inward, end, other) in [(0, source, destination), (1, destination, source)] {
                let edges = told.entry(end).or_insert_with(|| vec![u32::from(self.weighted)]);
                edges.extend([inward, other, weight as u32]);
            }
        }
        told
    }

    /// Whether the edges of the graph have weights.
    pub fn weighted(&self) -> bool {
        self.weighted
    }
}

fn member(members: u32, rank: c_int) -> Result<u32, Fault> {
    let known = u32::try_from(rank).ok().filter(|&rank| rank < members);
    known.ok_or_else(|| {
        Fault::new(
            MPI_ERR_ARG,
            format!(
                "an edge has rank {rank}, expected a rank of a group of \
                                                        {members} members"
            ),
        )
    })
}

fn weight(weights: Option<&[c_int]>, place: usize) -> Result<c_int, Fault> {
    let Some(weights) = weights else { return Ok(1) };
    let weight = weights.get(place).copied().filter(|&weight| weight >= 0);
    weight.ok_or_else(|| Fault::new(MPI_ERR_ARG, format!("no weight of 0 or more at place {place}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes the edges of every member from the edges `given` that each member passed.
    fn assemble(given: &[Contribution]) -> Result<Vec<Neighbours>, Fault> {
        let told: Vec<_> = given.iter().map(Contribution::by_end).collect();
        let heard = |member| {
            let from = told.iter().zip(0..).filter_map(|(told, giver)| Some((giver, told.get(&member)?.clone())));
            from.collect::<BTreeMap<_, _>>()
        };
        (0..given.len())
            .map(|member| Neighbours::from_messages(given[member].weighted(), &heard(member as u32)))
            .collect()
    }

    fn pairs(edges: &[Edge]) -> Vec<(u32, c_int)> {
        edges.iter().map(|edge| (edge.rank, edge.weight)).collect()
    }

    /// A graph of four members. Three members pass the edges of the graph, some of which connect other members. Weights
    /// identify the edges.
    fn example() -> [Contribution; 4] {
        let given = |sources: &[c_int], degrees: &[c_int], to: &[c_int], weights: &[c_int]| {
            Contribution::new(4, sources, degrees, to, Some(weights)).unwrap()
        };
        [
            given(&[0, 1], &[2, 1], &[1, 3, 0], &[10, 11, 12]),
            given(&[2, 3], &[1, 1], &[3, 0], &[13, 14]),
            given(&[], &[], &[], &[]),
            given(&[3], &[1], &[2], &[15]),
        ]
    }

    #[test]
    fn everybody_learns_its_edges_whoever_gave_them() {
        let all = assemble(&example()).unwrap();
        assert_eq!(pairs(&all[0].sources), [(1, 12), (3, 14)]);
        assert_eq!(pairs(&all[0].destinations), [(1, 10), (3, 11)]);
        assert_eq!(pairs(&all[1].sources), [(0, 10)]);
        assert_eq!(pairs(&all[2].sources), [(3, 15)]);
        assert_eq!(pairs(&all[3].sources), [(0, 11), (2, 13)]);
        assert_eq!(pairs(&all[3].destinations), [(0, 14), (2, 15)]);
        assert!(all.iter().all(|near| near.weighted));
    }

    #[test]
    fn edges_may_be_doubled_and_lead_to_oneself() {
        let twice = Contribution::new(1, &[0], &[2], &[0, 0], None).unwrap();
        let all = assemble(&[twice]).unwrap();
        assert_eq!((pairs(&all[0].sources), all[0].weighted), (vec![(0, 1), (0, 1)], false));
    }

    #[test]
    fn adjacent_edges_stay_in_their_order() {
        let near = Neighbours::adjacent(4, (&[3, 1], Some(&[5, 0])), (&[2], Some(&[7]))).unwrap();
        assert_eq!((pairs(&near.sources), pairs(&near.destinations)), (vec![(3, 5), (1, 0)], vec![(2, 7)]));
        let near = Neighbours::adjacent(4, (&[3], None), (&[], None)).unwrap();
        assert_eq!((pairs(&near.sources), near.weighted), (vec![(3, 1)], false));
    }

    #[test]
    fn what_is_no_edge_is_an_error() {
        let what = |sources: &[c_int], degrees: &[c_int], to: &[c_int], weights: Option<&[c_int]>| {
            Contribution::new(2, sources, degrees, to, weights).unwrap_err().what
        };
        assert_eq!(what(&[2], &[1], &[0], None), "an edge has rank 2, expected a rank of a group of 2 members");
        assert_eq!(what(&[0], &[1], &[-1], None), "an edge has rank -1, expected a rank of a group of 2 members");
        assert_eq!(what(&[0, 1], &[1, -1], &[1], None), "degrees[1] is -1, expected 0 to 0");
        assert_eq!(what(&[0, 1], &[1, 2], &[1, 0], None), "degrees[1] is 2, expected 0 to 1");
        assert_eq!(what(&[0], &[1], &[1], Some(&[-4])), "no weight of 0 or more at place 0");
        let one_sided = Neighbours::adjacent(2, (&[0], Some(&[1])), (&[0], None));
        assert_eq!(one_sided.unwrap_err().class, MPI_ERR_ARG);
        let [weighted, ..] = example();
        let mixed = assemble(&[Contribution::default(), weighted]);
        assert_eq!(mixed.unwrap_err().what, "rank 1 and this one differ: only one of them gave weights");
    }
}
