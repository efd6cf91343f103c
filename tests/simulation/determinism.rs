//! Tests of random programs on random machines: the Outcome, the observations of each program, and each error are equal
//! for any number of workers.
//!
//! All times are multiples of one unit, which is also the cost of an unsuccessful test or probe, so most events are
//! simultaneous.

use crate::support::{self, Do, Saw, link, machine, ns, row, run_placed};
use mcpsim::engine::{Outcome, RunError};
use mcpsim::platform::{Contention, Copies, Link, LoadColumn, MemorySharing, Occupancy, Platform, Rails, Row, Site};
use mcpsim::rank::{Rank, SendMode};
use mcpsim::units::{Bandwidth, Bytes, SimSpan, SimTime};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Length of the time unit of the random programs in nanoseconds, and number of bytes that take one unit.
const UNIT: u64 = 100;

/// A random program for all ranks, and the machine on which it runs.
#[derive(Clone, Debug)]
struct Case {
    nct: [u32; 3],
    links: [LinkSpec; 3],
    sites: Vec<Site>,
    phases: Vec<Phase>,
    /// Whether computing blocks share scarce memory bandwidth.
    scarce: bool,
}

/// A link of the random machine, with costs in time units.
#[derive(Clone, Debug)]
struct LinkSpec {
    law: Contention,
    latency: u64,
    /// Latency of messages whose bytes take more than one unit.
    long_latency: u64,
    send_overhead: u64,
    recv_overhead: u64,
    gap: u64,
    /// Eager threshold; without a threshold all messages are eager.
    threshold: Option<u64>,
    handshake: u64,
}

/// Messages of a phase of the random program, and the order in which each rank makes its sends and receives.
#[derive(Clone, Debug)]
struct Phase {
    mails: Vec<Mail>,
    /// Order in which each rank makes its calls.
    manners: Vec<Manner>,
    /// Whether each rank makes all calls of the phase in a strand.
    strand: bool,
}

#[derive(Clone, Debug)]
struct Mail {
    from: Rank,
    to: Rank,
    units: u64,
    tag: u32,
    mode: SendMode,
    /// Whether the message exceeds the buffer of its blocking receive, which is an error.
    too_long: bool,
}

#[derive(Clone, Copy, Debug)]
struct Manner {
    style: Style,
    /// Whether the rank receives messages from any source.
    wild: bool,
    /// Time units that the rank computes before its first call, and between the two parts of the phase.
    before: u64,
    between: u64,
}

#[derive(Clone, Copy, Debug)]
enum Style {
    /// The rank posts all receives, starts all sends, and waits for each request in turn.
    PostFirst,
    /// The rank starts all sends, and makes one receive after another.
    SendFirst,
    /// The rank posts all receives, and makes one send after another with tests in between.
    Polling,
    /// The rank starts all sends, and probes for every message before receiving the message.
    Probing,
    /// The rank combines sends and receives into blocking exchanges as far as possible, one after another.
    Exchanging,
    /// The rank makes blocking sends and receives in the order of the list of messages.
    InOrder,
}

impl LinkSpec {
    fn link(&self) -> Link {
        let span = |units: u64| ns(units * UNIT);
        let row = |above: Bytes, up_to: Bytes, latency: u64| {
            let base = row(latency * UNIT);
            let columns = match self.law {
                Contention::Measured => (1..=3)
                    .map(|load| LoadColumn {
                        load: 2 * load - 1,
                        latency: span(latency + u64::from(load) - 1),
                        bandwidth: base.bandwidth,
                    })
                    .collect(),
                _ => Vec::new(),
            };
            Row {
                above,
                up_to,
                send_overhead: span(self.send_overhead),
                recv_overhead: span(self.recv_overhead),
                gap: span(self.gap),
                columns,
                ..base
            }
        };
        let border = Bytes::new(UNIT);
        let rows = vec![row(Bytes::ZERO, border, self.latency), row(border, Bytes::MAX, self.long_latency)];
        let threshold = self.threshold.map_or(Bytes::MAX, |units| Bytes::new(units * UNIT));
        let copies = [Copies::None, Copies::Receiver, Copies::Sender, Copies::Both][self.gap as usize];
        let wider = |on: bool| on.then(|| Bandwidth::new(1_300_000_000).unwrap());
        let link = Link::new(self.law, threshold, span(self.handshake), rows);
        let occupancy = Occupancy {
            copies,
            duplex: wider(self.send_overhead == 1),
            pair_duplex: wider(self.recv_overhead == 1),
            rails: Rails { count: 1 + self.recv_overhead as u32 / 2, of_cmp: Vec::new() },
            ..link.occupancy().clone()
        };
        link.occupying(occupancy)
    }
}

impl Case {
    fn platform(&self) -> Platform {
        let mut platform = machine(self.nct, Contention::Ideal);
        platform.links = [0, 1, 2].map(|level: usize| self.links[level].link());
        if self.scarce {
            platform.core.cmp_memory = Bandwidth::new(700_000_000).unwrap();
            platform.core.memory_sharing = MemorySharing::Fair;
        }
        platform
    }

    fn scripts(&self) -> Vec<Vec<Do>> {
        let mut scripts: Vec<Vec<Do>> = (0..self.sites.len() as Rank).map(|rank| self.script(rank)).collect();
        if self.scarce {
            scripts.iter_mut().for_each(|script| moving(script));
        }
        scripts
    }

    fn script(&self, rank: Rank) -> Vec<Do> {
        let mut script = Vec::new();
        for phase in &self.phases {
            let lines = phase.lines(rank);
            if phase.strand {
                script.push(Do::StartApart(lines));
            } else {
                script.extend(lines);
            }
        }
        script.extend([Do::WaitAll, Do::Clock]);
        script
    }
}

/// Makes all computing blocks of the script move one byte per nanosecond.
fn moving(script: &mut [Do]) {
    for line in script {
        match line {
            Do::Compute(time) => *line = Do::Work(*time / 2, *time),
            Do::StartApart(lines) => moving(lines),
            _ => {}
        }
    }
}

impl Phase {
    fn lines(&self, rank: Rank) -> Vec<Do> {
        use Do::{
            Clock, Compute, ExchangeTag, IprobeAny, IrecvAnyTag, IrecvTag, IsendWith, ProbeRecv, RecvAnyTag, RecvTag,
            RecvUpTo, SendTag, Test, WaitAll, WaitAny,
        };
        let Manner { style, wild, before, between } = self.manners[rank as usize];
        let sent: Vec<&Mail> = self.mails.iter().filter(|mail| mail.from == rank).collect();
        let received: Vec<&Mail> = self.mails.iter().filter(|mail| mail.to == rank).collect();
        let isend = |mail: &&Mail| IsendWith(mail.to, mail.units * UNIT, mail.tag, mail.mode);
        let send = |mail: &Mail| SendTag(mail.to, mail.units * UNIT, mail.tag);
        let irecv = |mail: &&Mail| if wild { IrecvAnyTag(mail.tag) } else { IrecvTag(mail.from, mail.tag) };
        let recv = |mail: &Mail| match mail {
            Mail { too_long: true, .. } => RecvUpTo(mail.from, 0),
            _ if wild => RecvAnyTag(mail.tag),
            _ => RecvTag(mail.from, mail.tag),
        };
        let mut lines = vec![Compute(before * UNIT)];
        match style {
            Style::PostFirst => {
                lines.extend(received.iter().map(irecv));
                lines.extend(sent.iter().map(isend));
                lines.push(Compute(between * UNIT));
                lines.extend(received.iter().chain(&sent).flat_map(|_| [WaitAny, Clock]));
            }
            Style::SendFirst => {
                lines.extend(sent.iter().map(isend));
                lines.push(Compute(between * UNIT));
                lines.extend(received.iter().flat_map(|mail| [recv(mail), Clock]));
                lines.push(WaitAll);
            }
            Style::Polling => {
                lines.extend(received.iter().map(irecv));
                lines.extend(sent.iter().flat_map(|mail| [send(mail), Test, IprobeAny]));
                lines.extend([Compute(between * UNIT), Test, Clock, Test, Clock, WaitAll]);
            }
            Style::Probing => {
                lines.extend(sent.iter().map(isend));
                lines.extend([Compute(between * UNIT), IprobeAny, IprobeAny]);
                lines.extend(received.iter().flat_map(|mail| [ProbeRecv(mail.tag), Clock]));
                lines.push(WaitAll);
            }
            Style::Exchanging => {
                let pairs = sent.len().min(received.len());
                lines.extend(sent[pairs..].iter().map(isend));
                lines.extend(sent.iter().zip(&received).flat_map(|(sent, received)| {
                    // In these random programs both messages of an exchange have the same tag.
                    match sent.tag == received.tag {
                        true => vec![ExchangeTag(sent.to, sent.units * UNIT, received.from, sent.tag)],
                        false => vec![isend(sent), recv(received)],
                    }
                }));
                lines.push(Compute(between * UNIT));
                lines.extend(received[pairs..].iter().map(|mail| recv(mail)));
                lines.extend([WaitAll, Clock]);
            }
            Style::InOrder => {
                for mail in &self.mails {
                    if mail.from == rank && mail.to == rank {
                        lines.extend([isend(&mail), recv(mail), WaitAll]);
                    } else if mail.from == rank {
                        lines.push(send(mail));
                    } else if mail.to == rank {
                        lines.push(recv(mail));
                    }
                }
                lines.extend([Compute(between * UNIT), Clock]);
            }
        }
        lines
    }
}

fn links() -> impl Strategy<Value = LinkSpec> {
    let law = prop_oneof![
        1 => Just(Contention::Ideal),
        2 => Just(Contention::Share),
        2 => Just(Contention::Queue),
        1 => Just(Contention::Measured)
    ];
    let threshold = prop_oneof![Just(None), (0u64..4).prop_map(Some)];
    (law, 0u64..4, 0u64..4, 0u64..3, 0u64..3, 0u64..4, threshold, 0u64..4).prop_map(
        |(law, latency, long_latency, send_overhead, recv_overhead, gap, threshold, handshake)| LinkSpec {
            law,
            latency,
            long_latency,
            send_overhead,
            recv_overhead,
            gap,
            threshold,
            handshake,
        },
    )
}

fn manner() -> impl Strategy<Value = Manner> {
    let style = prop_oneof![
        Just(Style::PostFirst),
        Just(Style::SendFirst),
        Just(Style::Polling),
        Just(Style::Probing),
        Just(Style::Exchanging),
        Just(Style::InOrder),
    ];
    (style, any::<bool>(), 0u64..4, 0u64..4).prop_map(|(style, wild, before, between)| Manner {
        style,
        wild,
        before,
        between,
    })
}

fn phase(ranks: u32) -> impl Strategy<Value = Phase> {
    let mode = prop_oneof![
        4 => Just(SendMode::Standard),
        1 => Just(SendMode::Synchronous),
        1 => Just(SendMode::Buffered)
    ];
    // Messages from a rank to itself match the rank's own probes and waits.
    let ends = prop_oneof![4 => (0..ranks, 0..ranks), 1 => (0..ranks).prop_map(|rank| (rank, rank))];
    let mail = (ends, 0u64..5, prop_oneof![4 => Just(0u32), 1 => Just(1u32)], mode, prop::bool::weighted(0.01))
        .prop_map(|((from, to), units, tag, mode, too_long)| Mail { from, to, units, tag, mode, too_long });
    let mails = prop::collection::vec(mail, 0..3 * ranks as usize);
    let manners = prop::collection::vec(manner(), ranks as usize);
    (mails, manners, prop::bool::weighted(0.2)).prop_map(|(mails, manners, strand)| Phase { mails, manners, strand })
}

fn case() -> impl Strategy<Value = Case> {
    let shape = (2u32..5, 1u32..3, 1u32..4);
    // With few ranks, the other ranks often have no event at the time of a rank's event; with many ranks this is rare.
    let ranks = prop_oneof![2u32..=3, 2u32..=12];
    (shape, ranks, [links(), links(), links()]).prop_flat_map(|((nodes, cmps, cores), ranks, mut links)| {
        // Several workers need some latency between nodes as lookahead. Another test covers a machine without latency
        // between nodes, which has a single worker.
        let inter_node = &mut links[2];
        for least in [&mut inter_node.latency, &mut inter_node.long_latency, &mut inter_node.handshake] {
            *least = (*least).max(1);
        }
        let site = (0..nodes, 0..cmps, 0..cores).prop_map(|(node, cmp, core)| Site { node, cmp, core });
        let sites = prop::collection::vec(site, ranks as usize);
        let phases = prop::collection::vec(phase(ranks), 1..4);
        (sites, phases).prop_map(move |(sites, phases)| Case {
            nct: [nodes, cmps, cores],
            links: links.clone(),
            sites,
            phases,
            scarce: false,
        })
    })
}

/// Returns the Outcome without its host part.
fn comparable(outcome: &Outcome) -> serde_json::Value {
    let mut value = serde_json::to_value(outcome).expect("an Outcome is JSON");
    value.as_object_mut().expect("an object").remove("host").expect("a host part");
    value
}

/// Returns the results of a run, without the host part of the Outcome.
fn simulate(case: &Case, workers: u32) -> Result<(serde_json::Value, Vec<(Rank, Saw)>), RunError> {
    let (outcome, saw) = run_placed(&case.platform(), case.sites.clone(), &case.scripts(), workers)?;
    for rank in &outcome.per_rank {
        let parts = rank.parts;
        let sum: SimSpan = [parts.compute, parts.send, parts.recv, parts.wait, parts.collective]
            .into_iter()
            .fold(SimSpan::ZERO, |sum, part| sum + part);
        assert_eq!(SimTime::ZERO + sum, rank.clock, "the parts of rank {} do not add up to its clock", rank.rank);
    }
    let mails: usize = case.phases.iter().map(|phase| phase.mails.len()).sum();
    assert_eq!((outcome.messages.count, outcome.unreceived), (mails as u64, 0), "messages");
    Ok((comparable(&outcome), saw))
}

/// Uses the same cases in each test run, unless PROPTEST_CASES requests new cases.
fn config() -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => config,
        None => ProptestConfig { cases: 500, rng_seed: RngSeed::Fixed(1), ..config },
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_number_of_workers_changes_nothing(case in case()) {
        let alone = simulate(&case, 1);
        for workers in 2..=4 {
            prop_assert_eq!(&simulate(&case, workers), &alone, "{} workers", workers);
        }
    }
}

proptest! {
    #![proptest_config(config())]

    /// The number of workers also changes nothing if the contention model is `fair` at all levels or only between
    /// nodes, with shared memory or without it.
    #[test]
    fn the_number_of_workers_changes_nothing_where_shares_are_fair(
        case in case(),
        [all, scarce] in any::<[bool; 2]>(),
    ) {
        let mut case = Case { scarce, ..case };
        case.links[2].law = Contention::Fair;
        if all {
            case.links.iter_mut().for_each(|link| link.law = Contention::Fair);
        }
        // The messages are made larger, so that they affect the rates of other flows.
        for mail in case.phases.iter_mut().flat_map(|phase| &mut phase.mails) {
            mail.units *= 1 + u64::from(mail.tag) * 7;
        }
        // Ranks do not poll, because the previous test covers the effect of polling on the critical path.
        for manner in case.phases.iter_mut().flat_map(|phase| &mut phase.manners) {
            manner.style = match manner.style {
                Style::Polling => Style::PostFirst,
                Style::Probing => Style::SendFirst,
                style => style,
            };
        }
        let alone = simulate(&case, 1);
        for workers in 2..=4 {
            prop_assert_eq!(&simulate(&case, workers), &alone, "{} workers", workers);
        }
    }
}

/// A synchronous send of any size needs a control message, which may be faster than any message with data.
#[test]
fn a_handshake_faster_than_every_message_is_part_of_the_lookahead() {
    let mut platform = machine([2, 1, 1], Contention::Ideal);
    platform.links[2] = Link::new(Contention::Ideal, Bytes::MAX, ns(1), vec![row(1000)]);
    let scripts = [vec![Do::SendMode(1, 50, SendMode::Synchronous)], vec![Do::Compute(UNIT), Do::Recv(0)]];
    let sites = [0, 1].map(|node| Site { node, cmp: 0, core: 0 });
    for workers in [1, 2] {
        let (outcome, _) = run_placed(&platform, sites.to_vec(), &scripts, workers).unwrap();
        // The request of the synchronous send arrives at 1 ns, the receiver is ready at 100 ns, and the receiver's
        // grant arrives at 101 ns. The transfer of the synchronous send takes 1000 + 50 ns.
        assert_eq!(outcome.per_rank.iter().map(|rank| rank.clock).max(), Some(support::at(1151)), "{workers} workers");
    }
}

/// A probe may or may not find a message that arrives at the same time, but the result does not depend on the number of
/// workers.
#[test]
fn a_probe_at_the_time_of_an_arrival_is_decided_the_same_for_any_number_of_workers() {
    let mut platform = machine([2, 1, 1], Contention::Ideal);
    // Both ranks are on one core of node 1, with a latency of 100 ns and the contention model `share`. The latency
    // between nodes is 100 ns, so a window of virtual time is 100 ns long.
    platform.links[0] = link(Contention::Share, 100);
    platform.links[2] = link(Contention::Ideal, 100);
    let sites = vec![Site { node: 1, cmp: 0, core: 0 }; 2];
    for start in [0u64, 50, 100, 200] {
        // The message leaves at `start`, and the head of the message arrives at `start` + 100 ns, when the rank probes
        // for messages.
        let scripts = [
            vec![Do::Compute(start), Do::Clock, Do::Recv(1)],
            vec![
                Do::Compute(start),
                Do::Test,
                Do::Isend(1, 0),
                Do::Isend(0, 0),
                Do::Compute(100),
                Do::IprobeAny,
                Do::Clock,
                Do::Recv(1),
                Do::WaitAll,
            ],
        ];
        let run = |workers| {
            let (outcome, saw) = run_placed(&platform, sites.clone(), &scripts, workers).unwrap();
            (outcome.per_rank, saw)
        };
        assert_eq!(run(1), run(2), "start {start}");
    }
}
