//! Messages between the process of a rank and the simulator. Numbers are little-endian in shared memory, and a sequence
//! is preceded by its length.

use mcpsim_core::rank::{Call, Completion, Message, Reply, ReplyKind, RequestId, Served};
use mcpsim_core::units::SimTime;

/// Message of the process of a rank.
#[derive(Debug)]
pub enum FromRank {
    /// The rank has called the MPI function with this name; the following calls belong to it.
    Function(String),
    /// The rank's call starts the request with this identifier of the rank.
    Starts(RequestId, Call),
    /// A call that starts a strand with the first number, and the request with the second.
    Strand(u32, RequestId),
    /// Any other call. The identifiers of its requests are the rank's.
    Call(Call),
    /// Answers to a message in the service context.
    Answers(Vec<Message>),
    /// The rank's results; the calls after it are `Finish` or `Fail`.
    Ending(Vec<u8>),
}

/// Message of the simulator to the process of a rank.
pub enum ToRank<'a> {
    /// Reply to the rank's last call.
    Reply(Reply<'a>),
    /// Reply to the last call of a strand.
    Strand(u32, Reply<'a>),
    /// A message in the service context.
    Serve(Served),
    /// The run has ended.
    End,
}

/// A reply as read from a box.
#[derive(Debug)]
pub struct OwnReply {
    /// Clock of the rank.
    pub clock: SimTime,
    /// Kind of the reply.
    pub kind: OwnReplyKind,
}

/// Kind of a reply as read from a box.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum OwnReplyKind {
    Begin,
    Done,
    Started(RequestId),
    Completed(Vec<Completion>),
}

impl OwnReply {
    /// Returns the reply for the rank's code.
    pub fn reply(&mut self) -> Reply<'_> {
        let kind = match &mut self.kind {
            OwnReplyKind::Begin => ReplyKind::Begin,
            OwnReplyKind::Done => ReplyKind::Done,
            OwnReplyKind::Started(id) => ReplyKind::Started(*id),
            OwnReplyKind::Completed(completions) => ReplyKind::Completed(completions),
        };
        Reply { clock: self.clock, kind }
    }
}

/// A message of the simulator as read from a box.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Received {
    Reply(OwnReply),
    Strand(u32, OwnReply),
    Serve(Served),
    End,
}
