//! Ctrl-C and SIGTERM: the first asks the run to end, the second ends the process.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::engine::Progress;

use super::exit::{Exit, Failure};

/// From now on a signal cancels what `progress` belongs to.
pub(super) fn listen(progress: &Arc<Progress>) -> Result<(), Failure> {
    let progress = Arc::clone(progress);
    let asked = AtomicBool::new(false);
    ctrlc::set_handler(move || {
        if asked.swap(true, Ordering::SeqCst) {
            let _ = writeln!(std::io::stderr(), "\nerror: interrupted twice, ended at once");
            std::process::exit(Exit::Interrupted as i32);
        }
        progress.cancel();
    })
    .map_err(|error| Failure::bad_input(format!("cannot listen for Ctrl-C: {error}")))
}
