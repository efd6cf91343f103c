//! Traces: recorded actions of the ranks of a run, which can be replayed on any simulated machine.
//!
//! A [`Recording`] wraps each rank's program and records its calls. A [`Trace`] provides a program for each rank that
//! repeats the recorded calls. The module [`import`] runs traces of other tools. The module `trace` does not access
//! files.
//!
//! # Contents
//!
//! A *task* is the program of a rank, or a strand (a concurrent activity of a rank, such as a non-blocking collective).
//! The calls of a task become *operations*. An operation stores peers relative to the rank, and tags of collectives
//! relative to the first tag of the collective. Ranks and loop iterations with the same actions therefore share
//! operations. A request is identified by the lowest integer that no other active request of the task uses (*slot*). A
//! trace contains the sizes of data but not the data.
//!
//! The result of a call that depends on time is recorded with the call:
//!
//! | call | operation |
//! |---|---|
//! | receive from any source | a receive from the source and with the tag of the received message; a receive from any source if no message arrived |
//! | test or iprobe without success | a poll, or a test at no cost |
//! | test that completed requests | a test of these requests, and a wait for those that are incomplete in the replay |
//! | iprobe that found a message | an iprobe for it, and a probe if it has not arrived in the replay |
//! | waitany | a wait for the request that completed |
//! | cancel | the cancellation of a receive that matches nothing, or an empty test |
//! | idle | an idle call |
//! | wait of a thread, ended by another thread | a wait with a number, and a wake with the same number |
//! | wait of a thread that reaches its time limit | a wait for the limit or for another thread, which does not end it |
//! | request of a thread that another thread completes | an offer with a number, and a take with the same number |
//! | use of a lock, a barrier or OpenMP | numbers of this use and of the use that it follows |
//! | a collective | the call: the machine of the replay chooses the algorithm |
//! | answers to served messages | for each sender, the answers to its n-th message |
//!
//! A collective with a known algorithm (see [`crate::rank::CollectiveEntry`]) is recorded as one call, without its
//! messages. Collectives that only exchange messages with neighbours, or that create communicators, are recorded as
//! messages.
//!
//! A replay on the recorded machine therefore predicts the same times. On another machine, each receive still gets the
//! same message as in the recording. A send that was eager in the recording may be a rendezvous in the replay. The
//! replay then waits for the send in the operation in which the program waited for the send, or at the end if the
//! program never waited.
//!
//! # Format, version 8
//!
//! `MCPSIM`, 0, `T`; the version (4 bytes); the length of the body and its checksum (8 bytes each), little-endian;
//! the body. The checksum is 64-bit FNV-1a over words of 8 bytes, and over the remaining bytes one by one. In the
//! body, a *number* has seven bits per byte, least significant first; a *list* is a number and this many items; a
//! *text* is a list of bytes.
//!
//! | part | content |
//! |---|---|
//! | header | texts and numbers: mcpsim's version, ranks, application, platform, model, N, C, T, seed; five rates of the machine (f64: flops, instructions, memory of core, CMP, node); the factors on measured times of code, if measured: a list of runs of ranks (number, f64) |
//! | names | a list of texts |
//! | groups | a list of the members of communicators: 0, first rank, stride, number; or a list of ranks |
//! | operations | a list: a kind and its arguments (`op`) |
//! | sequences | a list of lists of bytes: operations by number, with folded loops (`fold`) |
//! | tasks | a list: name, sequence, and five lists of bytes: lengths of computing, peers, sizes, late values, cancelled receives |
//! | answers | a list of lists of messages |
//! | ranks | for each rank its task, and a list of senders with a list of runs of equal answers: (answers, number) |
//!
//! The length of a block of computing is stored as twice its nanoseconds, or as twice its picoseconds plus one. If a
//! task has too many different peers, sizes or lengths of computing, further values are stored in the task's lists
//! instead of in the task's operations. Version 5 added blocks of work that share memory bandwidth over time, version 6
//! added time without computing in timed code, version 7 added identifiers of message buffers, and version 8 added
//! threads that wait for each other.

mod bytes;
mod called;
mod code;
mod cores;
mod count;
mod describe;
mod fold;
mod header;
pub mod import;
mod late;
pub mod logs;
mod names;
mod op;
pub mod otf2;
mod read;
mod record;
mod replay;
mod task;
mod write;

use std::fmt;

pub use called::Machine;
pub use count::OperationCounts;
pub use describe::{head, info, stats};
pub use header::Header;
pub use read::{Trace, is_trace};
pub use record::{Portion, Recorder, Recording};
pub use replay::{Replay, ReplayMachine, ReplayedRun};

/// First bytes of a trace file.
const MAGIC: &[u8; 8] = b"MCPSIM\x00T";
/// Version of the trace format.
const VERSION: u32 = 8;
/// First version of the trace format that stores collectives as calls. Older versions store the messages of
/// collectives.
const WITH_CALLS: u32 = 4;
/// First version of the trace format that has operations of threads.
const WITH_THREADS: u32 = 8;
/// Oldest readable version of the trace format. Version 2 stores the names of collectives without their algorithms.
const OLDEST: u32 = 2;

/// Error in a trace or in the recording of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    what: String,
}

impl TraceError {
    fn damaged(what: String) -> Self {
        TraceError { what }
    }

    fn cannot_record(what: String) -> Self {
        TraceError { what: format!("the run cannot be recorded: {what}") }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for TraceError {}

/// Returns the 64-bit FNV-1a hash over words of eight bytes and over the remaining bytes.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        hash = step(hash, u64::from_le_bytes(word.try_into().expect("eight bytes")));
    }
    words.remainder().iter().fold(hash, |hash, &byte| step(hash, byte.into()))
}
