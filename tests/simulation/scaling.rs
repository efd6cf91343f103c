//! Tests of the same program with a growing number of ranks: the number of messages and the times follow from a
//! formula, and host memory grows in proportion to the number of ranks, not to its square.

use std::sync::Arc;

use crate::support::{at, machine};
use mcpsim::engine::{Labels, Outcome, Progress, RunError, RunOptions, Simulation};
use mcpsim::mpi::{CollectiveCall, CommMember, Group, MpiCall, MpiDriver, MpiProgram, Sizes};
use mcpsim::platform::{Algorithm, Collective, Contention, Placement, Platform};
use mcpsim::rank::{Call, Describe, Message, Pattern, Rank, Reply, ReplyKind, RequestId, SendMode, Source, TagPattern};
use mcpsim::units::{Bytes, SimTime};

const SIZES: [u32; 5] = [64, 256, 1024, 4096, 16_384];

/// Actions of a rank in one iteration.
#[derive(Clone, Copy, Debug)]
enum Body {
    /// The rank sends to the next rank of a ring and receives from the previous rank.
    Ring,
    /// The rank exchanges messages with the six neighbours in a periodic box, all at once.
    Halo,
    /// The ranks execute a barrier by the dissemination algorithm.
    Barrier,
    /// The ranks execute an allreduce by recursive doubling of messages.
    Allreduce,
}

/// Program of a rank that repeats the same iteration.
struct Turns {
    body: Body,
    rank: Rank,
    ranks: u32,
    left: u32,
    step: usize,
    requests: Vec<RequestId>,
}

/// Returns the neighbours of `rank` in a box of 2^k ranks that is as similar to a cube as powers of two allow.
fn neighbours(rank: u32, ranks: u32) -> [u32; 6] {
    let bits = ranks.trailing_zeros();
    let x = bits / 3;
    let y = (bits - x) / 2;
    let mut found = [0; 6];
    let mut shift = 0;
    for (dimension, bits) in [x, y, bits - x - y].into_iter().enumerate() {
        let mask = ((1 << bits) - 1) << shift;
        let one = 1 << shift;
        found[2 * dimension] = rank & !mask | rank.wrapping_add(one) & mask;
        found[2 * dimension + 1] = rank & !mask | rank.wrapping_sub(one) & mask;
        shift += bits;
    }
    found
}

impl Turns {
    fn message(&self, to: Rank, tag: u32) -> Message {
        Message {
            to,
            context: 0,
            tag,
            size: Bytes::new(100),
            mode: SendMode::Standard,
            payload: None,
            buffer: Default::default(),
        }
    }

    fn pattern(&self, from: Rank, tag: u32) -> Pattern {
        Pattern {
            from: Source::Rank(from),
            context: 0,
            tag: TagPattern::Tag(tag),
            capacity: Bytes::MAX,
            buffer: Default::default(),
        }
    }

    /// Returns the call of a step in the iteration; `None` at the end of the iteration.
    fn call(&mut self, step: usize) -> Option<MpiCall> {
        let (rank, ranks) = (self.rank, self.ranks);
        let collective = |collective, algorithm, size| {
            MpiCall::Collective(CollectiveCall {
                collective,
                comm: CommMember::new(0, rank, Group::Strided { first: 0, stride: 1, size: ranks }),
                root: 0,
                sizes: Sizes::Same(Bytes::new(size)),
                algorithm: Some(algorithm),
            })
        };
        Some(match (self.body, step) {
            (Body::Ring, 0) => {
                let (next, before) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
                MpiCall::Call(Call::Exchange(self.message(next, 0), self.pattern(before, 0)))
            }
            // A message that arrives from one direction was sent in the opposite direction.
            (Body::Halo, 0..6) => {
                MpiCall::Call(Call::Irecv(self.pattern(neighbours(rank, ranks)[step], step as u32 ^ 1)))
            }
            (Body::Halo, 6..12) => {
                MpiCall::Call(Call::Isend(self.message(neighbours(rank, ranks)[step - 6], step as u32 - 6)))
            }
            (Body::Halo, 12) => MpiCall::Call(Call::WaitAll(self.requests.drain(..).collect())),
            (Body::Barrier, 0) => collective(Collective::Barrier, Algorithm::Dissemination, 0),
            (Body::Allreduce, 0) => collective(Collective::Allreduce, Algorithm::RecursiveDoubling, 8),
            _ => return None,
        })
    }
}

impl MpiProgram for Turns {
    fn next(&mut self, reply: Reply<'_>) -> MpiCall {
        if let ReplyKind::Started(id) = reply.kind {
            self.requests.push(id);
        }
        loop {
            if self.left == 0 {
                return MpiCall::Call(Call::Finish);
            }
            let step = self.step;
            self.step += 1;
            if let Some(action) = self.call(step) {
                return action;
            }
            self.step = 0;
            self.left -= 1;
        }
    }
}

impl Describe for Turns {}

/// Returns a machine whose nodes have two CMPs of eight cores each.
fn cluster(ranks: u32, law: Contention) -> Platform {
    machine([ranks / 16, 2, 8], law)
}

fn simulate(platform: &Platform, body: Body, ranks: u32, turns: u32, workers: u32) -> Result<Outcome, RunError> {
    let sites = Placement::Block.sites(platform.shape, ranks, false).unwrap();
    let shared = Arc::new(platform.clone());
    let make = |rank| {
        let turns = Turns { body, rank, ranks, left: turns, step: 0, requests: Vec::new() };
        MpiDriver::new(turns, shared.clone(), 1e9)
    };
    let options = RunOptions { workers: Some(workers), ..RunOptions::default() };
    Simulation::new(platform, sites, options, Labels::default()).run(make, &Progress::default())
}

/// Returns the number of messages per iteration and rank.
fn messages(body: Body, ranks: u32) -> u64 {
    match body {
        Body::Ring => 1,
        Body::Halo => 6,
        Body::Barrier | Body::Allreduce => u64::from(ranks.ilog2()),
    }
}

const BODIES: [Body; 4] = [Body::Ring, Body::Halo, Body::Barrier, Body::Allreduce];

#[test]
fn messages_are_as_many_as_their_formulas_say_at_every_size() {
    for law in [Contention::Ideal, Contention::Share] {
        for ranks in SIZES {
            let platform = cluster(ranks, law);
            for body in BODIES {
                let turns = 2;
                let outcome = simulate(&platform, body, ranks, turns, 1).unwrap();
                let count = messages(body, ranks) * u64::from(ranks) * u64::from(turns);
                let size = match body {
                    Body::Ring | Body::Halo => 100,
                    Body::Barrier => 0,
                    Body::Allreduce => 8,
                };
                let found = (outcome.messages.count, outcome.messages.bytes, outcome.unreceived);
                assert_eq!(found, (count, count * size, 0), "{body:?} of {ranks} under {law:?}");
                let levels = &outcome.levels;
                let by_level = levels.intra_cmp.count + levels.inter_cmp.count + levels.inter_node.count;
                assert_eq!((by_level, outcome.per_rank.len()), (count, ranks as usize));
            }
        }
    }
}

#[test]
fn times_are_as_their_formulas_say_at_every_size() {
    for ranks in SIZES {
        let platform = cluster(ranks, Contention::Ideal);
        let predicted = |body, turns| simulate(&platform, body, ranks, turns, 2).unwrap().predicted;
        // The data that a rank receives in its third iteration have passed three ranks. At most one of the three
        // messages is between nodes (1000 + 100 ns); the other messages are within a CMP (10 + 100 ns).
        assert_eq!(predicted(Body::Ring, 3), at(1100 + 2 * 110), "{ranks}");
        // The longest path passes ranks at distances 1, 2, 4 and 8, in total 15. The path crosses one border between
        // nodes (1000 ns) and one border between CMPs (100 ns); other messages are within a CMP (10 ns). All further
        // steps, at distances of 16 ranks and more, are between nodes.
        let rounds = u64::from(ranks.ilog2());
        assert_eq!(predicted(Body::Barrier, 1), at(1000 + 100 + 2 * 10 + (rounds - 4) * 1000), "{ranks}");
        // Messages at distance 1, 2 and 4 take 10 + 8 ns, at distance 8 they take 100 + 8 ns, and at distances of 16
        // and more 1000 + 8 ns. Each step of the allreduce combines 8 bytes in 24 ns. The copy of the input at the
        // start takes 16 ns.
        let expected = 16 + 3 * 18 + 108 + (rounds - 4) * 1008 + rounds * 24;
        assert_eq!(predicted(Body::Allreduce, 1), at(expected), "{ranks}");
    }
}

#[test]
fn events_grow_as_the_messages() {
    // The least valid --max-events is the number of events of a run.
    let events = |ranks: u32, body: Body| {
        let platform = cluster(ranks, Contention::Ideal);
        let sites = Placement::Block.sites(platform.shape, ranks, false).unwrap();
        let shared = Arc::new(platform.clone());
        let suffices = |limit: u64| {
            let make = |rank| {
                let turns = Turns { body, rank, ranks, left: 2, step: 0, requests: Vec::new() };
                MpiDriver::new(turns, shared.clone(), 1e9)
            };
            let options = RunOptions { workers: Some(1), max_events: Some(limit), ..RunOptions::default() };
            match Simulation::new(&platform, sites.clone(), options, Labels::default()).run(make, &Progress::default())
            {
                Ok(_) => true,
                Err(RunError::MaxEvents { .. }) => false,
                Err(error) => panic!("{error}"),
            }
        };
        let (mut least, mut most) = (0, 1 << 24);
        while most - least > 1 {
            let middle = (least + most) / 2;
            if suffices(middle) { most = middle } else { least = middle }
        }
        most
    };
    for body in [Body::Ring, Body::Halo] {
        // The work per rank does not depend on the number of ranks.
        let at_64 = events(64, body);
        assert_eq!((at_64 % 64, events(1024, body)), (0, at_64 / 64 * 1024), "{body:?}");
    }
}

/// Returns the resident memory of this process in KiB, as Linux reports it.
fn resident(what: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(what)).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn memory_grows_with_the_ranks_and_not_with_their_square() {
    // The test runs in a separate process, because memory of other tests would be counted too.
    if std::env::var_os("MCPSIM_TEST_ALONE").is_none() {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "memory_grows_with_the_ranks_and_not_with_their_square", "--nocapture"]);
        let output = command.env("MCPSIM_TEST_ALONE", "1").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let before = resident("VmRSS:");
    for ranks in [16_384, 65_536] {
        simulate(&cluster(ranks, Contention::Share), Body::Barrier, ranks, 1, 1).unwrap();
        let grown = resident("VmHWM:") - before;
        // A table of all pairs of ranks would take 256 MiB for the smaller number of ranks and 4 GiB for the larger
        // number.
        assert!(grown < u64::from(ranks) * 4, "{grown} KiB for {ranks} ranks");
    }
}

#[test]
fn a_halo_is_the_same_for_any_number_of_workers_at_every_size() {
    for ranks in SIZES {
        let platform = cluster(ranks, Contention::Share);
        let clocks = |workers| {
            let outcome = simulate(&platform, Body::Halo, ranks, 2, workers).unwrap();
            outcome.per_rank.iter().map(|rank| (rank.clock, rank.parts)).collect::<Vec<_>>()
        };
        let alone = clocks(1);
        assert!(alone.iter().all(|(clock, _)| *clock > SimTime::ZERO));
        assert!(alone == clocks(2), "{ranks} ranks by two workers");
        assert!(alone == clocks(4), "{ranks} ranks by four workers");
    }
}
