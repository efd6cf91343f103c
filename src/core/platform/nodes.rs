//! Differences between nodes of equal shape: factors on each node's rates, memory and adapter.

use std::collections::BTreeMap;

use super::Site;

/// Factors by node. Nodes beyond the end of a list have the factor 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeFactors {
    /// Factors on computing rates.
    pub rate: Vec<f64>,
    /// Factors on computing rates of single CMPs, by node and CMP.
    pub cmp_rate: BTreeMap<(u32, u32), f64>,
    /// Factors on the memory bandwidth of cores, CMPs and the node.
    pub memory: Vec<f64>,
    /// Factors on the bandwidth of adapters.
    pub adapter: Vec<f64>,
    /// Slowdown of real code if 1, 2, … ranks share a CMP; empty for the machine's slowdown.
    pub slowdown: Vec<Vec<f64>>,
}

impl NodeFactors {
    /// Factor on the computing rate of the core at `site`: product of its node's and its CMP's factor.
    pub fn rate(&self, site: Site) -> f64 {
        of(&self.rate, site.node) * self.cmp_rate.get(&(site.node, site.cmp)).copied().unwrap_or(1.0)
    }

    /// Whether any core has another computing rate than the file's.
    pub fn changes_rates(&self) -> bool {
        !self.rate.is_empty() || !self.cmp_rate.is_empty()
    }

    /// Factor on the memory bandwidth of `node`.
    pub fn memory(&self, node: u32) -> f64 {
        of(&self.memory, node)
    }

    /// Factor on the adapters of `node`.
    pub fn adapter(&self, node: u32) -> f64 {
        of(&self.adapter, node)
    }

    /// Slowdown of real code on `node`, if it has one of its own.
    pub fn slowdown(&self, node: u32) -> Option<&[f64]> {
        self.slowdown.get(node as usize).map(Vec::as_slice).filter(|own| !own.is_empty())
    }
}

fn of(factors: &[f64], node: u32) -> f64 {
    factors.get(node as usize).copied().unwrap_or(1.0)
}
