//! Ranks that share a core: what messages between them tell of that core.
//!
//! While a message goes from one rank to another on the same core, nothing but this core can do anything for it. So
//! what a ping-pong has for a latency is the core's time: the sender looks for messages and finds none, the system
//! changes to the receiver, which looks as well. That is a `context_switch`, whatever the receiver has waited for.

use mcpsim_core::platform::Level;

use super::campaign::LevelPlan;
use super::link::{LinkFit, RowFit};
use super::statistics::Summary;
use super::topology::HostPlace;

/// The sizes whose latency is that of the core alone: what they carry costs nothing beside.
const SMALL: u64 = 64;

/// The latency that remains, seconds: a message between such ranks has no wire.
const LEAST: f64 = 1e-9;

impl LevelPlan {
    /// Whether what is measured of the level is between ranks that are bound to one CPU.
    pub fn shares_cpu(&self, places: &[HostPlace]) -> bool {
        let shares = |rank: u32, other: u32| places[rank as usize].shares_cpu(&places[other as usize]);
        self.level == Level::IntraCmp && self.pairs.iter().all(|pair| shares(pair.first, pair.second))
    }
}

impl LinkFit {
    /// The same of ranks that share a core: its switch is the median of what messages of 1 to 64 B have for a latency,
    /// and is no part of any row. Where a row has less than that, its receiver waits for the switch in its overhead.
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
