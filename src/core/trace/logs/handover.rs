//! Requests that one thread of a recorded rank starts and another thread completes. The replay of the second thread may
//! reach its wait before the first thread has started the request. It then waits until the request has started.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::threads::{NONE, RankThreads};
use crate::rank::{Call, Rank, ReplyKind, RequestId, Requests, thread_wait};
use crate::trace::cores::wait_for_own_time;

/// Requests of all threads of a rank, by their numbers in the recording.
#[derive(Debug, Default)]
pub(super) struct ThreadRequests {
    /// Started requests that no wait has completed; `None` for an operation that needs no request of the engine.
    started: FxHashMap<u32, Option<RequestId>>,
    /// Receives by which threads wait for the start of a request.
    waiting: FxHashMap<u32, Vec<RequestId>>,
}

/// Step of a thread that starts or completes requests. A step follows the reply to the thread's last call.
#[derive(Debug)]
pub(super) enum Handover {
    /// The thread has started the request with this number, and is at its own virtual time.
    Announce(u32, Option<RequestId>),
    /// The thread resumes other threads that wait for these receives.
    Resume(Vec<RequestId>),
    /// The thread waits for the requests with these indexes in [`RankThreads::waited`], and is at its own virtual time.
    Await(Range<usize>),
    /// The thread has posted the receive by which it waits for the start of the request with this number.
    Post(Range<usize>, u32),
}

impl ThreadRequests {
    /// Adds a request that its own thread completes.
    pub fn add(&mut self, number: u32, request: Option<RequestId>) {
        self.started.insert(number, request);
    }

    /// Removes a request that no wait will complete.
    pub fn release(&mut self, number: u32) {
        self.started.remove(&number);
    }

    /// Removes and returns the requests with the numbers `waited`.
    fn take(&mut self, waited: &[u32]) -> Requests {
        waited.iter().filter_map(|number| self.started.remove(number)?).collect()
    }

    /// Begins the wait for the requests with the indexes `range` of `threads.waited`. Returns the first call and the
    /// step that follows it, if the wait needs calls.
    pub fn wait(&mut self, threads: &RankThreads, range: Range<usize>) -> Option<(Call, Option<Handover>)> {
        let waited = &threads.waited[range.clone()];
        if waited.iter().any(|number| threads.shared.contains(number)) {
            return Some((wait_for_own_time(), Some(Handover::Await(range))));
        }
        let requests = self.take(waited);
        (!requests.is_empty()).then_some((Call::Complete(requests), None))
    }

    /// Executes `step` of a thread of `rank` after the reply `reply`. Returns the next call and the step that follows it.
    pub fn go_on(
        &mut self,
        step: Handover,
        reply: &ReplyKind<'_>,
        (threads, rank): (&RankThreads, Rank),
    ) -> Option<(Call, Option<Handover>)> {
        match step {
            Handover::Announce(number, request) => {
                self.started.insert(number, request);
                let waiting = self.waiting.remove(&number)?;
                self.go_on(Handover::Resume(waiting), reply, (threads, rank))
            }
            Handover::Resume(mut waiting) => {
                let thread = waiting.pop()?;
                Some((Call::Cancel(thread), Some(Handover::Resume(waiting))))
            }
            Handover::Await(range) => {
                let waited = &threads.waited[range.clone()];
                let is_missing = |number: &&u32| **number != NONE && !self.started.contains_key(number);
                if let Some(&missing) = waited.iter().find(is_missing) {
                    return Some((Call::Irecv(thread_wait(rank)), Some(Handover::Post(range, missing))));
                }
                let requests = self.take(waited);
                (!requests.is_empty()).then_some((Call::Complete(requests), None))
            }
            Handover::Post(range, number) => {
                let ReplyKind::Started(request) = *reply else { return None };
                self.waiting.entry(number).or_default().push(request);
                Some((Call::Complete(Requests::from_slice(&[request])), Some(Handover::Await(range))))
            }
        }
    }
}
