//! Fat trees of any number of levels, as parallel generalized fat trees: each switch has a number of children, of
//! parents, and of parallel links to each parent.
//!
//! A path leads up to the lowest switch above both nodes, then down.

use std::collections::BTreeSet;

use smallvec::SmallVec;

use crate::units::SimSpan;

use super::{LinkLayer, MOST_LINKS, Routes, mixed};

/// A fat tree.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::platform) struct FatTree {
    /// Levels from the leaf switches up.
    levels: Vec<TreeLevel>,
    routing: TreeRouting,
    seed: u64,
}

/// The switches of one level, and their links to the next level.
#[derive(Clone, Debug, PartialEq)]
struct TreeLevel {
    /// Number of nodes below a switch.
    nodes: u32,
    /// Number of switches with the same nodes below them.
    copies: u32,
    /// Number of parents of a switch; zero at the top.
    up: u32,
    /// Number of links to each parent; zero at the top.
    parallel: u32,
    first_switch: u32,
    first_link: u32,
}

/// Choice of the parent on the way up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::platform) enum TreeRouting {
    /// By the number of the receiving node (D-mod-k).
    Destination,
    /// By the number of the sending node (S-mod-k).
    Source,
    /// By a pseudo-random number for each pair of nodes and each level.
    Random,
}

impl FatTree {
    /// Creates a tree. `down` has the nodes per leaf switch, then the children per switch of each higher level. `up`
    /// has the parents per switch of each level but the highest, and `parallel` the links to each parent. All numbers
    /// are at least 1. Returns `None` if the tree has too many links.
    pub fn new(down: &[u32], up: &[u32], parallel: &[u32], routing: TreeRouting, seed: u64) -> Option<FatTree> {
        let all =
            down.iter().try_fold(1_u64, |all, of| all.checked_mul((*of).into()).filter(|all| *all < MOST_LINKS))?;
        let (mut nodes, mut copies, mut first_switch, mut first_link) = (1_u64, 1_u64, 0_u64, 0_u64);
        let mut levels = Vec::new();
        for (at, children) in down.iter().enumerate() {
            nodes *= u64::from(*children);
            let [up, parallel] = [up, parallel].map(|of| of.get(at).copied().unwrap_or(0));
            levels.push(TreeLevel {
                nodes: nodes as u32,
                copies: copies as u32,
                up,
                parallel,
                first_switch: first_switch as u32,
                first_link: first_link as u32,
            });
            let switches = all / nodes * copies;
            let links = [2, up.into(), parallel.into()].iter().try_fold(switches, |all, of| all.checked_mul(*of))?;
            (first_switch, first_link) = (first_switch + switches, first_link.checked_add(links)?);
            copies = copies.checked_mul(u64::from(up.max(1)))?;
            if first_switch >= MOST_LINKS || first_link >= MOST_LINKS || copies >= MOST_LINKS {
                return None;
            }
        }
        Some(FatTree { levels, routing, seed })
    }

    fn level_of_link(&self, link: u32) -> usize {
        self.levels.partition_point(|level| level.first_link <= link).saturating_sub(1).min(self.levels.len() - 1)
    }

    fn top_of(&self, from: u32, to: u32) -> usize {
        let common = self.levels.iter().position(|level| from / level.nodes == to / level.nodes);
        common.unwrap_or(self.levels.len() - 1)
    }

    /// Number of switches of a level.
    fn count(&self, level: &TreeLevel) -> u32 {
        self.nodes() / level.nodes * level.copies
    }
}

impl Routes for FatTree {
    fn nodes(&self) -> u32 {
        self.levels.last().map_or(0, |top| top.nodes)
    }

    fn switches(&self) -> u32 {
        self.levels.last().map_or(0, |top| top.first_switch + self.count(top))
    }

    fn switch(&self, node: u32) -> u32 {
        node / self.levels[0].nodes
    }

    fn row(&self, switch: u32) -> u32 {
        self.levels.partition_point(|level| level.first_switch <= switch) as u32 - 1
    }

    fn switch_name(&self, switch: u32) -> String {
        let level = self.levels.partition_point(|level| level.first_switch <= switch) - 1;
        let number = switch - self.levels[level].first_switch;
        if level == 0 { format!("leaf {number}") } else { format!("switch {number} of level {}", level + 1) }
    }

    fn link_end(&self) -> u32 {
        self.levels.last().map_or(0, |top| top.first_link)
    }

    fn ends(&self, link: u32) -> Option<[u32; 2]> {
        if link >= self.link_end() {
            return None;
        }
        let at = self.level_of_link(link);
        let (level, above) = (&self.levels[at], &self.levels[at + 1]);
        let cable = (link - level.first_link) / 2;
        let child = cable / (level.up * level.parallel);
        let parent = cable / level.parallel % level.up;
        let (group, copy) = (child / level.copies, child % level.copies);
        let upper = group / (above.nodes / level.nodes) * above.copies + copy + parent * level.copies;
        let ends = [level.first_switch + child, above.first_switch + upper];
        Some(if link.is_multiple_of(2) { ends } else { [ends[1], ends[0]] })
    }

    fn layer(&self, link: u32) -> usize {
        self.level_of_link(link)
    }

    fn near(&self, link: u32) -> u32 {
        let level = &self.levels[self.level_of_link(link)];
        let child = (link - level.first_link) / 2 / (level.up * level.parallel);
        // The copies of a switch are spread over the nodes below them.
        let (group, copy) = (child / level.copies, child % level.copies);
        group * level.nodes + (u64::from(copy) * u64::from(level.nodes) / u64::from(level.copies)) as u32
    }

    fn path(&self, from: u32, to: u32, step: &mut dyn FnMut(u32)) {
        let (top, mut copy) = (self.top_of(from, to), 0);
        let mut down = SmallVec::<[u32; 8]>::new();
        for (at, level) in self.levels[..top].iter().enumerate() {
            let ports = u64::from(level.up) * u64::from(level.parallel);
            let port = match self.routing {
                TreeRouting::Destination => u64::from(to / level.copies) % ports,
                TreeRouting::Source => u64::from(from / level.copies) % ports,
                TreeRouting::Random => mixed(self.seed, [from.into(), to.into(), at as u64]) % ports,
            } as u32;
            let (parent, which) = (port % level.up, port / level.up);
            let link = |node: u32| {
                let child = node / level.nodes * level.copies + copy;
                level.first_link + 2 * ((child * level.up + parent) * level.parallel + which)
            };
            step(link(from));
            down.push(link(to) + 1);
            copy += parent * level.copies;
        }
        down.into_iter().rev().for_each(step);
    }

    fn latency(&self, from: u32, to: u32, of: &[LinkLayer]) -> SimSpan {
        of[..self.top_of(from, to)].iter().map(|layer| layer.latency).sum::<SimSpan>() * 2
    }

    fn latencies(&self, of: &[LinkLayer]) -> BTreeSet<SimSpan> {
        (0..self.levels.len()).map(|top| of[..top].iter().map(|layer| layer.latency).sum::<SimSpan>() * 2).collect()
    }
}
