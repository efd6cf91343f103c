//! Computation of the end of a worker's window of virtual time.

use mcpsim_base::units::{SimSpan, SimTime};

/// Computes conservative windows: no other worker can change an event of this worker before the end of the window
/// (Chandy and Misra 1979; the window form after Nicol 1993).
///
/// The next event of another worker takes effect at this worker at least one lookahead later. A consequence of this
/// worker's own next event returns to this worker at least two lookaheads later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    lookahead: Option<SimSpan>,
}

impl Horizon {
    /// Creates the horizon of a run with several workers.
    ///
    /// # Panics
    /// The lookahead is zero, so that windows would be empty.
    pub fn new(lookahead: SimSpan) -> Self {
        assert!(lookahead > SimSpan::ZERO, "several workers need a lookahead");
        Horizon { lookahead: Some(lookahead) }
    }

    /// Creates the horizon of a run with a single worker, whose window never ends.
    pub fn unbounded() -> Self {
        Horizon { lookahead: None }
    }

    /// Returns the exclusive end of a worker's window. `own` is the time of the worker's next event, and `others` is
    /// the earliest time of the events of all other workers.
    pub fn end(self, own: SimTime, others: SimTime) -> SimTime {
        match self.lookahead {
            Some(lookahead) => (others + lookahead).min(own + lookahead + lookahead),
            None => SimTime::NEVER,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_a_lookahead_after_the_others_or_two_after_its_own_next_event() {
        let at = SimTime::from_ps;
        let horizon = Horizon::new(SimSpan::from_ps(10));
        assert_eq!(horizon.end(at(100), at(100)), at(110));
        assert_eq!(horizon.end(at(100), at(105)), at(115));
        assert_eq!(horizon.end(at(100), at(500)), at(120));
        assert_eq!(horizon.end(at(100), SimTime::NEVER), at(120));
        assert_eq!(horizon.end(SimTime::NEVER, at(100)), at(110));
        assert_eq!(Horizon::unbounded().end(at(100), at(100)), SimTime::NEVER);
    }
}
