//! Ready requests of a rank in the order of their ready times, for waits and tests of long lists of requests.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use smallvec::SmallVec;

use mcpsim_base::rank::{COMPLETE, RequestId};
use mcpsim_base::units::SimTime;

use super::requests::{RequestState, RequestTable};

/// Length from which a list of requests is long. A wait for one request of a long list does not mark the requests.
pub(super) const LONG_LIST: usize = 64;

/// Greatest number of ready requests that are looked up in a list. With more ready requests, all requests of the list
/// are read.
const MOST_LOOKED_UP: usize = 8;

/// Requests of a rank by ready time. The queue also contains requests that were completed after they became ready; they
/// are removed later.
#[derive(Debug, Default)]
pub(super) struct ReadyQueue {
    heap: BinaryHeap<Reverse<(SimTime, RequestId)>>,
}

/// A ready request of a list: ready time, index in the list, identifier.
pub(super) type ReadyRequest = (SimTime, u32, RequestId);

/// Returns the index of `id` in `list`.
fn position(list: &[RequestId], id: RequestId) -> Option<usize> {
    // Comparing whole blocks without a branch lets the compiler use vector instructions.
    const BLOCK: usize = 32;
    let equals = |block: &[RequestId]| block.iter().fold(false, |found, &other| found | (other == id));
    let block = list.chunks(BLOCK).position(equals)?;
    let within = list[block * BLOCK..].iter().position(|&other| other == id)?;
    Some(block * BLOCK + within)
}

/// Returns true if the list is long and contains no operation that was complete at its start.
pub(super) fn is_long(list: &[RequestId]) -> bool {
    list.len() >= LONG_LIST && position(list, COMPLETE).is_none()
}

impl RequestTable {
    /// Records that the request `id` became ready at `time`. Has no effect without a queue.
    #[cold]
    pub fn queue_ready(&mut self, id: RequestId, time: SimTime) {
        let Some(mut queue) = self.ready.take() else { return };
        if queue.heap.len() > 2 * self.len().max(LONG_LIST) {
            queue.heap.retain(|&Reverse((time, id))| self.is_ready_since(id, time));
        }
        queue.heap.push(Reverse((time, id)));
        self.ready = Some(queue);
    }

    /// Returns the queue of ready requests and removes it from the table. Creates the queue at the first call.
    fn take_queue(&mut self) -> Box<ReadyQueue> {
        self.ready.take().unwrap_or_else(|| {
            let ready = (0..).zip(self.iter()).filter(|(_, request)| request.state == RequestState::Ready);
            Box::new(ReadyQueue { heap: ready.map(|(id, request)| Reverse((request.ready, id))).collect() })
        })
    }

    fn is_ready_since(&self, id: RequestId, time: SimTime) -> bool {
        #[cfg(test)]
        tests::READ.set(tests::READ.get() + 1);
        let request = self.get(id);
        request.state == RequestState::Ready && request.ready == time
    }

    /// Removes the next request from the queue, if it was ready by `latest`.
    fn next_ready(&self, queue: &mut ReadyQueue, latest: SimTime) -> Option<(SimTime, RequestId)> {
        while let Some(&Reverse((time, id))) = queue.heap.peek()
            && time <= latest
        {
            queue.heap.pop();
            if self.is_ready_since(id, time) {
                return Some((time, id));
            }
        }
        None
    }

    /// Returns the earliest ready time of all requests of the rank.
    pub fn first_ready(&mut self) -> Option<SimTime> {
        let mut queue = self.take_queue();
        let first = self.next_ready(&mut queue, SimTime::NEVER);
        queue.heap.extend(first.map(Reverse));
        self.ready = Some(queue);
        first.map(|(time, _)| time)
    }

    /// Returns the requests of `list` that were ready first: all with the earliest ready time.
    fn earliest(&mut self, list: &[RequestId]) -> Found {
        self.find(list, SimTime::NEVER, |found, time| found.first().is_none_or(|&(first, ..)| time == first))
    }

    /// Finds ready requests of `list` in the order of their ready times, as long as `wants` is true for a ready time.
    fn find(&mut self, list: &[RequestId], latest: SimTime, wants: impl Fn(&[ReadyRequest], SimTime) -> bool) -> Found {
        let mut queue = self.take_queue();
        let mut removed: SmallVec<[(SimTime, RequestId); MOST_LOOKED_UP]> = SmallVec::new();
        let mut found = SmallVec::new();
        let mut is_whole = true;
        while let Some((time, id)) = self.next_ready(&mut queue, latest) {
            let is_new = removed.last() != Some(&(time, id));
            removed.push((time, id));
            if !wants(&found, time) {
                break;
            }
            if removed.len() > MOST_LOOKED_UP {
                is_whole = false;
                break;
            }
            if is_new && let Some(index) = position(list, id) {
                found.push((time, index as u32, id));
            }
        }
        queue.heap.extend(removed.into_iter().map(Reverse));
        self.ready = Some(queue);
        is_whole.then_some(found)
    }

    /// Iterates over the requests of `list` that were ready by `latest`.
    fn each_ready<'a>(&'a self, list: &'a [RequestId], latest: SimTime) -> impl Iterator<Item = ReadyRequest> + 'a {
        (0..).zip(list).filter_map(move |(index, &id)| {
            #[cfg(test)]
            tests::READ.set(tests::READ.get() + 1);
            if id == COMPLETE {
                return Some((SimTime::ZERO, index, id));
            }
            let request = self.get(id);
            (request.state == RequestState::Ready && request.ready <= latest).then_some((request.ready, index, id))
        })
    }

    /// Returns the request of `list` that was ready first; of requests with equal ready times, the first in the list.
    pub fn first_ready_of(&mut self, list: &[RequestId]) -> Option<ReadyRequest> {
        match self.earliest(list) {
            Some(found) => found.into_iter().min(),
            None => self.each_ready(list, SimTime::NEVER).min(),
        }
    }

    /// Returns the requests of `list` that were ready by `latest`, in the order of the list.
    pub fn ready_of(&mut self, list: &[RequestId], latest: SimTime) -> SmallVec<[(u32, RequestId); 4]> {
        let found = if is_long(list) { self.find(list, latest, |_, _| true) } else { None };
        let Some(found) = found else {
            return self.each_ready(list, latest).map(|(_, index, id)| (index, id)).collect();
        };
        let mut found: SmallVec<[(u32, RequestId); 4]> = found.into_iter().map(|(_, index, id)| (index, id)).collect();
        found.sort_unstable();
        found
    }
}

/// Requests found in a list; `None` if more than [`MOST_LOOKED_UP`] requests would have to be looked up.
type Found = Option<SmallVec<[ReadyRequest; MOST_LOOKED_UP]>>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::RequestRecord;
    use mcpsim_base::units::Bytes;

    thread_local! {
        /// Number of requests that the functions of this file have read.
        pub(super) static READ: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }

    /// Creates a table of `count` pending requests, and the list of their identifiers.
    fn table(count: u32) -> (RequestTable, Vec<RequestId>) {
        let mut table = RequestTable::default();
        let list = (0..count).map(|tag| table.add(RequestRecord::send(0, tag, Bytes::ZERO, SimTime::ZERO))).collect();
        (table, list)
    }

    fn make_ready(table: &mut RequestTable, id: RequestId, ps: u64) {
        let time = SimTime::from_ps(ps);
        let request = table.get_mut(id);
        (request.state, request.ready) = (RequestState::Ready, time);
        table.queue_ready(id, time);
    }

    fn read(work: impl FnOnce()) -> u64 {
        let before = READ.get();
        work();
        READ.get() - before
    }

    #[test]
    fn waits_for_one_of_many_requests_read_few_requests() {
        const COUNT: u32 = 10_000;
        let (mut table, mut list) = table(COUNT);
        assert_eq!(table.first_ready_of(&list), None);
        // The requests become ready in reverse order, all before the first wait.
        list.iter().rev().zip(1..).for_each(|(&id, ps)| make_ready(&mut table, id, ps));
        let number = read(|| {
            while let Some((time, index, id)) = table.first_ready_of(&list) {
                assert_eq!((time.as_ps(), index as usize), ((COUNT as usize - list.len()) as u64 + 1, list.len() - 1));
                table.remove(id);
                list.pop();
            }
        });
        assert!(list.is_empty());
        assert!(number <= 5 * u64::from(COUNT), "{number}");
    }

    #[test]
    fn tests_of_many_requests_read_few_requests() {
        const COUNT: u32 = 10_000;
        let (mut table, list) = table(COUNT);
        let number = read(|| {
            for (&id, ps) in list.iter().rev().zip(1..) {
                assert!(table.ready_of(&list, SimTime::from_ps(ps)).is_empty());
                make_ready(&mut table, id, ps);
                assert!(table.ready_of(&list, SimTime::from_ps(ps - 1)).is_empty());
                let index = COUNT - ps as u32;
                assert_eq!(table.ready_of(&list, SimTime::from_ps(ps)).as_slice(), [(index, id)]);
                table.remove(id);
            }
        });
        assert!(number <= 5 * u64::from(COUNT), "{number}");
    }

    proptest::proptest! {
        /// Requests become ready at few different times and are completed in any order. Some requests are not in the
        /// list, and identifiers are used again.
        #[test]
        fn ready_requests_agree_with_reading_the_whole_list(
            steps in proptest::collection::vec((0_u32..4, 0_u32..120, 0_u64..6), 1..400),
        ) {
            let (mut table, mut ids) = table(120);
            for (action, which, ps) in steps {
                let id = ids[which as usize % ids.len()];
                let list: Vec<RequestId> = ids.iter().copied().filter(|id| id % 7 > 0).rev().collect();
                let latest = SimTime::from_ps(ps);
                match action {
                    0 | 1 if table.get(id).state == RequestState::Pending => make_ready(&mut table, id, ps),
                    2 if ids.len() > 80 || table.get(id).state == RequestState::Ready => {
                        table.remove(id);
                        let at = ids.iter().position(|&other| other == id).expect("chosen from the list");
                        if which % 2 == 0 && ids.len() > 80 {
                            ids.remove(at);
                        } else {
                            ids[at] = table.add(RequestRecord::send(0, 0, Bytes::ZERO, SimTime::ZERO));
                        }
                    }
                    _ => {
                        let first = table.each_ready(&list, SimTime::NEVER).min();
                        let ready: Vec<_> = table.each_ready(&list, latest).map(|(_, index, id)| (index, id)).collect();
                        proptest::prop_assert_eq!(table.first_ready_of(&list), first);
                        proptest::prop_assert_eq!(table.ready_of(&list, latest).to_vec(), ready);
                    }
                }
            }
        }
    }
}
