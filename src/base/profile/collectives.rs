//! Statistics of collectives by MPI function and algorithm: number, sizes, time.

use serde::{Deserialize, Serialize};

use crate::platform::{Algorithm, Collective, Method};
use crate::units::{Bytes, SimSpan, SimTime, picoseconds};

/// Counts of one type of collective (MPI function and algorithm) at the ranks of a worker. Each rank that executes a
/// collective counts once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CollectiveRow {
    name: &'static str,
    method: Option<Method>,
    use_: Use,
}

/// Number, sizes and time of the calls of one type of collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Use {
    calls: u64,
    least: u64,
    most: u64,
    /// Sum of the times over all ranks in picoseconds.
    time: u128,
}

/// Counter of the collectives that the ranks of a worker execute. A run has only a few types of collectives.
#[derive(Clone, Debug, Default)]
pub struct CollectiveCounter {
    rows: Vec<CollectiveRow>,
    /// Index of the row that the last look-up found, which is usually also the next row.
    last: usize,
}

/// Sum of the counts of collectives over all workers, ordered by name and algorithm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectiveProfile(Vec<(String, Option<Method>, Use)>);

/// Calls of one collective MPI function with one algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CollectiveUse {
    /// Name of the collective MPI function.
    pub call: String,
    /// Algorithm; `None` for operations with only one algorithm, such as creating communicators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<Algorithm>,
    /// Requested greatest segment size in bytes; 0 if no segments were requested.
    pub segment: u32,
    /// Requested number of chains, children or concurrent messages; 0 for the algorithm's default.
    pub fan: u32,
    /// Number of calls of all ranks together.
    pub calls: u64,
    /// Least size in bytes for which the algorithm was chosen.
    pub least_bytes: u64,
    /// Greatest size in bytes for which the algorithm was chosen.
    pub most_bytes: u64,
    /// Time that a rank spent in these calls, as mean over all ranks.
    #[serde(rename = "mean_time_ps", deserialize_with = "picoseconds")]
    pub mean_time: SimSpan,
}

/// Prediction of the run if all calls of one collective use another algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct OtherAlgorithm {
    /// Collective whose calls use another algorithm.
    pub collective: Collective,
    /// Algorithm used instead of the original algorithms.
    #[serde(flatten)]
    pub method: Method,
    /// Predicted time: the greatest final clock of all ranks.
    #[serde(rename = "predicted_ps")]
    pub predicted: SimTime,
}

impl CollectiveCounter {
    /// Counts that a task (the program of a rank or of a strand) enters a collective. Returns the index of the
    /// collective's row for [`CollectiveCounter::leave`].
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

    /// Counts that a task leaves a collective, in which the task spent `span`. `kind` is the index that
    /// [`CollectiveCounter::enter`] returned.
    #[inline]
    pub fn leave(&mut self, kind: u32, span: SimSpan) {
        self.rows[kind as usize].use_.time += u128::from(span.as_ps());
    }

    /// Returns the counts of the worker's ranks by MPI function and algorithm.
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

    /// Adds the counts of collectives of another worker.
    pub fn merge(&mut self, other: CollectiveProfile) {
        other.0.into_iter().for_each(|(name, method, use_)| self.add(name, method, use_));
    }

    /// Returns the counts of collectives for a run of `ranks` ranks.
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
