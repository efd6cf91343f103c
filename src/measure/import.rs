//! Creates a platform file from the output of benchmarks: OSU's osu_latency, osu_bw, osu_bibw, osu_mbw_mr, IMB's
//! PingPong, Uniband, Biband, or CSV. Times of collectives become measured runs of a validation case
//! ([`MeasuredCalls`]).
//!
//! The user states the network level (distance between the ranks) of each benchmark file. Only the values named in
//! [`level`] are fitted. All other values are copied from another platform or assumed, and comments in the platform
//! file mark the copied or assumed values.

mod calls;
mod imb;
mod level;
mod named;
mod osu;
mod output;
mod part;
mod section;
mod several;
mod table;
#[cfg(test)]
mod tests;
mod windows;

use std::fmt::Write;

use mcpsim_core::config::{ConfigError, Document};
use mcpsim_core::platform::{Level, Platform, Shape};
use mcpsim_core::units::Bytes;

use super::link::joined;
use super::occupancy::MeasuredOccupancy;
use super::text::{comment, link, overhead, taken};
use level::{ImportSource, ImportedLevel, chosen};

pub use calls::MeasuredCalls;
pub use output::BenchmarkOutput;
pub use part::ImportPart;
pub(super) use windows::Steps;
pub use windows::WindowSizes;

/// Inputs of an import of benchmark output.
#[derive(Clone, Debug)]
pub struct Import {
    /// Name of the imported machine.
    pub name: String,
    /// Host and time of the import, one line.
    pub made: String,
    /// Nodes, CMPs per node and cores per CMP, if the user states them.
    pub shape: Option<Shape>,
    /// Eager thresholds by level, if the user states them.
    pub eager: Vec<(Level, u64)>,
    /// Message sizes of the windows that determine the platform.
    pub windows: WindowSizes,
    /// Benchmark files with their text, and the network levels of each file.
    pub files: Vec<(ImportPart, String)>,
    /// Platform from which values that no benchmark file contains are copied.
    pub base: Option<Document>,
}

/// Tables that are copied from the base platform in addition to network levels.
const TAKEN: [&str; 4] = ["core", "cmp", "node", "collectives"];

/// Keys of places that are no costs of messages.
const PLACE_KEYS: [&str; 6] = ["cores", "nodes", "cache", "memory_bandwidth", "uplink_latency", "uplink_bandwidth"];

/// Imported platform, and the origin of each value in it.
#[derive(Clone, Debug)]
pub struct ImportedPlatform {
    /// Text of the platform file.
    pub text: String,
    /// Nodes, CMPs per node and cores per CMP of the imported machine.
    pub shape: Shape,
    /// Origins of the values in the order of the platform file.
    pub keys: Vec<ImportedKey>,
    /// Sections of the benchmark files that are not used in the platform, each with its line number and the reason why
    /// it is not used.
    pub skipped: Vec<String>,
}

/// Origin of values in an imported platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedKey {
    /// Network level or table of the platform file that contains the values.
    pub table: String,
    /// Keys of the values, separated by commas; empty if the origin describes a benchmark file that was read.
    pub keys: String,
    /// Description of the values' origin.
    pub from: String,
    /// True if the values are assumed and not measured.
    pub assumed: bool,
}

impl ImportedKey {
    /// Parses a comment line such as "gap: NO DATA (many pairs). ASSUMED: none.".
    fn of(table: &str, line: &str) -> ImportedKey {
        let (keys, told) = line.split_once(": ").unwrap_or(("", line));
        let told = told.trim_end_matches('.');
        let assumed = told.split_once("ASSUMED").filter(|(before, _)| !before.contains(';'));
        let from = match assumed {
            Some((_, what)) => what.trim_start_matches([':', ',', ' ']).to_owned(),
            None => told.replace("ASSUMED", "assumed"),
        };
        ImportedKey { table: table.to_owned(), keys: keys.to_owned(), from, assumed: assumed.is_some() }
    }

    fn assumed(table: &str, keys: &str, from: &str) -> ImportedKey {
        ImportedKey { table: table.to_owned(), keys: keys.to_owned(), from: from.to_owned(), assumed: true }
    }
}

impl Import {
    /// Returns the imported platform.
    ///
    /// The errors are benchmark files that are truncated or not output of supported programs, tables without a unique
    /// network level, and levels between ranks of the machine that neither a benchmark file nor the base platform
    /// covers.
    pub fn platform(&self) -> Result<ImportedPlatform, ConfigError> {
        let mut sources: Vec<(Vec<Level>, ImportSource)> = Vec::new();
        let mut skipped = Vec::new();
        for (part, text) in &self.files {
            let read = BenchmarkOutput::read(&part.file, text)?;
            let (tables, calls): (Vec<_>, Vec<_>) =
                read.tables.into_iter().partition(|table| table.benchmark.is_of_pairs());
            skipped.extend(read.skipped);
            if let Some(note) = calls_note(&part.file, &calls) {
                if tables.is_empty() {
                    return Err(ConfigError::new(note));
                }
                skipped.push(note);
            }
            let found = chosen(part, tables)?.into_iter();
            sources.extend(found.map(|source| (part.levels.clone(), source)));
        }
        let shape = self.shape(&sources)?;
        let base = self.base.as_ref().map(|base| Platform::load(base.clone(), &[])).transpose()?;
        let mut levels: Vec<ImportedLevel> = Vec::new();
        for level in Level::ALL {
            let of = sources.iter().filter(|(levels, _)| levels.contains(&level));
            let of: Vec<ImportSource> =
                of.map(|(_, ImportSource { file, table })| ImportSource { file, table: table.clone() }).collect();
            if of.is_empty() {
                self.covered(level, shape)?;
                continue;
            }
            let eager = self.eager.iter().find(|(other, _)| *other == level).map(|(_, eager)| *eager);
            let of_base = base.as_ref().map(|base| base.link(level).eager_threshold());
            let of_base = of_base.filter(|eager| *eager < Bytes::MAX).zip(self.base.as_ref());
            let of_base = of_base.map(|(eager, base)| (base.name(), eager.get()));
            levels.push(level::level(level, &of, eager, of_base, self.windows)?);
        }
        let text = self.written(shape, &levels, &skipped)?;
        Ok(ImportedPlatform { text, shape, keys: self.keys(&levels), skipped })
    }

    /// Returns the origins of the imported values, which are also comments in the platform file.
    fn keys(&self, levels: &[ImportedLevel]) -> Vec<ImportedKey> {
        let base = self.base.as_ref().map(|base| format!("values of {}", base.name()));
        let default = format!("values of {}", Platform::default_document().name());
        let mut keys = Vec::new();
        if self.shape.is_none() {
            let from = base.clone().unwrap_or_else(|| "two nodes, a core for each pair".to_owned());
            keys.push(ImportedKey::assumed("machine", "nct", &from));
        }
        keys.push(ImportedKey::assumed("core", "all", base.as_ref().unwrap_or(&default)));
        let posting = levels.iter().find_map(|of| of.posting.as_ref());
        keys.extend(posting.map(|(_, from)| ImportedKey::of("core", from)));
        for level in Level::ALL {
            let Some(of) = levels.iter().find(|of| of.fit.level == level) else {
                let from = base.clone().unwrap_or_else(|| "no ranks are this far apart".to_owned());
                keys.push(ImportedKey::assumed(level.name(), "all", &from));
                continue;
            };
            // The first lines name the benchmark files, including those of ping-pongs.
            let key = |line: &String| ImportedKey::of(level.name(), line);
            let (files, told) = of.told.split_at(of.files);
            let read = files.iter().map(key);
            keys.extend(read.map(|read| ImportedKey {
                keys: String::new(),
                from: format!("{}: {}", read.keys, read.from),
                ..read
            }));
            let from = "half round trips".to_owned();
            let table = level.name().to_owned();
            keys.push(ImportedKey { table, keys: "latency, bandwidth".to_owned(), from, assumed: false });
            keys.extend(told.iter().map(key));
        }
        keys
    }

    /// Returns the machine shape that the user states, otherwise the shape of the base platform, otherwise two nodes
    /// with one core per pair.
    fn shape(&self, sources: &[(Vec<Level>, ImportSource)]) -> Result<Shape, ConfigError> {
        if let Some(shape) = self.shape {
            return Ok(shape);
        }
        if let Some(base) = &self.base {
            return Platform::load(base.clone(), &[]).map(|platform| platform.shape);
        }
        let within = |levels: &[Level]| !levels.contains(&Level::InterNode);
        let ranks = |(levels, source): &(Vec<Level>, ImportSource)| {
            if within(levels) { source.table.processes } else { source.table.pairs() }
        };
        let cores = sources.iter().map(ranks).max().unwrap_or(1).max(1);
        Shape::new(2, 1, cores).map_err(|error| ConfigError::new(format!("--import: {error}")))
    }

    /// Checks that a network level without benchmark files is copied from the base platform or has no pair of ranks.
    fn covered(&self, level: Level, shape: Shape) -> Result<(), ConfigError> {
        let crossed = match level {
            Level::IntraCmp => shape.cores > 1,
            Level::InterCmp => shape.cmps > 1,
            Level::InterNode => shape.nodes > 1,
        };
        if self.base.is_some() || !crossed {
            return Ok(());
        }
        let Shape { nodes, cmps, cores } = shape;
        let name = level.name();
        Err(ConfigError::new(format!(
            "--import: no file for {name}, which messages cross on {nodes} nodes of {cmps} x {cores} cores: give \
             --import {name}=FILE, or --base FILE.toml for a platform that stands in (--base default: the built-in \
             one), or a shape without it (--nct)"
        )))
    }

    fn written(&self, shape: Shape, levels: &[ImportedLevel], skipped: &[String]) -> Result<String, ConfigError> {
        let mut text = String::new();
        comment(&mut text, &self.made);
        comment(&mut text, "latency, bandwidth: half round trips. Comments state the sources of other values.");
        if self.shape.is_none() {
            let from =
                self.base.as_ref().map_or("two nodes, a core for each pair".to_owned(), |base| base.name().to_owned());
            comment(&mut text, &format!("nct: ASSUMED: {from}."));
        }
        skipped.iter().for_each(|what| comment(&mut text, &format!("Skipped: {what}.")));
        let name = toml::Value::String(self.name.clone());
        let Shape { nodes, cmps, cores } = shape;
        let _ = write!(text, "\nname = {name}\nnct = [{nodes}, {cmps}, {cores}]\n");
        let default = Platform::default_document();
        let base = self.base.as_ref().unwrap_or(&default);
        let keys: &[&str] = if self.base.is_some() { &TAKEN } else { &TAKEN[..1] };
        let posting = levels.iter().find_map(|of| of.posting.as_ref());
        for key in keys {
            let what = format!("ASSUMED, the value of {}: no imported file has this value.", base.name());
            match (posting, *key) {
                (Some((seconds, from)), "core") => {
                    taken(&mut text, &posting_at(base, *seconds), key, &[&format!("{what} But:"), from]);
                }
                _ => taken(&mut text, base, key, &[&what]),
            }
        }
        if self.base.is_some() {
            let imported: Vec<Level> = levels.iter().map(|of| of.fit.level).collect();
            let what = format!("ASSUMED, the places of {}, without the costs of imported levels.", base.name());
            taken(&mut text, &with_places_of(base, shape, &imported), "places", &[&what]);
        }
        for level in Level::ALL {
            match levels.iter().find(|of| of.fit.level == level) {
                Some(of) => {
                    text.push('\n');
                    of.told.iter().for_each(|line| comment(&mut text, line));
                    link(&mut text, &of.fit);
                }
                None => self.stand_in(&mut text, level, levels),
            }
        }
        Ok(text)
    }

    /// Writes the platform table of a network level without benchmark files.
    fn stand_in(&self, text: &mut String, level: Level, levels: &[ImportedLevel]) {
        if let Some(base) = &self.base {
            let what = format!("NO DATA for {}. ASSUMED: the values of {}.", level.name(), base.name());
            taken(text, base, level.name(), &[&what]);
            return;
        }
        let Some(other) = levels.first() else { return };
        text.push('\n');
        let from = other.fit.level.name();
        comment(
            text,
            &format!(
                "No ranks of this machine use this level. Values are those of {from}, so that the file is \
                      complete."
            ),
        );
        let mut fit = other.fit.clone();
        fit.level = level;
        fit.occupancy = Some(MeasuredOccupancy::default());
        fit.rows.iter_mut().for_each(|row| row.gap = 0.0);
        fit.rows = joined(fit.rows);
        fit.errors = Vec::new();
        link(text, &fit);
    }
}

/// Returns a note that times of collective calls are not used, because platforms do not contain them.
fn calls_note(file: &str, calls: &[table::BenchmarkTable]) -> Option<String> {
    let mut names: Vec<&str> = calls.iter().map(|table| table.benchmark.name()).collect();
    names.sort_unstable();
    names.dedup();
    let what = format!("{file}: times of {} are not used: a validation case reads them", names.join(", "));
    (!names.is_empty()).then(|| format!("{what}, mcpsim validate --new DIR --import {file}"))
}

/// Returns the platform `base` with those of its places that fit `shape`. Costs of places within an imported level are
/// left out, as are groups whose nodes are listed in a file.
fn with_places_of(base: &Document, shape: Shape, imported: &[Level]) -> Document {
    let mut changed = base.clone();
    let Some(places) = changed.table_mut().get_mut("places").and_then(toml::Value::as_table_mut) else {
        return changed;
    };
    places.retain(|_, place| {
        let Some(place) = place.as_table_mut() else { return false };
        let number = |key: &str| place.get(key).and_then(toml::Value::as_integer).filter(|number| *number > 0);
        let (level, fits) = match (number("cores"), number("nodes")) {
            (Some(cores), _) => (Level::IntraCmp, i64::from(shape.cores) % cores == 0),
            (None, nodes) => (Level::InterNode, nodes.is_some()),
        };
        if imported.contains(&level) {
            place.retain(|key, _| PLACE_KEYS.contains(&key));
        }
        fits
    });
    if places.is_empty() {
        changed.table_mut().remove("places");
    }
    changed
}

/// Returns the platform `base` in which posting a receive costs `seconds`.
fn posting_at(base: &Document, seconds: f64) -> Document {
    let mut changed = base.clone();
    if let Some(core) = changed.table_mut().get_mut("core").and_then(toml::Value::as_table_mut) {
        core.insert("post_overhead".to_owned(), toml::Value::String(overhead(seconds)));
    }
    changed
}
