//! `mcpsim report --histogram`: evaluates the number of messages by exact size, in groups of sizes.

use std::path::{Path, PathBuf};

use crate::cli::exit::Failure;
use crate::cli::output::{self, cannot_write};
use crate::config::note_input;
use crate::report::{Groups, Histogram, Rates, group_figures, shares, shares_csv, shares_table};
use crate::run::write_whole;

use super::{Format, draw};

/// Options of a histogram of message sizes.
pub(super) struct HistogramArgs<'a> {
    pub histogram: &'a Path,
    pub groups: Option<&'a Groups>,
    pub rates: Option<&'a Path>,
    pub csv: Option<&'a PathBuf>,
    pub figures: Option<&'a PathBuf>,
    pub format: &'a [Format],
}

fn read(path: &Path) -> Result<(String, String), Failure> {
    let name = path.display().to_string();
    note_input(path);
    let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::bad_input(format!("{name}: no such file")),
        _ => Failure::bad_input(format!("cannot read {name}: {error}")),
    })?;
    Ok((name, text))
}

/// Computes the share of messages in each group of sizes, and prints, writes and draws the results that the options
/// request.
pub(super) fn report(asked: &HistogramArgs<'_>) -> Result<(), Failure> {
    let (name, text) = read(asked.histogram)?;
    let histogram = Histogram::read(&name, &text)?;
    let rates = asked.rates.map(read).transpose()?;
    let rates = rates.map(|(name, text)| Rates::read(&name, &text)).transpose()?;
    let rows = shares(&histogram, asked.groups, rates.as_ref());
    if let Some(path) = asked.csv {
        write_whole(path, shares_csv(&rows)).map_err(|error| cannot_write(&path.display().to_string(), &error))?;
    }
    let drawn = match asked.figures {
        Some(directory) => draw(&group_figures(&name, &rows), directory, asked.format)?,
        None => String::new(),
    };
    output::print(&format!("{}{drawn}", shares_table(&rows)))
}
