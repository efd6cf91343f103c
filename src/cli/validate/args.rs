//! Arguments of `mcpsim validate`.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Parser;

use crate::report::ShownPoints;
use crate::run::Model;
use crate::study::validate::Cells;

use super::super::report::Format;

const EXAMPLES: &str = "\
Examples:
  All cases of the project, from its root
    mcpsim validate --all
  One of them, with its figures
    mcpsim validate --figures figures validation/lcc2-heat3d
  Your own case: a folder with case.toml, measured runs, machine, application
    mcpsim validate --json result.json mycase
  A commented template of a case
    mcpsim validate --new mycase
  Compare the errors of several models: three levels, two levels, one level
    mcpsim validate --models two-level,hockney,logp,loggp validation/orfeo-jacobi
  The error without each effect: contention, copies, gaps, progress, ...
    mcpsim validate --effects validation/clovertown-jacobi3d
  Predict only some of the points
    mcpsim validate --only ranks=1..8 --only room_size=64 validation/lcc2-heat3d

Exit codes: 0 within the limits, 2 bad input or usage, 5 over a limit, 70 a bug
in mcpsim, 130 interrupted; 1, 3 and 4 as for a run.";

/// Compares predictions with measured runs
#[derive(Clone, Debug, Parser)]
#[command(
    name = "mcpsim validate",
    term_width = 80,
    override_usage = "mcpsim validate [OPTIONS] CASE...",
    after_help = "See --help for examples and exit codes.",
    after_long_help = EXAMPLES
)]
pub(crate) struct ValidateArgs {
    /// Folders of validation cases
    #[arg(value_name = "CASE", required_unless_present_any = ["all", "new"], conflicts_with_all = ["all", "new"])]
    pub cases: Vec<PathBuf>,

    /// Validate all cases in the folder ./validation
    #[arg(long)]
    pub all: bool,

    /// Create this folder with a commented template of a case
    #[arg(long, value_name = "DIR", conflicts_with = "all")]
    pub new: Option<PathBuf>,

    /// With --new: file with measured times of collectives (output of OSU or IMB benchmarks, or CSV); PROCESSES= states
    /// the number of processes if the file does not
    #[arg(long, value_name = "[PROCESSES=]FILE", requires = "new")]
    pub import: Vec<String>,

    /// Predict only the points whose COLUMN has one of VALUES; repeatable
    #[arg(long, value_name = "COLUMN=VALUES", value_parser = parse_only)]
    pub only: Vec<(String, Cells)>,

    /// List all predicted points, even in large cases
    #[arg(long)]
    pub points: bool,

    /// Network models to compare with mcpsim's own model, or all
    #[arg(long, value_name = "MODELS", value_delimiter = ',', value_parser = parse_models, default_value = "two-level")]
    pub models: Vec<Models>,

    /// Runs with noise per point, for prediction intervals (default: as stated in
    /// the case; 0: no intervals)
    #[arg(long, value_name = "N")]
    pub repeats: Option<u32>,

    /// Switch off the effects in the machine model one at a time, and print the error without each effect
    #[arg(long)]
    pub effects: bool,

    /// Write the results as JSON; - is stdout
    #[arg(long, value_name = "FILE")]
    pub json: Option<OsString>,

    /// Write one CSV row per point; - is stdout
    #[arg(long, value_name = "FILE")]
    pub csv: Option<OsString>,

    /// Write figures into this directory
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,

    /// Formats of each figure
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', default_value = "svg,png")]
    pub format: Vec<Format>,

    /// Number of concurrent runs (default: one per host core)
    #[arg(long, short, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,

    /// Print errors only
    #[arg(long, short)]
    pub quiet: bool,
}

impl ValidateArgs {
    /// Returns the communication models that are compared, without duplicates. mcpsim's own model is first.
    pub fn compared(&self) -> Vec<Model> {
        let mut models = vec![Model::Mcpsim];
        for model in self.models.iter().flat_map(|models| &models.0) {
            if !models.contains(model) {
                models.push(*model);
            }
        }
        models
    }

    /// Returns which validated points the text summary lists.
    pub fn shown_points(&self) -> ShownPoints {
        if self.points { ShownPoints::All } else { ShownPoints::Furthest }
    }

    /// Returns true if results are written to stdout; then no text summary is printed.
    pub fn to_stdout(&self) -> bool {
        [&self.json, &self.csv].into_iter().flatten().any(|name| name == "-")
    }
}

/// Communication models that a keyword of `--models` selects.
#[derive(Clone, Debug)]
pub(crate) struct Models(Vec<Model>);

fn parse_models(text: &str) -> Result<Models, String> {
    match text.trim() {
        "all" => Ok(Models(Model::ALL.to_vec())),
        name => name.parse().map(|model| Models(vec![model])),
    }
}

fn parse_only(text: &str) -> Result<(String, Cells), String> {
    let (column, values) =
        text.split_once('=').ok_or_else(|| format!("expected COLUMN=VALUES such as ranks=1,2,4; found \"{text}\""))?;
    Ok((column.trim().to_owned(), Cells::new(values.split(',').map(|value| value.trim().to_owned()))))
}
