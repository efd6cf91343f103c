//! What figures of a run are drawn from: the exported JSON, of which only what they need is read.

use serde::Deserialize;

use super::canvas::{Color, PALETTE};

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
    pub path: Option<Path>,
    #[serde(default)]
    pub per_rank: Vec<RankTime>,
    #[serde(default)]
    pub pairs: Option<Vec<Pair>>,
    #[serde(default)]
    pub functions: Option<Vec<Calls>>,
    #[serde(default)]
    pub sites: Option<Vec<Calls>>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Count {
    pub count: u64,
    pub bytes: u64,
    /// How long messages were under way, where that is told.
    #[serde(default)]
    pub time_ps: u64,
}

/// The calls of a function, or of one place of the program.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Calls {
    pub function: String,
    #[serde(default)]
    pub site: Option<String>,
    pub time_ps: u64,
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

/// The parts of the path that determined the time; they sum to it.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Path {
    compute_ps: u64,
    imbalance_ps: u64,
    combine_ps: u64,
    send_ps: u64,
    recv_ps: u64,
    poll_ps: u64,
    levels: Levels,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct Levels {
    intra_cmp: Transfers,
    inter_cmp: Transfers,
    inter_node: Transfers,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct Transfers {
    latency_ps: u64,
    bytes_ps: u64,
    contention_ps: u64,
    protocol_ps: u64,
}

/// What [`Path::kinds`] are called, and their colours.
pub(super) const KINDS: [(&str, Color); 7] = [
    ("compute", PALETTE[0]),
    ("imbalance", PALETTE[4]),
    ("overheads", PALETTE[6]),
    ("latency", PALETTE[1]),
    ("bytes", PALETTE[2]),
    ("contention", PALETTE[5]),
    ("protocol", PALETTE[3]),
];

impl Path {
    /// In the order of [`KINDS`], in seconds: overheads are what messages cost cores, combining and polling included.
    pub fn kinds(&self) -> [f64; 7] {
        let Levels { intra_cmp, inter_cmp, inter_node } = self.levels;
        let all = |part: fn(&Transfers) -> u64| part(&intra_cmp) + part(&inter_cmp) + part(&inter_node);
        let kinds = [
            self.compute_ps,
            self.imbalance_ps,
            self.combine_ps + self.send_ps + self.recv_ps + self.poll_ps,
            all(|parts| parts.latency_ps),
            all(|parts| parts.bytes_ps),
            all(|parts| parts.contention_ps),
            all(|parts| parts.protocol_ps),
        ];
        kinds.map(|ps| ps as f64 / 1e12)
    }

    /// All parts that there are, those of messages by level, in seconds, with their colours.
    pub fn rows(&self) -> Vec<(String, f64, Color)> {
        let own = [
            ("compute", self.compute_ps, KINDS[0].1),
            ("imbalance", self.imbalance_ps, KINDS[1].1),
            ("reduction", self.combine_ps, KINDS[2].1),
            ("send", self.send_ps, KINDS[2].1),
            ("recv", self.recv_ps, KINDS[2].1),
            ("poll", self.poll_ps, KINDS[2].1),
        ];
        let Levels { intra_cmp, inter_cmp, inter_node } = self.levels;
        let levels = [("intra-CMP", intra_cmp), ("inter-CMP", inter_cmp), ("inter-node", inter_node)];
        let of_level = |(level, parts): (&str, Transfers)| {
            let parts = [parts.latency_ps, parts.bytes_ps, parts.contention_ps, parts.protocol_ps];
            let kinds = KINDS[3..].iter().zip(parts);
            kinds.map(|((kind, color), ps)| (format!("{level} {kind}"), ps, *color)).collect::<Vec<_>>()
        };
        let own = own.into_iter().map(|(name, ps, color)| (name.to_owned(), ps, color));
        let all = own.chain(levels.into_iter().flat_map(of_level));
        all.filter(|(_, ps, _)| *ps > 0).map(|(name, ps, color)| (name, ps as f64 / 1e12, color)).collect()
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
