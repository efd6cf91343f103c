//! MPICH's selection files as data: conditions on a collective and the resulting algorithm.

use super::rules::{Collective, Method};

/// A condition of a selection file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// At most this many ranks.
    RanksUpTo(u64),
    /// The number of ranks is a power of two.
    RanksArePowerOfTwo,
    /// The buffer, or the mean block, has at most this many bytes.
    MeanUpTo(u64),
    /// All blocks together have at most this many bytes.
    TotalUpTo(u64),
    /// At most this many elements.
    CountUpTo(u64),
    /// Fewer elements than the greatest power of two not above the number of ranks.
    CountBelowPowerOfTwo,
    /// Whether the operator commutes.
    Commutes(bool),
    /// A condition with a fixed result among ranks whose places are ignored.
    Is(bool),
}

/// Contents of one node of a selection file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Branch {
    /// The first condition that holds selects its branch; otherwise the library chooses.
    Questions(Vec<(Condition, Branch)>),
    /// An algorithm.
    Takes(Method),
    /// An algorithm with this name, for which there is no schedule.
    Absent(String),
}

/// Values for the conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectionContext {
    /// Size of the communicator.
    pub ranks: u32,
    /// Bytes of the buffer, or of the mean block.
    pub mean: u64,
    /// Bytes of all blocks together, or of the buffer.
    pub total: u64,
    /// Bytes of an element; at least 1.
    pub element: u32,
    /// Whether contributions must be combined in order of ranks.
    pub ordered: bool,
}

/// Contents of a selection file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// One entry per collective.
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
    /// Method of `collective`; `None` if the library chooses.
    ///
    /// # Errors
    /// The name of the algorithm, if there is no schedule for it.
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
