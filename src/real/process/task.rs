//! Tasks of a rank: the main program and threads with clocks of their own, which share the cores of the rank.

use std::collections::VecDeque;

use super::ask::started;
use super::job::ComputeMode;
use super::polling::Polls;
use super::rank::Process;
use mcpsim_core::rank::{
    Call, FiberHandle, ObjectUse, RequestId, Requests, ThreadMark, UNCOUNTED_BLOCK, Which, thread_wait,
};
use mcpsim_core::units::SimSpan;

/// Returns the call that waits until the simulation reaches the time of the task.
pub(super) fn wait_for_own_time() -> Call {
    Call::Test { requests: Requests::new(), which: Which::Some, poll: false }
}

/// Values of a rank's state that belong to the task that runs.
#[derive(Debug)]
pub struct TaskContext {
    handle: *const FiberHandle<'static>,
    function: &'static str,
    here: [usize; 3],
    came_with: [usize; 5],
    call: u64,
    is_before_call: bool,
    computed: SimSpan,
    polls: Polls,
    own_stack: (usize, usize),
    used: Option<SimSpan>,
}

impl Default for TaskContext {
    fn default() -> Self {
        TaskContext {
            handle: std::ptr::null(),
            function: "",
            here: [0; 3],
            came_with: [0; 5],
            call: 0,
            is_before_call: false,
            computed: SimSpan::ZERO,
            polls: Polls::default(),
            own_stack: (0, 0),
            used: None,
        }
    }
}

impl Process {
    /// Notes that the current host thread has waited for the simulator or for another thread.
    #[inline]
    pub fn has_waited(&self) {
        if self.job.options.compute == ComputeMode::Measure {
            self.timer.has_waited();
        }
    }

    /// Starts the measured block of the program's own code anew. A library that converts the results of MPI functions calls
    /// it after the conversion, which does not belong to the block.
    #[inline]
    pub fn restart_timer(&self) {
        if self.job.options.compute != ComputeMode::Measure {
            return;
        }
        match self.timer.is_running() {
            true => self.timer.restart(),
            false => self.start_timer(),
        }
    }

    /// Subtracts `ns`, a cost of the simulation, from the measured time of the current block.
    pub fn discount(&self, ns: u64) {
        if self.job.options.compute == ComputeMode::Measure {
            self.timer.discount(ns);
        }
    }

    /// Exchanges the state of the task that has run and that of the task that runs now.
    pub fn exchange_context(&self, other: &mut TaskContext) {
        other.handle = self.handle.replace(other.handle);
        other.function = self.function.replace(other.function);
        other.here = self.here.replace(other.here);
        other.came_with = self.came_with.replace(other.came_with);
        other.call = self.counts.current.replace(other.call);
        other.is_before_call = self.counts.is_before_call.replace(other.is_before_call);
        other.computed = self.own_computed.replace(other.computed);
        other.polls = self.polls.replace(other.polls);
        other.own_stack = self.own_stack.replace(other.own_stack);
        std::mem::swap(&mut self.cores.borrow_mut().used, &mut other.used);
    }

    /// Notes that a further thread of the rank shares the `count` cores of the rank.
    pub fn share_cores(&self, count: u32) {
        let mut cores = self.cores.borrow_mut();
        cores.count = count;
        cores.threads += 1;
        drop(cores);
        self.timer.share_cores();
        self.mark(ThreadMark::Shares);
    }

    /// States that the current thread, which is at its own virtual time, uses the object at `address`.
    pub fn uses_object(&self, address: usize, how: ObjectUse) {
        self.mark(ThreadMark::Uses(address as u64, how));
    }

    /// States that the next block of the current thread needs no core.
    pub fn needs_no_core(&self) {
        self.mark(ThreadMark::Sleeps);
    }

    /// Executes a block with the cost `charge` on a core of the rank. A thread keeps its core until it waits. If the rank
    /// has more threads than cores, it keeps it at most for a time slice while other threads wait for a core.
    #[cold]
    pub(super) fn compute_in_turns(&self, handle: &FiberHandle<'static>, charge: SimSpan) {
        let is_crowded = self.cores.borrow().is_crowded();
        if self.used().is_none() {
            if !is_crowded && charge < UNCOUNTED_BLOCK {
                return self.compute(handle, charge);
            }
            self.mark(ThreadMark::Cores(true));
            self.take_core(handle);
        } else {
            self.mark(ThreadMark::Cores(true));
        }
        let slice = self.job.platform.core.time_slice;
        let mut left = charge;
        loop {
            let used = self.used().unwrap_or_default();
            let part = left.min(slice.saturating_sub(used));
            if part > SimSpan::ZERO {
                self.compute(handle, part);
            }
            self.cores.borrow_mut().used = Some(used + part);
            left = left - part;
            if left == SimSpan::ZERO {
                return self.mark(ThreadMark::Cores(false));
            }
            handle.call(wait_for_own_time(), |_| ());
            self.cores.borrow_mut().used = Some(SimSpan::ZERO);
            if !self.cores.borrow().queue.is_empty() {
                self.release_core(handle);
                self.take_core(handle);
            }
        }
    }

    fn used(&self) -> Option<SimSpan> {
        self.cores.borrow().used
    }

    /// Passes the core of the current thread to another thread, if `call` may wait.
    #[cold]
    pub(super) fn leave_core_before(&self, handle: &FiberHandle<'static>, call: &Call) {
        let continues = matches!(
            call,
            Call::Compute(_)
                | Call::Code(_)
                | Call::Test { .. }
                | Call::Irecv(_)
                | Call::Isend(_)
                | Call::Start(_)
                | Call::Cancel(_)
                | Call::Enter(_)
                | Call::Leave
        );
        if !continues {
            self.leave_core(handle);
        }
    }

    /// Passes the core of the current thread, if it has one, to another thread.
    fn leave_core(&self, handle: &FiberHandle<'static>) {
        if self.used().is_some() {
            self.mark(ThreadMark::Cores(true));
            handle.call(wait_for_own_time(), |_| ());
            self.release_core(handle);
            self.mark(ThreadMark::Cores(false));
        }
    }

    /// Advances the time of the current thread by `span`. Other threads use its core, and run first if they are at an
    /// earlier time at its end.
    #[cold]
    pub(super) fn sleep_in_order(&self, span: SimSpan) {
        self.stop_timer();
        let handle = self.charged_handle();
        self.leave_core(handle);
        self.mark(ThreadMark::Sleeps);
        handle.call(Call::Compute(span), |_| ());
        handle.call(wait_for_own_time(), |reply| self.clock.set(reply.clock));
    }

    /// Waits until a core of the rank is free for the current thread.
    fn take_core(&self, handle: &FiberHandle<'static>) {
        handle.call(wait_for_own_time(), |_| ());
        self.cores.borrow_mut().used = Some(SimSpan::ZERO);
        if self.cores.borrow_mut().try_take() {
            return;
        }
        let request = handle.call(Call::Irecv(thread_wait(self.rank)), started);
        // Another thread may have released a core meanwhile.
        let is_free = self.cores.borrow_mut().try_take();
        if is_free {
            handle.call(Call::Cancel(request), |_| ());
        } else {
            self.cores.borrow_mut().queue.push_back(request);
        }
        handle.call(Call::Complete(Requests::from_slice(&[request])), |_| ());
    }

    /// Passes the core of the current thread to the thread that has waited longest.
    fn release_core(&self, handle: &FiberHandle<'static>) {
        self.cores.borrow_mut().used = None;
        let next = self.cores.borrow_mut().queue.pop_front();
        match next {
            Some(request) => handle.call(Call::Cancel(request), |_| ()),
            None => self.cores.borrow_mut().busy -= 1,
        }
    }
}

/// Cores of a rank with several threads that have clocks of their own.
#[derive(Debug, Default)]
pub struct RankCores {
    count: u32,
    /// Number of threads that have started, except the main thread.
    threads: u32,
    /// Number of cores on which threads compute.
    busy: u32,
    /// Requests whose cancellation gives a core to the thread that waits for it.
    queue: VecDeque<RequestId>,
    /// Part of its time slice that the current thread has used, if it has a core.
    used: Option<SimSpan>,
}

impl RankCores {
    fn is_crowded(&self) -> bool {
        self.threads + 1 > self.count
    }

    fn try_take(&mut self) -> bool {
        let is_free = self.busy < self.count;
        self.busy += u32::from(is_free);
        is_free
    }
}
