//! Selection files of MPICH as data: conditions on a call of a collective, and the algorithm that they select.

use super::rules::{Collective, Method};

/// A condition on a call of a collective in a selection file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The communicator has at most this number of ranks.
    RanksUpTo(u64),
    /// The number of ranks of the communicator is a power of two.
    RanksArePowerOfTwo,
    /// The buffer, or the mean block, has at most this number of bytes.
    MeanUpTo(u64),
    /// All blocks together have at most this number of bytes.
    TotalUpTo(u64),
    /// The buffer has at most this number of elements.
    CountUpTo(u64),
    /// The buffer has fewer elements than the greatest power of two that does not exceed the number of ranks.
    CountBelowPowerOfTwo,
    /// The reduction operator commutes, or does not commute.
    Commutes(bool),
    /// A condition on the distribution of the ranks over nodes. mcpsim does not evaluate this condition; its result is
    /// fixed.
    Is(bool),
}

/// Contents of a node in the tree of a selection file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Branch {
    /// The first condition that holds selects its branch. If no condition holds, the MPI library selects the algorithm.
    Questions(Vec<(Condition, Branch)>),
    /// The node selects this algorithm.
    Takes(Method),
    /// The node selects an algorithm with this name, for which mcpsim has no schedule.
    Absent(String),
}

/// Properties of a call of a collective on which the conditions of a selection file depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectionContext {
    /// Number of ranks of the communicator.
    pub ranks: u32,
    /// Number of bytes of the buffer, or of the mean block.
    pub mean: u64,
    /// Number of bytes of all blocks together, or of the buffer.
    pub total: u64,
    /// Number of bytes of an element; at least 1.
    pub element: u32,
    /// Whether the contributions to a reduction must be combined in order of ranks.
    pub ordered: bool,
}

/// Contents of a selection file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Tree of conditions of each collective.
    pub collectives: Vec<(Collective, Branch)>,
}

impl Condition {
    fn holds(self, of: SelectionContext) -> bool {
        let count = of.mean / u64::from(of.element.max(1));
        match self {
            Condition::RanksUpTo(most) => u64::from(of.ranks) <= most,
            Condition::RanksArePowerOfTwo => of.ranks.is_power_of_two(),
            Condition::MeanUpTo(most) => of.mean <= most,
            Condition::TotalUpTo(most) => of.total <= most,
            Condition::CountUpTo(most) => count <= most,
            Condition::CountBelowPowerOfTwo => count < 1 << of.ranks.max(1).ilog2(),
            Condition::Commutes(wanted) => wanted != of.ordered,
            Condition::Is(so) => so,
        }
    }
}

impl Selection {
    /// Returns the method that the selection file selects for a call of `collective`; `None` if the MPI library
    /// selects.
    ///
    /// # Errors
    /// The name of the selected algorithm, if mcpsim has no schedule for it.
    pub fn method(&self, collective: Collective, of: SelectionContext) -> Result<Option<Method>, &str> {
        let Some((_, mut branch)) =
            self.collectives.iter().map(|(known, branch)| (known, branch)).find(|(known, _)| **known == collective)
        else {
            return Ok(None);
        };
        loop {
            match branch {
                Branch::Takes(method) => return Ok(Some(*method)),
                Branch::Absent(name) => return Err(name),
                Branch::Questions(questions) => match questions.iter().find(|(condition, _)| condition.holds(of)) {
                    Some((_, next)) => branch = next,
                    None => return Ok(None),
                },
            }
        }
    }
}
