//! How nodes of one shape differ: factors of each node's rates, memory and adapter.

use std::collections::BTreeMap;

use super::Site;

/// Factors by node; nodes past the end of a list, and all where it is empty, have 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeFactors {
    /// Of what cores compute a second.
    pub rate: Vec<f64>,
    /// The same of single CMPs, by node and CMP.
    pub cmp_rate: BTreeMap<(u32, u32), f64>,
    /// Of the bandwidth of cores, CMPs and the node to memory.
    pub memory: Vec<f64>,
    /// Of the bandwidth of adapters.
    pub adapter: Vec<f64>,
    /// What real code's time is multiplied by when 1, 2, … ranks share a CMP; empty where that is as elsewhere.
    pub slowdown: Vec<Vec<f64>>,
}

impl NodeFactors {
    /// Of what the core at `site` computes a second: its node's and its CMP's factor.
    pub fn rate(&self, site: Site) -> f64 {
        of(&self.rate, site.node) * self.cmp_rate.get(&(site.node, site.cmp)).copied().unwrap_or(1.0)
    }

    /// Whether any core computes at another rate than the file's.
    pub fn changes_rates(&self) -> bool {
        !self.rate.is_empty() || !self.cmp_rate.is_empty()
    }

    /// Of the bandwidth to memory of `node`.
    pub fn memory(&self, node: u32) -> f64 {
        of(&self.memory, node)
    }

    /// Of the adapters of `node`.
    pub fn adapter(&self, node: u32) -> f64 {
        of(&self.adapter, node)
    }

    /// The slowdown of real code on `node`, if it has its own.
    pub fn slowdown(&self, node: u32) -> Option<&[f64]> {
        self.slowdown.get(node as usize).map(Vec::as_slice).filter(|own| !own.is_empty())
    }
}

fn of(factors: &[f64], node: u32) -> f64 {
    factors.get(node as usize).copied().unwrap_or(1.0)
}
