//! Source of the calls of a [`LogProgram`]: the log of a rank, or the calls of a thread of the rank. All threads of a rank
//! share the tables of communicators and requests.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use super::super::call::LogCall;
use super::super::cursor::LogCursor;
use super::super::handover::{Handover, ThreadRequests};
use super::super::threads::{NONE, RankThreads, ThreadMessage};
use super::{KnownComm, LogProgram, LogStep};
use crate::rank::{Call, RequestId};
use crate::trace::cores::wait_for_own_time;
use crate::trace::logs::turns::ThreadOnCores;

/// Objects of the MPI library that all threads of a rank use.
#[derive(Debug, Default)]
pub(super) struct RankTables {
    pub comms: BTreeMap<u32, KnownComm>,
    pub requests: ThreadRequests,
}

/// Source of the calls of a program.
#[derive(Debug)]
pub(super) enum CallSource {
    /// The log of a rank in a run without threads.
    Log(LogCursor),
    /// A thread of a rank, and the index of the thread's next call.
    Thread { of: Arc<RankThreads>, number: u32, at: usize },
}

/// Call of the log that the program makes after the code before the call.
#[derive(Debug)]
pub(super) struct DueCall {
    pub call: Arc<LogCall>,
    pub code: u64,
    pub slept: u64,
    /// Index and request of the call of a thread; see [`super::threads::ThreadCall`].
    pub index: u32,
    pub request: u32,
}

impl LogProgram {
    /// Exchanges the tables of this thread and those of all threads of the rank.
    pub(super) fn exchange_tables(&mut self) {
        if let Some(shared) = &self.shared {
            std::mem::swap(&mut self.tables, &mut *shared.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Calls of the rank by thread, in a run with threads.
    pub(super) fn threads(&self) -> Option<&Arc<RankThreads>> {
        match &self.source {
            CallSource::Log(_) => None,
            CallSource::Thread { of, .. } => Some(of),
        }
    }

    /// Call that starts the thread `number` of the rank.
    pub(super) fn start_thread(&self, of: &Arc<RankThreads>, number: u32) -> Call {
        let source = CallSource::Thread { of: of.clone(), number, at: 0 };
        let own = (self.factor, self.rank);
        let thread = LogProgram::of(source, self.resolved.clone(), self.machine.clone(), own);
        let thread = LogProgram { shared: self.shared.clone(), cores: self.cores.clone(), ..thread };
        Call::Start(match &self.cores {
            Some(cores) => Box::new(ThreadOnCores::new(thread, cores.clone())),
            None => Box::new(thread),
        })
    }

    /// Returns the next call of the log, if there is one.
    pub(super) fn next_due(&mut self) -> Option<DueCall> {
        match &mut self.source {
            CallSource::Log(cursor) => {
                if self.resolved.keep == Some(self.made) {
                    return None;
                }
                let step = cursor.next()?;
                Some(DueCall { call: step.call, code: step.code, slept: step.slept, index: NONE, request: NONE })
            }
            CallSource::Thread { of, number, at } => {
                let step = of.threads.get(number)?.get(*at)?;
                *at += 1;
                let (index, request) = (step.index, step.request);
                Some(DueCall { call: step.call.clone(), code: step.code, slept: step.slept, index, request })
            }
        }
    }

    /// Message with the index `place` among those of the present call. `plain` returns the message of a call of a rank
    /// without threads.
    pub(super) fn matched(&self, place: u32, plain: impl FnOnce() -> Option<ThreadMessage>) -> Option<ThreadMessage> {
        match self.threads() {
            Some(of) => *of.messages.get((self.present.0.checked_add(place)?) as usize)?,
            None => plain(),
        }
    }

    pub(super) fn set(&mut self, slot: u32, request: Option<RequestId>) {
        if let Some(of) = self.threads() {
            let number = self.present.1;
            if of.shared.contains(&number) {
                self.state = LogStep::Handover(Handover::Announce(number, request));
            } else {
                self.tables.requests.add(number, request);
            }
            return;
        }
        let slot = slot as usize;
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, None);
        }
        self.slots[slot] = request;
    }

    /// Starts `call`, whose request belongs to request slot `slot`. `call` is `None` for a message to or from
    /// MPI_PROC_NULL, which starts no request.
    pub(super) fn start(&mut self, slot: u32, call: Option<Call>) -> Option<Call> {
        if call.is_some() {
            self.state = LogStep::Starting(slot);
            return call;
        }
        self.set(slot, None);
        self.hands_over().then(wait_for_own_time)
    }

    /// Whether the thread hands a request over to another thread.
    pub(super) fn hands_over(&self) -> bool {
        matches!(self.state, LogStep::Handover(_))
    }

    /// Begins the wait of a thread for the `count` requests of the present call.
    pub(super) fn wait(&mut self, count: usize) -> Option<Call> {
        let of = self.threads()?.clone();
        let first = self.present.0 as usize;
        let (call, next) = self.tables.requests.wait(&of, first..first + count)?;
        self.state = next.map_or(LogStep::Free, LogStep::Handover);
        Some(call)
    }
}
