//! Traces: what the ranks of a run did, recorded once and replayed on any machine.
//!
//! A [`Recording`] wraps each rank's program and writes down its calls; a [`Trace`] gives programs that make them
//! again. [`import`] runs traces of other tools. Nothing here touches files.
//!
//! # What is recorded
//!
//! A rank's program is a *task*, and so is each strand. A task's calls become *operations* that are relative to the
//! rank, so that ranks and turns of loops that do the same share them: peers count from the rank, tags of collectives
//! from the first of the collective, requests are the task's own small numbers (*slots*, the lowest that is free). Of
//! data only the size is kept.
//!
//! What depends on "by now" is recorded as what happened:
//!
//! | call | operation |
//! |---|---|
//! | receive from any | the source and tag that it got; as it was, if it got nothing |
//! | test or iprobe that found nothing | a poll, or a look at no cost |
//! | test that completed requests | a test of those, and a wait for them where they are not complete yet |
//! | iprobe that found a message | an iprobe for that, and a probe where it has not come yet |
//! | waitany | a wait for the one that was complete |
//! | cancel | the withdrawing of a receive that nothing matches, or a test of nothing |
//! | idle | the same |
//! | a collective | the call: the machine of a replay decides how it is done |
//! | answers to what was served | the n-th answers to each sender |
//!
//! Between the beginning and the end of a collective that is kept as a call, nothing is recorded. So are all that are
//! done by a method (see [`crate::rank::CollectiveEntry`]); those that only exchange messages with neighbours, or make
//! communicators, are recorded by their messages.
//!
//! So times are the same on the machine of the recording, and elsewhere each receive still gets the message it got: a
//! replay waits for nothing that did not come before in the recording, but for sends that were eager then and are not
//! now, for which it waits where the program did. Sends whose completion the program did not wait for with the engine
//! are waited for at the end.
//!
//! # Format, version 7
//!
//! `MCPSIM`, 0, `T`; the version (4 bytes); the body's length and its checksum (8 bytes each), little-endian; the body.
//! The checksum is FNV-1a of 64 bits over words of 8 bytes, and over the rest byte by byte. In the body, *numbers* have
//! seven bits a byte, least first; a *list* is a number and so many items; a *text* is a list of bytes.
//!
//! | part | content |
//! |---|---|
//! | header | texts and numbers: mcpsim's version, ranks, application, platform, model, N, C, T, seed; five rates of the machine (f64: flops, instructions, memory of core, CMP, node); if times of code were measured, what they were multiplied by: a list of runs of ranks (so many, f64) |
//! | names | a list of texts |
//! | groups | a list of the members of communicators: 0, first rank, distance, number; or a list of ranks |
//! | operations | a list: a kind, and what belongs to it (`op`) |
//! | sequences | a list of lists of bytes: operations by number, loops folded (`fold`) |
//! | tasks | a list: name, sequence, and five lists of bytes: lengths of computing, peers, sizes, what became known late, withdrawn receives |
//! | answers | a list of lists of messages |
//! | ranks | for each rank its task, and a list of senders with a list of runs of equal answers: (answers, how often) |
//!
//! A length of computing is twice its nanoseconds, or twice its picoseconds and one. Peers, sizes and lengths stand in
//! a task's lists instead of in its operations where there are too many different ones. Operations may get a place in
//! the program in a later version. Blocks that share memory over time, with what they move, came with version 5,
//! time that passes beside code that is timed with version 6, buffers of messages, as numbers of the rank's, with
//! version 7.

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

/// How a trace begins.
const MAGIC: &[u8; 8] = b"MCPSIM\x00T";
/// The version of the format.
const VERSION: u32 = 7;
/// The first version that has collectives as calls; before, it was their messages.
const WITH_CALLS: u32 = 4;
/// The oldest version that is read: it names collectives without their algorithms.
const OLDEST: u32 = 2;

/// Why there is no trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    what: String,
}

impl TraceError {
    fn damaged(what: String) -> Self {
        TraceError { what }
    }

    fn cannot_record(what: String) -> Self {
        TraceError { what: format!("what was done cannot be recorded: {what}") }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for TraceError {}

/// FNV-1a of 64 bits, taken eight bytes at a time.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        hash = step(hash, u64::from_le_bytes(word.try_into().expect("eight bytes")));
    }
    words.remainder().iter().fold(hash, |hash, &byte| step(hash, byte.into()))
}
