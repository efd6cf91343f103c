//! Expected times of copies within a node by caches and memory, computed by hand: 1 ns per byte by a core, latencies of
//! 10 ns within a CMP and 100 between CMPs.

use crate::support::Do::*;
use crate::support::{Do, clocks, machine, ns, row, run_with, with_link};
use mcpsim::platform::{Contention, Copies, CopyMemory, CopyTraffic, Level, Link, Occupancy, Platform, Protocol, Row};
use mcpsim::units::{Bandwidth, Bytes, SimSpan};

fn rate(gigabytes: f64) -> Option<Bandwidth> {
    Bandwidth::new((gigabytes * 1e9) as u64)
}

/// Creates nodes whose receivers' cores copy; messages up to `eager` bytes are eager.
fn copying(nct: [u32; 3], eager: u64) -> Platform {
    let copies = || Occupancy { copies: Copies::Receiver, ..Occupancy::default() };
    let link = |latency| Link::new(Contention::Fair, Bytes::new(eager), ns(latency), vec![row(latency)]);
    let platform = machine(nct, Contention::Fair);
    let platform = with_link(platform, Level::IntraCmp, link(10).occupying(copies()));
    with_link(platform, Level::InterCmp, link(100).occupying(copies()))
}

/// Adds a cache of this size, and 2 GB/s of memory per CMP.
fn cached(platform: Platform, cache: u64) -> Platform {
    let (cmp, traffic, code) = (rate(2.0), CopyTraffic::Two, 1_000_000_000);
    let memory = CopyMemory { cache: Bytes::new(cache), cmp, node: None, traffic, interconnect: None, code };
    Platform { memory: Some(memory), ..platform }
}

fn with_memory(platform: Platform, change: impl Fn(&mut CopyMemory)) -> Platform {
    let mut memory = platform.memory.expect("it has a cache");
    change(&mut memory);
    Platform { memory: Some(memory), ..platform }
}

/// Creates pairs of neighbours; each first rank sends `count` messages of 1000 bytes.
fn pairs(number: u32, count: usize) -> Vec<Vec<Do>> {
    let ends = |first: u32| {
        let mut send = vec![Isend(first + 1, 1000); count];
        send.push(WaitAll);
        let mut receive = vec![Irecv(first); count];
        receive.push(WaitAll);
        [send, receive]
    };
    (0..number).flat_map(|pair| ends(2 * pair)).collect()
}

/// Returns the clocks of the receiving ranks.
fn received(platform: &Platform, scripts: &[Vec<Do>]) -> Vec<u64> {
    clocks(platform, scripts).into_iter().skip(1).step_by(2).collect()
}

#[test]
fn buffers_that_fit_the_cache_are_copied_at_the_cores_speed() {
    let node = copying([1, 1, 8], 5000);
    for count in [1, 3] {
        let ends = vec![10 + 1000 * count as u64; 4];
        assert_eq!(received(&node, &pairs(4, count)), ends);
        // Eight buffers of 1000 bytes, used repeatedly.
        assert_eq!(received(&cached(node.clone(), 8000), &pairs(4, count)), ends);
    }
}

#[test]
fn copies_beyond_the_cache_share_the_memory_of_a_cmp() {
    for (eager, handshakes) in [(5000, 0), (0, 20)] {
        let node = cached(copying([1, 1, 8], eager), 0);
        // Two bytes are moved per byte copied: 1 GB/s of copies in total, as fast as one core.
        assert_eq!(received(&node, &pairs(1, 1)), [1010 + handshakes]);
        assert_eq!(received(&node, &pairs(2, 1)), [2010 + handshakes; 2]);
        assert_eq!(received(&node, &pairs(4, 2)), [8010 + handshakes; 4]);
        // Three with write-allocate.
        let three = with_memory(node.clone(), |memory| memory.traffic = CopyTraffic::Three);
        assert_eq!(received(&three, &pairs(2, 1)), [3010 + handshakes; 2]);
        // The second begins 500 ns later. Both have half until the first has its other 500 bytes, then the second
        // continues alone.
        let mut later = pairs(2, 1);
        later[2].insert(0, Compute(500));
        assert_eq!(received(&node, &later), [1510 + handshakes, 2010 + handshakes]);
    }
    let slow = with_memory(cached(copying([1, 1, 2], 5000), 0), |memory| memory.cmp = rate(0.5));
    assert_eq!(received(&slow, &pairs(1, 1)), [4010]);
}

#[test]
fn what_is_copied_twice_moves_memory_twice() {
    // Through a segment that both ranks share: written and read once more, at the memory of either side.
    let copies = || Occupancy { copies: Copies::Receiver, ..Occupancy::default() };
    let twice = |latency| vec![Row { copy_count: 2, ..row(latency) }];
    let link = |latency| Link::new(Contention::Fair, Bytes::new(5000), ns(latency), twice(latency)).occupying(copies());
    let of = |nct| {
        let platform = with_link(copying(nct, 5000), Level::IntraCmp, link(10));
        cached(with_link(platform, Level::InterCmp, link(100)), 0)
    };
    let node = of([1, 1, 8]);
    assert_eq!(received(&node, &pairs(1, 1)), [2010]);
    assert_eq!(received(&node, &pairs(2, 1)), [4010; 2]);
    let three = with_memory(node.clone(), |memory| memory.traffic = CopyTraffic::Three);
    assert_eq!(received(&three, &pairs(1, 1)), [3010]);
    // Both copies together are as fast as the core if caches hold the buffers.
    assert_eq!(received(&with_memory(node, |memory| memory.cache = Bytes::new(4000)), &pairs(2, 1)), [1010; 2]);
    let across = [vec![Send(2, 1000)], vec![Send(3, 1000)], vec![Recv(0)], vec![Recv(1)]];
    assert_eq!(clocks(&of([1, 2, 2]), &across)[2..], [2100; 2]);
}

#[test]
fn copies_between_nodes_move_the_receivers_memory() {
    // 1000 ns to the head and, alone, 1000 more to the last byte; the copy begins with the head.
    let copies = || Occupancy { copies: Copies::Receiver, capacity: rate(1.0), ..Occupancy::default() };
    let between = |eager| Link::new(Contention::Fair, Bytes::new(eager), ns(1000), vec![row(1000)]).occupying(copies());
    let of = |eager, cache| cached(with_link(copying([2, 1, 2], 5000), Level::InterNode, between(eager)), cache);
    let one = [vec![Send(2, 1000)], vec![], vec![Recv(0)], vec![]];
    let two = [vec![Send(2, 1000)], vec![Send(3, 1000)], vec![Recv(0)], vec![Recv(1)]];
    let three = |memory: &mut CopyMemory| memory.traffic = CopyTraffic::Three;
    // Out of the library's buffer and into the receiver's: 2 GB/s are sufficient for a core, two thirds of it with
    // write-allocate.
    assert_eq!(clocks(&of(5000, 0), &one)[2], 2000);
    assert_eq!(clocks(&with_memory(of(5000, 0), three), &one)[2], 2500);
    // Both share the adapters, until 3000, and the memory.
    assert_eq!(clocks(&of(5000, 0), &two)[2..], [3000; 2]);
    assert_eq!(clocks(&with_memory(of(5000, 0), three), &two)[2..], [4000; 2]);
    assert_eq!(clocks(&with_memory(of(5000, 2000), three), &two)[2..], [3000; 2], "their buffers are in the cache");
    // Then the same core copies a message from its own node.
    let then = [vec![Send(2, 1000)], vec![], vec![Recv(0), Recv(3)], vec![Send(2, 1000)]];
    assert_eq!(clocks(&with_memory(of(5000, 0), three), &then)[2], 1000 + 1500 + 1500);
    // A message with a later receive is copied from then on.
    let later = [two[0].clone(), two[1].clone(), two[2].clone(), vec![Compute(3500), Recv(1)]];
    assert_eq!(clocks(&with_memory(of(5000, 0), three), &later)[2..], [3000, 5000]);
    // The adapter writes messages that are not eager, because of their size or mode, to the receive buffer.
    assert_eq!(clocks(&with_memory(of(0, 0), three), &one)[2], 4000);
    let synchronous = [vec![SendMode(2, 1000, mcpsim::rank::SendMode::Synchronous)], vec![], one[2].clone(), vec![]];
    assert_eq!(clocks(&with_memory(of(5000, 0), three), &synchronous)[2], 4000);
}

#[test]
fn copies_between_nodes_are_the_same_on_two_workers() {
    // With one credit only the first of a pair's messages is eager, and copied. The others wait for their receivers,
    // whose workers report the end to the senders.
    let copies = Occupancy { copies: Copies::Receiver, capacity: rate(1.0), ..Occupancy::default() };
    let between = Link::new(Contention::Fair, Bytes::new(5000), ns(1000), vec![row(1000)]).occupying(copies);
    let ends = |other: u32| [vec![Irecv(other); 3], vec![Isend(other, 1000); 3], vec![WaitAll]].concat();
    let scripts = [ends(2), ends(3), ends(0), ends(1)];
    for credits in [None, Some(1)] {
        let between = between.clone().with_protocol(Protocol { credits, ..Protocol::default() });
        let platform = cached(with_link(copying([2, 1, 2], 5000), Level::InterNode, between), 0);
        // Memory slower than the adapters, and faster: copies end after the last byte, and before.
        for memory in [0.5, 40.0] {
            let platform = with_memory(platform.clone(), |of| of.cmp = rate(memory));
            let all = [1, 2].map(|workers| {
                let (outcome, _) = run_with(&platform, &scripts, workers).unwrap();
                let copied = outcome.copies.unwrap().count;
                let clocks: Vec<u64> = outcome.per_rank.iter().map(|rank| rank.clock.as_ps()).collect();
                (copied, clocks)
            });
            assert_eq!(all[0], all[1], "{credits:?}, {memory} GB/s");
            assert_eq!(all[0].0, if credits.is_none() { 12 } else { 4 });
        }
    }
}

#[test]
fn what_is_used_in_turn_and_does_not_fit_comes_from_memory() {
    // The cache holds three of four buffers of 1000 bytes. First messages, from 10 to 1010: three buffers fit; the
    // fourth, which rank 3 writes, does not, and moves one byte per byte, not less than the rate of a core. Second
    // messages: all four move from and to memory, at half a core's speed each.
    let node = cached(copying([1, 1, 4], 5000), 3000);
    assert_eq!(received(&node, &pairs(2, 2)), [3010; 2]);
    assert_eq!(received(&cached(copying([1, 1, 4], 5000), 3999), &pairs(2, 2)), [3010; 2]);
    assert_eq!(received(&cached(copying([1, 1, 4], 5000), 4000), &pairs(2, 2)), [2010; 2]);
}

#[test]
fn a_buffer_is_used_when_it_is_copied_not_when_its_message_comes() {
    // Three pairs, three messages each that all arrive at 10; the cache holds four of six buffers. In the order of
    // ranks, all messages of the first pair would find their buffers. But from 10 to 1010 each pair copies its first,
    // the third by memory, which is no slower than its core. Then the buffers of the second messages are evicted, and
    // those of the third. Six bytes move per byte that all three copy, 2 of them per ns, until 4010 and 7010.
    for eager in [5000, 0] {
        let later = if eager == 0 { 20 } else { 0 };
        let node = cached(copying([1, 1, 6], eager), 4000);
        let (outcome, _) = run_with(&node, &pairs(3, 3), 1).unwrap();
        let copies = outcome.copies.unwrap();
        assert_eq!((copies.count, copies.memory_count), (9, 7));
        assert_eq!(received(&node, &pairs(3, 3)), [7010 + later; 3]);
        // All six fit: each core copies its three.
        assert_eq!(received(&cached(copying([1, 1, 6], eager), 6000), &pairs(3, 3)), [3010 + later; 3]);
    }
}

#[test]
fn what_code_moves_drives_buffers_out_of_the_caches() {
    // The first message's buffers stay in the cache. From 3000 to 4000 the sender's code moves 1000 bytes. With these,
    // three buffers exceed 2000 bytes: the second message's are read and written at memory, at 0.5 GB/s.
    let end = |computes: Do, change: &dyn Fn(&mut CopyMemory)| {
        let node = with_memory(cached(copying([1, 1, 2], 5000), 2000), |memory| memory.cmp = rate(0.5));
        let sender = vec![Send(1, 1000), Compute(3000), computes, Send(1, 1000)];
        received(&with_memory(node, change), &[sender, vec![Recv(0), Recv(0)]])
    };
    assert_eq!(end(Code(1000), &|_| ()), [8010]);
    // It fits with more cache; code that is not bound by memory moves nothing, nor does a described block.
    assert_eq!(end(Code(1000), &|memory| memory.cache = Bytes::new(3000)), [5010]);
    assert_eq!(end(Code(1000), &|memory| memory.code = 0), [5010]);
    assert_eq!(end(Compute(1000), &|_| ()), [5010]);
    // Half of it moves 500 bytes: the sender's buffer, the least recently used, is evicted, and then the receiver's.
    assert_eq!(end(Code(1000), &|memory| memory.code = 500_000_000), [8010]);
}

#[test]
fn what_ranks_copy_to_themselves_goes_through_memory_where_caches_do_not_hold_it() {
    let own = |cache, before: u64, ranks: usize| {
        let node = cached(copying([1, 1, 2], 5000), cache);
        clocks(&node, &vec![vec![Compute(before), Own(1000, 500), Own(1000, 500)]; ranks])
    };
    for before in [0, 300] {
        // 2000 bytes per copy are moved at 2 GB/s; two ranks share that.
        assert_eq!(own(0, before, 1), [before + 2000]);
        assert_eq!(own(0, before, 2), [before + 4000; 2]);
        // Both buffers fit the cache, or one does: then both are moved the second time only.
        assert_eq!(own(2000, before, 1), [before + 1000]);
        assert_eq!(own(1000, before, 1), [before + 500 + 1000]);
        // With room for the buffers of one rank, the first copy of rank 0 is the only one within the cache. Its second
        // begins at 500, when the first of rank 1 has half of it. They share memory to 1500; the next two to 2500.
        assert_eq!(own(4000, before, 2), [before + 1000; 2]);
        assert_eq!(own(2000, before, 2), [before + 2500, before + 3000]);
    }
    // If memory is faster, the core takes its time in caches.
    let fast = with_memory(cached(copying([1, 1, 2], 5000), 1000), |memory| memory.cmp = rate(100.0));
    assert_eq!(clocks(&fast, &[vec![Own(1000, 500)]]), [500]);
    // To combine, one operand is read and written; the other has just arrived.
    let combine = |cache| clocks(&cached(copying([1, 1, 2], 5000), cache), &[vec![Combine(1000, 500); 2]]);
    assert_eq!([combine(0), combine(1000)], [[2000], [1000]]);
    // Copies of messages are concurrent: 2000 bytes of each at 2 GB/s, and the message's first half alone.
    let node = cached(copying([1, 1, 3], 5000), 0);
    let beside = [vec![Send(1, 1000)], vec![Recv(0)], vec![Compute(510), Own(1000, 500)]];
    assert_eq!(clocks(&node, &beside), [0, 1510, 2010]);
    // A copy too small for the cache model takes its own time, here after one that fills the caches: of a larger copy
    // the written bytes are moved.
    let node = cached(copying([1, 1, 2], 5000), 1 << 20);
    let after = |size| clocks(&node, &[vec![Own(1 << 20, 500), Own(size, 500)]])[0] - (1 << 19);
    assert_eq!([after(1024), after(1025)], [500, 1025]);
    // Without caches nothing is moved.
    assert_eq!(clocks(&copying([1, 1, 2], 5000), &[vec![Own(1 << 20, 500)]]), [500]);
}

#[test]
fn each_cmp_has_its_own_memory_and_the_node_may_have_less() {
    // A pair within each of two CMPs.
    let node = cached(copying([1, 2, 2], 5000), 0);
    assert_eq!(received(&node, &pairs(2, 1)), [1010; 2]);
    let poor = with_memory(node.clone(), |memory| memory.node = rate(2.0));
    assert_eq!(received(&poor, &pairs(2, 1)), [2010; 2]);
    // From one CMP to the other: read at one, written at the other; with write-allocate twice.
    let across = [vec![Send(2, 1000)], vec![Send(3, 1000)], vec![Recv(0)], vec![Recv(1)]];
    assert_eq!(clocks(&node, &across)[2..], [1100; 2]);
    let three = with_memory(node, |memory| memory.traffic = CopyTraffic::Three);
    assert_eq!(clocks(&three, &across)[2..], [2100; 2]);
}

#[test]
fn waiting_for_memory_is_contention_and_is_counted() {
    let node = cached(copying([1, 1, 4], 5000), 0);
    let (outcome, _) = run_with(&node, &pairs(2, 1), 1).unwrap();
    let parts = outcome.path.levels.intra_cmp;
    assert_eq!([parts.latency, parts.bytes, parts.contention], [10, 1000, 1000].map(SimSpan::from_ns));
    let copies = outcome.copies.unwrap();
    assert_eq!((copies.count, copies.memory_count, copies.bytes, copies.memory_bytes), (2, 2, 2000, 2000));
    assert_eq!((copies.moved_bytes, copies.busiest_bytes, copies.cmp_bytes_per_s), (4000, 4000, 2_000_000_000));
    // Each took 1000 ns longer than its core alone, and waited for no earlier copy.
    assert_eq!((copies.slowed, copies.waited), (SimSpan::from_ns(2000), SimSpan::ZERO));
    // Three messages, all buffers in the cache: the second waits for one copy, the third for two.
    let (outcome, _) = run_with(&cached(copying([1, 1, 4], 5000), 4000), &pairs(1, 3), 1).unwrap();
    let copies = outcome.copies.unwrap();
    assert_eq!((copies.count, copies.memory_count, copies.waited), (3, 0, SimSpan::from_ns(3000)));
}

#[test]
fn without_keys_and_under_other_laws_nothing_changes() {
    let scripts = pairs(4, 3);
    for law in [Contention::Ideal, Contention::Share, Contention::Queue] {
        let platform = machine([1, 1, 8], law);
        let (plain, _) = run_with(&platform, &scripts, 1).unwrap();
        let (stated, _) = run_with(&cached(platform, 0), &scripts, 1).unwrap();
        assert_eq!((plain.per_rank, plain.path), (stated.per_rank, stated.path), "{law:?}");
    }
}

#[test]
fn any_number_of_workers_finds_the_same() {
    let platform = with_memory(cached(copying([6, 2, 1], 5000), 20_000), |memory| memory.node = rate(3.0));
    let scripts: Vec<Vec<Do>> = (0..12u32)
        .map(|me| {
            let mut lines = vec![Compute(u64::from(me * 7919 % 3001))];
            for _ in 0..3 {
                lines.extend((1..12).map(|by| Irecv((me + 12 - by) % 12)));
                lines.extend((1..12).map(|by| Isend((me + by) % 12, u64::from(me * by) * 997 + 10)));
                lines.push(WaitAll);
            }
            lines
        })
        .collect();
    let (one, _) = run_with(&platform, &scripts, 1).unwrap();
    let (plain, _) = run_with(&Platform { memory: None, ..platform.clone() }, &scripts, 1).unwrap();
    assert_ne!(one.per_rank, plain.per_rank, "memory counts here");
    for workers in [2, 3, 6] {
        let (several, _) = run_with(&platform, &scripts, workers).unwrap();
        assert_eq!(one.per_rank, several.per_rank, "{workers} workers");
        assert_eq!((&one.path, &one.levels, one.copies), (&several.path, &several.levels, several.copies));
    }
}
