//! Advance of the virtual clocks of tasks by core time and by waits, and the path that determined each clock.

use mcpsim_base::rank::{CallSite, Rank, RequestId};
use mcpsim_base::units::{Bytes, SimSpan, SimTime};

use super::activity::{ClockMark, ClockPoint};
use super::lp::LogicalProcess;
use super::paths::PathSlot;
use super::rank_times::part_and_activity;
use super::requests::{RequestKind, RequestRecord};
use super::state::{MAIN, StrandState, TargetRank, TaskState};

/// Category of core time that a task spends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeCategory {
    Compute,
    Send,
    Recv,
    Poll,
}

/// Cause of the end of a task's wait: a transfer that started at `left`, at the end of `path`. If the wait ended at
/// `left`, no transfer is on the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitCause {
    pub path: PathSlot,
    pub left: SimTime,
    /// Source and destination of the transfer.
    pub ends: (Rank, Rank),
    pub size: Bytes,
}

impl TargetRank {
    /// Advances the task's clock by core time of the category `kind`.
    #[inline(always)]
    pub fn spend(&mut self, lp: &mut LogicalProcess<'_>, task: u32, kind: TimeCategory, span: SimSpan) {
        if lp.effects.shares_cores && matches!(kind, TimeCategory::Send | TimeCategory::Recv) {
            self.await_core(lp, task, span);
        }
        let mut computes = false;
        let control = self.control(task);
        match kind {
            TimeCategory::Send => control.polling = SimTime::NEVER,
            TimeCategory::Recv => {
                control.polling = SimTime::NEVER;
                if span > SimSpan::ZERO {
                    lp.paths.change(&mut control.path).recv += span;
                }
            }
            TimeCategory::Compute => {
                // Computation that is short compared with a poll counts as polling.
                if span > lp.core.poll * 10 {
                    control.polling = SimTime::NEVER;
                }
                let combines = !control.computes || control.collective.is_some();
                computes = !combines;
                let path = lp.paths.change(&mut control.path);
                *(if combines { &mut path.combine } else { &mut path.compute }) += span;
            }
            TimeCategory::Poll => {
                control.polling = control.polling.min(control.clock);
                lp.paths.change(&mut control.path).poll += span;
            }
        }
        self.pass(task, kind, span);
        if self.trail.is_some() && span > SimSpan::ZERO {
            let site = self.control(task).site;
            self.mark_as(task, if computes { before_call(lp, site) } else { 0 });
        }
    }

    /// Records that the last block that the task computed waited for memory for the time `waited`, and that twice the
    /// memory bandwidth would shorten the block by `saved`.
    pub fn wait_for_memory(&mut self, lp: &mut LogicalProcess<'_>, task: u32, waited: SimSpan, saved: SimSpan) {
        let control = self.control(task);
        if !control.computes || control.collective.is_some() {
            return;
        }
        lp.paths.wait_for_memory(&mut control.path, waited, saved);
        if task == MAIN {
            self.parts.memory += waited;
        }
    }

    /// Ends the wait of the task at `time`. If `time` is later than the task's clock, the path of the cause becomes the
    /// task's path.
    #[inline(always)]
    pub fn wait_until(&mut self, lp: &mut LogicalProcess<'_>, task: u32, time: SimTime, cause: WaitCause) {
        let clock = self.control(task).clock;
        if time > clock {
            self.follow(lp, task, time, cause);
            self.pass(task, TimeCategory::Poll, time.since(clock));
        } else {
            lp.paths.release(cause.path);
        }
    }

    /// Records that the task, at its clock, finds a result that was ready at `time`. If the task has only polled since
    /// before `time`, the task's path becomes the path of the cause, followed by polling.
    #[inline]
    pub fn found(&mut self, lp: &mut LogicalProcess<'_>, task: u32, time: SimTime, cause: WaitCause) {
        let control = self.control(task);
        let clock = control.clock;
        if time > control.polling {
            self.follow(lp, task, time, cause);
            lp.paths.change(&mut self.control(task).path).poll += clock.since(time);
            if self.trail.is_some() && clock > time {
                self.mark(task);
            }
        } else {
            control.polling = SimTime::NEVER;
            lp.paths.release(cause.path);
        }
    }

    /// Replaces the task's path with the path of a cause that ended at `time`.
    #[inline(always)]
    pub fn follow(&mut self, lp: &mut LogicalProcess<'_>, task: u32, time: SimTime, cause: WaitCause) {
        let control = self.control(task);
        control.polling = SimTime::NEVER;
        lp.paths.replace(&mut control.path, cause.path);
        if cause.left < time {
            lp.cross(&mut control.path, cause.ends, cause.size, cause.left, time);
        }
        if let Some(origin) = lp.paths.origin(control.path) {
            self.mark_followed(lp, task, time, ClockPoint { time: origin.time.min(cause.left), ..origin });
        }
    }

    /// Records that a point of another task's clock advanced the task's clock to `time`.
    #[cold]
    #[inline(never)]
    fn mark_followed(&mut self, lp: &mut LogicalProcess<'_>, task: u32, time: SimTime, from: ClockPoint) {
        let to = self.rank;
        let TaskState { serial, site, path, .. } = self.control(task);
        lp.paths.claim(path, to, *serial);
        let (serial, mark) = (*serial, ClockMark { until: time, site: *site, came: Some(from) });
        self.trail.as_mut().expect("it is recorded").mark(serial, mark);
    }

    /// Records that the task advanced its own clock.
    #[cold]
    pub fn mark(&mut self, task: u32) {
        self.mark_as(task, 0);
    }

    /// Records that the task advanced its own clock, by computing before its call if `computing` is that bit.
    #[cold]
    fn mark_as(&mut self, task: u32, computing: u32) {
        let TaskState { clock: until, serial, site, .. } = *self.control(task);
        if let Some(trail) = &mut self.trail {
            trail.mark(serial, ClockMark { until, site: site | computing, came: None });
        }
    }

    /// Removes and returns the cause that made the request ready.
    #[inline]
    pub fn cause(&mut self, id: RequestId) -> WaitCause {
        let RequestRecord { path, left, peer, size, kind, .. } = self.requests.get_mut(id);
        let ends = if *kind == RequestKind::Granted { (self.rank, *peer) } else { (*peer, self.rank) };
        WaitCause { path: std::mem::replace(path, PathSlot::NONE), left: *left, ends, size: *size }
    }

    /// Advances the task's clock by `span`. The rank's statistics count only the time of the rank's program. Threads
    /// have records of their own.
    #[inline(always)]
    pub fn pass(&mut self, task: u32, kind: TimeCategory, span: SimSpan) {
        self.control(task).clock += span;
        if task != MAIN {
            return self.pass_of_strand(task, kind, span);
        }
        let (part, activity) = part_and_activity(&mut self.parts, kind, self.main.collective.is_some());
        *part += span;
        if let Some(trail) = &mut self.trail
            && span > SimSpan::ZERO
        {
            trail.was(activity, self.main.site, self.main.clock);
        }
    }

    /// Adds time of a strand to the record of the strand, if the strand is a thread.
    fn pass_of_strand(&mut self, task: u32, kind: TimeCategory, span: SimSpan) {
        if let Some(StrandState { control, thread: Some(record), .. }) = self.strands[task as usize - 1].as_deref_mut()
        {
            record.pass(control, kind, span);
        }
    }
}

/// Returns the bit that marks the computing of a real program before its call at `site`. A statement of a described
/// program that computes is a call site of its own.
#[cold]
fn before_call(lp: &LogicalProcess<'_>, site: u32) -> u32 {
    match lp.recording.sites.sites.get(site as usize) {
        Some(CallSite::Function(_) | CallSite::Place(..)) => ClockMark::COMPUTING,
        _ => 0,
    }
}
