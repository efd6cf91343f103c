//! Times of all pairs of ranks, a matrix a message length: what they say, and the files that hold them.
//!
//! The files are those of PARUS' `network_test2` (NetCDF classic with 64-bit offsets) and of its older text form, see
//! [`Matrices`], and the compressed pair of files that clustering makes, see [`Compressed`]. Nothing here opens a file:
//! readers and writers are given.

mod compressed;
mod matrices_file;
mod netcdf;
mod parameters;
mod scan;
#[cfg(test)]
pub(super) mod tests;
mod text;

pub use compressed::{Compressed, CompressedWriter, Exception};
pub use matrices_file::{Matrices, write_matrices};
pub use netcdf::{SeekRead, SeekWrite};
pub use parameters::{MatrixError, PairTest, Parameters, Statistic};
pub use text::write_text;
