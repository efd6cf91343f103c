//! `mcpsim report --html`: writes exported data as one HTML page.

use std::path::Path;

use crate::cli::exit::Failure;
use crate::cli::output::{self, cannot_write};
use crate::config::note_input;
use crate::report::page;
use crate::run::write_whole;

/// Writes an HTML page of `text`, which is the content of the file `name`, to the file `to`.
pub(super) fn write(name: &str, text: &str, timeline: Option<&Path>, to: &Path) -> Result<(), Failure> {
    let read = |path: &Path| {
        let name = path.display().to_string();
        note_input(path);
        match std::fs::read_to_string(path) {
            Ok(text) => Ok((name, text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(Failure::bad_input(format!("{name}: no such file")))
            }
            Err(error) => Err(Failure::bad_input(format!("cannot read {name}: {error}"))),
        }
    };
    let timeline = timeline.map(read).transpose()?;
    let timeline = timeline.as_ref().map(|(name, text)| (&name[..], &text[..]));
    let page = page(name, text, timeline)?;
    let shown = to.display().to_string();
    write_whole(to, &page).map_err(|error| cannot_write(&shown, &error))?;
    output::print(&format!("{shown}: {} bytes\n", page.len()))
}
