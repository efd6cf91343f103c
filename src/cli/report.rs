//! `mcpsim report`: creates figures, tables and pages of a run or of a study from exported data.

mod comparison;
mod fit;
mod histogram;
mod page;

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Parser, ValueEnum};

use crate::config::note_input;
use crate::engine::Outcome;
use crate::report::{Figure, Groups, calls_csv, figures, load_csv, wrapped};

use super::exit::Failure;
use super::output::{self, cannot_write};
use crate::run::write_whole;

const EXAMPLES: &str = "\
Examples:
  Figures of a run: each rank's time, messages by size and level, and with --pairs
  the communication matrix
    mcpsim --pairs --json run.json app.toml
    mcpsim report run.json --figures figures
  Figures of a study's points, with the best point marked
    mcpsim sweep --vary cores=16 --out shapes app.toml
    mcpsim report shapes --figures figures
  Load of links, adapters and ranks over time, and of the network's links
    mcpsim --load-over-time --json run.json app.toml
    mcpsim report run.json --figures figures --load-csv load.csv
  One HTML page for a browser, with all results of a run
    mcpsim --pairs --functions --json run.json --timeline line.json app.toml
    mcpsim report run.json --timeline line.json --html page.html
  Fit a formula to the times of a study or to measured times
    mcpsim report times.csv --fit 'a/n + b' --figures figures
  Compare machines, MPI libraries or layers measured by mcpsim measure
    mcpsim report mpich.csv openmpi.csv --figures figures
  Messages of a run by exact size, summed over groups of sizes
    mcpsim --histogram sizes.txt app.toml
    mcpsim report --histogram sizes.txt --groups 0-64,65-4096";

/// Draws figures from the exported results of a run or a sweep
#[derive(Clone, Debug, Parser)]
#[command(name = "mcpsim report", override_usage = "mcpsim report RUN.json|STUDY --figures DIR|--html FILE.html\n       mcpsim report STUDY|FILE.csv --fit FORMULA [--figures DIR] [--csv CSV]\n       mcpsim report A.csv B.csv … [--figures DIR]\n       mcpsim report --histogram FILE [--groups GROUPS] [--rates FILE.csv]", term_width = 80, arg_required_else_help = true, after_help = EXAMPLES)]
pub(super) struct ReportArgs {
    /// The --json output of a run, the directory of a study, or tables from
    /// mcpsim measure --samples, which are compared
    #[arg(value_name = "RUN.json|STUDY|FILE.csv", required_unless_present = "histogram", conflicts_with = "histogram")]
    sources: Vec<PathBuf>,

    /// Write figures into this directory
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,

    /// Write one HTML page for a browser, from a run, a study, revisions.json or the --csv output of mcpsim validate
    #[arg(long, value_name = "FILE.html", conflicts_with = "histogram")]
    html: Option<PathBuf>,

    /// With --html: the --timeline FILE.json output of the same run
    #[arg(long, value_name = "FILE.json", requires = "html")]
    timeline: Option<PathBuf>,

    /// Report messages by exact size from this --histogram output of a run (one count:size per line)
    #[arg(long, value_name = "FILE")]
    histogram: Option<PathBuf>,

    /// With --histogram: groups of message sizes, with or without gaps, such as 32-40,69-80,4KiB-64KiB
    #[arg(long, value_name = "GROUPS", requires = "histogram")]
    groups: Option<Groups>,

    /// With --histogram: table with the columns bytes and seconds (time of a message), for shares of time
    #[arg(long, value_name = "FILE.csv", requires = "histogram")]
    rates: Option<PathBuf>,

    /// Write CSV: the shares of --histogram, the points of --fit, or the MPI calls of a run
    #[arg(long, value_name = "FILE.csv")]
    csv: Option<PathBuf>,

    /// Write CSV: the load of links, adapters and ranks over time, from a run with --load-over-time
    #[arg(long, value_name = "FILE.csv", conflicts_with_all = ["histogram", "fit"])]
    load_csv: Option<PathBuf>,

    /// Fit a formula of columns, n (number of ranks) and unknowns to the times of a study or a table; auto searches for
    /// a formula
    #[arg(long, value_name = "FORMULA", conflicts_with_all = ["histogram", "html"])]
    fit: Option<String>,

    /// With --fit: name of the table column with the times
    #[arg(long, value_name = "COLUMN", requires = "fit")]
    time: Option<String>,

    /// With --fit: use only the table rows whose COLUMN is CELL; repeatable
    #[arg(long, value_name = "COLUMN=CELL", requires = "fit")]
    rows: Vec<String>,

    /// Width of the figures of a run or study, such as 160mm, 6in or 800px; texts are scaled too
    #[arg(long, value_name = "LENGTH", value_parser = pixels, conflicts_with_all = ["histogram", "fit"])]
    width: Option<f64>,

    /// Formats of each figure
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', default_value = "svg,png")]
    format: Vec<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Svg,
    Png,
    Pdf,
}

/// Reads a length in CSS units and returns it in pixels.
fn pixels(text: &str) -> Result<f64, String> {
    let units = [("px", 1.0), ("pt", 96.0 / 72.0), ("mm", 96.0 / 25.4), ("cm", 96.0 / 2.54), ("in", 96.0)];
    let length = units.into_iter().find_map(|(unit, size)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * size)
    });
    length
        .filter(|length| (50.0..=20_000.0).contains(length))
        .ok_or_else(|| "expected a length from 50px to 20000px in px, pt, mm, cm or in, such as 160mm".to_owned())
}

/// Executes the command `mcpsim report`.
pub(super) fn report(args: &ReportArgs) -> Result<(), Failure> {
    if let Some(histogram) = &args.histogram {
        let (groups, rates) = (args.groups.as_ref(), args.rates.as_deref());
        let (csv, figures, format) = (args.csv.as_ref(), args.figures.as_ref(), &args.format[..]);
        return histogram::report(&histogram::HistogramArgs { histogram, groups, rates, csv, figures, format });
    }
    let tables = args.fit.is_none() && args.sources.iter().any(|source| comparison::is_table(source));
    if tables && args.html.is_none() && (args.sources.len() > 1 || args.figures.is_some()) {
        if args.width.is_some() {
            return Err(Failure::bad_input("--width: expected a run or a study; found tables of samples"));
        }
        return comparison::report(&args.sources, args.figures.as_deref(), &args.format);
    }
    let [source] = &args.sources[..] else {
        let found = args.sources.len();
        return Err(Failure::bad_input(format!(
            "expected one RUN.json, one study, or several tables of samples; found {found} arguments"
        )));
    };
    if args.figures.is_none()
        && args.html.is_none()
        && args.fit.is_none()
        && args.csv.is_none()
        && args.load_csv.is_none()
    {
        // A wrong name of a source is reported before missing data in the source.
        let (name, _) = read(source)?;
        let what = format!(
            "{name}: no output is requested: expected --figures DIR, --html FILE.html, --csv \
                            FILE.csv, --load-csv FILE.csv or --fit FORMULA"
        );
        return Err(Failure::bad_input(what));
    }
    if let Some(formula) = &args.fit {
        let (time, rows) = (args.time.as_deref(), &args.rows[..]);
        let (csv, figures, format) = (args.csv.as_deref(), args.figures.as_deref(), &args.format[..]);
        return fit::report(&fit::FitRequest { source, formula, time, rows, csv, figures, format });
    }
    let (name, json) = read(source)?;
    if let Some(csv) = &args.csv {
        write_calls(&name, &json, csv)?;
    }
    if let Some(csv) = &args.load_csv {
        write_load(&name, &json, csv)?;
    }
    if let Some(html) = &args.html {
        page::write(&name, &json, args.timeline.as_deref(), html)?;
    }
    let Some(directory) = &args.figures else { return Ok(()) };
    let mut figures = figures(&name, &json)?;
    if let Some(width) = args.width {
        figures = figures.into_iter().map(|figure| figure.with_width(width)).collect();
    }
    if figures.is_empty() {
        return Err(Failure::bad_input(format!(
            "{name}: nothing to draw: in these results no time passes, no message is sent, and no key varies"
        )));
    }
    output::print(&draw(&figures, directory, &args.format)?)
}

/// Writes the calls of a run as CSV, one row per source position if the source positions are known.
fn write_calls(name: &str, json: &str, csv: &Path) -> Result<(), Failure> {
    let expected = "expected the --json output of a run with --functions or --sites";
    let outcome: Outcome =
        serde_json::from_str(json).map_err(|error| Failure::bad_input(format!("{name}: {expected}: {error}")))?;
    if outcome.functions.is_none() {
        return Err(Failure::bad_input(format!("{name}: {expected}; found no calls by function")));
    }
    let text = calls_csv(&outcome);
    write_whole(csv, text.as_bytes()).map_err(|error| cannot_write(&csv.display().to_string(), &error))
}

/// Writes the load of resources over time as CSV.
fn write_load(name: &str, json: &str, csv: &Path) -> Result<(), Failure> {
    let expected = "expected the --json output of a run with --load-over-time";
    let outcome: Outcome =
        serde_json::from_str(json).map_err(|error| Failure::bad_input(format!("{name}: {expected}: {error}")))?;
    let text = load_csv(&outcome)
        .ok_or_else(|| Failure::bad_input(format!("{name}: {expected}; found no loads over time")))?;
    write_whole(csv, text.as_bytes()).map_err(|error| cannot_write(&csv.display().to_string(), &error))
}

/// Returns the name and the text of the data source `source`, which is a file or the directory of a study.
fn read(source: &Path) -> Result<(String, String), Failure> {
    let path = if source.is_dir() { source.join("study.json") } else { source.to_owned() };
    let name = path.display().to_string();
    note_input(&path);
    let text = fs::read_to_string(&path).map_err(|error| {
        let missing = source.is_dir() && error.kind() == std::io::ErrorKind::NotFound;
        let hint = if missing { ": the sweep has not ended; repeat its command to continue it" } else { "" };
        let what = match error.kind() {
            std::io::ErrorKind::NotFound => "no such file".to_owned(),
            std::io::ErrorKind::InvalidData => {
                "not text: expected the JSON of a run or a study; for a trace use mcpsim trace info or mcpsim run"
                    .to_owned()
            }
            _ => error.to_string(),
        };
        Failure::bad_input(format!("{name}: {what}{hint}"))
    })?;
    Ok((name, text))
}

/// Writes the files of `figures` into `directory`, one file per format in `formats`. Returns an output line that lists
/// the files.
pub(super) fn draw(figures: &[Figure], directory: &Path, formats: &[Format]) -> Result<String, Failure> {
    let shown = directory.display();
    fs::create_dir_all(directory)
        .map_err(|error| Failure::bad_input(format!("--figures {shown}: cannot create this directory: {error}")))?;
    for figure in figures {
        for format in formats {
            write(directory, figure, *format)?;
        }
    }
    let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
    Ok(wrapped(&format!("in {shown}: {}", names.join(", ")), 2))
}

fn write(directory: &Path, figure: &Figure, format: Format) -> Result<(), Failure> {
    let (extension, content) = match format {
        Format::Svg => ("svg", Some(figure.svg().into_bytes())),
        Format::Png => ("png", figure.png()),
        Format::Pdf => ("pdf", Some(figure.pdf())),
    };
    let path = directory.join(format!("{}.{extension}", figure.name));
    let name = path.display().to_string();
    let content =
        content.ok_or_else(|| Failure::bad_input(format!("{name}: not enough memory to draw this figure")))?;
    write_whole(&path, content).map_err(|error| cannot_write(&name, &error))
}
