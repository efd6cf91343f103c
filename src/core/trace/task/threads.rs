//! Recording of threads with clocks of their own: waits for other threads of the rank, and uses of locks.
//!
//! A point is a position in the calls of a thread, with a number that is unique in the rank. The thread reaches the point,
//! and other threads continue after it: a thread that waits, or the next user of an object.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::*;
use crate::rank::{ObjectUse, ThreadMark};

/// Points of the threads of a rank.
#[derive(Debug, Default)]
pub struct RankPoints {
    /// Number of points so far.
    count: u32,
    /// Receives by which threads wait for other threads, with the points that end the waits.
    waits: FxHashMap<RequestId, u32>,
    /// Last point of each object.
    objects: FxHashMap<u64, u32>,
}

impl RankPoints {
    fn add(&mut self) -> u32 {
        self.count += 1;
        self.count - 1
    }
}

/// State of a thread that the recorder needs between calls.
#[derive(Debug, Default)]
pub(super) struct ThreadMoment {
    pub points: Arc<Mutex<RankPoints>>,
    /// Length of the present block of code, while the thread takes or releases cores.
    block: Option<SimSpan>,
    /// Whether the next call is a time in which the thread needs no core.
    sleeps: bool,
}

impl ThreadMoment {
    fn points(&self) -> MutexGuard<'_, RankPoints> {
        self.points.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskRecorder {
    /// Records a call that concerns threads. Returns true if the call needs no further record.
    #[inline]
    pub(super) fn asks_of_threads(&mut self, call: &Call) -> bool {
        if let Call::Mark(mark) = call {
            self.marks(*mark);
            return true;
        }
        if let Some(block) = &mut self.thread.block {
            if let Call::Compute(span) | Call::Code(span) = call {
                *block += *span;
            }
            return true;
        }
        match call {
            Call::Compute(span) if std::mem::take(&mut self.thread.sleeps) => {
                if *span > SimSpan::ZERO {
                    self.push(TraceOp::Pass(*span));
                }
                true
            }
            _ => false,
        }
    }

    fn marks(&mut self, mark: ThreadMark) {
        match mark {
            ThreadMark::Shares => self.push(TraceOp::Share),
            ThreadMark::Cores(true) => self.thread.block = Some(SimSpan::ZERO),
            ThreadMark::Cores(false) => {
                let block = self.thread.block.take().unwrap_or_default();
                if block > SimSpan::ZERO {
                    self.compute(block);
                }
            }
            ThreadMark::Sleeps => self.thread.sleeps = true,
            ThreadMark::Uses(object, how) => {
                let mut points = self.thread.points();
                let before = points.objects.get(&object).copied().filter(|_| how != ObjectUse::Release);
                let reached = (how != ObjectUse::Acquire).then(|| points.add());
                if let Some(point) = reached {
                    points.objects.insert(object, point);
                }
                drop(points);
                before.into_iter().for_each(|point| self.push_point(TraceOp::Follow, point));
                reached.into_iter().for_each(|point| self.push_point(TraceOp::Reach, point));
            }
        }
    }

    fn push_point(&mut self, op: TraceOp, point: u32) {
        self.log.late.push(DeferredResult::Point(point));
        self.push(op);
    }

    /// Records the start of the receive `id` by which the thread waits for another thread.
    pub(super) fn awaits(&mut self, id: RequestId) {
        let mut points = self.thread.points();
        let point = points.add();
        points.waits.insert(id, point);
        drop(points);
        let slot = self.take_slot(id, None, None);
        self.push_point(TraceOp::Await(slot), point);
    }

    /// Records that the thread cancels the receive `id` of another thread. Returns false if it is no wait of a thread.
    pub(super) fn wakes(&mut self, id: RequestId) -> bool {
        let point = self.thread.points().waits.remove(&id);
        point.into_iter().for_each(|point| self.push_point(TraceOp::Reach, point));
        point.is_some()
    }

    /// Notes that the thread itself cancels the receive `id`.
    pub(super) fn withdraws(&mut self, id: RequestId) {
        self.thread.points().waits.remove(&id);
    }
}
