//! The table `[collectives]` of a platform file: an MPI library, a file of rules for the library, and rules for single
//! collectives. The rules for single collectives take precedence.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::config::{ConfigError, Document};
use crate::units::Bytes;

use super::super::{Algorithm, Collective, CollectiveRule, CollectiveRules, Library, Method};

/// Keys of a rule of the table `[collectives]`; a missing key sets no limit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    above_ranks: Option<u32>,
    up_to_ranks: Option<u32>,
    above: Option<Bytes>,
    up_to_bytes: Option<Bytes>,
    algorithm: Algorithm,
    segment: Option<Bytes>,
    fan: Option<u32>,
}

impl RuleFile {
    fn rule(&self, document: &Document, place: &str) -> Result<CollectiveRule, ConfigError> {
        let segment = self.segment.unwrap_or(Bytes::ZERO);
        let Ok(bytes) = u32::try_from(segment.get()) else {
            let expected = "a segment of less than 4 GiB such as \"64 KiB\"";
            return Err(document.expected(&format!("{place}.segment"), expected, segment));
        };
        let method = Method::from(self.algorithm).in_segments(bytes).by(self.fan.unwrap_or(0));
        Ok(CollectiveRule {
            from_ranks: self.above_ranks.map_or(0, |above| above.saturating_add(1)),
            up_to_ranks: self.up_to_ranks.unwrap_or(u32::MAX),
            from_bytes: self.above.map_or(Bytes::ZERO, |above| Bytes::new(above.get().saturating_add(1))),
            up_to_bytes: self.up_to_bytes.unwrap_or(Bytes::MAX),
            ..CollectiveRule::always(method)
        })
    }
}

/// Reads the keys of the table `[collectives]`: `library`, `rules` (the name of a file, which another module reads),
/// and a rule or list of rules for each collective.
pub(super) fn read(
    document: &Document,
    table: Option<&BTreeMap<String, toml::Value>>,
) -> Result<CollectiveRules, ConfigError> {
    let mut rules = CollectiveRules::default();
    for (name, value) in table.into_iter().flatten() {
        let place = format!("collectives.{name}");
        if name == "library" {
            let library: Library = document.deserialize_value(&place, value.clone())?;
            rules.library = library;
            continue;
        }
        if name == "block_overhead" {
            rules.block_overhead = document.deserialize_value(&place, value.clone())?;
            continue;
        }
        if name == "datatype_overhead" {
            rules.datatype_overhead = document.deserialize_value(&place, value.clone())?;
            continue;
        }
        if name == "rules" {
            rules.file = Some(document.deserialize_value(&place, value.clone())?);
            continue;
        }
        let collective: Collective = document.deserialize_value(&place, toml::Value::String(name.clone()))?;
        let list = match value {
            toml::Value::Array(_) => document.deserialize_value::<Vec<RuleFile>>(&place, value.clone())?,
            _ => vec![document.deserialize_value(&place, value.clone())?],
        };
        let single = !value.is_array();
        let rule = |(index, file): (usize, &RuleFile)| {
            file.rule(document, &if single { place.clone() } else { format!("{place}[{index}]") })
        };
        let read = list.iter().enumerate().map(rule).collect::<Result<_, _>>()?;
        rules.set(collective, read);
    }
    Ok(rules)
}
