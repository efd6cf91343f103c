//! Expected times of copies that share the interconnect between the CMPs of a node, computed by hand: 1 ns per byte by
//! a core, latencies of 10 ns within a CMP and 100 between CMPs, 1 GB/s each way of a CMP unless stated.

use crate::support::Do::*;
use crate::support::{Do, clocks, machine, ns, row, run_with, with_link};
use mcpsim::platform::{Contention, Copies, CopyMemory, CopyTraffic, Level, Link, MemorySharing, Occupancy, Platform};
use mcpsim::profile::SharedKind;
use mcpsim::units::{Bandwidth, Bytes};

fn rate(gigabytes: f64) -> Option<Bandwidth> {
    Bandwidth::new((gigabytes * 1e9) as u64)
}

/// Creates a node of two CMPs of four cores with this interconnect bandwidth each way; messages up to `eager` bytes are
/// eager.
fn node(gigabytes: f64, eager: u64) -> Platform {
    let copies = || Occupancy { copies: Copies::Receiver, ..Occupancy::default() };
    let link = |latency| Link::new(Contention::Fair, Bytes::new(eager), ns(latency), vec![row(latency)]);
    let platform = machine([1, 2, 4], Contention::Fair);
    let platform = with_link(platform, Level::IntraCmp, link(10).occupying(copies()));
    let platform = with_link(platform, Level::InterCmp, link(100).occupying(copies()));
    Platform { memory: rate(gigabytes).map(CopyMemory::of_interconnect), ..platform }
}

/// Creates messages of 2000 bytes between pairs of ranks; the sender first computes for the given time in ns.
fn messages(of: &[(usize, usize, u64)]) -> Vec<Vec<Do>> {
    let mut scripts: Vec<Vec<Do>> = (0..8).map(|_| Vec::new()).collect();
    for &(from, to, later) in of {
        scripts[from].extend([Compute(later), Send(to as u32, 2000)]);
        scripts[to].push(Recv(from as u32));
    }
    scripts
}

/// Returns the times at which these messages have been received.
fn received(platform: &Platform, of: &[(usize, usize, u64)]) -> Vec<u64> {
    let clocks = clocks(platform, &messages(of));
    of.iter().map(|&(_, to, _)| clocks[to]).collect()
}

#[test]
fn a_copy_alone_is_no_faster_than_what_is_between_cmps() {
    // 2000 bytes at 0.5 GB/s in place of the core's 1 GB/s; two copies have half of it each.
    let narrow = node(0.5, 5000);
    assert_eq!(received(&narrow, &[(0, 4, 0)]), [4100]);
    assert_eq!(received(&narrow, &[(0, 4, 0), (1, 5, 0)]), [8100; 2]);
}

#[test]
fn copies_from_one_cmp_to_another_share_what_is_between_them() {
    for (eager, handshakes) in [(5000, 0), (0, 200)] {
        let one = node(1.0, eager);
        assert_eq!(received(&one, &[(0, 4, 0)]), [2100 + handshakes]);
        assert_eq!(received(&one, &[(0, 4, 0), (1, 5, 0)]), [4100 + handshakes; 2]);
        // The other direction is independent, and so is a message within a CMP.
        assert_eq!(received(&one, &[(0, 4, 0), (5, 1, 0)]), [2100 + handshakes; 2]);
        assert_eq!(received(&one, &[(0, 4, 0), (1, 5, 0), (6, 2, 0)])[2], 2100 + handshakes);
        let within = if eager == 0 { 20 } else { 0 };
        assert_eq!(received(&one, &[(0, 4, 0), (1, 5, 0), (2, 3, 0)])[2], 2010 + within);
        // The second begins 1000 ns later, when the first has half its bytes. Both have half the rate until the first
        // has the rest 2000 ns later; then the second continues alone with its other half.
        assert_eq!(received(&one, &[(0, 4, 0), (1, 5, 1000)]), [3100 + handshakes, 4100 + handshakes]);
        // Three share 2 GB/s: 3 ns for two bytes.
        assert_eq!(received(&node(2.0, eager), &[(0, 4, 0), (1, 5, 0), (2, 6, 0)]), [3100 + handshakes; 3]);
    }
}

#[test]
fn it_is_shared_where_blocks_share_memory_too() {
    let mut one = node(1.0, 5000);
    one.core.memory_sharing = MemorySharing::Fair;
    assert_eq!(received(&one, &[(0, 4, 0), (1, 5, 0), (6, 2, 0)]), [4100, 4100, 2100]);
    assert_eq!(received(&one, &[(0, 4, 0), (1, 5, 1000)]), [3100, 4100]);
}

#[test]
fn messages_below_a_kibibyte_do_not_count() {
    let of = |bytes: u64| {
        let ends = |to: u32| vec![Send(to, bytes)];
        let mut scripts = messages(&[]);
        (scripts[0], scripts[1]) = (ends(4), ends(5));
        (scripts[4], scripts[5]) = (vec![Recv(0)], vec![Recv(1)]);
        clocks(&node(1.0, 5000), &scripts)[5]
    };
    assert_eq!((of(1023), of(1024)), (100 + 1023, 100 + 2 * 1024));
}

#[test]
fn ranks_that_cannot_fill_it_do_not_ask() {
    // Four cores on each side copy 4 GB/s at most.
    let all = [(0, 4, 0), (1, 5, 0), (2, 6, 0), (3, 7, 0)];
    assert_eq!(received(&node(4.0, 5000), &all), [2100; 4]);
    let (outcome, _) = run_with(&node(4.0, 5000), &messages(&all), 1).unwrap();
    assert!(outcome.utilisation.iter().all(|used| used.resource != SharedKind::Interconnect || used.mean == 0.0));
    assert_eq!(received(&node(3.0, 5000), &all), [2766; 4], "2000 bytes at 0.75 of a core's rate, whole ns");
}

#[test]
fn it_counts_beside_memory_beyond_caches() {
    // Each byte is read at one CMP's memory and written at the other's, which have 2 GB/s each. The two copies need no
    // more, and share 1 GB/s between the CMPs.
    let traffic = CopyTraffic::Two;
    let memory = |cmp: f64| CopyMemory {
        cache: Bytes::ZERO,
        cmp: rate(cmp),
        node: None,
        traffic,
        interconnect: rate(1.0),
        code: 0,
    };
    let of = |cmp: f64| Platform { memory: Some(memory(cmp)), ..node(1.0, 5000) };
    assert_eq!(received(&of(2.0), &[(0, 4, 0), (1, 5, 0)]), [4100; 2]);
    // With half the memory bandwidth, memory is the limit: 0.25 GB/s each.
    assert_eq!(received(&of(0.5), &[(0, 4, 0), (1, 5, 0)]), [8100; 2]);
    // In opposite directions: each memory reads for one copy and writes for the other; the interconnect is no limit.
    assert_eq!(received(&of(1.0), &[(0, 4, 0), (5, 1, 0)]), [4100; 2]);
}

#[test]
fn what_it_cost_is_told() {
    for memory in [None, Some(Bytes::new(1 << 20))] {
        let mut platform = node(1.0, 5000);
        if let Some(cache) = memory {
            platform.memory = platform.memory.map(|of| CopyMemory { cache, cmp: rate(8.0), ..of });
        }
        let (outcome, _) = run_with(&platform, &messages(&[(0, 4, 0), (1, 5, 0)]), 1).unwrap();
        let charged = outcome.contention.unwrap().inter_cmp;
        assert_eq!((charged.interconnect, charged.memory, charged.other), (ns(2000), ns(0), ns(0)));
        let used: Vec<_> = outcome.utilisation.iter().filter(|of| of.resource == SharedKind::Interconnect).collect();
        // Two of four directions, out of the first CMP and into the second, are full for 4000 of 4100 ns.
        assert_eq!(used.len(), 1);
        assert_eq!((used[0].count, used[0].greatest), (4, Some(1.0)));
        assert!((used[0].busiest - 4000.0 / 4100.0).abs() < 1e-9, "{:?}", used[0]);
        assert!((used[0].mean - 2000.0 / 4100.0).abs() < 1e-9, "{:?}", used[0]);
        let copies = outcome.copies.map_or(0, |copies| copies.memory_count);
        assert_eq!(copies, 0, "the buffers are in caches");
    }
}
