//! Expected times of collectives with a buffer that many ranks read or a rank copies, and of messages of a rank to itself, computed by hand on
//! a CMP with a cache. A core copies 1 byte per ns in its cache, and has 1 byte per ns of memory. The latency is 10 ns.
//! Comments give times in ns.

use crate::support::Do::{Irecv, Isend, WaitAll};
use crate::support::collectives::{Line, line_clocks, part_by, same};
use crate::support::{clocks, machine, ns, row, with_link};
use mcpsim::platform::{
    Algorithm, Collective, Contention, Copies, CopyMemory, CopyTraffic, Level, Link, Occupancy, Platform, Row,
};
use mcpsim::units::{Bandwidth, Bytes};

/// Creates a CMP of four cores. Without `cache` the machine models no caches. Memory has 2 bytes per ns.
fn cmp(cache: Option<u64>, within: Row) -> Platform {
    cmp_with(2_000_000_000, cache, within)
}

/// Creates the same CMP with `memory` bytes of memory per second.
fn cmp_with(memory: u64, cache: Option<u64>, within: Row) -> Platform {
    let copies = Occupancy { copies: Copies::Receiver, ..Occupancy::default() };
    let link = Link::new(Contention::Fair, Bytes::MAX, ns(10), vec![within]).occupying(copies);
    let platform = with_link(machine([1, 1, 4], Contention::Fair), Level::IntraCmp, link);
    let (cmp, traffic, replacement) = (Bandwidth::new(memory), CopyTraffic::Two, Default::default());
    let memory = cache.map(|cache| {
        let cache = Bytes::new(cache);
        CopyMemory { cache, replacement, cmp, node: None, traffic, interconnect: None, code: 0 }
    });
    Platform { memory, ..platform }
}

/// Returns the clocks of `ranks` ranks after one call with blocks of 1000 bytes.
fn after(platform: &Platform, ranks: u32, collective: Collective, algorithm: Algorithm) -> Vec<u64> {
    let call = |rank| vec![Line::Collective(part_by(algorithm, collective, rank, ranks, same(1000)))];
    line_clocks(platform, &(0..ranks).map(call).collect::<Vec<_>>())
}

#[test]
fn a_rank_copies_its_own_block_in_a_cache_as_fast_as_a_message() {
    let alltoall = |cache| after(&cmp(cache, row(10)), 2, Collective::Alltoall, Algorithm::Pairwise);
    // The copy takes 1000, and the exchange 10 + 1000.
    assert_eq!(alltoall(Some(100_000)), [2010; 2]);
    // If the machine models no caches, each byte of the copy is read from memory and written to memory.
    assert_eq!(alltoall(None), [3010; 2]);
    // Beyond the cache the copies of both ranks share the memory, and so do the copies of both messages.
    assert_eq!(alltoall(Some(0)), [2000 + 2010; 2]);
}

#[test]
fn a_buffer_that_many_ranks_read_uses_the_cache_once() {
    // The memory is so slow that a copy beyond the cache takes longer.
    let slow = |cache| cmp_with(500_000_000, Some(cache), row(10));
    let bcast = |cache| after(&slow(cache), 4, Collective::Bcast, Algorithm::Linear);
    assert_eq!(bcast(4 * 1000)[1..], [1010; 3]);
    assert!(bcast(4 * 1000 - 1)[1..].iter().any(|clock| *clock > 1010));
    // Each rank has the copy of its own block, which reads one buffer and writes another one, one buffer that the other
    // ranks read, and three buffers for their blocks.
    let allgather = |cache| after(&slow(cache), 4, Collective::Allgather, Algorithm::Linear);
    let ends = allgather(4 * 6000);
    assert_eq!(ends, [1000 + 10 + 3 * 1000; 4]);
    assert!(allgather(4 * 6000 - 1) > ends);
}

#[test]
fn a_message_of_a_rank_to_itself_is_copied_once() {
    let scripts = |to: u32| {
        let mut scripts = vec![Vec::new(); 2];
        scripts[to as usize] = vec![Irecv(0)];
        scripts[0].extend([Isend(to, 1000), WaitAll]);
        if to > 0 {
            scripts[to as usize].push(WaitAll);
        }
        scripts
    };
    // Two copies through a shared segment together proceed at 1 byte per ns.
    let twice = Row { copy_count: 2, ..row(10) };
    let ends = |cache, to| clocks(&cmp(cache, twice.clone()), &scripts(to))[to as usize];
    for cache in [None, Some(100_000)] {
        assert_eq!([ends(cache, 0), ends(cache, 1)], [10 + 500, 10 + 1000]);
    }
    // Beyond the cache, two copies move 4 bytes of memory per byte, one copy moves 2.
    assert_eq!([ends(Some(0), 0), ends(Some(0), 1)], [10 + 1000, 10 + 2000]);
}
