//! Sends and receives messages of collectives that have no schedule. Collectives address the messages by peer rank,
//! and the messages never match messages of the program.

use crate::mpi_api::comm::Comm;
use crate::mpi_api::process::MpiProcess;
use crate::process::bytes;
use mcpsim_core::rank::{
    COMPLETE, Call, Completion, Message, Pattern, RequestId, Requests, SendMode, Source, TagPattern,
};
use mcpsim_core::units::Bytes;

/// Interface with which a rank sends and receives the messages of one collective.
#[derive(Clone, Copy)]
pub struct CollectiveMessages<'a> {
    pub p: &'a MpiProcess,
    pub comm: &'a Comm,
    /// Sequence number of the collective.
    pub sequence: u32,
}

impl<'a> CollectiveMessages<'a> {
    /// Creates the message interface of the collective with the sequence number `sequence` in `comm`.
    pub fn new(p: &'a MpiProcess, comm: &'a Comm, sequence: u32) -> Self {
        CollectiveMessages { p, comm, sequence }
    }

    /// Starts a send of `data` to the peer rank `to`.
    pub fn start(&self, to: u32, data: Vec<u8>) -> RequestId {
        self.p.call_start(Call::Isend(Message {
            to: self.comm.peers().world(to),
            context: self.comm.local.collective(),
            tag: Comm::tag(self.sequence),
            size: bytes(data.len()),
            mode: SendMode::Standard,
            payload: self.p.payload(data),
            buffer: Default::default(),
        }))
    }

    /// Sends `data` to the peer rank `to` and waits for the send.
    pub fn send(&self, to: u32, data: Vec<u8>) {
        let request = self.start(to, data);
        self.finish(Requests::from_slice(&[request]));
    }

    /// Waits until the requests `requests` are complete.
    pub fn finish(&self, requests: Requests) {
        if requests.iter().any(|&request| request != COMPLETE) {
            self.p.complete(requests);
        }
    }

    fn pattern(&self, from: Source) -> Pattern {
        let tag = TagPattern::Tag(Comm::tag(self.sequence));
        Pattern { from, context: self.comm.local.collective(), tag, capacity: Bytes::MAX, buffer: Default::default() }
    }

    fn from(&self, peer: u32) -> Source {
        Source::Rank(self.comm.peers().world(peer))
    }

    /// Receives a message from the peer rank `from` and returns the message's data.
    pub fn recv(&self, from: u32) -> Vec<u8> {
        self.p.call_completed(Call::Recv(self.pattern(self.from(from))), |completions| data(&mut completions[0]))
    }

    /// Receives a message from any peer rank. Returns the sender and the data of the message.
    pub fn recv_any(&self) -> (u32, Vec<u8>) {
        self.p.call_completed(Call::Recv(self.pattern(Source::Any)), |completions| {
            (self.comm.peer_number(completions[0].source) as u32, data(&mut completions[0]))
        })
    }

    /// Starts a receive from the peer rank `from`.
    pub fn start_recv(&self, from: u32) -> RequestId {
        self.p.call_start(Call::Irecv(self.pattern(self.from(from))))
    }

    /// Waits until the requests `requests` are complete. Returns the received data of the first `receives` requests.
    pub fn finish_all(&self, requests: Requests, receives: usize) -> Vec<Vec<u8>> {
        if requests.is_empty() {
            return Vec::new();
        }
        self.p.call_completed(Call::WaitAll(requests), |completions| {
            completions.iter_mut().take(receives).map(data).collect()
        })
    }

    /// Sends `data` to the peer rank `with` and returns the data received from the same rank.
    pub fn exchange(&self, with: u32, data: Vec<u8>) -> Vec<u8> {
        let request = self.start(with, data);
        let theirs = self.recv(with);
        self.finish(Requests::from_slice(&[request]));
        theirs
    }

    /// Exchanges data between the leaders of both groups of an intercommunicator. The result is `None` on ranks that
    /// are not leaders.
    pub fn leaders_exchange(&self, data: Vec<u8>) -> Option<Vec<u8>> {
        (self.comm.rank() == 0).then(|| self.exchange(0, data))
    }
}

fn data(completion: &mut Completion) -> Vec<u8> {
    completion.payload.take().map_or(Vec::new(), |data| data.into_vec())
}
