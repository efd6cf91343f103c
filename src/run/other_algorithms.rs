//! Effect of other algorithms of MPI collectives: further simulation runs that each change the algorithm of one
//! collective.

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

/// Number of MPI collectives whose algorithm is changed; the collectives with the most time are selected.
const MOST: usize = 3;

impl Resolved {
    /// Predicts the run as [`Resolved::run_in`] does, and again for each other algorithm of the platform's library that
    /// suits all calls of a collective. The Outcome then contains the comparison. Only the algorithms of the three
    /// collectives with the most time are changed. Only segment sizes below the data size are tried. The run must have
    /// a single host process.
    ///
    /// # Errors
    /// The errors are those of [`Resolved::run`]. An algorithm that cannot execute a collective call is omitted, and a
    /// note lists the algorithm.
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
            first.prediction.notes.push(format!(
                "{cannot} other {are} left out for lack of support for these \
                                                 collectives"
            ));
        }
        Ok(Some(first.prediction))
    }
}

/// Returns the MPI collectives that have a choice of algorithms, with their uses, in decreasing order of time.
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
