//! Where machine, application and engine meet.

use crate::engine::{Outcome, Progress};

use super::configuration::Configuration;
use super::exit::Failure;

/// Loads the platform and the application, places the ranks, and runs.
///
/// Everything that can be wrong with the input shows here, before the first event.
pub(super) fn simulate(configuration: &Configuration, progress: &Progress) -> Result<Outcome, Failure> {
    let _ = (configuration.settings.options(), configuration.to_json()?, progress);
    Err(Failure::bad_input("simulating is not available in this version"))
}
