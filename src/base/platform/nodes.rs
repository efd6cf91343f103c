//! Differences between nodes of equal shape: factors on the computing rates, memory and adapter of each node.

use std::collections::BTreeMap;

use super::Site;

/// Factors of each node. Nodes beyond the end of a list have the factor 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeFactors {
    /// Factor on the computing rates of each node.
    pub rate: Vec<f64>,
    /// Factors on the computing rates of single CMPs, by node and CMP within the node.
    pub cmp_rate: BTreeMap<(u32, u32), f64>,
    /// Factor on the memory bandwidth of each node: of its cores, its CMPs and the node.
    pub memory: Vec<f64>,
    /// Factor on the bandwidth of each node's adapters.
    pub adapter: Vec<f64>,
    /// Slowdown of real code on each node if 1, 2, … ranks share a CMP; empty for a node with the slowdown of the
    /// machine.
    pub slowdown: Vec<Vec<f64>>,
}

impl NodeFactors {
    /// Returns the factor on the computing rate of the core at `site`: the product of the factors of the core's node
    /// and of the core's CMP.
    pub fn rate(&self, site: Site) -> f64 {
        of(&self.rate, site.node) * self.cmp_rate.get(&(site.node, site.cmp)).copied().unwrap_or(1.0)
    }

    /// Returns whether any core has another computing rate than the platform file states for all cores.
    pub fn changes_rates(&self) -> bool {
        !self.rate.is_empty() || !self.cmp_rate.is_empty()
    }

    /// Returns the factor on the memory bandwidth of `node`.
    pub fn memory(&self, node: u32) -> f64 {
        of(&self.memory, node)
    }

    /// Returns the factor on the bandwidth of the adapters of `node`.
    pub fn adapter(&self, node: u32) -> f64 {
        of(&self.adapter, node)
    }

    /// Returns the slowdown of real code on `node`, if it differs from the slowdown of the machine.
    pub fn slowdown(&self, node: u32) -> Option<&[f64]> {
        self.slowdown.get(node as usize).map(Vec::as_slice).filter(|own| !own.is_empty())
    }
}

fn of(factors: &[f64], node: u32) -> f64 {
    factors.get(node as usize).copied().unwrap_or(1.0)
}
