//! Distribution of ranks over places of the machine, as by `mpirun --map-by`.

use super::level::Site;
use super::placement::PlacementError;
use super::places::{Domain, NodeGroup, Places};
use super::shape::Shape;

/// Kind of place over which consecutive ranks are distributed.
#[derive(Clone, Debug, PartialEq)]
pub enum MapBy {
    /// Cores: ranks fill all cores of a node, then all cores of the next node.
    Core,
    /// Domains of this number of cores within each node, node after node. The largest possible domain is a CMP.
    Domain {
        /// Number of cores of a domain.
        cores: u32,
    },
    /// Nodes: consecutive ranks are on consecutive nodes.
    Node,
    /// Groups of nodes: consecutive ranks are in consecutive groups. Ranks fill the nodes of a group in order.
    Group(NodeGroup),
}

impl MapBy {
    /// Returns the kind of place with the name `core`, `cmp` or `node`, or with the name of one of the machine's
    /// places.
    ///
    /// # Errors
    /// The machine has no place with this name; the error lists all names.
    pub fn named(name: &str, shape: Shape, places: &Places) -> Result<MapBy, String> {
        match name {
            "core" => return Ok(MapBy::Core),
            "cmp" | "socket" => return Ok(MapBy::Domain { cores: shape.cores }),
            "node" => return Ok(MapBy::Node),
            _ => {}
        }
        if let Some(Domain { cores, .. }) = places.domains.iter().find(|domain| domain.name == name) {
            return Ok(MapBy::Domain { cores: *cores });
        }
        if let Some(group) = places.groups.iter().find(|group| group.name == name) {
            return Ok(MapBy::Group(group.clone()));
        }
        let domains = places.domains.iter().map(|domain| domain.name.as_str());
        let groups = places.groups.iter().map(|group| group.name.as_str());
        let known: Vec<&str> = ["core"].into_iter().chain(domains).chain(["cmp", "node"]).chain(groups).collect();
        Err(format!("expected a place of the machine: {}; found \"{name}\"", known.join(", ")))
    }

    /// Returns the core of each of `ranks` ranks on a machine of `shape`, with at most `per_node` ranks per node. The
    /// default of `per_node` is one rank per hardware thread, with `threads` hardware threads per core.
    ///
    /// # Errors
    /// There are more ranks than the nodes may have, and oversubscription is not permitted.
    pub fn sites(
        &self,
        shape: Shape,
        threads: u32,
        ranks: u32,
        per_node: Option<u32>,
        oversubscribe: bool,
    ) -> Result<Vec<Site>, PlacementError> {
        let of_node = shape.cores_in_node() as u32;
        let most = of_node.saturating_mul(threads);
        let per_node = per_node.map_or(most, |stated| if oversubscribe { stated } else { stated.min(most) });
        let slots = u64::from(per_node) * u64::from(shape.nodes);
        if u64::from(ranks) > slots && !oversubscribe {
            return Err(PlacementError::TooManyPerNode { ranks, per_node, nodes: shape.nodes });
        }
        // A node that is full gets further ranks in the same order of cores as the first ranks.
        let order = self.order_in_node(shape);
        let site = |node: u32, position: u64| {
            let core = order[(position % u64::from(of_node)) as usize];
            Site { node, cmp: core / shape.cores, core: core % shape.cores }
        };
        let (nodes, per_node) = (u64::from(shape.nodes), u64::from(per_node.max(1)));
        let all = 0..u64::from(ranks);
        Ok(match self {
            MapBy::Core | MapBy::Domain { .. } => {
                all.map(|rank| rank % slots.max(1)).map(|at| site((at / per_node) as u32, at % per_node)).collect()
            }
            MapBy::Node => all.map(|rank| site((rank % nodes) as u32, rank / nodes)).collect(),
            MapBy::Group(group) => {
                let sequence = by_group(group, shape.nodes, per_node, ranks);
                let mut used = vec![0; shape.nodes as usize];
                let next = |node: u32| {
                    let position = used[node as usize];
                    used[node as usize] += 1;
                    site(node, position)
                };
                sequence.into_iter().map(next).collect()
            }
        })
    }

    /// Returns the order in which the cores of a node get ranks, as numbers of cores within the node.
    fn order_in_node(&self, shape: Shape) -> Vec<u32> {
        let all = shape.cores_in_node() as u32;
        match self {
            MapBy::Domain { cores } => {
                let domains = all / cores;
                (0..all).map(|position| position % domains * cores + position / domains).collect()
            }
            MapBy::Core | MapBy::Node | MapBy::Group(_) => (0..all).collect(),
        }
    }
}

/// Returns the node of each rank. Consecutive ranks are in consecutive groups that still have room for a rank.
fn by_group(group: &NodeGroup, nodes: u32, per_node: u64, ranks: u32) -> Vec<u32> {
    let mut members: Vec<Vec<u32>> = Vec::new();
    for node in 0..nodes {
        let of = group.of(node) as usize;
        if of >= members.len() {
            members.resize(of + 1, Vec::new());
        }
        members[of].push(node);
    }
    let mut sequence = Vec::with_capacity(ranks as usize);
    let mut round = 0;
    while sequence.len() < ranks as usize {
        let before = sequence.len();
        for nodes in &members {
            if let Some(node) = nodes.get((round / per_node) as usize).filter(|_| sequence.len() < ranks as usize) {
                sequence.push(*node);
            }
        }
        // All groups are full. If oversubscription is permitted, the next ranks begin again with the first group.
        round = if sequence.len() == before { 0 } else { round + 1 };
    }
    sequence
}

#[cfg(test)]
mod tests {
    use super::super::placement::Placement;
    use super::super::places::Members;
    use super::*;
    use crate::units::SimSpan;

    const SHAPE: Shape = Shape { nodes: 4, cmps: 1, cores: 4 };

    fn places() -> Places {
        let group = NodeGroup {
            name: "rack".to_owned(),
            members: Members::List(vec![0, 1, 0, 1]),
            uplink_latency: SimSpan::ZERO,
            uplink: None,
        };
        let domain = Domain { name: "l3".to_owned(), cores: 2, cache: None, memory: None };
        Places { domains: vec![domain], groups: vec![group], ..Places::default() }
    }

    fn mapped(name: &str, ranks: u32, per_node: Option<u32>) -> Vec<(u32, u32)> {
        let map_by = MapBy::named(name, SHAPE, &places()).unwrap();
        let sites = map_by.sites(SHAPE, 1, ranks, per_node, false).unwrap();
        sites.into_iter().map(|site| (site.node, site.core)).collect()
    }

    #[test]
    fn ranks_are_distributed_over_the_places_of_a_kind() {
        assert_eq!(mapped("core", 5, None), [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]);
        assert_eq!(mapped("l3", 5, None), [(0, 0), (0, 2), (0, 1), (0, 3), (1, 0)]);
        assert_eq!(mapped("cmp", 5, None), mapped("core", 5, None));
        assert_eq!(mapped("node", 5, None), [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1)]);
        // The racks have the nodes {0, 2} and {1, 3}.
        assert_eq!(mapped("rack", 5, None), [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2)]);
        assert_eq!(mapped("rack", 4, Some(1)), [(0, 0), (1, 0), (2, 0), (3, 0)]);
        assert_eq!(mapped("core", 5, Some(2)), [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]);
        assert_eq!(mapped("l3", 4, Some(2)), [(0, 0), (0, 2), (1, 0), (1, 2)]);
    }

    #[test]
    fn each_core_has_one_rank_before_any_has_two() {
        for name in ["core", "l3", "cmp", "node", "rack"] {
            let mut all = mapped(name, 16, None);
            all.sort_unstable();
            let every: Vec<_> = (0..4).flat_map(|node| (0..4).map(move |core| (node, core))).collect();
            assert_eq!(all, every, "{name}");
            let map_by = MapBy::named(name, SHAPE, &places()).unwrap();
            assert!(map_by.sites(SHAPE, 1, 17, None, false).is_err());
            let mut twice: Vec<_> =
                map_by.sites(SHAPE, 2, 32, None, false).unwrap().iter().map(|site| (site.node, site.core)).collect();
            twice.sort_unstable();
            assert_eq!(twice, every.iter().flat_map(|site| [*site; 2]).collect::<Vec<_>>(), "{name}");
            assert_eq!(map_by.sites(SHAPE, 1, 40, None, true).unwrap().len(), 40);
        }
    }

    /// `--map-by core`, `node` and `cmp` are `--placement block`, `cyclic` and `socket`.
    #[test]
    fn places_of_every_machine_have_the_order_of_the_placements() {
        let shape = Shape { nodes: 3, cmps: 2, cores: 4 };
        for (name, placement) in [("core", Placement::Block), ("node", Placement::Cyclic), ("cmp", Placement::Socket)] {
            for ranks in [1, 5, 23, 24] {
                let sites = MapBy::named(name, shape, &Places::default()).unwrap().sites(shape, 1, ranks, None, false);
                assert_eq!(sites, placement.sites(shape, ranks, false), "{name}, {ranks} ranks");
            }
        }
    }

    #[test]
    fn an_unknown_place_is_refused_with_all_names() {
        let error = MapBy::named("numa", SHAPE, &places()).unwrap_err();
        assert_eq!(error, "expected a place of the machine: core, l3, cmp, node, rack; found \"numa\"");
    }
}
