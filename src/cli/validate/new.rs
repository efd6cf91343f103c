//! `mcpsim validate --new`: writes a commented template of a validation case, or a case of measured collectives.

use std::io::ErrorKind;
use std::path::Path;

use crate::config::read_text;
use crate::measure::MeasuredCalls;
use crate::run::write_whole;

use super::super::exit::{Exit, Failure};
use super::super::output::{self, cannot_write};
use super::CASE;

/// File name of the table of measured runs.
const MEASURED: &str = "measured.csv";
/// File name of the application in a validation case.
const APP: &str = "app.toml";

/// Writes a validation case into `folder`, which must not exist. The measured runs of the case are read from the files
/// in `imports`.
///
/// # Errors
/// `folder` exists or cannot be written, or a file in `imports` has no measured collectives.
pub(super) fn write_case(folder: &Path, imports: &[String], quiet: bool) -> Result<u8, Failure> {
    let mut calls = MeasuredCalls::default();
    for import in imports {
        add(&mut calls, import)?;
    }
    let (case, measured, app) = match imports.is_empty() {
        true => (
            include_str!("template/case.toml").to_owned(),
            include_str!("template/measured.csv").to_owned(),
            include_str!("template/app.toml"),
        ),
        false => (case_of(&calls), measured_of(&calls), include_str!("template/calls.toml")),
    };
    let shown = folder.display();
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::bad_input(format!("--new {shown}: this folder exists already: expected a new folder"))
        }
        _ => Failure::bad_input(format!("--new {shown}: {error}")),
    };
    std::fs::create_dir(folder).map_err(failed)?;
    for (name, text) in [(CASE, case.as_str()), (MEASURED, &measured), (APP, app)] {
        write_whole(&folder.join(name), text).map_err(|error| {
            let _ = std::fs::remove_dir_all(folder);
            cannot_write(&folder.join(name).display().to_string(), &error)
        })?;
    }
    if !quiet {
        let skipped: String = calls.skipped.iter().map(|what| format!("skipped: {what}\n")).collect();
        let next = format!("next: mcpsim validate {shown}");
        output::print(&format!("{shown}: {CASE}, {MEASURED}, {APP}\n{skipped}{next}\n"))?;
    }
    Ok(Exit::Predicted.code())
}

/// Adds the measured collective calls in the file that `import` names in the form `[PROCESSES=]FILE`.
fn add(calls: &mut MeasuredCalls, import: &str) -> Result<(), Failure> {
    let stated = import.split_once('=').and_then(|(number, file)| Some((number.parse::<u32>().ok()?, file)));
    let (processes, file) = stated.map_or((None, import), |(number, file)| (Some(number), file));
    if processes == Some(0) {
        return Err(Failure::bad_input(format!("--import {import}: expected a number of processes above zero")));
    }
    let text = read_text(Path::new(file), "a text file with the output of a benchmark program")?;
    Ok(calls.add(file, processes, &text)?)
}

fn case_of(calls: &MeasuredCalls) -> String {
    let nodes = calls.ranks().div_ceil(32).max(1);
    include_str!("template/calls-case.toml").replace("NODES", &nodes.to_string())
}

fn measured_of(calls: &MeasuredCalls) -> String {
    format!(
        "# source: {}\n# machine: nodes, processors, network, MPI library\n# date: when they were made\n# licence: own\n{}",
        calls.programs.join("; "),
        calls.csv()
    )
}
