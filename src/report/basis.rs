//! Closing lines of a report: origins of the parameters on the critical path, and the likely range of measured times.

use crate::engine::Outcome;
use crate::profile::{Basis, LikelyTimes};
use crate::units::SimSpan;

use super::headline;
use super::numbers::percent;

/// Returns the closing lines; empty if the basis of the prediction is unknown.
pub(super) fn lines(outcome: &Outcome) -> String {
    let Some(basis) = &outcome.basis else { return String::new() };
    rests_on(basis) + &memory_bound(basis) + &likely(basis)
}

/// Column in which values begin, and width of values.
const VALUES: (usize, usize) = (19, 61);

/// Returns a line with a name and a value, which is wrapped.
fn row(name: &str, value: &str) -> String {
    let lines = headline::lines(value, VALUES.1, VALUES.1);
    format!("  {name:<17}{}\n", lines.join(&format!("\n{}", " ".repeat(VALUES.0))))
}

fn rests_on(basis: &Basis) -> String {
    let of = &basis.shares;
    let parts = [
        ("application", of.application),
        ("measured", of.measured),
        ("published", of.published),
        ("assumed", of.assumed),
        ("stated without origin", of.unmarked),
        ("defaults", of.default),
    ];
    let shown = parts.iter().filter(|(_, share)| *share >= 0.0005);
    let text: Vec<String> = shown.map(|(name, share)| format!("{name} {}", percent(*share))).collect();
    if text.is_empty() { String::new() } else { row("rests on", &text.join(", ")) }
}

fn memory_bound(basis: &Basis) -> String {
    let Some(ends) = basis.memory_bound_s else { return String::new() };
    let [low, high] = ends.map(|seconds| SimSpan::from_seconds(seconds).unwrap_or(SimSpan::MAX));
    row("memory", &format!("{low} to {high} for --memory-bound 0 to 1 (first order)"))
}

fn likely(basis: &Basis) -> String {
    let (Some(LikelyTimes { cases, low_s, high_s }), Some(part)) = (basis.likely, basis.dominant) else {
        return String::new();
    };
    let [low, high] = [low_s, high_s].map(|seconds| SimSpan::from_seconds(seconds).unwrap_or(SimSpan::MAX));
    let of = part.description();
    row("likely range", &format!("{low} to {high}, from errors in {cases} validation cases of {of}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{BasisShares, DominantPart};

    #[test]
    fn shares_and_the_range_close_a_report() {
        let shares = BasisShares { measured: 0.624, assumed: 0.375, default: 0.0001, ..BasisShares::default() };
        let likely = Some(LikelyTimes { cases: 7, low_s: 0.0412, high_s: 0.063 });
        let dominant = Some(DominantPart::LargeMessages);
        let basis = Basis { shares, dominant, likely, memory_bound_s: None };
        let mut outcome = Outcome { basis: Some(basis), ..Outcome::default() };
        let expected = "  rests on         measured 62.4%, assumed 37.5%\n  \
                        likely range     41.20 ms to 63.00 ms, from errors in 7 validation cases of\n                   \
                        large messages between nodes\n";
        assert_eq!(lines(&outcome), expected);
        let basis = outcome.basis.as_mut().unwrap();
        (basis.likely, basis.memory_bound_s) = (None, Some([0.01, 0.0505]));
        let expected = "  memory           10.00 ms to 50.50 ms for --memory-bound 0 to 1 (first order)\n";
        assert!(lines(&outcome).ends_with(expected), "{}", lines(&outcome));
        outcome.basis = None;
        assert_eq!(lines(&outcome), "");
    }
}
