//! Execution of a run in several host processes.

use crate::error::RunError;
use crate::findings::Findings;
use crate::outcome::{HostUse, Outcome};
use crate::processes::{Processes, Screen};
use crate::transport::Transport;
use crate::transport::processes::{ProcessExchange, ProcessThreads};
use mcpsim_base::rank::{Program, Rank};
use mcpsim_base::units::SimSpan;

use super::worker_setup::{WorkerSetup, in_threads, occupied_nodes};
use super::{MOST_WORKERS, Progress, Simulation};

impl Simulation<'_> {
    pub(super) fn run_several<P: Program>(
        &self,
        processes: &Processes,
        screen: &dyn Screen,
        make: &(impl Fn(Rank) -> P + Sync),
        progress: &Progress,
    ) -> Option<Result<Outcome, RunError>> {
        let world = processes.world().expect("there are several processes");
        let threads = match self.threads(processes.count()) {
            Ok(threads) => threads,
            // All host processes get the same error.
            Err(error) => return processes.is_first().then_some(Err(error)),
        };
        let workers = threads * processes.count();
        let crew = WorkerSetup::new(self, workers);
        let team = ProcessThreads { processes: world.size, me: world.me, threads, first: crew.first() / threads };
        let mailboxes = self.options.mailboxes.as_deref();
        if let Some(mailboxes) = mailboxes {
            mailboxes.spread(world.me, crew.workers_of_ranks().map(|worker| team.place(worker).0).collect());
        }
        let found = {
            let relay = ProcessExchange::new(team, world, screen, progress, mailboxes, self.options.host_clock);
            Findings::merge(in_threads(threads, |thread| {
                let transport = Transport::Processes(Box::new(relay.transport(thread)));
                let mut found = crew.work(self, team.worker(thread), transport, make, false, progress);
                found.host_times.iter_mut().for_each(|time| time.process = world.me);
                found
            }))
        };
        // Each other host process still has the last output of its ranks.
        let printed = processes.gather(if processes.is_first() { Vec::new() } else { screen.collect() });
        printed.iter().for_each(|printed| screen.show(printed));
        let all = processes.gather(found);
        processes.is_first().then(|| {
            let host = HostUse { workers, processes: processes.count(), ..HostUse::default() };
            self.conclude(Findings::merge(all), host)
        })
    }

    /// Returns the ranks that this host process simulates.
    pub fn own_ranks(&self, processes: &Processes) -> Vec<Rank> {
        let all = 0..self.sites.len() as Rank;
        let (Some(world), Ok(threads)) = (processes.world(), self.threads(processes.count())) else {
            return all.collect();
        };
        let crew = WorkerSetup::new(self, threads * processes.count());
        let team = ProcessThreads { processes: world.size, me: world.me, threads, first: crew.first() / threads };
        all.zip(crew.workers_of_ranks())
            .filter(|(_, worker)| team.place(*worker).0 == world.me)
            .map(|(rank, _)| rank)
            .collect()
    }

    /// Returns the number of workers per host process.
    fn threads(&self, processes: u32) -> Result<u32, RunError> {
        if self.platform.lookahead() == SimSpan::ZERO {
            return Err(RunError::NoLookahead { processes });
        }
        let nodes = occupied_nodes(&self.sites);
        let most = nodes.min(MOST_WORKERS);
        if most < processes {
            return Err(RunError::TooManyProcesses { processes, most });
        }
        Ok(self.options.workers.unwrap_or(1).clamp(1, most / processes))
    }
}
