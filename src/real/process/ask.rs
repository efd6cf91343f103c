//! How a rank asks the engine: from its MPI functions, through the handle of the fiber that runs.
#![allow(unsafe_code)]

use std::mem::ManuallyDrop;

use crate::process::Process;
use mcpsim_core::rank::{Call, Completion, FiberHandle, Reply, ReplyKind, RequestId, Requests};
use mcpsim_core::units::SimSpan;

impl Process {
    /// Asks the engine, and lets `take` see its reply.
    #[inline(always)]
    pub fn call<R>(&self, call: Call, take: impl FnOnce(&mut Reply<'_>) -> R) -> R {
        self.call_made(|| ManuallyDrop::new(call), take)
    }

    /// As [`Process::call`], for calls so frequent that they are made where they stay.
    #[inline(always)]
    pub fn call_made<R>(&self, make: impl FnOnce() -> ManuallyDrop<Call>, take: impl FnOnce(&mut Reply<'_>) -> R) -> R {
        self.stop_timer();
        let handle = self.charged_handle();
        let mut call = make();
        handle.call_there(&mut call, |reply| {
            self.clock.set(reply.clock);
            take(reply)
        })
    }

    /// As [`Process::call`]; nothing is left of the call to be dropped.
    #[inline(always)]
    pub fn call_there<R>(&self, call: &mut ManuallyDrop<Call>, take: impl FnOnce(&mut Reply<'_>) -> R) -> R {
        self.stop_timer();
        self.charged_handle().call_there(call, |reply| {
            self.clock.set(reply.clock);
            take(reply)
        })
    }

    /// The way out of the task that runs, after the local execution block before the call has been charged: here, if
    /// calls are answered on the spot, and by [`crate::process::program::RealProgram`] otherwise.
    #[inline(always)]
    pub(super) fn charged_handle(&self) -> &FiberHandle<'static> {
        // SAFETY: the handle belongs to the fiber that runs this code.
        let handle = unsafe { &*self.handle.get() };
        if handle.asks() {
            let charge = self.take_charge();
            if charge > SimSpan::ZERO {
                handle.call(self.charged_block(charge), |_| ());
            }
        }
        handle
    }

    /// Asks the engine for what gives only `Done`.
    #[inline(always)]
    pub fn call_done(&self, call: Call) {
        self.call(call, |_| ());
    }

    /// Asks the engine to start something.
    #[inline(always)]
    pub fn call_start(&self, call: Call) -> RequestId {
        self.call(call, started)
    }

    /// Asks the engine for what gives completions, and lets `take` see them.
    #[inline(always)]
    pub fn call_completed<R>(&self, call: Call, take: impl FnOnce(&mut [Completion]) -> R) -> R {
        self.call(call, |reply| take(completed(reply)))
    }

    /// Waits for requests that are of no further interest.
    pub fn complete(&self, requests: Requests) {
        self.call_done(Call::Complete(requests));
    }
}

/// The request that was started.
#[inline]
pub fn started(reply: &mut Reply<'_>) -> RequestId {
    match reply.kind {
        ReplyKind::Started(id) => id,
        ref other => unreachable!("a started request was answered by {other:?}"),
    }
}

/// What was completed.
#[inline]
pub fn completed<'r>(reply: &'r mut Reply<'_>) -> &'r mut [Completion] {
    match &mut reply.kind {
        ReplyKind::Completed(completions) => completions,
        other => unreachable!("completions were asked for, and {other:?} came"),
    }
}
