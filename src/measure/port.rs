//! What a measuring rank can do: the few functions of MPI that the tests are made of.
//!
//! A real MPI and other layers that carry messages implement it, whose times are measured, and a rank on a simulated
//! machine, whose times are known.

use mcpsim_core::platform::Collective;

use super::cores::piece;
use super::program_memory::ProgramVec;

/// Numbers of the array that [`RankPort::pass_memory`] passes over: 64 MiB of them.
pub const PASSED: usize = 8 << 20;

/// Reads and writes all of these.
pub fn pass_over(numbers: &mut ProgramVec<u64>) {
    numbers.make_room(PASSED, 1);
    numbers.iter_mut().for_each(|number| *number = number.wrapping_mul(3));
    std::hint::black_box(numbers);
}

/// How a rank exchanges messages with both of its neighbours in a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeighbourMethod {
    /// MPI_Sendrecv to the right, then to the left.
    Exchange,
    /// MPI_Irecv from both, MPI_Isend to both, MPI_Waitall.
    AtOnce,
    /// MPI_Alltoallv of all ranks, with nothing for others.
    Collective,
}

impl NeighbourMethod {
    /// All of them.
    pub const ALL: [NeighbourMethod; 3] =
        [NeighbourMethod::Exchange, NeighbourMethod::AtOnce, NeighbourMethod::Collective];
}

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
    fn recv_window(&mut self, from: u32, bytes: u64, count: u32) {
        self.recv_windows(&[from], bytes, count);
    }
    /// `count` times MPI_Irecv from each of these, then MPI_Waitall.
    fn recv_windows(&mut self, from: &[u32], bytes: u64, count: u32);
    /// MPI_Sendrecv.
    fn exchange(&mut self, to: u32, from: u32, bytes: u64);
    /// `count` times MPI_Irecv and MPI_Isend, then MPI_Waitall.
    fn exchange_window(&mut self, with: u32, bytes: u64, count: u32);
    /// The same, each message from and to a buffer of its own: the same ones in each call.
    fn exchange_buffers(&mut self, with: u32, bytes: u64, count: u32);
    /// MPI_Irecv, an empty message to the same rank, so much computing without MPI, MPI_Wait: the seconds of the
    /// latter.
    fn recv_beside(&mut self, from: u32, bytes: u64, work: f64) -> f64;
    /// Keeps the core busy for so long, without MPI.
    fn compute(&mut self, seconds: f64);
    /// Lets so long pass without MPI. The core is free meanwhile: another rank may have it.
    fn pause(&mut self, seconds: f64);
    /// Does a fixed piece of work, of ten microseconds or so, without MPI.
    fn work(&mut self) {
        piece();
    }
    /// Reads and writes all of an own array that is larger than most caches, without MPI.
    fn pass_memory(&mut self);
    /// Waits for all.
    fn barrier(&mut self);
    /// Sends values to a rank that waits for them.
    fn tell(&mut self, to: u32, values: &[f64]);
    /// Takes values that a rank sends.
    fn told(&mut self, from: u32) -> Vec<f64>;
    /// Gives all the values that `from` has.
    fn share(&mut self, from: u32, values: &mut Vec<f64>);
}

/// A rank whose library has collectives too.
pub trait GroupPort: RankPort {
    /// A message of `bytes` to the neighbour before and to the one after, and one from each.
    fn neighbours(&mut self, with: [u32; 2], bytes: u64, how: NeighbourMethod);
    /// From now on collectives are of the first `members` ranks. All ranks call this.
    fn among(&mut self, members: u32);
    /// A collective of the members; others do nothing. `bytes` is the size of the buffer, or of a block.
    fn collective(&mut self, collective: Collective, root: u32, bytes: u64);
    /// Waits until all members can begin, as far as may be at the same instant. Members call this.
    fn begin_together(&mut self) {
        self.collective(Collective::Barrier, 0, 0);
    }
}
