//! Expected times of real code that other computing ranks on the same CMP slow down, computed by hand.

use crate::support::Do::*;
use crate::support::{Do, clocks, machine, run_placed, run_with};
use mcpsim::platform::{Contention, MemorySharing, Placement, Platform, Site};
use mcpsim::units::SimSpan;

/// Creates nodes on which code is slowed by a factor of 2 if two ranks of a CMP compute, and by a factor of 4 if more
/// ranks compute.
fn slowing(nct: [u32; 3]) -> Platform {
    let mut platform = machine(nct, Contention::Ideal);
    (platform.core.slowdown, platform.core.memory_sharing) = (vec![1.0, 2.0, 4.0], MemorySharing::Fair);
    platform
}

fn code(each: &[&[Do]]) -> Vec<Vec<Do>> {
    each.iter().map(|lines| lines.to_vec()).collect()
}

#[test]
fn code_is_slowed_for_as_long_as_others_compute() {
    let node = slowing([1, 1, 4]);
    assert_eq!(clocks(&node, &code(&[&[Code(1000)], &[]])), [1000, 0]);
    assert_eq!(clocks(&node, &code(&[&[Code(1000)], &[Code(1000)]])), [2000; 2]);
    // Rank 0 computes alone for 400 ns, and then both ranks compute at half speed. Rank 1 has done 600 ns of its work
    // when rank 0 ends, and continues alone.
    assert_eq!(clocks(&node, &code(&[&[Code(1000)], &[Compute(400), Code(1000)]])), [1600, 2000]);
    // Four ranks compute at a quarter of the speed until 400 ns. The slowdown for four ranks is that for three ranks.
    let all = code(&[&[Code(100)], &[Code(200)], &[Code(200)], &[Code(300)]]);
    // From 400 ns on, three ranks have 100, 100 and 200 ns of work left and compute at a quarter of the speed until 800
    // ns. The last rank then does its remaining 100 ns alone until 900 ns.
    assert_eq!(clocks(&node, &all), [400, 800, 800, 900]);
}

#[test]
fn who_waits_or_sleeps_slows_nobody_and_cmps_are_apart() {
    let nodes = slowing([1, 2, 2]);
    // Rank 1 sleeps and then waits for rank 0, so it does not slow the other ranks.
    let waits = code(&[&[Code(1000), Send(1, 0)], &[Compute(500), Recv(0)], &[Code(1000)], &[]]);
    let found = clocks(&nodes, &waits);
    assert_eq!((found[0], found[2]), (1000, 1000));
    // Ranks on the second CMP slow only ranks on the second CMP.
    assert_eq!(clocks(&nodes, &code(&[&[Code(1000)], &[], &[Code(1000)], &[Code(500)]])), [1000, 0, 1500, 1000]);
}

#[test]
fn placed_ranks_do_not_slow_each_other_over_time() {
    // With `MemorySharing::Placed`, the code factor of each rank includes the slowdown, so ranks do not slow each other
    // during the run.
    let mut node = slowing([1, 1, 4]);
    node.core.memory_sharing = MemorySharing::Placed;
    assert_eq!(clocks(&node, &code(&[&[Code(1000)], &[Code(700)]])), [1000, 700]);
    let sites = Placement::Block.sites(node.shape, 3, false).unwrap();
    assert_eq!(node.code_factors(&sites), [4.0; 3]);
    node.core.memory_sharing = MemorySharing::Fair;
    assert_eq!(node.code_factors(&sites), [1.0; 3]);
}

#[test]
fn memory_bounds_a_part_of_the_codes_time() {
    // Half of the code is memory-bound, so two computing ranks take 1.5 times and more ranks take 2.5 times as long.
    let node = slowing([1, 1, 4]).with_memory_bound(0.5);
    assert_eq!(clocks(&node, &code(&[&[Code(1000)], &[Code(1000)]])), [1500; 2]);
    assert_eq!(clocks(&node, &code(&[&[Code(1000)], &[Code(1000)], &[Code(1000)]])), [2500; 3]);
    let none = slowing([1, 1, 4]).with_memory_bound(0.0);
    assert_eq!(clocks(&none, &code(&[&[Code(1000)], &[Code(700)]])), [1000, 700]);
}

#[test]
fn a_node_may_slow_its_code_in_its_own_way() {
    let mut nodes = slowing([2, 1, 2]);
    nodes.conditions.nodes.slowdown = vec![Vec::new(), vec![2.0, 3.0]];
    let sites = Placement::Block.sites(nodes.shape, 4, false).unwrap();
    // On the second node, code of a single rank takes twice as long, which the code factor of the rank includes. With a
    // second computing rank, the code takes 3/2 of this time.
    assert_eq!(nodes.code_factors(&sites), [1.0, 1.0, 2.0, 2.0]);
    let found = clocks(&nodes, &code(&[&[Code(1000)], &[Code(1000)], &[Code(2000)], &[Code(2000)]]));
    assert_eq!(found, [2000, 2000, 3000, 3000]);
}

#[test]
fn ranks_that_share_a_core_take_turns() {
    let node = slowing([1, 1, 1]);
    let site = Site { node: 0, cmp: 0, core: 0 };
    // Each rank has half of the core and is slowed by the other computing rank, so the code takes four times as long.
    let (outcome, _) = run_placed(&node, vec![site; 2], &code(&[&[Code(500)], &[Code(500)]]), 1).unwrap();
    assert_eq!(outcome.per_rank[0].clock.as_ps(), 2_000_000);
}

#[test]
fn any_number_of_workers_finds_the_same_and_says_what_it_cost() {
    let nodes = slowing([3, 1, 4]);
    let ring = |rank: u32| -> Vec<Do> {
        let (left, right) = ((rank + 11) % 12, (rank + 1) % 12);
        let turn = |turn: u64| [Code(100 + 37 * u64::from(rank) % 91 + 11 * turn), Exchange(right, 500, left)];
        (0..6).flat_map(turn).collect()
    };
    let scripts: Vec<Vec<Do>> = (0..12).map(ring).collect();
    let alone = run_with(&nodes, &scripts, 1).unwrap().0;
    for workers in [2, 3] {
        let mut other = run_with(&nodes, &scripts, workers).unwrap().0;
        other.host = alone.host.clone();
        assert_eq!(other, alone);
    }
    let blocks = alone.blocks.expect("code is slowed");
    assert!(blocks.count == 72 && blocks.bytes == 0 && blocks.slowed > SimSpan::ZERO);
}
