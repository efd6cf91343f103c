//! `mcpsim models`: fits textbook models of message times to a platform or to measured samples.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;

use crate::config::read_text;
use crate::measure::{LevelModels, Samples, sample_models};
use crate::platform::{Level, Shape};
use crate::report::{model_figures, models_csv, models_summary};

use super::exit::Failure;
use super::output::{OutputTarget, print};
use super::platform::load_platform;
use super::report::{Format, draw};

const EXAMPLES: &str = "\
Examples:
  Parameters of Hockney's model, LogP and LogGP for each level of a machine
    mcpsim models default
  Parameters of a measured machine
    mpirun -n 4 mcpsim measure -o here.toml --samples here.csv
    mcpsim models here.csv --figures figures
  Predict a program with one of the models, and validate all models with a case
    mcpsim --model loggp app.toml
    mcpsim validate --models all mycase

Exit codes: 0 done, 2 bad input or usage.";

/// Fits Hockney, LogP and LogGP to a machine and prints their errors
#[derive(Clone, Debug, Parser)]
#[command(
    name = "mcpsim models",
    override_usage = "mcpsim models [OPTIONS] PLATFORM|SAMPLES.csv",
    term_width = 80,
    arg_required_else_help = true,
    after_help = "See --help for examples and exit codes.",
    after_long_help = EXAMPLES
)]
pub(super) struct ModelsArgs {
    /// A platform (file or name) to simulate, or the --samples output of mcpsim measure
    #[arg(value_name = "PLATFORM|SAMPLES.csv")]
    source: PathBuf,

    /// For a platform: its shape: N nodes, C CMPs (sockets) per node, T cores per CMP
    #[arg(long, value_name = "N,C,T")]
    nct: Option<Shape>,

    /// For a platform: override one of its keys; repeatable
    #[arg(long, value_name = "platform.KEY=VALUE")]
    set: Vec<String>,

    /// Write one CSV row per parameter; - is stdout
    #[arg(long, value_name = "FILE.csv")]
    csv: Option<OsString>,

    /// Draw measured times and the models by message size into this directory, one figure per level
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,

    /// Formats of each figure
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', default_value = "svg,png")]
    format: Vec<Format>,
}

/// Executes the command `mcpsim models`.
pub(super) fn models(args: &ModelsArgs) -> Result<(), Failure> {
    let csv = args.csv.as_ref().map(|name| OutputTarget::new("--csv", name)).transpose()?;
    let shown = args.source.display().to_string();
    let is_table = args.source.extension().is_some_and(|extension| extension == "csv");
    let (name, processors, samples, courses) = if is_table {
        if args.nct.is_some() || !args.set.is_empty() {
            return Err(Failure::bad_input(
                "--nct and --set: expected a platform to simulate; found measured \
                                           samples, which have a fixed machine",
            ));
        }
        let samples = Samples::parse(&shown, &read_text(&args.source, "CSV in UTF-8")?)?;
        (shown.clone(), None, samples, Vec::new())
    } else {
        let platform = load_platform(&args.source, &args.set, args.nct)?;
        let shape = platform.shape;
        let (samples, courses) = sample_models(&platform)?;
        let name = format!("{} ({}, {}, {}), simulated", platform.name, shape.nodes, shape.cmps, shape.cores);
        (name, Some(shape.total_cores()), samples, courses)
    };
    let models: Vec<LevelModels> =
        Level::ALL.into_iter().filter_map(|level| LevelModels::of(&samples, level)).collect();
    if models.is_empty() {
        let what = if is_table { "ping-pong samples of two message sizes at one level" } else { "two cores" };
        return Err(Failure::bad_input(format!("{shown}: expected {what}; found none")));
    }
    if let Some(target) = &csv {
        target.put(&models_csv(&models, &courses))?;
    }
    if csv != Some(OutputTarget::Stdout) {
        print(&models_summary(&name, processors, &models, &courses))?;
    }
    let Some(directory) = &args.figures else { return Ok(()) };
    let title = name.split(" (").next().unwrap_or(&name);
    let drawn = draw(&model_figures(title, &models), directory, &args.format)?;
    if csv == Some(OutputTarget::Stdout) { Ok(()) } else { print(&drawn) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn definitions_are_sound_and_help_fits_80_columns() {
        ModelsArgs::command().debug_assert();
        let text = ModelsArgs::command().render_long_help().to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
