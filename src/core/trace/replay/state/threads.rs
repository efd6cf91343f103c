//! Threads with clocks of their own in a replay. A thread continues after a point that another thread reaches: at once if
//! it has been reached, and otherwise when the other thread cancels a receive that no message matches.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{
    COMPLETE, Call, DEEPEST, FREE, LateValue, NOTHING, RecordedAnswer, RequestId, Requests, SERVICE, Step,
    TaskPosition, TaskReplay, Trace, TraceOp, late, look,
};
use crate::rank::{Rank, thread_wait};
use crate::trace::Machine;
use crate::trace::cores::{CoreTurns, ReplayedCores, SharedCores};
use crate::trace::op::SharedUse;

/// Receives by which threads wait.
type WaitingThreads = SmallVec<[RequestId; 2]>;

/// Values that the threads of a rank share.
#[derive(Debug, Default)]
pub struct ThreadMeetings {
    /// Cores of the rank, if its machine is simulated.
    cores: Option<SharedCores>,
    /// True after the start of the first thread.
    has_started: bool,
    /// For each point by number, a bit that is set if a thread has reached the point.
    reached: Vec<u64>,
    /// Requests that threads have offered and no thread has taken, by the number of the point.
    offered: FxHashMap<u32, RequestId>,
    /// Receives by which threads wait for a point.
    waiting: FxHashMap<u32, WaitingThreads>,
}

/// Values that the threads of a rank share, for each of these threads.
pub type SharedMeetings = Arc<Mutex<ThreadMeetings>>;

/// Purpose of the last call of a thread that meets another thread.
#[derive(Debug, Default)]
pub(super) enum ThreadStep {
    #[default]
    Nothing,
    /// The thread has posted the receive of an operation that waits for this point later.
    Await(u32, u32),
    /// The thread has posted the receive by which it waits for this point now.
    Follow(u32),
    /// The thread waits for a request that another thread offers at this point, and stores it in this slot.
    Take(u32, u32),
    /// The thread has cancelled this receive, for which it waits next.
    Complete(RequestId, Option<(u32, u32)>),
    /// The thread has waited for the point, and stores the offered request in this slot.
    Bind(u32, u32),
    /// The thread is at its own virtual time and reaches this point.
    Reach(u32),
    /// The thread resumes the threads that wait by these receives.
    Resume(WaitingThreads),
}

impl ThreadMeetings {
    pub fn new(rank: Rank, machine: Option<&Machine>) -> ThreadMeetings {
        let cores = machine.map(|of| ReplayedCores::new(rank, of.cores, of.platform.core.time_slice));
        ThreadMeetings { cores: cores.map(|cores| Arc::new(Mutex::new(cores))), ..ThreadMeetings::default() }
    }

    fn is_reached(&self, point: u32) -> bool {
        self.reached.get(point as usize / 64).is_some_and(|bits| bits >> (point % 64) & 1 != 0)
    }

    /// Notes that a thread has reached the point. Returns the receives by which other threads wait for it.
    fn reach(&mut self, point: u32) -> WaitingThreads {
        let index = point as usize / 64;
        if self.reached.len() <= index {
            self.reached.resize(index + 1, 0);
        }
        self.reached[index] |= 1 << (point % 64);
        self.waiting.remove(&point).unwrap_or_default()
    }

    /// Removes the receive `request`, by which a thread waits for no point any more.
    fn withdraw(&mut self, request: RequestId) {
        self.waiting.retain(|_, waiting| {
            waiting.retain(|id| *id != request);
            !waiting.is_empty()
        });
    }

    /// Adds the receive by which a thread waits for the point. Returns false if another thread has reached the point.
    fn wait(&mut self, point: u32, request: RequestId) -> bool {
        let is_reached = self.is_reached(point);
        if !is_reached {
            self.waiting.entry(point).or_default().push(request);
        }
        !is_reached
    }
}

fn lock(threads: &SharedMeetings) -> MutexGuard<'_, ThreadMeetings> {
    threads.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TaskPosition {
    fn rank_threads(&self) -> Step<MutexGuard<'_, ThreadMeetings>> {
        self.threads.as_ref().map(lock).ok_or("a thread of a rank without threads")
    }

    /// Cores that the task shares with other threads of the rank, after the start of the first one.
    pub fn shared_cores(&self) -> Option<SharedCores> {
        if self.depth > 0 && self.thread == 0 {
            return None;
        }
        let threads = lock(self.threads.as_ref()?);
        threads.cores.clone().filter(|_| threads.has_started)
    }

    /// Begins a strand whose request gets the request slot `slot`.
    pub(super) fn descend(&mut self, slot: u32) -> Step<()> {
        if self.depth == DEEPEST {
            return Err("strands start strands too deep");
        }
        self.begin(slot)
    }

    /// Returns the call that starts the thread `thread` of the rank, whose calls are those of the task `task`.
    pub(super) fn start_thread(&mut self, trace: &Arc<Trace>, slot: u32, (task, thread): (u32, u32)) -> Step {
        self.descend(slot)?;
        let mut state = TaskPosition::new(trace, self.machine.clone(), self.rank, task, (0, self.depth + 1));
        (state.thread, state.factor, state.threads) = (thread, self.factor, self.threads.clone());
        let turns = state.shared_cores().map(|cores| Box::new(CoreTurns::new(cores)));
        Ok(Call::Start(Box::new(TaskReplay { trace: trace.clone(), state, turns })))
    }

    /// Notes the virtual time after `call`, the next call of the task.
    pub fn note_time(&mut self, call: &Call) {
        self.is_in_time = match call {
            Call::Test { .. } | Call::Cancel(_) => true,
            Call::Irecv(pattern) if pattern.context == SERVICE => self.is_in_time,
            Call::Enter(_) | Call::Leave => self.is_in_time,
            _ => false,
        };
    }

    /// Executes an operation of a thread. Returns a call if the operation needs one.
    #[inline(never)]
    pub(super) fn meet(&mut self, trace: &Arc<Trace>, number: u32) -> Step<Option<Call>> {
        let op = &trace.ops[number as usize];
        if let TraceOp::Share = op {
            let mut threads = self.rank_threads()?;
            threads.has_started = true;
            if let Some(cores) = &threads.cores {
                cores.lock().unwrap_or_else(PoisonError::into_inner).add_threads(1);
            }
            return Ok(None);
        }
        if let TraceOp::Shared(SharedUse::Release, slot) = op {
            if let Some(index) = self.offers.iter().rposition(|(offered, _)| offered == slot) {
                self.offers.swap_remove(index);
            }
            return self.free(*slot).map(|_| None);
        }
        let Some(LateValue::Point(step)) = late::next(&trace.bytes, &mut self.late) else {
            return Err("a late value is of another kind");
        };
        self.late_point = self.late_point.wrapping_add(step);
        let (point, rank) = (self.late_point, self.rank);
        match op {
            TraceOp::Shared(SharedUse::Offer, slot) => {
                let id = self.slots.get(*slot as usize).copied().filter(|id| *id != FREE);
                let id = id.ok_or("an offered slot has no request")?;
                if self.rank_threads()?.offered.insert(point, id).is_some() {
                    return Err("two requests are offered at the same point");
                }
                self.offers.push((*slot, point));
                self.reach(point)
            }
            TraceOp::Shared(_, slot) => {
                self.begin(*slot)?;
                if self.machine.is_none() || self.rank_threads()?.is_reached(point) {
                    self.bind(point);
                    return Ok(None);
                }
                self.meeting = ThreadStep::Take(point, *slot);
                self.starting = NOTHING;
                Ok(Some(Call::Irecv(thread_wait(rank))))
            }
            TraceOp::Await(slot) => {
                self.begin(*slot)?;
                if self.rank_threads()?.is_reached(point) {
                    self.started(COMPLETE);
                    return Ok(None);
                }
                self.meeting = ThreadStep::Await(point, *slot);
                Ok(Some(Call::Irecv(thread_wait(rank))))
            }
            TraceOp::Follow if self.machine.is_none() || self.rank_threads()?.is_reached(point) => Ok(None),
            TraceOp::Follow => {
                self.meeting = ThreadStep::Follow(point);
                Ok(Some(Call::Irecv(thread_wait(rank))))
            }
            _ if self.machine.is_none() || self.is_in_time => self.reach(point),
            _ => {
                self.meeting = ThreadStep::Reach(point);
                Ok(Some(look()))
            }
        }
    }

    /// Notes that the thread itself cancels the receive `request`.
    pub(super) fn withdraw(&mut self, request: RequestId) {
        if let Ok(mut threads) = self.rank_threads() {
            threads.withdraw(request);
        }
    }

    /// Ends the offer of the request in `slot`, for which the thread itself waits now.
    #[cold]
    pub(super) fn end_offer(&mut self, slot: u32) -> Step<()> {
        let Some(index) = self.offers.iter().rposition(|(offered, _)| *offered == slot) else { return Ok(()) };
        let (_, point) = self.offers.swap_remove(index);
        let own = self.rank_threads()?.offered.remove(&point);
        own.map(|_| ()).ok_or("two threads wait for a request")
    }

    /// Calls by which the thread waits for the time limit in the slot `limit`, while no thread ends the wait in the slot
    /// `wait`.
    pub(super) fn wait_limit(&mut self, limit: u32, wait: u32) -> Step {
        let limit = self.free(limit)?;
        let mut requests = Requests::new();
        match self.slots.get(wait as usize) {
            Some(&FREE) | None => return Err("a wait for a slot without a request"),
            Some(&COMPLETE) => {}
            Some(&id) => requests.push(id),
        }
        requests.push(limit);
        if requests.len() > 1 {
            self.asked = RecordedAnswer::Limit(wait, limit);
        }
        Ok(Call::WaitAny(requests))
    }

    /// Stores the request that another thread has offered at the point in the slot that begins.
    fn bind(&mut self, point: u32) {
        let offered = self.rank_threads().ok().and_then(|mut threads| threads.offered.remove(&point));
        self.started(offered.unwrap_or(COMPLETE));
    }

    /// Waits for the point by the receive that has just been posted. Then stores the request that is offered at a point in
    /// a slot, if `bound` states them.
    fn wait_for(&mut self, point: u32, bound: Option<(u32, u32)>) -> Option<Call> {
        let request = self.posted;
        let waits = self.rank_threads().is_ok_and(|mut threads| threads.wait(point, request));
        self.meeting = match bound {
            _ if !waits => ThreadStep::Complete(request, bound),
            Some((point, slot)) => ThreadStep::Bind(point, slot),
            None => ThreadStep::Nothing,
        };
        Some(if waits { Call::Complete(Requests::from_slice(&[request])) } else { Call::Cancel(request) })
    }

    /// Reaches the point. Returns a call if another thread waits for it.
    fn reach(&mut self, point: u32) -> Step<Option<Call>> {
        let waiting = self.rank_threads()?.reach(point);
        Ok(self.resume(waiting))
    }

    fn resume(&mut self, mut waiting: WaitingThreads) -> Option<Call> {
        if waiting.is_empty() {
            return None;
        }
        let first = waiting.remove(0);
        self.meeting = ThreadStep::Resume(waiting);
        Some(Call::Cancel(first))
    }

    /// Returns the next call of a thread that meets another thread, after the reply to its last call.
    #[inline]
    pub fn after_meeting(&mut self) -> Option<Call> {
        if let ThreadStep::Nothing = self.meeting {
            return None;
        }
        self.meeting_goes_on()
    }

    #[inline(never)]
    fn meeting_goes_on(&mut self) -> Option<Call> {
        match std::mem::take(&mut self.meeting) {
            ThreadStep::Nothing => None,
            ThreadStep::Await(point, slot) => {
                let request = self.slots[slot as usize];
                let waits = self.rank_threads().is_ok_and(|mut threads| threads.wait(point, request));
                (!waits).then_some(Call::Cancel(request))
            }
            ThreadStep::Follow(point) => self.wait_for(point, None),
            ThreadStep::Take(point, slot) => self.wait_for(point, Some((point, slot))),
            ThreadStep::Complete(request, bound) => {
                self.meeting = bound.map_or(ThreadStep::Nothing, |(point, slot)| ThreadStep::Bind(point, slot));
                Some(Call::Complete(Requests::from_slice(&[request])))
            }
            ThreadStep::Bind(point, slot) => {
                self.starting = slot;
                self.bind(point);
                None
            }
            ThreadStep::Reach(point) => self.reach(point).unwrap_or_default(),
            ThreadStep::Resume(waiting) => self.resume(waiting),
        }
    }
}
