//! Context switch of ranks that share a core, from messages between them.
//!
//! During a message between two ranks on one core, only this core can process it. So the latency of a ping-pong is core
//! time: the sender polls and finds no message, the system switches to the receiver, which also polls. This sequence is
//! a `context_switch`, independent of the event that the receiver waits for.

use mcpsim_core::platform::Level;

use super::campaign::LevelPlan;
use super::link::{LinkFit, RowFit};
use super::statistics::Summary;
use super::topology::HostPlace;

/// Greatest size whose latency is that of the core alone, because its bytes take negligible time.
const SMALL: u64 = 64;

/// Remaining latency, seconds: a message between such ranks uses no wire.
const LEAST: f64 = 1e-9;

impl LevelPlan {
    /// Returns whether the measured pairs of the level are bound to one CPU.
    pub fn shares_cpu(&self, places: &[HostPlace]) -> bool {
        let shares = |rank: u32, other: u32| places[rank as usize].shares_cpu(&places[other as usize]);
        self.level == Level::IntraCmp && self.pairs.iter().all(|pair| shares(pair.first, pair.second))
    }
}

impl LinkFit {
    /// Converts the fit to ranks that share a core. The context switch is the median latency of messages of 1 to 64 B,
    /// and is removed from all rows. If the latency of a row is less, its receive overhead includes a part of the
    /// switch.
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
