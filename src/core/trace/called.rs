//! Collectives recorded as calls. In a replay, the MPI library of the simulated machine chooses the algorithms of
//! collectives.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::TraceError;
use super::bytes::{TraceReader, put};
use super::op::LISTED_SIZE;
use crate::mpi::{CalledCollective, CollectiveCall, CommMember, DataCost, Group, Sizes};
use crate::platform::{Algorithm, Collective, MemorySharing, Platform};
use crate::rank::{Call, MemoryBlock, Rank};
use crate::units::{Bytes, SimSpan};

/// The simulated machine of a replay as seen by one rank.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Platform (simulated machine) of the replay.
    pub platform: Arc<Platform>,
    /// Virtual time that the rank needs to combine and copy data.
    pub cost: DataCost,
    /// Memory bandwidth of the rank in bytes per second, if the ranks of a node share the memory bandwidth.
    pub memory: f64,
    /// Number of cores of the rank.
    pub cores: u32,
}

/// Engine call for a recorded block of work. If ranks of the machine share memory bandwidth over time, the block of
/// work competes with other ranks for bandwidth.
pub(super) fn block_on(machine: Option<&Machine>, core: SimSpan, bytes: Bytes) -> Call {
    match machine {
        Some(machine) if machine.platform.core.memory_sharing == MemorySharing::Placed => {
            let moving = SimSpan::from_seconds(bytes.get() as f64 / machine.memory).unwrap_or(SimSpan::MAX);
            Call::Compute(core.max(moving))
        }
        _ => Call::Work(MemoryBlock { core, bytes }),
    }
}

/// World ranks of the members of a communicator.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Members {
    /// The members with the world ranks `first`, `first + stride`, …
    Strided {
        first: Rank,
        stride: u32,
        size: u32,
    },
    Listed(Arc<[Rank]>),
}

impl Members {
    pub fn from_group(group: &Group) -> Members {
        match group {
            &Group::Strided { first, stride, size } => Members::Strided { first, stride, size },
            Group::Listed(_) => Members::Listed(group.ranks().collect()),
        }
    }

    /// Appends the encoding of the members in the trace file.
    pub fn put(&self, out: &mut Vec<u8>) {
        match self {
            Members::Strided { first, stride, size } => {
                put(out, 0);
                [first, stride, size].into_iter().for_each(|&number| put(out, number.into()));
            }
            Members::Listed(ranks) => {
                put(out, ranks.len() as u64);
                ranks.iter().for_each(|&rank| put(out, rank.into()));
            }
        }
    }

    /// Reads the members of a communicator in a trace of `ranks` ranks.
    pub fn read(reader: &mut TraceReader<'_>, ranks: u32) -> Result<Group, TraceError> {
        let last = u64::from(ranks) - 1;
        let count = reader.at_most(ranks.into(), "a number of members")?;
        if count == 0 {
            let first = reader.at_most(last, "a rank")? as u32;
            let stride = reader.at_most(ranks.into(), "a distance of ranks")?.max(1) as u32;
            let most = u64::from((ranks - 1 - first) / stride) + 1;
            let size = reader.at_most(most, "a number of members")?.max(1) as u32;
            return Ok(Group::Strided { first, stride, size });
        }
        let members = (0..count).map(|_| Ok(reader.at_most(last, "a rank")? as u32)).collect::<Result<Vec<_>, _>>()?;
        Group::of_distinct(members).ok_or_else(|| reader.error("expected members that differ"))
    }
}

/// Data sizes of a recorded collective, like [`Sizes`]. A size may be [`LISTED_SIZE`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum CalledSizes {
    Same(u64),
    Each(Arc<[u64]>),
    /// One size per member. The task's list of sizes contains all sizes.
    EachListed,
}

/// A collective call in a recorded trace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct CalledOp {
    /// Index of the MPI function's name in the trace's list of names.
    pub name: u32,
    pub collective: Collective,
    /// Identifier of the communicator. `group` is the index of the communicator's members in the trace's list of
    /// groups.
    pub comm: u32,
    pub group: u32,
    pub root: u32,
    /// Number of bytes of an element. Algorithms of collectives do not divide an element.
    pub element: u32,
    pub in_order: bool,
    /// Index of the algorithm's name in the trace's list of names, if the program requested an algorithm.
    pub algorithm: Option<u32>,
    pub sizes: CalledSizes,
}

impl CalledOp {
    /// Appends the encoding of the collective call in the trace file.
    pub fn put(&self, out: &mut Vec<u8>) {
        let (form, sizes): (u64, &[u64]) = match &self.sizes {
            CalledSizes::Same(size) => (0, std::slice::from_ref(size)),
            CalledSizes::Each(sizes) => (1, sizes),
            CalledSizes::EachListed => (2, &[]),
        };
        let flags = form | u64::from(self.in_order) << 2 | u64::from(self.algorithm.is_some()) << 3;
        put(out, self.collective as u64);
        put(out, flags);
        [self.name, self.comm, self.group, self.root, self.element].into_iter().for_each(|part| put(out, part.into()));
        if let Some(algorithm) = self.algorithm {
            put(out, algorithm.into());
        }
        if form == 1 {
            put(out, sizes.len() as u64);
        }
        // The value 0 means that the size is in the task's list of sizes. Every other size is stored as the size plus
        // one.
        sizes.iter().for_each(|size| put(out, size.wrapping_add(1)));
    }

    /// Reads a collective call from a trace with `names` names and the groups `groups`.
    pub fn read(reader: &mut TraceReader<'_>, names: u32, groups: &[Group]) -> Result<CalledOp, TraceError> {
        let last = |count: usize, what: &str, reader: &TraceReader<'_>| {
            (count as u64).checked_sub(1).ok_or_else(|| reader.error(format_args!("expected {what}")))
        };
        let collective = Collective::ALL[reader.at_most(Collective::ALL.len() as u64 - 1, "a collective")? as usize];
        let flags = reader.at_most(15, "flags")?;
        let last_name = last(names as usize, "names", reader)?;
        let name = reader.at_most(last_name, "a name")? as u32;
        let comm = reader.at_most((u32::MAX / 2 - 1).into(), "a communicator")? as u32;
        let last_group = last(groups.len(), "groups", reader)?;
        let group = reader.at_most(last_group, "a group")? as u32;
        let root = reader.word("a root")?;
        let element = reader.word("the size of an element")?;
        let algorithm = match flags & 8 {
            0 => None,
            _ => Some(reader.at_most(last_name, "a name")? as u32),
        };
        let size = |reader: &mut TraceReader<'_>| Ok::<_, TraceError>(reader.number()?.wrapping_sub(1));
        let sizes = match flags & 3 {
            0 => CalledSizes::Same(size(reader)?),
            1 => {
                let count = reader.count("a number of sizes")?;
                CalledSizes::Each((0..count).map(|_| size(reader)).collect::<Result<_, _>>()?)
            }
            2 => CalledSizes::EachListed,
            other => return Err(reader.error(format_args!("expected a form of sizes up to 2; found {other}"))),
        };
        let in_order = flags & 4 != 0;
        Ok(CalledOp { name, collective, comm, group, root, element, in_order, algorithm, sizes })
    }

    /// Returns the collective call of world rank `rank`. `listed` returns the sizes in the task's list of sizes.
    ///
    /// # Errors
    /// The sizes in the trace do not fit the collective or its communicator.
    pub fn call(
        &self,
        rank: Rank,
        groups: &[Group],
        algorithms: &[Option<Algorithm>],
        mut listed: impl FnMut() -> Option<u64>,
    ) -> Result<CollectiveCall, &'static str> {
        const SHORT: &str = "its sizes end too soon";
        let group = &groups[self.group as usize];
        let member = group.member(rank).ok_or("a collective of others")?;
        let mut size = |size: u64| if size == LISTED_SIZE { listed() } else { Some(size) }.map(Bytes::new);
        let sizes = match &self.sizes {
            CalledSizes::Same(same) => Sizes::Same(size(*same).ok_or(SHORT)?),
            CalledSizes::Each(sizes) => {
                Sizes::Each(sizes.iter().map(|&each| size(each)).collect::<Option<_>>().ok_or(SHORT)?)
            }
            CalledSizes::EachListed => {
                let sizes: Option<Vec<Bytes>> = (0..group.size()).map(|_| size(LISTED_SIZE)).collect();
                Sizes::Each(sizes.ok_or(SHORT)?.into())
            }
        };
        let algorithm = match self.algorithm {
            None => None,
            Some(name) => Some(algorithms[name as usize].ok_or("an unknown algorithm")?),
        };
        let comm = CommMember::new(self.comm, member, group.clone());
        Ok(CollectiveCall { collective: self.collective, comm, root: self.root, sizes, algorithm })
    }
}

/// Tag of the messages of `called`. The tag contains the number of earlier collectives on the communicator.
pub(super) fn tag_of(called: &CalledCollective) -> u32 {
    called.sequence << 4 | called.call.collective as u32
}
