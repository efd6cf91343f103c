//! Time of a context switch between ranks that share a core, derived from messages between such ranks.
//!
//! During a message between two ranks on one core, only this one core can process the message. The latency of a
//! ping-pong is therefore core time: the sender polls and finds no message, the operating system switches to the
//! receiver, and the receiver polls. The duration of this sequence is the `context_switch` of a platform. The context
//! switch does not depend on the event for which the receiver waits.

use mcpsim_core::platform::Level;

use super::campaign::LevelPlan;
use super::link::{LinkFit, RowFit};
use super::statistics::Summary;
use super::topology::HostPlace;

/// Greatest message size in bytes for which the latency is only core time, because the bytes take negligible time.
const SMALL: u64 = 64;

/// Least latency in seconds after the context switch is subtracted: a message between ranks on one core uses no wire.
const LEAST: f64 = 1e-9;

impl LevelPlan {
    /// Returns true if the ranks of the level's measured pairs are bound to one CPU.
    pub fn shares_cpu(&self, places: &[HostPlace]) -> bool {
        let shares = |rank: u32, other: u32| places[rank as usize].shares_cpu(&places[other as usize]);
        self.level == Level::IntraCmp && self.pairs.iter().all(|pair| shares(pair.first, pair.second))
    }
}

impl LinkFit {
    /// Converts the fitted message costs to ranks that share a core. The context switch is the median latency of
    /// messages of 1 to 64 B, and is subtracted from the latency of all table rows. If a row has a lower latency, the
    /// remaining part of the context switch is subtracted from the receive overhead.
    pub fn on_shared_core(mut self) -> LinkFit {
        let row_of = |size: u64| self.rows.iter().find(|row| row.up_to.is_none_or(|end| size <= end));
        let latency = |size: u64| row_of(size).expect("the last row has no end").columns[0].0;
        let latencies: Vec<f64> = (0..=SMALL.ilog2()).map(|log| latency(1 << log)).collect();
        let switch = Summary::of(&latencies).expect("there are sizes").median;
        let without = |row: &mut RowFit| {
            let latency = row.columns[0].0;
            row.recv_overhead = (row.recv_overhead - (switch - latency).max(0.0)).max(0.0);
            row.columns[0].0 = (latency - switch).max(LEAST);
        };
        self.rows.iter_mut().for_each(without);
        self.effects.context_switch = Some(switch);
        self
    }
}
