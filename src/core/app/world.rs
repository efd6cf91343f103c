//! Grids and communicators of an application, which all ranks share once the number of ranks is known.

use crate::mpi::{CommMember, Group};
use crate::rank::Rank;

use super::grid::Grid;
use super::timers::TimerPlace;

/// The number of ranks, and the grids, communicators and timers of an application.
#[derive(Debug, Default)]
pub(super) struct AppWorld {
    pub(super) size: u32,
    pub(super) seed: u64,
    pub(super) grids: Vec<Grid>,
    /// Communicators of the application, indexed by identifier. MPI_COMM_WORLD has identifier 0.
    pub(super) comms: Vec<CommTable>,
    pub(super) timers: Vec<TimerPlace>,
    /// Number of elements in all timers.
    pub(super) timer_room: usize,
}

/// A communicator as seen by all ranks: MPI_COMM_WORLD, or disjoint groups of ranks with a common name
/// (MPI_Comm_split).
#[derive(Debug)]
pub(super) struct CommTable {
    id: u32,
    division: Option<Division>,
    size: u32,
}

#[derive(Debug)]
struct Division {
    groups: Vec<Group>,
    /// For each world rank, its group and its rank in the group, or [`OUTSIDE`].
    places: Box<[(u32, u32)]>,
}

const OUTSIDE: u32 = u32::MAX;

impl CommTable {
    /// Creates MPI_COMM_WORLD with `size` ranks.
    pub(super) fn world(size: u32) -> Self {
        CommTable { id: 0, division: None, size }
    }

    /// Groups the ranks of the same colour, ordered by key, then by rank. A rank without a colour belongs to no group.
    pub(super) fn split(id: u32, colors_and_keys: &[Option<(i64, i64)>]) -> Self {
        let mut members: Vec<(i64, i64, Rank)> = (0..)
            .zip(colors_and_keys)
            .filter_map(|(rank, place)| place.map(|(color, key)| (color, key, rank)))
            .collect();
        members.sort_unstable();
        let mut places = vec![(OUTSIDE, OUTSIDE); colors_and_keys.len()].into_boxed_slice();
        let mut groups = Vec::new();
        for group in members.chunk_by(|a, b| a.0 == b.0) {
            for (member, (_, _, rank)) in (0..).zip(group) {
                places[*rank as usize] = (groups.len() as u32, member);
            }
            groups.push(Group::from_ranks(group.iter().map(|(_, _, rank)| *rank).collect()));
        }
        CommTable { id, division: Some(Division { groups, places }), size: colors_and_keys.len() as u32 }
    }

    /// Rank of world rank `rank` in its group; `None` if it belongs to no group.
    #[inline]
    pub(super) fn rank_of(&self, rank: Rank) -> Option<u32> {
        match &self.division {
            None => Some(rank),
            Some(division) => Some(division.places[rank as usize].1).filter(|member| *member != OUTSIDE),
        }
    }

    /// Size of the group of world rank `rank`; 0 if it belongs to no group.
    #[inline]
    pub(super) fn size_for(&self, rank: Rank) -> u32 {
        match &self.division {
            None => self.size,
            Some(_) => self.group(rank).map_or(0, Group::size),
        }
    }

    /// World rank of the member with rank `member` in the group of world rank `rank`.
    #[inline]
    pub(super) fn world_rank(&self, rank: Rank, member: u32) -> Rank {
        self.group(rank).map_or(member, |group| group.world(member))
    }

    /// Context of the communicator's point-to-point messages (see [`CommMember::point_to_point`]).
    #[inline]
    pub(super) fn point_to_point(&self) -> u32 {
        2 * self.id
    }

    /// Communicator as seen by world rank `rank`; `None` if the rank is not a member.
    pub(super) fn comm(&self, rank: Rank) -> Option<CommMember> {
        match &self.division {
            None => Some(CommMember::new(0, rank, Group::Strided { first: 0, stride: 1, size: self.size })),
            Some(_) => Some(CommMember::new(self.id, self.rank_of(rank)?, self.group(rank)?.clone())),
        }
    }

    /// Group of world rank `rank`, if the communicator is not MPI_COMM_WORLD and the rank is in a group.
    #[inline]
    fn group(&self, rank: Rank) -> Option<&Group> {
        let division = self.division.as_ref()?;
        division.groups.get(division.places[rank as usize].0 as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_orders_by_key_and_leaves_out_those_without_a_colour() {
        // Even ranks are in descending order, odd ranks in ascending order, and rank 5 belongs to no group.
        let place = |rank: i64| (rank != 5).then_some((rank % 2, if rank % 2 == 0 { -rank } else { 0 }));
        let comm = CommTable::split(3, &(0..6).map(place).collect::<Vec<_>>());
        assert_eq!(
            (0..6).map(|rank| comm.rank_of(rank)).collect::<Vec<_>>(),
            [Some(2), Some(0), Some(1), Some(1), Some(0), None]
        );
        assert_eq!((comm.size_for(0), comm.size_for(1), comm.size_for(5)), (3, 2, 0));
        assert_eq!((comm.world_rank(0, 0), comm.world_rank(1, 1)), (4, 3));
        assert!(matches!(comm.comm(1).unwrap().group(), Group::Strided { first: 1, stride: 2, size: 2 }));
        assert!(matches!(comm.comm(0).unwrap().group(), Group::Listed(_)));
        assert_eq!(comm.comm(5), None);
    }
}
