//! Operations of a measuring rank that only the tests of rank pairs need.

use super::super::port::GroupPort;

/// Communication of a rank in tests of rank pairs.
pub trait PairPort: GroupPort {
    /// Calls MPI_Isend, MPI_Recv and MPI_Wait with rank `with`, which calls the same functions. The rank `with` may be
    /// the calling rank.
    fn swap(&mut self, with: u32, bytes: u64);
    /// Calls MPI_Isend to all ranks and MPI_Irecv from all ranks, including this rank, and MPI_Waitany until all
    /// messages have arrived. Returns the arrival times in seconds after the start. The sends are also complete on
    /// return.
    fn all_at_once(&mut self, bytes: u64) -> Vec<f64>;
    /// Calls MPI_Isend to and MPI_Irecv from each rank of `with`, and then MPI_Waitall. The calls are repeated `count`
    /// times.
    fn noise(&mut self, with: &[u32], bytes: u64, count: u32);
    /// Creates a one-sided window of `bytes` bytes on all ranks; `None` frees the window.
    fn expose(&mut self, bytes: Option<u64>);
    /// Calls MPI_Put into the locked window of rank `to`, and unlocks the window. Returns the seconds of MPI_Put and
    /// the unlock together.
    fn put(&mut self, to: u32, bytes: u64) -> f64;
    /// Calls MPI_Get from the locked window of rank `from`, and unlocks the window. Returns the seconds of MPI_Get and
    /// the unlock together.
    fn get(&mut self, from: u32, bytes: u64) -> f64;
}
