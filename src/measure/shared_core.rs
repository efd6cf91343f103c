//! Ranks that share a core: what messages between them tell of that core.
//!
//! While a message goes from one rank to another on the same core, nothing but this core can do anything for it. So
//! what a ping-pong has for a latency is the core's time: the sender looks for messages and finds none, the system
//! changes to the receiver, which looks as well. That is a `context_switch`, and it is paid whatever was waited for.

use mcpsim_core::engine::RunError;
use mcpsim_core::platform::{Level, Platform, Shape, Site};

use super::campaign::{CampaignPlan, LevelPlan};
use super::link::{LinkFit, RowFit};
use super::samples::Samples;
use super::simulated::simulate;
use super::topology::{HostPlace, sites};

/// The sizes whose latency is that of the core alone: what they carry costs nothing beside.
const SMALL: u64 = 64;

/// The latency that remains, seconds: a message between such ranks has no wire.
const LEAST: f64 = 1e-9;

impl LevelPlan {
    /// Whether what is measured of the level is between ranks that are bound to one core.
    pub fn shares_core(&self, places: &[HostPlace]) -> bool {
        let shares = |rank: u32, other: u32| places[rank as usize].shares_core(&places[other as usize]);
        self.level == Level::IntraCmp && self.pairs.iter().all(|pair| shares(pair.first, pair.second))
    }
}

impl LinkFit {
    /// The same of ranks that share a core: its switch is the median of what messages of 1 to 64 B have for a latency,
    /// and is no part of any row. Where a row has less than that, its receiver waits for the switch in its overhead.
    pub fn on_shared_core(mut self) -> LinkFit {
        let row_of = |size: u64| self.rows.iter().find(|row| row.up_to.is_none_or(|end| size <= end));
        let mut latencies: Vec<f64> =
            (0..=SMALL.ilog2()).filter_map(|log| Some(row_of(1 << log)?.columns[0].0)).collect();
        latencies.sort_by(f64::total_cmp);
        let Some(&switch) = latencies.get(latencies.len() / 2) else { return self };
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

/// Makes the tests of `plan` on a simulated machine, whose ranks are where those that measured were: as [`simulate`],
/// but where ranks share cores a level at a time, and those that only look on have cores elsewhere, as they sleep.
/// `None` if the machine has too few cores.
///
/// # Errors
/// If a run ends without a result.
pub fn simulate_at(
    platform: &Platform,
    places: &[HostPlace],
    plan: &CampaignPlan,
) -> Result<Option<Samples>, RunError> {
    let Some(sites) = sites(places, platform.shape) else { return Ok(None) };
    if (1..places.len()).all(|rank| !places[..rank].iter().any(|before| before.shares_core(&places[rank]))) {
        return simulate(platform, sites, plan).map(Some);
    }
    let Shape { cores, .. } = platform.shape;
    let roomy = platform.with_shape(Shape { cores: cores + places.len() as u32, ..platform.shape });
    let mut all = Samples::default();
    for level in &plan.levels {
        let tests = |rank: u32| level.pairs.iter().any(|pair| pair.first == rank || pair.second == rank);
        let place = |(rank, site): (u32, &Site)| match tests(rank) {
            true => *site,
            false => Site { core: cores + rank, ..*site },
        };
        let placed = (0..).zip(&sites).map(place).collect();
        let Samples { series, eager, credits, .. } =
            simulate(&roomy, placed, &CampaignPlan { levels: vec![level.clone()], ..plan.clone() })?;
        all.series.extend(series);
        all.eager.extend(eager);
        all.credits.extend(credits);
    }
    Ok(Some(all))
}
