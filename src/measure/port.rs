//! Operations of a measuring rank: the few MPI functions that the measurement tests use.
//!
//! Real MPI libraries, and other software layers that transfer messages, are measured through an implementation of the
//! trait. A rank of a simulated machine implements the trait [`RankPort`] with known times.

use mcpsim_core::platform::Collective;

use super::cores::piece;
use super::program_memory::ProgramVec;

/// Number of elements in the array that [`RankPort::pass_memory`] traverses. The array has 64 MiB.
pub const PASSED: usize = 8 << 20;

/// Reads and writes all elements of the array `numbers`.
pub fn pass_over(numbers: &mut ProgramVec<u64>) {
    numbers.make_room(PASSED, 1);
    numbers.iter_mut().for_each(|number| *number = number.wrapping_mul(3));
    std::hint::black_box(numbers);
}

/// Method for exchanging messages with both neighbours in a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeighbourMethod {
    /// MPI_Sendrecv to the right neighbour, then MPI_Sendrecv to the left neighbour.
    Exchange,
    /// MPI_Irecv from both neighbours, MPI_Isend to both neighbours, then MPI_Waitall.
    AtOnce,
    /// MPI_Alltoallv on all ranks, with empty messages to the ranks that are not neighbours.
    Collective,
}

impl NeighbourMethod {
    /// All methods for exchanging messages with the neighbours.
    pub const ALL: [NeighbourMethod; 3] =
        [NeighbourMethod::Exchange, NeighbourMethod::AtOnce, NeighbourMethod::Collective];
}

/// Communication of a rank with the other ranks, and its clock.
///
/// All ranks must call the functions that involve all ranks, in the same order.
pub trait RankPort {
    /// Returns the number of this rank.
    fn rank(&self) -> u32;
    /// Returns the number of ranks.
    fn size(&self) -> u32;
    /// Returns the time on this rank's clock in seconds since an arbitrary instant.
    fn now(&mut self) -> f64;
    /// Calls MPI_Send to rank `to` with `bytes` bytes.
    fn send(&mut self, to: u32, bytes: u64);
    /// Calls MPI_Recv from rank `from` with `bytes` bytes.
    fn recv(&mut self, from: u32, bytes: u64);
    /// Calls MPI_Isend to rank `to` `count` times, then MPI_Waitall.
    fn send_window(&mut self, to: u32, bytes: u64, count: u32);
    /// Calls MPI_Irecv from rank `from` `count` times, then MPI_Waitall.
    fn recv_window(&mut self, from: u32, bytes: u64, count: u32) {
        self.recv_windows(&[from], bytes, count);
    }
    /// Calls MPI_Irecv `count` times from each rank of `from`, then MPI_Waitall.
    fn recv_windows(&mut self, from: &[u32], bytes: u64, count: u32);
    /// Calls MPI_Sendrecv to rank `to` and from rank `from`.
    fn exchange(&mut self, to: u32, from: u32, bytes: u64);
    /// Calls MPI_Irecv from and MPI_Isend to rank `with` `count` times, then MPI_Waitall.
    fn exchange_window(&mut self, with: u32, bytes: u64, count: u32);
    /// Calls the same MPI functions as [`RankPort::exchange_window`], with a separate buffer for each message. All
    /// calls of this function use the same message buffers.
    fn exchange_buffers(&mut self, with: u32, bytes: u64, count: u32);
    /// Calls MPI_Irecv, sends an empty message to rank `from`, computes for `work` seconds without MPI, and calls
    /// MPI_Wait. Returns the seconds that MPI_Wait takes.
    fn recv_beside(&mut self, from: u32, bytes: u64, work: f64) -> f64;
    /// Computes for `seconds` seconds without MPI.
    fn compute(&mut self, seconds: f64);
    /// Sleeps for `seconds` without MPI. Another rank may use the core during this time.
    fn pause(&mut self, seconds: f64);
    /// Executes a fixed piece of computation without MPI, about ten microseconds long.
    fn work(&mut self) {
        piece();
    }
    /// Reads and writes an array that is larger than most caches, without MPI.
    fn pass_memory(&mut self);
    /// Calls MPI_Barrier, which waits for all ranks.
    fn barrier(&mut self);
    /// Sends the numbers `values` to rank `to`, which receives them with [`RankPort::told`].
    fn tell(&mut self, to: u32, values: &[f64]);
    /// Receives numbers that rank `from` has sent with [`RankPort::tell`].
    fn told(&mut self, from: u32) -> Vec<f64>;
    /// Sends the numbers `values` of rank `from` to all ranks.
    fn share(&mut self, from: u32, values: &mut Vec<f64>);
}

/// A rank whose communication layer also has collectives.
pub trait GroupPort: RankPort {
    /// Exchanges messages of `bytes` bytes with the previous and the next neighbour in a ring.
    fn neighbours(&mut self, with: [u32; 2], bytes: u64, how: NeighbourMethod);
    /// Restricts subsequent collectives to the first `members` ranks. All ranks must call this function.
    fn among(&mut self, members: u32);
    /// Calls a collective among the members; other ranks do not take part. `bytes` is the size of the buffer or of a
    /// block.
    fn collective(&mut self, collective: Collective, root: u32, bytes: u64);
    /// Waits until all members are ready, and returns on all members at the same instant if possible. Only members call
    /// this function.
    fn begin_together(&mut self) {
        self.collective(Collective::Barrier, 0, 0);
    }
}
