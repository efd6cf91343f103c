//! Traces of other tools, which describe the actions of ranks as text. mcpsim executes the actions directly, and can
//! record this run as it records any other run.
//!
//! | format | module |
//! |---|---|
//! | time-independent traces of SimGrid/SMPI | `ti` |
//! | GOAL schedules of LogGOPSim | `goal` |
//! | OTF2 archives of Score-P, as printed by `trace/otf2/read.c` | `otf2` |

mod goal;
mod graph;
mod otf2;
mod ti;
mod words;

use std::fmt;
use std::io::BufRead;
use std::sync::Arc;

use crate::mpi::{MpiCall, MpiProgram};
use crate::platform::CoreRates;
use crate::rank::{CallSite, Describe, Rank, Reply};

/// Error in a trace file of another tool, with its line number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    line: usize,
    what: String,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.what),
            line => write!(f, "line {line}: {}", self.what),
        }
    }
}

impl std::error::Error for ImportError {}

/// Text formats of traces that mcpsim recognizes by the beginning of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// Time-independent traces of SimGrid/SMPI.
    TimeIndependent,
    /// GOAL schedules of LogGOPSim.
    Goal,
}

/// Trace format of a file that begins with `start`; `None` for an unknown format.
pub fn format_of(start: &str) -> Option<TraceFormat> {
    let line = start.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with(['#', '/', '*']))?;
    let mut words = line.split_whitespace();
    let (first, second) = (words.next()?, words.next()?);
    if first == "num_ranks" {
        return second.bytes().all(|byte| byte.is_ascii_digit()).then_some(TraceFormat::Goal);
    }
    let is_rank = first.bytes().all(|byte| byte.is_ascii_digit());
    (is_rank && second.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_'))
        .then_some(TraceFormat::TimeIndependent)
}

/// A trace of another tool, read into memory.
#[derive(Debug)]
pub struct ImportedTrace(Ranks);

#[derive(Debug)]
enum Ranks {
    Ti(Vec<Arc<Vec<ti::TiAction>>>),
    Goal(Vec<Arc<graph::Graph>>),
    Otf2(otf2::Archive),
}

/// Program of a rank in a trace of another tool.
pub enum ImportProgram {
    /// Rank of a time-independent trace of SimGrid/SMPI.
    Ti(ti::TiProgram),
    /// Program of a rank that executes a GOAL schedule of LogGOPSim.
    Goal(graph::GraphProgram),
    /// Program of a rank that repeats its events in an OTF2 archive.
    Otf2(otf2::Otf2Program),
}

impl ImportedTrace {
    /// Reads the text of a trace file, or the concatenated trace files of all ranks.
    ///
    /// # Errors
    /// The first error in the text of the trace.
    pub fn read(format: TraceFormat, text: &str) -> Result<ImportedTrace, ImportError> {
        Ok(ImportedTrace(match format {
            TraceFormat::TimeIndependent => Ranks::Ti(ti::read(text)?.into_iter().map(Arc::new).collect()),
            TraceFormat::Goal => Ranks::Goal(goal::read(text)?.into_iter().map(Arc::new).collect()),
        }))
    }

    /// Reads the lines that the C program `trace/otf2/read.c` prints for an OTF2 archive.
    ///
    /// # Errors
    /// The first error in the lines, or the first MPI call that cannot be replayed.
    pub fn read_otf2(lines: impl BufRead) -> Result<ImportedTrace, ImportError> {
        otf2::Archive::read(lines).map(|archive| ImportedTrace(Ranks::Otf2(archive)))
    }

    /// Assumption about the recorded run that replaces missing information in the trace, if any.
    pub fn assumed(&self) -> Option<&'static str> {
        matches!(&self.0, Ranks::Otf2(archive) if archive.estimated).then_some(
            "the archive has only the sums of what ranks of an alltoallv send and receive: each divides its data in \
             proportion to what the others receive",
        )
    }

    /// Number of ranks in the trace.
    pub fn ranks(&self) -> u32 {
        match &self.0 {
            Ranks::Ti(ranks) => ranks.len() as u32,
            Ranks::Goal(ranks) => ranks.len() as u32,
            Ranks::Otf2(archive) => archive.ranks(),
        }
    }

    /// Program of `rank`, whose computing times follow from the computing rates `rates`.
    ///
    /// # Panics
    /// If the trace has no rank `rank`.
    pub fn program(&self, rank: Rank, rates: &CoreRates) -> ImportProgram {
        match &self.0 {
            Ranks::Ti(ranks) => {
                ImportProgram::Ti(ti::TiProgram::new(ranks[rank as usize].clone(), rank, self.ranks(), rates.flops))
            }
            Ranks::Goal(ranks) => ImportProgram::Goal(graph::GraphProgram::new(ranks[rank as usize].clone())),
            Ranks::Otf2(archive) => ImportProgram::Otf2(archive.program(rank)),
        }
    }
}

impl MpiProgram for ImportProgram {
    fn next(&mut self, reply: Reply<'_>) -> MpiCall {
        match self {
            ImportProgram::Ti(program) => program.next(reply),
            ImportProgram::Goal(program) => MpiCall::Call(program.next(reply)),
            ImportProgram::Otf2(program) => program.next(reply),
        }
    }
}

impl Describe for ImportProgram {
    fn position(&self) -> Option<String> {
        match self {
            ImportProgram::Ti(program) => program.position(),
            ImportProgram::Goal(program) => program.position(),
            ImportProgram::Otf2(program) => program.position(),
        }
    }

    fn call_name(&self) -> Option<&'static str> {
        match self {
            ImportProgram::Otf2(program) => program.call_name(),
            _ => None,
        }
    }

    fn site(&self) -> CallSite {
        match self {
            ImportProgram::Otf2(program) => program.site(),
            _ => CallSite::Unknown,
        }
    }
}

#[cfg(test)]
mod tests;
