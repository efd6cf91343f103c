//! Communicators: a group, and the contexts that keep its messages apart.

use super::Group;
use crate::rank::{Context, Rank};

/// A communicator as one of its members sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommMember {
    id: u32,
    rank: u32,
    group: Group,
}

impl CommMember {
    /// The communicator number `id` (0 is the world) of `group`, seen by its member `rank`.
    ///
    /// # Panics
    /// If the group has no such member.
    pub fn new(id: u32, rank: u32, group: Group) -> Self {
        assert!(rank < group.size(), "member {rank} of a group of {}", group.size());
        CommMember { id, rank, group }
    }

    /// The number all members know it by.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// This member's rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// The number of members.
    pub fn size(&self) -> u32 {
        self.group.size()
    }

    /// The world rank of `member`.
    #[inline]
    pub fn world(&self, member: u32) -> Rank {
        self.group.world(member)
    }

    /// The members.
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// The context of point-to-point messages.
    pub fn point_to_point(&self) -> Context {
        2 * self.id
    }

    /// The context of collectives' messages.
    pub fn collective(&self) -> Context {
        2 * self.id + 1
    }
}
