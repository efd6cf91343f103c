//! Costs of messages by class of pairs of cores. A class is measured, for machines that fit no shape, or it is the
//! least common place of the two cores.
//!
//! A measured class replaces latency and bandwidth of messages by size. A place may also replace the overheads, gaps
//! and copy bandwidths of messages. Thresholds, contention and all other properties of a message are properties of the
//! level of the two cores.

use std::sync::Arc;

use crate::units::{Bandwidth, Bytes, SimSpan};

use super::{Level, Link, Places, Row, Shape, Site};

/// Class of a pair of cores whose messages have the costs of their level.
pub const NO_CLASS: u16 = u16::MAX;

/// Classes of pairs of cores and the costs of their messages.
#[derive(Clone, Debug, PartialEq)]
pub struct PairClasses {
    /// Shape of the machine that the classes describe.
    shape: Shape,
    class_of: ClassOf,
    /// Costs of messages of each class at each level.
    links: Vec<[Link; 3]>,
    /// For each class and level, whether the class has a pair of cores at that level.
    levels: Vec<[bool; 3]>,
}

/// Assignment of pairs of cores to classes.
#[derive(Clone, Debug, PartialEq)]
enum ClassOf {
    /// Class of each pair (sending core, receiving core) among `side` consecutive cores, one row per sending core. The
    /// `side` cores are all cores of the machine, of a node, or of a CMP.
    Matrix { side: u32, class: Vec<u16> },
    /// The class of a pair is the least common place of the two cores.
    Places(Arc<Places>),
}

impl PairClasses {
    /// Creates the classes of all pairs among the first `side` cores of `shape`, one row per sending core, with the
    /// links of each class at each level. The classes also apply to each following group of `side` cores. Pairs of
    /// cores in different groups have no class.
    ///
    /// # Panics
    /// `side` is none of [`PairClasses::sides`], there are not as many entries as pairs, or an entry has no link.
    pub fn new(shape: Shape, side: u64, class: Vec<u16>, links: Vec<[Link; 3]>) -> PairClasses {
        assert!(Self::sides(shape).contains(&side), "cores of the machine, of a node, or of a CMP");
        assert_eq!(class.len() as u64, side * side, "a class for each pair");
        assert!(class.iter().all(|class| *class == NO_CLASS || usize::from(*class) < links.len()), "a link a class");
        let sites: Vec<Site> = (0..side).map(|core| shape.site(core)).collect();
        let pairs = sites.iter().flat_map(|from| sites.iter().map(move |to| (*from, *to)));
        let mut levels = vec![[false; 3]; links.len()];
        for ((from, to), class) in pairs.zip(&class).filter(|(_, class)| **class != NO_CLASS) {
            levels[usize::from(*class)][Level::between(from, to) as usize] = true;
        }
        PairClasses { shape, class_of: ClassOf::Matrix { side: side as u32, class }, links, levels }
    }

    /// Creates the classes of the least common places of cores, with the link of each class at the level of its pairs.
    ///
    /// # Panics
    /// There are not as many links as [`Places::cost_classes`].
    pub fn of_places(shape: Shape, places: Arc<Places>, links: Vec<Link>) -> PairClasses {
        assert_eq!(links.len(), places.cost_classes(), "a link for each class");
        let domains = places.domains.len();
        let of = |class: usize| if class < domains { Level::IntraCmp } else { Level::InterNode };
        let levels = (0..links.len()).map(|class| Level::ALL.map(|level| level == of(class))).collect();
        let links = links.into_iter().map(|link| [link.clone(), link.clone(), link]).collect();
        PairClasses { shape, class_of: ClassOf::Places(places), links, levels }
    }

    /// Returns the number of cores of the machine, of a node, and of a CMP.
    pub fn sides(shape: Shape) -> [u64; 3] {
        let of_cmp = u64::from(shape.cores);
        [shape.total_cores(), u64::from(shape.cmps) * of_cmp, of_cmp]
    }

    /// Returns the classes for a machine of another shape; `None` if this machine does not have the described cores.
    pub fn on(&self, shape: Shape) -> Option<PairClasses> {
        let holds = match &self.class_of {
            ClassOf::Matrix { side, .. } => {
                let of_node = shape.cmps == self.shape.cmps && shape.cores == self.shape.cores;
                let of_cmp = shape.cores == self.shape.cores;
                let [_, node, cmp] = Self::sides(self.shape);
                let side = u64::from(*side);
                shape == self.shape || (side == node && of_node) || (side == cmp && of_cmp)
            }
            ClassOf::Places(places) => places.check(shape).is_ok(),
        };
        holds.then(|| PairClasses { shape, ..self.clone() })
    }

    /// Returns whether the classes were measured, rather than given by places.
    pub fn are_measured(&self) -> bool {
        matches!(self.class_of, ClassOf::Matrix { .. })
    }

    /// Returns the number of classes.
    pub fn count(&self) -> usize {
        self.links.len()
    }

    /// Returns the number of a core in the machine.
    pub fn core(&self, site: Site) -> u32 {
        self.shape.number(site)
    }

    /// Returns the costs of a message of `size` between two cores, given by their numbers in the machine; `None` for
    /// pairs with the costs of their level.
    #[inline]
    pub fn row(&self, from: u32, to: u32, level: Level, size: Bytes) -> Option<&Row> {
        self.link(from, to, level).map(|link| link.row(size))
    }

    /// Returns the link between two cores, given by their numbers in the machine; `None` for pairs with the link of
    /// their level.
    #[inline]
    pub fn link(&self, from: u32, to: u32, level: Level) -> Option<&Link> {
        let class = match &self.class_of {
            ClassOf::Matrix { side, class } => {
                if from / side != to / side {
                    return None;
                }
                match class[((from % side) * side + to % side) as usize] {
                    NO_CLASS => return None,
                    class => usize::from(class),
                }
            }
            ClassOf::Places(places) => places.cost_class(self.shape, from, to, level)?,
        };
        Some(&self.links[class][level as usize])
    }

    /// Returns the bandwidth of the fastest class that has pairs at `level`.
    pub fn greatest_bandwidth(&self, level: Level) -> Option<Bandwidth> {
        self.links_at(level).flat_map(Link::rows).map(|row| row.bandwidth).max()
    }

    /// Reduces the bandwidths of all classes at `level` to at most `most`.
    pub fn limit_bandwidth(&mut self, level: Level, most: Bandwidth) {
        self.links.iter_mut().for_each(|links| links[level as usize].limit_bandwidth(most));
    }

    /// Returns the classes with changed links at `level`.
    pub fn with_links(&self, level: Level, change: impl Fn(Link) -> Link) -> PairClasses {
        let mut changed = self.clone();
        for links in &mut changed.links {
            links[level as usize] = change(links[level as usize].clone());
        }
        changed
    }

    /// Returns the classes with half the latency that uplinks, or links and switches, add to messages between nodes.
    pub fn with_halved_hops(&self) -> PairClasses {
        let mut changed = self.clone();
        let ClassOf::Places(places) = &self.class_of else { return changed };
        for (class, links) in changed.links.iter_mut().enumerate().skip(places.domains.len()) {
            let less = SimSpan::from_ps(places.added_latency(class).as_ps() / 2);
            let link = &mut links[Level::InterNode as usize];
            *link = link.clone().with_latencies(|latency| latency.saturating_sub(less));
        }
        changed
    }

    /// Returns the classes for nodes with `ranks` ranks, see [`Link::at_ranks`].
    pub fn at_ranks(&self, ranks: u32) -> PairClasses {
        let links = self.links.iter().map(|links| links.clone().map(|link| link.at_ranks(ranks))).collect();
        PairClasses { links, ..self.clone() }
    }

    /// Returns the least latency of the classes that have pairs at `level`.
    pub fn least_latency(&self, level: Level) -> Option<SimSpan> {
        self.links_at(level).map(Link::least_latency).min()
    }

    /// Returns the links at `level` of the classes that have pairs at this level.
    fn links_at(&self, level: Level) -> impl Iterator<Item = &Link> {
        let of_classes = self.links.iter().zip(&self.levels);
        of_classes.filter(move |(_, has)| has[level as usize]).map(move |(links, _)| &links[level as usize])
    }
}
