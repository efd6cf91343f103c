//! Hardware threads of a core: number of ranks that compute on a core at a time, and the mutual slowdown of these
//! ranks.

use std::collections::HashMap;

use super::Site;

/// Hardware threads of each core.
#[derive(Clone, Debug, PartialEq)]
pub struct HardwareThreads {
    /// Number of hardware threads of a core, at least one.
    count: u32,
    /// Slowdown of a hardware thread while 1, 2, … other threads of its core are busy; the last value applies to more
    /// threads.
    beside: Vec<f64>,
}

impl Default for HardwareThreads {
    /// Creates cores with one hardware thread.
    fn default() -> Self {
        HardwareThreads { count: 1, beside: Vec::new() }
    }
}

impl HardwareThreads {
    /// Greatest permitted number of hardware threads per core.
    pub const MOST: u32 = 64;

    /// Creates cores with `count` hardware threads and with the slowdown factors `beside` for 1, 2, … busy siblings
    /// (other threads of the core). `None` unless there are 2 to [`HardwareThreads::MOST`] threads, at most one factor
    /// per number of siblings, the first factor is 1 or more, and factors never decrease.
    pub fn new(count: u32, beside: Vec<f64>) -> Option<Self> {
        let counted = (2..=Self::MOST).contains(&count) && (1..count as usize).contains(&beside.len());
        let rising = beside.first().is_some_and(|first| *first >= 1.0) && beside.is_sorted();
        (counted && rising && beside.iter().all(|factor| factor.is_finite()))
            .then_some(HardwareThreads { count, beside })
    }

    /// Returns the number of hardware threads per core.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns hardware threads of the same number without mutual slowdown.
    pub fn apart(&self) -> Self {
        match self.count {
            1 => self.clone(),
            count => HardwareThreads { count, beside: vec![1.0] },
        }
    }

    /// Returns how many of the `ranks` ranks on a core compute at a time.
    pub fn busy(&self, ranks: u32) -> u32 {
        ranks.min(self.count)
    }

    /// Returns the slowdown of a hardware thread if its core has `ranks` ranks, at least one. All these ranks are busy,
    /// because MPI libraries poll while they wait.
    pub fn factor(&self, ranks: u32) -> f64 {
        match self.busy(ranks) {
            0 | 1 => 1.0,
            busy => self.beside.get(busy as usize - 2).or(self.beside.last()).copied().unwrap_or(1.0),
        }
    }

    /// Returns the slowdown of a rank. The slowdown includes that the ranks take turns if a core has more ranks than
    /// hardware threads.
    pub fn longer(&self, ranks: u32) -> f64 {
        self.factor(ranks) * self.turns(ranks)
    }

    /// Returns the number of turns in which `ranks` ranks of a core use its hardware threads.
    pub fn turns(&self, ranks: u32) -> f64 {
        f64::from(ranks.max(1)) / f64::from(self.busy(ranks).max(1))
    }

    /// Returns the number of ranks on each core.
    pub fn ranks_of_cores(sites: &[Site]) -> HashMap<Site, u32> {
        let mut ranks = HashMap::new();
        sites.iter().for_each(|site| *ranks.entry(*site).or_insert(0) += 1);
        ranks
    }

    /// Returns the cores of the ranks that compute at a time: of the ranks on a core, as many as the core has hardware
    /// threads.
    pub fn places(&self, sites: &[Site]) -> Vec<Site> {
        let mut sorted = sites.to_vec();
        sorted.sort_unstable();
        sorted
            .chunk_by(|a, b| a == b)
            .flat_map(|of_core| &of_core[..self.busy(of_core.len() as u32) as usize])
            .copied()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_slowed_by_busy_siblings_and_ranks_beyond_take_turns() {
        let threads = HardwareThreads::new(4, vec![1.5, 2.0]).unwrap();
        assert_eq!([1, 2, 3, 4, 8].map(|ranks| threads.longer(ranks)), [1.0, 1.5, 2.0, 2.0, 4.0]);
        assert_eq!([1, 2, 4, 8].map(|ranks| threads.apart().longer(ranks)), [1.0, 1.0, 1.0, 2.0]);
        assert_eq!([1, 3].map(|ranks| HardwareThreads::default().longer(ranks)), [1.0, 3.0]);
    }

    #[test]
    fn factors_are_those_of_siblings_and_do_not_fall() {
        let none: [(u32, &[f64]); 8] = [
            (0, &[1.5]),
            (1, &[1.5]),
            (65, &[1.5]),
            (2, &[]),
            (2, &[1.5, 2.0]),
            (3, &[1.5, 1.4]),
            (2, &[0.9]),
            (2, &[f64::NAN]),
        ];
        for (count, beside) in none {
            assert_eq!(HardwareThreads::new(count, beside.to_vec()), None, "{count}, {beside:?}");
        }
    }

    #[test]
    fn places_in_use_are_those_of_ranks_that_compute_at_a_time() {
        let at = |core| Site { node: 0, cmp: 0, core };
        let two = HardwareThreads::new(2, vec![1.5]).unwrap();
        let sites = [at(1), at(0), at(1), at(1)];
        assert_eq!(two.places(&sites), [at(0), at(1), at(1)]);
        assert_eq!(HardwareThreads::default().places(&sites), [at(0), at(1)]);
    }
}
