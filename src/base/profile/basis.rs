//! Basis of a prediction: origins of the parameters that determine the critical path, the part that dominates the path,
//! and the errors of similar validated predictions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::PathParts;
use crate::units::SimSpan;

/// Basis of a prediction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Basis {
    /// Shares of the critical path by the origin of the parameters that determine the time.
    pub shares: BasisShares,
    /// Part that dominates the critical path; `None` for a path without length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dominant: Option<DominantPart>,
    /// Range that contains about nine of ten measured times if the errors are like those of similar validation cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likely: Option<LikelyTimes>,
    /// Predicted times, in seconds and to first order, if memory bounds nothing or all of a real program's code; `None`
    /// if they differ little, or if the user states the part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bound_s: Option<[f64; 2]>,
}

/// Shares of the critical path by the origin of the parameters that determine the time, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BasisShares {
    /// Times that the application states, or that a trace contains.
    pub application: f64,
    /// Parameters that the platform file marks as measured.
    pub measured: f64,
    /// Parameters that the platform file marks as published.
    pub published: f64,
    /// Parameters that the platform file marks as assumed.
    pub assumed: f64,
    /// Parameters that the platform file or an option states without an origin.
    pub unmarked: f64,
    /// Parameters with default values.
    pub default: f64,
}

/// Likely range of the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LikelyTimes {
    /// Number of validation cases with the same dominant part.
    pub cases: u32,
    /// Lower end in seconds.
    pub low_s: f64,
    /// Upper end in seconds.
    pub high_s: f64,
}

/// Part that dominates the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DominantPart {
    /// Computing outside collectives.
    Computing,
    /// Bytes of messages between nodes, and contention.
    LargeMessages,
    /// Latencies, protocols and overheads of messages between nodes.
    SmallMessages,
    /// Messages within nodes.
    WithinNode,
}

impl DominantPart {
    /// All parts in the order of reports.
    pub const ALL: [DominantPart; 4] =
        [DominantPart::Computing, DominantPart::LargeMessages, DominantPart::SmallMessages, DominantPart::WithinNode];

    /// Returns the part that dominates `path`; `None` for a path without length. Overheads count as messages between
    /// nodes if these messages take more of the path than messages within nodes.
    pub fn of(path: &PathParts) -> Option<DominantPart> {
        let within = path.levels.intra_cmp.total() + path.levels.inter_cmp.total();
        let between = path.levels.inter_node;
        let overheads = path.send + path.recv + path.poll + path.combine;
        let is_between = between.total() > within;
        let messages = overheads + if is_between { between.total() } else { within };
        let computing = path.compute + path.imbalance;
        if path.total() == SimSpan::ZERO {
            return None;
        }
        Some(match (computing >= messages, is_between) {
            (true, _) => DominantPart::Computing,
            (false, false) => DominantPart::WithinNode,
            _ if between.bytes + between.contention > between.latency + between.protocol + overheads => {
                DominantPart::LargeMessages
            }
            _ => DominantPart::SmallMessages,
        })
    }

    /// Name in CSV files.
    pub fn name(self) -> &'static str {
        match self {
            DominantPart::Computing => "computing",
            DominantPart::LargeMessages => "large_messages",
            DominantPart::SmallMessages => "small_messages",
            DominantPart::WithinNode => "within_node",
        }
    }

    /// Description in reports.
    pub fn description(self) -> &'static str {
        match self {
            DominantPart::Computing => "computing",
            DominantPart::LargeMessages => "large messages between nodes",
            DominantPart::SmallMessages => "small messages between nodes",
            DominantPart::WithinNode => "messages within nodes",
        }
    }
}

/// Ratios of measured to predicted times in validation cases, by case. All predictions have the same dominant part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseRatios {
    by_case: BTreeMap<String, Vec<f64>>,
}

/// Share of measured times inside the ranges that are computed without their own case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LeftOutCoverage {
    /// Number of cases.
    pub cases: usize,
    /// Number of points.
    pub points: usize,
    /// Points inside the range that the other cases give, in percent.
    pub inside_percent: f64,
    /// Median of the ranges' widths: upper end / lower end.
    pub width: f64,
}

impl CaseRatios {
    /// Least number of cases that give a range.
    pub const LEAST_CASES: usize = 5;

    /// Share of points outside each end of a range. With this share, ranges that are computed without a case contain
    /// about nine tenths of its points. Cases differ from each other more than the points of a case.
    const BEYOND: f64 = 0.03;

    /// Adds the ratio measured / predicted of a point.
    pub fn add(&mut self, case: &str, ratio: f64) {
        self.by_case.entry(case.to_owned()).or_default().push(ratio);
    }

    /// Number of cases.
    pub fn cases(&self) -> usize {
        self.by_case.len()
    }

    /// Returns the range that contains 94 % of the ratios, where all cases have the same weight; `None` for too few
    /// cases.
    pub fn range(&self) -> Option<[f64; 2]> {
        (self.cases() >= Self::LEAST_CASES).then(|| self.range_without(None))
    }

    fn range_without(&self, left_out: Option<&str>) -> [f64; 2] {
        let cases = || self.by_case.iter().filter(|(case, _)| Some(case.as_str()) != left_out);
        let weighted = cases().flat_map(|(_, of)| of.iter().map(|ratio| (*ratio, 1.0 / of.len() as f64)));
        let mut all: Vec<(f64, f64)> = weighted.collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let beyond = Self::BEYOND * cases().count() as f64;
        let end = |sorted: &[(f64, f64)]| {
            let mut weight = 0.0;
            let mut found = sorted.iter().skip_while(|(_, of)| {
                weight += of;
                weight <= beyond
            });
            found.next().map_or(1.0, |found| found.0)
        };
        let low = end(&all);
        all.reverse();
        [low, end(&all)]
    }

    /// Returns the coverage of ranges from the other cases; `None` for too few cases.
    pub fn left_out(&self) -> Option<LeftOutCoverage> {
        if self.cases() < Self::LEAST_CASES {
            return None;
        }
        let (mut points, mut inside, mut widths) = (0, 0, Vec::new());
        for (case, ratios) in &self.by_case {
            let [low, high] = self.range_without(Some(case));
            points += ratios.len();
            inside += ratios.iter().filter(|ratio| low <= **ratio && **ratio <= high).count();
            widths.push(high / low);
        }
        widths.sort_by(f64::total_cmp);
        let inside_percent = inside as f64 / points as f64 * 100.0;
        Some(LeftOutCoverage { cases: self.cases(), points, inside_percent, width: widths[widths.len() / 2] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{LevelParts, TransferParts};

    #[test]
    fn the_greatest_part_of_the_path_dominates() {
        let ps = SimSpan::from_ps;
        let path = |compute, bytes, latency, within| PathParts {
            compute: ps(compute),
            send: ps(5),
            levels: LevelParts {
                intra_cmp: TransferParts { latency: ps(within), ..TransferParts::default() },
                inter_node: TransferParts { latency: ps(latency), bytes: ps(bytes), ..TransferParts::default() },
                ..LevelParts::default()
            },
            ..PathParts::default()
        };
        let of = |path: &PathParts| DominantPart::of(path);
        assert_eq!(of(&PathParts::default()), None);
        assert_eq!(of(&path(100, 60, 30, 10)), Some(DominantPart::Computing));
        assert_eq!(of(&path(90, 60, 30, 10)), Some(DominantPart::LargeMessages));
        // The overhead of 5 ps belongs to small messages.
        assert_eq!(of(&path(10, 60, 56, 10)), Some(DominantPart::SmallMessages));
        assert_eq!(of(&path(10, 10, 20, 40)), Some(DominantPart::WithinNode));
    }

    #[test]
    fn cases_have_equal_weights_and_each_is_left_out_once() {
        let mut ratios = CaseRatios::default();
        for case in ["a", "b", "c", "d"] {
            ratios.add(case, 0.9);
            ratios.add(case, 1.1);
        }
        assert_eq!((ratios.range(), ratios.left_out()), (None, None));
        // A fifth case with many points: its weight is 1 of 5, so its ratios still determine the upper end.
        (0..100).for_each(|_| ratios.add("e", 2.0));
        assert_eq!(ratios.range(), Some([0.9, 2.0]));
        // Without `e` the range is 0.9 to 1.1, which contains no point of `e`; the points of the other cases are inside.
        let found = ratios.left_out().unwrap();
        assert_eq!((found.cases, found.points), (5, 108));
        assert!((found.inside_percent - 8.0 / 108.0 * 100.0).abs() < 1e-9, "{found:?}");
        assert!((found.width - 2.0 / 0.9).abs() < 1e-9, "{found:?}");
    }
}
