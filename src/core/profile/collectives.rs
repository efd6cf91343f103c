//! Statistics of collectives by call and algorithm: number, sizes, time.

use serde::{Deserialize, Serialize};

use crate::platform::{Algorithm, Collective, Method};
use crate::units::{Bytes, SimSpan, SimTime, picoseconds};

/// Collectives of one kind by a worker's ranks. Each rank's part in a collective counts once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CollectiveRow {
    name: &'static str,
    method: Option<Method>,
    use_: Use,
}

/// Number, sizes and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Use {
    calls: u64,
    least: u64,
    most: u64,
    /// Picoseconds, sum over all ranks.
    time: u128,
}

/// Counts the collectives of a worker's ranks. There are only a few kinds.
#[derive(Clone, Debug, Default)]
pub struct CollectiveCounter {
    rows: Vec<CollectiveRow>,
    /// Row found last, which is usually the next one, too.
    last: usize,
}

/// Sum of the counts over all workers, ordered by name and method.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectiveProfile(Vec<(String, Option<Method>, Use)>);

/// Collectives of one call by one algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectiveUse {
    /// MPI function.
    pub call: String,
    /// Algorithm; `None` for operations with a fixed one, such as creating communicators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<Algorithm>,
    /// Requested greatest segment size in bytes; 0 for none.
    pub segment: u32,
    /// Requested number of chains, children or messages at a time; 0 for the algorithm's default.
    pub fan: u32,
    /// Number of calls, sum over all ranks.
    pub calls: u64,
    /// Least size in bytes by which the algorithm was chosen.
    pub least_bytes: u64,
    /// Greatest size in bytes by which the algorithm was chosen.
    pub most_bytes: u64,
    /// Time of a rank in these calls, mean over all ranks.
    #[serde(rename = "mean_time_ps", deserialize_with = "picoseconds")]
    pub mean_time: SimSpan,
}

/// Prediction with another algorithm for all calls of a collective.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherAlgorithm {
    /// The collective.
    pub collective: Collective,
    /// The other method.
    #[serde(flatten)]
    pub method: Method,
    /// Greatest clock over all ranks.
    #[serde(rename = "predicted_ps")]
    pub predicted: SimTime,
}

impl CollectiveCounter {
    /// Counts the entry of a task into a collective. Returns the number of its kind for [`CollectiveCounter::leave`].
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

    /// Counts the exit of a task from a collective of kind `kind` after `span`.
    #[inline]
    pub fn leave(&mut self, kind: u32, span: SimSpan) {
        self.rows[kind as usize].use_.time += u128::from(span.as_ps());
    }

    /// Returns the counts.
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

    /// Adds the counts of another worker.
    pub fn merge(&mut self, other: CollectiveProfile) {
        other.0.into_iter().for_each(|(name, method, use_)| self.add(name, method, use_));
    }

    /// Returns the rows for a run of `ranks` ranks.
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
