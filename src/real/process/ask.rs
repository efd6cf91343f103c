//! Sends calls of MPI functions to the simulation engine, through the handle of the current fiber.
#![allow(unsafe_code)]

use std::mem::ManuallyDrop;

use crate::process::Process;
use mcpsim_core::rank::{Call, Completion, FiberHandle, Reply, ReplyKind, RequestId, Requests, ThreadMark};
use mcpsim_core::units::SimSpan;

impl Process {
    /// Sends a call to the simulation engine and passes the engine's reply to `take`.
    #[inline(always)]
    pub fn call<R>(&self, call: Call, take: impl FnOnce(&mut Reply<'_>) -> R) -> R {
        self.call_made(|| ManuallyDrop::new(call), take)
    }

    /// Variant of [`Process::call`] for frequent engine calls. The engine call is constructed in its final location
    /// and is not copied.
    #[inline(always)]
    pub fn call_made<R>(&self, make: impl FnOnce() -> ManuallyDrop<Call>, take: impl FnOnce(&mut Reply<'_>) -> R) -> R {
        self.stop_timer();
        let handle = self.charged_handle();
        let mut call = make();
        if self.timer.shares_cores() {
            self.leave_core_before(handle, &call);
        }
        handle.call_there(&mut call, |reply| {
            self.clock.set(reply.clock);
            take(reply)
        })
    }

    /// Variant of [`Process::call`] for engine calls whose values need no drop.
    #[inline(always)]
    pub fn call_there<R>(&self, call: &mut ManuallyDrop<Call>, take: impl FnOnce(&mut Reply<'_>) -> R) -> R {
        self.stop_timer();
        let handle = self.charged_handle();
        if self.timer.shares_cores() {
            self.leave_core_before(handle, call);
        }
        handle.call_there(call, |reply| {
            self.clock.set(reply.clock);
            take(reply)
        })
    }

    /// Charges the preceding local execution block and returns the fiber handle of the current task. If the
    /// simulation engine does not answer calls immediately, [`crate::process::program::RealProgram`] charges the
    /// block later.
    #[inline(always)]
    pub(super) fn charged_handle(&self) -> &FiberHandle<'static> {
        // SAFETY: the fiber handle belongs to the fiber that runs the current code, so the handle is alive.
        let handle = unsafe { &*self.handle.get() };
        if handle.asks() {
            let charge = self.take_charge();
            if charge > SimSpan::ZERO {
                if self.timer.shares_cores() {
                    self.counts.is_before_call.set(true);
                    self.compute_in_turns(handle, charge);
                    self.counts.is_before_call.set(false);
                } else {
                    self.compute(handle, charge);
                }
            }
        }
        handle
    }

    /// States what the current thread does, for recorders of the run.
    #[cold]
    pub(super) fn mark(&self, mark: ThreadMark) {
        // SAFETY: see `charged_handle`.
        let handle = unsafe { &*self.handle.get() };
        handle.call(Call::Mark(mark), |_| ());
    }

    /// Executes a block with the cost `charge`.
    #[inline(always)]
    pub(super) fn compute(&self, handle: &FiberHandle<'static>, charge: SimSpan) {
        let block = self.charged_block(charge);
        if let Call::Code(span) = block {
            handle.count_code(span, self.function.get());
        }
        handle.call(block, |_| ());
    }

    /// Ends the current local execution block and returns the engine call for its cost.
    pub fn last_block(&self) -> Call {
        self.stop_timer();
        self.charged_block(self.take_charge())
    }

    /// Sends a call to the simulation engine. The engine must answer the call with `Done`.
    #[inline(always)]
    pub fn call_done(&self, call: Call) {
        self.call(call, |_| ());
    }

    /// Sends an engine call that starts an operation, and returns the request of the operation.
    #[inline(always)]
    pub fn call_start(&self, call: Call) -> RequestId {
        self.call(call, started)
    }

    /// Sends a call to the simulation engine and passes the completions in the reply to `take`.
    #[inline(always)]
    pub fn call_completed<R>(&self, call: Call, take: impl FnOnce(&mut [Completion]) -> R) -> R {
        self.call(call, |reply| take(completed(reply)))
    }

    /// Waits for the requests `requests` and discards the results of the operations.
    pub fn complete(&self, requests: Requests) {
        self.call_done(Call::Complete(requests));
    }
}

/// Returns the request in the simulation engine's reply.
#[inline]
pub fn started(reply: &mut Reply<'_>) -> RequestId {
    match reply.kind {
        ReplyKind::Started(id) => id,
        ref other => unreachable!("a started request was answered by {other:?}"),
    }
}

/// Returns the completions of requests in the simulation engine's reply.
#[inline]
pub fn completed<'r>(reply: &'r mut Reply<'_>) -> &'r mut [Completion] {
    match &mut reply.kind {
        ReplyKind::Completed(completions) => completions,
        other => unreachable!("completions were asked for, and {other:?} came"),
    }
}
