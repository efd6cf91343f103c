//! Compiled part of the Python package `mcpsim`: runs descriptions and traces in the process of the interpreter.
//!
//! The functions take and return plain values. The Python files of the package add names, defaults and tables.

mod background;
mod failure;
mod request;
mod run;
mod sweep;

/// Runs of descriptions and traces, for the Python files of this package.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::background::panic;
    #[pymodule_export]
    use crate::request::{list, settings};
    #[pymodule_export]
    use crate::run::{Simulated, simulate};
    #[pymodule_export]
    use crate::sweep::sweep;

    /// Version of mcpsim.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
