//! `mcpsim models`: fits textbook models of message times to a platform or to measured samples.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;

use crate::config::read_text;
use crate::measure::{BenchmarkOutput, LevelModels, Samples, sample_models};
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
  Parameters from the output of osu_latency between two nodes
    mcpsim models osu_latency.txt
  Predict a program with one of the models, and validate all models with a case
    mcpsim --model loggp app.toml
    mcpsim validate --models all mycase

Exit codes: 0 done, 2 bad input or usage.";

/// Fits Hockney, LogP and LogGP to a machine and prints their errors
#[derive(Clone, Debug, Parser)]
#[command(
    name = "mcpsim models",
    override_usage = "mcpsim models [OPTIONS] PLATFORM|SAMPLES.csv|FILE.txt",
    term_width = 80,
    arg_required_else_help = true,
    after_help = "See --help for examples and exit codes.",
    after_long_help = EXAMPLES
)]
pub(super) struct ModelsArgs {
    /// A platform (file or name) to simulate, the --samples output of mcpsim
    /// measure, or the output of osu_latency or IMB PingPong (such as FILE.txt)
    #[arg(value_name = "PLATFORM|SAMPLES.csv|FILE.txt")]
    source: PathBuf,

    /// For benchmark output: the level of its ping-pong; default: inter_node
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    level: Option<Level>,

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

fn level(text: &str) -> Result<Level, String> {
    let known = Level::ALL.into_iter().find(|level| level.name() == text);
    known.ok_or_else(|| "expected intra_cmp, inter_cmp or inter_node".to_owned())
}

/// Executes the command `mcpsim models`.
pub(super) fn models(args: &ModelsArgs) -> Result<(), Failure> {
    let csv = args.csv.as_ref().map(|name| OutputTarget::new("--csv", name)).transpose()?;
    let shown = args.source.display().to_string();
    let is_of = |ending: &str| args.source.extension().is_some_and(|extension| extension == ending);
    let is_output = args.source.is_file() && !is_of("csv") && !is_of("toml");
    let is_table = is_of("csv") || is_output;
    let (name, processors, samples, courses) = if is_table {
        if args.nct.is_some() || !args.set.is_empty() {
            return Err(Failure::bad_input(
                "--nct and --set: expected a platform to simulate; found measured \
                                           samples, which have a fixed machine",
            ));
        }
        let samples = match is_output {
            true => BenchmarkOutput::read(&shown, &read_text(&args.source, "output of a benchmark program")?)?
                .samples(args.level.unwrap_or(Level::InterNode)),
            false => Samples::parse(&shown, &read_text(&args.source, "CSV in UTF-8")?)?,
        };
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
    fn output_of_osu_latency_has_parameters_of_hockneys_model() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("osu_latency.txt");
        let rows = [1, 1024, 65536].map(|bytes| format!("{bytes} {:.2}", 2.0 + f64::from(bytes) / 1000.0));
        let head = "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n";
        std::fs::write(&file, format!("{head}{}\n", rows.join("\n"))).unwrap();
        let csv = directory.path().join("models.csv");
        let line = ["models", file.to_str().unwrap(), "--csv", csv.to_str().unwrap()];
        models(&ModelsArgs::parse_from(line)).unwrap_or_else(|failure| panic!("{}", failure.text));
        let found = std::fs::read_to_string(&csv).unwrap();
        assert!(found.contains("inter_node,hockney,"), "{found}");
    }

    #[test]
    fn definitions_are_sound_and_help_fits_80_columns() {
        ModelsArgs::command().debug_assert();
        let text = ModelsArgs::command().render_long_help().to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
