//! Interface between the programs of ranks and the simulator: calls of a rank ([`Call`]), replies of the simulator
//! ([`Reply`]), programs ([`Program`]), and descriptions of programs ([`Describe`]).
//!
//! In this module, ranks are world ranks, and a context is unique among all communicators. Module `mpi` defines
//! communicators.

mod ahead;
mod ask;
mod buffer;
mod call;
mod data;
mod describe;
mod fiber;
mod forward;
mod matcher;
mod shifted;
mod tally;

pub use crate::forward_reports;
pub use ahead::{CARRIED, Doorbell, EarlyMessage, Mailbox, Mailboxes, ReceiveId, RunAhead};
pub use ask::{Immediate, Simulator};
pub use buffer::{Buffer, DataBlock, MemoryBlock};
pub use call::{
    COMPLETE, Call, CollectiveEntry, Completion, Context, FailureKind, Message, ObjectUse, Pattern, Payload, Program,
    ProgramError, Rank, Reply, ReplyKind, RequestId, Requests, SERVICE, SendMode, Served, Source, THREAD_WAIT, Tag,
    TagPattern, ThreadMark, UNCOUNTED_BLOCK, Which, lock_holder, lock_wait, thread_wait,
};
pub use data::{Data, Loan};
pub use describe::{CallSite, Called, Describe};
pub use fiber::{Fiber, FiberHandle, FloatEnvironment, GUARD, Trap, mappings_of_stacks};
pub use matcher::{Envelope, Matcher};
pub use shifted::{JobPosition, Shifted};
pub use tally::{Tallied, Tallies};
