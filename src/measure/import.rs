//! A platform file from what benchmark programs wrote: OSU's osu_latency, osu_bw, osu_bibw, osu_mbw_mr, and IMB's
//! PingPong, Uniband, Biband.
//!
//! Each file's level is named by who gives it. What no file tells is taken from another platform or assumed, and the
//! file says so. Nothing is fitted but the figures named in [`level`].

mod imb;
mod level;
mod osu;
mod part;
mod table;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use crate::config::{ConfigError, Document};
use crate::platform::{Level, Platform, Shape};

use super::occupancy::MeasuredOccupancy;
use super::text::{comment, link, taken};
use level::{ImportSource, ImportedLevel, chosen};

pub use part::ImportPart;

/// What a platform is to be made of.
#[derive(Clone, Debug)]
pub struct Import {
    /// The machine's name.
    pub name: String,
    /// Where and when it is made, a line.
    pub made: String,
    /// Nodes, CMPs a node, cores a CMP, if stated.
    pub shape: Option<Shape>,
    /// Eager thresholds by level, if stated.
    pub eager: Vec<(Level, u64)>,
    /// The files with their text.
    pub files: Vec<(ImportPart, String)>,
    /// The platform that the rest is taken from.
    pub base: Option<Document>,
}

/// What is taken over from another platform beside levels.
const TAKEN: [&str; 4] = ["core", "cmp", "node", "collectives"];

impl Import {
    /// The platform file's text.
    ///
    /// # Errors
    /// Files that are no output of these programs, or were cut; tables whose level is not clear; levels that messages
    /// can cross on this machine but that neither a file nor the base covers.
    pub fn text(&self) -> Result<String, ConfigError> {
        let mut sources: Vec<(Vec<Level>, ImportSource)> = Vec::new();
        for (part, text) in &self.files {
            let tables = table::tables(&part.file, text)?;
            let found = chosen(part, tables)?.into_iter();
            sources.extend(found.map(|source| (part.levels.clone(), source)));
        }
        let shape = self.shape(&sources)?;
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
            levels.push(level::level(level, &of, eager)?);
        }
        self.written(shape, &levels)
    }

    /// The shape stated, that of the base, or two nodes with a core for each pair.
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

    /// A level without files may come from the base, or be one that no two ranks have between them.
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

    fn written(&self, shape: Shape, levels: &[ImportedLevel]) -> Result<String, ConfigError> {
        let mut text = String::new();
        comment(&mut text, &self.made);
        comment(&mut text, "latency, bandwidth: half round trips. The comments say what else is from where.");
        if self.shape.is_none() {
            let from =
                self.base.as_ref().map_or("two nodes, a core for each pair".to_owned(), |base| base.name().to_owned());
            comment(&mut text, &format!("nct: ASSUMED: {from}."));
        }
        let name = toml::Value::String(self.name.clone());
        let Shape { nodes, cmps, cores } = shape;
        let _ = write!(text, "\nname = {name}\nnct = [{nodes}, {cmps}, {cores}]\n");
        let default = Platform::default_document();
        let base = self.base.as_ref().unwrap_or(&default);
        let keys: &[&str] = if self.base.is_some() { &TAKEN } else { &TAKEN[..1] };
        for key in keys {
            let what = format!("ASSUMED, no such file tells it: that of {}.", base.name());
            taken(&mut text, base, key, &what);
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

    /// The table of a level without files.
    fn stand_in(&self, text: &mut String, level: Level, levels: &[ImportedLevel]) {
        if let Some(base) = &self.base {
            let what = format!("NO DATA for {}. ASSUMED: that of {}.", level.name(), base.name());
            taken(text, base, level.name(), &what);
            return;
        }
        let Some(other) = levels.first() else { return };
        text.push('\n');
        let from = other.fit.level.name();
        comment(
            text,
            &format!("No ranks are this far apart on this machine. A copy of {from}, for a file to be complete."),
        );
        let mut fit = other.fit.clone();
        fit.level = level;
        fit.occupancy = Some(MeasuredOccupancy::default());
        fit.errors = Vec::new();
        link(text, &fit);
    }
}
