//! A process whose rank runs ahead of virtual time: early messages, and waits that end without the simulator.
//!
//! The rules are those of [`mcpsim_core::rank::RunAhead`]. The simulator checks the matches of the process.
#![allow(unsafe_code)]

use std::sync::atomic::Ordering;
use std::time::Duration;

use mcpsim_core::rank::{CARRIED, Call, Completion, EarlyMessage, Mailbox, Message, Pattern, ReceiveId, RequestId};
use mcpsim_core::units::Bytes;
use smallvec::{SmallVec, smallvec};

use super::connection::{Connection, RankTask};
use super::early::Delivery;
use super::tasks;
use super::wire::OwnReplyKind;
use crate::mpi_api::payloads;

/// Size of the outbox in bytes at which calls are passed to the simulator at the latest.
const BATCH: u64 = 32 << 10;
/// Number of bytes of early messages after which calls are passed to the simulator at the latest.
const MOST_EARLY: u64 = 16 << 20;
/// Time between two attempts to deliver a message to a full box.
const PAUSE: Duration = Duration::from_micros(100);

/// State of a rank that runs ahead.
#[derive(Default)]
pub struct Ahead {
    mailbox: Mailbox,
    /// Number of early messages that the rank has sent.
    sent: u64,
    /// Size of the early messages that the rank has sent since the last reply of the simulator.
    bytes: u64,
    /// Operations of the rank's requests.
    operations: Vec<RequestOperation>,
}

/// Operation of a request.
#[derive(Clone, Copy, Debug)]
enum RequestOperation {
    Send,
    Receive(ReceiveId),
    Strand,
}

/// Receives for which a call waits.
#[derive(Debug, Default)]
pub struct EarlyWait {
    /// For each request of the call, its receive, if it is one.
    receives: SmallVec<[Option<ReceiveId>; 12]>,
    /// True if the early messages complete the call. Otherwise the simulator completes it.
    pub is_early: bool,
    /// True if the caller does not need the completions.
    is_quiet: bool,
}

impl Ahead {
    /// Returns true if the rank must pass its calls to the simulator. `length` is the number of bytes of calls.
    pub fn is_due(&self, length: u64) -> bool {
        length >= BATCH || self.bytes >= MOST_EARLY
    }

    fn receive_of(&self, id: RequestId) -> Option<ReceiveId> {
        match self.operations.get(id as usize) {
            Some(RequestOperation::Receive(receive)) => Some(*receive),
            _ => None,
        }
    }

    fn set_operation(&mut self, id: RequestId, operation: RequestOperation) {
        let id = id as usize;
        if self.operations.len() <= id {
            self.operations.resize(id + 1, RequestOperation::Send);
        }
        self.operations[id] = operation;
    }

    /// Returns true if the simulator decides the completion of the request.
    fn is_decided_later(&self, id: RequestId) -> bool {
        match self.operations.get(id as usize) {
            Some(RequestOperation::Receive(receive)) => self.mailbox.is_deferred(*receive),
            Some(RequestOperation::Strand) => true,
            Some(RequestOperation::Send) | None => false,
        }
    }
}

impl Connection {
    /// Adds the early messages that have arrived to the mailbox.
    pub(super) fn collect(&mut self) {
        if let Some(ahead) = &mut self.ahead {
            self.area.collect(|message| ahead.mailbox.arrive(message));
        }
    }

    /// Posts a receive. The simulator decides the matches of a rank whose threads have clocks of their own.
    fn post(&mut self, pattern: Pattern) -> Option<ReceiveId> {
        let mailbox = &mut self.ahead.as_mut()?.mailbox;
        Some(if tasks::is_managed() { mailbox.receive_deferred(pattern) } else { mailbox.receive(pattern) })
    }

    /// Notes the operation of the request that `call` starts.
    pub(super) fn note_request(&mut self, id: RequestId, call: &Call) {
        let receive = if let Call::Irecv(pattern) = call { self.post(*pattern) } else { None };
        let operation = match call {
            Call::Start(_) => RequestOperation::Strand,
            _ => receive.map_or(RequestOperation::Send, RequestOperation::Receive),
        };
        if let Some(ahead) = &mut self.ahead {
            ahead.set_operation(id, operation);
        }
    }

    /// Sends the data of a message of `task` as an early message and replaces the data by a ticket.
    fn send_early(&mut self, message: &mut Message, task: RankTask) {
        let &mut Message { to, context, tag, size, .. } = message;
        let Some(ahead) = self.ahead.as_mut().filter(|_| context < CARRIED) else { return };
        ahead.sent += 1;
        ahead.bytes += size.get();
        let number = ahead.sent;
        let mut ticket = payloads::buffer(size_of::<u64>());
        ticket.bytes_mut().extend_from_slice(&number.to_le_bytes());
        let data = message.payload.replace(ticket);
        let source = self.process().rank;
        let early = EarlyMessage { source, context, tag, size, number, data };
        let to = self.area.table.area(to).expect("the run has the rank");
        loop {
            match to.deliver(&early) {
                Delivery::Delivered => break,
                Delivery::Full => {
                    // The receiver may wait for room in this rank's box.
                    self.collect();
                    std::thread::sleep(PAUSE);
                }
                Delivery::TooLong => {
                    let error = self.no_room();
                    self.calls_of(task).call(&error);
                    self.exchange(task);
                }
            }
        }
        payloads::done(early.data);
    }

    /// Sends the early message of `call`, and returns the receives for which the call waits. If the simulator completes
    /// receives, it gets a call that returns completions. Strands, and ranks whose threads have clocks of their own, wait
    /// for the simulator.
    pub(super) fn prepare(&mut self, call: &mut Call, task: RankTask) -> EarlyWait {
        let mut wait = EarlyWait::default();
        if self.ahead.is_none() {
            return wait;
        }
        match call {
            Call::Send(message) | Call::Isend(message) => self.send_early(message, task),
            Call::Exchange(message, pattern) => {
                self.send_early(message, task);
                wait.receives = smallvec![self.post(*pattern)];
            }
            Call::Recv(pattern) => wait.receives = smallvec![self.post(*pattern)],
            Call::Cancel(id) => {
                self.collect();
                if let Some(ahead) = &mut self.ahead
                    && let Some(receive) = ahead.receive_of(*id)
                {
                    ahead.mailbox.defer(receive);
                }
                return wait;
            }
            Call::WaitAll(ids) | Call::Complete(ids) | Call::WaitAny(ids) | Call::Test { requests: ids, .. } => {
                if let Some(ahead) = &self.ahead {
                    wait.receives = ids.iter().map(|&id| ahead.receive_of(id)).collect();
                }
            }
            _ => return wait,
        }
        let Some(ahead) = self.ahead.as_ref().filter(|_| !wait.receives.is_empty()) else { return wait };
        wait.is_early = task == RankTask::Main
            && !tasks::is_managed()
            && match call {
                Call::Recv(_) | Call::Exchange(..) => {
                    !wait.receives.iter().flatten().any(|&receive| ahead.mailbox.is_deferred(receive))
                }
                Call::WaitAll(ids) | Call::Complete(ids) => !ids.iter().any(|&id| ahead.is_decided_later(id)),
                _ => false,
            };
        if let Call::Complete(ids) = call {
            wait.is_quiet = true;
            if !wait.is_early {
                *call = Call::WaitAll(std::mem::take(ids));
            }
        }
        wait
    }

    /// Waits for the early messages of `wait` and returns the reply.
    pub(super) fn complete_early(&mut self, wait: &EarlyWait) -> OwnReplyKind {
        self.is_busy = true;
        loop {
            self.collect();
            let ahead = self.ahead.as_mut().expect("the rank runs ahead");
            let missing = wait.receives.iter().flatten().filter(|&&receive| !ahead.mailbox.has(receive)).count();
            if missing == 0 {
                break;
            }
            self.publish();
            if self.area.stop_for_messages(missing as u32) {
                self.wait_for_turn();
                self.process().has_waited();
                if self.area.control().is_asked.load(Ordering::Relaxed) {
                    self.answer_simulator();
                }
            }
        }
        self.is_busy = false;
        let source = self.process().rank;
        let ahead = self.ahead.as_mut().expect("the rank runs ahead");
        let mut numbers: SmallVec<[u64; 12]> = SmallVec::new();
        let mut completions = Vec::with_capacity(wait.receives.len());
        for (index, receive) in (0..).zip(&wait.receives) {
            completions.push(match receive.map(|receive| ahead.mailbox.take(receive)) {
                Some(message) => {
                    numbers.push(message.number);
                    message.completion(index)
                }
                None => Completion { index, source, tag: 0, size: Bytes::ZERO, payload: None, cancelled: false },
            });
        }
        if wait.is_quiet {
            completions.into_iter().for_each(|of| payloads::done(of.payload));
            OwnReplyKind::Done
        } else {
            self.outbox.matched(&numbers);
            OwnReplyKind::Completed(completions)
        }
    }

    /// Replaces the tickets in completions by the data of the messages.
    pub(super) fn finish_receives(&mut self, wait: &EarlyWait, reply: &mut OwnReplyKind) {
        if wait.receives.is_empty() {
            return;
        }
        self.collect();
        let (OwnReplyKind::Completed(completions), Some(ahead)) = (&mut *reply, &mut self.ahead) else { return };
        for completion in completions.iter_mut() {
            if let Some(receive) = wait.receives.get(completion.index as usize).copied().flatten() {
                ahead.mailbox.finish(receive, completion);
            }
        }
        if wait.is_quiet {
            *reply = OwnReplyKind::Done;
        }
    }

    /// Notes that the simulator has read all calls.
    pub(super) fn begin_batch(&mut self) {
        if let Some(ahead) = &mut self.ahead {
            ahead.bytes = 0;
        }
    }
}
