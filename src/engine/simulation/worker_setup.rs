//! Assignment of ranks to the workers of a run.

use std::collections::HashMap;

use crate::findings::Findings;
use crate::horizon::Horizon;
use crate::lp::LogicalProcess;
use crate::network::RankLocation;
use crate::transport::Transport;
use crate::worker::Worker;
use mcpsim_base::platform::{HardwareThreads, Partition, Platform, Site};
use mcpsim_base::rank::{Program, Rank};

use super::{Progress, Simulation};

/// Workers of all host processes, and the ranks of each worker.
pub(super) struct WorkerSetup {
    pub partition: Partition,
    seats: Vec<RankLocation>,
    owned: Vec<Vec<(Rank, u32)>>,
}

impl WorkerSetup {
    /// Assigns the ranks of `simulation` to at most `workers` workers.
    pub fn new(simulation: &Simulation<'_>, workers: u32) -> Self {
        let sites = occupied(&simulation.sites);
        let nodes = sites.iter().map(|site| site.node + 1).max().unwrap_or(1);
        let partition = Partition::new(nodes, &sites, workers);
        let (seats, owned) = seats(simulation.platform, &sites, &partition);
        WorkerSetup { partition, seats, owned }
    }

    /// Returns the worker of rank 0.
    pub fn first(&self) -> u32 {
        self.seats.first().map_or(0, |seat| seat.worker)
    }

    /// Returns the worker of each rank.
    pub fn workers_of_ranks(&self) -> impl Iterator<Item = u32> + '_ {
        self.seats.iter().map(|seat| seat.worker)
    }

    /// Runs worker `me` to the end of the simulation, and returns the results of the worker.
    pub fn work<P: Program>(
        &self,
        simulation: &Simulation<'_>,
        me: u32,
        mut transport: Transport<'_>,
        make: impl Fn(Rank) -> P,
        trial: bool,
        progress: &Progress,
    ) -> Findings {
        let Simulation { platform, options, labels, .. } = simulation;
        let workers = self.partition.workers();
        let horizon = if workers == 1 { Horizon::unbounded() } else { Horizon::new(platform.lookahead()) };
        let lp = {
            let ranks = (&self.seats[..], &simulation.sites[..], &simulation.jobs[..]);
            LogicalProcess::new(platform, ranks, me, &self.partition, options, labels.seed)
        };
        let mut worker = Worker::new(lp, &self.owned[me as usize], make, options.max_events);
        worker.meet(&simulation.sites, &simulation.jobs);
        let end = worker.work(&mut transport, horizon, trial, progress);
        Findings::of(worker, end, progress.cancelled())
    }
}

/// Calls `work` with the numbers 0 to `threads` - 1 in concurrent threads, with 0 in the calling thread; returns the
/// results in this order.
pub(super) fn in_threads<T: Send>(threads: u32, work: impl Fn(u32) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = (1..threads).map(|me| scope.spawn(move || work(me))).collect();
        let mut all = vec![work(0)];
        for thread in others {
            all.push(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    })
}

/// Returns the number of nodes that have ranks.
pub(super) fn occupied_nodes(sites: &[Site]) -> u32 {
    let mut nodes: Vec<u32> = sites.iter().map(|site| site.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.len() as u32
}

/// Renumbers the nodes of the ranks' cores, so that only nodes with ranks have numbers. Nodes without ranks are not
/// simulated and take no memory.
fn occupied(sites: &[Site]) -> Vec<Site> {
    let mut nodes: Vec<u32> = sites.iter().map(|site| site.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let number = |node: u32| nodes.partition_point(|&other| other < node) as u32;
    sites.iter().map(|&site| Site { node: number(site.node), ..site }).collect()
}

/// Returns the location of each rank. Also returns the ranks of each worker in increasing order, with the number of
/// ranks on the core of each rank.
fn seats(platform: &Platform, sites: &[Site], partition: &Partition) -> (Vec<RankLocation>, Vec<Vec<(Rank, u32)>>) {
    let mut owned = vec![Vec::new(); partition.workers() as usize];
    let shared = shared_cores(platform, sites);
    let seats = (0..)
        .zip(sites)
        .map(|(rank, site)| {
            let worker = partition.owner(site.node);
            let ranks: &mut Vec<(Rank, u32)> = &mut owned[worker as usize];
            ranks.push((rank, shared.get(site).copied().unwrap_or(1)));
            RankLocation {
                node: site.node,
                cmp: site.node * platform.shape.cmps + site.cmp,
                worker,
                local: ranks.len() as u32 - 1,
            }
        })
        .collect();
    (seats, owned)
}

/// Returns the number of ranks on each core that has several ranks.
fn shared_cores(platform: &Platform, sites: &[Site]) -> HashMap<Site, u32> {
    if sites.windows(2).all(|pair| pair[0] < pair[1]) && sites.len() as u64 <= platform.shape.total_cores() {
        return HashMap::new();
    }
    HardwareThreads::ranks_of_cores(sites)
}
