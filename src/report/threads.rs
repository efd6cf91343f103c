//! Tables of the times of threads that have clocks of their own.

use crate::engine::{Outcome, RankTime};
use crate::profile::{ThreadSum, ThreadTime};
use crate::units::SimSpan;

use super::numbers::count;
use super::table::{Align, Table};

/// Number of rows of a table.
const ROWS: usize = 20;

/// Returns the name of a thread of a rank, such as "0 thread 1", or of the rank if `thread` is `None`.
pub(super) fn task_name(rank: u32, thread: Option<u32>) -> String {
    thread.map_or_else(|| rank.to_string(), |thread| format!("{rank} thread {thread}"))
}

/// Times of a task or of all threads of a rank.
struct TaskTimes {
    alive: SimSpan,
    compute: SimSpan,
    mpi: SimSpan,
    threads: SimSpan,
}

impl TaskTimes {
    fn of_thread(thread: &ThreadTime) -> TaskTimes {
        let (alive, of) = (thread.alive(), ThreadSum::of_main(thread.rank, &thread.parts, thread.thread_wait));
        TaskTimes { alive, compute: of.compute, mpi: of.mpi, threads: of.thread_wait }
    }

    /// Returns the times of the main thread of a rank. `of` has the times of all its threads.
    fn of_main(rank: &RankTime, of: &ThreadSum) -> TaskTimes {
        let threads = of.main_outside_mpi.saturating_sub(rank.parts.compute);
        let of = ThreadSum::of_main(rank.rank, &rank.parts, threads);
        TaskTimes { alive: rank.parts.total(), compute: of.compute, mpi: of.mpi, threads }
    }

    fn cells(&self) -> [String; 4] {
        [self.alive, self.compute, self.mpi, self.threads].map(|time| time.to_string())
    }
}

/// Returns a table with the times of each rank's threads together, and a table with those of each thread. The text is
/// empty without threads.
pub(super) fn thread_times(outcome: &Outcome) -> String {
    if outcome.rank_threads.is_empty() {
        return String::new();
    }
    let right = |name| (name, Align::Right);
    let times = ["alive", "compute", "in MPI", "for threads"].map(right);
    let columns: Vec<_> = [("threads of rank", Align::Left), right("threads")].into_iter().chain(times).collect();
    let mut table = Table::new(&columns);
    for of in outcome.rank_threads.iter().take(ROWS) {
        let times = TaskTimes { alive: of.alive, compute: of.compute, mpi: of.mpi, threads: of.thread_wait };
        let name = [of.rank.to_string(), count(of.threads.into())];
        table.row(name.into_iter().chain(times.cells()));
    }
    let ranks = table.render() + &more(outcome.rank_threads.len());
    let columns: Vec<_> = std::iter::once(("thread time", Align::Left)).chain(times).collect();
    let mut table = Table::new(&columns);
    let all = tasks(outcome);
    for (name, times) in all.iter().take(ROWS) {
        table.row(std::iter::once(name.clone()).chain(times.cells()));
    }
    ranks + "\n" + &table.render() + &more(all.len())
}

/// Returns the main threads and the listed threads of ranks with several threads, with their names.
fn tasks(outcome: &Outcome) -> Vec<(String, TaskTimes)> {
    let mut threads = outcome.per_thread.as_slice();
    let mut all = Vec::new();
    for (of, rank) in outcome.rank_threads.iter().zip(&outcome.per_rank).filter(|(of, _)| of.threads > 1) {
        all.push((task_name(of.rank, None), TaskTimes::of_main(rank, of)));
        let count = threads.iter().take_while(|thread| thread.rank == of.rank).count();
        let (own, others) = threads.split_at(count);
        all.extend(own.iter().map(|thread| (task_name(of.rank, Some(thread.thread)), TaskTimes::of_thread(thread))));
        threads = others;
    }
    all
}

fn more(rows: usize) -> String {
    let more = rows.saturating_sub(ROWS) as u64;
    if more > 0 { format!("  and {} more\n", count(more)) } else { String::new() }
}

/// Returns the sum over all listed threads of the time from start to end.
pub(super) fn all_alive(outcome: &Outcome) -> SimSpan {
    outcome.per_thread.iter().fold(SimSpan::ZERO, |sum, thread| sum + thread.alive())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{HybridEfficiencies, TimeParts};
    use crate::report::efficiency;
    use crate::report::samples::busy;
    use crate::report::time::time_parts;
    use crate::units::SimTime;

    #[test]
    fn each_thread_has_a_row_of_its_time() {
        let mut outcome = busy();
        assert_eq!(thread_times(&outcome), "");
        let us = SimSpan::from_us;
        let at = |time: u64| SimTime::ZERO + us(time);
        // Main threads compute 4 us and wait 6 us, 5 us of them for threads. Rank 1 has 21 threads.
        let main = TimeParts { compute: us(4), wait: us(6), ..TimeParts::default() };
        outcome.predicted = at(20);
        outcome.per_rank.truncate(2);
        outcome.per_rank.iter_mut().for_each(|rank| rank.parts = main);
        let parts = TimeParts { compute: us(3), wait: us(2), ..TimeParts::default() };
        let of = |thread| ThreadTime { rank: 1, thread, start: at(10), end: at(15), parts, thread_wait: us(1) };
        outcome.per_thread = (1..=21).map(of).collect();
        outcome.rank_threads = [0, 1].map(|rank| ThreadSum::of_main(rank, &main, us(5))).to_vec();
        for thread in &outcome.per_thread {
            outcome.rank_threads[1].add(&parts, thread.alive(), us(1));
        }
        outcome.hybrid = HybridEfficiencies::of_run(outcome.predicted, 10, &outcome.rank_threads);
        let text = thread_times(&outcome);
        let row = |name: &str| {
            let line = text.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default();
            line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>()
        };
        assert_eq!(row("0 "), ["0", "1", "10.00 us", "4.000 us", "1.000 us", "5.000 us"], "{text}");
        assert_eq!(row("1  "), ["1", "22", "115.0 us", "67.00 us", "22.00 us", "26.00 us"], "{text}");
        assert_eq!(row("1 thread 2 "), ["1 thread 2", "5.000 us", "3.000 us", "1.000 us", "1.000 us"], "{text}");
        let each = text.split("thread time").nth(1).unwrap();
        let main = each.lines().find(|line| line.starts_with("  1  ")).unwrap();
        assert!(main.ends_with("10.00 us  4.000 us  1.000 us     5.000 us"), "{text}");
        assert!(text.ends_with("  and 2 more\n"), "{text}");
        // 71 us of computing on 20 cores in 20 us. Main threads are outside of MPI for 9 us.
        let text = time_parts(&outcome);
        let said = "\n  parallel efficiency 17.8% = MPI 45.0% x threads 39.4%, on ";
        assert!(text.contains(said), "{text}");
        assert!(text.contains("\n  MPI 45.0% = load balance 100.0% x communication 45.0%\n"), "{text}");
        assert!(text.contains("\n  threads 39.4% = load balance 88.8% x communication 44.4%\n"), "{text}");
        let parts = outcome.per_rank.iter().map(|rank| &rank.parts);
        outcome.efficiencies = crate::profile::Efficiencies::from_run(outcome.predicted, at(10), parts);
        let table = efficiency::table(&outcome);
        let threads = table.lines().find(|line| line.trim_start().starts_with("threads ")).unwrap();
        assert!(threads.ends_with("  39.4%  load balance x communication"), "{table}");
        for line in [text, table, thread_times(&outcome)].iter().flat_map(|text| text.lines()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
