//! Calls that are answered immediately: the program keeps its turn, without a switch or a copy.

use super::call::{Call, Reply};

/// The engine during a program's turn.
pub trait Simulator {
    /// Makes the program's next call. Parts taken out of it are replaced by values that need no drop.
    fn ask(&mut self, call: &mut Call) -> Immediate<'_>;
}

/// Result of an immediate call.
#[derive(Debug)]
pub enum Immediate<'a> {
    /// The reply.
    Replied(Reply<'a>),
    /// The reply takes time and is passed to the program's next turn.
    Waits,
    /// Not executed: the call is unchanged and ends the program's turn.
    Refused,
}
