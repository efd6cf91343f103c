//! How far a worker may go before it must hear of the others.

use crate::units::{SimSpan, SimTime};

/// The conservative window: what happens at a node before the least next event of all workers plus the lookahead cannot be
/// changed by another node (Chandy and Misra 1979; the window form after Nicol 1993).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    lookahead: Option<SimSpan>,
}

impl Horizon {
    /// For several workers.
    ///
    /// # Panics
    /// If the lookahead is zero: no window would ever end.
    pub fn new(lookahead: SimSpan) -> Self {
        assert!(lookahead > SimSpan::ZERO, "several workers need a lookahead");
        Horizon { lookahead: Some(lookahead) }
    }

    /// For one worker, whose window never ends.
    pub fn unbounded() -> Self {
        Horizon { lookahead: None }
    }

    /// The end (exclusive) of the window in which `least` is the earliest event of all workers.
    pub fn end(self, least: SimTime) -> SimTime {
        match self.lookahead {
            Some(lookahead) => least + lookahead,
            None => SimTime::NEVER,
        }
    }
}
