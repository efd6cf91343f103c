//! Conversion of failures to Python exceptions, with the texts of the command line.

use mcpsim::report;
use mcpsim::run::{ErrorKind, PredictError};
use pyo3::prelude::*;

/// Returns the exception for a run that yields no prediction.
pub fn exception(py: Python<'_>, error: &PredictError) -> PyErr {
    let text = error.told(report::failure);
    match error.kind() {
        ErrorKind::Input => raised(py, "InputError", text),
        ErrorKind::Program | ErrorKind::Exited(_) => raised(py, "ProgramError", text),
        ErrorKind::Deadlock => raised(py, "DeadlockError", text),
        ErrorKind::Crashed => raised(py, "CrashError", text),
        ErrorKind::Interrupted => pyo3::exceptions::PyKeyboardInterrupt::new_err(text),
    }
}

/// Returns the exception for wrong input.
pub fn wrong(py: Python<'_>, text: String) -> PyErr {
    raised(py, "InputError", text)
}

/// Returns the exception for a bug in mcpsim: `message` is the text of the panic, with its place.
pub fn bug(py: Python<'_>, message: &str) -> PyErr {
    let version = env!("CARGO_PKG_VERSION");
    raised(
        py,
        "Bug",
        format!(
            "bug in mcpsim {version}: {message}\n\
             The input is not at fault. Please report this text with the call and its input files."
        ),
    )
}

/// Returns the exception of the class `class` in the Python file `_errors.py`.
fn raised(py: Python<'_>, class: &str, text: String) -> PyErr {
    let made =
        py.import("mcpsim._errors").and_then(|module| module.getattr(class)).and_then(|class| class.call1((text,)));
    made.map_or_else(|error| error, PyErr::from_value)
}
