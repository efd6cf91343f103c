//! A rank's requests.

use crate::rank::{Pattern, Payload, Rank, RequestId, Source, Tag, TagPattern};
use crate::units::{Bytes, SimSpan, SimTime};

use super::memory::BufferPair;
use super::paths::PathSlot;
use super::prefetch::prefetch;

/// No task: nobody waits for the request.
pub(super) const NOBODY: u32 = u32::MAX;

/// A request of a rank. Kept within a cache line: there are several to each rank, and each is touched several times.
#[derive(Debug)]
pub(super) struct RequestRecord {
    /// When it is or was ready; for an unmatched receive, when it was posted.
    pub ready: SimTime,
    /// When the transfer started that made it ready; `ready` if there was none.
    pub left: SimTime,
    /// What completing it costs the rank's core.
    pub overhead: SimSpan,
    /// The message's size; for an unmatched receive, what it has room for.
    pub size: Bytes,
    pub payload: Payload,
    /// The other rank, [`ANYBODY`] for an unmatched receive from any source, or the number of a strand.
    pub peer: u32,
    /// The message's tag, or [`ANYBODY`].
    pub tag: u32,
    /// The task that waits for it, or [`NOBODY`]; the next free entry if free.
    pub waiter: u32,
    /// The buffers of a receive's message.
    pub buffers: BufferPair,
    /// The path that got to `left`; for an unmatched receive, to where it was posted.
    pub path: PathSlot,
    pub state: RequestState,
    pub kind: RequestKind,
}

/// A rank with so many requests is likely to have several times as many.
const MANY: usize = 32;

/// Any source or any tag.
const ANYBODY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestState {
    Free,
    Pending,
    Ready,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// A receive without a message.
    Unmatched,
    /// A receive and the message it got.
    Matched,
    /// A receive that was withdrawn.
    Cancelled,
    /// A send; the payload is with the receiver.
    Send,
    /// A send whose transfer was granted and has ended: it went to the other rank.
    Granted,
    /// A strand.
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

    /// A receive posted at `posted`, to where `path` got.
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

    /// A send that left at `left`.
    pub fn send(to: Rank, tag: Tag, size: Bytes, left: SimTime) -> Self {
        RequestRecord::new(RequestKind::Send, to, tag, size, left, PathSlot::NONE)
    }

    /// A strand of this number.
    pub fn strand(number: u32, started: SimTime) -> Self {
        RequestRecord::new(RequestKind::Strand, number, 0, Bytes::ZERO, started, PathSlot::NONE)
    }

    /// It will be ready at `time` by `path`, which gets there.
    pub fn came_at(&mut self, time: SimTime, path: PathSlot) {
        (self.left, self.path) = (time, path);
    }

    /// As [`RequestRecord::came_at`], for a send whose transfer was granted.
    pub fn granted_at(&mut self, time: SimTime, path: PathSlot) {
        self.kind = RequestKind::Granted;
        self.came_at(time, path);
    }

    /// For whom the request waits, in words, and the rank if there is just one.
    pub fn awaits(&self) -> (String, Option<Rank>) {
        let RequestRecord { peer, tag, size, .. } = self;
        match self.kind {
            RequestKind::Unmatched | RequestKind::Cancelled => describe(*peer, *tag),
            RequestKind::Matched => (format!("the {size} of tag {tag} that rank {peer} is sending"), Some(*peer)),
            RequestKind::Send | RequestKind::Granted => {
                (format!("rank {peer} to receive {size}, tag {tag}"), Some(*peer))
            }
            RequestKind::Strand => ("a non-blocking collective".to_owned(), None),
        }
    }
}

/// A rank's requests by number.
#[derive(Debug)]
pub(super) struct RequestTable {
    entries: Vec<RequestRecord>,
    free: u32,
}

impl Default for RequestTable {
    fn default() -> Self {
        RequestTable { entries: Vec::new(), free: NOBODY }
    }
}

impl RequestTable {
    /// Takes up a new request.
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

    /// Takes room for more.
    #[cold]
    fn grow(&mut self) {
        self.entries.reserve_exact(match self.entries.len() {
            // Most ranks of a large machine have one or two: do not take room for four.
            few @ 0..4 => 1 + few,
            some @ 4..MANY => some,
            // Who has so many has just begun: what was moved again and again would not stay in the caches.
            many => 3 * many,
        });
    }

    /// Ends a request.
    pub fn remove(&mut self, id: RequestId) -> RequestRecord {
        let entry = &mut self.entries[id as usize];
        assert!(entry.state != RequestState::Free, "request {id} ended twice");
        let request = RequestRecord { payload: entry.payload.take(), ..*entry };
        entry.state = RequestState::Free;
        entry.waiter = self.free;
        self.free = id;
        request
    }

    /// Brings a request into the caches, if there is one.
    #[inline(always)]
    pub fn foresee(&self, id: RequestId) {
        if let Some(request) = self.entries.get(id as usize) {
            prefetch(request, usize::MAX);
        }
    }

    /// All of them, and the free entries between.
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

/// What a receive or probe waits for, in words.
fn describe(peer: u32, tag: u32) -> (String, Option<Rank>) {
    let tag = if tag == ANYBODY { String::new() } else { format!(", tag {tag}") };
    match peer {
        ANYBODY => (format!("a message from any rank{tag}"), None),
        peer => (format!("a message from rank {peer}{tag}"), Some(peer)),
    }
}
