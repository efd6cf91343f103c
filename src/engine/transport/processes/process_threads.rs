//! Mapping of workers to the threads of host processes.

/// The workers of all host processes; each host process has the same number of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessThreads {
    /// Number of host processes.
    pub processes: u32,
    /// Number of this host process.
    pub me: u32,
    /// Number of workers per host process.
    pub threads: u32,
    /// Index of the block of workers that belongs to host process 0.
    pub first: u32,
}

impl ProcessThreads {
    /// Returns the worker that a thread of this host process executes.
    pub fn worker(&self, thread: u32) -> u32 {
        (self.me + self.first) % self.processes * self.threads + thread
    }

    /// Returns the host process of a worker, and the thread in this host process.
    pub fn place(&self, worker: u32) -> (u32, u32) {
        ((worker / self.threads + self.processes - self.first) % self.processes, worker % self.threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_worker_has_one_place_and_the_first_process_has_the_block_asked_for() {
        for (processes, threads, first) in [(1, 1, 0), (3, 2, 0), (4, 3, 2), (2, 5, 1)] {
            let team = |me| ProcessThreads { processes, me, threads, first };
            let workers = (0..processes).flat_map(|me| (0..threads).map(move |thread| (me, thread)));
            let mut found: Vec<u32> = workers
                .map(|(me, thread)| {
                    let worker = team(me).worker(thread);
                    assert_eq!(team(0).place(worker), (me, thread));
                    worker
                })
                .collect();
            assert_eq!(found[0], first * threads);
            found.sort_unstable();
            assert!(found.into_iter().eq(0..processes * threads));
        }
    }
}
