//! Messages between the task managers of simulated MPI processes. The tag of a message encodes its content: a message
//! type of 4 bits and an integer of 28 bits. A message has the size of the real message, but contains no data.

use crate::rank::{Rank, Tag};

use super::graph::{Data, Fragment};

/// Greatest forwarding count that a message can state for a fragment. Message types 0 to `MOST_HOPS` mean a fragment
/// that dynamic locators have forwarded this many times.
pub(super) const MOST_HOPS: u8 = 5;
const NUMBER_BITS: u32 = 28;
const NUMBER: u32 = (1 << NUMBER_BITS) - 1;
/// Number of low bits in the integer of a request for work that state the number of visited processes. The upper bits
/// state the thief.
const TRIES_BITS: u32 = 8;
/// Greatest number of processes with work stealing. The limit follows from the number of bits in a request for work.
pub(super) const MOST_THIEVES: u32 = 1 << (NUMBER_BITS - TRIES_BITS);

/// A message between the task managers of two simulated MPI processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Note {
    /// A computation fragment that moves to the receiver.
    Fragment(Fragment, Settled),
    /// A request for a data fragment, sent to the process that stores the data fragment.
    Request(Data),
    /// A data fragment, sent to the process that stores it or to a process that requested it.
    Data(Data),
    /// A request for work: the process that sent the request, and the number of processes that the request has visited.
    Steal(Rank, u8),
    /// The answer to an unsuccessful request for work.
    Nothing,
    /// The sender has executed this number of fragments since its last report.
    Count(u32),
    /// All fragments have been executed. The receiver must stop sending requests for work.
    Quiet,
    /// The program of the receiver ends.
    Stop,
    /// The sender has executed this fragment of the central work queue.
    Finished(Fragment),
}

/// Whether the receiving process may forward an arriving fragment to another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// The receiver may forward the fragment. Dynamic locators have already forwarded it this many times.
    No(u8),
    /// The fragment was sent to the receiver for execution.
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
