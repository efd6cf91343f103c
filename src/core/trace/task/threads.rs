//! Recording of threads with clocks of their own: waits for other threads of the rank, and uses of locks.
//!
//! A point is a position in the calls of a thread, with a number that is unique in the rank. The thread reaches the point,
//! and other threads continue after it: a thread that waits, or the next user of an object.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::*;
use crate::rank::{ObjectUse, ThreadMark};
use crate::trace::op::SharedUse;

/// Points of the threads of a rank.
#[derive(Debug, Default)]
pub struct RankPoints {
    /// True after the start of the first thread.
    has_threads: AtomicBool,
    /// True if a thread has completed the request of another thread, which has not noted it.
    has_taken: AtomicBool,
    table: Mutex<PointTable>,
}

#[derive(Debug, Default)]
struct PointTable {
    /// Number of points so far.
    count: u32,
    /// Receives by which threads wait for other threads, with the points that end the waits.
    waits: FxHashMap<RequestId, u32>,
    /// Last point of each object.
    objects: FxHashMap<u64, u32>,
    /// Active requests that other threads may complete, with their points.
    offered: FxHashMap<RequestId, u32>,
    /// Requests that another thread has completed, with the peer and tag of a received message.
    taken: FxHashMap<RequestId, Option<(u32, Tag)>>,
}

impl PointTable {
    fn add(&mut self) -> u32 {
        self.count += 1;
        self.count - 1
    }
}

/// State of a thread that the recorder needs between calls.
#[derive(Debug, Default)]
pub(super) struct ThreadMoment {
    pub points: Arc<RankPoints>,
    /// Length of the present block of code, while the thread takes or releases cores.
    block: Option<SimSpan>,
    /// Whether the next call is a time in which the thread needs no core.
    sleeps: bool,
}

impl ThreadMoment {
    fn points(&self) -> MutexGuard<'_, PointTable> {
        self.points.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskRecorder {
    /// Records a call that concerns threads. Returns true if the call needs no further record.
    #[inline]
    pub(super) fn asks_of_threads(&mut self, call: &Call) -> bool {
        if self.thread.points.has_taken.load(Ordering::Relaxed) {
            self.note_taken();
        }
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
            Call::Compute(span) | Call::Code(span) if std::mem::take(&mut self.thread.sleeps) => {
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
            ThreadMark::Shares => {
                if !self.thread.points.has_threads.swap(true, Ordering::Relaxed) {
                    let started =
                        self.slots.iter().zip(0..).filter_map(|(slot, place)| Some((slot.as_ref()?.request, place)));
                    started.collect::<Vec<_>>().into_iter().for_each(|(id, slot)| self.offers(id, slot));
                }
                self.push(TraceOp::Share);
            }
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
        points.taken.remove(&id);
        drop(points);
        let slot = self.take_slot(id, None, None);
        if let Some(of) = &mut self.slots[slot as usize] {
            of.is_wait = true;
        }
        self.push_point(TraceOp::Await(slot), point);
    }

    /// Slot of the first of `requests` by which the thread waits for another thread.
    pub(super) fn thread_wait_among(&self, requests: &Requests) -> Option<u32> {
        let slot = |id| self.by_request.get(id).copied();
        requests.iter().filter_map(slot).find(|&slot| self.slots[slot as usize].is_some_and(|of| of.is_wait))
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

    /// Offers the request in `slot`, which the thread has just started, to other threads of the rank.
    pub(super) fn offers(&mut self, id: RequestId, slot: u32) {
        if !self.thread.points.has_threads.load(Ordering::Relaxed) {
            return;
        }
        let mut points = self.thread.points();
        let point = points.add();
        points.offered.insert(id, point);
        // An earlier request with this number has ended.
        points.taken.remove(&id);
        drop(points);
        self.push_point(TraceOp::Shared(SharedUse::Offer, slot), point);
    }

    /// Whether `id` is an active request of another thread.
    pub(super) fn is_offered(&self, id: RequestId) -> bool {
        self.thread.points.has_threads.load(Ordering::Relaxed) && self.thread.points().offered.contains_key(&id)
    }

    /// Notes that the thread itself completes the request `id`.
    pub(super) fn completes(&mut self, id: RequestId) {
        if self.thread.points.has_threads.load(Ordering::Relaxed) {
            self.thread.points().offered.remove(&id);
        }
    }

    /// Takes the request `id`, which another thread has started and which completes now. Returns its slot.
    pub(super) fn takes(&mut self, id: RequestId, completion: Option<&Completion>) -> Option<u32> {
        let ranks = self.ranks;
        let relative =
            |source: Rank| if source >= self.rank { source - self.rank } else { source + (ranks - self.rank) };
        let got = completion.map(|of| (relative(of.source), of.tag));
        let mut points = self.thread.points();
        let point = points.offered.remove(&id)?;
        points.taken.insert(id, got);
        drop(points);
        self.thread.points.has_taken.store(true, Ordering::Relaxed);
        if completion.is_some_and(|of| of.cancelled) {
            self.fault = Some("a thread completes a receive that another thread has cancelled".to_owned());
        }
        let slot = self.take_slot(id, None, None);
        self.by_request.remove(&id);
        self.push_point(TraceOp::Shared(SharedUse::Take, slot), point);
        Some(slot)
    }

    /// Frees the slots of the requests that other threads have completed.
    #[cold]
    pub(super) fn note_taken(&mut self) {
        let points = self.thread.points.clone();
        let mut table = points.table.lock().unwrap_or_else(PoisonError::into_inner);
        let is_taken = |id: &RequestId| self.by_request.get(id).copied();
        let own: Vec<(RequestId, u32)> = table.taken.keys().filter_map(|id| Some((*id, is_taken(id)?))).collect();
        let mut own: Vec<_> = own.into_iter().map(|(id, slot)| (slot, id, table.taken.remove(&id).flatten())).collect();
        points.has_taken.store(!table.taken.is_empty(), Ordering::Relaxed);
        drop(table);
        // The order of the table has no meaning.
        own.sort_unstable_by_key(|of| of.0);
        for (place, id, got) in own {
            self.by_request.remove(&id);
            let slot = self.slots[place as usize].take();
            if let (Some(late), Some(got)) = (slot.and_then(|slot| slot.late), got) {
                self.log.late[late] = DeferredResult::Got(Some(got));
            }
            self.push(TraceOp::Shared(SharedUse::Release, place));
        }
    }
}
