//! Workers that receive the levels of a resource of another worker.
//!
//! A worker subscribes to a resource when a bundle first passes this resource and a resource of the worker, and stays
//! subscribed. All workers of the bundle's path create the bundle, so each worker knows the new subscribers. The owner
//! of the resource sends the present level to them. The worker of the sending node asks for one more exchange, after
//! which every subscriber has the level. No worker handles an event or a slot before this exchange.

use smallvec::SmallVec;

use super::bundles::BundleKey;
use super::links::NetworkLinks;
use super::resources::{ResourceId, exact};
use super::{FlowUpdate, Flows};

/// Subscribers of each resource, by the worker's own numbers of resources.
#[derive(Debug, Default)]
pub(super) struct Subscribers {
    workers: Vec<SmallVec<[u32; 4]>>,
    /// For each owner and each of the owner's numbers of resources, the own number.
    own_numbers: Vec<Vec<u32>>,
    /// Whether a flow that this worker has announced has new subscribers of other workers' resources.
    asks: bool,
}

impl Subscribers {
    /// Adds a subscriber of resource `p`; returns whether the worker has not been one.
    fn add(&mut self, p: u32, worker: u32) -> bool {
        let at = p as usize;
        if at >= self.workers.len() {
            self.workers.resize(at + 1, SmallVec::new());
        }
        let is_new = !self.workers[at].contains(&worker);
        if is_new {
            self.workers[at].push(worker);
        }
        is_new
    }
}

impl Flows {
    /// Subscribes the workers of a new bundle, which are this worker and `others`, to the resources of its path.
    pub(super) fn subscribe(&mut self, bundle: &BundleKey, path: &[u32], others: &[u32]) {
        // An adaptive routing compares the levels of any links, so [`Flows::publish`] subscribes all workers.
        if others.is_empty() || self.is_adaptive() {
            return;
        }
        let me = self.wires.me;
        let is_announced_here = self.worker_of(bundle.from) == me;
        for &p in path {
            let owner = self.owner(self.resources.id[p as usize]);
            for &worker in others.iter().chain([&me]).filter(|worker| **worker != owner) {
                if !self.subscribers.add(p, worker) {
                    continue;
                }
                if owner == me {
                    self.send_first_level(p, worker);
                } else {
                    self.subscribers.asks |= is_announced_here;
                }
            }
        }
    }

    /// Returns whether this worker asks for one more exchange, and withdraws the question.
    pub fn take_question(&mut self) -> bool {
        std::mem::take(&mut self.subscribers.asks)
    }

    fn send_first_level(&mut self, p: u32, worker: u32) {
        let at = p as usize;
        let (level, told) = (self.resources.level[at], self.resources.told[at]);
        let update = FlowUpdate::FirstLevel { resource: self.resources.id[at].0, number: p, level, told };
        self.outbox.push((worker, update));
    }

    /// Receives the level of a resource to which this worker has subscribed, and the level from which the levels of
    /// other resources were computed last. `number` is the owner's number of the resource.
    pub(super) fn take_first_level(&mut self, resource: ResourceId, number: u32, (level, told): (u64, u64)) {
        let (owner, p) = (self.owner(resource) as usize, self.number(resource));
        let own_numbers = &mut self.subscribers.own_numbers;
        own_numbers.resize(own_numbers.len().max(owner + 1), Vec::new());
        let numbers = &mut own_numbers[owner];
        numbers.resize(numbers.len().max(number as usize + 1), u32::MAX);
        numbers[number as usize] = p;
        // No bundle is bound to the resource at another level, so its clock has no meaning.
        let at = p as usize;
        (self.resources.level[at], self.resources.rate[at], self.resources.told[at]) = (level, exact(level), told);
    }

    /// Returns the own number of a resource to which this worker has subscribed.
    pub(super) fn subscribed(&self, owner: u32, number: u32) -> u32 {
        self.subscribers.own_numbers[owner as usize][number as usize]
    }

    /// Sends a level of an own resource to the subscribers.
    pub(super) fn publish(&mut self, p: u32, level: u64) {
        let (owner, workers) = (self.wires.me, self.wires.first_node.len() as u32);
        if workers > 1 && self.is_adaptive() {
            for worker in (0..workers).filter(|worker| *worker != owner) {
                if self.subscribers.add(p, worker) {
                    self.send_first_level(p, worker);
                }
            }
        }
        let update = FlowUpdate::Level { owner, number: p, level };
        let workers = self.subscribers.workers.get(p as usize).into_iter().flatten();
        self.outbox.extend(workers.map(|worker| (*worker, update)));
    }

    fn is_adaptive(&self) -> bool {
        self.wires.links.as_ref().is_some_and(NetworkLinks::is_adaptive)
    }
}

#[cfg(test)]
mod tests {
    use mcpsim_base::platform::Occupancy;
    use mcpsim_base::units::{SimSpan, SimTime};

    use super::super::{FlowConfig, SlotGrid};
    use super::*;

    /// Returns the flows of three workers with two nodes each.
    fn workers() -> [Flows; 3] {
        [0, 1, 2].map(|me| {
            let grid = SlotGrid::new(SimSpan::from_ps(50), SimSpan::from_ps(50));
            let (first_node, occupancy) = (vec![0, 2, 4], Occupancy::default());
            let wires = FlowConfig {
                first_node,
                me,
                occupancy,
                grid,
                tolerance: 20,
                groups: Vec::new(),
                links: None,
                records: false,
            };
            Flows::new(wires)
        })
    }

    /// Sends all messages, and returns how many messages each worker has received.
    fn exchange(workers: &mut [Flows; 3]) -> [usize; 3] {
        let all: Vec<_> = workers.iter_mut().flat_map(|flows| flows.outbox().collect::<Vec<_>>()).collect();
        let mut received = [0; 3];
        for (to, update) in all {
            received[to as usize] += 1;
            workers[to as usize].hear(update);
        }
        received
    }

    #[test]
    fn only_workers_of_a_common_path_receive_levels_from_the_exchange_after_the_announcement() {
        let at = SimTime::from_ps;
        let mut workers = workers();
        let announced = |flows: &mut Flows, [from, to]: [u32; 2]| {
            let bundle = BundleKey { from, to, pace: 1000, rails: [0, 0], detour: false };
            flows.announce(bundle, at(10), at(110));
            flows.take_question()
        };
        // A flow from worker 0 to worker 2: the announcement and the level of the sender's adapter arrive at once. The
        // level of the receiver's adapter needs another exchange.
        assert!(announced(&mut workers[0], [0, 4]));
        assert_eq!(exchange(&mut workers), [0, 0, 2]);
        assert_eq!(exchange(&mut workers), [1, 0, 0]);
        // Later flows over the same resources need no further exchange, and flows within a worker need no messages.
        assert!(!announced(&mut workers[0], [0, 4]));
        assert_eq!(exchange(&mut workers), [0, 0, 1]);
        assert!(!announced(&mut workers[0], [0, 1]));
        assert_eq!(exchange(&mut workers), [0, 0, 0]);
        // The levels of both resources of the common path move. The level of node 1 moves, too, and no message is sent.
        for flows in &mut workers {
            flows.open(at(100));
            flows.judge(at(100));
        }
        let levels = |flows: &Flows| {
            let level = |update: &(u32, FlowUpdate)| match update {
                (to, FlowUpdate::Level { .. }) => *to,
                other => panic!("{other:?}"),
            };
            flows.outbox.iter().map(level).collect::<Vec<_>>()
        };
        assert_eq!([0, 1, 2].map(|at: usize| levels(&workers[at])), [vec![2], vec![], vec![0]]);
        exchange(&mut workers);
        for flows in &mut workers {
            flows.take_levels(at(100));
        }
        let level = |flows: &Flows, id| flows.resources.level_of(id);
        use super::super::bundle_paths::ResourceKind::{In, Out};
        for id in [ResourceId::new(Out, 0, 0), ResourceId::new(In, 4, 0)] {
            assert_eq!(level(&workers[0], id), level(&workers[2], id));
            assert_eq!(level(&workers[1], id), None);
        }
    }
}
