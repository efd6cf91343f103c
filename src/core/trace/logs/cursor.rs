//! Reads the records (calls with their times) of a log in order.

use std::sync::Arc;

use super::super::TraceError;
use super::super::bytes::get;
use super::call::{CallClass, LogCall};
use super::function::FunctionClass;
use super::rank_log::RankLog;

/// Greatest number of calls of a log that get an index, the same as in the recording library.
const MOST_CALLS: usize = 1 << 16;
/// Greatest length in bytes of a call that gets an index.
const LONGEST: usize = 1 << 16;
/// Greatest total length in bytes of the calls that get an index, since version 2 of the format.
const MOST_BYTES: usize = 1 << 25;

/// A call of a log with its times in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedCall {
    /// The recorded MPI call with its arguments.
    pub call: Arc<LogCall>,
    /// Time of the program's code before the call, in ns.
    pub code: u64,
    /// Time from the end of the previous call to the beginning of this call, in ns. It is at least the sum of `code`
    /// and `slept`.
    pub gap: u64,
    /// Time before the call in which the program slept or waited for files or other threads, in ns. `gap` includes this
    /// time.
    pub slept: u64,
    /// Duration of the MPI call in ns.
    pub duration: u64,
    /// Time before `gap` that the recording library used or that was not recorded, in ns.
    pub aside: u64,
    /// Thread that made the call; 0 for the main thread.
    pub thread: u32,
}

/// Reader of the records of a log.
#[derive(Debug)]
pub(super) struct LogCursor {
    log: Arc<RankLog>,
    at: usize,
    known: Vec<Arc<LogCall>>,
    /// Total length of the calls in `known` in bytes.
    bytes: usize,
    /// Thread to which the next record belongs.
    thread: u32,
}

impl LogCursor {
    pub fn new(log: Arc<RankLog>) -> Self {
        LogCursor { log, at: 0, known: Vec::new(), bytes: 0, thread: 0 }
    }

    /// Returns the next call of the log.
    ///
    /// # Errors
    /// The next record of the log is invalid.
    pub fn step(&mut self) -> Result<Option<LoggedCall>, TraceError> {
        let (mut aside, mut slept) = (0u64, 0u64);
        loop {
            let record = self.record()?;
            if let Some(LoggedCall { call, .. }) = &record
                && let CallClass::Thread(thread) = call.what
            {
                self.thread = thread;
                continue;
            }
            match record {
                Some(one) if one.call.function.class() == FunctionClass::Library => {
                    aside = aside.saturating_add(one.gap)
                }
                Some(one) if one.call.function.class() == FunctionClass::Sleep => slept = slept.saturating_add(one.gap),
                found => {
                    let whole =
                        |one: LoggedCall| LoggedCall { aside, slept, gap: one.gap.saturating_add(slept), ..one };
                    return Ok(found.map(whole));
                }
            }
        }
    }

    fn record(&mut self) -> Result<Option<LoggedCall>, TraceError> {
        let (log, mut at) = (&self.log.records, self.at);
        if at == log.len() {
            return Ok(None);
        }
        let start = self.at;
        let wrong = |what: &str| TraceError::damaged(format!("record at byte {start}: expected {what}"));
        let number = get(log, &mut at).ok_or_else(|| wrong("a call"))? as usize;
        let call = if let Some(call) = self.known.get(number) {
            call.clone()
        } else if number == self.known.len() {
            let length = get(log, &mut at).ok_or_else(|| wrong("a length"))? as usize;
            let end = at.checked_add(length).filter(|end| *end <= log.len()).ok_or_else(|| wrong("a whole call"))?;
            let call = Arc::new(LogCall::read(&log[at..end])?);
            at = end;
            let fits = self.log.version == 1 || length <= LONGEST && self.bytes + length <= MOST_BYTES;
            if self.known.len() < MOST_CALLS && fits {
                self.known.push(call.clone());
                self.bytes += length;
            }
            call
        } else {
            return Err(wrong("the number of a call"));
        };
        let mut time = || get(log, &mut at).ok_or_else(|| wrong("a time"));
        let (code, rest, duration) = (time()?, time()?, time()?);
        self.at = at;
        Ok(Some(LoggedCall {
            call,
            code,
            gap: code.saturating_add(rest),
            slept: 0,
            duration,
            aside: 0,
            thread: self.thread,
        }))
    }
}

impl Iterator for LogCursor {
    type Item = LoggedCall;

    /// Returns the next call of a log. The records of the log must have been checked.
    fn next(&mut self) -> Option<LoggedCall> {
        self.step().ok().flatten()
    }
}

/// Adds the rank to the message of an error in the rank's log.
pub(super) fn of_rank(rank: u32, error: &TraceError) -> TraceError {
    TraceError::damaged(format!("rank {rank}: {error}"))
}
