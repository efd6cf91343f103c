//! The two-level baseline: the machine as a simulator models it that knows nodes and a network, but no CMPs.

use std::sync::Arc;

use serde::Deserialize;

use crate::units::{Bandwidth, Bytes, SimSpan};

use super::{CacheRates, Contention, CoreRates, Level, Link, Platform, Row, Shape, Site};

/// Latency and bandwidth of the two-level baseline at each level; missing values are derived from the links of the
/// platform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Latency and bandwidth between two cores of a node.
    pub intra_node: Option<BaselineLink>,
    /// Latency and bandwidth between two nodes.
    pub inter_node: Option<BaselineLink>,
}

/// Latency and bandwidth of one level of the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaselineLink {
    /// Time from the departure of a message at the sender to the arrival of its head.
    pub latency: SimSpan,
    /// Bandwidth in bytes per second.
    pub bandwidth: Bandwidth,
}

impl Platform {
    /// Returns the machine of `--model two-level`: `(N, 1, C × T)`, with one latency and bandwidth within nodes, and
    /// one latency and bandwidth between nodes.
    ///
    /// BigSim's simple network model (Zheng, Wilmarth, Jagadishbabu, Kalé 2005) charges a message only its latency and
    /// its bytes divided by the bandwidth. Therefore, the links within and between nodes have the following properties:
    ///
    /// - Latency and bandwidth are the values of [`Platform::baseline`], if stated. Otherwise the latency is the
    ///   latency of the link's first size interval (small messages), and the bandwidth is the bandwidth of the link's
    ///   last size interval (large messages). The link within a node is the inter-CMP link, or the intra-CMP link of a
    ///   machine with one CMP per node.
    /// - There are no size intervals, no contention ([`Contention::Ideal`]) and no rendezvous: every size is eager.
    /// - The overheads are the overheads of the link's first size interval, because the two models differ in the
    ///   network and not in the cores.
    ///
    /// A core computes as in the full model if the ranks of a node are spread evenly over its CMPs: the memory
    /// bandwidths of the CMPs are added, and `k` ranks of a node slow each other like ⌈k / C⌉ ranks on one CMP.
    pub fn two_level(&self) -> Platform {
        let cmps = self.shape.cmps;
        let near = if cmps == 1 { Level::IntraCmp } else { Level::InterCmp };
        let intra_node = one_row(self.link(near), self.baseline.intra_node);
        let inter_node = one_row(self.link(Level::InterNode), self.baseline.inter_node);
        let cmp_memory = self.core.cmp_memory.get().saturating_mul(u64::from(cmps));
        let caches = self.places.cache().map_or(cmps, |(domain, _)| domain.per_node(self.shape));
        // The last factor of the table applies to any larger number of ranks, so it is not repeated.
        let (last, before) = self.core.slowdown.split_last().unwrap_or((&1.0, &[]));
        let slowdown = before.iter().flat_map(|factor| std::iter::repeat_n(*factor, cmps as usize)).chain([*last]);
        Platform {
            name: self.name.clone(),
            shape: self.shape.two_level(),
            core: CoreRates {
                cmp_memory: Bandwidth::new(cmp_memory).unwrap_or(self.core.cmp_memory),
                slowdown: slowdown.collect(),
                in_cache: self.core.in_cache.map(|rates| CacheRates {
                    size: Bytes::new(rates.size.get().saturating_mul(u64::from(caches))),
                    ..rates
                }),
                ..self.core.clone()
            },
            links: [intra_node.clone(), intra_node, inter_node],
            memory: None,
            collectives: self.collectives.clone(),
            conditions: self.conditions.clone(),
            baseline: self.baseline,
            pairs: None,
            places: Arc::default(),
            unread: Vec::new(),
        }
    }
}

impl Shape {
    /// Returns the shape `(N, 1, C × T)` without CMPs. The number of each core in the machine does not change.
    pub fn two_level(self) -> Shape {
        Shape { nodes: self.nodes, cmps: 1, cores: self.cmps.saturating_mul(self.cores) }
    }
}

impl Site {
    /// Returns this core of a machine of `shape` as a core of its [`Shape::two_level`].
    ///
    /// To make both models reject the same placements, place the ranks on the original machine and then convert the
    /// cores.
    pub fn two_level(self, shape: Shape) -> Site {
        Site { node: self.node, cmp: 0, core: self.cmp.saturating_mul(shape.cores).saturating_add(self.core) }
    }
}

fn one_row(link: &Link, stated: Option<BaselineLink>) -> Link {
    let (first, last) = (&link.rows()[0], &link.rows()[link.rows().len() - 1]);
    let stated = stated.unwrap_or(BaselineLink { latency: first.latency, bandwidth: last.bandwidth });
    let row = Row {
        latency: stated.latency,
        bandwidth: stated.bandwidth,
        send_overhead: first.send_overhead,
        recv_overhead: first.recv_overhead,
        ..Row::default()
    };
    Link::new(Contention::Ideal, Bytes::MAX, stated.latency, vec![row])
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: &str = r#"
name = "tiny"
nct = [4, 2, 3]
cmp = { memory_bandwidth = "6 GB/s" }
node = { memory_bandwidth = "10 GB/s" }
[core]
flops = "10 Gflop/s"
instructions = "3 Ginstr/s"
memory_bandwidth = "5 GB/s"
slowdown = [1.0, 1.5, 2.0]
[intra_cmp]
latency = "400 ns"
bandwidth = "4 GB/s"
[inter_cmp]
contention = "share"
bandwidth = "3 GB/s"
interval = [{ up_to = "1 KiB", latency = "700 ns", send_overhead = "50 ns" }, { latency = "900 ns", bandwidth = "2 GB/s" }]
[inter_node]
eager_threshold = "1 KiB"
handshake = "1 us"
latency = "2 us"
interval = [{ up_to = "1 KiB", bandwidth = "500 MB/s", recv_overhead = "80 ns" }, { bandwidth = "1 GB/s" }]
"#;

    fn machine(overrides: &[&str]) -> Platform {
        crate::test_support::load(MACHINE, overrides)
    }

    /// Returns the latency in ns, the bandwidth in MB/s, and the send and receive overhead in ns of a link with one
    /// size interval.
    fn costs(link: &Link) -> [u64; 4] {
        let [row] = link.rows() else { panic!("a level of the baseline has one row") };
        assert_eq!((link.contention(), link.eager_threshold()), (Contention::Ideal, Bytes::MAX));
        let ns = |span: SimSpan| span.as_ps() / 1000;
        [ns(row.latency), row.bandwidth.get() / 1_000_000, ns(row.send_overhead), ns(row.recv_overhead)]
    }

    #[test]
    fn the_baseline_has_one_latency_and_bandwidth_within_and_one_between_nodes() {
        let baseline = machine(&[]).two_level();
        assert_eq!(baseline.shape, Shape { nodes: 4, cmps: 1, cores: 6 });
        assert_eq!(costs(baseline.link(Level::IntraCmp)), [700, 2000, 50, 0]);
        assert_eq!(costs(baseline.link(Level::InterNode)), [2000, 1000, 0, 80]);
        assert_eq!(baseline.lookahead(), SimSpan::from_us(2));
        // A machine with one CMP per node has no inter-CMP link.
        let baseline = machine(&["platform.nct=4,1,3"]).two_level();
        assert_eq!(costs(baseline.link(Level::IntraCmp)), [400, 4000, 0, 0]);
    }

    #[test]
    fn the_baseline_takes_the_values_a_file_states_for_it() {
        let stated = ["platform.two_level.intra_node={latency = \"1 us\", bandwidth = \"5 GB/s\"}"];
        let baseline = machine(&stated).two_level();
        assert_eq!(costs(baseline.link(Level::IntraCmp)), [1000, 5000, 50, 0]);
        assert_eq!(costs(baseline.link(Level::InterNode)), [2000, 1000, 0, 80]);
    }

    #[test]
    fn cores_of_the_baseline_compute_as_those_of_the_machine() {
        let (machine, baseline) = (machine(&[]), machine(&[]).two_level());
        for on_cmp in 1..=3 {
            let on_node = 2 * on_cmp;
            let share = machine.core.memory_share(on_cmp, on_node);
            assert_eq!(baseline.core.memory_share(on_node, on_node), share, "{on_cmp} ranks a CMP");
        }
        // With 1 to 6 ranks per node, the CMP with more ranks has 1, 1, 2, 2, 3, 3 ranks; the last factor applies to
        // more ranks.
        assert_eq!(baseline.core.slowdown, [1.0, 1.0, 1.5, 1.5, 2.0]);
    }

    #[test]
    fn a_core_keeps_its_number_in_the_baseline() {
        let shape = machine(&[]).shape;
        for core in 0..shape.total_cores() {
            assert_eq!(shape.site(core).two_level(shape), shape.two_level().site(core));
        }
    }

    #[test]
    fn a_machine_of_very_many_cmps_has_a_baseline() {
        let baseline = machine(&["platform.nct=1,1000000,16", "platform.core.slowdown=[1.5]"]).two_level();
        assert_eq!((baseline.shape.cores, baseline.core.slowdown), (16_000_000, vec![1.5]));
    }
}
