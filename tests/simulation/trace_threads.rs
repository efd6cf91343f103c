//! Tests of traces with threads that have clocks of their own: requests that another thread completes, time limits, and
//! damaged traces. Times in ns are computed by hand: sends and receives take no time of the core.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::trace_damage::{FRONT, apply, change, config, sealed};
use crate::support::{machine, ns};
use mcpsim::engine::{Labels, Outcome, Progress, RunError, RunOptions, Simulation};
use mcpsim::mpi::DataCost;
use mcpsim::platform::{Contention, Placement, Platform};
use mcpsim::rank::{
    Call, Describe, Message, ObjectUse, Pattern, Program, Rank, Reply, ReplyKind, RequestId, Requests, SendMode,
    Source, TagPattern, ThreadMark, Which, thread_wait,
};
use mcpsim::trace::{Header, Machine, Recording, Trace, head, info, stats};
use mcpsim::units::{Bytes, SimTime};

/// A step of a thread. Texts name the requests of the rank.
#[derive(Clone, Debug)]
enum Step {
    /// Computes on a core of the rank.
    Compute(u64),
    /// Passes time without a core.
    Sleep(u64),
    /// Waits until the simulation reaches the time of the thread.
    Turn,
    Mark(ThreadMark),
    Start(&'static str, u32, Vec<Step>),
    Await(&'static str),
    Cancel(&'static str),
    Limit(&'static str, u64),
    WaitAny(Vec<&'static str>),
    Wait(Vec<&'static str>),
    Test(&'static str),
    Isend(&'static str, Rank),
    Irecv(&'static str, Option<Rank>),
    Send(Rank),
}

use Step::*;

type Named = Arc<Mutex<HashMap<&'static str, RequestId>>>;

/// Program of a rank or of a thread.
struct Thread {
    rank: Rank,
    number: Option<u32>,
    steps: std::vec::IntoIter<Step>,
    named: Named,
    started: Option<&'static str>,
}

impl Thread {
    fn new(rank: Rank, steps: Vec<Step>) -> Thread {
        Thread { rank, number: None, steps: steps.into_iter(), named: Named::default(), started: None }
    }

    fn requests(&self, names: &[&str]) -> Requests {
        let named = self.named.lock().unwrap();
        names.iter().map(|name| named[name]).collect()
    }

    fn message(to: Rank) -> Message {
        let (size, mode) = (Bytes::new(8), SendMode::Standard);
        Message { to, context: 0, tag: 0, size, mode, payload: None, buffer: Default::default() }
    }

    fn pattern(from: Option<Rank>) -> Pattern {
        let from = from.map_or(Source::Any, Source::Rank);
        Pattern { from, context: 0, tag: TagPattern::Any, capacity: Bytes::MAX, buffer: Default::default() }
    }
}

impl Program for Thread {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        if let (ReplyKind::Started(id), Some(name)) = (&reply.kind, self.started.take()) {
            self.named.lock().unwrap().insert(name, *id);
        }
        let Some(step) = self.steps.next() else { return Call::Finish };
        if let Start(name, ..) | Await(name) | Limit(name, _) | Isend(name, _) | Irecv(name, _) = &step {
            self.started = Some(name);
        }
        match step {
            Compute(span) | Sleep(span) => Call::Compute(ns(span)),
            Turn => Call::Test { requests: Requests::new(), which: Which::Some, poll: false },
            Mark(mark) => Call::Mark(mark),
            Start(_, number, steps) => {
                let named = self.named.clone();
                Call::Start(Box::new(Thread { number: Some(number), named, ..Thread::new(self.rank, steps) }))
            }
            Await(_) => Call::Irecv(thread_wait(self.rank)),
            Cancel(name) => Call::Cancel(self.requests(&[name])[0]),
            Limit(_, span) => Call::Start(Box::new(Thread::new(self.rank, vec![Compute(span)]))),
            WaitAny(names) => Call::WaitAny(self.requests(&names)),
            Wait(names) => Call::Complete(self.requests(&names)),
            Test(name) => Call::Test { requests: self.requests(&[name]), which: Which::All, poll: true },
            Isend(_, to) => Call::Isend(Thread::message(to)),
            Irecv(_, from) => Call::Irecv(Thread::pattern(from)),
            Send(to) => Call::Send(Thread::message(to)),
        }
    }
}

impl Describe for Thread {
    fn is_thread(&self) -> bool {
        self.number.is_some()
    }

    fn thread(&self) -> Option<u32> {
        self.number
    }
}

fn platform() -> Platform {
    machine([2, 1, 4], Contention::Ideal)
}

fn run<P: Program + 'static>(limits: RunOptions, make: impl Fn(Rank) -> P + Sync) -> Result<Outcome, RunError> {
    let platform = platform();
    let sites = Placement::Block.sites_by_threads(platform.shape, 1, 8, false).unwrap();
    let sites = vec![sites[0], sites[4]];
    Simulation::new(&platform, sites, limits, Labels::default()).run(make, &Progress::default())
}

/// Runs the programs of two ranks on two nodes, and records them.
fn recorded(programs: &[Vec<Step>; 2]) -> (Outcome, Result<Vec<u8>, String>) {
    let recording = Arc::new(Recording::new(2));
    let make = |rank: Rank| recording.wrap(rank, Thread::new(rank, programs[rank as usize].clone()));
    let outcome = run(RunOptions::default(), make).unwrap_or_else(|error| panic!("{error}"));
    (outcome, recording.finish(&Header::default()).map_err(|error| error.to_string()))
}

fn replay(trace: &Arc<Trace>, cores: u32, limits: RunOptions) -> Result<Outcome, RunError> {
    let platform = platform();
    let cost = DataCost::new(&platform.core, 1e9);
    let machine = Machine { platform: Arc::new(platform), cost, memory: 1e9, cores };
    run(limits, |rank| trace.program(rank, &machine, 1.0))
}

/// Records the programs of two ranks. Asserts that replays are equal, and returns the Outcome.
fn replayed(programs: &[Vec<Step>; 2]) -> Outcome {
    let (expected, bytes) = recorded(programs);
    let trace = Arc::new(Trace::read(bytes.unwrap()).unwrap());
    for workers in [1, 2] {
        let limits = RunOptions { workers: Some(workers), ..RunOptions::default() };
        let found = replay(&trace, 4, limits).unwrap_or_else(|error| panic!("{error}\n{}", head(&trace, 0, 40)));
        let found = Outcome { host: expected.host.clone(), ..found };
        assert!(found == expected, "{:?}\n{:?}", found.per_thread, expected.per_thread);
    }
    expected
}

fn sender(at: u64) -> Vec<Step> {
    vec![Compute(at), Send(0)]
}

/// Main thread and thread 1 of a rank: the thread waits for a request that the main thread starts at 1000.
fn completes(of: &[Step], how: Step, after: Step) -> Vec<Step> {
    let thread = vec![Await("go"), Wait(vec!["go"]), how, Compute(100)];
    let main = [Mark(ThreadMark::Shares), Start("thread", 1, thread), Compute(1000)];
    [&main, of, &[Turn, Cancel("go"), after, Wait(vec!["thread"]), Compute(10)]].concat()
}

#[test]
fn a_thread_completes_requests_of_another_thread() {
    let end = |programs: &[Vec<Step>; 2]| replayed(programs).per_rank[0].clock.as_ps() / 1000;
    let wait = || Wait(vec!["a"]);
    let latest = end(&[completes(&[Irecv("a", Some(1))], wait(), Turn), sender(5000)]);
    assert!(latest > 5110, "{latest}");
    // The main thread starts another request after the thread has completed the first one.
    for from in [Some(1), None] {
        let next = [Irecv("a", from)];
        for how in [wait(), WaitAny(vec!["a"])] {
            assert_eq!(end(&[completes(&next, how, Compute(9000)), sender(5000)]), 10_010);
        }
        assert_eq!(end(&[completes(&next, wait(), Turn), sender(5000)]), latest);
    }
    // The request is complete when the thread tests it.
    let next = [Irecv("a", Some(1)), Compute(8000)];
    assert_eq!(end(&[completes(&next, Test("a"), Turn), sender(1)]), 9110);
    let send = [Isend("a", 1), Irecv("b", Some(1))];
    let other = vec![Irecv("c", Some(0)), Send(0), Wait(vec!["c"])];
    replayed(&[completes(&send, Wait(vec!["b", "a"]), Turn), other]);
    // A further thread is joined by the first one.
    let third = [Start("a", 2, vec![Compute(3000)])];
    assert_eq!(end(&[completes(&third, wait(), Turn), vec![]]), 4110);
}

#[test]
fn requests_that_no_trace_can_state_are_errors() {
    let error = |programs: &[Vec<Step>; 2]| recorded(programs).1.unwrap_err();
    let cancels = completes(&[Irecv("a", Some(1))], Cancel("a"), Wait(vec!["a"]));
    let why = "the run cannot be recorded: rank 0: a thread cancels a request of another thread";
    assert_eq!(error(&[cancels, vec![]]), why);
    let completes = completes(&[Irecv("a", Some(1)), Cancel("a")], Wait(vec!["a"]), Turn);
    let why = "the run cannot be recorded: rank 0: a thread completes a receive that another thread has cancelled";
    assert_eq!(error(&[completes, vec![]]), why);
}

/// A thread that waits for another thread up to 500 ns, which the main thread ends at `ends`.
fn limited(ends: u64) -> Vec<Step> {
    let over = [Cancel("go"), Wait(vec!["go"])];
    let thread = [Await("go"), Limit("limit", 500), WaitAny(vec!["go", "limit"])];
    let thread = if ends > 500 { [&thread[..], &over].concat() } else { thread.to_vec() };
    let main = [Mark(ThreadMark::Shares), Start("thread", 1, [&thread[..], &[Compute(100)]].concat()), Compute(ends)];
    let wake = if ends > 500 { vec![] } else { vec![Turn, Cancel("go")] };
    [&main[..], &wake, &[Wait(vec!["thread"])]].concat()
}

#[test]
fn a_wait_that_reaches_its_time_limit_is_a_wait_for_threads() {
    for (ends, waited, clock) in [(2000, 500, 2000), (300, 300, 400)] {
        let outcome = replayed(&[limited(ends), vec![]]);
        let thread = &outcome.per_thread[0];
        assert_eq!((thread.thread_wait, thread.parts.compute), (ns(waited), ns(100)), "{ends}");
        assert_eq!(outcome.per_rank[0].clock.as_ps(), clock * 1000, "{ends}");
    }
}

/// A trace with all operations of threads.
fn everything() -> Vec<u8> {
    let lock = |how| Mark(ThreadMark::Uses(5, how));
    let cores = |span| vec![Mark(ThreadMark::Cores(true)), Compute(span), Mark(ThreadMark::Cores(false))];
    let one = vec![Await("go"), Wait(vec!["go"]), Wait(vec!["a"]), Turn, lock(ObjectUse::Acquire), Compute(100)];
    let one = [one, cores(200_000), vec![Turn, lock(ObjectUse::Release), Wait(vec!["third"])]].concat();
    let limit = vec![Await("never"), Limit("limit", 500), WaitAny(vec!["never", "limit"]), Cancel("never")];
    let two = [limit, vec![Wait(vec!["never"]), Mark(ThreadMark::Sleeps), Sleep(70), Turn, lock(ObjectUse::Next)]];
    let turn = vec![
        Mark(ThreadMark::Shares),
        Start("one", 1, one),
        Mark(ThreadMark::Shares),
        Start("two", 2, two.concat()),
        Turn,
        lock(ObjectUse::Release),
        Compute(1000),
        Irecv("a", None),
        Start("third", 3, vec![Compute(10)]),
        Turn,
        Cancel("go"),
        Isend("b", 1),
        Wait(vec!["b"]),
        Wait(vec!["one", "two"]),
    ];
    let main = [turn.clone(), turn.clone(), turn].concat();
    let other: Vec<Step> = (0..3).flat_map(|_| [Irecv("b", Some(0)), Send(0), Wait(vec!["b"])]).collect();
    recorded(&[main, other]).1.unwrap()
}

/// Replays a readable trace with limits on time and events.
fn replay_within_limits(trace: Trace) -> Result<(), RunError> {
    let trace = Arc::new(trace);
    if trace.header().ranks != 2 {
        return Ok(());
    }
    (0..2).for_each(|rank| assert!(head(&trace, rank, 50).lines().all(|line| line.chars().count() <= 80)));
    assert!(info(&trace).lines().chain(stats(&trace).lines()).all(|line| line.chars().count() <= 80));
    let limits = |workers| RunOptions {
        max_events: Some(20_000),
        max_time: Some(SimTime::from_ps(1 << 50)),
        workers: Some(workers),
        ..RunOptions::default()
    };
    let _ = replay(&trace, 4, limits(2));
    replay(&trace, 1, limits(1)).map(|_| ())
}

#[test]
fn operations_of_threads_in_an_older_version_are_an_error() {
    let mut file = everything();
    replay_within_limits(Trace::read(file.clone()).unwrap()).unwrap();
    file[8] = 7;
    let error = Trace::read(file).unwrap_err().to_string();
    assert_eq!(error, "an operation of threads in version 7 of the format: expected version 8");
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_damaged_trace_of_threads_is_an_error_or_a_run(changes in prop::collection::vec(change(), 1..4)) {
        thread_local! {
            static BODY: Vec<u8> = everything()[FRONT..].to_vec();
        }
        let mut body = BODY.with(Clone::clone);
        changes.iter().for_each(|change| apply(&mut body, change));
        if let Ok(trace) = Trace::read(sealed(&body)) {
            let _ = replay_within_limits(trace);
        }
    }
}
