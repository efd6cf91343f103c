//! Numbers of the messages of a channel that several threads of a rank use. The n-th send belongs to the n-th receive.
//!
//! Sends are numbered in the order of their beginnings, and receives in the order in which they were known to have their
//! messages. In the recorded run, n sends had begun when n receives had their messages. So no receive of a replay waits
//! for a send that followed it in the recorded run. The order of records in a log does not have this property, because
//! a thread may record a call long after the call.

use rustc_hash::FxHashMap;

use super::call::CallClass;
use super::cursor::LoggedCall;

/// Position of a receive without a recorded end.
const NEVER: u64 = u64::MAX;

/// Error in ns of times that are computed from a log. The recording library records its own time from 1000 ns on.
const ERROR: u64 = 4000;

/// A time by which a call had not begun, and the number of calls of the rank that were recorded before.
type Beginning = (u64, u64);

/// Times of the threads of a rank in ns. A first pass over the log finds the starts of the threads.
#[derive(Debug, Default)]
pub(super) struct ThreadClocks {
    /// For each thread, the time from its start to the end of its last call, and the beginning of the next call at least.
    last: FxHashMap<u32, (u64, Beginning)>,
    /// For each created thread, its creator, and the time from the start of the creator to the creation.
    created: FxHashMap<u32, (u32, u64)>,
    /// For each thread, the time from the beginning of the log to its start.
    starts: FxHashMap<u32, u64>,
    /// Latest end of a call so far, and number of calls so far.
    latest: Beginning,
}

impl ThreadClocks {
    /// Adds the next call of the log in the first pass.
    pub fn scan(&mut self, step: &LoggedCall) {
        let (passed, _) = self.last.entry(step.thread).or_default();
        let begin = passed.saturating_add(step.aside).saturating_add(step.gap);
        *passed = begin.saturating_add(step.duration);
        if let CallClass::Create(thread) = step.call.what {
            self.created.insert(thread, (step.thread, begin));
        }
    }

    /// Ends the first pass.
    pub fn restart(&mut self) {
        self.starts = self.last.keys().map(|&thread| (thread, self.start(thread))).collect();
        self.last.clear();
    }

    /// Returns the time from the beginning of the log to the start of `thread`.
    fn start(&self, mut thread: u32) -> u64 {
        let mut time = 0u64;
        // Threads of a damaged log may create each other.
        for _ in 0..self.created.len() {
            let Some(&(creator, begin)) = self.created.get(&thread) else { break };
            time = time.saturating_add(begin);
            thread = creator;
        }
        time
    }

    /// Adds the next call of the log in the second pass. Returns the beginning of the call. It does not precede the calls
    /// that were recorded before the last call of the thread.
    pub fn begin(&mut self, step: &LoggedCall) -> Beginning {
        let (passed, before) = self.last.get(&step.thread).copied().unwrap_or_default();
        let begin = passed.saturating_add(step.aside).saturating_add(step.gap);
        let end = begin.saturating_add(step.duration);
        let start = self.starts.get(&step.thread).copied().unwrap_or(0);
        self.latest = (self.latest.0.max(start.saturating_add(end)), self.latest.1 + 1);
        self.last.insert(step.thread, (end, self.latest));
        (start.saturating_add(begin).saturating_sub(ERROR).max(before.0), before.1)
    }
}

/// A send: its beginning, and index of the message.
type Send = (Beginning, usize);

/// A receive: thread, position in the log of the call that completed it, and index of the message.
type Receive = (u32, u64, usize);

/// Sends and receives of a rank in a channel.
#[derive(Debug, Default)]
pub(super) struct ChannelUse {
    sends: Vec<Send>,
    receives: Vec<Receive>,
}

impl ChannelUse {
    pub fn sends(&mut self, begin: Beginning, message: usize) {
        self.sends.push((begin, message));
    }

    /// Adds a receive, in the order of the log. Returns its index in the channel.
    pub fn receives(&mut self, thread: u32, message: usize) -> usize {
        self.receives.push((thread, NEVER, message));
        self.receives.len() - 1
    }

    /// Notes that the call at `position` in the log completes the receive with the index `receive`.
    pub fn completes(&mut self, receive: usize, position: u64) {
        self.receives[receive].1 = position;
    }

    /// Returns the indexes of the messages of all sends, and those of all receives, in the order of their numbers.
    pub fn numbered(mut self) -> [Vec<usize>; 2] {
        self.sends.sort_by_key(|of| of.0);
        // If a receive of a thread has its message, all earlier receives of the thread have theirs.
        let mut known: FxHashMap<u32, u64> = FxHashMap::default();
        for (thread, position, _) in self.receives.iter_mut().rev() {
            let known = known.entry(*thread).or_insert(NEVER);
            *known = (*known).min(*position);
            *position = *known;
        }
        self.receives.sort_by_key(|of| of.1);
        [self.sends.into_iter().map(|of| of.1).collect(), self.receives.into_iter().map(|of| of.2).collect()]
    }
}
