//! Message times of each pair of ranks, one matrix per message length, and the files of the matrices.
//!
//! [`Matrices`] reads the files of PARUS' `network_test2` (NetCDF classic with 64-bit offsets) and files in its older
//! text form. [`Compressed`] reads the pair of compressed files that the clustering creates. [`cluster`] finds clusters of
//! similar pairs.
//!
//! The package `mcpsim-matrices` does not know how the times are measured, and opens no files: the caller supplies
//! readers and writers.

pub mod cluster;
mod compressed;
mod matrices_file;
mod netcdf;
mod parameters;
mod scan;
#[cfg(test)]
mod tests;
mod text;

pub use compressed::{Compressed, CompressedWriter, Exception};
pub use matrices_file::{Matrices, write_matrices};
pub use netcdf::{SeekRead, SeekWrite};
pub use parameters::{MatrixError, PairTest, Parameters, Statistic};
pub use text::write_text;
