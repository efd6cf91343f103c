//! Properties of each topology at small sizes: paths, numbers of links, bisection.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::*;

fn layers(count: usize, latencies: &[u64]) -> Vec<LinkLayer> {
    let latency = |at: usize| SimSpan::from_ns(latencies[at % latencies.len()]);
    (0..count).map(|at| LinkLayer { name: at.to_string(), bandwidth: None, latency: latency(at) }).collect()
}

fn tree(down: &[u32], up: &[u32], parallel: &[u32], routing: TreeRouting) -> LinkNetwork {
    let tree = FatTree::new(down, up, parallel, routing, 7).unwrap();
    LinkNetwork::new(SwitchTopology::FatTree(tree), layers(down.len() - 1, &[100, 30, 7]))
}

fn torus(sizes: &[u32], parallel: &[u32], wraps: bool, nodes: u32) -> LinkNetwork {
    let torus = Torus::new(sizes, parallel, wraps, nodes).unwrap();
    LinkNetwork::new(SwitchTopology::Torus(torus), layers(sizes.len(), &[100, 30, 7]))
}

fn dragonfly(groups: u32, switches: GroupSwitches, nodes: u32, links: [u32; 2], valiant: bool) -> LinkNetwork {
    let routing = if valiant { DragonflyRouting::Valiant } else { DragonflyRouting::Minimal };
    let dragonfly = Dragonfly::new(groups, switches, nodes, links, (routing, 7)).unwrap();
    LinkNetwork::new(SwitchTopology::Dragonfly(dragonfly), layers(2, &[100, 1000]))
}

/// Returns a graph with the switches and links of another network, whose nodes are on the same switches.
fn copied(network: &LinkNetwork) -> LinkNetwork {
    let names = (0..network.switches()).map(|switch| network.switch_name(switch)).collect();
    let switch_of = (0..network.nodes()).map(|node| network.switch(node)).collect::<Vec<u32>>();
    let layer = |link| network.layer(link) as u16;
    let cables: Vec<_> = network.links().map(|link| (network.ends(link).unwrap(), layer(link))).collect();
    // Each cable has a link in each direction; one is listed.
    let cables: Vec<_> = cables.into_iter().filter(|([from, to], _)| from < to).collect();
    let latencies = network.layers().iter().map(|layer| layer.latency).collect();
    let graph = SwitchGraph::new(names, vec![switch_of], &cables, latencies);
    assert_eq!(graph.parted(), None);
    LinkNetwork::new(SwitchTopology::Graph(graph), network.layers().to_vec())
}

const LEAF_SPINE: GroupSwitches = GroupSwitches::LeafSpine { leaves: 3, spines: 2 };

/// Returns networks of each kind. The paths of the first group of networks are shortest paths.
fn networks() -> (Vec<LinkNetwork>, Vec<LinkNetwork>) {
    use TreeRouting::{Destination, Random, Source};
    let mut shortest = vec![
        tree(&[4], &[], &[], Destination),
        tree(&[4, 3], &[2], &[1], Destination),
        tree(&[4, 3], &[2], &[2], Source),
        tree(&[3, 2, 4], &[2, 3], &[1, 2], Destination),
        tree(&[2, 2, 2, 2], &[2, 2, 2], &[1, 1, 1], Random),
        tree(&[1, 5], &[1], &[1], Source),
        torus(&[5], &[1], true, 1),
        torus(&[4, 3, 2], &[1, 2, 1], true, 2),
        torus(&[4, 3, 2], &[1, 1, 3], false, 1),
        torus(&[1, 6], &[1, 1], true, 1),
        torus(&[2, 3, 2, 2, 3, 2], &[1; 6], true, 1),
        dragonfly(1, GroupSwitches::AllToAll(4), 2, [1, 1], false),
        dragonfly(4, GroupSwitches::AllToAll(1), 2, [1, 2], false),
    ];
    let graphs: Vec<_> = shortest.iter().map(copied).collect();
    shortest.extend(graphs);
    let others = vec![
        dragonfly(5, GroupSwitches::AllToAll(4), 2, [1, 1], false),
        dragonfly(3, GroupSwitches::AllToAll(4), 1, [2, 5], false),
        dragonfly(9, GroupSwitches::AllToAll(4), 2, [1, 1], true),
        dragonfly(2, GroupSwitches::AllToAll(3), 2, [1, 2], true),
        dragonfly(4, LEAF_SPINE, 2, [1, 2], false),
        dragonfly(5, LEAF_SPINE, 2, [2, 1], true),
        dragonfly(1, LEAF_SPINE, 4, [1, 1], false),
    ];
    (shortest, others)
}

#[test]
fn an_adaptive_dragonfly_has_the_minimal_and_the_valiant_path() {
    let of = |routing| {
        let dragonfly = Dragonfly::new(4, GroupSwitches::AllToAll(3), 2, [1, 1], (routing, 7)).unwrap();
        LinkNetwork::new(SwitchTopology::Dragonfly(dragonfly), layers(2, &[100, 1000]))
    };
    let [adaptive, minimal, valiant] =
        [DragonflyRouting::Adaptive, DragonflyRouting::Minimal, DragonflyRouting::Valiant].map(of);
    for (from, to) in all_pairs(&minimal) {
        assert_eq!(adaptive.path(from, to), minimal.path(from, to));
        let detour = adaptive.detour(0, from, to);
        let expected = (valiant.path(from, to), valiant.latency(from, to).saturating_sub(minimal.latency(from, to)));
        assert_eq!(detour, (from / 6 != to / 6).then_some(expected));
        assert_eq!(minimal.detour(0, from, to), None);
    }
}

#[test]
fn planes_have_links_and_switches_of_their_own() {
    let one = tree(&[4, 3], &[2], &[1], TreeRouting::Destination);
    let two = one.clone().with_planes(2).unwrap();
    assert_eq!((two.nodes(), two.switches()), (12, 2 * one.switches()));
    assert_eq!(two.layer_counts(), [2 * one.layer_counts()[0]]);
    let [first, second] = [0, 1].map(|plane| two.path_of_rails([plane, plane], 0, 5));
    assert_eq!((&first, first.len()), (&one.path(0, 5), second.len()));
    let names = [&first, &second].map(|path| two.link_name(path[0]));
    assert_eq!(names[1], "leaf 0 of plane 1 to switch 1 of level 2 of plane 1");
    assert_eq!(names[0], names[1].replace("plane 1", "plane 0"));
    assert!(second.iter().all(|link| two.near(*link) < 12 && !first.contains(link)));
    assert!(one.with_planes(1 << 25).is_none());
}

fn all_pairs(network: &LinkNetwork) -> impl Iterator<Item = (u32, u32)> + use<> {
    let nodes = network.nodes();
    (0..nodes).flat_map(move |from| (0..nodes).map(move |to| (from, to)))
}

/// Returns the least number of links from a switch to each switch.
fn distances(network: &LinkNetwork, start: u32) -> BTreeMap<u32, usize> {
    let mut next: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    network
        .links()
        .map(|link| network.ends(link).unwrap())
        .for_each(|[from, to]| next.entry(from).or_default().push(to));
    let (mut found, mut queue) = (BTreeMap::from([(start, 0)]), VecDeque::from([start]));
    while let Some(switch) = queue.pop_front() {
        let steps = found[&switch] + 1;
        for to in next.get(&switch).into_iter().flatten() {
            if !found.contains_key(to) {
                found.insert(*to, steps);
                queue.push_back(*to);
            }
        }
    }
    found
}

#[test]
fn a_path_leads_from_switch_to_switch_without_a_loop_and_its_class_has_its_latency() {
    let (shortest, others) = networks();
    for network in shortest.iter().chain(&others) {
        for (from, to) in all_pairs(network) {
            let path = network.path(from, to);
            let mut at = network.switch(from);
            let mut passed = BTreeSet::from([at]);
            let mut latency = SimSpan::ZERO;
            for link in &path {
                let [start, end] = network.ends(*link).expect("the link exists");
                assert_eq!(start, at, "{network:?}: {from} to {to}");
                assert!(passed.insert(end), "{network:?}: {from} to {to} passes {end} twice");
                latency += network.layers()[network.layer(*link)].latency;
                assert!(network.near(*link) < network.nodes());
                at = end;
            }
            assert_eq!(at, network.switch(to), "{network:?}: {from} to {to}");
            assert_eq!(latency, network.latency(from, to), "{network:?}: {from} to {to}");
            let class = network.class(from, to);
            assert_eq!(network.added_latency(class), latency.saturating_sub(network.nearest()));
        }
    }
}

#[test]
fn paths_of_trees_tori_and_graphs_are_shortest_paths() {
    let (shortest, _) = networks();
    for network in &shortest {
        let from_switch: Vec<_> = (0..network.switches()).map(|switch| distances(network, switch)).collect();
        for (from, to) in all_pairs(network) {
            let least = from_switch[network.switch(from) as usize][&network.switch(to)];
            assert_eq!(network.path(from, to).len(), least, "{network:?}: {from} to {to}");
        }
    }
}

#[test]
fn paths_of_dragonflies_pass_one_global_link_and_valiant_paths_pass_two() {
    let counts = |network: &LinkNetwork| {
        let count = |(from, to)| {
            let path = network.path(from, to);
            let global = path.iter().filter(|link| network.layer(**link) == 1).count();
            (global, path.len() - global)
        };
        all_pairs(network).map(count).collect::<BTreeSet<_>>()
    };
    let plain = |valiant| counts(&dragonfly(5, GroupSwitches::AllToAll(4), 2, [1, 1], valiant));
    let most = |of: BTreeSet<(usize, usize)>| {
        let global = of.iter().map(|(global, _)| *global).max();
        (global, [0, 1, 2].map(|global| of.iter().filter(|(of, _)| *of == global).map(|(_, local)| *local).max()))
    };
    assert_eq!(most(plain(false)), (Some(1), [Some(1), Some(2), None]));
    assert_eq!(most(plain(true)), (Some(2), [Some(1), None, Some(3)]));
    let plus = |valiant| counts(&dragonfly(5, LEAF_SPINE, 2, [1, 1], valiant));
    assert_eq!(most(plus(false)), (Some(1), [Some(2), Some(2), None]));
    assert_eq!(most(plus(true)), (Some(2), [Some(2), None, Some(4)]));
}

#[test]
fn numbers_of_links_and_bisections_are_those_of_the_literature() {
    let links = |network: &LinkNetwork| network.links().count();
    // Links from one half of the switches to the other.
    let cut = |network: &LinkNetwork, first: &dyn Fn(u32) -> bool| {
        network
            .links()
            .filter(|link| {
                let [from, to] = network.ends(*link).unwrap();
                first(from) && !first(to)
            })
            .count()
    };
    // A k-ary n-cube has n·kⁿ cables, and 2·kⁿ⁻¹ of them in its bisection; a mesh has n·(k − 1)·kⁿ⁻¹ and kⁿ⁻¹.
    let cube = torus(&[4, 4, 4], &[1; 3], true, 1);
    assert_eq!((links(&cube), cut(&cube, &|switch| switch < 32)), (2 * 3 * 64, 2 * 16));
    let mesh = torus(&[4, 4, 4], &[1; 3], false, 1);
    assert_eq!((links(&mesh), cut(&mesh, &|switch| switch < 32)), (2 * 3 * 3 * 16, 16));
    // A k-ary n-tree has n·kⁿ⁻¹ switches of k parents: (n − 1)·kⁿ cables, and full bisection above the nodes.
    let full = tree(&[4, 4, 4], &[4, 4], &[1, 1], TreeRouting::Destination);
    assert_eq!((links(&full), full.switches(), full.nodes()), (2 * 2 * 64, 3 * 16, 64));
    // A dragonfly with a switches per group, h global links per switch and g = a·h + 1 groups: g·(g − 1)/2 global
    // cables, one per pair of groups, and h at each switch.
    let balanced = dragonfly(9, GroupSwitches::AllToAll(4), 2, [1, 1], false);
    let global: Vec<_> = balanced.links().filter(|link| balanced.layer(*link) == 1).collect();
    assert_eq!((links(&balanced), global.len()), (9 * 4 * 3 + 9 * 8, 9 * 8));
    let mut at_switch = BTreeMap::<u32, u32>::new();
    global.iter().for_each(|link| *at_switch.entry(balanced.ends(*link).unwrap()[0]).or_default() += 1);
    assert!(at_switch.len() == 36 && at_switch.values().all(|count| *count == 2), "{at_switch:?}");
    assert_eq!(cut(&balanced, &|switch| switch < 16), 4 * 5);
}

#[test]
fn a_message_and_its_answer_use_the_two_directions_of_the_same_cables_between_groups() {
    let network = dragonfly(4, GroupSwitches::AllToAll(3), 1, [1, 1], false);
    for (from, to) in all_pairs(&network) {
        let ends = |from, to| {
            let path = network.path(from, to);
            path.into_iter().map(|link| network.ends(link).unwrap()).collect::<Vec<_>>()
        };
        let back: Vec<_> = ends(to, from).into_iter().rev().map(|[a, b]| [b, a]).collect();
        assert_eq!(ends(from, to), back);
    }
}

#[test]
fn receivers_choose_different_parents_under_d_mod_k_and_senders_under_s_mod_k() {
    let used = |routing, pairs: &[(u32, u32)]| {
        let network = tree(&[4, 4], &[4], &[1], routing);
        pairs.iter().map(|(from, to)| network.path(*from, *to)[0]).collect::<BTreeSet<_>>().len()
    };
    // Node 0 sends to the four nodes of another leaf switch; then the four nodes of a leaf switch send to one node.
    let (out, into) = ([(0, 4), (0, 5), (0, 6), (0, 7)], [(0, 4), (1, 4), (2, 4), (3, 4)]);
    assert_eq!([&out, &into].map(|pairs| used(TreeRouting::Destination, pairs)), [4, 1]);
    assert_eq!([&out, &into].map(|pairs| used(TreeRouting::Source, pairs)), [1, 4]);
    // A permutation between leaf switches collides nowhere under D-mod-k.
    assert_eq!(used(TreeRouting::Destination, &[(0, 4), (1, 9), (2, 14), (3, 7)]), 4);
}

#[test]
fn a_torus_goes_through_one_dimension_after_the_other_in_the_shorter_direction() {
    let network = torus(&[5, 4], &[1, 1], true, 1);
    let names = |from, to| {
        let path = network.path(from, to);
        path.into_iter().map(|link| network.switch_name(network.ends(link).unwrap()[1])).collect::<Vec<_>>()
    };
    assert_eq!(names(0, 13), ["(4,0)", "(3,0)", "(3,1)", "(3,2)"]);
    assert_eq!(names(13, 0), ["(4,2)", "(0,2)", "(0,3)", "(0,0)"]);
}

#[test]
fn networks_that_are_too_large_are_refused() {
    assert!(FatTree::new(&[1 << 16, 1 << 16], &[1], &[1], TreeRouting::Source, 0).is_none());
    assert!(FatTree::new(&[16, 16], &[u32::MAX], &[u32::MAX], TreeRouting::Source, 0).is_none());
    assert!(Torus::new(&[1 << 20, 1 << 20], &[1, 1], true, 1).is_none());
    assert!(Torus::new(&[1 << 10], &[u32::MAX], true, u32::MAX).is_none());
    let routing = (DragonflyRouting::Minimal, 0);
    assert!(Dragonfly::new(u32::MAX, GroupSwitches::AllToAll(u32::MAX), 1, [1, 1], routing).is_none());
    assert!(Dragonfly::new(4, GroupSwitches::AllToAll(4), u32::MAX, [1, 1], routing).is_none());
}

#[test]
fn a_large_network_is_small_in_memory() {
    // 110,592 nodes: only levels and dimensions are stored.
    let network = tree(&[48, 48, 48], &[24, 24], &[1, 1], TreeRouting::Destination);
    assert_eq!((network.nodes(), network.classes()), (110_592, 3));
    assert_eq!(network.path(0, 110_591).len(), 4);
    let fugaku = torus(&[24, 23, 24, 2, 3, 2], &[1; 6], true, 1);
    assert_eq!(fugaku.nodes(), 158_976);
}
