//! Internal collectives with which ranks exchange integers when a program creates communicators and similar objects.
//! An internal collective costs as much as the same collective in the program.

use std::rc::Rc;

use super::mover::{Combine, DataMover};
use super::region::{BufferShape, Region};
use super::{CollectiveMessages, CollectivePart};
use crate::mpi_api::comm::Comm;
use crate::mpi_api::error::MpiResult;
use crate::mpi_api::process::MpiProcess;
use crate::process::bytes;
use mcpsim_core::mpi::Sizes;
use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::mpi::datatype::{Datatype, Type};
use mcpsim_core::mpi::op;
use mcpsim_core::platform::Collective;

const NUMBER: Handle = abi::MPI_UINT32_T;
const SIZE: usize = size_of::<u32>();

fn number() -> Type {
    Datatype::named(NUMBER).expect("a named datatype").clone()
}

/// Converts integers to the bytes of a message.
pub fn packed(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

/// Converts the bytes of a received message to integers.
pub fn unpacked(data: &[u8]) -> Vec<u32> {
    let (numbers, _) = data.as_chunks::<SIZE>();
    numbers.iter().map(|&number| u32::from_ne_bytes(number)).collect()
}

/// Returns the maximum of `mine` over all members of an intracommunicator, on all members. `sequence` is the sequence
/// number of the internal collective.
///
/// # Errors
/// Errors of the schedule that exchanges the integers.
pub fn greatest(p: &MpiProcess, comm: &Rc<Comm>, sequence: u32, mine: u32) -> MpiResult<u32> {
    let max = op::builtin(abi::MPI_MAX).expect("a built-in operation");
    let (mut given, mut result) = (vec![mine], vec![mine]);
    let region = |numbers: &mut Vec<u32>| Region::new(numbers.as_mut_ptr().cast(), number(), BufferShape::Whole(1));
    let (from, to) = (region(&mut given), region(&mut result));
    let mover = DataMover::combining(from, to, Combine::Builtin(max), 1, NUMBER);
    let sizes = Sizes::Same(bytes(SIZE));
    CollectivePart { collective: Collective::Allreduce, comm: comm.clone(), root: 0, sizes, mover }
        .carry_out(p, sequence)?;
    Ok(result[0])
}

/// Returns the integers of all members of a communicator in rank order. All members contribute equally many integers.
///
/// # Errors
/// Errors of the schedule that exchanges the integers.
pub fn allgather(p: &MpiProcess, comm: &Rc<Comm>, sequence: u32, mine: &[u32]) -> MpiResult<Vec<u32>> {
    let mut all = vec![0; mine.len() * comm.size() as usize];
    let input = Region::new(mine.as_ptr().cast_mut().cast(), number(), BufferShape::Only(comm.rank(), mine.len()));
    let output = Region::new(all.as_mut_ptr().cast(), number(), BufferShape::Blocks(mine.len()));
    let (sizes, mover) = (Sizes::Same(bytes(mine.len() * SIZE)), DataMover::new(input, output));
    CollectivePart { collective: Collective::Allgather, comm: comm.clone(), root: 0, sizes, mover }
        .carry_out(p, sequence)?;
    Ok(all)
}

/// Returns the sum of the integers that all members of a communicator contribute for the calling member. `each`
/// contains the calling member's contribution for each member.
///
/// # Errors
/// Errors of the schedule that exchanges the integers.
pub fn sum_of_each(p: &MpiProcess, comm: &Rc<Comm>, sequence: u32, each: &mut [u32]) -> MpiResult<u32> {
    let sum = op::builtin(abi::MPI_SUM).expect("a built-in operation");
    let mut result = vec![0];
    let from = Region::new(each.as_mut_ptr().cast(), number(), BufferShape::Blocks(1));
    let to = Region::new(result.as_mut_ptr().cast(), number(), BufferShape::Only(comm.rank(), 1));
    let mover = DataMover::combining(from, to, Combine::Builtin(sum), each.len(), NUMBER);
    let sizes = Sizes::Same(bytes(SIZE));
    CollectivePart { collective: Collective::ReduceScatter, comm: comm.clone(), root: 0, sizes, mover }
        .carry_out(p, sequence)?;
    Ok(result[0])
}

/// Broadcasts the integers of the member `root` to all members of a communicator. `numbers` has the same length on
/// all members.
///
/// # Errors
/// Errors of the schedule that exchanges the integers.
pub fn bcast(p: &MpiProcess, comm: &Rc<Comm>, sequence: u32, root: u32, numbers: &mut [u32]) -> MpiResult {
    let output = Region::new(numbers.as_mut_ptr().cast(), number(), BufferShape::Whole(numbers.len()));
    let mover = DataMover::new(Region::absent(number()), output);
    let sizes = Sizes::Same(bytes(numbers.len() * SIZE));
    CollectivePart { collective: Collective::Bcast, comm: comm.clone(), root, sizes, mover }.carry_out(p, sequence)
}

/// Sends the integers `mine` of each group's leader to all ranks of the other group of an intercommunicator. Each
/// rank receives `room` integers. The first integer that a rank receives is the maximum over the two groups' leaders.
///
/// # Errors
/// Errors of the schedule that exchanges the integers.
pub fn leaders_tell(p: &MpiProcess, comm: &Comm, sequence: u32, mine: &[u32], room: usize) -> MpiResult<Vec<u32>> {
    let (_, local) = comm.remote.as_ref().expect("an intercommunicator");
    let mut theirs = match CollectiveMessages::new(p, comm, sequence).leaders_exchange(packed(mine)) {
        Some(data) => unpacked(&data),
        None => Vec::new(),
    };
    theirs.resize(room, 0);
    theirs[0] = theirs[0].max(mine[0]);
    bcast(p, local, Comm::part(sequence, 1), 0, &mut theirs)?;
    Ok(theirs)
}
