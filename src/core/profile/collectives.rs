//! What collectives took: by call and algorithm, how often, of what sizes, for how long.

use serde::{Deserialize, Serialize};

use crate::platform::{Algorithm, Collective, Method};
use crate::units::{Bytes, SimSpan, SimTime, picoseconds};

/// The collectives of one kind that a worker's ranks made. A rank's part in a collective counts once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CollectiveRow {
    name: &'static str,
    method: Option<Method>,
    use_: Use,
}

/// How often, of what sizes, for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Use {
    calls: u64,
    least: u64,
    most: u64,
    /// Picoseconds of all ranks together.
    time: u128,
}

/// Counts the collectives of a worker's ranks; a few kinds of them.
#[derive(Clone, Debug, Default)]
pub struct CollectiveCounter {
    rows: Vec<CollectiveRow>,
    /// The row found last: most often it is the next one too.
    last: usize,
}

/// What all workers counted, ordered by name and method.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectiveProfile(Vec<(String, Option<Method>, Use)>);

/// Collectives of one call by one algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectiveUse {
    /// The MPI function.
    pub call: String,
    /// How it was done; none for what has a way of its own, as making communicators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<Algorithm>,
    /// The greatest segment asked for, bytes; 0 for none.
    pub segment: u32,
    /// The chains, children or messages at a time asked for; 0 for what the algorithm has by itself.
    pub fan: u32,
    /// How often, of all ranks together.
    pub calls: u64,
    /// The size by which the algorithm was chosen, bytes: the least.
    pub least_bytes: u64,
    /// The greatest.
    pub most_bytes: u64,
    /// How long a rank was in such calls, the mean over all ranks.
    #[serde(rename = "mean_time_ps", deserialize_with = "picoseconds")]
    pub mean_time: SimSpan,
}

/// What the run would take if all calls of a collective had another algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherAlgorithm {
    /// The collective.
    pub collective: Collective,
    /// How it would be done.
    #[serde(flatten)]
    pub method: Method,
    /// The greatest clock of any rank.
    #[serde(rename = "predicted_ps")]
    pub predicted: SimTime,
}

impl CollectiveCounter {
    /// A task enters a collective: the number of its kind, to be told when it leaves.
    #[inline]
    pub fn enter(&mut self, name: &'static str, method: Option<Method>, bytes: Bytes) -> u32 {
        let is = |row: &CollectiveRow| std::ptr::eq(row.name, name) && row.method == method;
        if !self.rows.get(self.last).is_some_and(is) {
            self.last = self.rows.iter().position(is).unwrap_or_else(|| {
                let use_ = Use { calls: 0, least: u64::MAX, most: 0, time: 0 };
                self.rows.push(CollectiveRow { name, method, use_ });
                self.rows.len() - 1
            });
        }
        let use_ = &mut self.rows[self.last].use_;
        use_.calls += 1;
        use_.least = use_.least.min(bytes.get());
        use_.most = use_.most.max(bytes.get());
        self.last as u32
    }

    /// A task leaves a collective of kind `kind` after `span`.
    #[inline]
    pub fn leave(&mut self, kind: u32, span: SimSpan) {
        self.rows[kind as usize].use_.time += u128::from(span.as_ps());
    }

    /// What was counted.
    pub fn profile(&self) -> CollectiveProfile {
        let mut profile = CollectiveProfile::default();
        for CollectiveRow { name, method, use_ } in &self.rows {
            profile.add((*name).to_owned(), *method, *use_);
        }
        profile
    }
}

impl CollectiveProfile {
    fn add(&mut self, name: String, method: Option<Method>, more: Use) {
        match self.0.binary_search_by(|row| (row.0.as_str(), row.1).cmp(&(name.as_str(), method))) {
            Ok(place) => {
                let use_ = &mut self.0[place].2;
                use_.calls += more.calls;
                use_.least = use_.least.min(more.least);
                use_.most = use_.most.max(more.most);
                use_.time += more.time;
            }
            Err(place) => self.0.insert(place, (name, method, more)),
        }
    }

    /// Takes in what another worker counted.
    pub fn merge(&mut self, other: CollectiveProfile) {
        other.0.into_iter().for_each(|(name, method, use_)| self.add(name, method, use_));
    }

    /// The rows of a run of `ranks` ranks.
    pub fn rows(&self, ranks: u64) -> Vec<CollectiveUse> {
        let row = |(name, method, use_): &(String, Option<Method>, Use)| CollectiveUse {
            call: name.clone(),
            algorithm: method.map(|method| method.algorithm),
            segment: method.map_or(0, |method| method.segment),
            fan: method.map_or(0, |method| method.fan),
            calls: use_.calls,
            least_bytes: use_.least,
            most_bytes: use_.most,
            mean_time: SimSpan::from_ps((use_.time / u128::from(ranks.max(1))).min(u64::MAX.into()) as u64),
        };
        self.0.iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_counts_add_up() {
        let mut counters = [CollectiveCounter::default(), CollectiveCounter::default()];
        for (worker, algorithm, bytes, ns) in
            [(0, Algorithm::Ring, 8, 3), (1, Algorithm::Linear, 5, 7), (1, Algorithm::Ring, 100, 5)]
        {
            let kind = counters[worker].enter("MPI_Bcast", Some(algorithm.into()), Bytes::new(bytes));
            counters[worker].leave(kind, SimSpan::from_ns(ns));
        }
        let mut all = counters[0].profile();
        all.merge(counters[1].profile());
        let mut other = counters[1].profile();
        other.merge(counters[0].profile());
        assert_eq!(all, other);
        let rows = all.rows(2);
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].algorithm, rows[0].calls), (Some(Algorithm::Linear), 1));
        assert_eq!((rows[1].calls, rows[1].least_bytes, rows[1].most_bytes), (2, 8, 100));
        assert_eq!(rows[1].mean_time, SimSpan::from_ns(4));
    }
}
