//! Messages between the process of a rank and the simulator. Numbers are little-endian in shared memory, and a sequence
//! is preceded by its length.

use mcpsim_core::rank::{Call, Completion, Message, Reply, ReplyKind, RequestId, Requests, Served};
use mcpsim_core::units::SimTime;
use serde::{Deserialize, Serialize};

use crate::process::Endings;

/// Message of the process of a rank.
#[derive(Debug)]
pub enum FromRank {
    /// The rank has called the MPI function with this name. The following calls belong to this function.
    Function(String),
    /// The following calls belong to a new call of the function, or to the program's code outside of functions. The
    /// value is true if the call is in the profile.
    NewCall(bool),
    /// A call that starts a request. The number is the rank's identifier of the request.
    Starts(RequestId, Call),
    /// A call that starts a strand and a request, with the numbers of both, and the number of the thread or 0.
    Strand(u32, RequestId, u32),
    /// Any other call, with the rank's identifiers of requests.
    Call(Call),
    /// Answers to a message in the service context.
    Answers(Vec<Message>),
    /// Sequence numbers of the early messages that the rank's last wait has matched.
    Matched(Vec<u64>),
    /// The rank's results. The next call is `Finish` or `Fail`.
    Ending(Box<RankEnding>),
    /// The content of the outbox is not a message.
    Damaged,
}

/// Results of a rank.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct RankEnding {
    /// Results for the report of the run.
    pub endings: Endings,
    /// Number of calls by function, if the simulator counts calls.
    pub calls: Vec<(String, u64)>,
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

/// Returns the requests of a call, and whether the call completes all of them.
pub fn waited_by(call: &Call) -> (Requests, bool) {
    match call {
        Call::WaitAll(ids) | Call::Complete(ids) => (ids.clone(), true),
        Call::WaitAny(ids) | Call::Test { requests: ids, .. } => (ids.clone(), false),
        _ => (Requests::new(), false),
    }
}
