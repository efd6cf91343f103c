//! The file of rules for collectives that a platform may name.

use std::fs;
use std::path::Path;

use crate::mpi::read_open_mpi_rules;
use crate::platform::Platform;

use super::error::PredictError;

/// Lays the rules of the file that a platform names over its library's choice; its own come first. A relative path is one
/// from `directory`.
pub(super) fn with_rules(mut platform: Platform, directory: &Path) -> Result<Platform, PredictError> {
    let Some(file) = platform.collectives.file.clone() else { return Ok(platform) };
    let path = directory.join(file);
    let name = path.display();
    let wrong =
        |what: String| PredictError::input(format!("{name}, collectives.rules of platform {}: {what}", platform.name));
    if !platform.collectives.library.is_open_mpi() {
        let found = platform.collectives.library.name();
        return Err(wrong(format!("expected collectives.library openmpi-4.0, -4.1 or -5.0; found {found}")));
    }
    let text = fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
    let rules = read_open_mpi_rules(&text).map_err(wrong)?;
    rules.into_iter().for_each(|(collective, rules)| platform.collectives.add(collective, rules));
    Ok(platform)
}
