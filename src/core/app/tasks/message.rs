//! Messages between managers. The tag encodes the message: 4 bits of kind, 28 bits of number. The size is that of a
//! real message; there are no data.

use crate::rank::{Rank, Tag};

use super::graph::{Data, Fragment};

/// Kinds 0 to [`MOST_HOPS`]: a fragment that dynamic locators have forwarded this many times.
pub(super) const MOST_HOPS: u8 = 5;
const NUMBER_BITS: u32 = 28;
const NUMBER: u32 = (1 << NUMBER_BITS) - 1;
/// A request for work stores the thief in the upper bits of its number and the number of visited processes in the
/// lower bits.
const TRIES_BITS: u32 = 8;
/// Greatest number of processes that fits in a request for work.
pub(super) const MOST_THIEVES: u32 = 1 << (NUMBER_BITS - TRIES_BITS);

/// A message between managers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Note {
    /// A migrating fragment.
    Fragment(Fragment, Settled),
    /// A request for data at the process that stores them.
    Request(Data),
    /// Data, sent to the process that stores them or to a requester.
    Data(Data),
    /// A request for work by this process, after visiting this many.
    Steal(Rank, u8),
    /// No work was found.
    Nothing,
    /// This many more fragments were executed.
    Count(u32),
    /// All fragments were executed: no more requests for work.
    Quiet,
    /// The end of the program.
    Stop,
    /// A fragment of the work queue was executed.
    Finished(Fragment),
}

/// Whether an arriving fragment may be forwarded to another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// May be forwarded; dynamic locators have forwarded it this many times.
    No(u8),
    /// Was sent for execution at this process.
    Yes,
    /// Was sent in answer to a request for work.
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

    pub fn from_tag(tag: Tag) -> Note {
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
            assert_eq!(Note::from_tag(note.tag()), note);
            assert!(note.tag() < Tag::MAX);
        }
    }
}
