//! Groups: ordered sets of world ranks. A group with a constant stride is stored as first rank, stride and size.

use std::sync::Arc;

use mcpsim_base::rank::Rank;

/// An ordered set of world ranks. [`Group::from_ranks`] returns the same representation for equal members, so `==`
/// compares the members of two groups.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// The `size` members are `first`, `first + stride`, …; MPI_COMM_WORLD has `first` 0 and `stride` 1.
    Strided {
        /// World rank of the first member of the group.
        first: Rank,
        /// Difference between consecutive world ranks of the group; at least 1.
        stride: u32,
        /// Number of members of the group.
        size: u32,
    },
    /// A group whose world ranks have no constant stride.
    Listed(Arc<Listing>),
}

/// Members of a group whose world ranks have no constant stride. [`Group::from_ranks`] creates the listing.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listing {
    ranks: Box<[Rank]>,
    /// Members sorted by world rank. The list is empty if `ranks` is already sorted.
    ascending: Box<[u32]>,
}

impl Group {
    /// The group without members.
    pub const EMPTY: Group = Group::Strided { first: 0, stride: 1, size: 0 };

    /// Creates the group whose members are the distinct world ranks `ranks`, in this order.
    pub fn from_ranks(ranks: Vec<Rank>) -> Self {
        let Some(&first) = ranks.first() else { return Group::EMPTY };
        let stride = ranks.get(1).map_or(Some(1), |second| second.checked_sub(first));
        match stride {
            Some(stride) if ranks.windows(2).all(|pair| pair[1].checked_sub(pair[0]) == Some(stride)) => {
                Group::Strided { first, stride, size: ranks.len() as u32 }
            }
            _ => Group::Listed(Arc::new(Listing::from_ranks(ranks))),
        }
    }

    /// Creates the group with the members `ranks`, in this order. Returns `None` if a rank occurs twice.
    pub fn of_distinct(ranks: Vec<Rank>) -> Option<Self> {
        let mut sorted = ranks.clone();
        sorted.sort_unstable();
        sorted.is_sorted_by(|a, b| a < b).then(|| Group::from_ranks(ranks))
    }

    /// Number of members of the group.
    pub fn size(&self) -> u32 {
        match self {
            Group::Strided { size, .. } => *size,
            Group::Listed(listing) => listing.ranks.len() as u32,
        }
    }

    /// World rank of the member with rank `member` in the group.
    ///
    /// # Panics
    /// If `member` is not below the size of the group. Release builds check this only for a listed group.
    #[inline]
    pub fn world(&self, member: u32) -> Rank {
        debug_assert!(member < self.size());
        match self {
            Group::Strided { first, stride, .. } => first + member * stride,
            Group::Listed(listing) => listing.ranks[member as usize],
        }
    }

    /// Returns the rank in the group of the process with world rank `world`. Takes logarithmic time.
    pub fn member(&self, world: Rank) -> Option<u32> {
        match self {
            Group::Strided { first, stride, size } => {
                let distance = world.checked_sub(*first)?;
                (distance % stride == 0 && distance / stride < *size).then(|| distance / stride)
            }
            Group::Listed(listing) => listing.member(world),
        }
    }

    /// World ranks of all members, in order.
    pub fn ranks(&self) -> impl ExactSizeIterator<Item = Rank> + '_ {
        (0..self.size()).map(|member| self.world(member))
    }
}

impl Listing {
    fn from_ranks(ranks: Vec<Rank>) -> Self {
        let mut ascending: Vec<u32> = Vec::new();
        if !ranks.is_sorted() {
            ascending.extend(0..ranks.len() as u32);
            ascending.sort_unstable_by_key(|&member| ranks[member as usize]);
        }
        Listing { ranks: ranks.into(), ascending: ascending.into() }
    }

    fn member(&self, world: Rank) -> Option<u32> {
        if self.ascending.is_empty() {
            return self.ranks.binary_search(&world).ok().map(|at| at as u32);
        }
        let at = self.ascending.binary_search_by_key(&world, |&member| self.ranks[member as usize]).ok()?;
        Some(self.ascending[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_distances_need_no_list() {
        assert_eq!(Group::from_ranks(vec![3, 5, 7]), Group::Strided { first: 3, stride: 2, size: 3 });
        assert_eq!(Group::from_ranks(vec![9]), Group::Strided { first: 9, stride: 1, size: 1 });
        assert_eq!(Group::from_ranks(Vec::new()), Group::EMPTY);
        for ranks in [vec![7, 5, 3], vec![0, 1, 3], vec![2, 0, 1]] {
            assert!(matches!(Group::from_ranks(ranks), Group::Listed(_)));
        }
    }

    #[test]
    fn every_member_is_found_and_nobody_else() {
        for ranks in [vec![], vec![4], vec![1, 2, 3], vec![2, 6, 10], vec![0, 1, 5, 9], vec![8, 3, 9, 0, 4]] {
            let group = Group::from_ranks(ranks.clone());
            assert_eq!(group.ranks().collect::<Vec<_>>(), ranks);
            for world in 0..12 {
                let place = ranks.iter().position(|&rank| rank == world).map(|place| place as u32);
                assert_eq!(group.member(world), place, "{world} in {ranks:?}");
            }
        }
    }
}
