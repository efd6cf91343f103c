//! The file of rates of BLAS functions (`--kernels`).

use std::path::Path;

use crate::config::Document;
use crate::process::{KernelRates, KernelTable};

use super::error::PredictError;

/// Reads the rates in the file `path`.
pub(super) fn read(path: &Path) -> Result<KernelTable, PredictError> {
    let rates: KernelRates = Document::read(path)?.deserialize()?;
    rates.check().map_err(|what| PredictError::input(format!("{}: {what}", path.display())))?;
    Ok(rates.into())
}
