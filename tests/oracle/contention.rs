//! Contention of each resource in the `fair` contention model, and utilisation of resources over time, compared with
//! values computed by hand. A byte takes 1 ns. Latencies are 10 ns within a CMP and 1000 ns between nodes. Comments
//! give times in ns.

use crate::support::Do::{self, *};
use crate::support::{machine, ns, row, run_with, with_link};
use mcpsim::engine::Outcome;
use mcpsim::platform::{Contention, Copies, CopyMemory, CopyTraffic, Level, Link, Occupancy, Platform, Row};
use mcpsim::profile::{Change, Resource, ResourceUse, SharedKind};
use mcpsim::units::{Bandwidth, Bytes};

fn rate(gigabytes: f64) -> Option<Bandwidth> {
    Bandwidth::new((gigabytes * 1e9) as u64)
}

/// Creates nodes with one core each. `change` sets the resources that messages between the nodes occupy.
fn network(nodes: u32, row: Row, change: impl Fn(&mut Occupancy)) -> Platform {
    let link = Link::new(Contention::Fair, Bytes::MAX, ns(1000), vec![row]);
    let mut occupancy = Occupancy { capacity: rate(1.0), ..link.occupancy().clone() };
    change(&mut occupancy);
    with_link(machine([nodes, 1, 1], Contention::Fair), Level::InterNode, link.occupying(occupancy))
}

/// Creates a CMP on which the receiver's core copies the data of each message. Messages of up to `eager` bytes are
/// eager.
fn copying(cores: u32, eager: u64) -> Platform {
    let copies = Occupancy { copies: Copies::Receiver, ..Occupancy::default() };
    let link = Link::new(Contention::Fair, Bytes::new(eager), ns(10), vec![row(10)]).occupying(copies);
    with_link(machine([1, 1, cores], Contention::Fair), Level::IntraCmp, link)
}

/// Removes the caches of the platform and sets the memory bandwidth of a CMP in GB/s.
fn through_memory(platform: Platform, gigabytes: f64) -> Platform {
    let cmp = rate(gigabytes);
    let (cache, replacement, traffic) = (Bytes::ZERO, Default::default(), CopyTraffic::Two);
    let memory = CopyMemory { cache, replacement, cmp, node: None, traffic, interconnect: None, code: 0 };
    Platform { memory: Some(memory), ..platform }
}

/// Asserts that the run ends at `end` ns, and that the contention on the critical path is charged to the expected
/// resources with the expected times in ns. The results must be the same for any number of workers.
fn charged(platform: &Platform, scripts: &[Vec<Do>], level: Level, end: u64, expected: &[(Resource, u64)]) -> Outcome {
    charged_within(1, platform, scripts, level, end, expected)
}

/// Variant of [`charged`] that accepts differences of up to `within` ns.
fn charged_within(
    within: u64,
    platform: &Platform,
    scripts: &[Vec<Do>],
    level: Level,
    end: u64,
    expected: &[(Resource, u64)],
) -> Outcome {
    let (outcome, _) = run_with(platform, scripts, 1).unwrap();
    let near = |found: u64, expected: u64| found.abs_diff(expected * 1000) <= within * 1000;
    assert!(near(outcome.predicted.as_ps(), end), "{} ps", outcome.predicted.as_ps());
    let contention = outcome.contention.expect("it is fair");
    let found = contention.level(level).by_resource();
    for (resource, (name, found)) in Resource::ALL.into_iter().zip(found) {
        let expected = expected.iter().find(|(of, _)| *of == resource).map_or(0, |(_, ns)| *ns);
        assert!(near(found.as_ps(), expected), "{name}: {found}, expected {expected} ns; {contention:?}");
    }
    let of_path = outcome.path.level(level).contention;
    let all: mcpsim::units::SimSpan = found.into_iter().map(|(_, time)| time).sum();
    assert_eq!(all + contention.level(level).other, of_path, "the parts sum to the path's contention");
    for workers in 2..=platform.shape.nodes {
        let (other, _) = run_with(platform, scripts, workers).unwrap();
        assert_eq!(other.contention, outcome.contention, "{workers} workers");
        assert_eq!((&other.utilisation, &other.what_if), (&outcome.utilisation, &outcome.what_if), "{workers} workers");
    }
    outcome
}

fn window(to: u32, count: usize, bytes: u64) -> Vec<Do> {
    let mut script = vec![Isend(to, bytes); count];
    script.push(WaitAll);
    script
}

fn window_from(from: u32, count: usize) -> Vec<Do> {
    let mut script = vec![Irecv(from); count];
    script.push(WaitAll);
    script
}

fn used(outcome: &Outcome, kind: SharedKind) -> ResourceUse {
    *outcome.utilisation.iter().find(|used| used.resource == kind).expect("it was used")
}

fn is(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-4, "{found}, expected {expected}");
}

#[test]
fn what_leaves_by_one_adapter_waits_for_it() {
    let scripts = [vec![Isend(1, 100_000), Isend(2, 100_000), WaitAll], vec![Recv(0)], vec![Recv(0)]];
    let platform = network(3, row(1000), |_| {});
    let end = 201_000;
    let outcome = charged(&platform, &scripts, Level::InterNode, end, &[(Resource::AdapterOut, 100_000)]);
    // In this run 200,000 bytes leave through one of three adapters and arrive through the two other adapters.
    let [out, into] = [SharedKind::AdapterOut, SharedKind::AdapterIn].map(|kind| used(&outcome, kind));
    assert_eq!((out.count, out.greatest, into.greatest), (3, Some(1.0), Some(0.5)));
    is(out.busiest, 200.0 / 201.0);
    is(out.mean, 200.0 / 201.0 / 3.0);
    is(into.busiest, 100.0 / 201.0);
    // With twice the capacity, an adapter would save half of the contention, to first order.
    let saved =
        |change| outcome.what_if.iter().find(|what| what.change == change).map(|what| what.saved.as_ps() / 1000);
    assert_eq!(saved(Change::CapacityDoubled), Some(50_000));
    assert_eq!(saved(Change::CopiesDoubled), None);
}

#[test]
fn an_incast_waits_for_the_adapter_inwards() {
    let mut scripts: Vec<Vec<Do>> = (0..4).map(|_| vec![Send(4, 100_000)]).collect();
    scripts.push(vec![Irecv(0), Irecv(1), Irecv(2), Irecv(3), WaitAll]);
    let platform = network(5, row(1000), |_| {});
    charged(&platform, &scripts, Level::InterNode, 401_000, &[(Resource::AdapterIn, 300_000)]);
    // With the rendezvous protocol instead of the eager protocol, the run ends two handshakes later.
    let link = platform.link(Level::InterNode).clone();
    let rendezvous = Link::new(Contention::Fair, Bytes::ZERO, ns(1000), vec![row(1000)]);
    let platform = with_link(platform, Level::InterNode, rendezvous.occupying(link.occupancy().clone()));
    charged(&platform, &scripts, Level::InterNode, 403_000, &[(Resource::AdapterIn, 300_000)]);
}

#[test]
fn a_transfer_is_charged_to_what_it_was_bound_to_each_for_its_time() {
    // Two messages leave rank 0 with half of the bandwidth each. The message of 100 kB arrives at 201,000 ns, when the
    // message of 200 kB has also transferred 100 kB. Then rank 1 sends a message to the destination of the message of
    // 200 kB, and both share the destination's adapter until 401,000 ns.
    let scripts = [
        vec![Isend(2, 200_000), Isend(3, 100_000), WaitAll],
        vec![Compute(200_000), Send(2, 100_000)],
        vec![Recv(0)],
        vec![Recv(0)],
    ];
    let expected = [(Resource::AdapterOut, 100_000), (Resource::AdapterIn, 100_000)];
    // Shares change only at the boundaries of slots of 500 ns, so the results may differ by 500 ns.
    charged_within(500, &network(4, row(1000), |_| {}), &scripts, Level::InterNode, 401_000, &expected);
}

#[test]
fn both_ways_wait_for_what_they_share() {
    let scripts = [vec![Irecv(1), Isend(1, 100_000), WaitAll], vec![Irecv(0), Isend(0, 100_000), WaitAll]];
    for pair in [false, true] {
        let platform = network(2, row(1000), |occupancy| match pair {
            true => occupancy.pair_duplex = rate(1.0),
            false => occupancy.duplex = rate(1.0),
        });
        let outcome = charged(&platform, &scripts, Level::InterNode, 201_000, &[(Resource::Duplex, 100_000)]);
        let both = used(&outcome, if pair { SharedKind::PairDuplex } else { SharedKind::Duplex });
        assert_eq!((both.count, both.greatest), (if pair { 1 } else { 2 }, Some(1.0)));
        // A partly used slot counts in full, so the use of a pair of adapters is accurate to 500 ns.
        assert!((both.busiest - 200.0 / 201.0).abs() < 0.003, "{}", both.busiest);
    }
}

#[test]
fn small_messages_wait_for_the_gap() {
    // Each message holds the adapter for the gap of 100 ns and the 8 ns of its bytes, so the tenth message leaves at
    // 972 ns.
    let platform = network(2, Row { gap: ns(100), ..row(1000) }, |_| {});
    let scripts = [window(1, 10, 8), window_from(0, 10)];
    let outcome = charged(&platform, &scripts, Level::InterNode, 1980, &[(Resource::Gap, 972)]);
    let out = used(&outcome, SharedKind::AdapterOut);
    is(out.busiest, 1080.0 / 1980.0);
    assert_eq!(out.greatest, None);
    // Without a gap, messages wait only for the bytes of earlier messages.
    let platform = network(2, row(1000), |_| {});
    charged(&platform, &scripts, Level::InterNode, 1080, &[(Resource::AdapterOut, 72)]);
}

#[test]
fn both_ways_small_messages_may_share_one_gap() {
    // Twenty messages of 8 B are sent in each direction. Each message holds the adapter in its direction for 92 + 8 ns.
    // The last message leaves at 1900 ns.
    let both = |other: u32| [vec![Irecv(other); 20], vec![Isend(other, 8); 20], vec![WaitAll]].concat();
    let scripts = [both(1), both(0)];
    let platform = |gap: Option<u64>| network(2, Row { gap: ns(92), ..row(1000) }, |of| of.duplex_gap = gap.map(ns));
    // If nothing, or only half, of the gap of a message also counts for the other direction, each direction transfers
    // as many messages per second as a direction alone.
    for gap in [None, Some(46)] {
        charged(&platform(gap), &scripts, Level::InterNode, 2908, &[(Resource::Gap, 1900)]);
    }
    // If the whole gap of a message counts for both directions, outgoing messages hold the adapter until 20 x 92 = 1840
    // ns. Then twenty messages arrive, the last one at 1840 + 19 x 92 = 3588 ns instead of 2900 ns.
    let expected = [(Resource::Gap, 1900), (Resource::Duplex, 688)];
    charged(&platform(Some(92)), &scripts, Level::InterNode, 3596, &expected);
}

#[test]
fn a_window_within_a_node_waits_for_the_core() {
    let scripts = [window(1, 4, 1000), window_from(0, 4)];
    for (eager, handshakes) in [(5000, 0), (0, 20)] {
        let end = 4010 + handshakes;
        let outcome = charged(&copying(2, eager), &scripts, Level::IntraCmp, end, &[(Resource::Core, 3000)]);
        let core = used(&outcome, SharedKind::Core);
        assert_eq!((core.count, core.greatest), (2, None));
        is(core.busiest, 4000.0 / end as f64);
        is(core.mean, 2000.0 / end as f64);
    }
    // The sender's core copies the data of each message, and a message leaves when its copy begins.
    let link = copying(2, 5000).link(Level::IntraCmp).clone();
    let sender = link.clone().occupying(Occupancy { copies: Copies::Sender, ..link.occupancy().clone() });
    let platform = with_link(copying(2, 5000), Level::IntraCmp, sender);
    charged(&platform, &scripts, Level::IntraCmp, 4010, &[(Resource::Core, 3000)]);
    // A single message is copied by a core whose copy bandwidth is half of the ping-pong's bandwidth.
    let slow = Row { copy_bandwidth: rate(0.5), ..row(10) };
    let link = Link::new(Contention::Fair, Bytes::MAX, ns(10), vec![slow]).occupying(link.occupancy().clone());
    let platform = with_link(copying(2, 5000), Level::IntraCmp, link);
    let scripts = [window(1, 1, 1000), window_from(0, 1)];
    charged(&platform, &scripts, Level::IntraCmp, 2010, &[(Resource::Core, 1000)]);
}

#[test]
fn copies_beyond_caches_wait_for_what_others_use_of_memory() {
    let pairs = |number: u32| -> Vec<Vec<Do>> {
        (0..number).flat_map(|pair| [window(2 * pair + 1, 1, 1000), window_from(2 * pair, 1)]).collect()
    };
    // With a memory bandwidth of 2 GB/s, one core copies at full speed and two cores copy at half speed.
    for eager in [5000, 0] {
        let later = if eager == 0 { 20 } else { 0 };
        let platform = through_memory(copying(4, eager), 2.0);
        let outcome = charged(&platform, &pairs(1), Level::IntraCmp, 1010 + later, &[]);
        is(used(&outcome, SharedKind::CmpMemory).busiest, 1000.0 / (1010 + later) as f64);
        charged(&platform, &pairs(2), Level::IntraCmp, 2010 + later, &[(Resource::Memory, 1000)]);
    }
    // With a memory bandwidth of 0.5 GB/s, one copy takes 4000 ns. The loss of a single copy is charged to caches that
    // do not hold its buffers.
    let platform = through_memory(copying(4, 5000), 0.5);
    charged(&platform, &pairs(1), Level::IntraCmp, 4010, &[(Resource::Cache, 3000)]);
    let expected = [(Resource::Cache, 3000), (Resource::Memory, 4000)];
    let outcome = charged(&platform, &pairs(2), Level::IntraCmp, 8010, &expected);
    let memory = used(&outcome, SharedKind::CmpMemory);
    assert_eq!((memory.count, memory.greatest), (1, Some(1.0)));
    is(memory.mean, 8000.0 / 8010.0);
}

#[test]
fn where_a_law_judges_once_it_is_told_what_changed_under_way() {
    // Both messages of rank 0 leave through one adapter, the second message 10 ns later. The two messages arrive
    // through different adapters.
    let scripts = [vec![Isend(1, 1000), Compute(10), Isend(2, 1000), WaitAll], vec![Recv(0)], vec![Recv(0)]];
    for (law, part) in [(Contention::Share, 0.5), (Contention::Queue, 0.25)] {
        for workers in 1..=3 {
            let (outcome, _) = run_with(&machine([3, 1, 1], law), &scripts, workers).unwrap();
            let [changed] = outcome.shares_changed[..] else { panic!("{:?}", outcome.shares_changed) };
            assert_eq!((changed.level, changed.part), (Level::InterNode, part), "{law:?}");
            assert!(outcome.contention.is_none() && outcome.utilisation.is_empty());
        }
    }
    for law in [Contention::Ideal, Contention::Fair] {
        let (outcome, _) = run_with(&machine([3, 1, 1], law), &scripts, 1).unwrap();
        assert!(outcome.shares_changed.is_empty());
    }
}
