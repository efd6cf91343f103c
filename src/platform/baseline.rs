//! The two-level baseline: the same machine as a simulator sees it that knows nodes and a network, but no CMPs.

use serde::Deserialize;

use crate::units::{Bandwidth, Bytes, SimSpan};

use super::{CoreRates, Level, Link, LoadLaw, Platform, Row, Shape, Site};

/// What a platform states of its two-level baseline; what it leaves out comes from its links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Between two cores of a node.
    pub intra_node: Option<BaselineLink>,
    /// Between two nodes.
    pub inter_node: Option<BaselineLink>,
}

/// The one latency and the one bandwidth of a level of the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaselineLink {
    /// From leaving the sender to arrival.
    pub latency: SimSpan,
    /// Bytes a second.
    pub bandwidth: Bandwidth,
}

impl Platform {
    /// The machine of `--model bigsim`: `(N, 1, C × T)`, with one latency and one bandwidth within and one between nodes.
    ///
    /// BigSim's simple network model (Zheng, Wilmarth, Jagadishbabu, Kalé 2005) charges a message its latency and its bytes
    /// over the bandwidth and nothing else. Hence, at both levels:
    ///
    /// - latency and bandwidth are those of [`Platform::baseline`] where it states them. Otherwise the latency is that of the
    ///   link's first interval (small messages) and the bandwidth that of its last (large ones), where the link within a node
    ///   is the inter-CMP one, or the intra-CMP one in a machine of one CMP a node;
    /// - there are no size intervals, there is no contention ([`LoadLaw::Ideal`]), and no rendezvous: every size is eager;
    /// - the overheads are those of the link's first interval, for the two models differ in the network and not in the cores.
    ///
    /// A core computes what it computes in the full model as long as the ranks of a node are spread evenly over its CMPs: the
    /// memory bandwidth of the CMPs is added up, and `k` ranks of a node slow each other as ⌈k / C⌉ do on one CMP.
    pub fn two_level(&self) -> Platform {
        let cmps = self.shape.cmps;
        let near = if cmps == 1 { Level::IntraCmp } else { Level::InterCmp };
        let intra_node = one_row(self.link(near), self.baseline.intra_node);
        let inter_node = one_row(self.link(Level::InterNode), self.baseline.inter_node);
        let cmp_memory = self.core.cmp_memory.get().saturating_mul(u64::from(cmps));
        // The last factor holds beyond the table, so once is enough for it.
        let (last, before) = self.core.slowdown.split_last().unwrap_or((&1.0, &[]));
        let slowdown = before.iter().flat_map(|factor| std::iter::repeat_n(*factor, cmps as usize)).chain([*last]);
        Platform {
            name: self.name.clone(),
            shape: self.shape.two_level(),
            core: CoreRates {
                cmp_memory: Bandwidth::new(cmp_memory).unwrap_or(self.core.cmp_memory),
                slowdown: slowdown.collect(),
                ..self.core.clone()
            },
            links: [intra_node.clone(), intra_node, inter_node],
            collectives: self.collectives.clone(),
            baseline: self.baseline,
        }
    }
}

impl Shape {
    /// `(N, 1, C × T)`: the shape without its CMPs. A core keeps its number.
    pub fn two_level(self) -> Shape {
        Shape { nodes: self.nodes, cmps: 1, cores: self.cmps.saturating_mul(self.cores) }
    }
}

impl Site {
    /// This core of a machine of `shape`, in its [`Shape::two_level`].
    ///
    /// Place the ranks on the machine as it is, then move the sites: so both models refuse the same placements.
    pub fn two_level(self, shape: Shape) -> Site {
        Site { node: self.node, cmp: 0, core: self.cmp.saturating_mul(shape.cores).saturating_add(self.core) }
    }
}

fn one_row(link: &Link, stated: Option<BaselineLink>) -> Link {
    let (first, last) = (&link.rows()[0], &link.rows()[link.rows().len() - 1]);
    let stated = stated.unwrap_or(BaselineLink { latency: first.latency, bandwidth: last.bandwidth });
    let row = Row {
        above: Bytes::ZERO,
        up_to: Bytes::MAX,
        latency: stated.latency,
        bandwidth: stated.bandwidth,
        send_overhead: first.send_overhead,
        recv_overhead: first.recv_overhead,
        gap: SimSpan::ZERO,
        columns: Vec::new(),
    };
    Link::new(LoadLaw::Ideal, Bytes::MAX, stated.latency, vec![row])
}
