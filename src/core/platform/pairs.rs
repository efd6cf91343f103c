//! Costs by class of a pair of cores, for machines that fit no shape.
//!
//! A class replaces latency and bandwidth of a message by size; all else (overheads, thresholds, contention) stays that
//! of the pair's level.

use crate::units::{Bandwidth, Bytes, SimSpan};

use super::{Level, Link, Row, Shape, Site};

/// The class of a pair whose costs are its level's.
pub const NO_CLASS: u16 = u16::MAX;

/// Which pairs of cores are alike, and what their messages cost.
#[derive(Clone, Debug, PartialEq)]
pub struct PairClasses {
    /// The shape of the machine whose cores are meant.
    shape: Shape,
    /// The class of (from, to), row after row.
    class: Vec<u16>,
    /// For each class its link at each level.
    links: Vec<[Link; 3]>,
}

impl PairClasses {
    /// Classes of all pairs of the cores of `shape`, row after row, with each one's link at each level.
    ///
    /// # Panics
    /// If there are not as many entries as pairs, or an entry has no link.
    pub fn new(shape: Shape, class: Vec<u16>, links: Vec<[Link; 3]>) -> PairClasses {
        let cores = shape.total_cores() as usize;
        assert_eq!(class.len(), cores * cores, "a class for each pair");
        assert!(class.iter().all(|class| *class == NO_CLASS || usize::from(*class) < links.len()), "a link a class");
        PairClasses { shape, class, links }
    }

    /// How many classes there are.
    pub fn count(&self) -> usize {
        self.links.len()
    }

    /// The number of a core.
    pub fn core(&self, site: Site) -> u32 {
        let Shape { cmps, cores, .. } = self.shape;
        (site.node * cmps + site.cmp) * cores + site.core
    }

    /// The row of a message of `size` from core to core, by their numbers; `None` where their level's holds.
    #[inline]
    pub fn row(&self, from: u32, to: u32, level: Level, size: Bytes) -> Option<&Row> {
        let side = self.shape.total_cores() as usize;
        match self.class[from as usize * side + to as usize] {
            NO_CLASS => None,
            class => Some(self.links[usize::from(class)][level as usize].row(size)),
        }
    }

    /// The bandwidth of the fastest class at `level`.
    pub fn greatest_bandwidth(&self, level: Level) -> Option<Bandwidth> {
        let rows = self.links.iter().flat_map(|links| links[level as usize].rows());
        rows.map(|row| row.bandwidth).max()
    }

    /// The least latency of any class' messages at `level`, if there are classes.
    pub fn least_latency(&self, level: Level) -> Option<SimSpan> {
        self.links.iter().map(|links| links[level as usize].least_latency()).min()
    }
}
