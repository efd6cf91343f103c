//! Recording and replay of every test script. The replay on the recorded machine must have the same Outcome, and the
//! replay on another machine must end.

use std::sync::Arc;

use mcpsim::engine::{Labels, Outcome, Progress, RunError, RunOptions, Simulation};
use mcpsim::mpi::DataCost;
use mcpsim::platform::{Link, Platform, Row, Site};
use mcpsim::rank::Rank;
use mcpsim::trace::{Header, Machine, Recording, Trace};

use super::{Do, Log, Script, ns};

/// Asserts that the Outcome of `scripts` on `platform` is `expected`, and that the replay of the scripts' trace has the
/// same Outcome.
pub fn check(platform: &Platform, sites: &[Site], scripts: &[Vec<Do>], expected: &Outcome) {
    // Scripts with copies of collectives are not recorded, because a trace contains collectives instead of their
    // copies. A trace names the requests of its task only.
    let cancels_of_others = |lines: &[Do]| lines.iter().any(|line| matches!(line, Do::CancelNumber(_)));
    if scripts.iter().flatten().any(|line| match line {
        Do::Start(lines) => cancels_of_others(lines),
        line => matches!(line, Do::Own(..) | Do::Combine(..)),
    }) {
        return;
    }
    let is_code = scripts.iter().flatten().any(|line| matches!(line, Do::Code(_)));
    let recording = Arc::new(Recording::new(scripts.len() as u32).of_code(is_code));
    let log = Log::default();
    let make = |rank: Rank| recording.wrap(rank, Script::new(rank, scripts[rank as usize].clone(), log.clone()));
    let recorded = simulation(platform, sites, 2).run(make, &Progress::default()).expect("it ran before");
    same(&recorded, expected, "recorded");
    let factors = vec![1.0; if is_code { scripts.len() } else { 0 }];
    let bytes = recording.finish(&Header { factors, ..Header::default() }).expect("it can be recorded");
    let trace = Arc::new(Trace::read(bytes).expect("what was written can be read"));
    for workers in [1, 3] {
        let replayed = replay(&trace, platform, sites, workers).unwrap_or_else(|error| panic!("replayed: {error:?}"));
        same(&replayed, expected, "replayed");
    }
    let other = slower(platform);
    let [alone, together] =
        [1, 2].map(|workers| replay(&trace, &other, sites, workers).expect("it ends elsewhere too"));
    same(&alone, &together, "replayed elsewhere");
    assert_eq!(alone.messages, expected.messages);
}

fn simulation<'a>(platform: &'a Platform, sites: &[Site], workers: u32) -> Simulation<'a> {
    let options = RunOptions { workers: Some(workers), pairs: true, ..RunOptions::default() };
    Simulation::new(platform, sites.to_vec(), options, Labels::default())
}

/// Returns a machine for replays, whose cores have a memory bandwidth of 1 GB/s each.
pub fn replaying(platform: &Platform) -> Machine {
    Machine { platform: Arc::new(platform.clone()), cost: DataCost::new(&platform.core, 1e9), memory: 1e9, cores: 1 }
}

/// Replays the trace `trace` on the platform.
pub fn replay(trace: &Arc<Trace>, platform: &Platform, sites: &[Site], workers: u32) -> Result<Outcome, RunError> {
    let machine = replaying(platform);
    simulation(platform, sites, workers).run(|rank| trace.program(rank, &machine, 1.0), &Progress::default())
}

/// Returns the trace that is recorded during a replay.
pub fn record(trace: &Arc<Trace>, platform: &Platform, sites: &[Site]) -> Vec<u8> {
    let recording = Arc::new(Recording::new(sites.len() as u32));
    let machine = replaying(platform);
    let make = |rank: Rank| recording.wrap(rank, trace.program(rank, &machine, 1.0));
    simulation(platform, sites, 2).run(make, &Progress::default()).expect("it replays");
    recording.finish(trace.header()).expect("it can be recorded")
}

fn same(found: &Outcome, expected: &Outcome, what: &str) {
    let found = Outcome { host: expected.host.clone(), ..found.clone() };
    let parts = |outcome: &Outcome| format!("{:?}\n{:?}", outcome.per_rank, outcome.path);
    assert!(found == *expected, "{what}: {}\nexpected {}", parts(&found), parts(expected));
}

/// Returns the machine `platform` with other latencies, so that messages arrive in a different order.
fn slower(platform: &Platform) -> Platform {
    let mut other = platform.clone();
    for (link, more) in other.links.iter_mut().zip([700, 30, 4]) {
        let slower = |row: &Row| Row { latency: row.latency + ns(more), ..row.clone() };
        let rows = link.rows().iter().map(slower).collect();
        let other = Link::new(link.contention(), link.eager_threshold(), link.handshake() + ns(more), rows);
        *link = other.occupying(link.occupancy().clone());
    }
    other
}
