//! Reads and checks traces, so that every file results in a replayable trace or an error. The memory of a replay is
//! proportional to the size of the file.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::bytes::TraceReader;
use super::called::Members;
use super::code::{SequenceAmount, check};
use super::late::{self, LateValue};
use super::names::{algorithm_of, name_of};
use super::op::{Sent, TraceOp, read_sent};
use super::{Header, MAGIC, OLDEST, TraceError, VERSION, WITH_CALLS, WITH_THREADS, checksum};
use crate::mpi::Group;
use crate::platform::Algorithm;
use crate::rank::Rank;

/// Answers of a rank's service to messages: for each sender, in increasing order, groups of consecutive equal answers.
pub(super) type Runs = Vec<(Rank, Vec<(u32, u64)>)>;

/// A trace of mcpsim that has been read from a file.
#[derive(Debug)]
pub struct Trace {
    pub(super) header: Header,
    pub(super) bytes: Vec<u8>,
    pub(super) names: Vec<String>,
    /// Names in the trace as static texts, which the engine needs.
    pub(super) known: Vec<&'static str>,
    /// For each name in the trace, the collective algorithm with this name, if there is one.
    pub(super) algorithms: Vec<Option<Algorithm>>,
    /// Groups of members of the communicators of recorded collectives.
    pub(super) groups: Vec<Group>,
    pub(super) ops: Vec<TraceOp>,
    pub(super) codes: Vec<Range<usize>>,
    pub(super) tasks: Vec<Task>,
    pub(super) answers: Vec<Vec<Sent>>,
    pub(super) ranks: Vec<u32>,
    pub(super) served: FxHashMap<Rank, Arc<Runs>>,
}

/// The program of a rank or of a strand: name, folded sequence of operations, and byte ranges of the task's lists.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub name: u32,
    pub code: u32,
    pub spans: Range<usize>,
    pub peers: Range<usize>,
    pub sizes: Range<usize>,
    pub late: Range<usize>,
    pub withdrawn: Range<usize>,
}

/// Whether a file that begins with `start` is a trace of mcpsim.
pub fn is_trace(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

/// Number of bytes before the body of a trace: magic bytes, version, length, checksum.
const FRONT: usize = 8 + 4 + 8 + 8;

impl Trace {
    /// Version of the trace format.
    pub(super) fn version(&self) -> u32 {
        version(&self.bytes)
    }

    /// Reads a trace from the bytes of a file.
    ///
    /// # Errors
    /// The bytes are not a valid trace.
    pub fn read(bytes: Vec<u8>) -> Result<Trace, TraceError> {
        check_front(&bytes)?;
        let mut reader = TraceReader::new(&bytes, FRONT);
        let header = Header::read(&mut reader)?;
        let ranks = header.ranks;
        reader.part("names");
        let count = reader.count("a number of names")?;
        let names = (0..count).map(|_| reader.text("a name").map(str::to_owned)).collect::<Result<Vec<_>, _>>()?;
        let groups = read_groups(&mut reader, ranks, version(&bytes))?;
        reader.part("operations");
        let count = reader.count("a number of operations")?;
        let ops = (0..count)
            .map(|_| TraceOp::read(&mut reader, ranks, names.len() as u32, &groups))
            .collect::<Result<Vec<_>, _>>()?;
        let version = version(&bytes);
        if version < WITH_THREADS && ops.iter().any(TraceOp::is_of_threads) {
            let what =
                format!("an operation of threads in version {version} of the format: expected version {WITH_THREADS}");
            return Err(TraceError::damaged(what));
        }
        reader.part("sequences");
        let count = reader.count("a number of sequences")?;
        let (mut codes, mut amounts) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let range = reader.range("a sequence")?;
            let of = |number: u32| ops.get(number as usize).map(TraceOp::amount);
            let amount = check(&bytes, range.clone(), &of);
            amounts.push(amount.map_err(|what| TraceError::damaged(format!("sequences, {what}")))?);
            codes.push(range);
        }
        let tasks = read_tasks(&mut reader, names.len(), codes.len())?;
        let amounts = check_late(&bytes, &tasks, ranks, &amounts)?;
        reader.part("answers");
        let count = reader.count("a number of answers")?;
        let answers = (0..count)
            .map(|_| {
                let count = reader.count("a number of answers")?;
                (0..count).map(|_| read_sent(&mut reader, ranks)).collect()
            })
            .collect::<Result<Vec<Vec<Sent>>, _>>()?;
        reader.part("ranks");
        let mut mains = Vec::new();
        let mut served = FxHashMap::default();
        for rank in 0..ranks {
            let most = (tasks.len() as u64).checked_sub(1).ok_or_else(|| reader.error("expected tasks"))?;
            mains.push(reader.at_most(most, "a task")? as u32);
            let runs = read_runs(&mut reader, ranks, answers.len())?;
            if !runs.is_empty() {
                served.insert(rank, Arc::new(runs));
            }
        }
        let all = mains.iter().fold(SequenceAmount::default(), |all, &task| all.plus(amounts[task as usize]));
        check_amount(all)?;
        if reader.rest() > 0 {
            return Err(reader.error(format_args!("expected the end; found {} bytes more", reader.rest())));
        }
        let known = names.iter().map(|name| name_of(name)).collect();
        let algorithms = names.iter().map(|name| algorithm_of(name)).collect();
        Ok(Trace { header, names, known, algorithms, groups, ops, codes, tasks, answers, ranks: mains, served, bytes })
    }

    /// Whether the trace contains the messages of collectives instead of collective calls. Older versions of the format
    /// store messages. A replay of these messages cannot choose other algorithms.
    pub fn repeats_collectives(&self) -> bool {
        self.version() < WITH_CALLS || self.ops.iter().any(|op| matches!(op, TraceOp::EnterBy(_)))
    }

    /// Description of the recorded run.
    pub fn header(&self) -> &Header {
        &self.header
    }
}

/// Format version in the first bytes of a trace file.
fn version(bytes: &[u8]) -> u32 {
    bytes[8..12].try_into().map_or(VERSION, u32::from_le_bytes)
}

/// Reads the groups of a trace. Older versions of the format have no groups.
fn read_groups(reader: &mut TraceReader<'_>, ranks: u32, version: u32) -> Result<Vec<Group>, TraceError> {
    if version < WITH_CALLS {
        return Ok(Vec::new());
    }
    reader.part("groups");
    let count = reader.count("a number of groups")?;
    (0..count).map(|_| Members::read(reader, ranks)).collect()
}

fn check_front(bytes: &[u8]) -> Result<(), TraceError> {
    if !is_trace(bytes) {
        return Err(TraceError::damaged("not a mcpsim trace: the file does not start with \"MCPSIM\"".to_owned()));
    }
    let part = |at: usize, length: usize| bytes.get(at..at + length);
    let truncated =
        || TraceError::damaged(format!("truncated: expected {FRONT} bytes at least; found {}", bytes.len()));
    let version = part(8, 4).and_then(|part| part.try_into().ok()).map(u32::from_le_bytes).ok_or_else(truncated)?;
    if !(OLDEST..=VERSION).contains(&version) {
        return Err(TraceError::damaged(format!(
            "version {version} of the format: this mcpsim reads versions {OLDEST} to {VERSION}"
        )));
    }
    let word = |at| part(at, 8).and_then(|part| part.try_into().ok()).map(u64::from_le_bytes).ok_or_else(truncated);
    let (length, sum) = (word(12)?, word(20)?);
    let found = (bytes.len() - FRONT) as u64;
    if length != found {
        let how = if found < length { "truncated" } else { "too long" };
        return Err(TraceError::damaged(format!("{how}: expected {length} bytes after the head; found {found}")));
    }
    if checksum(&bytes[FRONT..]) != sum {
        return Err(TraceError::damaged("its checksum does not agree with its content".to_owned()));
    }
    Ok(())
}

fn read_tasks(reader: &mut TraceReader<'_>, names: usize, codes: usize) -> Result<Vec<Task>, TraceError> {
    reader.part("tasks");
    let count = reader.count("a number of tasks")?;
    if count > 0 && (names == 0 || codes == 0) {
        return Err(reader.error("expected names and sequences where there are tasks"));
    }
    (0..count)
        .map(|_| {
            Ok(Task {
                name: reader.at_most(names as u64 - 1, "a name")? as u32,
                code: reader.at_most(codes as u64 - 1, "a sequence")? as u32,
                spans: reader.range("lengths of computing")?,
                peers: reader.range("peers")?,
                sizes: reader.range("sizes")?,
                late: reader.range("late values")?,
                withdrawn: reader.range("withdrawn receives")?,
            })
        })
        .collect()
}

/// Checks the late values of all tasks. A peer must be a rank of the run. The index of a strand's task must be below
/// the index of the task that starts the strand, so that no task starts itself. Returns the counts of each task
/// including its strands, computed from the counts of folded sequences.
fn check_late(
    bytes: &[u8],
    tasks: &[Task],
    ranks: u32,
    codes: &[SequenceAmount],
) -> Result<Vec<SequenceAmount>, TraceError> {
    let mut amounts: Vec<SequenceAmount> = Vec::with_capacity(tasks.len());
    for (number, task) in tasks.iter().enumerate() {
        let mut range = task.late.clone();
        let mut amount = codes[task.code as usize];
        let mut point = 0u32;
        while !range.is_empty() {
            let start = range.start;
            let wrong = |what: &str| TraceError::damaged(format!("tasks, byte {start}: {what}"));
            match late::next(bytes, &mut range).ok_or_else(|| wrong("expected a late value"))? {
                LateValue::Got(peer, _) if peer >= ranks => return Err(wrong("a peer is no rank")),
                LateValue::Strand(strand, _) | LateValue::Thread(strand, _) if strand as usize >= number => {
                    return Err(wrong("a strand is no earlier task"));
                }
                LateValue::Thread(_, 0) => return Err(wrong("a thread has the number 0")),
                LateValue::Point(step) => {
                    point = point.wrapping_add(step);
                    // Each point of a rank takes at least one byte of the file.
                    if point as usize >= bytes.len() {
                        return Err(wrong("the number of a point is too large"));
                    }
                }
                LateValue::Strand(strand, _) | LateValue::Thread(strand, _) => {
                    amount = amount.plus(amounts[strand as usize])
                }
                LateValue::Nothing | LateValue::Got(..) | LateValue::Withdrawn(_) | LateValue::Moves(_) => {}
            }
        }
        amounts.push(amount);
    }
    Ok(amounts)
}

/// Greatest total number of calls in a trace. No completed run can have made more calls, or can have stored more
/// messages without a receive.
const MOST_CALLS: u64 = 1 << 44;
const MOST_UNRECEIVED: u64 = 1 << 22;

/// Checks that a recorded run can have the total counts `all`.
fn check_amount(all: SequenceAmount) -> Result<(), TraceError> {
    let SequenceAmount { calls, sends, receives } = all;
    if calls > MOST_CALLS {
        return Err(TraceError::damaged(format!("{calls} calls of all ranks: expected at most {MOST_CALLS}")));
    }
    if sends.saturating_sub(receives) > MOST_UNRECEIVED {
        return Err(TraceError::damaged(format!(
            "{sends} messages, {receives} receives: expected a receive for each but {MOST_UNRECEIVED}"
        )));
    }
    Ok(())
}

fn read_runs(reader: &mut TraceReader<'_>, ranks: u32, answers: usize) -> Result<Runs, TraceError> {
    let senders = reader.count("a number of senders")?;
    let mut all: Runs = Vec::new();
    for _ in 0..senders {
        let from = reader.at_most(u64::from(ranks) - 1, "a rank")? as u32;
        if all.last().is_some_and(|(last, _)| *last >= from) {
            return Err(reader.error("expected senders in increasing order"));
        }
        let count = reader.count("a number of runs")?;
        let mut runs = Vec::new();
        for _ in 0..count {
            let most = (answers as u64).checked_sub(1).ok_or_else(|| reader.error("expected answers"))?;
            runs.push((reader.at_most(most, "an answer")? as u32, reader.number()?));
        }
        all.push((from, runs));
    }
    Ok(all)
}
