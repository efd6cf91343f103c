//! `mcpsim measure --import`: creates a platform file from the output of other benchmark programs.

use std::path::Path;

use crate::config::{Document, read_text};
use crate::measure::{Import, ImportPart};
use crate::platform::{Level, Platform};
use crate::report::imported_summary;
use crate::run::hides;
use crate::units::Bytes;

use super::super::exit::{Exit, Failure};
use super::super::output::{self, OutputTarget};
use super::MeasureArgs;
use super::host;

/// Value of the option `--base` that selects the built-in machine.
const DEFAULT: &str = "default";

/// Reads the output files of benchmark programs and writes the platform file.
pub(super) fn import(args: &MeasureArgs) -> Result<(), Failure> {
    let parts = args.import.iter().map(|text| ImportPart::parse(text)).collect::<Result<Vec<ImportPart>, _>>()?;
    let eager = args.eager.iter().map(|text| eager(text)).collect::<Result<Vec<_>, _>>()?;
    let base = args.base.as_deref().map(base).transpose()?;
    let target = OutputTarget::new("--output", &args.output)?;
    let mut files = Vec::new();
    for part in parts {
        let text = read_text(Path::new(&part.file), "a text file with the output of a benchmark program")?;
        files.push((part, text));
    }
    let version = env!("CARGO_PKG_VERSION");
    let made = format!("Made by mcpsim measure --import {version} on {}.", host::today());
    let windows = args.windows.into();
    let import = Import { name: args.name(), made, shape: args.nct, eager, windows, files, base };
    let made = import.platform()?;
    let text = &made.text;
    // mcpsim has written this platform text, so parsing cannot fail.
    Document::parse("the imported platform", text)
        .and_then(|document| Platform::load(document, &[]))
        .map_err(|error| Failure { exit: Exit::Bug, text: format!("{error}\n{text}") })?;
    target.put(text)?;
    if args.quiet || target == OutputTarget::Stdout {
        return Ok(());
    }
    output::print(&imported_summary(&args.name(), &made))
}

fn base(path: &Path) -> Result<Document, Failure> {
    if path == Path::new(DEFAULT) && !hides(path) {
        return Ok(Platform::default_document());
    }
    let document = Document::read(path)?;
    // Errors in the base platform are reported before other errors.
    Platform::load(document.clone(), &[])?;
    Ok(document)
}

/// Parses the operand `LEVEL=SIZE` of the option `--eager`.
fn eager(text: &str) -> Result<(Level, u64), Failure> {
    let wrong = |expected: &str| Failure::bad_input(format!("--eager {text}: expected {expected}"));
    let Some((name, size)) = text.split_once('=') else {
        return Err(wrong("LEVEL=SIZE, such as inter_node=16KiB"));
    };
    let Some(level) = Level::ALL.into_iter().find(|level| level.name() == name) else {
        return Err(wrong("a level: intra_cmp, inter_cmp, inter_node"));
    };
    match size.parse::<Bytes>() {
        Ok(size) => Ok((level, size.get())),
        Err(error) => Err(Failure::bad_input(format!("--eager {text}: {error}"))),
    }
}
