//! Selection of the nodes of each job.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use crate::config::did_you_mean;
use crate::platform::{NodeGroup, Places, Shape};

/// Rule that selects the nodes of a job among the free nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllocationRule {
    /// The free nodes with the lowest numbers.
    Contiguous,
    /// Nodes drawn by the seed of the run.
    Random,
    /// Nodes in as few places of this kind as possible.
    Pack(String),
    /// Nodes in each place of this kind in turn.
    Spread(String),
}

/// Nodes that a job needs.
pub(super) struct NodeRequest<'a> {
    pub name: &'a str,
    /// Number of nodes.
    pub count: usize,
    /// Nodes that the job states.
    pub hosts: Option<&'a [u32]>,
    /// Cores of each node that the job uses.
    pub cores: &'a [u32],
    pub rule: &'a AllocationRule,
}

impl AllocationRule {
    /// Parses `contiguous`, `random`, `pack PLACE` or `spread PLACE`.
    ///
    /// # Errors
    /// The expected form.
    pub(super) fn parse(text: &str) -> Result<AllocationRule, String> {
        let form = || "contiguous, random, pack PLACE or spread PLACE".to_owned();
        match text.split_whitespace().collect::<Vec<_>>()[..] {
            ["contiguous"] => Ok(AllocationRule::Contiguous),
            ["random"] => Ok(AllocationRule::Random),
            ["pack", place] => Ok(AllocationRule::Pack(place.to_owned())),
            ["spread", place] => Ok(AllocationRule::Spread(place.to_owned())),
            _ => Err(form()),
        }
    }
}

/// Selects the nodes of the jobs in `requests`. Jobs that state their nodes get these nodes first. Jobs that share a
/// node have different cores of the node, unless `oversubscribe` is set.
///
/// # Errors
/// A job needs more nodes than are free, or two jobs have the same core.
pub(super) fn allocate(
    requests: &[NodeRequest<'_>],
    (shape, places): (Shape, &Places),
    free: Option<&[u32]>,
    (seed, oversubscribe): (u64, bool),
) -> Result<Vec<Vec<u32>>, String> {
    let all: Vec<u32> = free.map_or_else(|| (0..shape.nodes).collect(), <[u32]>::to_vec);
    let missing = |node: &&u32| **node >= shape.nodes;
    let nodes = shape.nodes;
    if let Some(node) = all.iter().find(missing) {
        return Err(format!("free_nodes names node {node}: the machine has nodes 0 to {}", nodes - 1));
    }
    let mut users: HashMap<u32, Vec<usize>> = HashMap::new();
    let mut allocated = vec![Vec::new(); requests.len()];
    for (job, request) in requests.iter().enumerate() {
        let Some(hosts) = request.hosts else { continue };
        let name = request.name;
        if let Some(node) = hosts.iter().find(missing) {
            return Err(format!("job {name} names node {node}: the machine has nodes 0 to {}", nodes - 1));
        }
        if let Some(node) = hosts.iter().find(|node| free.is_some_and(|free| !free.contains(node))) {
            return Err(format!("job {name} names node {node}, which free_nodes does not contain"));
        }
        for &node in hosts {
            let others = users.entry(node).or_default();
            let shared = |other: &usize| Some((*other, shared_core(request.cores, requests[*other].cores)?));
            if let Some((other, core)) = others.iter().find_map(shared).filter(|_| !oversubscribe) {
                let (other, per_cmp) = (requests[other].name, shape.cores);
                return Err(format!(
                    "jobs {other} and {name} overlap: both have node {node}, CMP {}, core {}; give other hosts or cores, \
                     or --oversubscribe",
                    core / per_cmp,
                    core % per_cmp
                ));
            }
            others.push(job);
        }
        allocated[job] = hosts.to_vec();
    }
    for (job, request) in requests.iter().enumerate().filter(|(_, request)| request.hosts.is_none()) {
        let is_free = |node: &u32| {
            let others = users.get(node).into_iter().flatten();
            others.copied().all(|other| shared_core(request.cores, requests[other].cores).is_none())
        };
        let mut free: Vec<u32> = all.iter().copied().filter(is_free).collect();
        free.sort_unstable();
        let (name, needed) = (request.name, request.count);
        if needed > free.len() {
            let of = free.len();
            return Err(format!(
                "job {name} needs {needed} of the {nodes} nodes, and {of} are free: give fewer ranks or nodes, or a larger \
                 --nct"
            ));
        }
        let mut chosen = match request.rule {
            AllocationRule::Contiguous => free[..needed].to_vec(),
            AllocationRule::Random => drawn(free, needed, seed, job as u64),
            AllocationRule::Pack(place) => packed(&by_group(&free, group(places, place, name)?), needed),
            AllocationRule::Spread(place) => spread(&by_group(&free, group(places, place, name)?), needed),
        };
        chosen.sort_unstable();
        chosen.iter().for_each(|node| users.entry(*node).or_default().push(job));
        allocated[job] = chosen;
    }
    Ok(allocated)
}

/// Returns the least core that both lists contain.
fn shared_core(a: &[u32], b: &[u32]) -> Option<u32> {
    let set: std::collections::HashSet<u32> = a.iter().copied().collect();
    b.iter().copied().filter(|core| set.contains(core)).min()
}

/// Draws `needed` nodes by the seed and the number of the job.
fn drawn(mut free: Vec<u32>, needed: usize, seed: u64, job: u64) -> Vec<u32> {
    for at in 0..needed {
        let mut hash = SipHasher13::new_with_keys(seed, job);
        hash.write_u64(at as u64);
        let left = (free.len() - at) as u128;
        let other = at + ((u128::from(hash.finish()) * left) >> 64) as usize;
        free.swap(at, other);
    }
    free.truncate(needed);
    free
}

/// Returns the kind of place with the name `place`.
fn group<'a>(places: &'a Places, place: &str, job: &str) -> Result<&'a NodeGroup, String> {
    places.groups.iter().find(|group| group.name == place).ok_or_else(|| {
        let names: Vec<&str> = places.groups.iter().map(|group| group.name.as_str()).collect();
        match names.is_empty() {
            true => format!("allocation of job {job}: the machine has no groups of nodes such as \"{place}\""),
            false => {
                let near = did_you_mean(place, names.iter().copied());
                let names = names.join(", ");
                format!("allocation of job {job}: expected a group of nodes: {names}; found \"{place}\"{near}")
            }
        }
    })
}

/// Returns the free nodes of each group in the order of groups.
fn by_group(free: &[u32], group: &NodeGroup) -> Vec<Vec<u32>> {
    let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    free.iter().for_each(|&node| members.entry(group.of(node)).or_default().push(node));
    members.into_values().collect()
}

/// Takes nodes from as few groups as possible. The last group is the smallest group with enough nodes.
fn packed(groups: &[Vec<u32>], needed: usize) -> Vec<u32> {
    let mut left: Vec<&Vec<u32>> = groups.iter().collect();
    let mut chosen = Vec::new();
    while chosen.len() < needed {
        let missing = needed - chosen.len();
        let fitting = left.iter().enumerate().filter(|(_, nodes)| nodes.len() >= missing);
        let best = fitting.min_by_key(|(at, nodes)| (nodes.len(), *at)).map(|(at, _)| at);
        let largest = || left.iter().enumerate().max_by_key(|(at, nodes)| (nodes.len(), usize::MAX - at));
        let at = best.or_else(|| largest().map(|(at, _)| at)).expect("enough nodes are free");
        chosen.extend(left.remove(at).iter().take(missing));
    }
    chosen
}

/// Takes one node of each group in turn.
fn spread(groups: &[Vec<u32>], needed: usize) -> Vec<u32> {
    let most = groups.iter().map(Vec::len).max().unwrap_or(0);
    (0..most).flat_map(|round| groups.iter().filter_map(move |nodes| nodes.get(round).copied())).take(needed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Members;
    use crate::units::SimSpan;

    const SHAPE: Shape = Shape { nodes: 8, cmps: 1, cores: 4 };

    fn places() -> Places {
        let switch = NodeGroup {
            name: "switch".to_owned(),
            members: Members::Blocks(3),
            uplink_latency: SimSpan::ZERO,
            uplink: None,
        };
        Places { groups: vec![switch], ..Places::default() }
    }

    fn request<'a>(name: &'a str, count: usize, rule: &'a AllocationRule) -> NodeRequest<'a> {
        NodeRequest { name, count, hosts: None, cores: &[0, 1, 2, 3], rule }
    }

    fn allocated(requests: &[NodeRequest<'_>], free: Option<&[u32]>) -> Result<Vec<Vec<u32>>, String> {
        allocate(requests, (SHAPE, &places()), free, (1, false))
    }

    #[test]
    fn contiguous_jobs_fill_the_gaps_that_stated_hosts_leave() {
        let rule = AllocationRule::Contiguous;
        let stated = NodeRequest { hosts: Some(&[1, 0]), ..request("b", 2, &rule) };
        let found = allocated(&[request("a", 2, &rule), stated, request("c", 1, &rule)], Some(&[0, 1, 3, 5, 7]));
        assert_eq!(found.unwrap(), [vec![3, 5], vec![1, 0], vec![7]]);
    }

    #[test]
    fn a_packed_job_has_few_switches_and_a_spread_job_all() {
        let (pack, spread) = (AllocationRule::Pack("switch".into()), AllocationRule::Spread("switch".into()));
        // The switches have the nodes 0-2, 3-5 and 6-7.
        assert_eq!(allocated(&[request("a", 2, &pack)], None).unwrap(), [vec![6, 7]]);
        assert_eq!(allocated(&[request("a", 5, &pack)], None).unwrap(), [vec![0, 1, 2, 6, 7]]);
        assert_eq!(allocated(&[request("a", 4, &spread)], None).unwrap(), [vec![0, 1, 3, 6]]);
    }

    #[test]
    fn random_nodes_are_drawn_once_and_by_the_seed() {
        let rule = AllocationRule::Random;
        let of = |seed| allocate(&[request("a", 5, &rule)], (SHAPE, &places()), None, (seed, false)).unwrap().remove(0);
        assert_eq!(of(1), of(1));
        assert!((1..9).any(|seed| of(seed) != of(9)));
        assert!(of(3).windows(2).all(|pair| pair[0] < pair[1]) && of(3).len() == 5);
        assert_eq!(allocated(&[request("a", 8, &rule)], None).unwrap()[0], (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn jobs_share_nodes_only_with_other_cores() {
        let rule = AllocationRule::Contiguous;
        let half = |name, cores| NodeRequest { cores, ..request(name, 8, &rule) };
        let both = allocated(&[half("a", &[0, 1]), half("b", &[2, 3])], None).unwrap();
        assert_eq!(both[0], both[1]);
        let error = "job b needs 8 of the 8 nodes, and 0 are free: give fewer ranks or nodes, or a larger --nct";
        assert_eq!(allocated(&[half("a", &[0, 1]), half("b", &[1, 2])], None).unwrap_err(), error);
        let hosts = |name, hosts, cores| NodeRequest { hosts: Some(hosts), cores, ..request(name, 1, &rule) };
        let error = allocated(&[hosts("a", &[2], &[1, 3]), hosts("b", &[2], &[3])], None).unwrap_err();
        assert!(error.starts_with("jobs a and b overlap: both have node 2, CMP 0, core 3; give other"), "{error}");
    }

    #[test]
    fn nodes_that_the_machine_or_the_list_lacks_are_named() {
        let rule = AllocationRule::Contiguous;
        let stated = [NodeRequest { hosts: Some(&[8]), ..request("a", 1, &rule) }];
        assert_eq!(allocated(&stated, None).unwrap_err(), "job a names node 8: the machine has nodes 0 to 7");
        let text = "free_nodes names node 9: the machine has nodes 0 to 7";
        assert_eq!(allocated(&[request("a", 1, &rule)], Some(&[9])).unwrap_err(), text);
        let rule = AllocationRule::Pack("swich".into());
        let error = allocated(&[request("a", 1, &rule)], None).unwrap_err();
        assert!(
            error.starts_with("allocation of job a: expected a group of nodes: switch; found \"swich\""),
            "{error}"
        );
        assert!(AllocationRule::parse("pack").is_err() && AllocationRule::parse("near").is_err());
    }
}
