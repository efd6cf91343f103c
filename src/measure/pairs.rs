//! Message times of each pair of ranks: the tests of PARUS' `network_test2`, implemented on a [`PairPort`].
//!
//! ```text
//! Parameters ─ rounds ─▶ which pairs at a time ─ campaign(PairPort) ─▶ rows of each rank ─▶ four matrices a length
//! ```

mod campaign;
mod port;
mod protocol;
mod rounds;
mod simulated;
#[cfg(test)]
mod tests;

pub use campaign::{Check, MeasuredPairs, PairPlan, measure_length};
pub use port::PairPort;
pub use rounds::{Round, rounds};
pub(super) use simulated::answer;
pub use simulated::simulate_length;
