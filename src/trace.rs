//! Traces: what the ranks of a run did, recorded once and replayed on any machine.
//!
//! A [`Recording`] wraps each rank's program and writes down its calls; a [`Trace`] gives programs that make them again.
//! Neither touches files.

mod bytes;
mod code;
mod count;
mod describe;
mod fold;
mod header;
pub mod import;
mod late;
mod names;
mod op;
mod read;
mod record;
mod replay;
mod task;
mod write;

use std::fmt;

pub use count::Counts;
pub use describe::{head, info, stats};
pub use header::Header;
pub use read::{Trace, is_trace};
pub use record::{Recorder, Recording};
pub use replay::Replay;

/// How a trace begins.
const MAGIC: &[u8; 8] = b"MCPSIM\x00T";
/// The version of the format.
const VERSION: u32 = 1;

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
