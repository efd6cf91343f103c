//! Tests with handwritten logs in the format of the recording library, and with invalid logs.

use super::super::bytes::{put, put_text, zigzag};
use super::super::checksum;
use super::*;
use crate::units::Bytes;

mod threads;

fn chunk(kind: u32, content: &[u8]) -> Vec<u8> {
    let mut out = kind.to_le_bytes().to_vec();
    out.extend_from_slice(&(content.len() as u32).to_le_bytes());
    out.extend_from_slice(&checksum(content).to_le_bytes());
    out.extend_from_slice(content);
    out
}

fn call(name: &str, rest: &[i64], signed: &[usize]) -> Vec<u8> {
    let mut out = vec![LoggedFunction::named(name).unwrap().number()];
    for (place, &number) in rest.iter().enumerate() {
        put(&mut out, if signed.contains(&place) { zigzag(number) } else { number as u64 });
    }
    out
}

/// Description of a host in the log of a rank.
#[derive(Clone, Copy, Default)]
struct TestHost {
    cores: Option<u64>,
    waited: Option<u64>,
    begin: (u64, i64),
    asked_before: Option<u64>,
    end: (u64, i64),
}

/// Log of `rank` in the run `run` of two ranks, with the calls `calls`. Each call takes two microseconds and follows
/// one microsecond of code.
fn log(run: u64, rank: u32, calls: &[Vec<u8>]) -> Vec<u8> {
    log_on(TestHost::default(), run, rank, calls)
}

/// Like [`log`], on a host with the core count and waiting times of `host`.
fn log_on(host: TestHost, run: u64, rank: u32, calls: &[Vec<u8>]) -> Vec<u8> {
    let records = calls.iter().zip(0..).map(|(call, number)| (number, Some(&call[..]), [1000, 0, 2000]));
    log_of(host, run, rank, records)
}

/// Log with the given records. A record is the index of a call, the encoding of the call if the call is new, and times.
fn log_of<'a>(
    host: TestHost,
    run: u64,
    rank: u32,
    list: impl Iterator<Item = (u64, Option<&'a [u8]>, [u64; 3])>,
) -> Vec<u8> {
    let mut out = LOG.to_vec();
    [VERSION, ORDER].iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    let mut info = run.to_le_bytes().to_vec();
    [u64::from(rank), 2, 1].iter().for_each(|&number| put(&mut info, number));
    let put_clock = |out: &mut Vec<u8>, (clock, ahead): (u64, i64)| {
        out.extend_from_slice(&clock.to_le_bytes());
        out.extend_from_slice(&ahead.to_le_bytes());
    };
    put_clock(&mut info, host.begin);
    ["host", "An MPI", "program"].iter().for_each(|text| put_text(&mut info, text));
    host.cores.into_iter().chain(host.asked_before).for_each(|number| put(&mut info, number));
    out.extend(chunk(0, &info));
    let (mut records, mut count) = (Vec::new(), 0);
    for (number, call, times) in list {
        put(&mut records, number);
        if let Some(call) = call {
            put(&mut records, call.len() as u64);
            records.extend_from_slice(call);
        }
        times.iter().for_each(|&time| put(&mut records, time));
        count += 1;
    }
    out.extend(chunk(1, &records));
    let mut end = Vec::new();
    put_clock(&mut end, host.end);
    [count, 0, 0, 1].iter().for_each(|&number| put(&mut end, number));
    host.waited.into_iter().for_each(|waited| put(&mut end, waited));
    out.extend(chunk(2, &end));
    out
}

fn send(peer: i64) -> Vec<u8> {
    call("MPI_Send", &[0, peer, 7, 800, 1, 0], &[1, 2])
}

fn receive() -> Vec<u8> {
    call("MPI_Recv", &[0, 0, 7, 800, 1, 0], &[1, 2])
}

fn pair() -> [(String, Vec<u8>); 2] {
    [("0.log".to_owned(), log(5, 0, &[send(1)])), ("1.log".to_owned(), log(5, 1, &[receive()]))]
}

fn error(logs: &[(String, Vec<u8>)]) -> String {
    merge(logs).and_then(|bytes| Logs::read(&bytes)).unwrap_err().to_string()
}

#[test]
fn logs_in_any_order_become_a_run() {
    let mut logs = pair();
    logs.reverse();
    let run = Logs::read(&merge(&logs).unwrap()).unwrap();
    assert_eq!((run.ranks(), run.fault()), (2, None));
    assert_eq!((run.measured(0), run.code(1)), (3000, 1000));
    let steps: Vec<LoggedCall> = run.steps(0).collect();
    assert_eq!((steps[0].call.function.name(), steps[0].call.bytes()), ("MPI_Send", 800));
    assert_eq!(run.head(0, 9), "code         1000 ns  MPI_Send                         2000 ns  800 B\n");
}

#[test]
fn ranks_that_shared_cores_are_told() {
    for (cores, found) in [(None, None), (Some(2), None), (Some(1), Some(("host", 2, 1)))] {
        let host = TestHost { cores, ..TestHost::default() };
        let logs = [log_on(host, 5, 0, &[send(1)]), log_on(host, 5, 1, &[receive()])];
        let logs = logs.map(|log| (String::new(), log));
        let run = Logs::read(&merge(&logs).unwrap()).unwrap();
        assert_eq!(run.crowded(), found);
        assert_eq!(run.tell().contains("2 on 1 host; 2 shared the 1 cores of host"), found.is_some(), "{}", run.tell());
    }
}

#[test]
fn the_rank_that_waited_longest_for_a_core_is_told() {
    for (waited, found) in
        [([None, None], None), ([Some(30), None], Some((0, 30, 0.01))), ([Some(30), Some(60)], Some((1, 60, 0.02)))]
    {
        let host = |waited| TestHost { waited, ..TestHost::default() };
        let logs = [log_on(host(waited[0]), 5, 0, &[send(1)]), log_on(host(waited[1]), 5, 1, &[receive()])];
        let run = Logs::read(&merge(&logs.map(|log| (String::new(), log))).unwrap()).unwrap();
        assert_eq!(run.waited(), found);
        assert_eq!(run.tell().contains(" for a core in rank "), found.is_some(), "{}", run.tell());
    }
}

#[test]
fn what_is_no_whole_run_says_what_is_wrong() {
    let [zero, one] = pair();
    let named = |name: &str, bytes: Vec<u8>| (name.to_owned(), bytes);
    assert_eq!(error(std::slice::from_ref(&zero)), "the log of rank 1 is missing: expected those of all 2 ranks");
    assert_eq!(
        error(&[zero.clone(), named("copy", zero.1.clone()), one.clone()]),
        "copy and 0.log: both are of rank 0; expected each rank once"
    );
    let other = named("other", log(6, 1, &[receive()]));
    assert_eq!(error(&[zero.clone(), other]), "0.log and other: are of different runs");
    let whole = merge(&[zero.clone(), one.clone()]).unwrap();
    assert_eq!(
        error(&[named("x.trace", whole.clone())]),
        "x.trace: the file has merged logs; expected the logs of single ranks"
    );
    assert_eq!(
        Logs::read(&whole[..whole.len() - 3]).unwrap_err().to_string(),
        "truncated: the log of rank 1 of 2 is incomplete"
    );
    let changed = |at: usize, byte: u8| {
        let mut bytes = one.1.clone();
        bytes[at] = byte;
        error(&[zero.clone(), named("1.log", bytes)])
    };
    assert_eq!(
        changed(8, 9),
        "1.log: version 9 of the format: expected version 1 to 3; record again with a library of this mcpsim"
    );
    assert_eq!(changed(12, 9), "1.log: damaged: expected the mark of the byte order; found 0x1020309");
    assert_eq!(changed(40, 99), "1.log: damaged: chunk 0 (byte 16) has another checksum");
    assert_eq!(changed(0, b'X'), "1.log: expected the log of a rank; found another format");
    let mut swapped = one.1.clone();
    swapped[8..12].reverse();
    swapped[12..16].reverse();
    assert_eq!(
        error(&[zero.clone(), named("1.log", swapped)]),
        "1.log: recorded on a machine of another byte order (big-endian): expected one of little-endian machines"
    );
    assert_eq!(
        error(&[zero.clone(), named("1.log", one.1[..20].to_vec())]),
        "1.log: truncated: the file ends before the description of its rank"
    );
    assert_eq!(error(&[zero.clone(), named("1.log", Vec::new())]), "1.log: truncated: the file ends within its header");
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let found = Logs::read(&damaged).unwrap_err().to_string();
    assert!(found.starts_with("rank 1: damaged: chunk ") && found.ends_with(" has another checksum"), "{found}");
    let far = named("0.log", log(5, 0, &[send(2)]));
    assert_eq!(error(&[far, one]), "rank 0: MPI_Send with rank 2 of a communicator of 2");
}

#[test]
fn a_log_without_its_end_is_read_up_to_there() {
    let [zero, (name, one)] = pair();
    let end = one.len() - 36;
    let run = Logs::read(&merge(&[zero, (name, one[..end].to_vec())]).unwrap()).unwrap();
    let fault = "the log of rank 1 ends after 1 calls, before MPI_Finalize; a replay executes the first 2 of 2 calls";
    assert_eq!(run.fault().unwrap(), fault);
}

#[test]
fn what_replays_do_not_have_is_named() {
    let [_, one] = pair();
    let zero = ("0.log".to_owned(), log(5, 0, &[send(1), call("MPI_Win_create", &[], &[])]));
    let run = Logs::read(&merge(&[zero, one]).unwrap()).unwrap();
    let fault = "rank 0: the program called MPI_Win_create, which cannot be replayed; a replay executes the first 2 \
                 of 3 calls";
    assert_eq!(run.fault().unwrap(), fault);
    let zero = ("0.log".to_owned(), log(5, 0, &[call("MPI_Win_create", &[], &[])]));
    let run = Logs::read(&merge(&[zero, pair()[1].clone()]).unwrap()).unwrap();
    let fault = "rank 0: the program called MPI_Win_create, which cannot be replayed; no call can be replayed, \
                 because no \
                 call has its counterparts in all ranks";
    assert_eq!(run.fault().unwrap(), fault);
}

#[test]
fn the_beginning_of_a_run_has_the_calls_with_their_counterparts() {
    let kept = |zero: &[Vec<u8>], one: &[Vec<u8>]| {
        let end = [call("MPI_Win_create", &[], &[])];
        let logs = [log(5, 0, &[zero, &end].concat()), log(5, 1, one)].map(|log| (String::new(), log));
        let run = Logs::read(&merge(&logs).unwrap()).unwrap();
        [0, 1].map(|rank: usize| run.resolved[rank].keep.unwrap())
    };
    let barrier = || call("MPI_Barrier", &[0; 8], &[]);
    let post = || call("MPI_Irecv", &[0, 0, 0, 7, 800, 1, 0], &[2, 3]);
    let wait = || call("MPI_Wait", &[1, 0, 0], &[]);
    // The second receive has no matching send, and no barrier follows the receive.
    assert_eq!(kept(&[send(1), barrier()], &[receive(), receive(), barrier()]), [1, 1]);
    assert_eq!(kept(&[send(1), barrier()], &[receive(), barrier(), receive()]), [2, 2]);
    // A posted receive blocks only in the wait for the receive.
    assert_eq!(kept(&[send(1), barrier()], &[post(), barrier(), wait()]), [2, 3]);
    assert_eq!(kept(&[barrier()], &[post(), barrier(), wait()]), [1, 2]);
    // A send without a matching receive blocks.
    assert_eq!(kept(&[send(1), send(1)], &[receive()]), [1, 1]);
}

#[test]
fn changed_bytes_are_an_error_or_a_run() {
    let [zero, one] = pair();
    let gather = call("MPI_Gatherv", &[0, 0, 0, 2, 2, 8, 16, 0, 0], &[]);
    let made = call("MPI_Comm_split", &[0, 1, 3, 0, 1, 2, 1, 0], &[]);
    let wait = call("MPI_Waitall", &[1, 0, 1, 0, 1, 7], &[3, 4, 5]);
    let calls = [send(1), call("MPI_Irecv", &[0, 0, -2, -1, 8, 0, 0], &[2, 3]), wait, gather, made];
    let log = log(5, 0, &calls);
    assert!(Logs::read(&merge(&[("0".to_owned(), log), one.clone()]).unwrap()).is_ok());
    let _ = zero;
    for place in 0..calls.iter().map(Vec::len).sum() {
        for byte in [0, 1, 2, 3, 0x7f, 0x80, 0xff] {
            let mut changed = calls.clone();
            let (mut at, mut which) = (place, 0);
            while at >= changed[which].len() {
                at -= changed[which].len();
                which += 1;
            }
            changed[which][at] = byte;
            let log = self::log(5, 0, &changed);
            let _ = Logs::read(&merge(&[("0".to_owned(), log), one.clone()]).unwrap());
        }
    }
}

#[test]
fn sizes_of_a_list_are_a_ranks_each() {
    let gather = LogCall::read(&call("MPI_Gatherv", &[0, 0, 1, 2, 2, 8, 16, 0, 0], &[])).unwrap();
    let call::CallClass::Collective(joined) = &gather.what else { panic!("{gather:?}") };
    assert_eq!(joined.sizes, SizesOf::Each([8, 16].map(Bytes::new).to_vec().into()));
    assert_eq!((gather.bytes(), joined.root, joined.slot), (24, 1, None));
}

/// Merges two logs into the file of a run and reads this file.
fn run_of(logs: [Vec<u8>; 2]) -> Logs {
    Logs::read(&merge(&logs.map(|log| (String::new(), log))).unwrap()).unwrap()
}

#[test]
fn clocks_that_are_apart_and_drift_are_brought_together() {
    // Rank 1's clock is 10 s ahead and gains 1 ms per second. Rank 1's log begins 1 ms (by rank 1's clock) after the
    // comparison of clocks. Times of 2 ms and 3 ms on rank 1's clock are therefore 2 us and 3 us less on rank 0's
    // clock, plus 1 us for the time before the beginning of the log.
    let drift = |after: i64| -10_000_000_000 - after / 1000;
    let host = TestHost {
        cores: Some(1),
        begin: (10_001_000_000, drift(0)),
        asked_before: Some(1_000_000),
        end: (14_000_000_000, drift(4_000_000_000)),
        ..TestHost::default()
    };
    let call = receive();
    let records = [(0, Some(&call[..]), [2_000_000, 0, 1_000_000]), (0, None, [0, 0, 5])];
    let first = log_of(
        TestHost {
            cores: Some(1),
            begin: (0, 0),
            asked_before: Some(0),
            end: (4_000_000_000, 0),
            ..TestHost::default()
        },
        5,
        0,
        [(0, Some(&send(1)[..]), [0, 0, 7])].into_iter(),
    );
    let spans = run_of([first, log_of(host, 5, 1, records.into_iter())]).spans();
    assert_eq!(spans[0][0].start, 0);
    let starts: Vec<u64> = spans[1].iter().map(|span| span.start).collect();
    assert_eq!(starts, [3_000_000 - 3_000, 4_000_000 - 4_000]);
}

#[test]
fn what_the_library_takes_is_time_that_passes_and_not_the_programs() {
    let library = call("MPI_library", &[], &[]);
    let (sent, times) = (send(1), [1000, 0, 2000]);
    let records = [(0, Some(&sent[..]), times), (1, Some(&library[..]), [0, 700, 0]), (0, None, times)];
    let run = run_of([log_of(TestHost::default(), 5, 0, records.into_iter()), log(5, 1, &[receive(), receive()])]);
    assert_eq!((run.measured(0), run.code(0), run.functions(0).len()), (6000, 2000, 1));
    assert_eq!(run.passed(), 6700);
    let passed = "passed        0.000007 s from the first MPI_Init to the end of the last call,\n";
    assert!(run.tell().contains(passed), "{}", run.tell());
    let starts: Vec<u64> = run.spans()[0].iter().map(|span| span.start).collect();
    assert_eq!(starts, [1000, 1000 + 2000 + 700 + 1000]);
}

#[test]
fn long_calls_have_no_numbers() {
    // A wait for 40,000 requests has more than 65,536 bytes and gets no index, so the next call gets the next index.
    let slots: Vec<i64> = std::iter::once(40_000).chain(0..40_000).chain([0]).collect();
    let (wait, barrier) = (call("MPI_Waitall", &slots, &[]), call("MPI_Barrier", &[0; 8], &[]));
    assert!(wait.len() > 1 << 16);
    let times = [0, 0, 1];
    let records = [(0, Some(&wait[..]), times), (0, Some(&barrier[..]), times), (0, None, times)];
    let run = run_of([log_of(TestHost::default(), 5, 0, records.into_iter()), log(5, 1, &[])]);
    let names: Vec<&str> = run.steps(0).map(|step| step.call.function.name()).collect();
    assert_eq!(names, ["MPI_Waitall", "MPI_Barrier", "MPI_Barrier"]);
}

#[test]
fn communicators_are_the_same_where_their_members_are() {
    // Each rank creates one communicator with both ranks and one communicator with itself alone. Each created
    // communicator is the first communicator with its group of members.
    let both = call("MPI_Comm_dup", &[0, 3, 3, 0, 1, 2, 1, 0], &[]);
    let own = |rank: i64| call("MPI_Comm_split", &[0, 3, 4, rank, 1, 1, 1, rank], &[]);
    let run = run_of([log(5, 0, &[both.clone(), own(0)]), log(5, 1, &[both, own(1)])]);
    let numbers = |rank: usize| run.resolved[rank].comms.clone();
    assert_eq!(numbers(0)[&2], numbers(1)[&2]);
    let mut all = [numbers(0)[&2], numbers(0)[&3], numbers(1)[&3]];
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
}
