//! Expected times of copies within a node, which depend on caches and memory, computed by hand. A core copies 1 byte
//! per ns. Latencies are 10 ns within a CMP and 100 ns between CMPs. Comments give times in ns.

use crate::support::Do::*;
use crate::support::{Do, clocks, machine, ns, row, run_with, with_link};
use mcpsim::platform::{
    CacheReplacement, Contention, Copies, CopyMemory, CopyTraffic, Level, Link, Occupancy, Platform, Protocol, Row,
};
use mcpsim::units::{Bandwidth, Bytes, SimSpan};

fn rate(gigabytes: f64) -> Option<Bandwidth> {
    Bandwidth::new((gigabytes * 1e9) as u64)
}

/// Creates nodes on which the receiver's core copies the data of each message. Messages of up to `eager` bytes are
/// eager.
fn copying(nct: [u32; 3], eager: u64) -> Platform {
    let copies = || Occupancy { copies: Copies::Receiver, ..Occupancy::default() };
    let link = |latency| Link::new(Contention::Fair, Bytes::new(eager), ns(latency), vec![row(latency)]);
    let platform = machine(nct, Contention::Fair);
    let platform = with_link(platform, Level::IntraCmp, link(10).occupying(copies()));
    with_link(platform, Level::InterCmp, link(100).occupying(copies()))
}

/// Adds a cache of `cache` bytes and a memory bandwidth of 2 GB/s to each CMP.
fn cached(platform: Platform, cache: u64) -> Platform {
    let (cmp, traffic, code) = (rate(2.0), CopyTraffic::Two, 1_000_000_000);
    let (cache, replacement) = (Bytes::new(cache), CacheReplacement::LeastRecent);
    let memory = CopyMemory { cache, replacement, cmp, node: None, traffic, interconnect: None, code };
    Platform { memory: Some(memory), ..platform }
}

fn with_memory(platform: Platform, change: impl Fn(&mut CopyMemory)) -> Platform {
    let mut memory = platform.memory.expect("it has a cache");
    change(&mut memory);
    Platform { memory: Some(memory), ..platform }
}

/// Creates scripts for `number` pairs of neighbouring ranks. The first rank of each pair sends `count` messages of 1000
/// bytes to the second rank.
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

/// Returns the clocks in ns of the receiving ranks at the end.
fn received(platform: &Platform, scripts: &[Vec<Do>]) -> Vec<u64> {
    clocks(platform, scripts).into_iter().skip(1).step_by(2).collect()
}

#[test]
fn buffers_that_fit_the_cache_are_copied_at_the_cores_speed() {
    let node = copying([1, 1, 8], 5000);
    for count in [1, 3] {
        let ends = vec![10 + 1000 * count as u64; 4];
        assert_eq!(received(&node, &pairs(4, count)), ends);
        // The messages use eight buffers of 1000 bytes repeatedly, which all fit in the cache.
        assert_eq!(received(&cached(node.clone(), 8000), &pairs(4, count)), ends);
    }
}

#[test]
fn copies_beyond_the_cache_share_the_memory_of_a_cmp() {
    for (eager, handshakes) in [(5000, 0), (0, 20)] {
        let node = cached(copying([1, 1, 8], eager), 0);
        // Without a cache, two bytes are moved per copied byte. All copies of a CMP together have 1 GB/s, which is the
        // rate of one core.
        assert_eq!(received(&node, &pairs(1, 1)), [1010 + handshakes]);
        assert_eq!(received(&node, &pairs(2, 1)), [2010 + handshakes; 2]);
        assert_eq!(received(&node, &pairs(4, 2)), [8010 + handshakes; 4]);
        // With write-allocate, three bytes are moved per copied byte.
        let three = with_memory(node.clone(), |memory| memory.traffic = CopyTraffic::Three);
        assert_eq!(received(&three, &pairs(2, 1)), [3010 + handshakes; 2]);
        // The second copy begins 500 ns later. Both copies have half of the bandwidth until the first copy has moved
        // its remaining 500 bytes. Then the second copy continues alone.
        let mut later = pairs(2, 1);
        later[2].insert(0, Compute(500));
        assert_eq!(received(&node, &later), [1510 + handshakes, 2010 + handshakes]);
    }
    let slow = with_memory(cached(copying([1, 1, 2], 5000), 0), |memory| memory.cmp = rate(0.5));
    assert_eq!(received(&slow, &pairs(1, 1)), [4010]);
}

#[test]
fn what_is_copied_twice_moves_memory_twice() {
    // The data pass through a memory segment that both ranks share. The data are written and read once more, at the
    // memory of the sender's or the receiver's CMP.
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
    // If the caches hold the buffers, the two copies together are as fast as the core.
    assert_eq!(received(&with_memory(node, |memory| memory.cache = Bytes::new(4000)), &pairs(2, 1)), [1010; 2]);
    let across = [vec![Send(2, 1000)], vec![Send(3, 1000)], vec![Recv(0)], vec![Recv(1)]];
    assert_eq!(clocks(&of([1, 2, 2]), &across)[2..], [2100; 2]);
}

#[test]
fn copies_between_nodes_move_the_receivers_memory() {
    // The head of a message arrives after 1000 ns, and without contention the last byte arrives 1000 later. The copy
    // begins when the head arrives.
    let copies = || Occupancy { copies: Copies::Receiver, capacity: rate(1.0), ..Occupancy::default() };
    let between = |eager| Link::new(Contention::Fair, Bytes::new(eager), ns(1000), vec![row(1000)]).occupying(copies());
    let of = |eager, cache| cached(with_link(copying([2, 1, 2], 5000), Level::InterNode, between(eager)), cache);
    let one = [vec![Send(2, 1000)], vec![], vec![Recv(0)], vec![]];
    let two = [vec![Send(2, 1000)], vec![Send(3, 1000)], vec![Recv(0)], vec![Recv(1)]];
    let three = |memory: &mut CopyMemory| memory.traffic = CopyTraffic::Three;
    // The receiver's core copies from the MPI library's buffer to the receive buffer. A memory bandwidth of 2 GB/s is
    // sufficient for one core. With write-allocate, the copy has two thirds of the core's rate.
    assert_eq!(clocks(&of(5000, 0), &one)[2], 2000);
    assert_eq!(clocks(&with_memory(of(5000, 0), three), &one)[2], 2500);
    // The two messages share the adapters and the memory until 3000 ns.
    assert_eq!(clocks(&of(5000, 0), &two)[2..], [3000; 2]);
    assert_eq!(clocks(&with_memory(of(5000, 0), three), &two)[2..], [4000; 2]);
    assert_eq!(clocks(&with_memory(of(5000, 2000), three), &two)[2..], [3000; 2], "their buffers are in the cache");
    // After the message from the other node, the same core copies a message from its own node.
    let then = [vec![Send(2, 1000)], vec![], vec![Recv(0), Recv(3)], vec![Send(2, 1000)]];
    assert_eq!(clocks(&with_memory(of(5000, 0), three), &then)[2], 1000 + 1500 + 1500);
    // If a receive is posted after its message has arrived, the copy begins when the receive is posted.
    let later = [two[0].clone(), two[1].clone(), two[2].clone(), vec![Compute(3500), Recv(1)]];
    assert_eq!(clocks(&with_memory(of(5000, 0), three), &later)[2..], [3000, 5000]);
    // The adapter writes messages that are not eager directly to the receive buffer. Messages are not eager because of
    // their size or because of the send mode.
    assert_eq!(clocks(&with_memory(of(0, 0), three), &one)[2], 4000);
    let synchronous = [vec![SendMode(2, 1000, mcpsim::rank::SendMode::Synchronous)], vec![], one[2].clone(), vec![]];
    assert_eq!(clocks(&with_memory(of(5000, 0), three), &synchronous)[2], 4000);
}

#[test]
fn copies_between_nodes_are_the_same_on_two_workers() {
    // With one credit, only the first message of a pair of ranks is eager and is copied. The other messages wait for
    // their receivers. The receiver's worker reports the end of such a transfer to the sender's worker.
    let copies = Occupancy { copies: Copies::Receiver, capacity: rate(1.0), ..Occupancy::default() };
    let between = Link::new(Contention::Fair, Bytes::new(5000), ns(1000), vec![row(1000)]).occupying(copies);
    let ends = |other: u32| [vec![Irecv(other); 3], vec![Isend(other, 1000); 3], vec![WaitAll]].concat();
    let scripts = [ends(2), ends(3), ends(0), ends(1)];
    for credits in [None, Some(1)] {
        let between = between.clone().with_protocol(Protocol { credits, ..Protocol::default() });
        let platform = cached(with_link(copying([2, 1, 2], 5000), Level::InterNode, between), 0);
        // With memory slower than the adapters, copies end after the last byte has arrived. With memory faster than the
        // adapters, the arrival of the last byte determines the end.
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
    // The cache holds three of four buffers of 1000 bytes. The first messages are copied from 10 to 1010 ns. Three
    // buffers fit in the cache. The fourth buffer, which rank 3 writes, moves one byte per copied byte to memory, which
    // is not slower than a core. For the second messages, all four buffers are read from or written to memory, at half
    // of a core's speed per copy.
    let node = cached(copying([1, 1, 4], 5000), 3000);
    assert_eq!(received(&node, &pairs(2, 2)), [3010; 2]);
    assert_eq!(received(&cached(copying([1, 1, 4], 5000), 3999), &pairs(2, 2)), [3010; 2]);
    assert_eq!(received(&cached(copying([1, 1, 4], 5000), 4000), &pairs(2, 2)), [2010; 2]);
}

#[test]
fn a_buffer_is_used_when_it_is_copied_not_when_its_message_comes() {
    // Three pairs send three messages each, which all arrive at 10 ns. The cache holds four of the six buffers. From 10
    // to 1010 ns each pair copies its first message. The third pair copies from and to memory, which is not slower than
    // its core. If copies were executed in the order of ranks, the first pair would find its buffers in the cache for
    // all messages. Because the copies are concurrent, the buffers of the second and third messages are evicted before
    // their use. The three copies together move six bytes per copied byte at 2 bytes per ns, so they end at 4010 and
    // 7010 ns.
    for eager in [5000, 0] {
        let later = if eager == 0 { 20 } else { 0 };
        let node = cached(copying([1, 1, 6], eager), 4000);
        let (outcome, _) = run_with(&node, &pairs(3, 3), 1).unwrap();
        let copies = outcome.copies.unwrap();
        assert_eq!((copies.count, copies.memory_count), (9, 7));
        assert_eq!(received(&node, &pairs(3, 3)), [7010 + later; 3]);
        // All six buffers fit in the cache, so each core copies its three messages at full speed.
        assert_eq!(received(&cached(copying([1, 1, 6], eager), 6000), &pairs(3, 3)), [3010 + later; 3]);
    }
}

#[test]
fn with_random_replacement_a_part_of_each_buffer_comes_from_memory() {
    // The cache of 1000 bytes has room for one of the two buffers of a pair of ranks. The memory moves 0.5 bytes per ns.
    // The first message reads a buffer that is in the cache and writes one that is not. It moves one byte per copied
    // byte and takes 2000. With random replacement 10 and 11 of 16 parts of the buffers of the second message are
    // missing, and 11 of both in later messages: 21/16 and 22/16 bytes per copied byte, 2625 and 2750.
    let node = |replacement| {
        let node = with_memory(cached(copying([1, 1, 2], 5000), 1000), |memory| memory.cmp = rate(0.5));
        with_memory(node, |memory| memory.replacement = replacement)
    };
    assert_eq!(received(&node(CacheReplacement::Random), &pairs(1, 1)), [2010]);
    assert_eq!(received(&node(CacheReplacement::Random), &pairs(1, 3)), [10 + 2000 + 2625 + 2750]);
    // Whole buffers are missing if the least recently used buffer is replaced.
    assert_eq!(received(&node(CacheReplacement::LeastRecent), &pairs(1, 3)), [10 + 2000 + 4000 + 4000]);
    // Buffers that fit in the cache stay there.
    let large = with_memory(node(CacheReplacement::Random), |memory| memory.cache = Bytes::new(2000));
    assert_eq!(received(&large, &pairs(1, 3)), [3010]);
}

#[test]
fn what_code_moves_drives_buffers_out_of_the_caches() {
    // The buffers of the first message remain in the cache. From 3000 to 4000 ns the sender's code moves 1000 bytes.
    // Together with these bytes, the two buffers exceed the cache of 2000 bytes. The second message is therefore read
    // from memory and written to memory at 0.5 GB/s.
    let end = |computes: Do, change: &dyn Fn(&mut CopyMemory)| {
        let node = with_memory(cached(copying([1, 1, 2], 5000), 2000), |memory| memory.cmp = rate(0.5));
        let sender = vec![Send(1, 1000), Compute(3000), computes, Send(1, 1000)];
        received(&with_memory(node, change), &[sender, vec![Recv(0), Recv(0)]])
    };
    assert_eq!(end(Code(1000), &|_| ()), [8010]);
    // With a larger cache, the buffers and the data of the code fit into the cache. Code that is not memory-bound and
    // blocks of described applications move no data through the cache.
    assert_eq!(end(Code(1000), &|memory| memory.cache = Bytes::new(3000)), [5010]);
    assert_eq!(end(Code(1000), &|memory| memory.code = 0), [5010]);
    assert_eq!(end(Compute(1000), &|_| ()), [5010]);
    // Code that is half memory-bound moves 500 bytes. The sender's buffer is the least recently used one and is evicted
    // first, followed by the receiver's buffer.
    assert_eq!(end(Code(1000), &|memory| memory.code = 500_000_000), [8010]);
}

#[test]
fn what_ranks_copy_to_themselves_goes_through_memory_where_caches_do_not_hold_it() {
    let own = |cache, before: u64, ranks: usize| {
        let node = cached(copying([1, 1, 2], 5000), cache);
        clocks(&node, &vec![vec![Compute(before), Own(1000, 500), Own(1000, 500)]; ranks])
    };
    for before in [0, 300] {
        // Each copy moves 2000 bytes at 2 GB/s. Two ranks that copy at the same time share the memory bandwidth of 2
        // GB/s.
        assert_eq!(own(0, before, 1), [before + 2000]);
        assert_eq!(own(0, before, 2), [before + 4000; 2]);
        // If both buffers fit in the cache, no bytes are moved to or from memory. If one buffer fits, only the second
        // copy moves the bytes of both buffers.
        assert_eq!(own(2000, before, 1), [before + 1000]);
        assert_eq!(own(1000, before, 1), [before + 500 + 1000]);
        // The cache has room for the buffers of one rank. Only the first copy of rank 0 is within the cache. The second
        // copy of rank 0 begins at 500 ns, when the first copy of rank 1 is half complete. The concurrent copies of the
        // two ranks share the memory bandwidth until 1500 ns, and the next two copies until 2500 ns.
        assert_eq!(own(4000, before, 2), [before + 1000; 2]);
        assert_eq!(own(2000, before, 2), [before + 2500, before + 3000]);
    }
    // If memory is faster than the core, a copy takes as long as within the cache.
    let fast = with_memory(cached(copying([1, 1, 2], 5000), 1000), |memory| memory.cmp = rate(100.0));
    assert_eq!(clocks(&fast, &[vec![Own(1000, 500)]]), [500]);
    // A combination reads and writes one operand in memory. The other operand has just arrived and is in the cache.
    let combine = |cache| clocks(&cached(copying([1, 1, 2], 5000), cache), &[vec![Combine(1000, 500); 2]]);
    assert_eq!([combine(0), combine(1000)], [[2000], [1000]]);
    // A copy of a message and a copy of the program are concurrent. Each copy moves 2000 bytes at 2 GB/s. The copy of
    // the message moves its first half without contention.
    let node = cached(copying([1, 1, 3], 5000), 0);
    let beside = [vec![Send(1, 1000)], vec![Recv(0)], vec![Compute(510), Own(1000, 500)]];
    assert_eq!(clocks(&node, &beside), [0, 1510, 2010]);
    // A copy that is too small for the cache model takes its own time, in this test after a copy that fills the caches.
    // For a larger copy, the written bytes are moved to memory.
    let node = cached(copying([1, 1, 2], 5000), 1 << 20);
    let after = |size| clocks(&node, &[vec![Own(1 << 20, 500), Own(size, 500)]])[0] - (1 << 19);
    assert_eq!([after(1024), after(1025)], [500, 1025]);
    // On a machine without a cache model, copies take only the time of the core.
    assert_eq!(clocks(&copying([1, 1, 2], 5000), &[vec![Own(1 << 20, 500)]]), [500]);
}

#[test]
fn each_cmp_has_its_own_memory_and_the_node_may_have_less() {
    // Two pairs of ranks send messages, one pair within each of two CMPs.
    let node = cached(copying([1, 2, 2], 5000), 0);
    assert_eq!(received(&node, &pairs(2, 1)), [1010; 2]);
    let poor = with_memory(node.clone(), |memory| memory.node = rate(2.0));
    assert_eq!(received(&poor, &pairs(2, 1)), [2010; 2]);
    // Messages are sent from one CMP to the other. Each byte is read from one CMP's memory and written to the other
    // CMP's memory. With write-allocate, the destination memory moves each byte twice.
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
    // Each of the two copies took 1000 ns longer than the core alone would take, and waited for no earlier copy.
    assert_eq!((copies.slowed, copies.waited), (SimSpan::from_ns(2000), SimSpan::ZERO));
    // Three messages arrive at once, and the cache holds all buffers. The second message waits for one copy, and the
    // third message waits for two copies.
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
