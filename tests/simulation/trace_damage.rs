//! Tests of damaged, truncated, old or malicious traces: a run with such a trace ends in an error or within its limits.
//! Such traces never cause a panic, an endless run, or large memory use.

use std::sync::Arc;

use crate::support::Do::{self, *};
use crate::support::collectives::{Line, each, part, part_by, record_lines, same};
use crate::support::replays::replaying;
use crate::support::{ANSWER, Log, Polling, Script, machine};
use mcpsim::engine::{Labels, Progress, RunError, RunOptions, Simulation};
use mcpsim::mpi::{CollectiveCall, CommMember, Group};
use mcpsim::platform::{Algorithm, Collective, Contention, Placement, Platform};
use mcpsim::rank::{FailureKind, Rank, SendMode};
use mcpsim::trace::{Header, Recording, Trace, head, info, stats};
use mcpsim::units::SimTime;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Offset in bytes at which the body of a trace file starts, after magic number, version, length and checksum.
pub const FRONT: usize = 28;

fn platform() -> Platform {
    machine([2, 1, 2], Contention::Share)
}

/// Returns the trace file of a run that executes these scripts.
fn recorded(scripts: &[Vec<Do>]) -> Vec<u8> {
    let platform = platform();
    let sites = Placement::Block.sites(platform.shape, scripts.len() as u32, false).unwrap();
    let recording = Arc::new(Recording::new(scripts.len() as u32));
    let log = Log::default();
    let make = |rank: Rank| recording.wrap(rank, Script::new(rank, scripts[rank as usize].clone(), log.clone()));
    let limits = RunOptions { max_events: Some(1_000_000), ..RunOptions::default() };
    let simulation = Simulation::new(&platform, sites, limits, Labels::default());
    simulation.run(make, &Progress::default()).expect("the scripts run to their end");
    recording.finish(&Header { app: "scripts".to_owned(), ..Header::default() }).unwrap()
}

/// Returns a trace with everything that traces can contain: every kind of call, loops, lists of values, strands,
/// answers.
fn everything() -> Vec<u8> {
    let poll = Poll(Polling { probe: false, idle: Some((2, 50)), free: false });
    let turn = vec![Irecv(1), Isend(1, 8), Isend(1, 100_000), WaitAll, Compute(5)];
    let mut first = vec![turn; 40].concat();
    first.extend((0..80).map(|length| Compute(1000 + length * 17)));
    first.extend((0..20).map(|length| Work(length * 3, 1000 + length * 17)));
    first.extend([Irecv(1), IrecvAny, Test, poll, Irecv(1), Cancel, WaitAll, Ask(1, 64, ANSWER), Recv(1)]);
    first.extend([Start(vec![SendTag(1, 5, 9), Compute(7)]), WaitAny, ProbeRecv(7), IprobeAny, Exchange(1, 9, 1)]);
    first.extend((0..90).map(|tag| SendTag(1, 300 + u64::from(tag), 1000 + tag * 3)));
    first.push(SendMode(1, 11, SendMode::Synchronous));
    let answer = vec![Recv(0), Recv(0), Send(0, 8)];
    let mut second = vec![answer; 40].concat();
    second.extend([Compute(1_000_000), Send(0, 10), Send(0, 20), RecvTag(0, 9), SendTag(0, 30, 7), Exchange(0, 9, 0)]);
    second.extend((0..90).map(|tag| RecvTag(0, 1000 + tag * 3)));
    second.push(Recv(0));
    recorded(&[first, second])
}

/// Returns a trace that contains collectives as calls: with all forms of sizes, in several communicators, blocking and
/// nonblocking, and with forced algorithms.
fn collectives() -> Vec<u8> {
    let world = |of, rank, sizes| part(of, rank, 4, sizes);
    let program = |rank: u32| {
        let turned = CommMember::new(3, 3 - rank, Group::from_ranks(vec![3, 2, 1, 0]));
        let pair = CommMember::new(1, rank / 2, Group::Strided { first: rank % 2, stride: 2, size: 2 });
        let mut lines = Vec::new();
        for size in 0..300 {
            lines.push(Line::Collective(world(Collective::Allreduce, rank, same(size * 8 + 1))));
        }
        lines.push(Line::Begin(world(Collective::Alltoallv, rank, each(&[1, 2000, 3, 40_000]))));
        lines.push(Line::Begin(CollectiveCall {
            comm: turned,
            ..world(Collective::Allgatherv, rank, each(&[9, 0, 3, 4]))
        }));
        lines.push(Line::WaitAll);
        lines.push(Line::Collective(CollectiveCall { comm: pair, ..world(Collective::Bcast, rank, same(1 << 20)) }));
        lines.push(Line::Collective(part_by(Algorithm::Chain, Collective::Bcast, rank, 4, same(70_000))));
        lines
    };
    let programs: Vec<_> = (0..4).map(program).collect();
    record_lines(&platform(), &programs)
}

/// Returns the 64-bit FNV-1a hash over words of eight bytes, and over the remaining bytes one by one.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x100_0000_01b3);
    let words = bytes.chunks_exact(8);
    let rest = words.remainder();
    let hash = words.map(|word| u64::from_le_bytes(word.try_into().unwrap())).fold(0xcbf2_9ce4_8422_2325, step);
    rest.iter().fold(hash, |hash, &byte| step(hash, byte.into()))
}

/// Returns a trace file with this body, and with a valid length and checksum.
pub fn sealed(body: &[u8]) -> Vec<u8> {
    let mut file = b"MCPSIM\0T".to_vec();
    file.extend(8u32.to_le_bytes());
    file.extend((body.len() as u64).to_le_bytes());
    file.extend(checksum(body).to_le_bytes());
    file.extend(body);
    file
}

/// Returns the error that reading these bytes causes.
fn error(bytes: &[u8]) -> String {
    Trace::read(bytes.to_vec()).unwrap_err().to_string()
}

/// Replays a readable trace with limits on time and events.
fn replay(trace: Trace) -> Result<(), RunError> {
    let trace = Arc::new(trace);
    let ranks = trace.header().ranks;
    (0..ranks.min(3)).for_each(|rank| assert!(head(&trace, rank, 50).lines().all(|line| line.chars().count() <= 80)));
    assert!(info(&trace).lines().chain(stats(&trace).lines()).all(|line| line.chars().count() <= 80));
    let platform = platform();
    let Ok(sites) = Placement::Block.sites(platform.shape, ranks, true) else { return Ok(()) };
    let limit = Some(SimTime::from_ps(1 << 50));
    let options = RunOptions { max_events: Some(20_000), max_time: limit, workers: Some(2), ..RunOptions::default() };
    let simulation = Simulation::new(&platform, sites, options, Labels::default());
    let machine = replaying(&platform);
    simulation.run(|rank| trace.program(rank, &machine, 1.0), &Progress::default()).map(|_| ())
}

#[test]
fn what_is_sealed_here_is_what_is_written() {
    for file in [everything(), collectives()] {
        assert_eq!(sealed(&file[FRONT..]), file);
        replay(Trace::read(file).unwrap()).unwrap();
    }
}

#[test]
fn a_file_that_ends_too_soon_or_too_late_says_so() {
    let file = everything();
    let body = file.len() - FRONT;
    for end in [0, 5, 8, 11, 12, 27, FRONT, FRONT + 1, file.len() - 1] {
        let expected = match end {
            0..8 => "not a mcpsim trace: the file does not start with \"MCPSIM\"".to_owned(),
            8..FRONT => format!("truncated: expected 28 bytes at least; found {end}"),
            _ => format!("truncated: expected {body} bytes after the head; found {}", end - FRONT),
        };
        assert_eq!(error(&file[..end]), expected);
    }
    let longer = [&file[..], b"x"].concat();
    assert_eq!(error(&longer), format!("too long: expected {body} bytes after the head; found {}", body + 1));
}

#[test]
fn another_version_is_told() {
    let mut other = everything();
    other[8] = 9;
    assert_eq!(error(&other), "version 9 of the format: this mcpsim reads versions 2 to 8");
}

#[test]
fn a_flipped_bit_is_noticed() {
    let file = everything();
    for (at, expected) in [
        (3, "not a mcpsim trace: the file does not start with \"MCPSIM\""),
        (20, "its checksum does not agree with its content"),
        (FRONT + 2, "its checksum does not agree with its content"),
        (file.len() - 1, "its checksum does not agree with its content"),
    ] {
        let mut other = file.clone();
        other[at] ^= 1;
        assert_eq!(error(&other), expected);
    }
}

/// Returns the start of the body of a trace for one rank without names: shape, seed, rates, no factors; one empty name;
/// the group that consists of the rank.
fn front() -> Vec<u8> {
    [&[0, 1, 0, 0, 0, 1, 1, 1, 1][..], &[0; 40], &[0, 1, 0], &[1, 0, 0, 1, 1]].concat()
}

/// Returns the body of a trace for one rank that has the operations `ops` and executes them in the sequence `code`.
fn body(ops: &[&[u8]], code: &[u8]) -> Vec<u8> {
    let mut body = front();
    body.push(ops.len() as u8);
    ops.iter().for_each(|op| body.extend(*op));
    body.extend([1, code.len() as u8]);
    body.extend(code);
    // The trace has one task with name 0 and sequence 0, whose lists are all empty. The trace has no answers to served
    // messages. The rank's task serves no messages.
    body.extend([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    body
}

const YIELD: &[u8] = &[19];
const NO_CALL: &[u8] = &[20, 1];
/// Code of a loop of 2^60 iterations in a trace.
const ENDLESS: [u8; 9] = [0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20];

/// Code of a loop of 2^40 iterations in a trace.
const LONG: [u8; 6] = [0x81, 0x80, 0x80, 0x80, 0x80, 0x40];
/// Operations of a trace: an eager send of 8 bytes from a rank to itself, and the receive of this message.
const ISEND_EAGER: &[u8] = &[5, 0, 0, 0, 0, 9];
const RECV: &[u8] = &[3, 0, 0, 0, 0];

#[test]
fn more_than_a_run_can_have_done_is_refused() {
    let refused = |op: &[u8], turns: &[u8]| error(&sealed(&body(&[op], &[turns, &[1, 0]].concat())));
    assert_eq!(refused(YIELD, &ENDLESS), "1152921504606846976 calls of all ranks: expected at most 17592186044416");
    assert_eq!(
        refused(ISEND_EAGER, &LONG),
        "1099511627776 messages, 0 receives: expected a receive for each but 4194304"
    );
    let matched = [&LONG[..], &[2, 0, 2]].concat();
    assert!(Trace::read(sealed(&body(&[ISEND_EAGER, RECV], &matched))).is_ok());
}

/// Each task of the trace starts the previous task four times, so the number of steps of the last task overflows.
#[test]
fn strands_that_multiply_are_counted_and_refused() {
    let strands = |tasks: u8| {
        // One operation of the trace yields, a second starts a strand in request slot 0, and a third waits for this
        // strand. The trace has two sequences of operations.
        let mut body = front();
        body.extend([3, 19, 16, 0, 9, 0, 1, 0, 2, 1, 0, 4, 9, 2, 2, 4]);
        body.extend([tasks, 0, 0, 0, 0, 0, 0, 0]);
        // Each further task of the trace starts a strand of the previous task four times, with no tag offset.
        for task in 1..tasks {
            body.extend([0, 1, 0, 0, 0, 8]);
            body.extend([(task - 1) << 2 | 2, 0].repeat(4));
            body.push(0);
        }
        body.extend([0, tasks - 1, 0]);
        sealed(&body)
    };
    assert_eq!(error(&strands(32)), "16909515400900422312 calls of all ranks: expected at most 17592186044416");
    let few = Trace::read(strands(5)).unwrap();
    assert!(stats(&few).contains(&format!("{:<10} {:>17}", "yield", 256)), "{}", stats(&few));
    replay(few).unwrap();
}

/// Processing the operations of the trace separately for each task would need too much time and memory.
#[test]
fn many_operations_in_many_tasks_take_no_more_than_their_file() {
    let many = 30_000u32;
    let number = |out: &mut Vec<u8>, value: u32| {
        out.extend([value as u8 | 0x80, (value >> 7) as u8 | 0x80, (value >> 14) as u8])
    };
    let mut body = front();
    number(&mut body, many);
    (0..many).for_each(|_| body.push(19));
    number(&mut body, many);
    (0..many).for_each(|_| body.extend([1, 0]));
    number(&mut body, many);
    for task in 0..many {
        body.push(0);
        number(&mut body, task);
        body.extend([0; 5]);
    }
    body.extend([0, 0, 0]);
    let trace = Trace::read(sealed(&body)).unwrap();
    assert!(info(&trace).contains("\n  calls        1\n"), "{}", info(&trace));
    replay(trace).unwrap();
}

#[test]
fn long_loops_run_to_the_limits() {
    for op in [YIELD, &[0, 0], &[11], &[12], &[18]] {
        let code = [&LONG[..], &[1, 0]].concat();
        let trace = Trace::read(sealed(&body(&[op], &code))).unwrap();
        assert_eq!(stats(&trace).lines().count(), 10);
        let error = replay(trace).unwrap_err();
        assert!(matches!(error, RunError::MaxEvents { .. } | RunError::MaxTime { .. }), "{error:?}");
    }
}

#[test]
fn a_loop_that_makes_no_call_is_refused() {
    let code = [&ENDLESS[..], &[1, 0]].concat();
    assert_eq!(error(&sealed(&body(&[NO_CALL], &code))), "sequences, byte 90: expected a loop with a call in it");
    assert_eq!(error(&sealed(&body(&[YIELD], &[1, 1, 0]))), "sequences, byte 89: expected a loop of at least one turn");
    assert_eq!(error(&sealed(&body(&[YIELD], &[5, 9, 0]))), "sequences, byte 89: a loop of 9 bytes goes past the end");
    assert_eq!(error(&sealed(&body(&[YIELD], &[2]))), "sequences, byte 89: there is no operation 1");
}

#[test]
fn loops_within_loops_are_not_too_deep() {
    let nested = |depth: u8| (1..=depth).fold(vec![0], |inner, _| [vec![5, inner.len() as u8], inner].concat());
    assert!(Trace::read(sealed(&body(&[YIELD], &nested(32)))).is_ok());
    let error = error(&sealed(&body(&[YIELD], &nested(33))));
    assert!(error.ends_with("expected loops within loops at most 32 deep"), "{error}");
}

#[test]
fn what_cannot_have_been_recorded_ends_the_run_with_an_error() {
    let own = &[7, 0, 0, 0, 0, 0][..];
    for (ops, what) in [
        (&[&[9, 0, 1, 0][..]][..], "a wait for a slot without a request"),
        (&[&[10, 3]], "a wait for a slot without a request"),
        (&[&[7, 0, 0, 0, 0, 5]], "a slot is used out of order"),
        (&[own, own], "a slot is used out of order"),
        (&[&[1]], "its lengths of computing end too soon"),
        (&[&[2, 4, 0, 0, 1]], "a listed peer is no rank"),
        (&[&[2, 0, 0, 0, 0, 0]], "its sizes end too soon"),
        (&[&[16, 0]], "its late values end too soon"),
        (&[&[3, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0]], "a receive of messages that are served"),
        (&[&[3, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f]], "a tag is too large"),
    ] {
        let code: Vec<u8> = (0..ops.len() as u8).map(|op| op * 2).collect();
        let error = replay(Trace::read(sealed(&body(ops, &code))).unwrap()).unwrap_err();
        let RunError::Program { error, .. } = error else { panic!("{what}: {error:?}") };
        assert_eq!((error.kind, error.what), (FailureKind::Description, format!("the trace is damaged: {what}")));
    }
}

/// The bytes of a collective in a trace are: kind, index, flags, name, communicator, group, root, element, sizes.
#[test]
fn a_collective_that_cannot_have_been_called_is_refused() {
    let read = |op: &[u8]| error(&sealed(&body(&[op], &[0])));
    for (op, what) in [
        (&[25, 15, 0, 0, 0, 0, 0, 8, 9][..], "expected a collective up to 14; found 15"),
        (&[25, 3, 16, 0, 0, 0, 0, 8, 9], "expected flags up to 15; found 16"),
        (&[25, 3, 3, 0, 0, 0, 0, 8, 9], "expected a form of sizes up to 2; found 3"),
        (&[25, 3, 0, 1, 0, 0, 0, 8, 9], "expected a name up to 0; found 1"),
        (&[25, 3, 0, 0, 0, 1, 0, 8, 9], "expected a group up to 0; found 1"),
    ] {
        assert!(read(op).ends_with(what), "{}", read(op));
    }
    for (ops, what) in [
        // The tag of a bcast is greater by 1 than the tag of a barrier, which is the first collective.
        (&[&[25, 1, 0, 0, 0, 0, 0, 1, 9][..]][..], "the trace is damaged: a collective's tag is another's"),
        (&[&[25, 0, 8, 0, 0, 0, 0, 1, 0, 9]], "the trace is damaged: an unknown algorithm"),
        (&[&[25, 0, 0, 0, 0, 0, 0, 1, 0]], "the trace is damaged: its sizes end too soon"),
        (&[&[25, 0, 2, 0, 0, 0, 0, 1]], "the trace is damaged: its sizes end too soon"),
        (&[&[25, 0, 1, 0, 0, 0, 0, 1, 1, 9]], "sizes of barrier: expected one size for all ranks; found a list of 1"),
        (
            &[&[21, 1], &[25, 1, 0, 0, 0, 0, 7, 1, 9]],
            "root 7 of bcast: expected a rank of the communicator, which has 1",
        ),
    ] {
        let code: Vec<u8> = (0..ops.len() as u8).map(|op| op * 2).collect();
        let error = replay(Trace::read(sealed(&body(ops, &code))).unwrap()).unwrap_err();
        let RunError::Program { error, .. } = error else { panic!("{what}: {error:?}") };
        assert_eq!((error.kind, error.what.as_str()), (FailureKind::Description, what));
    }
}

#[test]
fn a_group_is_of_ranks_that_differ() {
    // The trace has two ranks. The group after the names replaces the group of the single rank.
    let with = |group: &[u8]| {
        let mut body = [&[0, 2, 0, 0, 0, 1, 1, 1, 1][..], &[0; 40], &[0, 1, 0, 1], group].concat();
        body.extend([0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        error(&sealed(&body))
    };
    assert!(with(&[2, 1, 1]).ends_with("expected members that differ"), "{}", with(&[2, 1, 1]));
    assert!(with(&[3, 1, 0]).ends_with("expected a number of members up to 2; found 3"));
    assert!(with(&[0, 2, 1, 1]).ends_with("expected a rank up to 1; found 2"));
    assert!(with(&[0, 1, 1, 2]).ends_with("expected a number of members up to 1; found 2"));
}

/// A trace file of version 3 has no groups.
#[test]
fn a_trace_of_an_older_version_is_read() {
    let mut body = body(&[YIELD], &[0]);
    let groups = front().len() - 5;
    body.drain(groups..groups + 5);
    for version in [2, 3] {
        let mut file = sealed(&body);
        file[8] = version;
        let trace = Trace::read(file).unwrap();
        assert!(info(&trace).contains(&format!("format {version}\n")), "{}", info(&trace));
        replay(trace).unwrap();
    }
}

#[test]
fn a_file_cannot_claim_more_ranks_than_it_has_bytes_for() {
    let mut many = body(&[YIELD], &[0]);
    many.splice(1..2, [0xff, 0xff, 0xff, 0x7f]);
    assert!(error(&sealed(&many)).contains("expected a number of ranks up to"));
}

/// Change of the byte at a position in the body of a trace. The position is taken modulo the length.
#[derive(Clone, Debug)]
pub enum Change {
    Set(usize, u8),
    Flip(usize, u8),
    Insert(usize, u8),
    Remove(usize),
    Repeat(usize, usize),
    Huge(usize),
}

pub fn change() -> impl Strategy<Value = Change> {
    let at = any::<usize>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        (at(), 0u8..8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        (at(), any::<u8>()).prop_map(|(at, byte)| Change::Insert(at, byte)),
        at().prop_map(Change::Remove),
        (at(), 1usize..20).prop_map(|(at, length)| Change::Repeat(at, length)),
        at().prop_map(Change::Huge),
    ]
}

pub fn apply(body: &mut Vec<u8>, change: &Change) {
    let length = body.len().max(1);
    match *change {
        Change::Set(at, byte) => body[at % length] = byte,
        Change::Flip(at, bit) => body[at % length] ^= 1 << bit,
        Change::Insert(at, byte) => body.insert(at % length, byte),
        Change::Remove(at) => _ = body.remove(at % length),
        Change::Repeat(at, count) => {
            let at = at % length;
            let part = body[at..(at + count).min(length)].to_vec();
            body.splice(at..at, part);
        }
        Change::Huge(at) => {
            let at = at % length;
            body.splice(at..=at, ENDLESS);
        }
    }
}

pub fn config() -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => config,
        None => ProptestConfig { cases: 4000, rng_seed: RngSeed::Fixed(1), ..config },
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_body_of_any_content_is_an_error_or_a_run(
        changes in prop::collection::vec(change(), 1..4),
        which in 0usize..2,
    ) {
        thread_local! {
            static BODIES: [Vec<u8>; 2] = [everything(), collectives()].map(|file| file[FRONT..].to_vec());
        }
        let mut body = BODIES.with(|bodies| bodies[which].clone());
        changes.iter().for_each(|change| apply(&mut body, change));
        if let Ok(trace) = Trace::read(sealed(&body)) {
            let _ = replay(trace);
        }
    }
}
