//! Seat of a rank: its position among the members of a collective, and the numberings of members that algorithms use.

/// Properties of one member of a collective that determine the member's steps.
///
/// Trees and rings number the members from the root (see [`RootNumbering`]); the number of a member is its *relative
/// rank*. Algorithms for 2^k members first reduce the members to q, which is called folding (Rabenseifner 2004; Thakur
/// et al. 2005). Here q is the greatest power of two not above the number of members. In each of the first (size − q)
/// pairs of neighbours, one member is *folded away*: it only sends its data to its partner and receives its result. The
/// remaining q members get *folded numbers* in order of ranks. [`Fold`] selects the member of a pair that remains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Number of members of the collective; at least 1.
    pub size: u32,
    /// Rank of this member.
    pub rank: u32,
    /// Root of the collective; 0 for collectives without a root.
    pub root: u32,
    /// MPI library whose details the schedule follows.
    pub style: ScheduleStyle,
    /// Rule that selects the member of a folding pair that is not folded away.
    pub fold: Fold,
    /// Numbering of members in trees and rings.
    pub numbering: RootNumbering,
    /// Whether the contributions of ranks must be combined in order of ranks.
    pub ordered: bool,
}

/// Numbering of members in trees and rings, starting with 0 at the root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RootNumbering {
    /// Member `(root + v) mod size` has number v.
    #[default]
    Rotated,
    /// The root and member 0 swap their numbers, as in Open MPI's `libnbc`.
    Swapped,
}

impl RootNumbering {
    /// Number of member `rank` if the root and member 0 swap their numbers. Applying the function twice returns `rank`.
    pub(super) fn swap(rank: u32, root: u32) -> u32 {
        match rank {
            0 => root,
            _ if rank == root => 0,
            other => other,
        }
    }
}

/// MPI library whose details a schedule follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScheduleStyle {
    /// The schedule follows the details of the default library.
    #[default]
    Flat,
    /// The schedule follows the details of Open MPI.
    OpenMpi,
    /// The schedule follows the details of MPICH.
    Mpich,
}

/// Rule that selects the member of a folding pair that is not folded away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fold {
    /// The member with the higher rank remains, unless the member with the lower rank is the root.
    #[default]
    TowardsRoot,
    /// The member with the higher rank of a folding pair remains.
    Higher,
    /// The member with the lower rank remains, unless the member with the higher rank is the root.
    Lower,
}

impl Seat {
    /// Creates the seat of member `rank` in a collective among `size` members with root 0.
    pub fn with_root_0(size: u32, rank: u32) -> Self {
        Seat {
            size,
            rank,
            root: 0,
            style: ScheduleStyle::Flat,
            fold: Fold::TowardsRoot,
            numbering: RootNumbering::Rotated,
            ordered: false,
        }
    }

    /// Returns the seat with another folding rule.
    pub(super) fn folding(self, fold: Fold) -> Self {
        Seat { fold, ..self }
    }

    /// Relative rank of this member.
    pub(super) fn relative(self) -> u32 {
        match self.numbering {
            RootNumbering::Rotated => self.back(self.rank, self.root),
            RootNumbering::Swapped => RootNumbering::swap(self.rank, self.root),
        }
    }

    /// Rank of the member with relative rank `relative`.
    pub(super) fn member(self, relative: u32) -> u32 {
        match self.numbering {
            RootNumbering::Rotated => self.ahead(relative, self.root),
            RootNumbering::Swapped => RootNumbering::swap(relative, self.root),
        }
    }

    /// Returns (`from` + `by`) mod size. `from` and `by` must be below the size.
    pub(super) fn ahead(self, from: u32, by: u32) -> u32 {
        let left = self.size - by;
        if from >= left { from - left } else { from + by }
    }

    /// Returns (`from` − `by`) mod size. `from` and `by` must be below the size.
    pub(super) fn back(self, from: u32, by: u32) -> u32 {
        if from >= by { from - by } else { from + (self.size - by) }
    }

    /// log2 of the greatest power of two not above the size.
    pub(super) fn log_floor(self) -> u32 {
        self.size.ilog2()
    }

    /// Greatest power of two not above the size.
    pub(super) fn power(self) -> u32 {
        1 << self.log_floor()
    }

    /// Number of folded-away members.
    pub(super) fn surplus(self) -> u32 {
        self.size - self.power()
    }

    /// Partner of this member in a folding pair; `None` if the member belongs to no pair.
    pub(super) fn fold_partner(self) -> Option<u32> {
        (self.rank / 2 < self.surplus()).then_some(self.rank ^ 1)
    }

    /// Folded number of this member; `None` if this member is folded away.
    pub(super) fn folded(self) -> Option<u32> {
        self.folded_number(self.rank)
    }

    /// Folded number of `member`; `None` if `member` is folded away.
    pub(super) fn folded_number(self, member: u32) -> Option<u32> {
        let pair = member / 2;
        if pair >= self.surplus() {
            Some(member - self.surplus())
        } else {
            (self.unfolded(pair) == member).then_some(pair)
        }
    }

    /// Rank of the member with folded number `number`.
    pub(super) fn unfolded(self, number: u32) -> u32 {
        if number >= self.surplus() {
            number + self.surplus()
        } else {
            let lower = match self.fold {
                Fold::TowardsRoot => self.root == 2 * number,
                Fold::Higher => false,
                Fold::Lower => self.root != 2 * number + 1,
            };
            2 * number + u32::from(!lower)
        }
    }

    /// First block of the member with folded number `number` and of its folded-away partner, with one block per member.
    /// For `number` = `power()`, returns the number of blocks.
    pub(super) fn folded_start(self, number: u32) -> u32 {
        number + number.min(self.surplus())
    }
}
