//! What figures of a run are drawn from: the exported JSON, of which only what they need is read.

use serde::Deserialize;

/// A run's Outcome as exported.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Run {
    pub app: String,
    pub platform: String,
    pub nct: [u64; 3],
    pub ranks: u64,
    pub predicted_ps: u64,
    pub messages: Count,
    pub profile: Vec<Interval>,
    pub mean_parts: Parts,
    #[serde(default)]
    pub per_rank: Vec<RankTime>,
    #[serde(default)]
    pub pairs: Option<Vec<Pair>>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Count {
    pub count: u64,
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Interval {
    pub above: u64,
    pub up_to: Option<u64>,
    pub intra_cmp: Count,
    pub inter_cmp: Count,
    pub inter_node: Count,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Parts {
    pub compute_ps: u64,
    pub send_ps: u64,
    pub recv_ps: u64,
    pub wait_ps: u64,
    pub collective_ps: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct RankTime {
    pub rank: u64,
    pub node: u64,
    #[serde(flatten)]
    pub parts: Parts,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Pair {
    pub from: u64,
    pub to: u64,
    pub count: u64,
    pub bytes: u64,
}

/// What parts are called, in the order in which they are drawn.
pub(super) const PARTS: [&str; 5] = ["compute", "send", "recv", "wait", "collective"];

impl Parts {
    /// In the order of [`PARTS`], in seconds.
    pub fn seconds(&self) -> [f64; 5] {
        let parts = [self.compute_ps, self.send_ps, self.recv_ps, self.wait_ps, self.collective_ps];
        parts.map(|ps| ps as f64 / 1e12)
    }
}

impl Run {
    /// What was run, and where.
    pub fn title(&self) -> String {
        let [nodes, cmps, cores] = self.nct;
        let ranks = super::super::numbers::count(self.ranks);
        let s = if self.ranks == 1 { "" } else { "s" };
        format!("{}: {ranks} rank{s} on {} ({nodes}, {cmps}, {cores})", self.app, self.platform)
    }

    /// The predicted time in seconds.
    pub fn predicted(&self) -> f64 {
        self.predicted_ps as f64 / 1e12
    }
}
