//! What a rank of the pair tests can do beside what all tests need.

use super::super::port::GroupPort;

/// A rank's way to the others in tests of pairs.
pub trait PairPort: GroupPort {
    /// MPI_Isend, MPI_Recv, MPI_Wait with a rank that does the same; it may be this one.
    fn swap(&mut self, with: u32, bytes: u64);
    /// MPI_Isend to all ranks and MPI_Irecv from all, this one too; MPI_Waitany until all have come: when each did, in
    /// seconds after the start. Completes the sends as well.
    fn all_at_once(&mut self, bytes: u64) -> Vec<f64>;
    /// `count` times: MPI_Isend to and MPI_Irecv from each of these, MPI_Waitall.
    fn noise(&mut self, with: &[u32], bytes: u64, count: u32);
    /// All ranks make memory of this size that others reach; or it is gone again, with nothing.
    fn expose(&mut self, bytes: Option<u64>);
    /// MPI_Put into a rank's memory, which is locked, and the unlock: the seconds of both.
    fn put(&mut self, to: u32, bytes: u64) -> f64;
    /// MPI_Get from a rank's memory, which is locked, and the unlock: the seconds of both.
    fn get(&mut self, from: u32, bytes: u64) -> f64;
}
