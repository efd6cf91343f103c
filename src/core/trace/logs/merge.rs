//! Merges the ranks' logs into one file.

use std::sync::Arc;

use super::super::TraceError;
use super::rank_log::{RankLog, check_head};
use super::{ORDER, RUN, VERSION, is_run};

fn wrong<T>(what: String) -> Result<T, TraceError> {
    Err(TraceError::damaged(what))
}

/// Splits the file with the logs of a run into the logs of the ranks.
pub(super) fn split(bytes: &[u8]) -> Result<Vec<&[u8]>, TraceError> {
    check_head(bytes, RUN, "a run that was recorded under a real MPI")?;
    let Some(head) = bytes.get(16..32) else {
        return wrong("truncated: it ends before the records of its first rank".to_owned());
    };
    let ranks = u32::from_le_bytes(head[8..12].try_into().expect("four bytes"));
    let (mut at, mut logs) = (32, Vec::new());
    for rank in 0..ranks {
        let length = bytes.get(at..at + 8).map(|length| u64::from_le_bytes(length.try_into().expect("eight bytes")));
        let log = length.and_then(|length| bytes.get(at + 8..(at + 8).checked_add(usize::try_from(length).ok()?)?));
        let Some(log) = log else {
            return wrong(format!(
                "truncated: the log of rank {rank} of {ranks} is \
                                                         incomplete"
            ));
        };
        logs.push(log);
        at += 8 + log.len();
    }
    if ranks == 0 || at != bytes.len() {
        return wrong(format!("damaged: {ranks} logs, followed by {} bytes", bytes.len() - at));
    }
    Ok(logs)
}

/// Checks that `logs` contains one log per rank of a run, in the order of ranks.
pub(super) fn check(logs: &[Arc<RankLog>]) -> Result<(), TraceError> {
    let first = &logs[0].info;
    for (rank, log) in (0..).zip(logs) {
        let info = &log.info;
        if info.run != first.run || info.ranks != first.ranks {
            return wrong(format!(
                "the logs are of different runs: rank {} of {} with {} ranks and rank {} of {} with {} ranks",
                first.rank, first.program, first.ranks, info.rank, info.program, info.ranks
            ));
        }
        if info.rank != rank {
            return wrong(format!("expected the log of rank {rank}; found that of rank {}", info.rank));
        }
    }
    if logs.len() != first.ranks as usize {
        return wrong(format!("expected the logs of {} ranks; found {}", first.ranks, logs.len()));
    }
    Ok(())
}

/// Merges the logs of all ranks into one file and returns the bytes of that file. `logs` contains the name and the
/// content of each log file, in any order.
///
/// # Errors
/// A file is not a log, the log of a rank is missing or duplicate, or a log belongs to another run.
pub fn merge(logs: &[(String, Vec<u8>)]) -> Result<Vec<u8>, TraceError> {
    let mut read: Vec<(RankLog, &String, &Vec<u8>)> = Vec::new();
    for (name, bytes) in logs {
        if is_run(bytes) {
            return wrong(format!("{name}: the file has merged logs; expected the logs of single ranks"));
        }
        let log = RankLog::read(bytes).map_err(|error| TraceError::damaged(format!("{name}: {error}")))?;
        if let Some((_, other, _)) = read.iter().find(|(other, ..)| other.info.rank == log.info.rank) {
            let what = format!("{name} and {other}: both are of rank {}; expected each rank once", log.info.rank);
            return wrong(what);
        }
        read.push((log, name, bytes));
    }
    read.sort_by_key(|(log, ..)| log.info.rank);
    let Some((first, first_name, _)) = read.first() else { return wrong("expected the logs of ranks".to_owned()) };
    let (run, ranks) = (first.info.run, first.info.ranks);
    if let Some((_, other, _)) = read.iter().find(|(log, ..)| (log.info.run, log.info.ranks) != (run, ranks)) {
        return wrong(format!("{first_name} and {other}: are of different runs"));
    }
    if let Some(rank) = (0..ranks).find(|rank| !read.iter().any(|(log, ..)| log.info.rank == *rank)) {
        return wrong(format!("the log of rank {rank} is missing: expected those of all {ranks} ranks"));
    }
    let mut out = RUN.to_vec();
    for word in [VERSION, ORDER] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(&run.to_le_bytes());
    out.extend_from_slice(&ranks.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    for (_, _, bytes) in &read {
        out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        out.extend_from_slice(bytes);
    }
    Ok(out)
}
