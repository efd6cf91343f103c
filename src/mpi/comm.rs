//! Communicators: a group of ranks, and the contexts that separate the messages of different communicators.

use super::Group;
use mcpsim_base::rank::{Context, Rank};

/// A communicator as seen by one member rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommMember {
    id: u32,
    rank: u32,
    group: Group,
}

impl CommMember {
    /// Creates the communicator with identifier `id` (0 is MPI_COMM_WORLD) and group `group`, as seen by the member
    /// rank `rank`.
    ///
    /// # Panics
    /// If `rank` is not a member of the group.
    pub fn new(id: u32, rank: u32, group: Group) -> Self {
        assert!(rank < group.size(), "member {rank} of a group of {}", group.size());
        CommMember { id, rank, group }
    }

    /// Identifier of the communicator, which is the same at all members.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Rank in the communicator of the member that holds this object.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Number of members of the communicator.
    pub fn size(&self) -> u32 {
        self.group.size()
    }

    /// World rank of the member with rank `member` in the communicator.
    #[inline]
    pub fn world(&self, member: u32) -> Rank {
        self.group.world(member)
    }

    /// Group of ranks that are the members of the communicator.
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// Context of the communicator's point-to-point messages.
    pub fn point_to_point(&self) -> Context {
        2 * self.id
    }

    /// Context of the messages of the communicator's collectives.
    pub fn collective(&self) -> Context {
        2 * self.id + 1
    }
}
