//! Keys of a level of the platform file about the resources that the level's messages occupy.

use serde::Deserialize;

use crate::config::{ConfigError, Document};
use crate::units::{Bandwidth, SimSpan};

use super::super::{Contention, Copies, InNodeTransport, Level, Occupancy, Rails, Row, Tolerance};
use super::values::Factor;

/// Greatest permitted number of adapters per node.
const MOST_RAILS: u32 = 64;

/// Key `rails` of a level, such as `rails = { count = 2, cmp = [0, 1] }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RailsFile {
    pub count: u32,
    cmp: Option<Vec<u32>>,
}

/// Values that the platform file states for a level and on which its occupied resources depend.
pub(super) struct StatedOccupancy<'a> {
    pub copies: Option<Copies>,
    pub transport: Option<InNodeTransport>,
    pub capacity: Option<Bandwidth>,
    pub duplex: Option<Bandwidth>,
    pub duplex_gap: Option<SimSpan>,
    pub pair_duplex: Option<Bandwidth>,
    pub rails: Option<&'a RailsFile>,
    pub slot: Option<SimSpan>,
    pub tolerance: Option<f64>,
    pub bandwidth_factor: Option<Factor>,
}

impl StatedOccupancy<'_> {
    /// Checks the stated values against the other values of the level, and adds defaults. `cmps` is the number of CMPs
    /// per node.
    pub fn occupancy(
        &self,
        document: &Document,
        level: Level,
        contention: Contention,
        rows: &[Row],
        cmps: u32,
    ) -> Result<Occupancy, ConfigError> {
        self.check_place(document, level)?;
        let wider = |stated: Option<Bandwidth>| {
            stated.map(|bandwidth| self.bandwidth_factor.map_or(bandwidth, |factor| factor.of_capacity(bandwidth)))
        };
        let transport = self.transport.unwrap_or_default();
        let copies = self.copies.unwrap_or(match (level, transport) {
            (Level::IntraCmp | Level::InterCmp, InNodeTransport::Memory) => Copies::Receiver,
            (Level::IntraCmp | Level::InterCmp, InNodeTransport::Adapter) | (Level::InterNode, _) => Copies::None,
        });
        let fastest = rows.iter().map(|row| row.bandwidth).max().expect("a level has rows");
        let capacity = wider(self.capacity).or((level == Level::InterNode).then_some(fastest));
        let occupancy = Occupancy {
            copies,
            transport,
            capacity,
            duplex: wider(self.duplex),
            duplex_gap: self.duplex_gap,
            pair_duplex: wider(self.pair_duplex),
            rails: self.rails(document, level, cmps)?,
            slot: self.slot,
            tolerance: self.tolerance(document, level)?,
        };
        if contention == Contention::Fair {
            let scaled = if self.bandwidth_factor.is_some() { " times bandwidth_factor" } else { "" };
            let of = match (self.capacity.is_some(), rows) {
                (true, _) => "the capacity of one direction".to_owned(),
                (false, [_]) => format!("the level's bandwidth{scaled}"),
                (false, _) => format!("the level's greatest bandwidth{scaled}"),
            };
            check_duplex(document, level.name(), &occupancy, &of)?;
            if let Some(capacity) = occupancy.capacity.filter(|_| level == Level::InterCmp && copies == Copies::None) {
                let found = format!("{capacity} and copies = \"none\"");
                return Err(document.expected("inter_cmp.capacity", "copies = \"receiver\" with it", found));
            }
        }
        let gap = rows[0].gap;
        if let Some(both) = self.duplex_gap.filter(|both| *both > gap || *both + *both < gap || gap == SimSpan::ZERO) {
            let expected =
                format!("from half of {gap}, the gap of the smallest messages in one direction, to all of it");
            return Err(document.expected(&format!("{}.duplex_gap", level.name()), expected, both));
        }
        Ok(occupancy)
    }

    /// Checks that the level may have the stated keys.
    fn check_place(&self, document: &Document, level: Level) -> Result<(), ConfigError> {
        if let Some(found) = self.capacity.filter(|_| level == Level::IntraCmp) {
            let expected = "no \"capacity\", which only inter_cmp and inter_node have,";
            return Err(document.expected(&format!("{}.capacity", level.name()), expected, found));
        }
        if self.transport.is_some() && level == Level::InterNode {
            let expected = "no \"transport\", which only levels within a node have,";
            return Err(document.expected("inter_node.transport", expected, "this key"));
        }
        let between_nodes = [
            ("duplex", self.duplex.map(|stated| stated.to_string())),
            ("duplex_gap", self.duplex_gap.map(|stated| stated.to_string())),
            ("pair_duplex", self.pair_duplex.map(|stated| stated.to_string())),
            ("rails", self.rails.map(|stated| stated.count.to_string())),
            ("slot", self.slot.map(|stated| stated.to_string())),
            ("tolerance", self.tolerance.map(|stated| stated.to_string())),
        ];
        for (key, found) in between_nodes {
            if let Some(found) = found.filter(|_| level != Level::InterNode) {
                let expected = format!("no \"{key}\", which only inter_node has,");
                return Err(document.expected(&format!("{}.{key}", level.name()), expected, found));
            }
        }
        Ok(())
    }

    fn tolerance(&self, document: &Document, level: Level) -> Result<Tolerance, ConfigError> {
        let Some(stated) = self.tolerance else { return Ok(Tolerance::default()) };
        Tolerance::new(stated).ok_or_else(|| {
            document.expected(&format!("{}.tolerance", level.name()), "a part from 0.001 to 0.1", stated)
        })
    }

    fn rails(&self, document: &Document, level: Level, cmps: u32) -> Result<Rails, ConfigError> {
        let Some(RailsFile { count, cmp }) = self.rails else { return Ok(Rails::default()) };
        let path = format!("{}.rails", level.name());
        if !(1..=MOST_RAILS).contains(count) {
            return Err(document.expected(&format!("{path}.count"), format!("1 to {MOST_RAILS} adapters"), count));
        }
        let of_cmp = cmp.clone().unwrap_or_default();
        if cmp.is_some() && of_cmp.len() != cmps as usize {
            let expected = format!("an adapter for each of the node's {cmps} CMPs");
            return Err(document.expected(&format!("{path}.cmp"), expected, format!("{of_cmp:?}")));
        }
        if let Some(wrong) = of_cmp.iter().find(|adapter| *adapter >= count) {
            let expected = format!("adapters from 0 to {}", count - 1);
            return Err(document.expected(&format!("{path}.cmp"), expected, wrong));
        }
        Ok(Rails { count: *count, of_cmp })
    }
}

/// Checks that the bandwidth of both directions together is not less than the bandwidth of one direction. `one_way`
/// describes the bandwidth of one direction in error messages.
fn check_duplex(document: &Document, level: &str, occupancy: &Occupancy, one_way: &str) -> Result<(), ConfigError> {
    let Some(capacity) = occupancy.capacity else { return Ok(()) };
    for (key, both) in [("duplex", occupancy.duplex), ("pair_duplex", occupancy.pair_duplex)] {
        if let Some(both) = both.filter(|both| *both < capacity) {
            let expected = format!("at least {capacity}, {one_way},");
            return Err(document.expected(&format!("{level}.{key}"), expected, both));
        }
    }
    Ok(())
}
