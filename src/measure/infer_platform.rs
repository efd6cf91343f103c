//! Inference of a platform from matrices of pair times. The structure of the matrices yields nodes, CMPs (sockets) and
//! network levels; the times of the pairs yield the costs.

use std::fmt::Write;

use mcpsim_core::config::Document;
use mcpsim_core::platform::{Level, Platform, Shape, Site};

use super::effects::MeasuredEffects;
use super::fit::{Floor, pieces};
use super::link::{LinkFit, RowFit};
use super::node_groups::{MeasuredGroups, node_list};
use super::occupancy::MeasuredOccupancy;
use super::structure::{PairKind, Structure, structure};
use super::text::{comment, link, taken};
use mcpsim_matrices::{Matrices, MatrixError, PairTest};

/// Machine inferred from time matrices.
#[derive(Clone, Debug)]
pub struct Guess {
    /// Groups of ranks with short message times within a group.
    pub structure: Structure,
    /// Nodes, CMPs per node and cores per CMP of the inferred machine.
    pub shape: Shape,
    /// Core of each rank.
    pub sites: Vec<Site>,
    /// Half round trips for each network level that has pairs of ranks: message sizes and seconds.
    pub times: Vec<(Level, Vec<(u64, f64)>)>,
    /// Groups of nodes within which messages are faster, smallest groups first.
    pub groups: Vec<MeasuredGroups>,
    /// Notes on uncertainties of the inference, one line each.
    pub notes: Vec<String>,
}

/// Names of the files that a platform file refers to.
#[derive(Clone, Debug, Default)]
pub struct ReferredFiles {
    /// Classes of pairs, instead of groups of nodes.
    pub pairs: Option<String>,
    /// Group of each node.
    pub nodes: Option<String>,
}

/// Greatest number of switches, and greatest number of slow pairs, that the notes list.
const NAMED: usize = 16;

impl Guess {
    /// Infers the machine from time matrices. `hosts` contains the host name of each rank, or is empty. Kinds of rank
    /// pairs whose times differ by less than `precision` are merged.
    ///
    /// # Errors
    /// The function rejects an unreadable matrix, a single rank, times that are not above zero, and a test that does
    /// not measure the time of a message.
    pub fn of(matrices: &mut Matrices, hosts: &[String], precision: f64) -> Result<Guess, MatrixError> {
        let of = matrices.parameters;
        let ranks = of.ranks as usize;
        if ranks < 2 {
            return Err(MatrixError::new("a platform: expected two ranks or more; found 1"));
        }
        if !matches!(of.test, PairTest::OneToOne | PairTest::AsyncOneToOne | PairTest::SendRecvAndRecvSend) {
            let what = "a platform: expected one_to_one, async_one_to_one or send_recv_and_recv_send";
            return Err(MatrixError::new(format!("{what}; found {}", of.test.name())));
        }
        // The geometric mean gives all message lengths equal weight.
        let mut logarithms = vec![0.0; ranks * ranks];
        for number in 0..of.count() {
            for (place, (sum, value)) in logarithms.iter_mut().zip(matrices.matrix(number)?).enumerate() {
                let (x, y) = (place / ranks, place % ranks);
                if x != y && value <= 0.0 {
                    let length = of.length(number);
                    return Err(MatrixError::new(format!(
                        "({x}, {y}) of {length} B: expected a time above 0; found {value}"
                    )));
                }
                *sum += if x == y { 0.0 } else { value.ln() };
            }
        }
        let distances: Vec<f64> = logarithms.iter().map(|sum| (sum / of.count() as f64).exp()).collect();
        let structure = structure(&distances, of.ranks, precision);
        let mut guess = Guess {
            structure,
            shape: Shape { nodes: 1, cmps: 1, cores: 1 },
            sites: Vec::new(),
            times: Vec::new(),
            groups: Vec::new(),
            notes: Vec::new(),
        };
        guess.place(of.ranks, hosts);
        guess.read_times(matrices)?;
        Ok(guess)
    }

    /// Determines which groups of ranks are nodes and which are CMPs, and the core of each rank.
    fn place(&mut self, ranks: u32, hosts: &[String]) {
        let kinds = &self.structure.kinds;
        let by_host = groups_of(hosts, ranks);
        let within = match &by_host {
            Some(nodes) => kinds.iter().position(|kind| kind.groups == *nodes).map(|kind| kind + 1),
            None => None,
        };
        let alone = by_host.as_ref().is_some_and(|nodes| nodes.len() == ranks as usize);
        let one = by_host.as_ref().is_some_and(|nodes| nodes.len() == 1);
        // Number of kinds of rank pairs within a node.
        let within = match (within, alone, one) {
            (Some(within), ..) => within,
            (_, true, _) => 0,
            (_, _, true) => kinds.len(),
            _ => {
                if by_host.is_some() {
                    self.notes.push(
                        "host names are not used, because ranks with the same host name are no group by message times"
                            .to_owned(),
                    );
                } else {
                    self.notes.push(
                        "INFERRED without host names: the nearest ranks share a node, or a CMP if there \
                                     are three or more kinds of pairs"
                            .to_owned(),
                    );
                }
                match kinds.len() {
                    1 => 0,
                    2 => 1,
                    _ => 2,
                }
            }
        };
        let single: Vec<Vec<u32>> = (0..ranks).map(|rank| vec![rank]).collect();
        let groups = |kinds_within: usize| if kinds_within == 0 { &single } else { &kinds[kinds_within - 1].groups };
        let nodes = groups(within);
        // If all pairs of ranks within a node are of one kind, all ranks of the node are on one CMP.
        let cmps = groups(within.min(1));
        if within > 2 {
            self.notes.push(format!(
                "{within} kinds of pairs within a node, but a platform has two levels there: the slower kinds are \
                 inter_cmp"
            ));
        }
        if kinds.len() > within + 1 {
            let far = kinds.len() - within;
            self.notes.push(format!(
                "{far} kinds of pairs between nodes: inter_node has the slowest, places have the others; switches:"
            ));
            let switches: Vec<String> = kinds[within..].iter().flat_map(|kind| switches(kind, nodes)).collect();
            self.notes.extend(switches.iter().take(NAMED).cloned());
            let near = kinds[within..kinds.len() - 1].iter().enumerate();
            self.groups = near.map(|(number, kind)| MeasuredGroups::new(number, &kind.groups, nodes)).collect();
            if switches.len() > NAMED {
                self.notes.push(format!("  and {} more", switches.len() - NAMED));
            }
        }
        let mut sites = vec![Site { node: 0, cmp: 0, core: 0 }; ranks as usize];
        let mut shape = Shape { nodes: nodes.len() as u32, cmps: 1, cores: 1 };
        let mut sizes: Vec<(usize, usize)> = Vec::new();
        for (number, node) in (0..).zip(nodes) {
            let inside: Vec<&Vec<u32>> = cmps.iter().filter(|cmp| node.contains(&cmp[0])).collect();
            for (cmp, members) in (0..).zip(&inside) {
                for (core, rank) in (0..).zip(members.iter()) {
                    sites[*rank as usize] = Site { node: number, cmp, core };
                }
                shape.cores = shape.cores.max(members.len() as u32);
                sizes.push((inside.len(), members.len()));
            }
            shape.cmps = shape.cmps.max(inside.len() as u32);
        }
        if sizes.iter().any(|(cmps, cores)| (*cmps as u32, *cores as u32) != (shape.cmps, shape.cores)) {
            self.notes.push(
                "nodes or CMPs have different numbers of ranks: the platform gives all of them the \
                             greatest number"
                    .to_owned(),
            );
        }
        if self.structure.unexplained > 0 {
            let all = ranks as usize * (ranks as usize - 1);
            let (x, y, ratio) = self.structure.furthest.unwrap_or((0, 0, 1.0));
            self.notes.push(format!(
                "NOT EXPLAINED: {} of {all} pairs differ from the median of their kind by more than --precision; \
                 most of all ranks {x} and {y}, by a factor of {ratio:.2}",
                self.structure.unexplained
            ));
        }
        (self.shape, self.sites) = (shape, sites);
    }

    /// Returns the network level of the ranks `x` and `y`.
    fn level(&self, x: usize, y: usize) -> Level {
        let (one, other) = (self.sites[x], self.sites[y]);
        match (one.node == other.node, one.cmp == other.cmp) {
            (true, true) => Level::IntraCmp,
            (true, false) => Level::InterCmp,
            _ => Level::InterNode,
        }
    }

    /// Reads the median times of each network level's rank pairs and converts them to half round trips.
    fn read_times(&mut self, matrices: &mut Matrices) -> Result<(), MatrixError> {
        let of = matrices.parameters;
        let ranks = of.ranks as usize;
        let mut found: [Vec<(u64, f64)>; 3] = Default::default();
        // The first kind of pairs of ranks of different nodes.
        let first = self.structure.kinds.len() - 1 - self.groups.len();
        for number in 0..of.count() {
            let matrix = matrices.matrix(number)?;
            let mut by_level: [Vec<f64>; 3] = Default::default();
            let mut by_group = vec![Vec::new(); self.groups.len()];
            for (place, value) in matrix.into_iter().enumerate() {
                let (x, y) = (place / ranks, place % ranks);
                if x == y {
                    continue;
                }
                let level = self.level(x, y);
                let kind = (self.structure.kind_of[place] as usize).saturating_sub(first);
                match by_group.get_mut(kind).filter(|_| level == Level::InterNode) {
                    Some(of_group) => of_group.push(value),
                    None => by_level[level as usize].push(value),
                }
            }
            let of_groups = self.groups.iter_mut().map(|groups| &mut groups.times).zip(by_group);
            let all = found.iter_mut().zip(by_level).chain(of_groups);
            for (times, mut values) in all.filter(|(_, values)| !values.is_empty()) {
                let middle = values.len() / 2;
                times.push((of.length(number), *values.select_nth_unstable_by(middle, f64::total_cmp).1));
            }
        }
        for (level, mut times) in Level::ALL.into_iter().zip(found).filter(|(_, times)| !times.is_empty()) {
            one_way(of.test, &mut times);
            self.times.push((level, times));
        }
        self.groups.retain(|groups| !groups.times.is_empty());
        self.groups.iter_mut().for_each(|groups| one_way(of.test, &mut groups.times));
        Ok(())
    }

    /// Returns true if each rank r is on core r (block placement).
    pub fn is_in_blocks(&self) -> bool {
        (0u64..).zip(&self.sites).all(|(rank, site)| self.shape.site(rank) == *site)
    }

    /// Returns the core of each rank, one per line, in the format of a placement file.
    pub fn placement(&self) -> String {
        self.sites.iter().map(|site| format!("{} {} {}\n", site.node, site.cmp, site.core)).collect()
    }

    /// Returns the text of the file that assigns nodes to groups, if the platform file needs such a file.
    pub fn node_list(&self) -> Option<String> {
        node_list(&self.groups)
    }

    /// Returns the text of the platform file, which refers to `files`; `made` describes the origin of the platform.
    pub fn text(&self, name: &str, made: &str, files: &ReferredFiles) -> String {
        let mut text = String::new();
        comment(&mut text, made);
        comment(
            &mut text,
            "latency, bandwidth: medians of all pairs of a level. They include overheads, thresholds and loads, \
             which times of pairs do not separate.",
        );
        comment(&mut text, "handshake: ASSUMED, the latency of the smallest messages: pairs have no control messages.");
        self.notes.iter().for_each(|note| comment(&mut text, note));
        let name = toml::Value::String(name.to_owned());
        let Shape { nodes, cmps, cores } = self.shape;
        let _ = write!(text, "\nname = {name}\nnct = [{nodes}, {cmps}, {cores}]\n");
        if let Some(file) = &files.pairs {
            text.push('\n');
            comment(&mut text, "Message times by class of pair; the levels below give the other parameters.");
            let _ = writeln!(text, "[pairs]\nfile = {}", toml::Value::from(file.as_str()));
        }
        let base: Document = Platform::default_document();
        for key in ["core", "cmp", "node"] {
            taken(
                &mut text,
                &base,
                key,
                &[&format!(
                    "ASSUMED, because times of pairs do not show this value: the \
                                                     value of {}.",
                    base.name()
                )],
            );
        }
        for level in Level::ALL {
            let own = self.times.iter().find(|(of, _)| *of == level);
            text.push('\n');
            match own.or(self.times.first()) {
                Some((_, times)) => {
                    if own.is_none() {
                        comment(
                            &mut text,
                            "No two ranks use this level. Values are those of another level, so that the file is \
                             complete.",
                        );
                    }
                    link(&mut text, &fitted(level, times));
                }
                None => unreachable!("two ranks have a level"),
            }
        }
        // Classes of pairs have the costs of places, too.
        if files.pairs.is_none() {
            let list = files.nodes.as_deref().unwrap_or_default();
            self.groups.iter().for_each(|groups| groups.write(&mut text, list));
        }
        text
    }
}

/// Converts the times that a pair test measures to half round trips: message sizes and seconds.
pub(super) fn one_way(test: PairTest, times: &mut [(u64, f64)]) {
    match test {
        PairTest::SendRecvAndRecvSend => times.iter_mut().for_each(|(_, seconds)| *seconds /= 2.0),
        // The model assumes that the confirmation of the previous message takes as long as an empty message.
        PairTest::OneToOne => {
            let first = pieces(times, &[], Floor::default()).first().map_or(0.0, |piece| piece.start);
            let empty = (first / 2.0).min(times[0].1 * 0.9);
            times.iter_mut().for_each(|(_, seconds)| *seconds -= empty);
        }
        _ => {}
    }
}

/// Returns the groups of ranks with the same host name; `None` if the host name of any rank is missing.
fn groups_of(hosts: &[String], ranks: u32) -> Option<Vec<Vec<u32>>> {
    if hosts.len() != ranks as usize {
        return None;
    }
    let mut groups: Vec<(&str, Vec<u32>)> = Vec::new();
    for (rank, host) in (0..).zip(hosts) {
        match groups.iter_mut().find(|(name, _)| *name == host.as_str()) {
            Some((_, ranks)) => ranks.push(rank),
            None => groups.push((host, vec![rank])),
        }
    }
    Some(groups.into_iter().map(|(_, ranks)| ranks).collect())
}

/// Returns the groups of nodes that a kind of rank pairs connects, one line per group.
fn switches(kind: &PairKind, nodes: &[Vec<u32>]) -> Vec<String> {
    let of = |group: &Vec<u32>| {
        let inside = nodes.iter().enumerate().filter(|(_, node)| group.contains(&node[0]));
        let inside: Vec<String> = inside.map(|(number, _)| number.to_string()).collect();
        (inside.len() > 1).then(|| {
            let some = if inside.len() > NAMED { "..." } else { "" };
            let named = inside.iter().take(NAMED).cloned().collect::<Vec<_>>().join(" ");
            format!("  nodes {named}{some}: {:.3} us on average over message lengths", kind.median * 1e6)
        })
    };
    kind.groups.iter().filter_map(of).collect()
}

/// Fits the costs of a network level by pieces of straight lines.
pub(super) fn fitted(level: Level, times: &[(u64, f64)]) -> LinkFit {
    let least = Floor { start: 0.5 * times[0].1.min(times[times.len() - 1].1), per_byte: 0.0 };
    let found = pieces(times, &[], least);
    let row = |piece: &super::fit::FitPiece| RowFit {
        up_to: piece.up_to,
        columns: vec![(piece.start, piece.per_byte)],
        send_overhead: 0.0,
        recv_overhead: 0.0,
        gap: 0.0,
        flat: piece.flat,
        copy: None,
        by_ranks: Vec::new(),
    };
    let at = |bytes: u64| found.iter().find(|piece| piece.up_to.is_none_or(|end| bytes <= end));
    let off = |&(bytes, seconds): &(u64, f64)| Some((bytes, at(bytes)?.at(bytes) / seconds - 1.0));
    LinkFit {
        level,
        eager: None,
        handshake: found[0].start,
        loads: vec![1],
        ranks: Vec::new(),
        rows: found.iter().map(row).collect(),
        errors: times.iter().filter_map(off).collect(),
        occupancy: Some(MeasuredOccupancy::default()),
        effects: MeasuredEffects::default(),
    }
}
