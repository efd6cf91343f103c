//! Times of the threads of ranks that have clocks of their own.

use serde::{Deserialize, Serialize};

use super::TimeParts;
use crate::units::{SimSpan, SimTime, picoseconds};

/// Number of threads per rank whose times and activities are recorded.
pub const LISTED_THREADS: u32 = 256;

/// Time of a thread that has a clock of its own, other than the main thread of its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ThreadTime {
    /// Rank of the thread.
    pub rank: u32,
    /// Number of the thread among the threads that the rank has started, from 1.
    pub thread: u32,
    /// Virtual time at which the thread started.
    #[serde(rename = "start_ps")]
    pub start: SimTime,
    /// Virtual time at which the thread ended.
    #[serde(rename = "end_ps")]
    pub end: SimTime,
    /// Parts of the time between start and end.
    #[serde(flatten)]
    pub parts: TimeParts,
    /// Time blocked until another thread of the rank continued this one, or until a core was free; contained in `wait`.
    #[serde(default, rename = "thread_wait_ps", deserialize_with = "picoseconds")]
    pub thread_wait: SimSpan,
}

impl ThreadTime {
    /// Time from start to end.
    pub fn alive(&self) -> SimSpan {
        self.end.since(self.start)
    }
}

/// Times of all threads of a rank, including the main thread, if the rank has started threads with clocks of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ThreadSum {
    /// The rank.
    pub rank: u32,
    /// Number of threads, including the main thread.
    pub threads: u32,
    /// Sum of the times from start to end of the threads.
    #[serde(rename = "alive_ps", deserialize_with = "picoseconds")]
    pub alive: SimSpan,
    /// Computing of all threads.
    #[serde(rename = "compute_ps", deserialize_with = "picoseconds")]
    pub compute: SimSpan,
    /// Time of all threads in MPI: overheads, waits for messages, and collectives.
    #[serde(rename = "mpi_ps", deserialize_with = "picoseconds")]
    pub mpi: SimSpan,
    /// Waits of all threads for other threads of the rank, or for cores of the rank.
    #[serde(rename = "thread_wait_ps", deserialize_with = "picoseconds")]
    pub thread_wait: SimSpan,
    /// Greatest computing of a thread.
    #[serde(rename = "most_compute_ps", deserialize_with = "picoseconds")]
    pub most_compute: SimSpan,
    /// Time of the main thread outside of MPI: its computing and its waits for other threads.
    #[serde(rename = "main_outside_mpi_ps", deserialize_with = "picoseconds")]
    pub main_outside_mpi: SimSpan,
}

impl ThreadSum {
    /// Creates the times of a rank without further threads. `thread_wait` is the part of the waits for threads.
    pub fn of_main(rank: u32, parts: &TimeParts, thread_wait: SimSpan) -> ThreadSum {
        let mut all = ThreadSum { rank, main_outside_mpi: parts.compute + thread_wait, ..ThreadSum::default() };
        all.add(parts, parts.total(), thread_wait);
        all
    }

    /// Adds a thread that has existed for the time `alive`.
    pub fn add(&mut self, parts: &TimeParts, alive: SimSpan, thread_wait: SimSpan) {
        self.threads += 1;
        self.alive += alive;
        self.compute += parts.compute;
        self.mpi += (parts.send + parts.recv + parts.wait + parts.collective).saturating_sub(thread_wait);
        self.thread_wait += thread_wait;
        self.most_compute = self.most_compute.max(parts.compute);
    }

    /// Adds the threads of `other`, which belong to the same rank.
    pub fn merge(&mut self, other: &ThreadSum) {
        self.threads += other.threads;
        self.alive += other.alive;
        self.compute += other.compute;
        self.mpi += other.mpi;
        self.thread_wait += other.thread_wait;
        self.most_compute = self.most_compute.max(other.most_compute);
        self.main_outside_mpi += other.main_outside_mpi;
    }
}

/// Efficiencies of a run whose ranks have threads, with one computing thread per core as the ideal. A factor may be
/// greater than 1, for example if threads compute while their main thread is in MPI.
///
/// parallel = MPI × threads, and each factor = load balance × communication (multiplicative hybrid metrics of the POP
/// centre of excellence, <https://co-design.pop-coe.eu/metrics/hm/parallel_efficiency.html>).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HybridEfficiencies {
    /// Number of cores of each rank.
    pub cores_per_rank: u32,
    /// Mean computing per core divided by the predicted time.
    pub parallel: f64,
    /// Mean computing per core divided by the greatest computing of a thread.
    pub load_balance: f64,
    /// Greatest computing of a thread divided by the predicted time.
    pub communication: f64,
    /// Mean time of the main threads outside of MPI divided by the predicted time.
    pub mpi: f64,
    /// Mean time of the main threads outside of MPI divided by the greatest one.
    pub mpi_load_balance: f64,
    /// Greatest time of a main thread outside of MPI divided by the predicted time.
    pub mpi_communication: f64,
    /// `parallel` divided by `mpi`.
    pub threads: f64,
    /// `load_balance` divided by `mpi_load_balance`.
    pub threads_load_balance: f64,
    /// `communication` divided by `mpi_communication`: greatest computing of a thread divided by the greatest time of a
    /// main thread outside of MPI.
    pub threads_communication: f64,
}

impl HybridEfficiencies {
    /// Computes the efficiencies of a run with the predicted time `predicted`. Each of `ranks` has `cores` cores.
    /// Returns `None` if no time passes or nothing computes.
    pub fn of_run(predicted: SimTime, cores: u32, ranks: &[ThreadSum]) -> Option<HybridEfficiencies> {
        let ratio = |part: f64, whole: f64| Some(part / whole).filter(|ratio| ratio.is_finite() && *ratio > 0.0);
        let mean = |part: fn(&ThreadSum) -> SimSpan| {
            ranks.iter().map(|rank| u128::from(part(rank).as_ps())).sum::<u128>() as f64 / ranks.len() as f64
        };
        let most = |part: fn(&ThreadSum) -> SimSpan| ranks.iter().map(part).max().unwrap_or_default().as_ps() as f64;
        let predicted = predicted.as_ps() as f64;
        let useful = mean(|rank| rank.compute) / f64::from(cores);
        let most_useful = most(|rank| rank.most_compute);
        let (outside, most_outside) = (mean(|rank| rank.main_outside_mpi), most(|rank| rank.main_outside_mpi));
        Some(HybridEfficiencies {
            cores_per_rank: cores,
            parallel: ratio(useful, predicted)?,
            load_balance: ratio(useful, most_useful)?,
            communication: ratio(most_useful, predicted)?,
            mpi: ratio(outside, predicted)?,
            mpi_load_balance: ratio(outside, most_outside)?,
            mpi_communication: ratio(most_outside, predicted)?,
            threads: ratio(useful, outside)?,
            threads_load_balance: ratio(useful / most_useful, outside / most_outside)?,
            threads_communication: ratio(most_useful, most_outside)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hybrid_efficiencies_are_products_of_their_factors() {
        let ms = |ms: u64| SimSpan::from_us(1000 * ms);
        let parts = |compute, wait| TimeParts { compute: ms(compute), wait: ms(wait), ..TimeParts::default() };
        // The main thread of rank 0 computes 4 ms, waits 1 ms for a thread and 5 ms in MPI. The thread computes 5 ms.
        let mut first = ThreadSum::of_main(0, &parts(4, 6), ms(1));
        first.add(&parts(5, 0), ms(5), SimSpan::ZERO);
        assert_eq!((first.threads, first.alive, first.compute), (2, ms(15), ms(9)));
        assert_eq!((first.mpi, first.thread_wait, first.most_compute), (ms(5), ms(1), ms(5)));
        // Rank 1 computes 8 ms, and then 2 ms while a thread computes 2 ms.
        let mut second = ThreadSum::of_main(1, &parts(10, 0), SimSpan::ZERO);
        second.add(&parts(2, 0), ms(2), SimSpan::ZERO);
        let end = SimTime::ZERO + ms(10);
        let found = HybridEfficiencies::of_run(end, 2, &[first, second]).unwrap();
        // 9 + 12 ms of computing on four cores in 10 ms; main threads are outside of MPI for 5 and 10 ms.
        assert_eq!((found.parallel, found.mpi), (0.525, 0.75));
        assert_eq!((found.mpi_load_balance, found.mpi_communication), (0.75, 1.0));
        let products = [
            (found.parallel, found.mpi * found.threads),
            (found.parallel, found.load_balance * found.communication),
            (found.mpi, found.mpi_load_balance * found.mpi_communication),
            (found.threads, found.threads_load_balance * found.threads_communication),
        ];
        assert!(products.iter().all(|(whole, product)| (whole - product).abs() < 1e-12), "{found:?}");
        assert_eq!(HybridEfficiencies::of_run(end, 2, &[]), None);
        assert_eq!(HybridEfficiencies::of_run(SimTime::ZERO, 2, &[first]), None);
        assert_eq!(HybridEfficiencies::of_run(end, 2, &[ThreadSum::default()]), None);
    }
}
