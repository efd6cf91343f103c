//! Errors of similar predictions over several validation cases, and coverage of the ranges that follow from them.

use serde::Serialize;

use super::Validation;
use crate::profile::{CaseRatios, DominantPart, LeftOutCoverage};

/// Errors of the predictions whose critical path is dominated by the same part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SimilarErrors {
    /// Part that dominates the critical path.
    pub dominant: DominantPart,
    /// Ends of the likely range of measured / predicted time.
    pub range: [f64; 2],
    /// Coverage of the ranges if each case is left out.
    pub left_out: LeftOutCoverage,
}

impl SimilarErrors {
    /// Returns the errors by dominant part. Parts with too few cases are omitted.
    pub fn of(validations: &[Validation]) -> Vec<SimilarErrors> {
        let errors = |dominant: DominantPart| {
            let mut ratios = CaseRatios::default();
            for validation in validations {
                let predicted = validation.points.iter().filter(|point| !point.given);
                for point in predicted.filter(|point| point.dominant == Some(dominant)) {
                    ratios.add(&validation.case, point.measured_s / point.predicted_s[0]);
                }
            }
            Some(SimilarErrors { dominant, range: ratios.range()?, left_out: ratios.left_out()? })
        };
        DominantPart::ALL.into_iter().filter_map(errors).collect()
    }
}
