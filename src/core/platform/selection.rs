//! MPICH's selection files as data: questions about a collective, and the algorithm that their answers lead to.

use super::rules::{Collective, Method};

/// A question of a selection file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// At most so many ranks.
    RanksUpTo(u64),
    /// A power of two of them.
    RanksArePowerOfTwo,
    /// The buffer, or the mean block, of at most so many bytes.
    MeanUpTo(u64),
    /// All blocks together of at most so many bytes.
    TotalUpTo(u64),
    /// At most so many elements.
    CountUpTo(u64),
    /// Fewer elements than the greatest power of two up to the ranks.
    CountBelowPowerOfTwo,
    /// Whether the operator commutes.
    Commutes(bool),
    /// What is always so, or never, among ranks whose places do not count.
    Is(bool),
}

/// What a selection file has at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Branch {
    /// The first question that is answered by yes leads on; where none is, the library chooses.
    Questions(Vec<(Condition, Branch)>),
    /// An algorithm.
    Takes(Method),
    /// One of this name, which there is no schedule for.
    Absent(String),
}

/// What the questions are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectionContext {
    /// The communicator's size.
    pub ranks: u32,
    /// Bytes: the buffer, or the mean block.
    pub mean: u64,
    /// Bytes of all blocks together, or the same.
    pub total: u64,
    /// Bytes of an element; at least 1.
    pub element: u32,
    /// Whether contributions must be combined in order of ranks.
    pub ordered: bool,
}

/// The content of a selection file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// By collective, each once.
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
    /// The method for `collective`; none where the library chooses.
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
