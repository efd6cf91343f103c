//! Requests of a rank: receives, sends and strands (concurrent tasks).

use mcpsim_base::rank::{Pattern, Payload, Rank, RequestId, Source, THREAD_WAIT, Tag, TagPattern, lock_holder};
use mcpsim_base::units::{Bytes, SimSpan, SimTime};

use super::memory::BufferPair;
use super::paths::PathSlot;
use super::prefetch::prefetch;
use super::ready_queue::ReadyQueue;

/// Value of `waiter` if no task waits for the request.
pub(super) const NOBODY: u32 = u32::MAX;

/// A request (MPI_Request or strand) of a rank. A request fits in a cache line, because each rank has several requests,
/// and each request is accessed several times.
#[derive(Debug)]
pub(super) struct RequestRecord {
    /// Time at which the request is or was ready; for a receive without a message, the time of its post.
    pub ready: SimTime,
    /// Start of the transfer that made the request ready; equal to `ready` without a transfer.
    pub left: SimTime,
    /// Core time that the completion of the request takes.
    pub overhead: SimSpan,
    /// Size of the message; for a receive without a message, size of the receive buffer.
    pub size: Bytes,
    pub payload: Payload,
    /// Other rank of the message, [`ANYBODY`] for a receive from any source that has no message, or the number of a
    /// strand.
    pub peer: u32,
    /// Tag of the message, or [`ANYBODY`] for a receive with any tag.
    pub tag: u32,
    /// Task that waits for the request, or [`NOBODY`]; in a free table entry, the index of the next free entry.
    pub waiter: u32,
    /// Identifiers of the buffers of a receive's message.
    pub buffers: BufferPair,
    /// Critical path that determined the time `left`; for a receive without a message, the path to the post of the
    /// receive.
    pub path: PathSlot,
    pub state: RequestState,
    pub kind: RequestKind,
}

/// Number of requests from which a rank probably needs several times as many requests.
const MANY: usize = 32;

/// Value that stands for any source or any tag.
const ANYBODY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestState {
    Free,
    Pending,
    Ready,
}

/// Operation and state of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// Receive that no message has matched.
    Unmatched,
    /// Receive that a message has matched.
    Matched,
    /// Receive that the program has cancelled.
    Cancelled,
    /// Send whose data the receiver has.
    Send,
    /// Send of a rendezvous message whose transfer was granted and has ended.
    Granted,
    /// Strand (concurrent task), which completes the request when it ends.
    Strand,
}

impl RequestRecord {
    fn new(kind: RequestKind, peer: u32, tag: u32, size: Bytes, ready: SimTime, path: PathSlot) -> Self {
        RequestRecord {
            ready,
            left: ready,
            overhead: SimSpan::ZERO,
            size,
            payload: None,
            peer,
            tag,
            waiter: NOBODY,
            buffers: BufferPair::of_context(0),
            path,
            state: RequestState::Pending,
            kind,
        }
    }

    /// Creates the request of a receive that was posted at `posted`, the end of `path`.
    #[inline]
    pub fn receive(pattern: &Pattern, posted: SimTime, path: PathSlot) -> Self {
        let peer = match pattern.from {
            Source::Rank(rank) => rank,
            Source::Any => ANYBODY,
        };
        let tag = match pattern.tag {
            TagPattern::Tag(tag) => tag,
            TagPattern::Any => ANYBODY,
        };
        let record = RequestRecord::new(RequestKind::Unmatched, peer, tag, pattern.capacity, posted, path);
        RequestRecord { buffers: BufferPair::of_context(pattern.context), ..record }
    }

    /// Creates the request of a send that left at `left`.
    pub fn send(to: Rank, tag: Tag, size: Bytes, left: SimTime) -> Self {
        RequestRecord::new(RequestKind::Send, to, tag, size, left, PathSlot::NONE)
    }

    /// Creates the request that completes when strand (concurrent task) `number` ends. The strand may be a thread.
    pub fn strand(number: u32, is_thread: bool, started: SimTime) -> Self {
        let tag = if is_thread { THREAD_WAIT } else { 0 };
        RequestRecord::new(RequestKind::Strand, number, tag, Bytes::ZERO, started, PathSlot::NONE)
    }

    /// Returns true if another thread of the rank completes the request.
    pub fn is_of_thread(&self) -> bool {
        self.tag == THREAD_WAIT || lock_holder(self.tag).is_some()
    }

    /// Sets the start of the transfer that makes the request ready, and the path that determined this start.
    pub fn came_at(&mut self, time: SimTime, path: PathSlot) {
        (self.left, self.path) = (time, path);
    }

    /// Sets start and path as [`RequestRecord::came_at`], for a send of a rendezvous message whose transfer was
    /// granted.
    pub fn granted_at(&mut self, time: SimTime, path: PathSlot) {
        self.kind = RequestKind::Granted;
        self.came_at(time, path);
    }

    /// Describes the event that the request waits for. Also returns the rank that the request waits for, if the request
    /// waits for a single rank.
    pub fn awaits(&self) -> (String, Option<Rank>) {
        let RequestRecord { peer, tag, size, .. } = self;
        if let Some(holder) = self.holder() {
            return (format!("a lock of {}", thread_name(holder)), None);
        }
        match self.kind {
            RequestKind::Unmatched if *tag == THREAD_WAIT => ("another thread of the rank".to_owned(), None),
            RequestKind::Unmatched | RequestKind::Cancelled => describe(*peer, *tag),
            RequestKind::Matched => (format!("the {size} of tag {tag} that rank {peer} is sending"), Some(*peer)),
            RequestKind::Send | RequestKind::Granted => {
                (format!("rank {peer} to receive {size}, tag {tag}"), Some(*peer))
            }
            RequestKind::Strand => ("a non-blocking collective".to_owned(), None),
        }
    }
}

impl RequestRecord {
    /// Thread of the rank for whose lock the request waits; 0 for the main thread.
    pub fn holder(&self) -> Option<u32> {
        lock_holder(self.tag).filter(|_| self.kind == RequestKind::Unmatched)
    }
}

/// Returns the name of a thread in descriptions of waits.
fn thread_name(thread: u32) -> String {
    if thread == 0 { "the main thread".to_owned() } else { format!("thread {thread}") }
}

/// Requests of a rank by index.
#[derive(Debug)]
pub(super) struct RequestTable {
    entries: Vec<RequestRecord>,
    free: u32,
    /// Ready requests, from the first wait or test of a long list of requests on.
    pub ready: Option<Box<ReadyQueue>>,
}

impl Default for RequestTable {
    fn default() -> Self {
        RequestTable { entries: Vec::new(), free: NOBODY, ready: None }
    }
}

impl RequestTable {
    /// Adds a request to the table.
    #[inline]
    pub fn add(&mut self, request: RequestRecord) -> RequestId {
        if self.free == NOBODY {
            if self.entries.len() == self.entries.capacity() {
                self.grow();
            }
            self.entries.push(request);
            self.entries.len() as u32 - 1
        } else {
            let id = self.free;
            let entry = &mut self.entries[id as usize];
            self.free = entry.waiter;
            *entry = request;
            id
        }
    }

    /// Enlarges the memory of the table.
    #[cold]
    fn grow(&mut self) {
        self.entries.reserve_exact(match self.entries.len() {
            // Most ranks of a large machine have one, two or six requests, so memory for more requests is not allocated
            // at once.
            0 => 1,
            few @ 1..MANY => few.max(2),
            // A rank with many requests probably adds many more, and repeated moves of the table would displace other
            // data from the caches.
            many => 3 * many,
        });
    }

    /// Removes a request from the table and returns the request.
    pub fn remove(&mut self, id: RequestId) -> RequestRecord {
        let entry = &mut self.entries[id as usize];
        assert!(entry.state != RequestState::Free, "request {id} ended twice");
        let request = RequestRecord { payload: entry.payload.take(), ..*entry };
        entry.state = RequestState::Free;
        entry.waiter = self.free;
        self.free = id;
        request
    }

    /// Prefetches a request of the table, if it exists.
    #[inline(always)]
    pub fn foresee(&self, id: RequestId) {
        if let Some(request) = self.entries.get(id as usize) {
            prefetch(request, usize::MAX);
        }
    }

    /// Returns the number of entries of the table, including free entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Iterates over all requests of the table, and over the free entries between them.
    pub fn iter(&self) -> impl Iterator<Item = &RequestRecord> {
        self.entries.iter()
    }

    #[inline]
    pub fn get(&self, id: RequestId) -> &RequestRecord {
        &self.entries[id as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, id: RequestId) -> &mut RequestRecord {
        &mut self.entries[id as usize]
    }
}

/// Describes the message that a receive or probe waits for.
fn describe(peer: u32, tag: u32) -> (String, Option<Rank>) {
    let tag = if tag == ANYBODY { String::new() } else { format!(", tag {tag}") };
    match peer {
        ANYBODY => (format!("a message from any rank{tag}"), None),
        peer => (format!("a message from rank {peer}{tag}"), Some(peer)),
    }
}
