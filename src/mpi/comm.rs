//! Communicators: who is in them, and the contexts that keep their messages apart.

use std::sync::Arc;

use crate::rank::{Context, Rank};

/// An ordered set of world ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Group {
    /// `first`, `first + stride`, … (`size` of them); the world is (0, 1, size).
    Strided {
        /// The world rank of member 0.
        first: Rank,
        /// The distance of neighbours; at least 1.
        stride: u32,
        /// The number of members.
        size: u32,
    },
    /// Any other.
    Listed(Arc<[Rank]>),
}

/// A communicator as one of its members sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comm {
    id: u32,
    rank: u32,
    group: Group,
}

impl Group {
    /// The number of members.
    pub fn size(&self) -> u32 {
        match self {
            Group::Strided { size, .. } => *size,
            Group::Listed(ranks) => ranks.len() as u32,
        }
    }

    /// The world rank of `member`.
    ///
    /// # Panics
    /// If there is no such member (in release builds, for a listed group only).
    #[inline]
    pub fn world(&self, member: u32) -> Rank {
        debug_assert!(member < self.size());
        match self {
            Group::Strided { first, stride, .. } => first + member * stride,
            Group::Listed(ranks) => ranks[member as usize],
        }
    }

    /// The member that `world` is, if it is one.
    pub fn member(&self, world: Rank) -> Option<u32> {
        match self {
            Group::Strided { first, stride, size } => {
                let distance = world.checked_sub(*first)?;
                (distance % stride == 0 && distance / stride < *size).then(|| distance / stride)
            }
            Group::Listed(ranks) => ranks.iter().position(|&rank| rank == world).map(|index| index as u32),
        }
    }
}

impl Comm {
    /// The communicator number `id` (0 is the world) of `group`, seen by its member `rank`.
    ///
    /// # Panics
    /// If the group has no such member.
    pub fn new(id: u32, rank: u32, group: Group) -> Self {
        assert!(rank < group.size(), "member {rank} of a group of {}", group.size());
        Comm { id, rank, group }
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
