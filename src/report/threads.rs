//! Table of the times of threads that have clocks of their own.

use crate::engine::Outcome;
use crate::profile::ThreadTime;
use crate::units::SimSpan;

use super::numbers::count;
use super::table::{Align, Table};
use super::time::PARTS;

/// Number of rows of the table.
const ROWS: usize = 20;

/// Returns the name of a thread of a rank, such as "0 thread 1", or of the rank if `thread` is `None`.
pub(super) fn task_name(rank: u32, thread: Option<u32>) -> String {
    thread.map_or_else(|| rank.to_string(), |thread| format!("{rank} thread {thread}"))
}

/// Returns a table with the parts of the time of each thread. The text is empty without threads.
pub(super) fn thread_times(outcome: &Outcome) -> String {
    if outcome.per_thread.is_empty() {
        return String::new();
    }
    let parts = PARTS.map(|(name, _)| (name, Align::Right));
    let columns: Vec<(&str, Align)> =
        [("thread time", Align::Left), ("alive", Align::Right)].into_iter().chain(parts).collect();
    let mut table = Table::new(&columns);
    for thread in outcome.per_thread.iter().take(ROWS) {
        let times = PARTS.map(|(_, part)| part(&thread.parts));
        let times = [alive(thread)].into_iter().chain(times).map(|time| time.to_string());
        table.row([task_name(thread.rank, Some(thread.thread))].into_iter().chain(times));
    }
    let more = outcome.per_thread.len().saturating_sub(ROWS) as u64;
    table.render() + &if more > 0 { format!("  and {} more\n", count(more)) } else { String::new() }
}

/// Returns the sum over all listed threads of the time from start to end.
pub(super) fn all_alive(outcome: &Outcome) -> SimSpan {
    outcome.per_thread.iter().fold(SimSpan::ZERO, |sum, thread| sum + alive(thread))
}

fn alive(thread: &ThreadTime) -> SimSpan {
    thread.end.since(thread.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::TimeParts;
    use crate::report::samples::busy;
    use crate::report::time::time_parts;
    use crate::units::SimTime;

    #[test]
    fn each_thread_has_a_row_of_its_time() {
        let mut outcome = busy();
        assert_eq!(thread_times(&outcome), "");
        let [compute, wait] = [3, 2].map(SimSpan::from_us);
        let at = |us: u64| SimTime::ZERO + SimSpan::from_us(us);
        let parts = TimeParts { compute, wait, ..TimeParts::default() };
        let of = |thread| ThreadTime { rank: 1, thread, start: at(10), end: at(15), parts };
        outcome.per_thread = (1..=21).map(of).collect();
        // The parts of ranks are those of main threads, so they give no efficiency.
        assert!(time_parts(&busy()).contains("parallel efficiency"));
        assert!(!time_parts(&outcome).contains("parallel efficiency"));
        let text = thread_times(&outcome);
        let row: Vec<&str> = text.lines().find(|line| line.contains("1 thread 2 ")).unwrap().split("  ").collect();
        let cells: Vec<&str> = row.into_iter().map(str::trim).filter(|cell| !cell.is_empty()).collect();
        assert_eq!(cells, ["1 thread 2", "5.000 us", "3.000 us", "0 s", "0 s", "2.000 us", "0 s"], "{text}");
        assert!(text.ends_with("  and 1 more\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
