//! Immediate calls: the simulator answers a call during the program's turn, without a switch or a copy.

use super::call::{Call, Reply};

/// The engine during a program's turn.
pub trait Simulator {
    /// Executes the program's next call, if it can be answered immediately. Parts that are taken out of `call` are
    /// replaced by values that need no drop.
    fn ask(&mut self, call: &mut Call) -> Immediate<'_>;
}

/// Result of an immediate call.
#[derive(Debug)]
pub enum Immediate<'a> {
    /// The call was executed; this is its reply.
    Replied(Reply<'a>),
    /// The call takes simulated time. The program gets the reply in its next turn.
    Waits,
    /// The call was not executed. The call is unchanged and ends the program's turn.
    Refused,
}
