//! Parallel execution of a study's points, limited by the number of threads and by memory.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::MemoryBudget;

/// Limits of concurrent simulation runs.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of concurrent simulation runs.
    pub jobs: NonZeroUsize,
    /// Maximum host memory of all concurrent simulation runs; `None` if unknown. A simulation run that needs more
    /// memory than this limit runs alone.
    pub memory: Option<MemoryBudget>,
}

/// Calls `work` for each task in `tasks` on several threads. The calling thread passes the results to `done`: every
/// call of `done` gets all results since its last call, at least one.
///
/// The tasks of a study start in order. After `stop` is set no further task starts, and active tasks finish.
pub fn run<T: Send>(
    tasks: &[(usize, MemoryBudget)],
    limits: Limits,
    stop: &AtomicBool,
    work: impl Fn(usize) -> T + Sync,
    mut done: impl FnMut(Vec<(usize, T)>),
) {
    let gate = TaskQueue { state: Mutex::default(), freed: Condvar::new(), memory: limits.memory };
    let (sender, results) = channel();
    std::thread::scope(|scope| {
        for _ in 0..limits.jobs.get().min(tasks.len()) {
            let (sender, gate, work) = (sender.clone(), &gate, &work);
            scope.spawn(move || {
                while let Some((task, memory)) = gate.enter(tasks, stop) {
                    // The receiver of results is dropped only if the calling thread has panicked.
                    let _ = sender.send((task, work(task)));
                    gate.leave(memory);
                }
            });
        }
        drop(sender);
        while let Ok(first) = results.recv() {
            done(std::iter::once(first).chain(results.try_iter()).collect());
        }
    });
}

/// Queue from which worker threads take tasks.
struct TaskQueue {
    state: Mutex<Inside>,
    freed: Condvar,
    memory: Option<MemoryBudget>,
}

#[derive(Default)]
struct Inside {
    next: usize,
    running: usize,
    bytes: u64,
}

impl TaskQueue {
    /// Waits until enough memory is free, and takes the next task from the queue.
    fn enter(&self, tasks: &[(usize, MemoryBudget)], stop: &AtomicBool) -> Option<(usize, MemoryBudget)> {
        let mut inside = self.lock();
        loop {
            let &(task, memory) = tasks.get(inside.next).filter(|_| !stop.load(Ordering::Relaxed))?;
            let room = self.memory.map_or(u64::MAX, |memory| memory.bytes().get());
            let need = memory.bytes().get();
            if inside.running == 0 || inside.bytes.saturating_add(need) <= room {
                inside.next += 1;
                inside.running += 1;
                inside.bytes += need;
                return Some((task, memory));
            }
            inside = self.freed.wait(inside).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn leave(&self, memory: MemoryBudget) {
        let mut inside = self.lock();
        inside.running -= 1;
        inside.bytes -= memory.bytes().get();
        self.freed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::study::RankKind;
    use crate::units::Bytes;

    fn limits(jobs: usize, memory: Option<u64>) -> Limits {
        let memory = memory.map(|bytes| MemoryBudget::of_host(Bytes::new(bytes)));
        Limits { jobs: NonZeroUsize::new(jobs).unwrap(), memory }
    }

    /// Runs test tasks with the numbers of ranks in `ranks`. Returns the maximum number of concurrent tasks, and the
    /// finished tasks.
    fn run_all(ranks: &[u32], limits: Limits) -> (usize, Vec<usize>) {
        let tasks: Vec<(usize, MemoryBudget)> =
            ranks.iter().map(|&ranks| MemoryBudget::of_run(ranks, RankKind::Real)).enumerate().collect();
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = |task: usize| {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::yield_now();
            running.fetch_sub(1, Ordering::SeqCst);
            task * 10
        };
        let mut results = Vec::new();
        run(&tasks, limits, &AtomicBool::new(false), work, |ended| results.extend(ended));
        results.sort_unstable();
        assert!(results.iter().all(|&(task, result)| result == task * 10));
        let results = results.into_iter().map(|(task, _)| task).collect();
        (most.into_inner(), results)
    }

    #[test]
    fn every_task_is_done_once_and_no_more_at_a_time_than_allowed() {
        for jobs in [1, 2, 5] {
            let (most, done) = run_all(&[1; 100], limits(jobs, None));
            assert!((1..=jobs).contains(&most), "{most} of {jobs}");
            assert_eq!(done, (0..100).collect::<Vec<_>>());
        }
        assert_eq!(run_all(&[], limits(3, None)), (0, vec![]));
    }

    #[test]
    fn what_does_not_fit_beside_others_waits_and_what_fits_nowhere_runs_alone() {
        // One run of 50 ranks needs 54 MiB, and the memory limit is a tenth above 100 MiB.
        let (most, done) = run_all(&[50, 50, 50, 500, 50], limits(4, Some(125 << 20)));
        assert_eq!((most, done.len()), (1, 5));
    }

    #[test]
    fn nothing_starts_after_the_stop() {
        let tasks: Vec<(usize, MemoryBudget)> =
            (0..50).map(|task| (task, MemoryBudget::of_run(1, RankKind::Described))).collect();
        let stop = AtomicBool::new(false);
        let mut done = 0;
        let work = |task: usize| stop.store(task == 3, Ordering::Relaxed);
        run(&tasks, limits(1, None), &stop, work, |ended| done += ended.len());
        assert_eq!(done, 4);
    }
}
