//! Input of the figures of a run: the time parts of an Outcome in seconds, with their names and colours.

use crate::engine::Outcome;
use crate::profile::{PathParts, TimeParts, TransferParts};
use crate::units::SimSpan;

use super::canvas::Color;
use crate::report::palette::{
    BYTES, COMPUTE, CONTENTION, IMBALANCE, LATENCY, OVERHEADS, POLL, PROTOCOL, RECV, REDUCTION, SEND,
};

/// Names of the time parts, in drawing order.
pub(super) const PARTS: [&str; 5] = ["compute", "send", "recv", "wait", "collective"];

/// Returns the time parts of a rank in the order of [`PARTS`], in seconds.
pub(super) fn part_seconds(parts: &TimeParts) -> [f64; 5] {
    [parts.compute, parts.send, parts.recv, parts.wait, parts.collective].map(seconds)
}

/// Names and colours of the critical path's parts that [`path_kinds`] returns.
pub(super) const KINDS: [(&str, Color); 7] = [
    ("compute", COMPUTE),
    ("imbalance", IMBALANCE),
    ("overheads", OVERHEADS),
    ("latency", LATENCY),
    ("bytes", BYTES),
    ("contention", CONTENTION),
    ("protocol", PROTOCOL),
];

/// Returns the parts of a critical path in the order of [`KINDS`], in seconds. Overheads are the core times of
/// messages, reductions and polling.
pub(super) fn path_kinds(path: &PathParts) -> [f64; 7] {
    let levels = [path.levels.intra_cmp, path.levels.inter_cmp, path.levels.inter_node];
    let all = |part: fn(&TransferParts) -> SimSpan| levels.iter().map(part).sum::<SimSpan>();
    let kinds = [
        path.compute,
        path.imbalance,
        path.combine + path.send + path.recv + path.poll,
        all(|parts| parts.latency),
        all(|parts| parts.bytes),
        all(|parts| parts.contention),
        all(|parts| parts.protocol),
    ];
    kinds.map(seconds)
}

/// Returns all nonzero parts of a critical path in seconds, with their colours. The parts of messages are divided by
/// network level.
pub(super) fn path_rows(path: &PathParts) -> Vec<(String, f64, Color)> {
    let own = [
        ("compute", path.compute, COMPUTE),
        ("imbalance", path.imbalance, IMBALANCE),
        ("reduction", path.combine, REDUCTION),
        ("send", path.send, SEND),
        ("recv", path.recv, RECV),
        ("poll", path.poll, POLL),
    ];
    let levels = [
        ("intra-CMP", path.levels.intra_cmp),
        ("inter-CMP", path.levels.inter_cmp),
        ("inter-node", path.levels.inter_node),
    ];
    let of_level = |(level, parts): (&str, TransferParts)| {
        let parts = [parts.latency, parts.bytes, parts.contention, parts.protocol];
        let kinds = KINDS[3..].iter().zip(parts);
        kinds.map(|((kind, color), span)| (format!("{level} {kind}"), span, *color)).collect::<Vec<_>>()
    };
    let own = own.into_iter().map(|(name, span, color)| (name.to_owned(), span, color));
    let all = own.chain(levels.into_iter().flat_map(of_level));
    all.filter(|(_, span, _)| *span > SimSpan::ZERO).map(|(name, span, color)| (name, seconds(span), color)).collect()
}

fn seconds(span: SimSpan) -> f64 {
    span.as_ps() as f64 / 1e12
}

/// Returns the title of a run's figures, which names the application and the machine.
pub(super) fn run_title(run: &Outcome) -> String {
    let [nodes, cmps, cores] = run.nct;
    let ranks = super::super::numbers::count(run.ranks.into());
    let s = if run.ranks == 1 { "" } else { "s" };
    format!("{}: {ranks} rank{s} on {} ({nodes}, {cmps}, {cores})", run.app, run.platform)
}

/// Returns the predicted time of a run in seconds.
pub(super) fn predicted_seconds(run: &Outcome) -> f64 {
    run.predicted.as_ps() as f64 / 1e12
}
