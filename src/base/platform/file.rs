//! The platform file: its form for serde, and its conversion to a [`Platform`].
//!
//! This module reads no files from disk; the module `config` does.

mod collectives;
mod conditions;
mod former_keys;
mod link;
#[cfg(test)]
mod measured;
mod memory;
mod network;
mod occupancy;
mod origin;
mod pairs;
mod places;
#[cfg(test)]
mod tests;
mod threads;
mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use crate::config::{ConfigError, Document, Override, json_schema};
use crate::units::{Bandwidth, Rate, SimSpan};

use super::host_list::{expand, first_repeated};
use super::{
    Baseline, Contention, CoreRates, Level, Occupancy, Places, PlacesError, Platform, ScaleFactor, Shape, UnreadKeys,
};
use conditions::{NodesFile, NoiseFile, ProgressName};
use link::LinkFile;
use memory::{CmpFile, InCacheFile, NodeFile};
use network::LinkNetworkFile;
use pairs::PairsKey;
use places::{PlaceFile, StatedPlaces};
use values::{Factor, PerLoad, StatedScale};

pub use origin::{Origins, ParameterOrigin};

/// A platform and the text of the platform file from which it was made.
#[derive(Clone, Debug, PartialEq)]
pub struct PlatformSource {
    /// The machine that the platform file describes.
    pub platform: Platform,
    /// Content of the platform file with all overrides.
    pub table: toml::Table,
    /// Origins of the parameters.
    pub origins: Origins,
}

/// Contents of a platform file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlatformFile {
    name: String,
    /// Text for human readers, which mcpsim ignores.
    #[serde(rename = "about")]
    _about: Option<String>,
    nct: Shape,
    /// Names of the nodes, in Slurm's form, such as "n[001-064]".
    hosts: Option<String>,
    core: CoreFile,
    cmp: Option<CmpFile>,
    node: Option<NodeFile>,
    intra_cmp: LinkFile,
    inter_cmp: LinkFile,
    inter_node: LinkFile,
    pairs: Option<PairsKey>,
    #[serde(default)]
    places: BTreeMap<String, PlaceFile>,
    network: Option<LinkNetworkFile>,
    two_level: Option<Baseline>,
    progress: Option<ProgressName>,
    progress_share: Option<f64>,
    noise: Option<NoiseFile>,
    nodes: Option<Vec<NodesFile>>,
    /// Table `[collectives]`, which [`collectives`] reads, so that error messages name the key.
    collectives: Option<BTreeMap<String, toml::Value>>,
    /// Table `[origin]`, which [`Origins`] reads.
    origin: Option<BTreeMap<String, toml::Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CoreFile {
    flops: Rate,
    instructions: Rate,
    memory_bandwidth: Bandwidth,
    in_cache: Option<InCacheFile>,
    poll: Option<SimSpan>,
    post_overhead: Option<SimSpan>,
    context_switch: Option<SimSpan>,
    time_slice: Option<SimSpan>,
    scale_factor: Option<StatedScale>,
    slowdown: Option<Vec<Factor>>,
    threads: Option<u32>,
    sibling_slowdown: Option<PerLoad<Factor>>,
}

impl Platform {
    /// Returns the platform file of the default platform, which is part of the mcpsim binary.
    pub fn default_document() -> Document {
        let text = include_str!("../../../configs/default.toml");
        Document::parse("configs/default.toml", text).expect("a test reads the default platform")
    }

    /// Returns the default platform.
    pub fn embedded() -> Platform {
        Platform::load(Platform::default_document(), &[]).expect("a test loads the default platform")
    }

    /// Creates the platform of `document` after applying those `overrides` whose key begins with `platform`.
    ///
    /// # Errors
    /// The errors of [`PlatformSource::load`].
    pub fn load(document: Document, overrides: &[Override]) -> Result<Platform, ConfigError> {
        PlatformSource::load(document, overrides).map(|source| source.platform)
    }
}

impl PlatformSource {
    /// Returns the JSON Schema of platform files.
    pub fn schema() -> serde_json::Value {
        json_schema::<PlatformFile>("platform of mcpsim")
    }

    /// Applies those `overrides` whose key begins with `platform` to `document`, and creates the platform.
    ///
    /// An override of a level's `latency`, `bandwidth`, `send_overhead`, `recv_overhead`, `gap`, `copy_bandwidth` or
    /// `loads` replaces the value of every size interval, including size intervals that state a value of their own. An
    /// override of a level's `latency` also replaces the level's `handshake`, unless another override sets `handshake`,
    /// because control messages cross the same link.
    ///
    /// # Errors
    /// A key is unknown or missing, or a value has a wrong kind or range. The error message names the position in the
    /// file and the expected value.
    pub fn load(document: Document, overrides: &[Override]) -> Result<Self, ConfigError> {
        let mut document = document.with_error_lines();
        former_keys::rename(&mut document)?;
        for over in overrides {
            if let [first, key @ ..] = over.key.as_slice()
                && first == "platform"
                && !key.is_empty()
            {
                let key = former_keys::present(key);
                document.set(&key, over)?;
                origin::mark_as_stated(document.table_mut(), &key);
                forget_own_values(document.table_mut(), &key, overrides);
            }
        }
        let file: PlatformFile = document.deserialize()?;
        let origins = Origins::read(&document, file.origin.as_ref())?;
        Ok(PlatformSource { platform: file.platform(&document)?, table: document.table().clone(), origins })
    }

    /// Returns the machine with other numbers of nodes, CMPs and cores; see [`Platform::with_shape`].
    ///
    /// # Errors
    /// The machine's places do not fit the shape.
    pub fn with_shape(mut self, shape: Shape) -> Result<Self, PlacesError> {
        self.platform.places.check(shape)?;
        self.platform = self.platform.with_shape(shape);
        let nct = [shape.nodes, shape.cmps, shape.cores].map(|number| toml::Value::Integer(number.into()));
        self.table.insert("nct".to_owned(), toml::Value::Array(nct.into()));
        Ok(self)
    }
}

/// Removes the values that size intervals state after an override of a level's cost, and the stated handshake after an
/// override of the latency.
fn forget_own_values(table: &mut toml::Table, key: &[String], overrides: &[Override]) {
    let [level, cost] = key else { return };
    if !Level::ALL.iter().any(|known| known.name() == level) || !link::COSTS.contains(&cost.as_str()) {
        return;
    }
    let Some(link) = table.get_mut(level).and_then(toml::Value::as_table_mut) else { return };
    let handshake = ["platform", level, "handshake"];
    if cost == "latency" && !overrides.iter().any(|over| over.key == handshake) {
        link.remove("handshake");
    }
    let intervals = link.get_mut("interval").and_then(toml::Value::as_array_mut);
    for interval in intervals.into_iter().flatten().filter_map(toml::Value::as_table_mut) {
        interval.remove(cost);
    }
}

impl PlatformFile {
    fn platform(&self, document: &Document) -> Result<Platform, ConfigError> {
        let mut links = [
            self.intra_cmp.link(document, Level::IntraCmp, self.nct.cmps)?,
            self.inter_cmp.link(document, Level::InterCmp, self.nct.cmps)?,
            self.inter_node.link(document, Level::InterNode, self.nct.cmps)?,
        ];
        let stated = conditions::StatedConditions {
            progress: self.progress,
            share: self.progress_share,
            noise: self.noise.as_ref(),
            nodes: self.nodes.as_deref().unwrap_or_default(),
            contention: links[Level::InterNode as usize].contention(),
            count: self.nct.nodes,
            cmps: self.nct.cmps,
        };
        let between = (&self.inter_node, links[Level::InterNode as usize].contention());
        let network =
            self.network.as_ref().map(|file| file.network(document, self.nct, &self.inter_node)).transpose()?;
        let mut stated_places = StatedPlaces::read(document, &self.places, self.nct, between, network.flatten())?;
        stated_places.places.hosts = self.host_names(document)?;
        let places = &stated_places.places;
        memory::check_domains(document, self.cmp.as_ref(), places)?;
        let memory = memory::copy_memory(document, &self.core, self.cmp.as_ref(), self.node.as_ref(), &links, places)?;
        let core = self.core_rates(document, places)?;
        let files = [&self.intra_cmp, &self.inter_cmp, &self.inter_node];
        let of_places = stated_places.classes(document, self.nct, files, &links)?;
        if of_places.is_some() && self.pairs.is_some() {
            let expected = "either [pairs] or places with costs or latencies";
            return Err(document.expected("pairs", expected, "both"));
        }
        let measured = self.pairs.as_ref().map(|key| key.classes(document, self.nct, &links)).transpose()?;
        let mut pairs = measured.or(of_places);
        if let Some(pairs) = &mut pairs {
            let between = &mut links[Level::InterNode as usize];
            match between.occupancy().capacity.filter(|_| self.inter_node.states_capacity()) {
                Some(capacity) if between.contention() == Contention::Fair => {
                    pairs.limit_bandwidth(Level::InterNode, capacity);
                }
                Some(_) => {}
                None => {
                    let capacity = between.occupancy().capacity.max(pairs.greatest_bandwidth(Level::InterNode));
                    *between = between.clone().occupying(Occupancy { capacity, ..between.occupancy().clone() });
                }
            }
        }
        let fair = links.each_ref().map(|link| link.contention() == Contention::Fair);
        let of_levels = Level::ALL.into_iter().zip(files).zip(&links).flat_map(|((level, file), link)| {
            let (contention, name) = (link.contention(), level.name());
            let loads = ("loads", contention != Contention::Measured && file.states_loads());
            // Without the contention model `fair` between nodes there are no adapters.
            let is_fair = contention == Contention::Fair;
            let transport = ("transport", is_fair && !fair[2] && file.states_transport());
            let more = UnreadKeys::stated(name, &[loads, transport]);
            [if is_fair { None } else { file.unread(level, contention) }, more].into_iter().flatten()
        });
        let of_memory = if fair[0] || fair[1] {
            Vec::new()
        } else {
            memory::unread(self.cmp.as_ref(), self.node.as_ref(), self.core.in_cache.is_some())
        };
        let switches = self.core.context_switch.is_some() && fair == [false; 3];
        let of_core = UnreadKeys::stated("core", &[("context_switch", switches)]);
        let of_network = self.network.as_ref().and_then(|file| file.unread(between.1));
        let unread = of_levels.chain(of_memory).chain(of_core).chain(of_network).collect();
        Ok(Platform {
            name: self.name.clone(),
            shape: self.nct,
            core,
            links,
            memory,
            collectives: collectives::read(document, self.collectives.as_ref())?,
            conditions: stated.conditions(document)?,
            baseline: self.two_level.unwrap_or_default(),
            pairs: pairs.map(Arc::new),
            places: Arc::new(stated_places.places),
            unread,
        })
    }

    /// Returns the names of all nodes; none if the file does not state them.
    fn host_names(&self, document: &Document) -> Result<Vec<String>, ConfigError> {
        let Some(text) = &self.hosts else { return Ok(Vec::new()) };
        let names = expand(text).map_err(|expected| document.expected("hosts", expected, "another form"))?;
        if let Some(twice) = first_repeated(&names) {
            return Err(document.expected("hosts", "each name once", format!("\"{twice}\" twice")));
        }
        let nodes = self.nct.nodes as usize;
        if names.len() < nodes {
            let expected = format!("names of all {nodes} nodes such as \"n[001-{nodes:03}]\"");
            return Err(document.expected("hosts", expected, format!("{} names", names.len())));
        }
        Ok(names)
    }

    fn core_rates(&self, document: &Document, places: &Places) -> Result<CoreRates, ConfigError> {
        let slowdown = match &self.core.slowdown {
            None => vec![1.0],
            Some(factors) if factors.is_empty() => {
                let expected = "a factor for 1, 2, … ranks per CMP such as [1.0, 1.1]";
                return Err(document.expected("core.slowdown", expected, "[]"));
            }
            Some(factors) => factors.iter().map(|factor| factor.0).collect(),
        };
        let poll = self.core.poll.unwrap_or(CoreRates::POLL);
        if poll == SimSpan::ZERO {
            return Err(document.expected("core.poll", "a time above zero such as \"100 ns\"", "0"));
        }
        let time_slice = self.core.time_slice.unwrap_or(CoreRates::TIME_SLICE);
        if time_slice == SimSpan::ZERO {
            return Err(document.expected("core.time_slice", "a time above zero such as \"3 ms\"", "0"));
        }
        // A CMP or node without a stated bandwidth does not limit its cores.
        Ok(CoreRates {
            flops: self.core.flops,
            instructions: self.core.instructions,
            memory: self.core.memory_bandwidth,
            cmp_memory: self.cmp.as_ref().map_or(Bandwidth::MAX, |cmp| cmp.memory_bandwidth),
            node_memory: self.node.as_ref().map_or(Bandwidth::MAX, |node| node.memory_bandwidth),
            memory_sharing: self.cmp.as_ref().and_then(|cmp| cmp.memory_sharing).unwrap_or_default(),
            in_cache: memory::in_cache(document, &self.core, self.cmp.as_ref(), places)?,
            poll,
            post_overhead: self.core.post_overhead.unwrap_or_default(),
            context_switch: self.core.context_switch.unwrap_or_default(),
            time_slice,
            scale_factor: self.core.scale_factor.map_or(ScaleFactor::Unstated, |stated| stated.0),
            slowdown,
            threads: threads::threads(document, &self.core)?,
        })
    }
}
