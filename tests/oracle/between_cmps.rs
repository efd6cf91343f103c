//! Expected times of copies that share the interconnect between the CMPs of a node, computed by hand. A core copies 1
//! byte per ns. Latencies are 10 ns within a CMP and 100 ns between CMPs. The interconnect of a CMP has 1 GB/s in each
//! direction, unless a test states another bandwidth.

use crate::support::Do::*;
use crate::support::{Do, clocks, machine, ns, row, run_with, with_link};
use mcpsim::platform::{Contention, Copies, CopyMemory, CopyTraffic, Level, Link, MemorySharing, Occupancy, Platform};
use mcpsim::profile::SharedKind;
use mcpsim::units::{Bandwidth, Bytes};

fn rate(gigabytes: f64) -> Option<Bandwidth> {
    Bandwidth::new((gigabytes * 1e9) as u64)
}

/// Creates a node of two CMPs with four cores each. `gigabytes` is the bandwidth of the interconnect in GB/s in each
/// direction. Messages of up to `eager` bytes are eager.
fn node(gigabytes: f64, eager: u64) -> Platform {
    let copies = || Occupancy { copies: Copies::Receiver, ..Occupancy::default() };
    let link = |latency| Link::new(Contention::Fair, Bytes::new(eager), ns(latency), vec![row(latency)]);
    let platform = machine([1, 2, 4], Contention::Fair);
    let platform = with_link(platform, Level::IntraCmp, link(10).occupying(copies()));
    let platform = with_link(platform, Level::InterCmp, link(100).occupying(copies()));
    Platform { memory: rate(gigabytes).map(CopyMemory::of_interconnect), ..platform }
}

/// Creates scripts that send messages of 2000 bytes between pairs of ranks. Each entry contains the sender, the
/// receiver, and the time in ns that the sender computes before the send.
fn messages(of: &[(usize, usize, u64)]) -> Vec<Vec<Do>> {
    let mut scripts: Vec<Vec<Do>> = (0..8).map(|_| Vec::new()).collect();
    for &(from, to, later) in of {
        scripts[from].extend([Compute(later), Send(to as u32, 2000)]);
        scripts[to].push(Recv(from as u32));
    }
    scripts
}

/// Returns the times in ns at which the receivers have received these messages.
fn received(platform: &Platform, of: &[(usize, usize, u64)]) -> Vec<u64> {
    let clocks = clocks(platform, &messages(of));
    of.iter().map(|&(_, to, _)| clocks[to]).collect()
}

#[test]
fn a_copy_alone_is_no_faster_than_what_is_between_cmps() {
    // One copy moves its 2000 bytes at the interconnect's 0.5 GB/s instead of the core's 1 GB/s. Two copies in the same
    // direction have half of the interconnect's bandwidth each.
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
        // Messages in the other direction and messages within a CMP do not share the bandwidth of this direction of the
        // interconnect.
        assert_eq!(received(&one, &[(0, 4, 0), (5, 1, 0)]), [2100 + handshakes; 2]);
        assert_eq!(received(&one, &[(0, 4, 0), (1, 5, 0), (6, 2, 0)])[2], 2100 + handshakes);
        let within = if eager == 0 { 20 } else { 0 };
        assert_eq!(received(&one, &[(0, 4, 0), (1, 5, 0), (2, 3, 0)])[2], 2010 + within);
        // The second copy begins 1000 ns later, when the first copy has moved half of its bytes. Both copies then have
        // half of the rate until the first copy ends 2000 ns later. The second copy moves its remaining half alone.
        assert_eq!(received(&one, &[(0, 4, 0), (1, 5, 1000)]), [3100 + handshakes, 4100 + handshakes]);
        // Three copies share 2 GB/s, so each copy needs 3 ns for two bytes.
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
    // Four concurrent copies by four cores of a CMP move at most 4 GB/s.
    let all = [(0, 4, 0), (1, 5, 0), (2, 6, 0), (3, 7, 0)];
    assert_eq!(received(&node(4.0, 5000), &all), [2100; 4]);
    let (outcome, _) = run_with(&node(4.0, 5000), &messages(&all), 1).unwrap();
    assert!(outcome.utilisation.iter().all(|used| used.resource != SharedKind::Interconnect || used.mean == 0.0));
    assert_eq!(received(&node(3.0, 5000), &all), [2766; 4], "2000 bytes at 0.75 of a core's rate, whole ns");
}

#[test]
fn it_counts_beside_memory_beyond_caches() {
    // Each byte is read from one CMP's memory and written to the other CMP's memory. The memory of each CMP has 2 GB/s,
    // which is sufficient for the two copies. The copies share the interconnect's 1 GB/s.
    let traffic = CopyTraffic::Two;
    let memory = |cmp: f64| CopyMemory {
        cache: Bytes::ZERO,
        replacement: Default::default(),
        cmp: rate(cmp),
        node: None,
        traffic,
        interconnect: rate(1.0),
        code: 0,
    };
    let of = |cmp: f64| Platform { memory: Some(memory(cmp)), ..node(1.0, 5000) };
    assert_eq!(received(&of(2.0), &[(0, 4, 0), (1, 5, 0)]), [4100; 2]);
    // With a quarter of the memory bandwidth, memory limits the copies to 0.25 GB/s each.
    assert_eq!(received(&of(0.5), &[(0, 4, 0), (1, 5, 0)]), [8100; 2]);
    // The two copies move in opposite directions. The memory of each CMP is read by one copy and written by the other
    // copy. The interconnect does not limit the copies.
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
        // Of the four directions of the two CMPs, out of the first CMP and into the second CMP are fully used for 4000
        // ns of 4100 ns.
        assert_eq!(used.len(), 1);
        assert_eq!((used[0].count, used[0].greatest), (4, Some(1.0)));
        assert!((used[0].busiest - 4000.0 / 4100.0).abs() < 1e-9, "{:?}", used[0]);
        assert!((used[0].mean - 2000.0 / 4100.0).abs() < 1e-9, "{:?}", used[0]);
        let copies = outcome.copies.map_or(0, |copies| copies.memory_count);
        assert_eq!(copies, 0, "the buffers are in caches");
    }
}
