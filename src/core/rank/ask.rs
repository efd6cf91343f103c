//! Calls that are answered on the spot: the program keeps its turn, and nothing is switched or copied.

use super::call::{Call, Reply};

/// The engine, while it is a program's turn.
pub trait Simulator {
    /// Makes the program's next call. What is taken out of it leaves nothing there to be dropped.
    fn ask(&mut self, call: &mut Call) -> Immediate<'_>;
}

/// What becomes of a call on the spot.
#[derive(Debug)]
pub enum Immediate<'a> {
    /// The answer.
    Replied(Reply<'a>),
    /// The answer takes time: it comes with the program's next turn.
    Waits,
    /// Nothing: the call is as it was, and ends the program's turn.
    Refused,
}
