//! Collectives on intercommunicators (MPI-3.1, section 5.2.2). The ranks of one group receive the data of the other
//! group.
//!
//! Each group collects and distributes data with collectives on the group's local communicator. The leaders of the
//! two groups exchange the data between the groups. If each rank has data for each remote rank, all ranks exchange
//! messages with the ranks of the remote group.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use super::collectives::CallBuffer;
use crate::mpi_api::collective::{
    BufferShape, CollectiveMessages, CollectivePart, CollectivePlan, Combine, DataMover, Region,
};
use crate::mpi_api::comm::Comm;
use crate::mpi_api::error::{MpiError, MpiResult};
use crate::mpi_api::process::MpiProcess;
use crate::process::bytes;
use mcpsim_core::mpi::Sizes;
use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::platform::Collective;
use mcpsim_core::rank::Requests;
use mcpsim_core::units::Bytes;

/// Returns the communicator of the intercommunicator's local group.
fn local(comm: &Comm) -> Rc<Comm> {
    comm.remote.as_ref().expect("an intercommunicator").1.clone()
}

/// Executes a collective of the local group as part of a collective of an intercommunicator. An intercommunicator
/// collective contains at most two local collectives.
fn locally(
    between: &CollectiveMessages<'_>,
    stage: u32,
    collective: Collective,
    sizes: Sizes,
    mover: DataMover,
) -> MpiResult {
    let comm = local(between.comm);
    CollectivePart { collective, comm, root: 0, sizes, mover }.carry_out(between.p, Comm::part(between.sequence, stage))
}

/// Packs the data of the program's buffer `buffer`.
fn packed(buffer: &CallBuffer) -> Vec<u8> {
    let mut data = Vec::with_capacity(buffer.count * buffer.datatype.size());
    // SAFETY: MPI requires the program's buffer to remain valid until the collective completes.
    unsafe { buffer.datatype.pack(buffer.base, buffer.count, &mut data) };
    data
}

/// Stores packed data from the rank `from` of the remote group in `buffer`.
fn store(between: &CollectiveMessages<'_>, buffer: &CallBuffer, from: u32, data: &[u8]) -> MpiResult {
    let region = buffer.region(BufferShape::Only(from, buffer.count));
    // SAFETY: MPI requires the program's buffer to remain valid until the collective completes.
    unsafe { region.store(from, data) }.map_err(|error| error.on_comm(between.comm.handle))
}

/// Receives one block from each rank of `peers` and stores the block in `output`. `receive` also waits for the sends
/// that `sends` starts. The sends and the receives run concurrently.
fn receive(
    between: &CollectiveMessages<'_>,
    output: &Region,
    peers: &[u32],
    sends: impl FnOnce() -> Requests,
) -> MpiResult {
    let mut requests: Requests = peers.iter().map(|&from| between.start_recv(from)).collect();
    requests.extend(sends());
    let mut result = Ok(());
    for (&from, data) in peers.iter().zip(between.finish_all(requests, peers.len())) {
        // SAFETY: MPI requires the program's buffer to remain valid until the collective completes.
        result = result.and(unsafe { output.store(from, &data) });
    }
    result.map_err(|error| error.on_comm(between.comm.handle))
}

/// Broadcasts the buffer of the local group's leader to the local group.
fn spread(between: &CollectiveMessages<'_>, buffer: &CallBuffer) -> MpiResult {
    let output = buffer.region(BufferShape::Whole(buffer.count));
    let mover = DataMover::new(Region::absent(buffer.datatype.clone()), output);
    locally(between, 1, Collective::Bcast, Sizes::Same(buffer.size()), mover)
}

/// Reduces the data of the local group's ranks. The leader of the local group receives the result.
fn collect(
    between: &CollectiveMessages<'_>,
    input: &CallBuffer,
    combine: Combine,
    handle: Handle,
) -> MpiResult<Vec<u8>> {
    let room = Region::room(&input.datatype, input.count);
    let result = CallBuffer { base: room.base, ..input.clone() };
    let whole = BufferShape::Whole(input.count);
    let to = result.region(whole.clone());
    let mover = DataMover::combining(input.region(whole), to, combine, input.count, handle);
    locally(between, 0, Collective::Reduce, Sizes::Same(input.size()), mover)?;
    Ok(if between.comm.rank() == 0 { packed(&result) } else { Vec::new() })
}

/// Role of a rank in an intercommunicator collective with a root.
enum RootRole {
    Root,
    /// The rank is in the root's group and does not participate (MPI_PROC_NULL).
    Beside,
    /// The rank is in the group without the root. The field is the rank of the root in the root's group.
    Other(u32),
}

fn role(comm: &Comm, root: c_int) -> MpiResult<RootRole> {
    match root {
        abi::MPI_ROOT => Ok(RootRole::Root),
        abi::MPI_PROC_NULL => Ok(RootRole::Beside),
        root if root >= 0 && (root as u32) < comm.peers().size() => Ok(RootRole::Other(root as u32)),
        root => {
            let what = format!(
                "root {root}: expected MPI_ROOT, MPI_PROC_NULL, or 0 to {}, a rank of the remote group of {}",
                comm.peers().size() - 1,
                comm.describe()
            );
            Err(MpiError::new(abi::MPI_ERR_ROOT, what).on_comm(comm.handle))
        }
    }
}

fn code(comm: Rc<Comm>, body: impl FnOnce(CollectiveMessages<'_>) -> MpiResult + 'static) -> MpiResult<CollectivePlan> {
    let with = comm.clone();
    Ok(CollectivePlan::Code(comm, Box::new(move |p, sequence| body(CollectiveMessages::new(p, &with, sequence)))))
}

pub fn barrier(comm: Rc<Comm>) -> MpiResult<CollectivePlan> {
    code(comm, |between| {
        let nothing = || Region::room(&named_byte(), 0);
        let mover = || DataMover::new(nothing(), nothing());
        locally(&between, 0, Collective::Barrier, Sizes::Same(Bytes::ZERO), mover())?;
        between.leaders_exchange(Vec::new());
        locally(&between, 1, Collective::Barrier, Sizes::Same(Bytes::ZERO), mover())
    })
}

fn named_byte() -> mcpsim_core::mpi::datatype::Type {
    mcpsim_core::mpi::datatype::Datatype::named(abi::MPI_BYTE).expect("a named datatype").clone()
}

pub fn bcast(comm: Rc<Comm>, root: c_int, buffer: CallBuffer) -> MpiResult<CollectivePlan> {
    let role = role(&comm, root)?;
    code(comm, move |between| match role {
        RootRole::Root => {
            between.send(0, packed(&buffer));
            Ok(())
        }
        RootRole::Beside => Ok(()),
        RootRole::Other(root) => {
            let mut stored = Ok(());
            if between.comm.rank() == 0 {
                stored = store(&between, &buffer, root, &between.recv(root));
            }
            // The leader broadcasts even after an error, because the other ranks of the local group wait for the
            // data.
            spread(&between, &buffer).and(stored)
        }
    })
}

pub fn reduction(
    collective: Collective,
    comm: Rc<Comm>,
    root: c_int,
    (input, result): (CallBuffer, CallBuffer),
    (combine, handle): (Combine, Handle),
) -> MpiResult<CollectivePlan> {
    match collective {
        Collective::Reduce => {
            let role = role(&comm, root)?;
            code(comm, move |between| match role {
                RootRole::Root => store(&between, &result, 0, &between.recv(0)),
                RootRole::Beside => Ok(()),
                RootRole::Other(root) => {
                    let data = collect(&between, &input, combine, handle)?;
                    if between.comm.rank() == 0 {
                        between.send(root, data);
                    }
                    Ok(())
                }
            })
        }
        Collective::Allreduce => code(comm, move |between| {
            let data = collect(&between, &input, combine, handle)?;
            let theirs = between.leaders_exchange(data);
            let stored = theirs.map_or(Ok(()), |theirs| store(&between, &result, 0, &theirs));
            spread(&between, &result).and(stored)
        }),
        _ => {
            let what = "a scan over an intercommunicator: expected an intracommunicator";
            Err(MpiError::new(abi::MPI_ERR_COMM, what).on_comm(comm.handle))
        }
    }
}

pub fn reduce_scatter(
    comm: Rc<Comm>,
    input: CallBuffer,
    result: CallBuffer,
    blocks: &Rc<[(usize, isize)]>,
    (combine, handle): (Combine, Handle),
) -> MpiResult<CollectivePlan> {
    let blocks = blocks.clone();
    code(comm, move |between| {
        let data = collect(&between, &input, combine, handle)?;
        let size = input.datatype.size();
        // The leader receives the blocks for the local group, which the remote group has reduced.
        let theirs = between.leaders_exchange(data).unwrap_or_default();
        let byte = named_byte();
        let mut at = 0;
        let cut = |&(count, _): &(usize, isize)| {
            let block = (count * size, at as isize);
            at += count * size;
            block
        };
        let cuts: Rc<[(usize, isize)]> = blocks.iter().map(cut).collect();
        let sizes = Sizes::Each(cuts.iter().map(|&(count, _)| bytes(count)).collect());
        let input = Region::new(theirs.as_ptr().cast_mut(), byte, BufferShape::Varying(cuts));
        let me = between.comm.rank();
        let mover = DataMover::new(input, result.region(BufferShape::Only(me, result.count)));
        let sizes = if me == 0 { sizes } else { Sizes::Same(result.size()) };
        locally(&between, 1, Collective::Scatterv, sizes, mover)
    })
}

/// Sends data from each rank of the local group to each rank of the remote group.
fn all_to_all(comm: Rc<Comm>, input: impl Fn(u32) -> Vec<u8> + 'static, output: Region) -> MpiResult<CollectivePlan> {
    code(comm, move |between| {
        let (me, remote) = (between.comm.rank(), between.comm.peers().size());
        // Each rank starts with a different peer, so that the ranks do not all send to the same peer at once.
        let peers: Vec<u32> = (0..remote).map(|distance| (me + distance) % remote).collect();
        receive(&between, &output, &peers, || peers.iter().map(|&to| between.start(to, input(to))).collect())
    })
}

pub fn allgather(comm: Rc<Comm>, mine: CallBuffer, output: Region) -> MpiResult<CollectivePlan> {
    all_to_all(comm, move |_| packed(&mine), output)
}

pub fn alltoall(comm: Rc<Comm>, input: Region, output: Region) -> MpiResult<CollectivePlan> {
    // SAFETY: MPI requires the program's buffer to remain valid until the collective completes.
    let block = move |to: u32| unsafe { input.packed(to) };
    all_to_all(comm, block, output)
}

type Argument = (*const c_void, c_int, Handle);

/// Plans MPI_Gather and MPI_Gatherv.
///
/// # Safety
/// The arguments are valid arguments of the MPI function on an intercommunicator.
pub unsafe fn gather(
    p: &MpiProcess,
    comm: Rc<Comm>,
    send: Argument,
    recv: Argument,
    shape: impl FnOnce(&CallBuffer, u32) -> MpiResult<(BufferShape, Sizes)>,
    root: c_int,
) -> MpiResult<CollectivePlan> {
    match role(&comm, root)? {
        RootRole::Beside => code(comm, |_| Ok(())),
        RootRole::Root => {
            let result = CallBuffer::new(p, recv.0, recv.1, recv.2)?;
            let output = result.region(shape(&result, comm.peers().size())?.0);
            code(comm, move |between| {
                let peers: Vec<u32> = (0..between.comm.peers().size()).collect();
                receive(&between, &output, &peers, Requests::new)
            })
        }
        RootRole::Other(root) => {
            let mine = CallBuffer::new(p, send.0, send.1, send.2)?;
            code(comm, move |between| {
                between.send(root, packed(&mine));
                Ok(())
            })
        }
    }
}

/// Plans MPI_Scatter and MPI_Scatterv.
///
/// # Safety
/// The arguments are valid arguments of the MPI function on an intercommunicator.
pub unsafe fn scatter(
    p: &MpiProcess,
    comm: Rc<Comm>,
    send: Argument,
    recv: Argument,
    shape: impl FnOnce(&CallBuffer, u32) -> MpiResult<(BufferShape, Sizes)>,
    root: c_int,
) -> MpiResult<CollectivePlan> {
    match role(&comm, root)? {
        RootRole::Beside => code(comm, |_| Ok(())),
        RootRole::Root => {
            let source = CallBuffer::new(p, send.0, send.1, send.2)?;
            let input = source.region(shape(&source, comm.peers().size())?.0);
            code(comm, move |between| {
                // SAFETY: MPI requires the program's buffer to remain valid until the collective completes.
                let start = |to| between.start(to, unsafe { input.packed(to) });
                let requests = (0..between.comm.peers().size()).map(start).collect();
                between.finish(requests);
                Ok(())
            })
        }
        RootRole::Other(root) => {
            let mine = CallBuffer::new(p, recv.0, recv.1, recv.2)?;
            code(comm, move |between| store(&between, &mine, root, &between.recv(root)))
        }
    }
}
