//! How far a worker may go before it must hear of the others.

use crate::units::{SimSpan, SimTime};

/// The conservative window: nothing that happens at a worker before its end can be changed by another worker (Chandy
/// and Misra 1979; the window form after Nicol 1993).
///
/// Another worker's next event can have an effect here no sooner than a lookahead after it; what this worker itself
/// does next can come back to it no sooner than two lookaheads after it.
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

    /// The end (exclusive) of the window of a worker whose next event is at `own`, where the earliest of the others' is
    /// at `others`.
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
