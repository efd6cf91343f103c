//! Cores of a recorded rank that has more threads than cores. The threads take turns: a thread keeps its core until it
//! waits, but at most for a time slice while other threads wait for a core.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::handover::wait_for_own_time;
use super::program::LogProgram;
use crate::rank::{
    Call, Called, Describe, Program, Rank, Reply, ReplyKind, RequestId, Requests, forward_reports, thread_wait,
};
use crate::units::SimSpan;

/// Cores of a rank.
#[derive(Debug)]
pub(super) struct ReplayedCores {
    rank: Rank,
    count: u32,
    slice: SimSpan,
    /// Number of cores on which threads compute.
    busy: u32,
    /// Receives whose cancellation gives a core to the thread that waits for it.
    queue: VecDeque<RequestId>,
}

impl ReplayedCores {
    /// Creates the `count` cores of `rank`, on which threads have time slices of `slice`.
    pub fn new(rank: Rank, count: u32, slice: SimSpan) -> ReplayedCores {
        ReplayedCores { rank, count: count.max(1), slice, busy: 0, queue: VecDeque::new() }
    }

    fn try_take(&mut self) -> bool {
        let is_free = self.busy < self.count;
        self.busy += u32::from(is_free);
        is_free
    }

    /// Releases a core. Returns the call that passes it to the thread that has waited longest, if a thread waits.
    fn release(&mut self) -> Option<Call> {
        let next = self.queue.pop_front();
        self.busy -= u32::from(next.is_none());
        next.map(Call::Cancel)
    }
}

/// Cores of a rank for all threads of the rank.
pub(super) type SharedCores = Arc<Mutex<ReplayedCores>>;

/// Purpose of the last call of a thread.
enum CoreStep {
    /// A call of the thread itself.
    Own,
    /// The thread takes a core, and is at its own virtual time.
    Take,
    /// The thread has posted the receive by which it waits for a core.
    Post,
    /// The thread has cancelled this receive, because a core has become free.
    Cancel(RequestId),
    /// The thread has got a core.
    Begin,
    /// The thread has computed for this time.
    Compute(SimSpan),
    /// The time slice of the thread ends, and the thread is at its own virtual time.
    EndSlice,
    /// The thread releases its core before this call, and is at its own virtual time.
    Release(Call),
    /// The thread has released its core before this call.
    Make(Call),
}

/// Program of a thread that shares the cores of its rank with other threads.
pub(super) struct ThreadOnCores {
    thread: LogProgram,
    cores: SharedCores,
    /// Part of its time slice that the thread has used, if it has a core.
    used: Option<SimSpan>,
    /// Remaining time of the present block of code.
    left: SimSpan,
    step: CoreStep,
}

impl ThreadOnCores {
    pub fn new(thread: LogProgram, cores: SharedCores) -> ThreadOnCores {
        ThreadOnCores { thread, cores, used: None, left: SimSpan::ZERO, step: CoreStep::Own }
    }

    fn cores(&self) -> MutexGuard<'_, ReplayedCores> {
        self.cores.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `call`, which `step` follows.
    fn then(&mut self, call: Call, step: CoreStep) -> Call {
        self.step = step;
        call
    }

    /// Makes the next call of the thread.
    fn own(&mut self, reply: Reply<'_>) -> Call {
        let call = self.thread.next(reply);
        let keeps_core = matches!(
            call,
            Call::Test { .. } | Call::Irecv(_) | Call::Isend(_) | Call::Start(_) | Call::Cancel(_) | Call::Enter(_)
        );
        match call {
            Call::Code(span) if span > SimSpan::ZERO => {
                self.left = span;
                match self.used {
                    Some(_) => self.compute(),
                    None => self.then(wait_for_own_time(), CoreStep::Take),
                }
            }
            Call::Leave => Call::Leave,
            call if !keeps_core && self.used.is_some() => self.then(wait_for_own_time(), CoreStep::Release(call)),
            call => call,
        }
    }

    /// Computes until the end of the block or of the time slice.
    fn compute(&mut self) -> Call {
        let used = self.used.unwrap_or_default();
        let part = self.left.min(self.cores().slice.saturating_sub(used));
        if part == SimSpan::ZERO {
            return self.then(wait_for_own_time(), CoreStep::EndSlice);
        }
        self.then(Call::Code(part), CoreStep::Compute(part))
    }

    fn take(&mut self) -> Call {
        let (is_free, rank) = {
            let mut cores = self.cores();
            (cores.try_take(), cores.rank)
        };
        if is_free {
            self.used = Some(SimSpan::ZERO);
            return self.compute();
        }
        self.then(Call::Irecv(thread_wait(rank)), CoreStep::Post)
    }
}

impl Program for ThreadOnCores {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        match std::mem::replace(&mut self.step, CoreStep::Own) {
            CoreStep::Own => self.own(reply),
            CoreStep::Take => self.take(),
            CoreStep::Post => {
                let ReplyKind::Started(request) = reply.kind else { return self.own(reply) };
                // Another thread may have released a core meanwhile.
                let is_free = self.cores().try_take();
                if is_free {
                    return self.then(Call::Cancel(request), CoreStep::Cancel(request));
                }
                self.cores().queue.push_back(request);
                self.then(Call::Complete(Requests::from_slice(&[request])), CoreStep::Begin)
            }
            CoreStep::Cancel(request) => self.then(Call::Complete(Requests::from_slice(&[request])), CoreStep::Begin),
            CoreStep::Begin => {
                self.used = Some(SimSpan::ZERO);
                self.compute()
            }
            CoreStep::Compute(part) => {
                self.used = self.used.map(|used| used + part);
                self.left = self.left.saturating_sub(part);
                match self.left {
                    SimSpan::ZERO => self.own(Reply { kind: ReplyKind::Done, ..reply }),
                    _ => self.compute(),
                }
            }
            CoreStep::EndSlice => {
                self.used = Some(SimSpan::ZERO);
                if self.cores().queue.is_empty() {
                    return self.compute();
                }
                self.used = None;
                let next = self.cores().release();
                self.then(next.unwrap_or_else(wait_for_own_time), CoreStep::Take)
            }
            CoreStep::Release(call) => {
                self.used = None;
                let next = self.cores().release();
                match next {
                    Some(next) => self.then(next, CoreStep::Make(call)),
                    None => call,
                }
            }
            CoreStep::Make(call) => call,
        }
    }
}

impl Describe for ThreadOnCores {
    forward_reports!(self, self.thread);

    /// Calls by which the thread takes and releases a core are not calls of the program.
    fn is_profiled(&self) -> bool {
        matches!(self.step, CoreStep::Own) && self.thread.is_profiled()
    }

    fn is_thread(&self) -> bool {
        self.thread.is_thread()
    }

    fn thread(&self) -> Option<u32> {
        self.thread.thread()
    }

    fn called(&mut self) -> Option<Called> {
        self.thread.called()
    }
}
