//! Errors in the MPI calls of a real program, which mcpsim reports without ending the run.

use std::fmt;

use serde::{Deserialize, Serialize};

use mcpsim_base::rank::Rank;

/// An error of one rank, detected in an MPI call of the rank.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Mistake {
    /// The rank that made the call.
    pub rank: Rank,
    /// Kind of the error.
    pub kind: MistakeKind,
    /// Name of the MPI function; empty if unknown.
    pub call: String,
    /// File and line of the call, if debug information exists.
    pub place: Option<String>,
    /// Details of the error: the objects, or the found and the expected values.
    pub text: String,
}

/// Kinds of errors in MPI calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MistakeKind {
    /// A nonblocking operation was started and never completed.
    UnfinishedRequest,
    /// An MPI object was not freed before MPI_Finalize.
    Leak,
    /// Ranks called different collectives, or the same collective with different arguments.
    CollectiveMismatch,
    /// The datatypes of a message's sender and receiver differ.
    TypeMismatch,
    /// An MPI function returned an error code.
    MpiError,
    /// The rank waits forever.
    Deadlock,
    /// The rank called MPI_Abort.
    Abort,
    /// The rank ended without MPI_Finalize.
    Exit,
    /// Two one-sided operations of one epoch reach the same bytes, and their order matters.
    AccessConflict,
    /// The program wrote bytes outside a block of heap memory.
    HeapDamage,
    /// The rank crashed.
    Crash,
}

impl MistakeKind {
    fn words(self) -> &'static str {
        match self {
            MistakeKind::UnfinishedRequest => "never completed",
            MistakeKind::Leak => "not freed",
            MistakeKind::CollectiveMismatch => "collectives that differ",
            MistakeKind::TypeMismatch => "datatypes that differ",
            MistakeKind::MpiError => "error",
            MistakeKind::Deadlock => "deadlock",
            MistakeKind::Abort => "MPI_Abort",
            MistakeKind::Exit => "exit without MPI_Finalize",
            MistakeKind::AccessConflict => "conflicting accesses",
            MistakeKind::HeapDamage => "damaged heap",
            MistakeKind::Crash => "crash",
        }
    }
}

impl Mistake {
    /// Splits the position of a rank, such as "MPI_Recv at ring.c:42", into the call and its source position.
    pub fn call_and_place(position: &str) -> (String, Option<String>) {
        match position.split_once(" at ") {
            Some((call, place)) => (call.to_owned(), Some(place.to_owned())),
            None => (position.to_owned(), None),
        }
    }

    /// Returns one line for each distinct error, with the number of ranks that made the error, in the order of the
    /// first rank with the error.
    pub fn lines(mistakes: &[Mistake]) -> Vec<String> {
        let mut groups: Vec<(&Mistake, usize)> = Vec::new();
        for mistake in mistakes {
            let alike = |(first, _): &&mut (&Mistake, usize)| {
                (first.kind, &first.call, &first.place, &first.text)
                    == (mistake.kind, &mistake.call, &mistake.place, &mistake.text)
            };
            match groups.iter_mut().find(alike) {
                Some((_, ranks)) => *ranks += 1,
                None => groups.push((mistake, 1)),
            }
        }
        let line = |(mistake, ranks): (&Mistake, usize)| match ranks {
            1 => mistake.to_string(),
            2 => format!("{mistake} and 1 other"),
            ranks => format!("{mistake} and {} others", ranks - 1),
        };
        groups.into_iter().map(line).collect()
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.words(), self.text)?;
        match (self.call.is_empty(), &self.place) {
            (true, _) => {}
            (false, None) => write!(f, ", {}", self.call)?,
            (false, Some(place)) => write!(f, ", {} at {place}", self.call)?,
        }
        write!(f, ", rank {}", self.rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_that_ranks_make_alike_are_one_line() {
        let made = |rank, line: &str| Mistake {
            rank,
            kind: MistakeKind::Leak,
            call: "MPI_Irecv".to_owned(),
            place: Some(format!("ring.c:{line}")),
            text: "1 request".to_owned(),
        };
        let lines = Mistake::lines(&[made(0, "3"), made(0, "4"), made(1, "3"), made(2, "3")]);
        let expected = [
            "not freed: 1 request, MPI_Irecv at ring.c:3, rank 0 and 2 others",
            "not freed: 1 request, MPI_Irecv at ring.c:4, rank 0",
        ];
        assert_eq!(lines, expected);
        assert_eq!(Mistake::call_and_place("MPI_Recv at a.c:7"), ("MPI_Recv".to_owned(), Some("a.c:7".to_owned())));
        assert_eq!(Mistake::call_and_place("main[2]"), ("main[2]".to_owned(), None));
    }
}
