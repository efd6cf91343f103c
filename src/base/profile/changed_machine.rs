//! Machines of what-if questions: the machine after a [`Change`] of one of its levels.

use std::sync::Arc;

use crate::platform::{Contention, CopyMemory, Effect, Level, Link, Occupancy, Platform, Row};
use crate::units::{Bandwidth, SimSpan};

use super::{Change, UplinkKind, WhatIf};

impl WhatIf {
    /// Returns `platform` after the modification.
    pub fn changed(&self, platform: &Platform) -> Platform {
        let mut other = platform.clone();
        let Some(level) = self.level else {
            double_memory(&mut other);
            return other;
        };
        match self.change {
            Change::LatencyHalved => change_links(&mut other, level, &|link| {
                let handshake = half(link.handshake());
                link.with_handshake(handshake).with_rows(|row| {
                    row.latency = half(row.latency);
                    row.columns.iter_mut().for_each(|column| column.latency = half(column.latency));
                })
            }),
            Change::BandwidthDoubled => {
                change_links(&mut other, level, &|link| {
                    link.with_rows(|row| {
                        row.bandwidth = row.bandwidth.times(2);
                        row.copy_bandwidth = row.copy_bandwidth.map(|bandwidth| bandwidth.times(2));
                        row.columns.iter_mut().for_each(|column| column.bandwidth = column.bandwidth.times(2));
                    })
                });
                double_capacity(&mut other, level);
            }
            Change::ContentionGone => change_links(&mut other, level, &|link| link.with_law(Contention::Ideal)),
            Change::CopiesDoubled => change_links(&mut other, level, &|link| {
                let double = |row: &mut Row| {
                    row.copy_bandwidth = Some(row.copy_bandwidth.unwrap_or(row.bandwidth).times(2));
                };
                link.with_rows(double)
            }),
            Change::CapacityDoubled => double_capacity(&mut other, level),
            Change::DuplexGone => change_links(&mut other, level, &|link| {
                let ways = Occupancy { duplex: None, duplex_gap: None, pair_duplex: None, ..link.occupancy().clone() };
                link.occupying(ways)
            }),
            Change::GapHalved => change_links(&mut other, level, &|link| {
                let occupancy = link.occupancy().clone();
                let occupancy = Occupancy { duplex_gap: occupancy.duplex_gap.map(half), ..occupancy };
                link.occupying(occupancy).with_rows(|row| row.gap = half(row.gap))
            }),
            Change::CachesHold => return platform.without(Effect::Cache).unwrap_or(other),
            Change::MemoryDoubled => {
                let double = |of: CopyMemory| CopyMemory { cmp: doubled(of.cmp), node: doubled(of.node), ..of };
                other.memory = other.memory.map(double);
            }
            Change::UplinksDoubled => {
                let places = Arc::make_mut(&mut other.places);
                let kind = self.links.as_ref().map(|name| UplinkKind::named(name, places));
                let is_meant = |at: usize| kind.is_none_or(|kind| kind == Some(UplinkKind::new(at)));
                let groups = places.groups.iter_mut().enumerate().filter(|(at, _)| is_meant(*at));
                groups.for_each(|(_, group)| group.uplink = doubled(group.uplink));
                if let Some(network) = &mut places.network {
                    Arc::make_mut(network).double_limits(is_meant);
                }
            }
            Change::UplinksUnlimited => {
                let places = Arc::make_mut(&mut other.places);
                places.groups.iter_mut().for_each(|group| group.uplink = None);
                if let Some(network) = &mut places.network {
                    Arc::make_mut(network).remove_limits();
                }
            }
            Change::HopLatencyHalved => {
                other.pairs = other.pairs.map(|pairs| Arc::new(pairs.with_halved_hops()));
            }
            Change::ComputingMemoryDoubled => double_memory(&mut other),
        }
        other
    }
}

fn half(span: SimSpan) -> SimSpan {
    SimSpan::from_ps(span.as_ps() / 2)
}

fn doubled(bandwidth: Option<Bandwidth>) -> Option<Bandwidth> {
    bandwidth.map(|bandwidth| bandwidth.times(2))
}

/// Doubles the capacity of the adapters or the interconnect of `level`.
fn double_capacity(platform: &mut Platform, level: Level) {
    change_links(platform, level, &|link| {
        let of = link.occupancy();
        let [capacity, duplex, pair_duplex] = [of.capacity, of.duplex, of.pair_duplex].map(doubled);
        let occupancy = Occupancy { capacity, duplex, pair_duplex, ..of.clone() };
        link.occupying(occupancy)
    });
    if level == Level::InterCmp {
        let double = |of: CopyMemory| CopyMemory { interconnect: doubled(of.interconnect), ..of };
        platform.memory = platform.memory.map(double);
    }
}

fn change_links(platform: &mut Platform, level: Level, change: &dyn Fn(Link) -> Link) {
    let link = &mut platform.links[level as usize];
    *link = change(link.clone());
    if let Some(pairs) = &mut platform.pairs {
        *pairs = Arc::new(pairs.with_links(level, change));
    }
}

/// Doubles the memory bandwidth of computing blocks. The slowdown of real code by `n` ranks becomes that of `n / 2`.
fn double_memory(platform: &mut Platform) {
    let core = &mut platform.core;
    (core.cmp_memory, core.node_memory) = (core.cmp_memory.times(2), core.node_memory.times(2));
    for domain in &mut Arc::make_mut(&mut platform.places).domains {
        domain.memory = doubled(domain.memory);
    }
    let fewer = |slowdown: &Vec<f64>| (0..2 * slowdown.len()).map(|rank| slowdown[rank / 2]).collect();
    core.slowdown = fewer(&core.slowdown);
    for own in &mut platform.conditions.nodes.slowdown {
        *own = fewer(own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(keys: &[&str]) -> Platform {
        let text = include_str!("../../../configs/default.toml");
        let keys: Vec<String> = keys.iter().map(|key| format!("platform.{key}")).collect();
        crate::test_support::load(text, &keys.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[test]
    fn a_changed_machine_is_that_which_states_the_changed_values() {
        let far = |values: &str| format!("inter_node={{contention=\"fair\",{values}}}");
        let fair = "handshake=\"2us\",latency=\"4us\",bandwidth=\"8 GB/s\",capacity=\"10 GB/s\",gap=\"200ns\"";
        let with = |change: &[(&str, &str)]| {
            let text = change.iter().fold(fair.to_owned(), |text, (from, to)| text.replace(from, to));
            machine(&[&far(&text)])
        };
        let halved = &[("2us", "1us"), ("4us", "2us")];
        let doubled = &[("8 GB/s", "16 GB/s"), ("10 GB/s", "20 GB/s")];
        let cases: [(Change, Platform); 5] = [
            (Change::LatencyHalved, with(halved)),
            (Change::BandwidthDoubled, with(doubled)),
            (Change::CapacityDoubled, with(&[("10 GB/s", "20 GB/s")])),
            (Change::GapHalved, with(&[("200ns", "100ns")])),
            (Change::CopiesDoubled, machine(&[&far(&format!("{fair},copy_bandwidth=\"16 GB/s\""))])),
        ];
        for (change, expected) in cases {
            let what = WhatIf::new(Some(Level::InterNode), change, SimSpan::ZERO);
            assert_eq!(what.changed(&with(&[])), expected, "{change:?}");
        }
    }

    #[test]
    fn memory_and_uplinks_are_doubled_wherever_they_are_stated() {
        let keys = |of: u32| {
            [
                format!("cmp.memory_bandwidth=\"{} GB/s\"", 10 * of),
                format!("places.numa={{cores=8,memory_bandwidth=\"{} GB/s\"}}", 4 * of),
            ]
        };
        let machine_of = |of: u32| {
            let keys = keys(of);
            machine(&[&keys[0], &keys[1], "cmp.memory_sharing=\"fair\""])
        };
        let change = Change::ComputingMemoryDoubled;
        let changed = WhatIf::new(None, change, SimSpan::ZERO).changed(&machine_of(1));
        let expected = machine_of(2);
        assert_eq!((changed.core.cmp_memory, &changed.places), (expected.core.cmp_memory, &expected.places));
        let rack = |of: u32| format!("places.rack={{nodes=2,uplink_bandwidth=\"{} GB/s\"}}", 3 * of);
        let level = Some(Level::InterNode);
        let what = WhatIf::new(level, Change::UplinksDoubled, SimSpan::ZERO);
        let fair = "inter_node.contention=fair";
        assert_eq!(what.changed(&machine(&[fair, &rack(1)])), machine(&[fair, &rack(2)]));
    }

    #[test]
    fn twice_the_bandwidth_between_cmps_includes_the_interconnect() {
        let machine_of = |of: u32| {
            machine(&[&format!("inter_cmp={{latency=\"1 us\",bandwidth=\"{of} GB/s\",capacity=\"{} GB/s\"}}", 4 * of)])
        };
        let what = WhatIf::new(Some(Level::InterCmp), Change::BandwidthDoubled, SimSpan::ZERO);
        assert_eq!(what.changed(&machine_of(1)), machine_of(2));
    }
}
