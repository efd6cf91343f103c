//! Runs of real programs under a real MPI: the logs of their ranks, as `library` writes them, put together in one file.
//!
//! A log keeps MPI calls as calls: a collective with its sizes, a message with its communicator, peer, tag, size and
//! buffer, and the times of the code before each call and of the call. A replay makes the calls again, by the
//! collective algorithms of the machine that is simulated.
//!
//! # Format, version 2
//!
//! All numbers of fixed length are in the byte order of the machine that wrote them; what tells the order is
//! `0x01020304`. *Numbers* have seven bits a byte, least first; signed ones are zigzag.
//!
//! | file | content |
//! |---|---|
//! | of a run | `MCPSIM`, 0, `R`; version, order (4 bytes each); the run's number (8); ranks, 0 (4 each); then for each rank the length of its log (8) and the log |
//! | log | `MCPSIM`, 0, `L`; version, order (4 each); chunks |
//! | chunk | kind, length (4 each), checksum (8, as [`super`]'s), content |
//! | chunk 0, first | the run's number (8); rank, ranks, whether code is timed by CPU time (numbers); the clock (ns) and by how much rank 0's is ahead (8 each); host, MPI library, program (texts); the host's cores, how long before the clocks were compared (numbers, may be missing) |
//! | chunk 1 | records: a call's number; if it is new, its length and bytes; ns of code before it, other ns before it, its own ns |
//! | chunk 2, last | the clock, by how much rank 0's is ahead (8 each); records, polls that found nothing, their ns, whether MPI_Finalize was reached (numbers) |
//!
//! Calls that were seen before stand by their numbers. Numbers have calls of at most 65,536 bytes, at most 65,536
//! calls, of at most 32 MiB together. The function `library` stands for what the library took for itself, and for how
//! long recording was off: other ns before it. What follows a call's first byte, its function
//! (`library/functions.h`), is told in `call`. Version 1 had no calls that are longer, and numbers for those behind the
//! 32 MiB.

mod call;
mod cursor;
mod describe;
mod function;
mod library;
mod merge;
mod program;
mod rank_log;
mod resolve;

pub use call::{LogCall, MessageEnd, NeighbourCall, NewComm, SizesOf};
pub use cursor::LoggedCall;
pub use describe::{CallSpan, FunctionTimes};
pub use function::{Class, Function};
pub use library::SOURCES;
pub use merge::merge;
pub use program::LogProgram;
pub use rank_log::LogInfo;

use std::sync::Arc;

use super::{Machine, TraceError};
use cursor::{LogCursor, of_rank};
use rank_log::RankLog;
use resolve::ResolvedLog;

/// How a log begins.
const LOG: &[u8; 8] = b"MCPSIM\x00L";
/// How a run's file begins.
const RUN: &[u8; 8] = b"MCPSIM\x00R";
/// The version of both that is written.
const VERSION: u32 = 2;
/// The oldest version that is read.
const OLDEST: u32 = 1;
/// How the machine that wrote them orders bytes.
const ORDER: u32 = 0x0102_0304;

/// What all ranks of a real run did.
#[derive(Debug)]
pub struct Logs {
    ranks: Vec<Arc<RankLog>>,
    resolved: Vec<Arc<ResolvedLog>>,
}

/// Whether a file that begins like this holds a real run's logs.
pub fn is_run(start: &[u8]) -> bool {
    start.starts_with(RUN)
}

/// Whether a file that begins like this is the log of a single rank.
pub fn is_log(start: &[u8]) -> bool {
    start.starts_with(LOG)
}

impl Logs {
    /// Reads a run's file, all of it checked.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(bytes: &[u8]) -> Result<Logs, TraceError> {
        let logs = merge::split(bytes)?;
        let read = |(rank, log)| RankLog::read(log).map(Arc::new).map_err(|error| of_rank(rank, &error));
        let ranks = (0..).zip(logs).map(read).collect::<Result<Vec<_>, _>>()?;
        merge::check(&ranks)?;
        let resolved = resolve::all(&ranks)?;
        Ok(Logs { ranks, resolved })
    }

    /// The number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// What the log of `rank` says of itself.
    pub fn info(&self, rank: u32) -> &LogInfo {
        &self.ranks[rank as usize].info
    }

    /// The calls of `rank` in their order.
    pub fn steps(&self, rank: u32) -> impl Iterator<Item = LoggedCall> + '_ {
        LogCursor::new(self.ranks[rank as usize].clone())
    }

    /// A program that does what `rank` did, on `machine`, whose code takes `factor` times as long.
    pub fn program(&self, rank: u32, machine: &Machine, factor: f64) -> LogProgram {
        let (log, resolved) = (self.ranks[rank as usize].clone(), self.resolved[rank as usize].clone());
        LogProgram::new(log, resolved, machine.clone(), factor)
    }

    /// Why the run cannot be replayed, if it cannot: a rank did what replays do not have, or its log ends too early.
    pub fn fault(&self) -> Option<String> {
        let refused = self.ranks.iter().zip(&self.resolved).find_map(|(log, resolved)| {
            let why = match resolved.refused?.name() {
                "MPI_threads" => "it called MPI functions in several threads, which replays do not have yet".to_owned(),
                "MPI_communicator" => "it used a communicator that was made in a way that is not recorded".to_owned(),
                "MPI_request" => {
                    "it started a persistent request that was made in a way that is not recorded".to_owned()
                }
                name => format!("it called {name}, which replays do not have"),
            };
            Some(format!("rank {}: {why}", log.info.rank))
        });
        refused.or_else(|| {
            let cut = self.ranks.iter().find(|log| !log.info.finished)?;
            let calls = self.resolved[cut.info.rank as usize].calls;
            Some(format!(
                "rank {} was cut after {calls} calls, before MPI_Finalize: only whole runs are replayed",
                cut.info.rank
            ))
        })
    }
}

#[cfg(test)]
mod tests;
