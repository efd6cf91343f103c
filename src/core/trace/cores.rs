//! Cores of a rank whose threads have clocks of their own, in a replay. The threads take turns: a thread keeps its core
//! until it waits, but at most for a time slice while other threads wait for a core.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::rank::{Call, Rank, Reply, ReplyKind, RequestId, Requests, UNCOUNTED_BLOCK, Which, thread_wait};
use crate::units::SimSpan;

/// Returns a call that waits until the simulation has reached the clock of the thread, so that the thread sees what
/// other threads did at earlier times.
pub(super) fn wait_for_own_time() -> Call {
    Call::Test { requests: Requests::new(), which: Which::Some, poll: false }
}

/// Cores of a rank.
#[derive(Debug)]
pub(super) struct ReplayedCores {
    rank: Rank,
    count: u32,
    slice: SimSpan,
    /// Number of started threads, except the main thread.
    threads: u32,
    /// Number of cores on which threads compute.
    busy: u32,
    /// Receives whose cancellation gives a core to the thread that waits for it.
    queue: VecDeque<RequestId>,
}

impl ReplayedCores {
    /// Creates the `count` cores of `rank`, on which threads have time slices of `slice`.
    pub fn new(rank: Rank, count: u32, slice: SimSpan) -> ReplayedCores {
        ReplayedCores { rank, count: count.max(1), slice, threads: 0, busy: 0, queue: VecDeque::new() }
    }

    /// Notes that `threads` further threads share the cores.
    pub fn add_threads(&mut self, threads: u32) {
        self.threads = self.threads.saturating_add(threads);
    }

    /// Returns true if a block of the length `span` needs a core.
    fn needs_core(&self, span: SimSpan) -> bool {
        self.threads >= self.count || span >= UNCOUNTED_BLOCK
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

/// Program of a thread that shares the cores of its rank with other threads.
pub(super) trait CoreUser {
    /// Returns the next call of the thread.
    fn next_call(&mut self, reply: Reply<'_>) -> Call;

    /// Returns the length of the block of code that the last call of the thread executes; 0 for other calls.
    fn block(&self, call: &Call) -> SimSpan;

    /// Returns the call that executes a part of the present block.
    fn part(&self, part: SimSpan) -> Call;
}

/// Purpose of the last call of a thread.
#[derive(Debug)]
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
    /// The thread has passed its core to another thread.
    Passed,
    /// The thread releases its core before this call, and is at its own virtual time.
    Release(Call),
    /// The thread has released its core before this call.
    Make(Call),
}

/// Turns of a thread on the cores of its rank.
#[derive(Debug)]
pub(super) struct CoreTurns {
    cores: SharedCores,
    /// Part of its time slice that the thread has used, if it has a core.
    used: Option<SimSpan>,
    /// Remaining time of the present block of code.
    left: SimSpan,
    step: CoreStep,
}

impl CoreTurns {
    pub fn new(cores: SharedCores) -> CoreTurns {
        CoreTurns { cores, used: None, left: SimSpan::ZERO, step: CoreStep::Own }
    }

    /// Returns true if the last call was a call of the thread itself.
    pub fn is_own(&self) -> bool {
        matches!(self.step, CoreStep::Own)
    }

    fn cores(&self) -> MutexGuard<'_, ReplayedCores> {
        self.cores.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `call`, which `step` follows.
    fn then(&mut self, call: Call, step: CoreStep) -> Call {
        self.step = step;
        call
    }

    fn own<P: CoreUser>(&mut self, thread: &mut P, reply: Reply<'_>) -> Call {
        let call = thread.next_call(reply);
        self.made(thread, call)
    }

    /// Returns the call that the thread makes before or instead of its own call `call`.
    pub fn made<P: CoreUser>(&mut self, thread: &P, call: Call) -> Call {
        let block = thread.block(&call);
        if block > SimSpan::ZERO {
            if self.used.is_none() && !self.cores().needs_core(block) {
                return call;
            }
            self.left = block;
            return match self.used {
                Some(_) => self.compute(thread),
                None => self.then(wait_for_own_time(), CoreStep::Take),
            };
        }
        let keeps_core = match &call {
            Call::Code(_) | Call::Leave | Call::Mark(_) => true,
            Call::Compute(span) => *span == SimSpan::ZERO,
            Call::Test { .. } | Call::Irecv(_) | Call::Isend(_) | Call::Start(_) | Call::Cancel(_) | Call::Enter(_) => {
                true
            }
            _ => false,
        };
        if keeps_core || self.used.is_none() {
            return call;
        }
        self.then(wait_for_own_time(), CoreStep::Release(call))
    }

    /// Computes until the end of the block or of the time slice.
    fn compute<P: CoreUser>(&mut self, thread: &P) -> Call {
        let used = self.used.unwrap_or_default();
        let part = self.left.min(self.cores().slice.saturating_sub(used));
        if part == SimSpan::ZERO {
            return self.then(wait_for_own_time(), CoreStep::EndSlice);
        }
        self.then(thread.part(part), CoreStep::Compute(part))
    }

    fn take<P: CoreUser>(&mut self, thread: &P) -> Call {
        let (is_free, rank) = {
            let mut cores = self.cores();
            (cores.try_take(), cores.rank)
        };
        if is_free {
            self.used = Some(SimSpan::ZERO);
            return self.compute(thread);
        }
        self.then(Call::Irecv(thread_wait(rank)), CoreStep::Post)
    }

    /// Returns the next call of `thread`, or the next call by which it takes or releases a core.
    pub fn next<P: CoreUser>(&mut self, thread: &mut P, reply: Reply<'_>) -> Call {
        match std::mem::replace(&mut self.step, CoreStep::Own) {
            CoreStep::Own => self.own(thread, reply),
            CoreStep::Take => self.take(thread),
            CoreStep::Post => {
                let ReplyKind::Started(request) = reply.kind else { return self.own(thread, reply) };
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
                self.compute(thread)
            }
            CoreStep::Compute(part) => {
                self.used = self.used.map(|used| used + part);
                self.left = self.left.saturating_sub(part);
                match self.left {
                    SimSpan::ZERO => self.own(thread, Reply { kind: ReplyKind::Done, ..reply }),
                    _ => self.then(wait_for_own_time(), CoreStep::EndSlice),
                }
            }
            CoreStep::EndSlice => {
                self.used = Some(SimSpan::ZERO);
                if self.cores().queue.is_empty() {
                    return self.compute(thread);
                }
                self.used = None;
                let next = self.cores().release();
                self.then(next.unwrap_or_else(wait_for_own_time), CoreStep::Passed)
            }
            CoreStep::Passed => self.then(wait_for_own_time(), CoreStep::Take),
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
