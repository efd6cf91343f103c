//! Threads of a recorded rank that take turns on the cores of the rank.

use super::program::LogProgram;
use crate::rank::{Call, Called, Describe, Program, Reply, forward_reports};
use crate::trace::cores::{CoreTurns, CoreUser, SharedCores};
use crate::units::SimSpan;

/// Program of a thread that shares the cores of its rank with other threads.
pub(super) struct ThreadOnCores {
    thread: LogProgram,
    turns: CoreTurns,
}

impl ThreadOnCores {
    pub fn new(thread: LogProgram, cores: SharedCores) -> ThreadOnCores {
        ThreadOnCores { thread, turns: CoreTurns::new(cores) }
    }
}

impl CoreUser for LogProgram {
    fn next_call(&mut self, reply: Reply<'_>) -> Call {
        self.next(reply)
    }

    fn block(&self, call: &Call) -> SimSpan {
        if let Call::Code(span) = call { *span } else { SimSpan::ZERO }
    }

    fn part(&self, part: SimSpan) -> Call {
        Call::Code(part)
    }
}

impl Program for ThreadOnCores {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        self.turns.next(&mut self.thread, reply)
    }
}

impl Describe for ThreadOnCores {
    forward_reports!(self, self.thread);

    /// Calls by which the thread takes and releases a core are not calls of the program.
    fn is_profiled(&self) -> bool {
        self.turns.is_own() && self.thread.is_profiled()
    }

    fn is_thread(&self) -> bool {
        self.thread.is_thread()
    }

    fn thread(&self) -> Option<u32> {
        self.thread.thread()
    }

    fn called(&mut self) -> Option<Called> {
        self.thread.called()
    }
}
