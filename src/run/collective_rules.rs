//! Reader of a file of selection rules for collective algorithms, which a platform may name.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::config::note_input;
use crate::mpi::{read_mpich_selection, read_open_mpi_rules};
use crate::platform::{Library, Platform};

use super::error::PredictError;

/// Applies the rules file that the platform names. The rules override the choice of the MPI library; rules in the
/// platform file override the rules file. A relative path starts at `directory`. The second value that the function
/// returns is a note about a rules file that the MPI library ignores.
///
/// # Errors
/// The rules file cannot be read, or is not a rules file of the platform's MPI library.
pub fn with_rules(mut platform: Platform, directory: &Path) -> Result<(Platform, Option<String>), PredictError> {
    let Some(file) = platform.collectives.file.clone() else { return Ok((platform, None)) };
    let path = directory.join(file);
    let name = path.display();
    let wrong =
        |what: String| PredictError::input(format!("{name}, collectives.rules of platform {}: {what}", platform.name));
    let library = platform.collectives.library;
    if library == Library::Mpich3Flat {
        let found = library.name();
        return Err(wrong(format!("expected collectives.library openmpi-4.0, -4.1, -5.0 or mpich-4; found {found}")));
    }
    note_input(&path);
    let text = fs::read_to_string(&path).map_err(|error| {
        wrong(match error.kind() {
            std::io::ErrorKind::NotFound => "no such file".to_owned(),
            _ => error.to_string(),
        })
    })?;
    if library == Library::Mpich4 {
        platform.collectives.selection = Some(Arc::new(read_mpich_selection(&text).map_err(wrong)?));
        return Ok((platform, None));
    }
    let read = read_open_mpi_rules(&text).map_err(wrong)?;
    read.rules.into_iter().for_each(|(collective, rules)| platform.collectives.add(collective, rules));
    let note = read.ignored.map(|why| format!("Open MPI ignores {name}, and so does this run: {why}"));
    Ok((platform, note))
}
