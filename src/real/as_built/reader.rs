//! Decoding of calls, replies and service messages in shared memory.
#![allow(unsafe_code)]

use mcpsim_core::platform::Method;
use mcpsim_core::rank::{
    Buffer, Call, CollectiveEntry, Completion, DataBlock, EarlyMessage, MemoryBlock, Message, ObjectUse, Pattern,
    Payload, ProgramError, Requests, SendMode, Served, Source, TagPattern, ThreadMark, Which,
};
use mcpsim_core::units::{Bytes, SimSpan, SimTime};
use serde::de::DeserializeOwned;

use super::wire::{FromRank, OwnReply, OwnReplyKind, Received};
use crate::mpi_api::payloads;

/// Reads values from a box.
pub struct BoxReader {
    at: *const u8,
    /// Position of the next byte.
    pub next: u64,
    end: u64,
    /// True if a value was read that is not in the box.
    is_damaged: bool,
}

// SAFETY: a reader only reads plain memory.
unsafe impl Send for BoxReader {}

impl BoxReader {
    /// Creates a reader of the bytes from `next` to `end` of the box that begins at `at`.
    pub fn new(at: *const u8, next: u64, end: u64) -> BoxReader {
        BoxReader { at, next, end, is_damaged: false }
    }

    /// Position behind the last byte.
    pub fn end(&self) -> u64 {
        self.end
    }

    fn bytes(&mut self, count: u64) -> &[u8] {
        let start = self.next;
        if count > self.end.saturating_sub(start) {
            self.is_damaged = true;
            self.next = self.end;
            return &[];
        }
        self.next += count;
        // SAFETY: the range is within the box, and the other process does not write to it before it gets the turn.
        unsafe { std::slice::from_raw_parts(self.at.add(start as usize), count as usize) }
    }

    fn u8(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or_default()
    }

    fn u32(&mut self) -> u32 {
        self.bytes(4).try_into().map_or(0, u32::from_le_bytes)
    }

    fn u64(&mut self) -> u64 {
        self.bytes(8).try_into().map_or(0, u64::from_le_bytes)
    }

    fn sequence(&mut self) -> Vec<u8> {
        let length = self.u64();
        self.bytes(length).to_vec()
    }

    fn text(&mut self) -> String {
        String::from_utf8_lossy(&self.sequence()).into_owned()
    }

    fn value<T: DeserializeOwned + Default>(&mut self) -> T {
        let length = self.u64();
        let read = postcard::from_bytes(self.bytes(length));
        self.is_damaged |= read.is_err();
        read.unwrap_or_default()
    }

    /// Reads the number of following elements. Each element has at least one byte.
    fn count(&mut self) -> u32 {
        let count = self.u32();
        self.is_damaged |= u64::from(count) > self.end - self.next;
        if self.is_damaged { 0 } else { count }
    }

    fn span(&mut self) -> SimSpan {
        SimSpan::from_ps(self.u64())
    }

    fn payload(&mut self) -> Payload {
        match self.u8() {
            0 => None,
            _ => {
                let length = self.u64();
                let bytes = self.bytes(length);
                let mut data = payloads::buffer(bytes.len());
                data.bytes_mut().extend_from_slice(bytes);
                Some(data)
            }
        }
    }

    fn message(&mut self) -> Message {
        let [to, context, tag, buffer] = std::array::from_fn(|_| self.u32());
        let size = Bytes::new(self.u64());
        let mode = match self.u8() {
            0 => SendMode::Standard,
            1 => SendMode::Synchronous,
            _ => SendMode::Buffered,
        };
        Message { to, context, tag, size, mode, buffer: Buffer::from_word(buffer), payload: self.payload() }
    }

    fn pattern(&mut self) -> Pattern {
        let (from, tag) = (self.u64(), self.u64());
        let (context, capacity, buffer) = (self.u32(), self.u64(), self.u32());
        Pattern {
            from: u32::try_from(from).map_or(Source::Any, Source::Rank),
            tag: u32::try_from(tag).map_or(TagPattern::Any, TagPattern::Tag),
            context,
            capacity: Bytes::new(capacity),
            buffer: Buffer::from_word(buffer),
        }
    }

    fn requests(&mut self) -> Requests {
        let count = self.count();
        (0..count).map(|_| self.u32()).collect()
    }

    /// Reads the next early message, if there is one.
    pub fn early(&mut self) -> Option<EarlyMessage> {
        if self.next >= self.end {
            return None;
        }
        let [source, context, tag] = std::array::from_fn(|_| self.u32());
        let (size, number, data) = (Bytes::new(self.u64()), self.u64(), self.payload());
        (!self.is_damaged).then_some(EarlyMessage { source, context, tag, size, number, data })
    }

    /// Reads the next message of the rank, if there is one. `name` returns the static text equal to a name.
    pub fn message_of_rank(&mut self, name: impl Fn(&str) -> &'static str) -> Option<FromRank> {
        if self.next >= self.end {
            return None;
        }
        let kind = self.u8();
        let message = match kind {
            100 => FromRank::Function(self.text()),
            101 => {
                let id = self.u32();
                let kind = self.u8();
                FromRank::Starts(id, self.call(kind, name))
            }
            102 => FromRank::Strand(self.u32(), self.u32(), self.u32()),
            103 => {
                let count = self.count();
                FromRank::Answers((0..count).map(|_| self.message()).collect())
            }
            104 => FromRank::Ending(self.value()),
            105 => {
                let count = self.count();
                FromRank::Matched((0..count).map(|_| self.u64()).collect())
            }
            106 => FromRank::NewCall(self.u8() != 0),
            kind => FromRank::Call(self.call(kind, name)),
        };
        Some(if self.is_damaged { FromRank::Damaged } else { message })
    }

    fn call(&mut self, kind: u8, name: impl Fn(&str) -> &'static str) -> Call {
        match kind {
            0 => Call::Compute(self.span()),
            1 => Call::Work(MemoryBlock { core: self.span(), bytes: Bytes::new(self.u64()) }),
            2 => Call::Code(self.span()),
            3 => Call::Data(DataBlock {
                span: self.span(),
                size: Bytes::new(self.u64()),
                context: self.u32(),
                combines: self.u8() != 0,
            }),
            4 => Call::Send(self.message()),
            5 => Call::Recv(self.pattern()),
            6 => {
                let message = self.message();
                Call::Exchange(message, self.pattern())
            }
            7 => Call::Isend(self.message()),
            8 => Call::Irecv(self.pattern()),
            9 => Call::WaitAll(self.requests()),
            10 => Call::Complete(self.requests()),
            11 => Call::WaitAny(self.requests()),
            12 => {
                let requests = self.requests();
                let which = match self.u8() {
                    0 => Which::All,
                    1 => Which::Some,
                    _ => Which::First,
                };
                Call::Test { requests, which, poll: self.u8() != 0 }
            }
            13 => Call::Idle(self.span()),
            14 => Call::Cancel(self.u32()),
            15 => Call::Probe(self.pattern()),
            16 => Call::Iprobe(self.pattern()),
            17 => {
                let of = name(&self.text());
                let method: Option<Method> = self.value();
                Call::Enter(CollectiveEntry { name: of, method, bytes: Bytes::new(self.u64()) })
            }
            18 => Call::Leave,
            19 => Call::Yield,
            20 => Call::Finish,
            21 => {
                let error: ProgramError = self.value();
                Call::Fail(Box::new(error))
            }
            22 => Call::Mark(self.mark()),
            _ => {
                self.is_damaged = true;
                Call::Yield
            }
        }
    }

    fn mark(&mut self) -> ThreadMark {
        let (kind, object) = (self.u8(), self.u64());
        match kind {
            0 => ThreadMark::Shares,
            1 => ThreadMark::Cores(false),
            2 => ThreadMark::Cores(true),
            3 => ThreadMark::Sleeps,
            4 => ThreadMark::Uses(object, ObjectUse::Acquire),
            5 => ThreadMark::Uses(object, ObjectUse::Release),
            _ => ThreadMark::Uses(object, ObjectUse::Next),
        }
    }

    fn reply(&mut self) -> OwnReply {
        let clock = SimTime::ZERO + self.span();
        let kind = match self.u8() {
            0 => OwnReplyKind::Begin,
            1 => OwnReplyKind::Done,
            2 => OwnReplyKind::Started(self.u32()),
            _ => {
                let count = self.count();
                OwnReplyKind::Completed((0..count).map(|_| self.completion()).collect())
            }
        };
        OwnReply { clock, kind }
    }

    fn completion(&mut self) -> Completion {
        let [index, source, tag] = std::array::from_fn(|_| self.u32());
        let (size, cancelled) = (Bytes::new(self.u64()), self.u8() != 0);
        Completion { index, source, tag, size, payload: self.payload(), cancelled }
    }

    /// Reads the message of the simulator.
    pub fn message_of_simulator(&mut self) -> Received {
        match self.u8() {
            0 => Received::Reply(self.reply()),
            1 => Received::Strand(self.u32(), self.reply()),
            2 => Received::Serve(Served {
                at: SimTime::ZERO + self.span(),
                from: self.u32(),
                tag: self.u32(),
                size: Bytes::new(self.u64()),
                payload: self.payload(),
            }),
            _ => Received::End,
        }
    }
}
