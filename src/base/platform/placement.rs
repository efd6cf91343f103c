//! Placement of ranks on cores.

use std::fmt;
use std::path::Path;

use crate::config::{ConfigError, Lines};
use crate::units::counted;

use super::level::Site;
use super::places::Places;
use super::rank_file;
use super::shape::Shape;

/// Placement of the ranks of a program on the cores of the machine. Several ranks may share a core (oversubscription).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Ranks fill core after core, CMP after CMP, node after node. With more ranks than cores, the cores get further
    /// ranks evenly in this order.
    Block,
    /// Rank r is on node r mod N; the ranks of a node fill its cores in order.
    Cyclic,
    /// Ranks fill node after node; within a node rank i is on CMP i mod C, as Open MPI maps more than two ranks.
    Socket,
    /// Each rank has the core that a list states.
    Explicit(Vec<Site>),
}

/// Reason why the ranks cannot be placed on the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacementError {
    /// There are more ranks than hardware threads, and oversubscription is not permitted.
    TooManyRanks {
        /// Number of requested ranks.
        ranks: u32,
        /// Number of cores of the machine.
        cores: u64,
        /// Number of hardware threads per core.
        threads: u32,
    },
    /// There are more ranks than `per_node` on each node, and oversubscription is not permitted.
    TooManyPerNode {
        /// Number of requested ranks.
        ranks: u32,
        /// Greatest permitted number of ranks per node.
        per_node: u32,
        /// Number of nodes of the machine.
        nodes: u32,
    },
    /// The list of cores has another number of entries than there are ranks.
    WrongLength {
        /// Number of entries in the list of cores.
        entries: usize,
        /// Number of requested ranks.
        ranks: u32,
    },
    /// An entry of the list of cores names a core that the machine does not have.
    NoSuchCore {
        /// Rank of the entry in the list.
        rank: u32,
        /// Core that the entry names.
        site: Site,
        /// Shape of the machine.
        shape: Shape,
    },
    /// A core has more ranks than hardware threads, and oversubscription is not permitted.
    SharedCore {
        /// First rank for which the core has no hardware thread.
        rank: u32,
        /// Core with too many ranks.
        site: Site,
    },
}

impl PlacementError {
    /// Returns the text of the error for a program in which each rank must have a core, whatever the options.
    pub fn of_a_rank_a_core(&self) -> String {
        match self {
            PlacementError::TooManyRanks { ranks, cores, threads } => {
                let cores = cores_of(*cores, *threads);
                let ranks = counted(*ranks, "rank");
                format!("{ranks} on {cores}: expected one core per rank; --nct states the number of cores")
            }
            other => other.to_string(),
        }
    }
}

/// Returns a text such as "4 cores" or "4 cores of 2 threads".
pub fn cores_of(cores: u64, threads: u32) -> String {
    let cores = counted(cores, "core");
    if threads == 1 { cores } else { format!("{cores} of {threads} threads") }
}

impl fmt::Display for PlacementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlacementError::TooManyRanks { ranks, cores, threads } => {
                let cores = cores_of(*cores, *threads);
                let ranks = counted(*ranks, "rank");
                write!(f, "{ranks} on {cores}: give fewer --ranks, a larger --nct, or --oversubscribe")
            }
            PlacementError::TooManyPerNode { ranks, per_node, nodes } => write!(
                f,
                "{} on {} with at most {} each: give fewer --ranks, a larger --nct or --ranks-per-node, or --oversubscribe",
                counted(*ranks, "rank"),
                counted(*nodes, "node"),
                counted(*per_node, "rank")
            ),
            PlacementError::WrongLength { entries, ranks } => {
                let (entries, ranks) = (counted(*entries as u64, "core"), counted(*ranks, "rank"));
                write!(f, "the placement lists {entries} for {ranks}: expected one core per rank")
            }
            PlacementError::NoSuchCore { rank, site, shape } => write!(
                f,
                "rank {rank} is placed on node {}, CMP {}, core {}, which a ({}, {}, {}) machine does not have",
                site.node, site.cmp, site.core, shape.nodes, shape.cmps, shape.cores
            ),
            PlacementError::SharedCore { rank, site } => write!(
                f,
                "rank {rank} is placed on node {}, CMP {}, core {}, which another rank has: allow several ranks per \
                 core with --oversubscribe",
                site.node, site.cmp, site.core
            ),
        }
    }
}

impl std::error::Error for PlacementError {}

impl Placement {
    /// Returns the placement that the value of an option names: `block`, `cyclic`, `socket`, or a file (see
    /// [`Placement::read`]).
    ///
    /// # Errors
    /// The value is the name of a file that cannot be read as a placement.
    pub fn load(option: &str) -> Result<Self, ConfigError> {
        match option {
            "block" => Ok(Placement::Block),
            "cyclic" => Ok(Placement::Cyclic),
            "socket" => Ok(Placement::Socket),
            path => Placement::read(Path::new(path)),
        }
    }

    /// Reads a file with the core of each rank, rank 0 first. Each line of the file has the numbers of the node, of the
    /// CMP within the node, and of the core within the CMP, all from 0. Blank lines and comments after `#` are skipped.
    ///
    /// [`Placement::sites`] checks that the machine has these cores.
    ///
    /// # Errors
    /// The file cannot be read, contains no rank, or has a line that does not name a core; the error has the number of
    /// this line.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        Placement::from_lines(&Lines::read(path)?)
    }

    /// Reads a file as [`Placement::read`]. The file may also name hosts, as rank files and host files of MPI libraries and
    /// of Slurm do. Their numbers are those of the names in `places`.
    ///
    /// # Errors
    /// The errors of [`Placement::read`], and hosts and slots that the machine does not have.
    pub fn read_on(path: &Path, shape: Shape, places: &Places) -> Result<Vec<Site>, ConfigError> {
        let lines = Lines::read(path)?;
        let is_numbers = |line: &str| line.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_whitespace());
        // A file whose first line is wrong gets the error of the form with numbers, unless the line has a name.
        match lines.iter().next() {
            Some((_, line)) if !is_numbers(line) && line.bytes().any(|byte| byte.is_ascii_alphabetic()) => {
                Placement::of_hosts(&lines, shape, places)
            }
            _ => match Placement::from_lines(&lines)? {
                Placement::Explicit(sites) => Ok(sites),
                Placement::Block | Placement::Cyclic | Placement::Socket => unreachable!("lines list cores"),
            },
        }
    }

    /// Reads lines that name the hosts of ranks; see [`Placement::read_on`].
    ///
    /// # Errors
    /// A line has another form, or names a host or a slot that the machine does not have.
    pub fn of_hosts(lines: &Lines, shape: Shape, places: &Places) -> Result<Vec<Site>, ConfigError> {
        rank_file::sites(lines, shape, places)
    }

    fn from_lines(lines: &Lines) -> Result<Self, ConfigError> {
        let sites: Vec<Site> = lines
            .iter()
            .map(|(number, line)| {
                site(line).ok_or_else(|| {
                    lines.expected(number, "a rank's node, CMP and core, numbered from 0, such as \"0 1 3\"", line)
                })
            })
            .collect::<Result<_, _>>()?;
        if sites.is_empty() {
            return Err(lines.expected_in_all("a line \"node cmp core\" for each rank", "none"));
        }
        Ok(Placement::Explicit(sites))
    }

    /// Returns the core of each of `ranks` ranks on a machine of `shape` with one hardware thread per core.
    ///
    /// # Errors
    /// The ranks cannot be placed on the machine, see [`PlacementError`].
    pub fn sites(&self, shape: Shape, ranks: u32, oversubscribe: bool) -> Result<Vec<Site>, PlacementError> {
        self.sites_by_threads(shape, 1, ranks, oversubscribe)
    }

    /// Returns the core of each rank as [`Placement::sites`], on a machine with `threads` hardware threads per core. A
    /// core gets a further rank only after all other cores have as many ranks. Within a CMP (or within a node for
    /// `socket`), ranks fill all cores before second hardware threads.
    ///
    /// # Errors
    /// The ranks cannot be placed on the machine, see [`PlacementError`].
    pub fn sites_by_threads(
        &self,
        shape: Shape,
        threads: u32,
        ranks: u32,
        oversubscribe: bool,
    ) -> Result<Vec<Site>, PlacementError> {
        let cores = shape.total_cores();
        if u64::from(ranks) > cores * u64::from(threads) && !oversubscribe {
            return Err(PlacementError::TooManyRanks { ranks, cores, threads });
        }
        let with_siblings = threads > 1 && u64::from(ranks) > cores;
        match self {
            Placement::Block if with_siblings => {
                let (cmps, a_cmp) = (u64::from(shape.nodes) * u64::from(shape.cmps), u64::from(shape.cores));
                let core = |cmp: u64, at: u64| shape.site(cmp * a_cmp + at % a_cmp);
                Ok(evenly(ranks, cmps).map(|(cmp, at)| core(cmp, at)).collect())
            }
            Placement::Socket if with_siblings => {
                let (cmps, a_cmp) = (u64::from(shape.cmps), u64::from(shape.cores));
                let core = |node: u64, at: u64| shape.site((node * cmps + at % cmps) * a_cmp + at / cmps % a_cmp);
                Ok(evenly(ranks, u64::from(shape.nodes)).map(|(node, at)| core(node, at)).collect())
            }
            Placement::Block => {
                // With at most one rank per core, the rank is the number of the core.
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
            Placement::Socket => {
                let a_node = u64::from(shape.cmps) * u64::from(shape.cores);
                let (cmps, spread) = (u64::from(shape.cmps), u64::from(ranks).max(cores));
                let core = |slot: u64| {
                    let (node, place) = (slot / a_node, slot % a_node);
                    node * a_node + (place % cmps) * u64::from(shape.cores) + place / cmps
                };
                Ok((0..u64::from(ranks)).map(|rank| shape.site(core(rank * cores / spread))).collect())
            }
            Placement::Explicit(sites) => {
                let most = if oversubscribe { ranks } else { threads };
                check_list(sites, shape, ranks, most)?;
                Ok(sites.clone())
            }
        }
    }
}

fn site(line: &str) -> Option<Site> {
    let numbers: Vec<u32> = line.split_whitespace().map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let &[node, cmp, core] = numbers.as_slice() else { return None };
    Some(Site { node, cmp, core })
}

/// Returns, for each of `ranks` ranks, its part and its number within the part. The ranks are divided among `parts`
/// parts in order, as evenly as possible.
fn evenly(ranks: u32, parts: u64) -> impl Iterator<Item = (u64, u64)> {
    let all = u64::from(ranks);
    let first = move |part: u64| (part * all).div_ceil(parts);
    (0..all).map(move |rank| {
        let part = rank * parts / all;
        (part, rank - first(part))
    })
}

/// Checks that no core has more than `most` ranks.
fn check_list(sites: &[Site], shape: Shape, ranks: u32, most: u32) -> Result<(), PlacementError> {
    if sites.len() != ranks as usize {
        return Err(PlacementError::WrongLength { entries: sites.len(), ranks });
    }
    let mut taken = std::collections::HashMap::new();
    for (rank, &site) in (0..).zip(sites) {
        if !shape.contains(site) {
            return Err(PlacementError::NoSuchCore { rank, site, shape });
        }
        let here: &mut u32 = taken.entry(site).or_default();
        *here += 1;
        if *here > most {
            return Err(PlacementError::SharedCore { rank, site });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str) -> Result<Placement, String> {
        Placement::from_lines(&Lines::parse("p.txt", text)).map_err(|error| error.to_string())
    }

    fn at(node: u32, cmp: u32, core: u32) -> Site {
        Site { node, cmp, core }
    }

    #[test]
    fn a_placement_file_has_one_line_a_rank() {
        let text = "# node cmp core\n0 0 1\n\n 1\t0 0 # the second\r\n0 0 0";
        assert_eq!(lines(text), Ok(Placement::Explicit(vec![at(0, 0, 1), at(1, 0, 0), at(0, 0, 0)])));
    }

    #[test]
    fn a_line_that_is_no_place_is_named() {
        for line in ["0 1", "0 1 2 3", "0 1 x", "0 -1 2", "0 1 4294967296", "0,1,2"] {
            let expected = "a rank's node, CMP and core, numbered from 0, such as \"0 1 3\"";
            let error = format!("p.txt:3: expected {expected}; found \"{line}\"");
            assert_eq!(lines(&format!("0 0 0\n# more\n{line}")), Err(error));
        }
        let none = "p.txt: expected a line \"node cmp core\" for each rank; found none".to_owned();
        assert_eq!(lines("# nobody\n"), Err(none));
    }

    #[test]
    fn a_placement_option_is_a_name_or_a_file() {
        assert_eq!(Placement::load("block"), Ok(Placement::Block));
        assert_eq!(Placement::load("cyclic"), Ok(Placement::Cyclic));
        assert_eq!(Placement::load("socket"), Ok(Placement::Socket));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("places.txt");
        let path = path.to_str().unwrap();
        assert_eq!(Placement::load(path).unwrap_err().to_string(), format!("{path}: no such file"));
        std::fs::write(path, "1 0 0\n").unwrap();
        assert_eq!(Placement::load(path), Ok(Placement::Explicit(vec![at(1, 0, 0)])));
    }

    #[test]
    fn block_fills_nodes_and_cyclic_deals_them_out() {
        let shape = Shape { nodes: 2, cmps: 2, cores: 2 };
        let block = Placement::Block.sites(shape, 5, false).unwrap();
        assert_eq!(block, [at(0, 0, 0), at(0, 0, 1), at(0, 1, 0), at(0, 1, 1), at(1, 0, 0)]);
        let cyclic = Placement::Cyclic.sites(shape, 5, false).unwrap();
        assert_eq!(cyclic, [at(0, 0, 0), at(1, 0, 0), at(0, 0, 1), at(1, 0, 1), at(0, 1, 0)]);
    }

    #[test]
    fn by_socket_ranks_alternate_within_each_node() {
        let shape = Shape { nodes: 2, cmps: 2, cores: 2 };
        let sites = Placement::Socket.sites(shape, 6, false).unwrap();
        assert_eq!(sites, [at(0, 0, 0), at(0, 1, 0), at(0, 0, 1), at(0, 1, 1), at(1, 0, 0), at(1, 1, 0)]);
        let shared = Placement::Socket.sites(Shape { nodes: 1, cmps: 2, cores: 1 }, 4, true).unwrap();
        assert_eq!(shared, [at(0, 0, 0), at(0, 0, 0), at(0, 1, 0), at(0, 1, 0)], "neighbours share a core");
    }

    #[test]
    fn oversubscribed_blocks_are_neighbours_on_a_core() {
        let shape = Shape { nodes: 2, cmps: 1, cores: 1 };
        let sites = Placement::Block.sites(shape, 5, true).unwrap();
        assert_eq!(sites.iter().map(|site| site.node).collect::<Vec<_>>(), [0, 0, 0, 1, 1]);
    }

    #[test]
    fn siblings_are_filled_last() {
        let shape = Shape { nodes: 2, cmps: 2, cores: 2 };
        let by = |placement: &Placement, ranks| placement.sites_by_threads(shape, 2, ranks, false).unwrap();
        for placement in [Placement::Block, Placement::Cyclic, Placement::Socket] {
            assert_eq!(
                by(&placement, 8),
                placement.sites(shape, 8, false).unwrap(),
                "a core each: as without siblings"
            );
        }
        // The four CMPs have three, two, three and two ranks: each core gets a rank before its second hardware thread
        // does.
        let block = by(&Placement::Block, 10);
        assert_eq!(block[..5], [at(0, 0, 0), at(0, 0, 1), at(0, 0, 0), at(0, 1, 0), at(0, 1, 1)]);
        assert_eq!(block[5..], [at(1, 0, 0), at(1, 0, 1), at(1, 0, 0), at(1, 1, 0), at(1, 1, 1)]);
        let cyclic = by(&Placement::Cyclic, 10);
        assert_eq!(cyclic[8..], [at(0, 0, 0), at(1, 0, 0)], "all cores have a rank");
        let socket = by(&Placement::Socket, 10);
        assert_eq!(socket[..5], [at(0, 0, 0), at(0, 1, 0), at(0, 0, 1), at(0, 1, 1), at(0, 0, 0)]);
        let error = |ranks| Placement::Block.sites_by_threads(shape, 2, ranks, false).unwrap_err().to_string();
        let text = "17 ranks on 8 cores of 2 threads: give fewer --ranks, a larger --nct, or --oversubscribe";
        assert_eq!(error(17), text);
        let list = Placement::Explicit(vec![at(0, 0, 1); 3]);
        assert_eq!(by(&Placement::Explicit(vec![at(0, 0, 1); 2]), 2), [at(0, 0, 1); 2]);
        assert_eq!(
            list.sites_by_threads(shape, 2, 3, false).unwrap_err().to_string(),
            "rank 2 is placed on node 0, CMP 0, core 1, which another rank has: allow several ranks per core with \
             --oversubscribe"
        );
    }

    #[test]
    fn ranks_that_do_not_fit_are_refused_with_the_way_out() {
        let shape = Shape { nodes: 2, cmps: 1, cores: 2 };
        let error = |placement: &Placement, ranks| placement.sites(shape, ranks, false).unwrap_err().to_string();
        for placement in [Placement::Block, Placement::Cyclic] {
            let text = "5 ranks on 4 cores: give fewer --ranks, a larger --nct, or --oversubscribe";
            assert_eq!(error(&placement, 5), text);
        }
        let list = Placement::Explicit(vec![at(0, 0, 1), at(0, 0, 1)]);
        assert_eq!(error(&list, 3), "the placement lists 2 cores for 3 ranks: expected one core per rank");
        assert_eq!(
            error(&list, 2),
            "rank 1 is placed on node 0, CMP 0, core 1, which another rank has: allow several ranks per core with \
             --oversubscribe"
        );
        assert_eq!(list.sites(shape, 2, true), Ok(vec![at(0, 0, 1), at(0, 0, 1)]));
        assert_eq!(
            error(&Placement::Explicit(vec![at(0, 1, 0)]), 1),
            "rank 0 is placed on node 0, CMP 1, core 0, which a (2, 1, 2) machine does not have"
        );
    }

    proptest! {
        #[test]
        fn no_sibling_is_filled_before_all_cores_are(
            nodes in 1u32..5, cmps in 1u32..4, cores in 1u32..5, threads in 2u32..5, part in 0.0f64..1.0, socket: bool,
        ) {
            let shape = Shape { nodes, cmps, cores };
            let places = shape.total_cores() as u32 * threads;
            let ranks = ((f64::from(places) * part) as u32).max(1);
            let placement = if socket { Placement::Socket } else { Placement::Block };
            let sites = placement.sites_by_threads(shape, threads, ranks, false).unwrap();
            prop_assert!(sites.is_sorted_by_key(|site| site.node), "node after node");
            let mut on_core: HashMap<Site, u32> = HashMap::new();
            sites.iter().for_each(|site| *on_core.entry(*site).or_default() += 1);
            let least = if on_core.len() as u64 == shape.total_cores() { *on_core.values().min().unwrap() } else { 0 };
            prop_assert!(on_core.values().all(|count| (least..=least + 1).contains(count)), "{:?}", on_core);
        }

        #[test]
        fn ranks_are_spread_evenly_over_the_cores_that_are_there(
            nodes in 1u32..6, cmps in 1u32..4, cores in 1u32..5, ranks in 1u32..200, cyclic: bool,
        ) {
            let shape = Shape { nodes, cmps, cores };
            let placement = if cyclic { Placement::Cyclic } else { Placement::Block };
            let sites = placement.sites(shape, ranks, true).unwrap();
            prop_assert_eq!(sites.len(), ranks as usize);
            let mut on_core: HashMap<Site, u64> = HashMap::new();
            for site in &sites {
                prop_assert!(shape.contains(*site));
                *on_core.entry(*site).or_default() += 1;
            }
            let (least, most) = (u64::from(ranks) / shape.total_cores(), u64::from(ranks).div_ceil(shape.total_cores()));
            if cyclic {
                // The ranks are first distributed to the nodes. A node may have one rank more than others, and then
                // fills all its cores.
                let on_node = |node| sites.iter().filter(|site| site.node == node).count() as u32;
                prop_assert!((0..nodes).all(|node| on_node(node).abs_diff(ranks / nodes) <= 1));
            } else {
                prop_assert!(on_core.values().all(|count| (least..=most).contains(count)), "{:?}", on_core);
                prop_assert!(sites.is_sorted_by_key(|site| (site.node, site.cmp, site.core)));
            }
            if u64::from(ranks) <= shape.total_cores() {
                prop_assert_eq!(on_core.len(), ranks as usize);
            }
        }
    }
}
