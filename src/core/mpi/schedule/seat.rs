//! A rank's place among the members, and the numberings that algorithms use.

/// A rank's place in a collective.
///
/// Trees and rings number the members from the root: see [`RootNumbering`]. The number is the *relative* rank. Algorithms for
/// 2^k members first *fold* the surplus (Rabenseifner 2004; Thakur et al. 2005): with q the greatest power of two up to
/// the size, each of the first size − q pairs of neighbours sends one member to wait, and the q others are numbered in
/// order. [`Fold`] says which of a pair stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The number of members; at least 1.
    pub size: u32,
    /// This member.
    pub rank: u32,
    /// The root; 0 where there is none.
    pub root: u32,
    /// Whose details.
    pub style: ScheduleStyle,
    /// Who stays of a pair that folds.
    pub fold: Fold,
    /// How trees and rings number the members.
    pub numbering: RootNumbering,
    /// Whether contributions must be combined in order of ranks.
    pub ordered: bool,
}

/// How members are numbered from the root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RootNumbering {
    /// Member `(root + v) mod size` has number v.
    #[default]
    Rotated,
    /// The root and member 0 have each other's number, as in Open MPI's `libnbc`.
    Swapped,
}

impl RootNumbering {
    /// The number of member `rank`, and the member that has number `rank`: it is the same.
    pub(super) fn swap(rank: u32, root: u32) -> u32 {
        match rank {
            0 => root,
            _ if rank == root => 0,
            other => other,
        }
    }
}

/// Whose details a schedule follows where libraries differ in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScheduleStyle {
    /// What the default library has always done.
    #[default]
    Flat,
    /// Open MPI's.
    OpenMpi,
    /// MPICH's.
    Mpich,
}

/// Which of a pair of neighbours stays when the surplus folds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fold {
    /// The higher one, unless the lower one is the root.
    #[default]
    TowardsRoot,
    /// The higher one.
    Higher,
    /// The lower one, unless the higher one is the root.
    Lower,
}

impl Seat {
    /// Member `rank` of `size` with root 0.
    pub fn of(size: u32, rank: u32) -> Self {
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

    /// The same with another choice of who stays.
    pub(super) fn folding(self, fold: Fold) -> Self {
        Seat { fold, ..self }
    }

    /// This member's relative rank.
    pub(super) fn relative(self) -> u32 {
        match self.numbering {
            RootNumbering::Rotated => self.back(self.rank, self.root),
            RootNumbering::Swapped => RootNumbering::swap(self.rank, self.root),
        }
    }

    /// The member of relative rank `relative` < size.
    pub(super) fn member(self, relative: u32) -> u32 {
        match self.numbering {
            RootNumbering::Rotated => self.ahead(relative, self.root),
            RootNumbering::Swapped => RootNumbering::swap(relative, self.root),
        }
    }

    /// (`from` + `by`) mod size, both below the size.
    pub(super) fn ahead(self, from: u32, by: u32) -> u32 {
        let left = self.size - by;
        if from >= left { from - left } else { from + by }
    }

    /// (`from` − `by`) mod size, both below the size.
    pub(super) fn back(self, from: u32, by: u32) -> u32 {
        if from >= by { from - by } else { from + (self.size - by) }
    }

    /// log2 of the greatest power of two up to the size.
    pub(super) fn log_floor(self) -> u32 {
        self.size.ilog2()
    }

    /// The greatest power of two up to the size.
    pub(super) fn power(self) -> u32 {
        1 << self.log_floor()
    }

    /// How many members fold.
    pub(super) fn surplus(self) -> u32 {
        self.size - self.power()
    }

    /// The other member of this one's pair, if it is in one.
    pub(super) fn fold_partner(self) -> Option<u32> {
        (self.rank / 2 < self.surplus()).then_some(self.rank ^ 1)
    }

    /// This member's number among those that stay, if it does.
    pub(super) fn folded(self) -> Option<u32> {
        self.folded_number(self.rank)
    }

    /// The number of `member` among those that stay, if it does.
    pub(super) fn folded_number(self, member: u32) -> Option<u32> {
        let pair = member / 2;
        if pair >= self.surplus() {
            Some(member - self.surplus())
        } else {
            (self.unfolded(pair) == member).then_some(pair)
        }
    }

    /// The member that has `number` among those that stay.
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

    /// The first block of those that `number` stands for when every member has one; `power()` gives their end.
    pub(super) fn folded_start(self, number: u32) -> u32 {
        number + number.min(self.surplus())
    }
}
