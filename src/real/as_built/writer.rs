//! Encoding of calls, replies and service messages in shared memory.
#![allow(unsafe_code)]

use mcpsim_core::rank::{
    Call, CollectiveEntry, Completion, DataBlock, EarlyMessage, MemoryBlock, Message, ObjectUse, Pattern, Payload,
    Reply, ReplyKind, RequestId, SendMode, Served, Source, TagPattern, ThreadMark, Which,
};
use mcpsim_core::units::SimTime;
use serde::Serialize;

use super::wire::{RankEnding, ToRank};

/// Writes values to a box. A write beyond the end of the box sets `is_full` and has no other effect.
pub struct BoxWriter {
    at: *mut u8,
    room: u64,
    /// Number of bytes written.
    pub length: u64,
    /// True if the box was too small.
    pub is_full: bool,
}

impl BoxWriter {
    /// Creates a writer of the box that begins at `at` and has `room` bytes, behind the first `length` bytes.
    pub fn new(at: *mut u8, room: u64, length: u64) -> BoxWriter {
        BoxWriter { at, room, length, is_full: false }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        if self.length + bytes.len() as u64 > self.room {
            self.is_full = true;
            return;
        }
        // SAFETY: the bytes fit into the box, which this side of the two processes uses alone at present.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at.add(self.length as usize), bytes.len()) };
        self.length += bytes.len() as u64;
    }

    fn u8(&mut self, value: u8) {
        self.bytes(&[value]);
    }

    fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    fn sequence(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.bytes(bytes);
    }

    fn value(&mut self, value: &impl Serialize) {
        let text = postcard::to_stdvec(value).expect("the value has a known length");
        self.sequence(&text);
    }

    fn payload(&mut self, payload: &Payload) {
        match payload {
            None => self.u8(0),
            Some(data) => {
                self.u8(1);
                self.sequence(data);
            }
        }
    }

    fn message(&mut self, message: &Message) {
        let Message { to, context, tag, size, mode, buffer, payload } = message;
        let mode = match mode {
            SendMode::Standard => 0,
            SendMode::Synchronous => 1,
            SendMode::Buffered => 2,
        };
        [*to, *context, *tag, buffer.word()].into_iter().for_each(|word| self.u32(word));
        self.u64(size.get());
        self.u8(mode);
        self.payload(payload);
    }

    fn pattern(&mut self, pattern: &Pattern) {
        let Pattern { from, context, tag, capacity, buffer } = pattern;
        self.u64(match from {
            Source::Rank(rank) => u64::from(*rank),
            Source::Any => u64::MAX,
        });
        self.u64(match tag {
            TagPattern::Tag(tag) => u64::from(*tag),
            TagPattern::Any => u64::MAX,
        });
        self.u32(*context);
        self.u64(capacity.get());
        self.u32(buffer.word());
    }

    fn requests(&mut self, requests: &[RequestId]) {
        self.u32(requests.len() as u32);
        requests.iter().for_each(|&id| self.u32(id));
    }

    /// Writes the name of the MPI function that the rank has called.
    pub fn function(&mut self, name: &str) {
        self.u8(100);
        self.sequence(name.as_bytes());
    }

    /// Announces that the following calls belong to a new call of the function, or to no function.
    pub fn new_call(&mut self, is_profiled: bool) {
        self.u8(106);
        self.u8(is_profiled.into());
    }

    /// Announces that the next call starts the request `id`.
    pub fn starts(&mut self, id: RequestId) {
        self.u8(101);
        self.u32(id);
    }

    /// Writes a call that starts the strand `number` and the request `id`. `thread` is the number of the thread that the
    /// strand is, or 0.
    pub fn strand(&mut self, number: u32, id: RequestId, thread: u32) {
        self.u8(102);
        self.u32(number);
        self.u32(id);
        self.u32(thread);
    }

    /// Writes answers to a message in the service context.
    pub fn answers(&mut self, answers: &[Message]) {
        self.u8(103);
        self.u32(answers.len() as u32);
        answers.iter().for_each(|message| self.message(message));
    }

    /// Writes the sequence numbers of the early messages that the rank's last wait has matched.
    pub fn matched(&mut self, numbers: &[u64]) {
        self.u8(105);
        self.u32(numbers.len() as u32);
        numbers.iter().for_each(|&number| self.u64(number));
    }

    /// Writes an early message.
    pub fn early(&mut self, message: &EarlyMessage) {
        let EarlyMessage { source, context, tag, size, number, data } = message;
        [*source, *context, *tag].into_iter().for_each(|word| self.u32(word));
        [size.get(), *number].into_iter().for_each(|word| self.u64(word));
        self.payload(data);
    }

    /// Writes the rank's results.
    pub fn ending(&mut self, ending: &RankEnding) {
        self.u8(104);
        self.value(ending);
    }

    /// Writes a call other than [`Call::Start`].
    pub fn call(&mut self, call: &Call) {
        match call {
            Call::Compute(span) => {
                self.u8(0);
                self.u64(span.as_ps());
            }
            Call::Work(MemoryBlock { core, bytes }) => {
                self.u8(1);
                self.u64(core.as_ps());
                self.u64(bytes.get());
            }
            Call::Code(span) => {
                self.u8(2);
                self.u64(span.as_ps());
            }
            Call::Data(DataBlock { span, size, context, combines }) => {
                self.u8(3);
                self.u64(span.as_ps());
                self.u64(size.get());
                self.u32(*context);
                self.u8(u8::from(*combines));
            }
            Call::Send(message) => {
                self.u8(4);
                self.message(message);
            }
            Call::Recv(pattern) => {
                self.u8(5);
                self.pattern(pattern);
            }
            Call::Exchange(message, pattern) => {
                self.u8(6);
                self.message(message);
                self.pattern(pattern);
            }
            Call::Isend(message) => {
                self.u8(7);
                self.message(message);
            }
            Call::Irecv(pattern) => {
                self.u8(8);
                self.pattern(pattern);
            }
            Call::WaitAll(requests) => {
                self.u8(9);
                self.requests(requests);
            }
            Call::Complete(requests) => {
                self.u8(10);
                self.requests(requests);
            }
            Call::WaitAny(requests) => {
                self.u8(11);
                self.requests(requests);
            }
            Call::Test { requests, which, poll } => {
                self.u8(12);
                self.requests(requests);
                self.u8(match which {
                    Which::All => 0,
                    Which::Some => 1,
                    Which::First => 2,
                });
                self.u8(u8::from(*poll));
            }
            Call::Idle(span) => {
                self.u8(13);
                self.u64(span.as_ps());
            }
            Call::Cancel(id) => {
                self.u8(14);
                self.u32(*id);
            }
            Call::Probe(pattern) => {
                self.u8(15);
                self.pattern(pattern);
            }
            Call::Iprobe(pattern) => {
                self.u8(16);
                self.pattern(pattern);
            }
            Call::Start(_) => unreachable!("a strand is written by its number"),
            Call::Enter(CollectiveEntry { name, method, bytes }) => {
                self.u8(17);
                self.sequence(name.as_bytes());
                self.value(method);
                self.u64(bytes.get());
            }
            Call::Leave => self.u8(18),
            Call::Mark(mark) => {
                self.u8(22);
                self.mark(*mark);
            }
            Call::Yield => self.u8(19),
            Call::Finish => self.u8(20),
            Call::Fail(error) => {
                self.u8(21);
                self.value(&**error);
            }
        }
    }

    fn mark(&mut self, mark: ThreadMark) {
        let (kind, object) = match mark {
            ThreadMark::Shares => (0, 0),
            ThreadMark::Cores(begins) => (1 + u8::from(begins), 0),
            ThreadMark::Sleeps => (3, 0),
            ThreadMark::Uses(object, ObjectUse::Acquire) => (4, object),
            ThreadMark::Uses(object, ObjectUse::Release) => (5, object),
            ThreadMark::Uses(object, ObjectUse::Next) => (6, object),
        };
        self.u8(kind);
        self.u64(object);
    }

    fn reply(&mut self, reply: &Reply<'_>) {
        self.u64(reply.clock.since(SimTime::ZERO).as_ps());
        match &reply.kind {
            ReplyKind::Begin => self.u8(0),
            ReplyKind::Done => self.u8(1),
            ReplyKind::Started(id) => {
                self.u8(2);
                self.u32(*id);
            }
            ReplyKind::Completed(completions) => {
                self.u8(3);
                self.u32(completions.len() as u32);
                for Completion { index, source, tag, size, payload, cancelled } in completions.iter() {
                    [*index, *source, *tag].into_iter().for_each(|word| self.u32(word));
                    self.u64(size.get());
                    self.u8(u8::from(*cancelled));
                    self.payload(payload);
                }
            }
        }
    }

    /// Writes a message of the simulator.
    pub fn message_of_simulator(&mut self, message: &ToRank<'_>) {
        match message {
            ToRank::Reply(reply) => {
                self.u8(0);
                self.reply(reply);
            }
            ToRank::Strand(number, reply) => {
                self.u8(1);
                self.u32(*number);
                self.reply(reply);
            }
            ToRank::Serve(Served { at, from, tag, size, payload }) => {
                self.u8(2);
                self.u64(at.since(SimTime::ZERO).as_ps());
                self.u32(*from);
                self.u32(*tag);
                self.u64(size.get());
                self.payload(payload);
            }
            ToRank::End => self.u8(3),
        }
    }
}
