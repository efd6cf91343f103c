//! `mcpsim platform`: shows machines, and imports descriptions of machines.

mod import;
mod show;

use std::path::Path;

use clap::{Parser, Subcommand};

use crate::config::{Document, Override};
use crate::platform::{Platform, PlatformSource, Shape};
use crate::run::{Shipped, hides};

use super::exit::Failure;
use import::PlacesImportArgs;
use show::ShowArgs;

/// Shows machines, and imports descriptions of machines
#[derive(Clone, Debug, Parser)]
#[command(name = "mcpsim platform", term_width = 80, disable_help_subcommand = true)]
pub(super) struct PlatformArgs {
    #[command(subcommand)]
    action: PlatformAction,
}

#[derive(Clone, Debug, Subcommand)]
enum PlatformAction {
    /// Print the places of a machine and the costs of its messages
    Show(ShowArgs),
    /// Convert a topology of Slurm, hwloc, ibnetdiscover or SimGrid to a part of a platform file
    Import(PlacesImportArgs),
}

/// Executes the command.
pub(super) fn platform(args: &PlatformArgs) -> Result<(), Failure> {
    match &args.action {
        PlatformAction::Show(args) => show::show(args),
        PlatformAction::Import(args) => import::import(args),
    }
}

/// Returns the platform `source`, a file or a name, with overrides and another shape.
pub(super) fn load_platform(source: &Path, set: &[String], nct: Option<Shape>) -> Result<Platform, Failure> {
    let document = match source.to_str() {
        Some("default") if !hides(source) => Platform::default_document(),
        _ => Document::read(&Shipped::Platform.resolve(source)?)?,
    };
    let overrides = set.iter().map(|text| Override::parse(text)).collect::<Result<Vec<_>, _>>()?;
    if let Some(other) = overrides.iter().find(|over| over.key[0] != "platform") {
        let key = other.key.join(".");
        let text = format!("--set {key}: expected a platform key, which begins with \"platform.\"");
        return Err(Failure::bad_input(text));
    }
    let source = PlatformSource::load(document, &overrides)?;
    Ok(match nct {
        Some(shape) => {
            source.with_shape(shape).map_err(|error| Failure::bad_input(format!("--nct {shape}: {error}")))?
        }
        None => source,
    }
    .platform)
}
