//! Immediate calls. The simulator answers an immediate call during the program's turn, without a switch of stacks and
//! without a copy of the call.

use super::call::{Call, Reply};
use crate::units::SimSpan;

/// The simulator as seen by a program during the program's turn.
pub trait Simulator {
    /// Executes the program's next call, if the simulator can answer it immediately. Fields that are taken out of
    /// `call` are replaced by values that need no drop.
    fn ask(&mut self, call: &mut Call) -> Immediate<'_>;

    /// Counts a block of real code before a call of the function `before`, if the simulator has statistics of such
    /// blocks. The program then asks for the execution of the block.
    fn count_code(&mut self, _span: SimSpan, _before: &'static str) {}
}

/// Answer of the simulator to an immediate call.
#[derive(Debug)]
pub enum Immediate<'a> {
    /// The simulator has executed the call and gives this reply.
    Replied(Reply<'a>),
    /// The call takes virtual time. The program gets the reply in its next turn.
    Waits,
    /// The simulator has not executed the call. The call is unchanged and ends the program's turn.
    Refused,
}
