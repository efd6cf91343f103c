//! Delays that jobs cause each other: differences of the critical paths of two runs.

use crate::engine::{DelayPart, JobDelay, Outcome};
use crate::platform::Level;
use crate::units::SimSpan;

/// Returns the delay of a job with the result `with` in the whole run and the result `without` in the run without
/// the job `by`.
pub(super) fn delay(by: &str, with: &Outcome, without: &Outcome) -> JobDelay {
    let difference =
        |with: u64, without: u64| i64::try_from(i128::from(with) - i128::from(without)).unwrap_or(i64::MAX);
    let pairs = parts(with).into_iter().zip(parts(without));
    let part = |((part, with), (_, without)): ((String, SimSpan), (String, SimSpan))| DelayPart {
        part,
        ps: difference(with.as_ps(), without.as_ps()),
    };
    let mut parts: Vec<DelayPart> = pairs.map(part).filter(|part| part.ps != 0).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.ps.unsigned_abs()));
    JobDelay {
        by: by.to_owned(),
        without: without.predicted,
        delay_ps: difference(with.predicted.as_ps(), without.predicted.as_ps()),
        parts,
    }
}

/// Returns the parts of the critical path, whose sum is the time of the job. Contention is divided by resource if the
/// contention model knows the resources.
fn parts(outcome: &Outcome) -> Vec<(String, SimSpan)> {
    let path = &outcome.path;
    let mut parts = vec![
        ("compute".to_owned(), path.compute + path.imbalance),
        ("combine".to_owned(), path.combine),
        ("send".to_owned(), path.send),
        ("recv".to_owned(), path.recv),
        ("poll".to_owned(), path.poll),
    ];
    for (name, level) in ["intra_cmp", "inter_cmp", "inter_node"].into_iter().zip(Level::ALL) {
        let of_level = path.level(level);
        let contention = outcome.contention.as_ref().map(|levels| *levels.level(level)).unwrap_or_default();
        let by_resource = contention.by_resource();
        let known: SimSpan = by_resource.iter().map(|(_, time)| *time).sum();
        let rest = ("other", of_level.contention.saturating_sub(known));
        parts.push((format!("{name}.latency"), of_level.latency));
        parts.push((format!("{name}.bytes"), of_level.bytes));
        parts.push((format!("{name}.protocol"), of_level.protocol));
        let resources = by_resource.into_iter().chain([rest]);
        parts.extend(resources.map(|(resource, time)| (format!("{name}.contention.{resource}"), time)));
    }
    parts
}
