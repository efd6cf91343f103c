//! Recordings of real programs under a real MPI. The recording library (`library`) writes one file with the logs of all
//! ranks.
//!
//! A log contains the MPI calls of one rank with the times of each call and of the code before the call. A log states
//! the sizes of each collective, and the communicator, peer, tag, size and buffer of each message. A replay repeats the
//! calls with the collective algorithms of the simulated machine.
//!
//! # Format, version 3
//!
//! All numbers of fixed length have the byte order of the writing machine; the byte-order mark is `0x01020304`.
//! *Numbers* have seven bits per byte, least significant first; signed numbers are zigzag-coded.
//!
//! | file | content |
//! |---|---|
//! | run | `MCPSIM`, 0, `R`; version, order (4 bytes each); number of the run (8); ranks, 0 (4 each); then for each rank the length of its log (8) and the log |
//! | log | `MCPSIM`, 0, `L`; version, order (4 each); chunks |
//! | chunk | kind, length (4 each), checksum (8, as in [`super`]), content |
//! | chunk 0, first | number of the run (8); rank, ranks, whether code is timed by CPU time (numbers); the clock (ns) and the lead of rank 0's clock (8 each); host, MPI library, program (texts); cores of the host, time since the comparison of clocks (numbers, may be missing) |
//! | chunk 1 | records: number of a call; if it is new, its length and bytes; ns of code before it, other ns before it, ns of the call |
//! | chunk 2, last | the clock, the lead of rank 0's clock (8 each); records, polls without success, their ns, whether MPI_Finalize was reached (numbers) |
//!
//! The first occurrence of a call in a log assigns an index to the call; repetitions of the call store only the index.
//! At most 65,536 calls get an index. Each such call has at most 65,536 bytes, and all such calls together have at most
//! 32 MiB. The pseudo-function `library` represents the time used by the recording library itself, and the time while
//! recording was off. The pseudo-function `sleep` represents the time that the program slept, which the log stores as
//! other ns before the call. The first byte of a call is its function (`library/functions.h`); module `call` describes
//! the other bytes. In version 1, no call had more than 65,536 bytes, and calls beyond the 32 MiB got an index, too.
//!
//! With MPI_THREAD_MULTIPLE, a log has the calls of all threads of its rank in the order in which they ended (since
//! version 3). The pseudo-function `thread` states the thread to which the following records belong. Times before a call
//! begin with the last call of the same thread. The first call of a thread follows the beginning of the call of
//! `pthread_create`, or the beginning of the log if the creation is not recorded.

mod beginning;
mod call;
mod cursor;
mod describe;
mod function;
mod handover;
mod library;
mod merge;
mod numbers;
mod program;
mod rank_log;
mod resolve;
mod threads;
mod turns;

pub use call::{LogCall, MessageEnd, NeighbourCall, NewComm, SizesOf};
pub use cursor::LoggedCall;
pub use describe::{CallSpan, FunctionTimes};
pub use function::{FunctionClass, LoggedFunction};
pub use library::SOURCES;
pub use merge::merge;
pub use program::LogProgram;
pub use rank_log::LogInfo;

use std::sync::{Arc, Mutex};

use super::cores::ReplayedCores;
use super::{Machine, TraceError};
use crate::rank::Program;
use cursor::{LogCursor, of_rank};
use rank_log::RankLog;
use resolve::ResolvedLog;
use turns::ThreadOnCores;

/// First bytes of a file with the log of one rank.
const LOG: &[u8; 8] = b"MCPSIM\x00L";
/// First bytes of a file with the logs of all ranks.
const RUN: &[u8; 8] = b"MCPSIM\x00R";
/// Format version that mcpsim writes, for files with one log and for files with all logs.
const VERSION: u32 = 3;
/// Oldest readable format version of a log.
const OLDEST: u32 = 1;
/// Byte-order mark, which a log stores in the byte order of the machine that writes the log.
const ORDER: u32 = 0x0102_0304;

/// Recorded logs of every rank of a real run.
#[derive(Debug)]
pub struct Logs {
    ranks: Vec<Arc<RankLog>>,
    resolved: Vec<Arc<ResolvedLog>>,
}

/// Whether a file that begins with `start` contains the logs of all ranks of a real run.
pub fn is_run(start: &[u8]) -> bool {
    start.starts_with(RUN)
}

/// Whether a file that begins with `start` is the log of a single rank.
pub fn is_log(start: &[u8]) -> bool {
    start.starts_with(LOG)
}

impl Logs {
    /// Reads and checks the file with the logs of all ranks.
    ///
    /// # Errors
    /// The file with the logs is invalid.
    pub fn read(bytes: &[u8]) -> Result<Logs, TraceError> {
        let logs = merge::split(bytes)?;
        let read = |(rank, log)| RankLog::read(log).map(Arc::new).map_err(|error| of_rank(rank, &error));
        let ranks = (0..).zip(logs).map(read).collect::<Result<Vec<_>, _>>()?;
        merge::check(&ranks)?;
        let resolved = resolve::all(&ranks)?;
        Ok(Logs { ranks, resolved })
    }

    /// Number of ranks of the real run.
    pub fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// Description of the run and of the host in the log of `rank`.
    pub fn info(&self, rank: u32) -> &LogInfo {
        &self.ranks[rank as usize].info
    }

    /// Calls in the log of `rank`, in order.
    pub fn steps(&self, rank: u32) -> impl Iterator<Item = LoggedCall> + '_ {
        LogCursor::new(self.ranks[rank as usize].clone())
    }

    /// Program that repeats the actions of `rank` on the simulated machine `machine`, with the times of the program's
    /// code multiplied by `factor`. If the rank has more threads than cores, the threads take turns.
    pub fn program(&self, rank: u32, machine: &Machine, factor: f64) -> Box<dyn Program> {
        let (log, resolved) = (self.ranks[rank as usize].clone(), self.resolved[rank as usize].clone());
        let is_crowded = self.threads(rank) > machine.cores;
        let cores = is_crowded.then(|| {
            let mut cores = ReplayedCores::new(rank, machine.cores, machine.platform.core.time_slice);
            cores.add_threads(self.threads(rank));
            Arc::new(Mutex::new(cores))
        });
        let program = LogProgram::new(log, resolved, machine.clone(), (factor, cores.clone()));
        match cores {
            Some(cores) => Box::new(ThreadOnCores::new(program, cores)),
            None => Box::new(program),
        }
    }

    /// Number of recorded calls of all ranks that a replay executes, and number of all recorded calls.
    pub fn replayed(&self) -> (u64, u64) {
        let kept = self.resolved.iter().map(|one| one.keep.unwrap_or(one.calls)).sum();
        (kept, self.resolved.iter().map(|one| one.calls).sum())
    }

    /// Reason why a replay executes only the beginning of the run: an unsupported call, or a log that ends too early.
    /// `None` if the replay executes the whole run.
    pub fn fault(&self) -> Option<String> {
        let refused = self.ranks.iter().zip(&self.resolved).find_map(|(log, resolved)| {
            let why = match resolved.refused?.name() {
                "MPI_threads" => "several threads of the program were in MPI functions at the same time, which the \
                                  recording does not contain"
                    .to_owned(),
                "MPI_communicator" => {
                    "the program used a communicator that was created in a way that is not recorded".to_owned()
                }
                "MPI_request" => {
                    "the program started a persistent request that was created in a way that is not recorded".to_owned()
                }
                name => format!("the program called {name}, which cannot be replayed"),
            };
            Some(format!("rank {}: {why}", log.info.rank))
        });
        let reason = refused.or_else(|| {
            let cut = self.ranks.iter().find(|log| !log.info.finished)?;
            let calls = self.resolved[cut.info.rank as usize].calls;
            Some(format!("the log of rank {} ends after {calls} calls, before MPI_Finalize", cut.info.rank))
        })?;
        Some(match self.replayed() {
            (0, _) => format!("{reason}; no call can be replayed, because no call has its counterparts in all ranks"),
            (kept, all) => format!("{reason}; a replay executes the first {kept} of {all} calls"),
        })
    }
}

#[cfg(test)]
mod tests;
