//! Location of ranks: the cores of each host, and the ranks that share a CMP or a node.

use serde::{Deserialize, Serialize};

use mcpsim_core::platform::{Level, Shape, Site};

use super::campaign::LevelPlan;
use super::protocol::RankPair;

/// A CPU of the operating system, which is a core or a hardware thread of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// Identifier of the CPU in the operating system.
    pub cpu: u32,
    /// Identifier of the CMP (package).
    pub package: u32,
    /// Identifier of the core within the CMP.
    pub core: u32,
}

/// Properties of the host on which a rank runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Name of the rank's node: the host name, or a name that the user states.
    pub node: String,
    /// Identity of the physical machine. The identity distinguishes machines with equal host names, and identifies a
    /// machine with several names.
    pub machine: String,
    /// All CPUs of the host; empty if the CPUs are unknown.
    pub cpus: Vec<Cpu>,
    /// CPUs on which the rank may run.
    pub allowed: Vec<u32>,
}

/// Binding of a rank to its core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Binding {
    /// The launcher has bound the rank to a core.
    Launcher,
    /// The rank must bind itself to the stated CPU.
    To(u32),
    /// No core is available for the rank alone.
    None,
}

impl HostFacts {
    /// Returns the package (CMP) and the core of a CPU.
    fn core(&self, cpu: u32) -> Option<(u32, u32)> {
        self.cpus.iter().find(|of| of.cpu == cpu).map(|of| (of.package, of.core))
    }

    /// Returns the core on which the rank may run, or `None` if the rank may run on several cores.
    fn bound_core(&self) -> Option<(u32, u32)> {
        let mut cores: Vec<Option<(u32, u32)>> = self.allowed.iter().map(|cpu| self.core(*cpu)).collect();
        cores.dedup();
        if cores.len() == 1 { cores[0] } else { None }
    }

    /// Returns the key that identifies the node of the host.
    fn node_key(&self) -> (&str, &str) {
        (&self.node, &self.machine)
    }
}

/// Parses a CPU list such as "0-3,8" from Linux' `/sys`. Returns `None` if the text has another form.
pub fn cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut found = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        // No system has more CPUs than 65,536, so a longer range is shortened.
        found.extend(first..=last.min(first.saturating_add(1 << 16)));
    }
    Some(found)
}

/// Assigns a core to each rank. Ranks that the launcher has bound to separate cores stay on their cores; every other
/// rank gets a free core on which the operating system permits it to run.
pub fn bind(seen: &[HostFacts]) -> Vec<Binding> {
    let mut taken: Vec<(&str, (u32, u32))> = Vec::new();
    let mut bindings = vec![Binding::None; seen.len()];
    for (rank, of) in seen.iter().enumerate() {
        if let Some(core) = of.bound_core().filter(|core| !taken.contains(&(&of.machine, *core))) {
            taken.push((&of.machine, core));
            bindings[rank] = Binding::Launcher;
        }
    }
    for (rank, of) in seen.iter().enumerate().filter(|(rank, _)| bindings[*rank] == Binding::None).collect::<Vec<_>>() {
        let free = of.allowed.iter().find_map(|cpu| {
            let core = of.core(*cpu)?;
            (!taken.contains(&(&of.machine, core))).then_some((*cpu, core))
        });
        if let Some((cpu, core)) = free {
            taken.push((&of.machine, core));
            bindings[rank] = Binding::To(cpu);
        }
    }
    bindings
}

/// Node, CMP and CPU of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPlace {
    /// Node of the rank, identified by the lowest rank on the node.
    pub node: u32,
    /// CMP (package) of the rank within the node.
    pub package: u32,
    /// Identifier of the CPU in the operating system, if the rank may run only on this CPU.
    pub cpu: Option<u32>,
}

impl HostPlace {
    /// Returns true if the two ranks are on one CMP.
    pub fn is_near(&self, other: &HostPlace) -> bool {
        (self.node, self.package) == (other.node, other.package)
    }

    /// Returns true if the two ranks are bound to one CPU, so that only one of the ranks runs at a time.
    pub fn shares_cpu(&self, other: &HostPlace) -> bool {
        self.cpu.is_some() && self == other
    }
}

/// Returns the places of ranks (node, CMP, CPU) from their hosts and bindings. An unbound rank is placed on the first
/// CMP on which it may run.
pub fn places(seen: &[HostFacts], bindings: &[Binding]) -> Vec<HostPlace> {
    let place = |(of, binding): (&HostFacts, &Binding)| {
        let node = seen.iter().position(|other| other.node_key() == of.node_key()).unwrap_or(0) as u32;
        let allowed = match binding {
            Binding::To(cpu) => std::slice::from_ref(cpu),
            Binding::Launcher | Binding::None => &of.allowed,
        };
        let package = allowed.first().and_then(|cpu| of.core(*cpu)).map_or(0, |(package, _)| package);
        HostPlace { node, package, cpu: allowed.first().copied().filter(|_| allowed.len() == 1) }
    };
    seen.iter().zip(bindings).map(place).collect()
}

/// Returns, for each network level that has pairs of ranks, as many disjoint pairs as possible that share one CMP, one
/// node, or two nodes.
pub fn levels(places: &[HostPlace]) -> Vec<LevelPlan> {
    levels_of(places, |_| true)
}

/// Returns [`levels`] for ranks of which `own` marks the ranks that do not share their core. A network level without a
/// pair of marked ranks gets one pair of other ranks; shared cores would limit several pairs.
pub fn levels_on_own_cores(places: &[HostPlace], own: &[bool]) -> Vec<LevelPlan> {
    let on_cores = levels_of(places, |rank| own[rank as usize]);
    let plan = |any: LevelPlan| {
        let of_level = on_cores.iter().find(|plan| plan.level == any.level).cloned();
        of_level.unwrap_or_else(|| LevelPlan { pairs: any.pairs[..1].to_vec(), level: any.level })
    };
    levels(places).into_iter().map(plan).collect()
}

fn levels_of(places: &[HostPlace], counts: impl Fn(u32) -> bool) -> Vec<LevelPlan> {
    let counted = || (0..).zip(places).filter(|(rank, _)| counts(*rank));
    // Ranks on every CMP of every node.
    let mut cmps: Vec<(HostPlace, Vec<u32>)> = Vec::new();
    for (rank, place) in counted() {
        match cmps.iter_mut().find(|(of, _)| of.is_near(place)) {
            Some((_, ranks)) => ranks.push(rank),
            None => cmps.push((*place, vec![rank])),
        }
    }
    let mut nodes: Vec<(u32, Vec<u32>)> = Vec::new();
    for (rank, place) in counted() {
        match nodes.iter_mut().find(|(of, _)| *of == place.node) {
            Some((_, ranks)) => ranks.push(rank),
            None => nodes.push((place.node, vec![rank])),
        }
    }
    let zipped = |one: &[u32], other: &[u32]| -> Vec<RankPair> {
        one.iter().zip(other).map(|(first, second)| RankPair { first: *first, second: *second }).collect()
    };
    let intra = cmps.iter().map(|(_, ranks)| {
        ranks.as_chunks::<2>().0.iter().map(|pair| RankPair { first: pair[0], second: pair[1] }).collect()
    });
    let between = |same_node: fn(&HostPlace, &HostPlace) -> bool| {
        let mut found: Vec<Vec<RankPair>> = Vec::new();
        for (index, (place, ranks)) in cmps.iter().enumerate() {
            for (other, others) in &cmps[index + 1..] {
                if same_node(place, other) {
                    found.push(zipped(ranks, others));
                }
            }
        }
        found
    };
    let inter = between(|one, other| one.node == other.node);
    let mut apart: Vec<Vec<RankPair>> = Vec::new();
    for (index, (_, ranks)) in nodes.iter().enumerate() {
        apart.extend(nodes[index + 1..].iter().map(|(_, others)| zipped(ranks, others)));
    }
    // Among equal CMPs or nodes the first is used, so rank 0 measures if possible.
    let most =
        |found: Vec<Vec<RankPair>>| found.into_iter().rev().max_by_key(Vec::len).filter(|pairs| !pairs.is_empty());
    let all =
        [(Level::IntraCmp, most(intra.collect())), (Level::InterCmp, most(inter)), (Level::InterNode, most(apart))];
    all.into_iter().filter_map(|(level, pairs)| Some(LevelPlan { level, pairs: pairs? })).collect()
}

/// Returns the machine shape: the number of nodes that have ranks, and the CMPs and cores of the first node. If one
/// machine has the names of several nodes, each node counts only the cores that its ranks use.
pub fn shape(seen: &[HostFacts], places: &[HostPlace]) -> Shape {
    let mut nodes: Vec<u32> = places.iter().map(|place| place.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let of_first = |count: &dyn Fn(u32) -> u32, packages: &[u32]| packages.iter().map(|package| count(*package)).max();
    let mut machines: Vec<&str> = nodes.iter().map(|node| seen[*node as usize].machine.as_str()).collect();
    machines.sort_unstable();
    machines.dedup();
    let first = &seen[0];
    let (packages, cores) = if machines.len() == nodes.len() && !first.cpus.is_empty() {
        let mut cores: Vec<(u32, u32)> = first.cpus.iter().map(|of| (of.package, of.core)).collect();
        cores.sort_unstable();
        cores.dedup();
        let mut packages: Vec<u32> = cores.iter().map(|(package, _)| *package).collect();
        packages.dedup();
        let count = |package: u32| cores.iter().filter(|(of, _)| *of == package).count() as u32;
        (packages.len() as u32, of_first(&count, &packages))
    } else {
        let mut packages: Vec<u32> = places.iter().map(|place| place.package).collect();
        packages.sort_unstable();
        packages.dedup();
        let cores = cores(places);
        let count = |package: u32| {
            let on = |node: u32| {
                let there = places.iter().zip(&cores).filter(|(of, _)| of.node == node && of.package == package);
                there.map(|(_, core)| core + 1).max().unwrap_or(0)
            };
            nodes.iter().map(|node| on(*node)).max().unwrap_or(1)
        };
        (packages.len() as u32, of_first(&count, &packages))
    };
    Shape { nodes: nodes.len() as u32, cmps: packages.max(1), cores: cores.unwrap_or(1).max(1) }
}

/// Returns the index of each rank's core within its CMP, in the order of ranks. Ranks bound to one CPU share a core;
/// each other rank has its own core.
fn cores(places: &[HostPlace]) -> Vec<u32> {
    let mut found: Vec<u32> = Vec::new();
    for (rank, place) in places.iter().enumerate() {
        let shared = places[..rank].iter().position(|before| before.shares_cpu(place));
        let next = || (0..rank).filter(|before| places[*before].is_near(place)).map(|before| found[before] + 1).max();
        found.push(shared.map_or_else(|| next().unwrap_or(0), |before| found[before]));
    }
    found
}

/// Returns the cores of the ranks on a machine of shape `shape`, with cores in the order of ranks. Returns `None` if
/// the shape is too small.
pub fn sites(places: &[HostPlace], shape: Shape) -> Option<Vec<Site>> {
    let number = |values: &mut Vec<u32>, value: u32| {
        values.iter().position(|other| *other == value).unwrap_or_else(|| {
            values.push(value);
            values.len() - 1
        }) as u32
    };
    let (mut nodes, mut packages) = (Vec::new(), Vec::new());
    let mut found: Vec<Site> = Vec::new();
    for (place, core) in places.iter().zip(cores(places)) {
        let (node, cmp) = (number(&mut nodes, place.node), number(&mut packages, place.package));
        found.push(Site { node, cmp, core });
    }
    found
        .iter()
        .all(|site| site.node < shape.nodes && site.cmp < shape.cmps && site.core < shape.cores)
        .then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a host of two CMPs with two cores per CMP and two threads per core. The CPU numbers of a core's threads
    /// differ by 4.
    fn host(node: &str, machine: &str, allowed: &[u32]) -> HostFacts {
        let cpus = (0..8).map(|cpu| Cpu { cpu, package: cpu / 2 % 2, core: cpu % 2 }).collect();
        HostFacts { node: node.into(), machine: machine.into(), cpus, allowed: allowed.to_vec() }
    }

    fn pairs(pairs: &[(u32, u32)]) -> Vec<RankPair> {
        pairs.iter().map(|&(first, second)| RankPair { first, second }).collect()
    }

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(cpu_list("0-2,5\n"), Some(vec![0, 1, 2, 5]));
        assert_eq!((cpu_list(""), cpu_list("a-3"), cpu_list("1-")), (Some(vec![]), None, None));
    }

    #[test]
    fn ranks_keep_the_cores_they_are_bound_to_and_others_get_free_ones() {
        let seen = [host("a", "a", &[0, 1]), host("a", "a", &[0, 4]), host("a", "a", &[4])];
        // The second rank is bound to the core of CPUs 0 and 4, so the third rank could only share this core.
        assert_eq!(bind(&seen), [Binding::To(1), Binding::Launcher, Binding::None]);
        let all = [0, 1, 2, 3, 4, 5, 6, 7];
        let seen = [host("a", "m", &all), host("b", "m", &all), host("c", "n", &all)];
        // Ranks of two node names on one machine do not share the machine's cores.
        assert_eq!(bind(&seen), [Binding::To(0), Binding::To(1), Binding::To(0)]);
    }

    #[test]
    fn pairs_are_found_at_each_level() {
        let seen: Vec<HostFacts> = [("a", 0), ("a", 1), ("a", 2), ("a", 3), ("b", 0), ("b", 2)]
            .map(|(node, cpu)| host(node, node, &[cpu]))
            .into();
        let places = places(&seen, &bind(&seen));
        let found = levels(&places);
        let expected = [
            (Level::IntraCmp, pairs(&[(0, 1)])),
            (Level::InterCmp, pairs(&[(0, 2), (1, 3)])),
            (Level::InterNode, pairs(&[(0, 4), (1, 5)])),
        ];
        assert_eq!(found.iter().map(|plan| (plan.level, plan.pairs.clone())).collect::<Vec<_>>(), expected);
        let shape = shape(&seen, &places);
        assert_eq!(shape, Shape { nodes: 2, cmps: 2, cores: 2 });
        let sites = sites(&places, shape).unwrap();
        assert_eq!((sites[3], sites[4]), (Site { node: 0, cmp: 1, core: 1 }, Site { node: 1, cmp: 0, core: 0 }));
        assert_eq!(super::sites(&places, Shape { cores: 1, ..shape }), None);
    }

    #[test]
    fn pairs_of_ranks_without_cores_of_their_own_measure_nothing_together() {
        let seen: Vec<HostFacts> =
            (0..8).map(|rank: u32| host(["a", "b"][rank as usize / 4], "m", &[rank % 4 / 2])).collect();
        let places = places(&seen, &bind(&seen));
        let found = |own: &[bool]| -> Vec<(Level, Vec<RankPair>)> {
            levels_on_own_cores(&places, own).into_iter().map(|plan| (plan.level, plan.pairs)).collect()
        };
        let all = levels(&places).into_iter().map(|plan| (plan.level, plan.pairs)).collect::<Vec<_>>();
        assert_eq!(found(&[true; 8]), all);
        // Every second rank shares the core of the previous rank.
        let own = [true, false, true, false, true, false, true, false];
        let expected = [(Level::IntraCmp, pairs(&[(0, 2)])), (Level::InterNode, pairs(&[(0, 4), (2, 6)]))];
        assert_eq!(found(&own), expected);
        let one = [true, false, false, false, true, false, false, false];
        assert_eq!(found(&one), [(Level::IntraCmp, pairs(&[(0, 1)])), (Level::InterNode, pairs(&[(0, 4)]))]);
    }

    #[test]
    fn one_machine_taken_for_two_nodes_has_the_cores_that_ranks_were_on() {
        let seen = [host("a", "m", &[0]), host("b", "m", &[1])];
        let places = places(&seen, &bind(&seen));
        assert_eq!(levels(&places).iter().map(|plan| plan.level).collect::<Vec<_>>(), [Level::InterNode]);
        assert_eq!(shape(&seen, &places), Shape { nodes: 2, cmps: 1, cores: 1 });
    }

    #[test]
    fn ranks_that_are_bound_to_one_cpu_share_a_core_and_others_have_theirs() {
        // One machine has two node names with two ranks each. Ranks of the first node name share a CPU; the ranks of
        // the second node name are on the other CMP.
        let seen: Vec<HostFacts> =
            [("a", 0), ("a", 0), ("b", 2), ("b", 2)].map(|(node, cpu)| host(node, "m", &[cpu])).into();
        let places = places(&seen, &bind(&seen));
        assert!(places[0].shares_cpu(&places[1]) && !places[0].shares_cpu(&places[2]));
        let shape = shape(&seen, &places);
        assert_eq!(shape, Shape { nodes: 2, cmps: 2, cores: 1 });
        let cores = |places: &[HostPlace], shape| -> Vec<u32> {
            sites(places, shape).unwrap().iter().map(|site| site.core).collect()
        };
        assert_eq!(cores(&places, shape), [0; 4]);
        let seen: Vec<HostFacts> =
            [&[0, 4][..], &[1], &[0, 4], &[1], &[5]].map(|allowed| host("a", "m", allowed)).into();
        let bindings = bind(&seen);
        assert_eq!(bindings[2..], [Binding::None; 3]);
        let places = super::places(&seen, &bindings);
        let machine = Shape { nodes: 1, cmps: 1, cores: 4 };
        assert_eq!(
            cores(&places, machine),
            [0, 1, 2, 1, 3],
            "the fourth has the second one's CPU, the last its core's other thread"
        );
        assert!(!places[0].shares_cpu(&places[2]), "each has a thread of their core");
    }

    #[test]
    fn hosts_of_one_name_are_told_apart_and_a_host_that_tells_nothing_is_one_cmp() {
        let seen = [host("a", "m", &[0]), host("a", "n", &[0])];
        assert_eq!(levels(&places(&seen, &bind(&seen)))[0].level, Level::InterNode);
        let silent = HostFacts { cpus: Vec::new(), ..host("a", "m", &[0, 1]) };
        let seen = [silent.clone(), silent];
        assert_eq!(bind(&seen), [Binding::None; 2]);
        let places = places(&seen, &bind(&seen));
        assert_eq!((levels(&places)[0].level, levels(&places).len()), (Level::IntraCmp, 1));
        assert_eq!(shape(&seen, &places), Shape { nodes: 1, cmps: 1, cores: 2 });
    }
}
