//! Timing of the MPI library's copies and additions within a rank's own memory.

use std::hint::black_box;

use mpi::collective::{SystemOperation, reduce_local_into};
use mpi::topology::SimpleCommunicator;
use mpi::traits::CommunicatorCollectives;

use super::datatypes::median;
use crate::measure::{OWN_BYTES, ProgramVec};

/// Returns two times in seconds for data in caches. The first time is that of a copy of [`OWN_BYTES`] bytes, as in the
/// alltoall of a single rank; the second time is that of an addition of as many bytes of doubles by MPI_Reduce_local.
pub(super) fn time_own_data() -> [f64; 2] {
    let alone = SimpleCommunicator::self_comm();
    let from = ProgramVec::new(1.0f64, OWN_BYTES as usize / 8);
    let mut to = ProgramVec::new(2.0f64, OWN_BYTES as usize / 8);
    let copied = median(|| alone.all_to_all_into(&from[..], black_box(&mut to[..])));
    let added = median(|| reduce_local_into(&from[..], black_box(&mut to[..]), SystemOperation::sum()));
    [copied, added]
}
