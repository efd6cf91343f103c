//! Effect of other algorithms of collectives: the same run with one algorithm changed at a time.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::mpi::{collective_of, methods};
use crate::platform::{Collective, CollectiveRule};
use crate::profile::{CollectiveUse, OtherAlgorithm};
use crate::units::SimSpan;

use super::conduct::{Conduct, Prediction};
use super::error::{ErrorKind, PredictError};
use super::request::Details;
use super::resolved::Resolved;

/// Number of collectives that are varied: those with the most time.
const MOST: usize = 3;

impl Resolved {
    /// Predicts like [`Resolved::run_in`], and again for each other algorithm of the platform's library that suits all
    /// calls of a collective. The Outcome then has the comparison. Only the three collectives with the most time are
    /// varied, and segments only if they are smaller than the data. Needs a single process.
    ///
    /// # Errors
    /// See [`Resolved::run`]. An algorithm that cannot execute a call is left out, with a note.
    pub fn other_algorithms_in(&self, conduct: Conduct<'_>) -> Result<Option<Prediction>, PredictError> {
        let Some(mut first) = self.first_in(conduct, "--other-algorithms")? else { return Ok(None) };
        let outcome = &first.prediction.outcome;
        let mut again = first.again.clone();
        again.settings.details = Details::default();
        let platform = &again.platform.platform;
        let (library, nodes) = (platform.collectives.library, platform.shape.nodes > 1);
        let (mut found, mut cannot) = (Vec::new(), 0);
        for (collective, uses) in longest(&outcome.collectives) {
            let most = uses.iter().map(|use_| use_.most_bytes).max().unwrap_or(0);
            for method in methods(library, collective, outcome.ranks, nodes) {
                let ran = |use_: &&CollectiveUse| {
                    (use_.algorithm, use_.segment, use_.fan) == (Some(method.algorithm), method.segment, method.fan)
                };
                if uses.iter().all(ran) || method.segment > 0 && u64::from(method.segment) >= most {
                    continue;
                }
                let mut other = again.clone();
                other.platform.platform.collectives.set(collective, vec![CollectiveRule::always(method)]);
                match other.run_in(Conduct { recorded: false, ..conduct }) {
                    Ok(Some(ran)) => {
                        found.push(OtherAlgorithm { collective, method, predicted: ran.outcome.predicted });
                    }
                    Ok(None) => return Ok(None),
                    Err(error) if matches!(error.kind(), ErrorKind::Input | ErrorKind::Program) => cannot += 1,
                    Err(error) => return Err(error),
                }
            }
        }
        found.sort_by_key(|other| (other.predicted, other.collective, other.method));
        first.prediction.outcome.other_algorithms = Some(found);
        if cannot > 0 {
            let are = if cannot == 1 { "algorithm is" } else { "algorithms are" };
            first.prediction.notes.push(format!("{cannot} other {are} left out, which cannot do these collectives"));
        }
        Ok(Some(first.prediction))
    }
}

/// Returns collectives with a choice of algorithms and their uses, longest first.
fn longest(uses: &[CollectiveUse]) -> Vec<(Collective, Vec<&CollectiveUse>)> {
    let mut all: BTreeMap<Collective, Vec<&CollectiveUse>> = BTreeMap::new();
    for use_ in uses.iter().filter(|use_| use_.algorithm.is_some()) {
        if let Some(collective) = collective_of(&use_.call) {
            all.entry(collective).or_default().push(use_);
        }
    }
    let time = |uses: &[&CollectiveUse]| uses.iter().map(|use_| use_.mean_time).sum::<SimSpan>();
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by_key(|(_, uses)| Reverse(time(uses)));
    all.truncate(MOST);
    all
}
