//! Operations of a rank that only the pair tests need.

use super::super::port::GroupPort;

/// Communication of a rank in tests of pairs.
pub trait PairPort: GroupPort {
    /// Calls MPI_Isend, MPI_Recv, MPI_Wait with a rank that does the same; it may be this rank.
    fn swap(&mut self, with: u32, bytes: u64);
    /// Calls MPI_Isend to all ranks and MPI_Irecv from all, including this one, and MPI_Waitany until all messages have
    /// arrived. Returns the arrival times in seconds after the start. Also completes the sends.
    fn all_at_once(&mut self, bytes: u64) -> Vec<f64>;
    /// Calls, `count` times, MPI_Isend to and MPI_Irecv from each rank of `with`, and MPI_Waitall.
    fn noise(&mut self, with: &[u32], bytes: u64, count: u32);
    /// Creates a window of this size on all ranks; frees it with `None`.
    fn expose(&mut self, bytes: Option<u64>);
    /// Calls MPI_Put into the locked memory of a rank, and the unlock; returns the seconds of both.
    fn put(&mut self, to: u32, bytes: u64) -> f64;
    /// Calls MPI_Get from the locked memory of a rank, and the unlock; returns the seconds of both.
    fn get(&mut self, from: u32, bytes: u64) -> f64;
}
