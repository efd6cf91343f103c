//! Messages between managers of fragments. The tag of a message encodes its contents: a kind of 4 bits and a number of
//! 28 bits. A message has the size that a real one would have, but no data.

use crate::rank::{Rank, Tag};

use super::graph::{Data, Fragment};

/// Greatest number of times that a message states a fragment was forwarded. Kinds 0 to `MOST_HOPS` are fragments that
/// dynamic locators have forwarded this many times.
pub(super) const MOST_HOPS: u8 = 5;
const NUMBER_BITS: u32 = 28;
const NUMBER: u32 = (1 << NUMBER_BITS) - 1;
/// Number of low bits in the number of a request for work that contain the number of visited processes. The upper bits
/// contain the thief.
const TRIES_BITS: u32 = 8;
/// Greatest number of processes with work stealing, which is limited by the bits in a request for work.
pub(super) const MOST_THIEVES: u32 = 1 << (NUMBER_BITS - TRIES_BITS);

/// A message between the managers of two processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Note {
    /// A migrating fragment.
    Fragment(Fragment, Settled),
    /// A request for data, sent to the process that stores them.
    Request(Data),
    /// Data, sent to the process that stores them or to a requester.
    Data(Data),
    /// A request for work: the process that sent it, and the number of processes that it has visited.
    Steal(Rank, u8),
    /// The answer to a request for work that found none.
    Nothing,
    /// The sender has executed this number of further fragments.
    Count(u32),
    /// All fragments have been executed: the receiver must stop sending requests for work.
    Quiet,
    /// The end of the program.
    Stop,
    /// A fragment of the work queue was executed.
    Finished(Fragment),
}

/// Whether an arriving fragment may be forwarded to another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// The fragment may be forwarded. Dynamic locators have forwarded it this many times.
    No(u8),
    /// The fragment was sent for execution on this process.
    Yes,
    /// The fragment was sent in answer to a request for work.
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
