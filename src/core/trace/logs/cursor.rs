//! Reads the records of a log one after another.

use std::sync::Arc;

use super::super::TraceError;
use super::super::bytes::get;
use super::call::LogCall;
use super::function::Class;
use super::rank_log::RankLog;

/// So many calls have numbers; the library counts alike.
const MOST_CALLS: usize = 1 << 16;
/// The longest call that has a number, bytes.
const LONGEST: usize = 1 << 16;
/// So many bytes have those with numbers together, from version 2 of the format on.
const MOST_BYTES: usize = 1 << 25;

/// A call, and the times around it, ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedCall {
    /// The call.
    pub call: Arc<LogCall>,
    /// Of the program's code before it.
    pub code: u64,
    /// From the end of the call before to its beginning; at least `code`.
    pub gap: u64,
    /// Of the call.
    pub duration: u64,
    /// Before `gap`, what the library took for itself, and for how long nothing was recorded.
    pub aside: u64,
}

/// Goes through the records of a log.
#[derive(Debug)]
pub(super) struct LogCursor {
    log: Arc<RankLog>,
    at: usize,
    known: Vec<Arc<LogCall>>,
    /// The bytes of `known`.
    bytes: usize,
}

impl LogCursor {
    pub fn new(log: Arc<RankLog>) -> Self {
        LogCursor { log, at: 0, known: Vec::new(), bytes: 0 }
    }

    /// The next call.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn step(&mut self) -> Result<Option<LoggedCall>, TraceError> {
        let mut aside = 0u64;
        loop {
            match self.record()? {
                Some(one) if one.call.function.class() == Class::Library => aside = aside.saturating_add(one.gap),
                found => return Ok(found.map(|one| LoggedCall { aside, ..one })),
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
        Ok(Some(LoggedCall { call, code, gap: code.saturating_add(rest), duration, aside: 0 }))
    }
}

impl Iterator for LogCursor {
    type Item = LoggedCall;

    /// Of a log that was checked.
    fn next(&mut self) -> Option<LoggedCall> {
        self.step().ok().flatten()
    }
}

/// For errors that name a rank.
pub(super) fn of_rank(rank: u32, error: &TraceError) -> TraceError {
    TraceError::damaged(format!("rank {rank}: {error}"))
}
