//! `mcpsim report A.csv B.csv …`: comparison of several files that `mcpsim measure --samples` has written.

use std::path::{Path, PathBuf};

use crate::config::read_text;
use crate::measure::Samples;
use crate::report::{MOST_BESIDE, beside_figures, beside_summary, measured_figures};

use crate::cli::exit::Failure;
use crate::cli::output;

use super::{Format, draw};

/// Returns whether `source` is a CSV table, and not the JSON output of a run or the directory of a study.
pub(super) fn is_table(source: &Path) -> bool {
    source.extension().is_some_and(|extension| extension == "csv")
}

/// Prints the comparison of several measurements, and draws figures into `directory`, if it is given.
pub(super) fn report(sources: &[PathBuf], directory: Option<&Path>, formats: &[Format]) -> Result<(), Failure> {
    if let Some(other) = sources.iter().find(|source| !is_table(source)) {
        let shown = other.display();
        return Err(Failure::bad_input(format!(
            "{shown}: expected only tables of samples (FILE.csv of mcpsim measure --samples) in a comparison"
        )));
    }
    if sources.len() > MOST_BESIDE {
        let found = sources.len();
        return Err(Failure::bad_input(format!("expected at most {MOST_BESIDE} tables side by side; found {found}")));
    }
    let mut measured: Vec<(String, Samples)> = Vec::new();
    for (source, name) in sources.iter().zip(names(sources)) {
        let samples = Samples::parse(&source.display().to_string(), &read_text(source, "CSV in UTF-8")?)?;
        measured.push((name, samples));
    }
    if let [_, _, ..] = &measured[..] {
        output::print(&beside_summary(&measured))?;
    }
    let Some(directory) = directory else { return Ok(()) };
    let figures = match &measured[..] {
        [(name, samples)] => measured_figures(name, samples),
        _ => beside_figures(&measured),
    };
    if figures.is_empty() {
        let name = sources[0].display();
        return Err(Failure::bad_input(format!(
            "{name}: nothing to draw: the table has no samples of a ping-pong or \
                                               a window"
        )));
    }
    output::print(&draw(&figures, directory, formats)?)
}

/// Returns names that distinguish the compared files, if possible without directory and extension.
fn names(sources: &[PathBuf]) -> Vec<String> {
    let short: Vec<String> =
        sources.iter().map(|path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned()).collect();
    let differ = short.iter().enumerate().all(|(place, name)| !short[..place].contains(name));
    if differ { short } else { sources.iter().map(|path| path.display().to_string()).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_called_by_what_differs() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(names(&paths(&["a/mpich.csv", "a/openmpi.csv"])), ["mpich", "openmpi"]);
        assert_eq!(names(&paths(&["a/here.csv", "b/here.csv"])), ["a/here.csv", "b/here.csv"]);
    }
}
