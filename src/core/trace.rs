//! Traces: the actions of a run's ranks, recorded once and replayed on any machine.
//!
//! A [`Recording`] wraps each rank's program and records its calls. A [`Trace`] provides programs that repeat the
//! calls. [`import`] runs traces of other tools. This module does not access files.
//!
//! # Contents
//!
//! A rank's program is a *task*, and so is each strand. A task's calls become *operations* relative to the rank, so
//! that ranks and loop turns with the same actions share them. Peers are relative to the rank, and tags of
//! collectives to the first tag of the collective. Requests are small numbers of the task (*slots*, the lowest free
//! one). Only the sizes of data are stored.
//!
//! Calls whose result depends on time are recorded by their result:
//!
//! | call | operation |
//! |---|---|
//! | receive from any source | the source and tag that it received; unchanged if it received nothing |
//! | test or iprobe without success | a poll, or a test at no cost |
//! | test that completed requests | a test of these requests, and a wait for those that are incomplete in the replay |
//! | iprobe that found a message | an iprobe for it, and a probe if it has not arrived in the replay |
//! | waitany | a wait for the request that completed |
//! | cancel | the cancellation of a receive that matches nothing, or an empty test |
//! | idle | the same |
//! | a collective | the call: the machine of the replay chooses the algorithm |
//! | answers to served messages | the n-th answers to each sender |
//!
//! Within a collective recorded as a call, nothing else is recorded. This applies to all collectives with a method
//! (see [`crate::rank::CollectiveEntry`]). Collectives that only exchange messages with neighbours, or create
//! communicators, are recorded by their messages.
//!
//! A replay on the recorded machine therefore has the same times. On another machine each receive still gets the same
//! message: a replay waits only for events that preceded in the recording. Sends that were eager in the recording,
//! but are not in the replay, are waited for where the program waited. Sends without a wait in the engine are waited
//! for at the end.
//!
//! # Format, version 7
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
//! A length of computing is twice its nanoseconds, or twice its picoseconds plus one. If there are too many different
//! peers, sizes or lengths, they are stored in the task's lists instead of in its operations. Version 5 added blocks
//! that share memory over time, version 6 time without computing in timed code, and version 7 numbers of message
//! buffers.

mod bytes;
mod called;
mod code;
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

/// First bytes of a trace.
const MAGIC: &[u8; 8] = b"MCPSIM\x00T";
/// Version of the format.
const VERSION: u32 = 7;
/// First version with collectives as calls; older versions contain their messages.
const WITH_CALLS: u32 = 4;
/// Oldest readable version; it names collectives without their algorithms.
const OLDEST: u32 = 2;

/// Error of a trace or of its recording.
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

/// 64-bit FNV-1a, eight bytes at a time.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        hash = step(hash, u64::from_le_bytes(word.try_into().expect("eight bytes")));
    }
    words.remainder().iter().fold(hash, |hash, &byte| step(hash, byte.into()))
}
