//! Dragonflies: groups of switches with links between all pairs of groups.
//!
//! In a group, all switches are connected to each other. In a dragonfly+, each leaf switch is connected to each spine
//! switch. The numbers of two groups and `k` determine the switches of the link `k` between the groups. The links of a
//! group are spread evenly over its switches.

use std::collections::BTreeSet;

use crate::units::SimSpan;

use super::{LinkLayer, MOST_LINKS, Routes, mixed};

/// Layers of links.
const LOCAL: usize = 0;
const GLOBAL: usize = 1;

/// A dragonfly.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::platform) struct Dragonfly {
    groups: u32,
    switches: GroupSwitches,
    nodes_per_switch: u32,
    /// Links between two connected switches of a group.
    local: u32,
    /// Links between two groups.
    global: u32,
    routing: DragonflyRouting,
    seed: u64,
}

/// The switches of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::platform) enum GroupSwitches {
    /// All switches have nodes, and are connected to each other.
    AllToAll(u32),
    /// Leaf switches have nodes, and spine switches have links to other groups. Each leaf switch is connected to each
    /// spine switch.
    LeafSpine {
        /// Number of leaf switches.
        leaves: u32,
        /// Number of spine switches.
        spines: u32,
    },
}

/// Choice of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::platform) enum DragonflyRouting {
    /// Path over one of the links between the two groups.
    Minimal,
    /// Path over a third group, chosen pseudo-randomly for each pair of nodes of different groups.
    Valiant,
    /// The minimal path or the path over a third group, chosen for each transfer by the load of both.
    Adaptive,
}

impl GroupSwitches {
    /// Number of switches with nodes, and total number of switches.
    fn counts(self) -> [u32; 2] {
        match self {
            GroupSwitches::AllToAll(switches) => [switches; 2],
            GroupSwitches::LeafSpine { leaves, spines } => [leaves, leaves + spines],
        }
    }
}

impl Dragonfly {
    /// Creates a dragonfly. All numbers are at least 1. `None` if the network has too many links.
    pub fn new(
        groups: u32,
        switches: GroupSwitches,
        nodes_per_switch: u32,
        [local, global]: [u32; 2],
        (routing, seed): (DragonflyRouting, u64),
    ) -> Option<Dragonfly> {
        let product = |factors: &[u64]| {
            let all = factors.iter().try_fold(1_u64, |all, factor| all.checked_mul(*factor));
            all.filter(|all| *all < MOST_LINKS)
        };
        let of_group = match switches {
            GroupSwitches::AllToAll(switches) => product(&[switches.into(), u64::from(switches) - 1, local.into()])?,
            GroupSwitches::LeafSpine { leaves, spines } => product(&[leaves.into(), spines.into(), local.into(), 2])?,
        };
        let all =
            product(&[groups.into(), of_group])? + product(&[groups.into(), u64::from(groups) - 1, global.into()])?;
        let [with_nodes, of_group] = switches.counts();
        product(&[groups.into(), of_group.into(), nodes_per_switch.into()])?;
        let has_switches = with_nodes > 0 && all < MOST_LINKS;
        has_switches.then_some(Dragonfly { groups, switches, nodes_per_switch, local, global, routing, seed })
    }

    /// Returns group and number within the group of the switch of a node.
    fn place(&self, node: u32) -> [u32; 2] {
        let [with_nodes, _] = self.switches.counts();
        let switch = node / self.nodes_per_switch;
        [switch / with_nodes, switch % with_nodes]
    }

    fn local_end(&self) -> u32 {
        self.groups * self.local_of_group()
    }

    fn local_of_group(&self) -> u32 {
        match self.switches {
            GroupSwitches::AllToAll(switches) => switches * (switches - 1) * self.local,
            GroupSwitches::LeafSpine { leaves, spines } => leaves * spines * self.local * 2,
        }
    }

    /// Returns the switch of `group` at which the link `k` to or from `other` is attached.
    fn port(&self, group: u32, other: u32, k: u32) -> u32 {
        let other = other - u32::from(other > group);
        let (port, ports) = (u64::from(other * self.global + k), u64::from((self.groups - 1) * self.global));
        match self.switches {
            GroupSwitches::AllToAll(switches) => (port * u64::from(switches) / ports) as u32,
            GroupSwitches::LeafSpine { leaves, spines } => leaves + (port * u64::from(spines) / ports) as u32,
        }
    }

    fn global_link(&self, group: u32, other: u32, k: u32) -> u32 {
        let other = other - u32::from(other > group);
        self.local_end() + (group * (self.groups - 1) + other) * self.global + k
    }

    /// Passes the links between two switches of a group. `to` is the receiving node.
    fn within(&self, group: u32, [from, end]: [u32; 2], to: u32, step: &mut dyn FnMut(u32)) {
        if from == end {
            return;
        }
        let (first, which) = (group * self.local_of_group(), to % self.local);
        match self.switches {
            GroupSwitches::AllToAll(switches) => {
                let other = end - u32::from(end > from);
                step(first + (from * (switches - 1) + other) * self.local + which);
            }
            GroupSwitches::LeafSpine { leaves, spines } => {
                let link = |leaf: u32, spine: u32, down: u32| {
                    first + 2 * ((leaf * spines + spine - leaves) * self.local + which) + down
                };
                match (from < leaves, end < leaves) {
                    (true, false) => step(link(from, end, 0)),
                    (false, true) => step(link(end, from, 1)),
                    (true, true) => {
                        let spine = leaves + to / self.local % spines;
                        step(link(from, spine, 0));
                        step(link(end, spine, 1));
                    }
                    (false, false) => {
                        let leaf = to % leaves;
                        step(link(leaf, from, 1));
                        step(link(leaf, end, 0));
                    }
                }
            }
        }
    }

    /// Calls `step` for each link of a path, over a third group if `is_valiant` and if there is one.
    fn route(&self, from: u32, to: u32, is_valiant: bool, step: &mut dyn FnMut(u32)) {
        let ([group, mut at], [last, end]) = (self.place(from), self.place(to));
        let random = mixed(self.seed, [from.into(), to.into(), 0]);
        let over = match is_valiant {
            true if group != last && self.groups > 2 => {
                let [low, high] = [group.min(last), group.max(last)];
                let choice = ((random >> 32) % u64::from(self.groups - 2)) as u32;
                let choice = choice + u32::from(choice >= low);
                Some(choice + u32::from(choice >= high))
            }
            _ => None,
        };
        let mut here = group;
        for next in over.into_iter().chain([last]).filter(|next| *next != group) {
            let k = (random % u64::from(self.global)) as u32;
            self.within(here, [at, self.port(here, next, k)], to, step);
            step(self.global_link(here, next, k));
            (at, here) = (self.port(next, here, k), next);
        }
        self.within(here, [at, end], to, step);
    }
}

impl Routes for Dragonfly {
    fn nodes(&self) -> u32 {
        self.groups * self.switches.counts()[0] * self.nodes_per_switch
    }

    fn switches(&self) -> u32 {
        self.groups * self.switches.counts()[1]
    }

    fn switch(&self, node: u32) -> u32 {
        let [group, switch] = self.place(node);
        group * self.switches.counts()[1] + switch
    }

    fn row(&self, switch: u32) -> u32 {
        let [with_nodes, of_group] = self.switches.counts();
        u32::from(switch % of_group >= with_nodes)
    }

    fn switch_name(&self, switch: u32) -> String {
        let [with_nodes, of_group] = self.switches.counts();
        let (group, number) = (switch / of_group, switch % of_group);
        match self.switches {
            GroupSwitches::AllToAll(_) => format!("switch {number} of group {group}"),
            _ if number < with_nodes => format!("leaf {number} of group {group}"),
            _ => format!("spine {} of group {group}", number - with_nodes),
        }
    }

    fn link_end(&self) -> u32 {
        self.local_end() + self.groups * (self.groups - 1) * self.global
    }

    fn ends(&self, link: u32) -> Option<[u32; 2]> {
        if link >= self.link_end() {
            return None;
        }
        let of_group = self.switches.counts()[1];
        let Some(cable) = link.checked_sub(self.local_end()) else {
            let (group, within) = (link / self.local_of_group(), link % self.local_of_group());
            let ends = match self.switches {
                GroupSwitches::AllToAll(switches) => {
                    let pair = within / self.local;
                    let (from, other) = (pair / (switches - 1), pair % (switches - 1));
                    [from, other + u32::from(other >= from)]
                }
                GroupSwitches::LeafSpine { leaves, spines } => {
                    let pair = within / 2 / self.local;
                    let ends = [pair / spines, leaves + pair % spines];
                    if within.is_multiple_of(2) { ends } else { [ends[1], ends[0]] }
                }
            };
            return Some(ends.map(|end| group * of_group + end));
        };
        let (pair, k) = (cable / self.global, cable % self.global);
        let (group, other) = (pair / (self.groups - 1), pair % (self.groups - 1));
        let other = other + u32::from(other >= group);
        Some([group * of_group + self.port(group, other, k), other * of_group + self.port(other, group, k)])
    }

    fn layer(&self, link: u32) -> usize {
        if link < self.local_end() { LOCAL } else { GLOBAL }
    }

    fn near(&self, link: u32) -> u32 {
        let of_group = self.nodes() / self.groups;
        match link.checked_sub(self.local_end()) {
            None => {
                let within = u64::from(link % self.local_of_group()) * u64::from(of_group);
                link / self.local_of_group() * of_group + (within / u64::from(self.local_of_group())) as u32
            }
            Some(cable) => (u64::from(cable) * u64::from(of_group) / u64::from((self.groups - 1) * self.global)) as u32,
        }
    }

    fn path(&self, from: u32, to: u32, step: &mut dyn FnMut(u32)) {
        self.route(from, to, self.routing == DragonflyRouting::Valiant, step);
    }

    fn detour(&self, from: u32, to: u32, step: &mut dyn FnMut(u32)) {
        let has_choice =
            self.routing == DragonflyRouting::Adaptive && self.groups > 2 && self.place(from)[0] != self.place(to)[0];
        if has_choice {
            self.route(from, to, true, step);
        }
    }

    fn is_adaptive(&self) -> bool {
        self.routing == DragonflyRouting::Adaptive
    }

    fn latency(&self, from: u32, to: u32, of: &[LinkLayer]) -> SimSpan {
        let (mut sum, end) = (SimSpan::ZERO, self.local_end());
        self.path(from, to, &mut |link| sum += of[usize::from(link >= end)].latency);
        sum
    }

    fn latencies(&self, of: &[LinkLayer]) -> BTreeSet<SimSpan> {
        let [most_local, most_global] = match (self.routing, self.switches) {
            (DragonflyRouting::Minimal | DragonflyRouting::Adaptive, _) => [2, 1],
            (DragonflyRouting::Valiant, GroupSwitches::AllToAll(_)) => [3, 2],
            (DragonflyRouting::Valiant, GroupSwitches::LeafSpine { .. }) => [4, 2],
        };
        let counts = (0..=most_local).flat_map(|local| (0..=most_global).map(move |global| (local, global)));
        counts.map(|(local, global): (u64, u64)| of[LOCAL].latency * local + of[GLOBAL].latency * global).collect()
    }
}
