//! What a measuring rank can do: the few functions of MPI that the tests are made of.
//!
//! Two things implement it: a real MPI, whose times are measured, and a rank on a simulated machine, whose times are known.

/// A rank's way to the others, and its clock.
///
/// Where a function says "all", every rank has to call it, in the same order.
pub trait RankPort {
    /// This rank.
    fn rank(&self) -> u32;
    /// How many ranks there are.
    fn size(&self) -> u32;
    /// Seconds on this rank's clock, since some instant.
    fn now(&mut self) -> f64;
    /// MPI_Send.
    fn send(&mut self, to: u32, bytes: u64);
    /// MPI_Recv.
    fn recv(&mut self, from: u32, bytes: u64);
    /// `count` times MPI_Isend, then MPI_Waitall.
    fn send_window(&mut self, to: u32, bytes: u64, count: u32);
    /// `count` times MPI_Irecv, then MPI_Waitall.
    fn recv_window(&mut self, from: u32, bytes: u64, count: u32);
    /// MPI_Sendrecv.
    fn exchange(&mut self, to: u32, from: u32, bytes: u64);
    /// `count` times MPI_Irecv and MPI_Isend, then MPI_Waitall.
    fn exchange_window(&mut self, with: u32, bytes: u64, count: u32);
    /// Keeps the core busy for so long, without MPI.
    fn compute(&mut self, seconds: f64);
    /// Waits for all.
    fn barrier(&mut self);
    /// Gives all the values that `from` has.
    fn share(&mut self, from: u32, values: &mut Vec<f64>);
}
