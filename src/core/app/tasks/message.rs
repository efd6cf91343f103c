//! What managers tell each other. A message's tag says what it is: four bits of kind, 28 of a number. Its size is what
//! such a message would have; it carries no data.

use crate::rank::{Rank, Tag};

use super::graph::{Data, Fragment};

/// Kinds 0 to [`MOST_HOPS`]: a fragment that dynamic locators passed on so often.
pub(super) const MOST_HOPS: u8 = 5;
const NUMBER_BITS: u32 = 28;
const NUMBER: u32 = (1 << NUMBER_BITS) - 1;
/// A request for work says who asks in the upper bits of its number, how many were asked in the lower ones.
const TRIES_BITS: u32 = 8;
/// More processes could not be told apart in a request for work.
pub(super) const MOST_THIEVES: u32 = 1 << (NUMBER_BITS - TRIES_BITS);

/// A message between managers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Note {
    /// A fragment migrates.
    Fragment(Fragment, Settled),
    /// Data is asked for where it is kept.
    Request(Data),
    /// Data, to where it is kept or to who asked for it.
    Data(Data),
    /// A process asks for work, having asked so many.
    Steal(Rank, u8),
    /// There was no work.
    Nothing,
    /// So many more fragments have been executed.
    Count(u32),
    /// All fragments have been executed: no more requests for work.
    Quiet,
    /// The end.
    Stop,
    /// The work queue's fragment has been executed.
    Finished(Fragment),
}

/// Whether a fragment that arrives may go on to another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// It may; so often was it passed on by dynamic locators.
    No(u8),
    /// It was sent to be executed there.
    Yes,
    /// It was sent because of a request for work, which is answered with it.
    Answer,
}

impl Note {
    pub fn tag(self) -> Tag {
        let (kind, number) = match self {
            Note::Fragment(fragment, Settled::No(hops)) => (u32::from(hops.min(MOST_HOPS)), fragment),
            Note::Fragment(fragment, Settled::Yes) => (6, fragment),
            Note::Fragment(fragment, Settled::Answer) => (7, fragment),
            Note::Request(data) => (8, data),
            Note::Data(data) => (9, data),
            Note::Steal(thief, tries) => (10, thief << TRIES_BITS | u32::from(tries)),
            Note::Nothing => (11, 0),
            Note::Count(count) => (12, count),
            Note::Quiet => (13, 0),
            Note::Stop => (14, 0),
            Note::Finished(fragment) => (15, fragment),
        };
        kind << NUMBER_BITS | number
    }

    pub fn of(tag: Tag) -> Note {
        let number = tag & NUMBER;
        match (tag >> NUMBER_BITS) as u8 {
            6 => Note::Fragment(number, Settled::Yes),
            7 => Note::Fragment(number, Settled::Answer),
            8 => Note::Request(number),
            9 => Note::Data(number),
            10 => Note::Steal(number >> TRIES_BITS, number as u8),
            11 => Note::Nothing,
            12 => Note::Count(number),
            13 => Note::Quiet,
            14 => Note::Stop,
            15 => Note::Finished(number),
            hops => Note::Fragment(number, Settled::No(hops)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::MOST;
    use super::*;

    #[test]
    fn tags_say_what_a_message_is() {
        let all = [
            Note::Fragment(MOST - 1, Settled::No(0)),
            Note::Fragment(7, Settled::No(MOST_HOPS)),
            Note::Fragment(0, Settled::Yes),
            Note::Fragment(1, Settled::Answer),
            Note::Request(MOST - 1),
            Note::Data(0),
            Note::Steal(MOST_THIEVES - 1, 255),
            Note::Nothing,
            Note::Count(MOST),
            Note::Quiet,
            Note::Stop,
            Note::Finished(MOST - 1),
        ];
        for note in all {
            assert_eq!(Note::of(note.tag()), note);
            assert!(note.tag() < Tag::MAX);
        }
    }
}
