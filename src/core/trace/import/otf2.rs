//! OTF2 archives of Score-P, read from the lines printed by `trace/otf2/read.c`.
//!
//! A region is the execution of one function. The time between the regions of MPI functions is the time of the
//! program's code. The replay begins at the end of `MPI_Init` and ends at the beginning of `MPI_Finalize`, if the
//! archive has these regions. The events in the region of an MPI function describe the actions of this function. If
//! several requests complete in a region, the replay waits for all of them at the end of the region.

mod program;
mod rank;
mod sizes;

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;

use super::ImportError;
use super::words::Words;
use crate::mpi::{CommMember, Group};
use crate::rank::{Context, Rank, Tag};
use crate::trace::logs::FunctionClass;
use crate::trace::logs::LoggedFunction;
use crate::units::SimSpan;
pub use program::Otf2Program;
use rank::RankReader;
use sizes::MemberSizes;

/// An action of a rank in an OTF2 archive.
#[derive(Debug)]
struct TraceAction {
    function: Option<LoggedFunction>,
    operation: TraceOperation,
}

#[derive(Debug)]
enum TraceOperation {
    /// No action, for example for a receive that never completed.
    Nothing,
    Compute(SimSpan),
    Send(MessageRecord),
    Recv(MessageRecord),
    Exchange(Box<(MessageRecord, MessageRecord)>),
    /// Starts a send. The integer is the request slot: the lowest integer that no other active request of the rank
    /// uses.
    Isend(u32, MessageRecord),
    Irecv(u32, MessageRecord),
    Wait(Box<[u32]>),
    /// Executes a collective. The integer is the index of the collective among the rank's collectives.
    Collective(u32),
    Start(u32, u32),
}

/// A message: the peer's world rank, tag, communicator and size.
#[derive(Clone, Copy, Debug)]
struct MessageRecord {
    peer: Rank,
    context: Context,
    tag: Tag,
    bytes: u64,
}

/// A collective of an OTF2 archive, as called by one rank.
#[derive(Clone, Debug)]
struct Otf2Collective {
    function: Option<LoggedFunction>,
    /// Identifier of the collective operation in the OTF2 archive.
    op: u32,
    comm: u32,
    root: u32,
    sent: u64,
    received: u64,
    /// Data sizes derived from the byte counts of all members.
    member_sizes: MemberSizes,
}

/// Actions and collectives of a rank in an OTF2 archive.
#[derive(Debug, Default)]
pub(super) struct RankActions {
    actions: Vec<TraceAction>,
    collectives: Vec<Otf2Collective>,
}

/// Members of a communicator in an OTF2 archive.
#[derive(Clone, Debug)]
enum CommMembers {
    Group(Group),
    Own,
    /// An intercommunicator, which has two groups of members.
    Inter,
}

/// A region of the archive that is an MPI function.
#[derive(Clone, Debug)]
struct MpiRegion {
    name: String,
    function: Option<LoggedFunction>,
    /// Whether the time in the region counts as time of the program's code, as for `MPI_File_*`.
    is_code: bool,
}

/// Definitions of an OTF2 archive, which all ranks share.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    ticks: f64,
    start: u64,
    regions: BTreeMap<u32, MpiRegion>,
    comms: BTreeMap<u32, CommMembers>,
}

/// An OTF2 archive: definitions, and the actions of every rank.
#[derive(Debug)]
pub(super) struct Archive {
    definitions: Arc<Definitions>,
    ranks: Vec<Arc<RankActions>>,
    /// Whether the data sizes of an alltoallv were estimated.
    pub estimated: bool,
}

fn error(what: impl Into<String>) -> ImportError {
    ImportError { line: 0, what: what.into() }
}

impl Definitions {
    /// Communicator with the OTF2 identifier `number`, as seen by world rank `rank`.
    fn comm(&self, number: u32, rank: Rank) -> Result<CommMember, ImportError> {
        let id = number.checked_add(1).filter(|id| *id < u32::MAX / 2 - 1);
        let id = id.ok_or_else(|| error(format!("expected communicators up to 2^31 - 4; found {number}")))?;
        match self.comms.get(&number) {
            Some(CommMembers::Group(group)) => {
                let member = group.member(rank);
                let member = member.ok_or_else(|| {
                    error(format!("rank {rank} uses communicator {number}, of which it is no member"))
                })?;
                Ok(CommMember::new(id, member, group.clone()))
            }
            Some(CommMembers::Own) => Ok(CommMember::new(id, 0, Group::Strided { first: rank, stride: 1, size: 1 })),
            Some(CommMembers::Inter) => {
                Err(error(format!("rank {rank} communicates by an intercommunicator, which is not replayed")))
            }
            None => Err(error(format!("rank {rank} uses communicator {number}, whose members are not defined"))),
        }
    }

    fn define(&mut self, words: &mut Words<'_>, kind: &str, ranks: Option<usize>) -> Result<(), ImportError> {
        match kind {
            // An OTF2 archive that mcpsim wrote shows activities over time, but lacks data that a replay needs.
            "creator" if words.peek() == Some("mcpsim") => {
                return Err(error(
                    "an archive that mcpsim wrote: it lacks the trace that a replay needs, mcpsim.trace in its directory; \
                     expected the file of --record FILE.trace of the same run",
                ));
            }
            "creator" => {}
            "clock" => {
                self.ticks = words.amount("ticks a second")?.max(1.0);
                self.start = number(words, "a time")?;
            }
            "region" => {
                let of = number(words, "a region")? as u32;
                let name = words.next().unwrap_or_default().to_owned();
                let is_code = name.starts_with("MPI_File_");
                self.regions.insert(of, MpiRegion { function: LoggedFunction::named(&name), name, is_code });
            }
            "comm" if ranks.is_none() => {
                let of = number(words, "a communicator")? as u32;
                let members = match words.expect("members")? {
                    "self" => CommMembers::Own,
                    "inter" => CommMembers::Inter,
                    _ => {
                        let mut list: Vec<Rank> = Vec::new();
                        while words.peek().is_some() {
                            list.push(number(words, "a rank")? as Rank);
                        }
                        let group = Group::of_distinct(list);
                        CommMembers::Group(group.ok_or_else(|| words.error("expected members that differ"))?)
                    }
                };
                self.comms.insert(of, members);
            }
            _ => return Err(words.error(format!("unknown record \"{kind}\""))),
        }
        Ok(())
    }
}

/// Reads an unsigned integer from the words of a line.
fn number(words: &mut Words<'_>, what: &str) -> Result<u64, ImportError> {
    let word = words.expect(what)?;
    word.parse().map_err(|_| words.error(format!("expected {what}, a whole number; found \"{word}\"")))
}

impl Archive {
    /// Reads the lines that the C program `read.c` prints.
    ///
    /// # Errors
    /// The error in the lines, or an MPI call that cannot be replayed.
    pub fn read(mut lines: impl BufRead) -> Result<Archive, ImportError> {
        let mut definitions = Definitions::default();
        let mut ranks: Option<usize> = None;
        let mut read: Vec<RankActions> = Vec::new();
        let mut current: Option<RankReader> = None;
        let (mut line, mut whole) = (String::new(), false);
        let (mut foreign, mut at) = (false, 0);
        loop {
            line.clear();
            at += 1;
            match lines.read_line(&mut line) {
                Ok(0) => break,
                Ok(_) => {}
                Err(cause) => return Err(error(format!("cannot read the output of the OTF2 library: {cause}"))),
            }
            let mut words = Words::new(at, &line);
            let Some(kind) = words.next() else { continue };
            match kind {
                "ranks" => {
                    let count = number(&mut words, "a number of ranks")? as usize;
                    definitions.check(count)?;
                    ranks = Some(count);
                }
                "rank" => {
                    read.extend(current.take().map(RankReader::end).transpose()?);
                    current = Some(RankReader::new(read.len() as Rank, definitions.start));
                }
                "foreign" => foreign = true,
                "end" => whole = true,
                _ => match &mut current {
                    Some(rank) => rank.event(&definitions, kind, &mut words)?,
                    None => definitions.define(&mut words, kind, ranks)?,
                },
            }
        }
        read.extend(current.map(RankReader::end).transpose()?);
        if !whole || ranks != Some(read.len()) {
            return Err(error("the archive ends too soon"));
        }
        if foreign {
            return Err(error("MPI is called by several threads of a rank, which is not replayed"));
        }
        let estimated = sizes::combine_members(&definitions, &mut read)?;
        let ranks = read.into_iter().map(Arc::new).collect();
        Ok(Archive { definitions: Arc::new(definitions), ranks, estimated })
    }

    pub fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    pub fn program(&self, rank: Rank) -> Otf2Program {
        Otf2Program::new(self.definitions.clone(), self.ranks[rank as usize].clone(), rank)
    }
}

impl Definitions {
    /// Checks the definitions of an OTF2 archive of `ranks` ranks.
    fn check(&self, ranks: usize) -> Result<(), ImportError> {
        if ranks == 0 {
            return Err(error("expected the archive of an MPI program; found no ranks of MPI"));
        }
        for (of, members) in &self.comms {
            let CommMembers::Group(group) = members else { continue };
            if group.ranks().max().is_none_or(|last| last as usize >= ranks) {
                return Err(error(format!("communicator {of}: expected members up to rank {}", ranks - 1)));
            }
        }
        Ok(())
    }
}

/// Whether mcpsim cannot replay calls of the MPI function `function`.
fn refused(function: Option<LoggedFunction>) -> bool {
    matches!(function.map(LoggedFunction::class), Some(FunctionClass::Refused | FunctionClass::Neighbours))
}

#[cfg(test)]
mod tests;
