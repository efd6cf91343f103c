//! Logs written by hand, as the library writes them, and what is wrong with them.

use super::super::bytes::{put, put_text, zigzag};
use super::super::checksum;
use super::*;
use crate::units::Bytes;

fn chunk(kind: u32, content: &[u8]) -> Vec<u8> {
    let mut out = kind.to_le_bytes().to_vec();
    out.extend_from_slice(&(content.len() as u32).to_le_bytes());
    out.extend_from_slice(&checksum(content).to_le_bytes());
    out.extend_from_slice(content);
    out
}

fn call(name: &str, rest: &[i64], signed: &[usize]) -> Vec<u8> {
    let mut out = vec![Function::named(name).unwrap().number()];
    for (place, &number) in rest.iter().enumerate() {
        put(&mut out, if signed.contains(&place) { zigzag(number) } else { number as u64 });
    }
    out
}

/// The log of `rank` of two in run `run` with these calls, a microsecond of code before each, two in each.
fn log(run: u64, rank: u32, calls: &[Vec<u8>]) -> Vec<u8> {
    log_on((None, None), run, rank, calls)
}

/// The same on a host of so many cores, for which the rank waited for so many ns.
fn log_on((cores, waited): (Option<u64>, Option<u64>), run: u64, rank: u32, calls: &[Vec<u8>]) -> Vec<u8> {
    let mut out = LOG.to_vec();
    [VERSION, ORDER].iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    let mut info = run.to_le_bytes().to_vec();
    [u64::from(rank), 2, 1].iter().for_each(|&number| put(&mut info, number));
    info.extend_from_slice(&[0; 16]);
    ["host", "An MPI", "program"].iter().for_each(|text| put_text(&mut info, text));
    cores.into_iter().for_each(|cores| put(&mut info, cores));
    out.extend(chunk(0, &info));
    let mut records = Vec::new();
    for (number, call) in calls.iter().enumerate() {
        put(&mut records, number as u64);
        put(&mut records, call.len() as u64);
        records.extend_from_slice(call);
        [1000, 0, 2000].iter().for_each(|&time| put(&mut records, time));
    }
    out.extend(chunk(1, &records));
    let mut end = vec![0; 16];
    [calls.len() as u64, 0, 0, 1].iter().for_each(|&number| put(&mut end, number));
    waited.into_iter().for_each(|waited| put(&mut end, waited));
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
        let logs = [log_on((cores, None), 5, 0, &[send(1)]), log_on((cores, None), 5, 1, &[receive()])];
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
        let logs = [log_on((None, waited[0]), 5, 0, &[send(1)]), log_on((None, waited[1]), 5, 1, &[receive()])];
        let run = Logs::read(&merge(&logs.map(|log| (String::new(), log))).unwrap()).unwrap();
        assert_eq!(run.waited(), found);
        assert_eq!(run.tell().contains(" for a core, in rank "), found.is_some(), "{}", run.tell());
    }
}

#[test]
fn what_is_no_whole_run_says_what_is_wrong() {
    let [zero, one] = pair();
    let named = |name: &str, bytes: Vec<u8>| (name.to_owned(), bytes);
    assert_eq!(error(std::slice::from_ref(&zero)), "the log of rank 1 is not there: expected those of all 2 ranks");
    assert_eq!(
        error(&[zero.clone(), named("copy", zero.1.clone()), one.clone()]),
        "copy and 0.log: both are of rank 0; expected each rank once"
    );
    let other = named("other", log(6, 1, &[receive()]));
    assert_eq!(error(&[zero.clone(), other]), "0.log and other: are of different runs");
    let whole = merge(&[zero.clone(), one.clone()]).unwrap();
    assert_eq!(
        error(&[named("x.trace", whole.clone())]),
        "x.trace: is put together already; expected the logs of single ranks"
    );
    assert_eq!(
        Logs::read(&whole[..whole.len() - 3]).unwrap_err().to_string(),
        "cut: the log of rank 1 of 2 is not whole"
    );
    let changed = |at: usize, byte: u8| {
        let mut bytes = one.1.clone();
        bytes[at] = byte;
        error(&[zero.clone(), named("1.log", bytes)])
    };
    assert_eq!(
        changed(8, 9),
        "1.log: version 9 of the format: expected version 1; record again with a library of this mcpsim"
    );
    assert_eq!(changed(12, 9), "1.log: damaged: expected the mark of the byte order; found 0x1020309");
    assert_eq!(changed(40, 99), "1.log: damaged: chunk 0 (byte 16) has another checksum");
    assert_eq!(changed(0, b'X'), "1.log: expected the log of a rank; found something else");
    let mut swapped = one.1.clone();
    swapped[8..12].reverse();
    swapped[12..16].reverse();
    assert_eq!(
        error(&[zero.clone(), named("1.log", swapped)]),
        "1.log: recorded on a machine of another byte order (big-endian): expected one of little-endian machines"
    );
    assert_eq!(
        error(&[zero.clone(), named("1.log", one.1[..20].to_vec())]),
        "1.log: cut: it ends before it says whose log it is"
    );
    let far = named("0.log", log(5, 0, &[send(2)]));
    assert_eq!(error(&[far, one]), "rank 0: MPI_Send with rank 2 of a communicator of 2");
}

#[test]
fn a_log_without_its_end_is_read_up_to_there() {
    let [zero, (name, one)] = pair();
    let end = one.len() - 36;
    let run = Logs::read(&merge(&[zero, (name, one[..end].to_vec())]).unwrap()).unwrap();
    assert_eq!(run.fault().unwrap(), "rank 1 was cut after 1 calls, before MPI_Finalize: only whole runs are replayed");
}

#[test]
fn what_replays_do_not_have_is_named() {
    let [_, one] = pair();
    let zero = ("0.log".to_owned(), log(5, 0, &[send(1), call("MPI_Win_create", &[], &[])]));
    let run = Logs::read(&merge(&[zero, one]).unwrap()).unwrap();
    assert_eq!(run.fault().unwrap(), "rank 0: it called MPI_Win_create, which replays do not have");
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
