//! Tests of runs that end in an error: which error the run reports. A byte takes 1 ns. Latencies are 10, 100 and 1000
//! ns.

use crate::support::Do::*;
use crate::support::{Do, at, machine, row, run_with, with_link};
use mcpsim::engine::{Labels, Progress, RunError, RunOptions, Simulation};
use mcpsim::platform::{Contention, Level, Link, Placement, Platform, Row};
use mcpsim::rank::{Call, Describe, Pattern, Program, Rank, Reply, Source, TagPattern};
use mcpsim::units::{Bytes, SimSpan, SimTime};

/// Returns the error of the run for each number of workers.
fn errors(platform: &Platform, scripts: &[Vec<Do>]) -> Vec<RunError> {
    (1..=scripts.len() as u32).map(|workers| run_with(platform, scripts, workers).unwrap_err()).collect()
}

/// Creates a script that waits until `time` minus the cost of an unsuccessful test, so that the rank has an event at
/// `time`. `later` ns after `time`, the rank sends a message to itself that exceeds the buffer of its receive, which is
/// an error.
fn fails(rank: Rank, time: u64, later: u64) -> Vec<Do> {
    vec![Compute(time), Test, Compute(later - 110), Send(rank, 1), RecvUpTo(rank, 0)]
}

#[test]
fn the_failure_that_comes_first_is_reported_though_its_worker_is_behind() {
    let platform = machine([3, 1, 1], Contention::Ideal);
    // The window of virtual time of rank 0 ends at 5900 ns, and the window of rank 1 ends at 5000 ns. Rank 0 fails at
    // 5800 ns, rank 1 at 5200 ns and rank 2 at 5300 ns.
    let scripts = [fails(0, 4000, 1800), fails(1, 4900, 300), fails(2, 4900, 400)];
    for error in errors(&platform, &scripts) {
        let RunError::Truncated { rank, clock, .. } = error else { panic!("{error}") };
        assert_eq!((rank, clock), (1, at(5200)));
    }
}

#[test]
fn what_a_failed_rank_sent_before_can_still_make_others_fail_earlier() {
    let platform = machine([2, 1, 1], Contention::Ideal);
    // At 4000 ns, rank 0 sends a message that exceeds the buffer of rank 1's receive at 5000 ns. Rank 0 itself fails at
    // 5100 ns.
    let scripts = [
        vec![Compute(4000), Test, Send(1, 1), Compute(990), Send(0, 1), RecvUpTo(0, 0)],
        vec![Compute(4800), Test, RecvUpTo(0, 0)],
    ];
    for error in errors(&platform, &scripts) {
        let RunError::Truncated { rank, clock, .. } = error else { panic!("{error}") };
        assert_eq!((rank, clock), (0, at(5100)));
    }
    let scripts = [
        vec![Compute(4000), Test, Send(1, 1), Compute(1090), Send(0, 1), RecvUpTo(0, 0)],
        vec![Compute(4800), Test, RecvUpTo(0, 0)],
    ];
    for error in errors(&platform, &scripts) {
        let RunError::Truncated { rank, clock, .. } = error else { panic!("{error}") };
        assert_eq!((rank, clock), (1, at(5100)));
    }
}

#[test]
fn a_message_that_would_come_after_the_last_instant_is_an_overflow_and_no_deadlock() {
    let days = |days: u64| SimSpan::from_ps(days * 86_400_000_000_000_000);
    let slow = |law| {
        let late = Link::new(law, Bytes::MAX, days(200), vec![Row { latency: days(200), ..row(0) }]);
        with_link(machine([2, 1, 1], Contention::Ideal), Level::InterNode, late)
    };
    let scripts = [vec![Compute(100 * 86_400_000_000_000), Send(1, 1)], vec![Recv(0)]];
    for law in [Contention::Ideal, Contention::Share, Contention::Queue] {
        for error in errors(&slow(law), &scripts) {
            assert_eq!(error, RunError::ClockOverflow { rank: 1, position: None });
        }
    }
}

/// A program that posts receives without end, and never waits for them.
struct Poster;

impl Program for Poster {
    fn next(&mut self, _: Reply<'_>) -> Call {
        let (from, tag) = (Source::Any, TagPattern::Tag(1));
        Call::Irecv(Pattern { from, context: 0, tag, capacity: Bytes::MAX, buffer: Default::default() })
    }
}

impl Describe for Poster {}

#[test]
fn the_limit_of_events_counts_calls_and_holds_before_memory_runs_out() {
    let platform = machine([2, 1, 64], Contention::Ideal);
    let sites = Placement::Block.sites(platform.shape, 128, false).unwrap();
    for workers in [1, 2] {
        let posted = std::sync::atomic::AtomicU64::new(0);
        let make = |_| Counted { program: Poster, calls: &posted };
        let options = RunOptions { workers: Some(workers), max_events: Some(10_000), ..RunOptions::default() };
        let simulation = Simulation::new(&platform, sites.clone(), options, Labels::default());
        let error = simulation.run(make, &Progress::default()).unwrap_err();
        assert_eq!(error, RunError::MaxEvents { limit: 10_000, clock: SimTime::ZERO });
        let posted = posted.into_inner();
        assert!((10_000..50_000).contains(&posted), "{posted} calls with {workers} workers");
    }
}

#[test]
fn a_rank_with_more_outstanding_requests_than_allowed_is_named() {
    let platform = machine([2, 1, 2], Contention::Ideal);
    let sites = Placement::Block.sites(platform.shape, 4, false).unwrap();
    for workers in [1, 2] {
        let options = RunOptions { workers: Some(workers), max_requests: 5000, ..RunOptions::default() };
        let simulation = Simulation::new(&platform, sites.clone(), options, Labels::default());
        let error = simulation.run(|_| Box::new(Poster) as Box<dyn Program>, &Progress::default()).unwrap_err();
        assert_eq!(error, RunError::MaxRequests { rank: 0, limit: 5000, position: None }, "{workers} workers");
        let told = error.to_string();
        assert!(told.starts_with("rank 0 has more than 5000 outstanding requests, the most that"), "{told}");
    }
}

/// A program that counts its calls.
struct Counted<'a, P> {
    program: P,
    calls: &'a std::sync::atomic::AtomicU64,
}

impl<P: Program> Program for Counted<'_, P> {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        self.calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.program.next(reply)
    }
}

impl<P: Program> Describe for Counted<'_, P> {}

#[test]
fn a_run_that_is_cancelled_before_it_begins_ends_at_once() {
    let platform = machine([1, 1, 64], Contention::Ideal);
    let sites = Placement::Block.sites(platform.shape, 64, false).unwrap();
    let progress = Progress::default();
    progress.cancel();
    let simulation = Simulation::new(&platform, sites, RunOptions::default(), Labels::default());
    assert_eq!(simulation.run(|_| Poster, &progress).unwrap_err(), RunError::Interrupted { clock: SimTime::ZERO });
}

#[test]
fn there_are_never_so_many_workers_that_they_alone_fill_the_memory() {
    let platform = machine([1 << 24, 1, 1], Contention::Ideal);
    let sites = Placement::Block.sites(platform.shape, 1 << 24, false).unwrap();
    let options = RunOptions { workers: Some(u32::MAX), ..RunOptions::default() };
    assert_eq!(Simulation::new(&platform, sites, options, Labels::default()).workers(), 1024);
}

/// A program that waits for a message that no rank sends. The program states a source position.
struct Stuck;

impl Program for Stuck {
    fn next(&mut self, _: Reply<'_>) -> Call {
        Call::Recv(Pattern {
            from: Source::Any,
            context: 0,
            tag: TagPattern::Any,
            capacity: Bytes::MAX,
            buffer: Default::default(),
        })
    }
}

impl Describe for Stuck {
    fn call_name(&self) -> Option<&'static str> {
        Some("MPI_Recv")
    }

    fn position(&self) -> Option<String> {
        Some("ring.c:12".to_owned())
    }
}

#[test]
fn a_deadlock_names_the_programs_own_calls() {
    let platform = machine([1, 1, 1], Contention::Ideal);
    let sites = Placement::Block.sites(platform.shape, 1, false).unwrap();
    let simulation = Simulation::new(&platform, sites, RunOptions::default(), Labels::default());
    let make = |_| -> Box<dyn Program> { Box::new(Stuck) };
    let RunError::Deadlock(deadlock) = simulation.run(make, &Progress::default()).unwrap_err() else { panic!() };
    let [waiting] = &deadlock.waiting[..] else { panic!("{deadlock:?}") };
    assert_eq!((waiting.call.as_str(), waiting.position.as_deref()), ("MPI_Recv", Some("ring.c:12")));
}
