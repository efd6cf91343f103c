//! `mcpsim report`: figures of a run or of a study, from what was exported alone.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Parser, ValueEnum};

use crate::report::{Figure, figures};

use super::exit::Failure;
use super::output::{self, cannot_write, write_whole};

const EXAMPLES: &str = "\
Examples:
  What a run's time is made of, every rank's, messages by size and level, and
  with --pairs who sends to whom
    mcpsim --pairs --json run.json app.toml
    mcpsim report run.json --figures figures
  A study's points, the best marked
    mcpsim sweep --vary cores=16 --out shapes app.toml
    mcpsim report shapes --figures figures";

/// Draws figures of what a run or a sweep has exported
#[derive(Clone, Debug, Parser)]
#[command(name = "mcpsim report", override_usage = "mcpsim report RUN.json|STUDY --figures DIR", term_width = 80, arg_required_else_help = true, after_help = EXAMPLES)]
pub(super) struct ReportArgs {
    /// What --json of a run wrote, or the directory of a study
    #[arg(value_name = "RUN.json|STUDY")]
    source: PathBuf,

    /// Where figures go
    #[arg(long, value_name = "DIR")]
    figures: PathBuf,

    /// What is written of each figure
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', default_value = "svg,png")]
    format: Vec<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Svg,
    Png,
}

/// Draws what `args` ask for.
pub(super) fn report(args: &ReportArgs) -> Result<(), Failure> {
    let path = if args.source.is_dir() { args.source.join("study.json") } else { args.source.clone() };
    let name = path.display().to_string();
    let json = fs::read_to_string(&path).map_err(|error| {
        let missing = args.source.is_dir() && error.kind() == std::io::ErrorKind::NotFound;
        let hint = if missing { ": the sweep has not ended, the same command goes on with it" } else { "" };
        let what = match error.kind() {
            std::io::ErrorKind::NotFound => "no such file".to_owned(),
            _ => error.to_string(),
        };
        Failure::bad_input(format!("{name}: {what}{hint}"))
    })?;
    let figures = figures(&name, &json)?;
    if figures.is_empty() {
        return Err(Failure::bad_input(format!(
            "{name}: nothing to draw: no time passes, no message is sent, nothing varies"
        )));
    }
    output::print(&draw(&figures, &args.figures, &args.format)?)
}

/// Writes `figures` into `directory` in each of `formats`; the line that says which.
pub(super) fn draw(figures: &[Figure], directory: &Path, formats: &[Format]) -> Result<String, Failure> {
    let shown = directory.display();
    fs::create_dir_all(directory)
        .map_err(|error| Failure::bad_input(format!("--figures {shown}: cannot make this directory: {error}")))?;
    for figure in figures {
        for format in formats {
            write(directory, figure, *format)?;
        }
    }
    let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
    Ok(format!("in {shown}: {}\n", names.join(", ")))
}

fn write(directory: &Path, figure: &Figure, format: Format) -> Result<(), Failure> {
    let (extension, content) = match format {
        Format::Svg => ("svg", Some(figure.svg().into_bytes())),
        Format::Png => ("png", figure.png()),
    };
    let path = directory.join(format!("{}.{extension}", figure.name));
    let name = path.display().to_string();
    let content = content.ok_or_else(|| Failure::bad_input(format!("{name}: no memory to draw it")))?;
    write_whole(&path, content).map_err(|error| cannot_write(&name, &error))
}
