//! Tests random programs under random conditions. The Outcome of a random program must be the same for any number of
//! workers. For programs without strands, the Outcome must not depend on how far programs run ahead of virtual time.
//!
//! The three levels of the machine have different contention models, so that the cost of some messages is determined at
//! the send and the cost of other messages at the departure.

use mcpsim::engine::{Labels, Outcome, Progress, RunOptions, Simulation};
use mcpsim::platform::{
    Contention, Link, NetworkNoise, NoiseDistribution, Occupancy, Platform, ProgressEngine, Protocol, Rails, Site,
    Spread, SystemNoise,
};
use mcpsim::rank::{Call, Describe, Program, Rank, Reply, ReplyKind, SendMode};
use mcpsim::units::{Bandwidth, Bytes, SimTime};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::support::{Do, Log, Script, machine, ns, row};

/// Unit of all times in ns and of all sizes in bytes. With a common unit, most events are simultaneous with other
/// events.
const UNIT: u64 = 100;

#[derive(Clone, Debug)]
struct Case {
    nct: [u32; 3],
    links: [LinkSpec; 3],
    sites: Vec<Site>,
    rounds: Vec<Round>,
    progress: ProgressEngine,
    system: bool,
    network: bool,
}

#[derive(Clone, Debug)]
struct LinkSpec {
    law: Contention,
    threshold: u64,
    connection_time: u64,
    credits: Option<u32>,
    copies: bool,
    rails: u32,
}

/// A round of a random program. All ranks have received the messages of a round before the next round.
#[derive(Clone, Debug)]
struct Round {
    /// Source, destination and size in units of each message; the last value is true if the send is synchronous.
    mails: Vec<(Rank, Rank, u64, bool)>,
    /// For each rank, the computing time in units before its messages, and the computing time between the start of its
    /// messages and the wait for them.
    computes: Vec<(u64, u64)>,
    /// For each rank, the order of its calls in the round: receives first, nonblocking calls with one wait, or sends
    /// first.
    manners: Vec<u8>,
    strand: bool,
}

impl Case {
    fn platform(&self) -> Platform {
        let mut platform = machine(self.nct, Contention::Ideal);
        for (level, spec) in self.links.iter().enumerate() {
            let protocol = Protocol {
                connection_time: ns(spec.connection_time * UNIT),
                credits: spec.credits,
                unexpected_copy_bandwidth: spec.copies.then(|| Bandwidth::new(500_000_000).unwrap()),
            };
            let latency = UNIT * (1 + level as u64);
            let link = Link::new(spec.law, Bytes::new(spec.threshold * UNIT), ns(2 * UNIT), vec![row(latency)]);
            let rails = Rails { count: spec.rails, of_cmp: Vec::new() };
            let occupancy = Occupancy { rails, ..link.occupancy().clone() };
            platform.links[level] = link.occupying(occupancy).with_protocol(protocol);
        }
        let spread = Spread { distribution: NoiseDistribution::Lognormal, deviation: 0.5 };
        let conditions = &mut platform.conditions;
        conditions.progress = self.progress;
        conditions.noise.system = self.system.then_some(SystemNoise { period: ns(7 * UNIT), length: ns(UNIT), spread });
        conditions.noise.network = self.network.then_some(NetworkNoise { delay: ns(UNIT), part: 0.1, spread });
        platform
    }

    fn script(&self, rank: Rank) -> Vec<Do> {
        let mut script = Vec::new();
        for round in &self.rounds {
            let lines = round.lines(rank);
            if round.strand {
                script.push(Do::StartApart(lines));
            } else {
                script.extend(lines);
            }
        }
        script.push(Do::WaitAll);
        script
    }
}

impl Round {
    fn lines(&self, rank: Rank) -> Vec<Do> {
        let (before, between) = self.computes[rank as usize];
        let send = |&(_, to, units, synchronous): &(Rank, Rank, u64, bool)| {
            let mode = if synchronous { SendMode::Synchronous } else { SendMode::Standard };
            Do::IsendWith(to, units * UNIT, 0, mode)
        };
        let sends = self.mails.iter().filter(|mail| mail.0 == rank).map(send);
        let receives = || self.mails.iter().filter(|mail| mail.1 == rank);
        let posted = receives().map(|mail| Do::IrecvTag(mail.0, 0));
        let mut lines = vec![Do::Compute(before * UNIT)];
        match self.manners[rank as usize] {
            0 => lines.extend(posted.chain(sends).chain([Do::Compute(between * UNIT)])),
            1 => lines.extend(sends.chain([Do::Compute(between * UNIT)]).chain(posted)),
            // The receives of this rank are blocking. The senders of the messages to this rank do not wait for the
            // sends of this rank.
            _ => {
                lines.extend(sends.chain([Do::Compute(between * UNIT)]));
                lines.extend(receives().map(|mail| Do::RecvTag(mail.0, 0)));
            }
        }
        lines.push(Do::WaitAll);
        lines
    }
}

/// A program that waits until virtual time reaches its own clock before each call, so that no call is ahead of virtual
/// time.
struct InTime {
    inner: Box<dyn Program>,
    held: Option<Call>,
}

impl Program for InTime {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        if let Some(held) = self.held.take() {
            assert!(matches!(reply.kind, ReplyKind::Done));
            return held;
        }
        self.held = Some(match self.inner.next(reply) {
            Call::Start(inner) => Call::Start(Box::new(InTime { inner, held: None })),
            call => call,
        });
        Call::Yield
    }
}

impl Describe for InTime {}

/// Simulates the random program `case` and returns the Outcome. If `ahead` is true, programs run ahead of virtual time.
fn simulate(case: &Case, workers: u32, ahead: bool) -> Outcome {
    let platform = case.platform();
    let make = |rank: Rank| -> Box<dyn Program> {
        let script = Box::new(Script::new(rank, case.script(rank), Log::default()));
        if ahead { script } else { Box::new(InTime { inner: script, held: None }) }
    };
    let options = RunOptions { workers: Some(workers), ..RunOptions::default() };
    let simulation = Simulation::new(&platform, case.sites.clone(), options, Labels::default());
    simulation.run(make, &Progress::default()).unwrap_or_else(|error| panic!("{error:?}"))
}

fn clocks(outcome: &Outcome) -> Vec<SimTime> {
    outcome.per_rank.iter().map(|rank| rank.clock).collect()
}

fn link() -> impl Strategy<Value = LinkSpec> {
    use Contention::{Fair, Ideal, Queue, Share};
    let law = prop::sample::select(vec![Ideal, Ideal, Share, Queue, Fair]);
    let credits = prop_oneof![Just(None), (1u32..3).prop_map(Some)];
    let connection_time = prop_oneof![Just(0u64), 1u64..20];
    (law, 0u64..6, connection_time, credits, any::<bool>(), 1u32..3).prop_map(
        |(law, threshold, connection_time, credits, copies, rails)| LinkSpec {
            law,
            threshold,
            connection_time,
            credits,
            copies,
            rails: if law == Fair { rails } else { 1 },
        },
    )
}

fn round(ranks: u32) -> impl Strategy<Value = Round> {
    let mail = (0..ranks, 0..ranks, 0u64..8, prop::bool::weighted(0.1));
    let mails = prop::collection::vec(mail, 0..3 * ranks as usize);
    let computes = prop::collection::vec((0u64..12, 0u64..30), ranks as usize);
    let manners = prop::collection::vec(0u8..3, ranks as usize);
    (mails, computes, manners, prop::bool::weighted(0.25)).prop_map(|(mails, computes, manners, strand)| Round {
        mails,
        computes,
        manners,
        strand,
    })
}

fn case() -> impl Strategy<Value = Case> {
    let progress = prop_oneof![
        Just(ProgressEngine::Hardware),
        Just(ProgressEngine::Call),
        Just(ProgressEngine::Thread { share: 0.2 })
    ];
    let conditions = (progress, any::<bool>(), any::<bool>());
    (2u32..5, 1u32..3, 1u32..3, 2u32..9, [link(), link(), link()], conditions).prop_flat_map(
        |(nodes, cmps, cores, ranks, links, (progress, system, network))| {
            let site = (0..nodes, 0..cmps, 0..cores).prop_map(|(node, cmp, core)| Site { node, cmp, core });
            let sites = prop::collection::vec(site, ranks as usize);
            (sites, prop::collection::vec(round(ranks), 1..5)).prop_map(move |(sites, rounds)| Case {
                nct: [nodes, cmps, cores],
                links: links.clone(),
                sites,
                rounds,
                progress,
                system,
                network,
            })
        },
    )
}

/// Returns the configuration of the random tests. The cases are the same in each run, unless PROPTEST_CASES requests a
/// search for new cases.
fn config() -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => config,
        None => ProptestConfig { cases: 400, rng_seed: RngSeed::Fixed(1), ..config },
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn conditions_depend_neither_on_workers_nor_on_running_ahead(case in case()) {
        let alone = simulate(&case, 1, true);
        for workers in 2..=4 {
            let several = simulate(&case, workers, true);
            prop_assert_eq!(&several.per_rank, &alone.per_rank, "{} workers", workers);
            prop_assert_eq!(several.path, alone.path, "{} workers", workers);
        }
        // If several tasks of a rank send, the order of their messages is decided at the send and not at the departure.
        // The test therefore uses one task per rank.
        let mut case = case;
        case.rounds.iter_mut().for_each(|round| round.strand = false);
        let alone = simulate(&case, 1, true);
        for workers in [1, 3] {
            let in_time = simulate(&case, workers, false);
            prop_assert_eq!(clocks(&in_time), clocks(&alone), "in time, {} workers", workers);
        }
    }
}
