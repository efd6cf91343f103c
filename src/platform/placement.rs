//! Which core each rank runs on, and which worker each node belongs to.

use std::fmt;

use super::level::{Shape, Site};

/// Where the ranks run. Several ranks may share a core (oversubscription).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Ranks fill core after core, CMP after CMP, node after node; with more ranks than cores, the cores are filled evenly in that order.
    Block,
    /// Rank r on node r mod N, filling each node's cores in order.
    Cyclic,
    /// The core of each rank.
    Explicit(Vec<Site>),
}

/// Why ranks cannot be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacementError {
    /// More ranks than cores and no permission to oversubscribe.
    TooManyRanks {
        /// Ranks asked for.
        ranks: u32,
        /// Cores there are.
        cores: u64,
    },
    /// The list has another number of entries than there are ranks.
    WrongLength {
        /// Entries of the list.
        entries: usize,
        /// Ranks asked for.
        ranks: u32,
    },
    /// An entry names a core that is not there.
    NoSuchCore {
        /// The rank placed there.
        rank: u32,
        /// The core named.
        site: Site,
        /// The machine's shape.
        shape: Shape,
    },
    /// Two ranks on one core and no permission to oversubscribe.
    SharedCore {
        /// The second rank placed there.
        rank: u32,
        /// The core.
        site: Site,
    },
}

impl fmt::Display for PlacementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlacementError::TooManyRanks { ranks, cores } => {
                write!(f, "{ranks} ranks on {cores} cores: give fewer --ranks, a larger --nct, or --oversubscribe")
            }
            PlacementError::WrongLength { entries, ranks } => {
                write!(f, "the placement lists {entries} cores for {ranks} ranks: expected one a rank")
            }
            PlacementError::NoSuchCore { rank, site, shape } => write!(
                f,
                "rank {rank} is placed on node {}, CMP {}, core {}, which a ({}, {}, {}) machine does not have",
                site.node, site.cmp, site.core, shape.nodes, shape.cmps, shape.cores
            ),
            PlacementError::SharedCore { rank, site } => write!(
                f,
                "rank {rank} is placed on node {}, CMP {}, core {}, which is taken: allow it with --oversubscribe",
                site.node, site.cmp, site.core
            ),
        }
    }
}

impl std::error::Error for PlacementError {}

impl Placement {
    /// The core of each of `ranks` ranks on a machine of `shape`.
    ///
    /// # Errors
    /// When they do not fit, see [`PlacementError`].
    pub fn sites(&self, shape: Shape, ranks: u32, oversubscribe: bool) -> Result<Vec<Site>, PlacementError> {
        let cores = shape.total_cores();
        if u64::from(ranks) > cores && !oversubscribe {
            return Err(PlacementError::TooManyRanks { ranks, cores });
        }
        match self {
            Placement::Block => {
                // With at most one rank a core this is rank = core.
                let spread = u64::from(ranks).max(cores);
                Ok((0..u64::from(ranks)).map(|rank| shape.site(rank * cores / spread)).collect())
            }
            Placement::Cyclic => {
                let a_node = u64::from(shape.cmps) * u64::from(shape.cores);
                let nodes = u64::from(shape.nodes);
                Ok((0..u64::from(ranks))
                    .map(|rank| shape.site((rank % nodes) * a_node + (rank / nodes) % a_node))
                    .collect())
            }
            Placement::Explicit(sites) => {
                check_list(sites, shape, ranks, oversubscribe)?;
                Ok(sites.clone())
            }
        }
    }
}

fn check_list(sites: &[Site], shape: Shape, ranks: u32, oversubscribe: bool) -> Result<(), PlacementError> {
    if sites.len() != ranks as usize {
        return Err(PlacementError::WrongLength { entries: sites.len(), ranks });
    }
    let mut taken = std::collections::HashSet::new();
    for (rank, &site) in (0..).zip(sites) {
        if site.node >= shape.nodes || site.cmp >= shape.cmps || site.core >= shape.cores {
            return Err(PlacementError::NoSuchCore { rank, site, shape });
        }
        if !taken.insert(site) && !oversubscribe {
            return Err(PlacementError::SharedCore { rank, site });
        }
    }
    Ok(())
}

/// Which worker owns each node: contiguous blocks of nodes with about equally many ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The first node of each worker, then the number of nodes.
    first_node: Vec<u32>,
}

impl Partition {
    /// Divides `nodes` nodes among at most `workers` workers so that each has about as many of the ranks at `sites`.
    ///
    /// Gives fewer workers than asked for where there are fewer nodes.
    ///
    /// # Panics
    /// If `nodes` or `workers` is zero.
    pub fn new(nodes: u32, sites: &[Site], workers: u32) -> Self {
        assert!(nodes > 0 && workers > 0, "a machine has nodes and a simulation workers");
        let workers = workers.min(nodes);
        let mut on_node = vec![0u64; nodes as usize];
        for site in sites {
            on_node[site.node as usize] += 1;
        }
        let total = sites.len() as u64;
        let mut first_node = vec![0];
        let mut before = 0;
        for node in 0..nodes {
            let worker = first_node.len() as u64;
            let left = nodes - node;
            let needed = u64::from(workers) - worker;
            // The next worker starts here once the ones so far have their part, and must where every node left is needed.
            let full = before * u64::from(workers) >= total * worker && node > first_node[first_node.len() - 1];
            if needed > 0 && (full || u64::from(left) == needed) && node > 0 {
                first_node.push(node);
            }
            before += on_node[node as usize];
        }
        first_node.push(nodes);
        Partition { first_node }
    }

    /// The number of workers.
    pub fn workers(&self) -> u32 {
        self.first_node.len() as u32 - 1
    }

    /// The nodes of `worker`.
    pub fn nodes(&self, worker: u32) -> std::ops::Range<u32> {
        self.first_node[worker as usize]..self.first_node[worker as usize + 1]
    }

    /// The worker that owns `node`.
    pub fn owner(&self, node: u32) -> u32 {
        self.first_node.partition_point(|&first| first <= node) as u32 - 1
    }
}
