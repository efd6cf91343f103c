//! Expected times of local execution blocks that share memory bandwidth over time, computed by hand. A core moves 1
//! byte per ns.

use crate::support::Do::*;
use crate::support::{Do, clocks, machine, ns, row, run_placed, run_with, with_link};
use mcpsim::engine::RunError;
use mcpsim::platform::{
    Contention, Copies, CopyMemory, CopyTraffic, Level, Link, MemorySharing, Occupancy, Placement, Platform, Site,
};
use mcpsim::profile::{Change, WhatIf};
use mcpsim::units::{Bandwidth, Bytes, SimSpan};

fn rate(gigabytes: f64) -> Bandwidth {
    Bandwidth::new((gigabytes * 1e9) as u64).unwrap()
}

/// Creates nodes on which the cores of a CMP share the memory bandwidth `of_cmp` in GB/s over time.
fn sharing(nct: [u32; 3], of_cmp: f64) -> Platform {
    let mut platform = machine(nct, Contention::Ideal);
    (platform.core.cmp_memory, platform.core.memory_sharing) = (rate(of_cmp), MemorySharing::Fair);
    platform
}

fn blocks(each: &[&[Do]]) -> Vec<Vec<Do>> {
    each.iter().map(|lines| lines.to_vec()).collect()
}

#[test]
fn a_block_alone_takes_the_longer_of_core_and_memory() {
    for of_cmp in [1.5, 4.0] {
        let node = sharing([1, 1, 2], of_cmp);
        let lone = |block: Do| clocks(&node, &blocks(&[&[block], &[]]))[0];
        assert_eq!([lone(Work(500, 1000)), lone(Work(2000, 1000)), lone(Work(700, 0))], [1000, 2000, 700]);
    }
    // The bandwidth of the CMP, 0.5 bytes per ns, limits a single core.
    assert_eq!(clocks(&sharing([1, 1, 1], 0.5), &blocks(&[&[Work(0, 1000)]])), [2000]);
}

#[test]
fn blocks_share_memory_for_as_long_as_they_are_under_way() {
    let node = sharing([1, 1, 4], 1.0);
    // In the first case both computing blocks have half of the memory bandwidth for the whole time. In the second case
    // the second block begins at 500 ns and moves its last bytes alone.
    assert_eq!(clocks(&node, &blocks(&[&[Work(0, 1000)], &[Work(0, 1000)]])), [2000; 2]);
    let second = [Compute(500), Work(0, 1000)];
    assert_eq!(clocks(&node, &blocks(&[&[Work(0, 1000)], &second])), [1500, 2000]);
    // A third block runs from 1000 to 1300 ns, while each block has a third of the bandwidth. Rank 0 has moved 750
    // bytes at 1000 ns and 850 bytes at 1300 ns, and ends at 1600 ns. Rank 1 has moved 250, 350 and 500 bytes at these
    // times, and moves its last 500 bytes alone.
    let third = [Compute(1000), Work(0, 100)];
    assert_eq!(clocks(&node, &blocks(&[&[Work(0, 1000)], &second, &third])), [1600, 2100, 1300]);
    // Blocks that run one after another do not share the bandwidth.
    assert_eq!(clocks(&node, &blocks(&[&[Work(0, 1000)], &[Compute(1000), Work(0, 1000)]])), [1000, 2000]);
}

#[test]
fn a_block_that_its_core_bounds_asks_for_no_more_than_it_needs() {
    // A block with 1000 bytes and 4000 ns of work needs a quarter of a byte per ns, so the other block gets the
    // remaining bandwidth.
    let node = sharing([1, 1, 4], 1.0);
    let own = clocks(&node, &blocks(&[&[Work(4000, 1000)], &[Work(0, 600)]]));
    assert_eq!(own[0], 4000);
    // The demand of a block is rounded up by less than 0.4 %, so the expected time is a range.
    assert!((800..804).contains(&own[1]), "{own:?}");
    // Five blocks need a quarter of the bandwidth each and get a fifth.
    let node = sharing([1, 1, 5], 1.0);
    assert_eq!(clocks(&node, &vec![vec![Work(4000, 1000)]; 5]), [5000; 5]);
    // If the demands of all blocks together equal the bandwidth, or nearly equal it, no block waits.
    assert_eq!(clocks(&node, &vec![vec![Work(4000, 1000)]; 4]), [4000; 4]);
}

#[test]
fn computing_divides_into_time_alone_and_waiting_for_memory() {
    // Four blocks of 1000 bytes have a quarter of the memory each: 1000 ns alone and 3000 ns of waiting. With twice the
    // memory bandwidth the blocks take 2000 ns. The last 500 ns of rank 1 use no memory.
    let one = [Work(0, 1000)];
    let scripts = blocks(&[&one, &[Work(0, 1000), Compute(500)], &one, &one]);
    let (outcome, _) = run_with(&sharing([1, 1, 4], 1.0), &scripts, 1).unwrap();
    for rank in &outcome.per_rank {
        assert_eq!(rank.parts.memory, ns(3000));
        assert_eq!(rank.parts.total().as_ps(), rank.clock.as_ps());
    }
    assert_eq!((outcome.mean_parts.memory, outcome.path.memory), (ns(3000), ns(3000)));
    assert_eq!(outcome.path.total(), ns(4500));
    let saved = WhatIf::new(None, Change::ComputingMemoryDoubled, ns(2000));
    assert_eq!(outcome.what_if, [saved]);
    assert_eq!(clocks(&sharing([1, 1, 4], 2.0), &scripts), [2000, 2500, 2000, 2000]);
    // Twice the memory bandwidth cannot make a block faster than its core.
    let scripts = blocks(&[&[Work(900, 1000)], &one]);
    let (outcome, _) = run_with(&sharing([1, 1, 2], 1.6), &scripts, 1).unwrap();
    assert_eq!(outcome.predicted.as_ps(), 1_250_000);
    assert_eq!((outcome.path.memory, outcome.what_if[0].saved), (ns(250), ns(250)));
    assert_eq!(clocks(&sharing([1, 1, 2], 3.2), &scripts), [1000; 2]);
    // A message carries the waiting of its sender to the path of the receiver, also to another worker.
    let scripts = blocks(&[&[Work(0, 1000), Send(2, 8)], &one, &[Recv(0)], &[]]);
    for workers in [1, 2] {
        let (outcome, _) = run_with(&sharing([2, 1, 2], 1.0), &scripts, workers).unwrap();
        assert_eq!((outcome.path.memory, outcome.mean_parts.memory), (ns(1000), ns(500)), "{workers}");
    }
}

#[test]
fn each_cmp_has_its_memory_and_a_node_may_have_less() {
    let mut node = sharing([1, 2, 2], 1.0);
    let all = vec![vec![Work(0, 1000)]; 4];
    assert_eq!(clocks(&node, &all), [2000; 4]);
    assert_eq!(clocks(&node, &blocks(&[&[Work(0, 1000)], &[], &[Work(0, 1000)]])), [1000, 0, 1000]);
    node.core.node_memory = rate(1.0);
    assert_eq!(clocks(&node, &all), [4000; 4]);
    assert_eq!(clocks(&node, &blocks(&[&[Work(0, 1000)], &[], &[Work(0, 1000)]])), [2000, 0, 2000]);
    // Nodes do not share memory bandwidth. One of the nodes has half of the bandwidth of the other node.
    let mut nodes = sharing([2, 1, 2], 1.0);
    nodes.conditions.nodes.memory = vec![1.0, 0.5];
    assert_eq!(clocks(&nodes, &all), [2000, 2000, 4000, 4000]);
    assert_eq!(clocks(&nodes, &blocks(&[&[Work(0, 1000)], &[], &[Work(0, 1000)], &[]])), [1000, 0, 2000, 0]);
}

#[test]
fn ranks_of_one_core_take_turns_at_it() {
    let site = Site { node: 0, cmp: 0, core: 0 };
    let run = |of_cmp: f64, sites: Vec<Site>| {
        let scripts = vec![vec![Work(300, 1000)]; sites.len()];
        let (outcome, _) = run_placed(&sharing([1, 1, 2], of_cmp), sites, &scripts, 1).unwrap();
        outcome.per_rank.iter().map(|rank| rank.clock.as_ps() / 1000).collect::<Vec<_>>()
    };
    assert_eq!(run(2.0, vec![site; 2]), [2000; 2]);
    // The third rank is alone on its core. All three ranks have a third of the memory bandwidth.
    assert_eq!(run(1.0, vec![site, site, Site { core: 1, ..site }]), [3000; 3]);
}

#[test]
fn copies_and_blocks_share_one_memory() {
    let link = |latency| Link::new(Contention::Fair, Bytes::MAX, ns(latency), vec![row(latency)]);
    let copies = Occupancy { copies: Copies::Receiver, ..Occupancy::default() };
    let memory = CopyMemory {
        cache: Bytes::ZERO,
        replacement: Default::default(),
        cmp: Some(rate(2.0)),
        node: None,
        traffic: CopyTraffic::Two,
        interconnect: None,
        code: 0,
    };
    let node = |of_cmp| {
        let node = with_link(sharing([1, 1, 4], of_cmp), Level::IntraCmp, link(10).occupying(copies.clone()));
        Platform { memory: Some(memory), ..node }
    };
    let with_block = |bytes| blocks(&[&[Send(1, 1000)], &[Recv(0)], &[Work(0, bytes)]]);
    // From 10 ns on, the copy and the block share the memory bandwidth. The copy moves two bytes per copied byte, so
    // copy and block progress at 2/3 of a byte per ns. The block ends at 1495 ns, when the copy has 10 more bytes to
    // copy.
    assert_eq!(clocks(&node(2.0), &with_block(1000))[1..], [1505, 1495]);
    assert_eq!(clocks(&node(2.0), &with_block(0))[1..], [1010, 0]);
    // Memory moves 4 bytes per ns. A single copy uses only 2 bytes per ns, because each copied byte is moved twice.
    assert_eq!(clocks(&node(4.0), &with_block(10_000))[1..], [1260, 10_250]);
    let two = blocks(&[&[Send(1, 1000)], &[Recv(0)], &[Send(3, 1000)], &[Recv(2)]]);
    assert_eq!(clocks(&node(4.0), &two), [10, 2010, 10, 2010].map(|end| if end == 10 { 0 } else { end }));
}

#[test]
fn what_others_cost_a_block_is_computing_and_is_counted() {
    let (outcome, _) = run_with(&sharing([1, 1, 4], 1.0), &vec![vec![Work(0, 1000)]; 2], 1).unwrap();
    assert_eq!(outcome.path.compute, SimSpan::from_ns(2000));
    let found = outcome.blocks.unwrap();
    assert_eq!((found.count, found.bytes, found.slowed_count, found.slowed), (2, 2000, 2, SimSpan::from_ns(2000)));
    let (outcome, _) = run_with(&sharing([1, 1, 4], 1.0), &vec![vec![Compute(1000)]; 2], 1).unwrap();
    assert_eq!(outcome.blocks, None);
}

#[test]
fn many_unlike_blocks_are_recorded_and_replayed_as_they_were() {
    // The blocks have more different lengths than a trace has operations. The test also replays the trace of the run.
    let lines = |rank: u64| (0..200).map(|turn| Work(7 * turn + rank, 100 + 13 * (turn % 90) * rank)).collect();
    let (outcome, _) = run_with(&sharing([1, 1, 3], 1.5), &(0..3).map(lines).collect::<Vec<Vec<Do>>>(), 1).unwrap();
    let found = outcome.blocks.unwrap();
    assert!(found.count == 600 && found.slowed_count > 100, "{found:?}");
}

#[test]
fn a_block_that_never_ends_is_an_error() {
    // Each block alone takes 200 days. Two concurrent blocks take twice as long, which exceeds the greatest virtual
    // time.
    let days = 200 * 24 * 3600 * 1_000_000_000;
    let ran = run_with(&sharing([1, 1, 2], 1.0), &vec![vec![Work(0, days)]; 2], 1);
    assert!(matches!(ran, Err(RunError::ClockOverflow { rank: 0, .. })), "{ran:?}");
}

#[test]
fn any_number_of_workers_finds_the_same() {
    let mut platform = sharing([6, 2, 1], 0.7);
    platform.core.node_memory = rate(0.9);
    let scripts: Vec<Vec<Do>> = (0..12u32)
        .map(|me| {
            let mut lines = vec![Compute(u64::from(me * 7919 % 3001))];
            for turn in 0..3u64 {
                lines.extend((1..12).map(|by| Irecv((me + 12 - by) % 12)));
                lines.push(Work(u64::from(me) * 100 * turn, 1000 + u64::from(me * 31 % 7) * 100));
                lines.extend((1..12).map(|by| Isend((me + by) % 12, u64::from(me * by) * 7 + 10)));
                lines.push(Start(vec![Work(0, 500 * turn)]));
                lines.push(Work(0, 300));
                lines.push(WaitAll);
            }
            lines
        })
        .collect();
    let (one, _) = run_with(&platform, &scripts, 1).unwrap();
    assert!(one.blocks.is_some_and(|blocks| blocks.slowed_count > 0), "memory counts here");
    for workers in [2, 3, 6] {
        let (several, _) = run_with(&platform, &scripts, workers).unwrap();
        assert_eq!(one.per_rank, several.per_rank, "{workers} workers");
        assert_eq!((&one.path, &one.levels, one.blocks), (&several.path, &several.levels, several.blocks));
    }
    let sites = Placement::Cyclic.sites(platform.shape, 12, false).unwrap();
    let (cyclic, _) = run_placed(&platform, sites, &scripts, 1).unwrap();
    assert_ne!(one.per_rank, cyclic.per_rank, "who is where counts");
}
