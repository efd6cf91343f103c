//! Distribution of the nodes of the machine over workers.

use super::level::Site;

/// Worker of each node: a worker has a contiguous block of nodes, and all blocks have about equally many ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// First node of each worker, followed by the number of nodes.
    first_node: Vec<u32>,
}

impl Partition {
    /// Divides `nodes` nodes among at most `workers` workers, so that all workers have about equally many of the ranks
    /// at `sites`.
    ///
    /// The result has fewer workers if there are fewer nodes.
    ///
    /// # Panics
    /// `nodes` or `workers` is zero.
    pub fn new(nodes: u32, sites: &[Site], workers: u32) -> Self {
        assert!(nodes > 0 && workers > 0, "a machine has nodes and a simulation workers");
        let workers = workers.min(nodes);
        // The list of the node of each rank is sorted, so that time and memory depend on the number of ranks and not on
        // the number of nodes.
        let mut node_of: Vec<u32> = sites.iter().map(|site| site.node).collect();
        node_of.sort_unstable();
        let mut first_node = vec![0];
        for worker in 1..workers {
            // The nodes of this worker follow the nodes of the previous workers, and at least one node remains for each
            // later worker.
            let part = (sites.len() as u64 * u64::from(worker)).div_ceil(u64::from(workers)) as usize;
            let full = part.checked_sub(1).map_or(0, |last| node_of[last] + 1);
            let least = first_node[first_node.len() - 1] + 1;
            first_node.push(full.clamp(least, nodes - (workers - worker)));
        }
        first_node.push(nodes);
        Partition { first_node }
    }

    /// Returns the number of workers.
    pub fn workers(&self) -> u32 {
        self.first_node.len() as u32 - 1
    }

    /// Returns the nodes of `worker`.
    pub fn nodes(&self, worker: u32) -> std::ops::Range<u32> {
        self.first_node[worker as usize]..self.first_node[worker as usize + 1]
    }

    /// Returns the worker of `node`.
    pub fn owner(&self, node: u32) -> u32 {
        self.first_node.partition_point(|&first| first <= node) as u32 - 1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sites(ranks_on_node: &[usize]) -> Vec<Site> {
        let on_node = |(node, ranks): (u32, &usize)| vec![Site { node, cmp: 0, core: 0 }; *ranks];
        (0..).zip(ranks_on_node).flat_map(on_node).collect()
    }

    fn ranges(ranks_on_node: &[usize], workers: u32) -> Vec<std::ops::Range<u32>> {
        let partition = Partition::new(ranks_on_node.len() as u32, &sites(ranks_on_node), workers);
        (0..partition.workers()).map(|worker| partition.nodes(worker)).collect()
    }

    #[test]
    fn workers_own_blocks_of_nodes_with_about_as_many_ranks() {
        assert_eq!(ranges(&[1; 10], 4), [0..3, 3..5, 5..8, 8..10]);
        assert_eq!(ranges(&[8, 1, 1, 1, 1], 2), [0..1, 1..5]);
        assert_eq!(ranges(&[1, 1, 1, 1, 8], 2), [0..4, 4..5]);
        assert_eq!(ranges(&[4, 4], 8), [0..1, 1..2]);
        assert_eq!(ranges(&[0, 0, 0], 2), [0..1, 1..3]);
    }

    #[test]
    fn a_machine_of_very_many_nodes_and_few_ranks_is_divided_at_once() {
        let partition = Partition::new(u32::MAX, &[Site { node: 7, cmp: 0, core: 0 }; 2], 3);
        assert_eq!((partition.nodes(0), partition.nodes(1), partition.nodes(2)), (0..8, 8..9, 9..u32::MAX));
    }

    proptest! {
        #[test]
        fn every_node_has_one_owner_and_every_worker_a_node(
            ranks_on_node in prop::collection::vec(0usize..20, 1..40), workers in 1u32..50,
        ) {
            let nodes = ranks_on_node.len() as u32;
            let partition = Partition::new(nodes, &sites(&ranks_on_node), workers);
            prop_assert_eq!(partition.workers(), workers.min(nodes));
            let mut next = 0;
            for worker in 0..partition.workers() {
                let range = partition.nodes(worker);
                prop_assert!(range.start == next && !range.is_empty());
                prop_assert!(range.clone().all(|node| partition.owner(node) == worker));
                next = range.end;
            }
            prop_assert_eq!(next, nodes);
        }

        #[test]
        fn no_worker_has_more_than_its_part_and_one_node(
            ranks_on_node in prop::collection::vec(0usize..20, 1..40), workers in 1u32..50,
        ) {
            let partition = Partition::new(ranks_on_node.len() as u32, &sites(&ranks_on_node), workers);
            let (all, most) = (ranks_on_node.iter().sum::<usize>(), *ranks_on_node.iter().max().unwrap());
            for worker in 0..partition.workers() {
                let range = partition.nodes(worker);
                let ranks: usize = ranks_on_node[range.start as usize..range.end as usize].iter().sum();
                prop_assert!(ranks <= all / partition.workers() as usize + 1 + most, "{} of {}", ranks, all);
            }
        }
    }
}
