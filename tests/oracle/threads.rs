//! Expected times of ranks on hardware threads of one core, worked out by hand: a core moves 1 byte a ns.

use crate::support::Do::*;
use crate::support::{Do, machine, run_placed};
use mcpsim::platform::{HardwareThreads, LoadLaw, MemoryLaw, MemoryShares, Placement, Platform, Site};
use mcpsim::units::Bandwidth;

/// Nodes of one CMP whose cores have two threads, each 1.6 times slower beside the other.
fn threaded(cores: u32) -> Platform {
    let mut platform = machine([1, 1, cores], LoadLaw::Ideal);
    platform.core.threads = HardwareThreads::new(2, vec![1.6]).unwrap();
    platform
}

/// The clocks, in ns, of ranks that fill the machine's places in order.
fn clocks(platform: &Platform, scripts: &[&[Do]], oversubscribe: bool) -> Vec<u64> {
    let (ranks, threads) = (scripts.len() as u32, platform.core.threads.count());
    let sites = Placement::Block.sites_by_threads(platform.shape, threads, ranks, oversubscribe).unwrap();
    let scripts: Vec<Vec<Do>> = scripts.iter().map(|script| script.to_vec()).collect();
    let (outcome, _) = run_placed(platform, sites, &scripts, 1).unwrap();
    outcome.per_rank.iter().map(|rank| rank.clock.as_ps() / 1000).collect()
}

#[test]
fn computing_is_slower_beside_a_busy_sibling() {
    let node = threaded(2);
    let computes: &[Do] = &[Compute(1000)];
    assert_eq!(clocks(&node, &[computes; 2], false), [1000; 2], "a core each");
    // The third rank is beside the first, and 1 has its core for itself.
    assert_eq!(clocks(&node, &[computes; 3], false), [1600, 1000, 1600]);
    assert_eq!(clocks(&node, &[&[Code(1000)], &[Code(500)], &[Code(500)]], false), [1600, 500, 800]);
    assert_eq!(clocks(&node, &[computes; 4], false), [1600; 4]);
    // Six ranks on four threads: three on each core, which take turns at two.
    assert_eq!(clocks(&node, &[computes; 6], true), [2400; 6]);
}

#[test]
fn without_threads_ranks_on_a_core_take_turns() {
    let node = machine([1, 1, 1], LoadLaw::Ideal);
    assert_eq!(clocks(&node, &[&[Compute(1000)], &[Compute(10)]], true), [2000, 20]);
}

#[test]
fn siblings_share_the_memory_of_their_cmp_and_slow_only_their_core() {
    // Two threads of a core ask for 1/1.6 bytes a ns each, 1.25 together, where the CMP has 1.5: it slows nobody.
    let mut node = threaded(1);
    node.core.memory_law = MemoryLaw::Fair;
    let cmp = |bytes_per_us: u64| Bandwidth::new(bytes_per_us * 1_000_000).unwrap();
    node.core.cmp_memory = cmp(1500);
    let block: &[Do] = &[Work(0, 1000)];
    assert_eq!(clocks(&node, &[block; 2], false), [1600; 2]);
    // It has 1: half each. What core and memory would take do not multiply.
    node.core.cmp_memory = cmp(1000);
    assert_eq!(clocks(&node, &[block; 2], false), [2000; 2]);
    assert_eq!(clocks(&node, &[&[Work(1000, 10)], &[Work(1000, 10)]], false), [1600; 2], "arithmetic");
    // Shared by who is placed there it is the same: what remains of each rank's rate is slowed by 1.6.
    node.core.memory_law = MemoryLaw::Placed;
    let sites = vec![Site { node: 0, cmp: 0, core: 0 }; 2];
    let memory = |node: &_, sites: &[Site]| -> Vec<f64> {
        MemoryShares::of_ranks(node, sites).iter().map(|part| part.bandwidth).collect()
    };
    assert_eq!(memory(&node, &sites), [0.8e9; 2]);
    node.core.cmp_memory = cmp(1500);
    assert_eq!(memory(&node, &sites), [1e9; 2]);
    assert_eq!(memory(&node, &sites[..1]), [1e9]);
}
