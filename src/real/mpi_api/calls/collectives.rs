//! Blocking and nonblocking collectives (MPI-3.1, sections 5.3 to 5.12).
#![allow(unsafe_code)]

mod buffer;

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use crate::mpi_api::collective::{BufferShape, CollectivePart, CollectivePlan, DataMover, NO_LAYOUT, Region};
use crate::mpi_api::comm::Comm;
use crate::mpi_api::error::{self, MpiError, MpiResult};
use crate::mpi_api::process::MpiProcess;
use crate::mpi_api::types::check_buffer;
use crate::process::{ComparedArguments, PeerSignatures, Signature, bytes};
pub use buffer::{BufferBlocks, CallBuffer};
use mcpsim_core::mpi::Sizes;
use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::mpi::datatype::{Datatype, Type};
use mcpsim_core::platform::Collective;
use mcpsim_core::units::Bytes;

fn in_place(buffer: *const c_void) -> bool {
    buffer as usize == abi::MPI_IN_PLACE
}

/// Returns an error if the send buffer and the receive buffer are identical (MPI-3.1, section 5.2.1).
fn apart(shared: bool, comm: &Comm) -> MpiResult {
    error::expect(!shared, abi::MPI_ERR_BUFFER, || {
        "the send and receive buffers are the same: expected buffers that do not overlap, or MPI_IN_PLACE".to_owned()
    })
    .map_err(|error| error.on_comm(comm.handle))
}

/// Converts counts and displacements of each block from items to bytes.
unsafe fn varying(
    ranks: u32,
    counts: *const c_int,
    displs: *const c_int,
    datatype: &Datatype,
) -> MpiResult<Rc<[(usize, isize)]>> {
    let block = |block: usize| {
        // SAFETY: MPI requires the program to pass arrays with one element per rank.
        let (count, displacement) = unsafe { (*counts.add(block), *displs.add(block)) };
        let count = error::count(count, &format!("count {block}"))?;
        Ok((count, displacement as isize * datatype.extent() as isize))
    };
    (0..ranks as usize).map(block).collect()
}

/// Returns the size of each block of a collective in bytes.
fn sizes(blocks: &[(usize, isize)], datatype: &Datatype) -> Sizes {
    Sizes::Each(blocks.iter().map(|(count, _)| bytes(count * datatype.size())).collect())
}

fn root(comm: &Comm, root: c_int) -> MpiResult<u32> {
    if root < 0 || root as u32 >= comm.size() {
        let what = format!("root {root}: expected 0 to {}, a rank of {}", comm.size() - 1, comm.describe());
        return Err(MpiError::new(abi::MPI_ERR_ROOT, what).on_comm(comm.handle));
    }
    Ok(root as u32)
}

fn named(handle: Handle) -> Type {
    Datatype::named(handle).expect("a named datatype").clone()
}

fn barrier(p: &MpiProcess, comm: Handle) -> MpiResult<CollectivePlan> {
    let comm = p.comm(comm)?;
    if comm.is_inter() {
        return super::intercomm::barrier(comm);
    }
    let nothing = || Region::absent(named(abi::MPI_BYTE));
    let (sizes, mover) = (Sizes::Same(Bytes::ZERO), DataMover::new(nothing(), nothing()));
    Ok(CollectivePart { collective: Collective::Barrier, comm, root: 0, sizes, mover }.into())
}

fn bcast(
    p: &MpiProcess,
    (base, count, datatype): (*mut c_void, c_int, Handle),
    root_argument: c_int,
    comm: Handle,
) -> MpiResult<CollectivePlan> {
    let comm = p.comm(comm)?;
    let buffer = CallBuffer::new(p, base, count, datatype)?;
    if comm.is_inter() {
        return super::intercomm::bcast(comm, root_argument, buffer);
    }
    let root = root(&comm, root_argument)?;
    let buffer = buffer.checked()?;
    let (size, with) = (buffer.size(), comm.clone());
    p.compare(|| ComparedArguments {
        root: Some(root_argument),
        alike: vec![buffer.signature()],
        ..ComparedArguments::default()
    });
    // The datatypes of the ranks may differ, so the schedule divides the buffer by bytes and not by items.
    let part = move |base: *mut u8| {
        let output = Region::new(base, named(abi::MPI_BYTE), BufferShape::Whole(size.get() as usize));
        let mover = DataMover::new(Region::absent(named(abi::MPI_BYTE)), output);
        CollectivePart { collective: Collective::Bcast, comm: with, root, sizes: Sizes::Same(size), mover }
    };
    if buffer.datatype.is_dense() && buffer.datatype.true_lb() == 0 {
        return Ok(part(buffer.base).into());
    }
    let sends = comm.rank() == root;
    let mut memory = Vec::with_capacity(size.get() as usize);
    if sends {
        // SAFETY: MPI requires the program's buffer to contain `count` items of the datatype.
        unsafe { buffer.datatype.pack(buffer.base, buffer.count, &mut memory) };
    }
    memory.resize(size.get() as usize, 0);
    Ok(CollectivePlan::code(&comm, move |p, sequence| {
        part(memory.as_mut_ptr()).carry_out(p, sequence)?;
        if !sends {
            // SAFETY: MPI requires the program's buffer to have room for `count` items of the datatype.
            unsafe { buffer.datatype.unpack(buffer.base, buffer.count, &memory) };
        }
        Ok(())
    }))
}

/// Plans MPI_Reduce, MPI_Allreduce, MPI_Scan and similar functions.
fn reduction(
    p: &MpiProcess,
    collective: Collective,
    (sendbuf, recvbuf): (*const c_void, *mut c_void),
    (count, datatype, op): (c_int, Handle, Handle),
    root_argument: c_int,
    comm: Handle,
) -> MpiResult<CollectivePlan> {
    let comm = p.comm(comm)?;
    let given = if in_place(sendbuf) { recvbuf.cast_const() } else { sendbuf };
    let input = CallBuffer::new(p, given, count, datatype)?;
    let combine = p.combine(op, &input.datatype)?;
    let result = CallBuffer { base: recvbuf.cast(), ..input.clone() };
    if comm.is_inter() {
        return super::intercomm::reduction(collective, comm, root_argument, (input, result), (combine, datatype));
    }
    let root = if collective == Collective::Reduce { root(&comm, root_argument)? } else { 0 };
    let input = input.checked()?;
    p.compare(|| ComparedArguments {
        root: (collective == Collective::Reduce).then_some(root_argument),
        operator: Some(combine.name()),
        alike: vec![input.signature()],
        ..ComparedArguments::default()
    });
    let size = input.size();
    let whole = BufferShape::Whole(input.count);
    if !in_place(sendbuf) && (collective != Collective::Reduce || comm.rank() == root) {
        apart(input.shares(&result), &comm)?;
    }
    let from = if in_place(sendbuf) { input.copied() } else { input.region(whole.clone()) };
    let to = if collective == Collective::Reduce && comm.rank() != root {
        // The receive buffer is significant only at the root, so other ranks use internal memory.
        input.room()
    } else {
        result.region(whole)
    };
    let mover = DataMover::combining(from, to, combine, input.count, datatype);
    Ok(CollectivePart { collective, comm, root, sizes: Sizes::Same(size), mover }.into())
}

/// Plans MPI_Reduce_scatter. The sizes of the ranks' blocks may differ.
unsafe fn reduce_scatter(
    p: &MpiProcess,
    (sendbuf, recvbuf): (*const c_void, *mut c_void),
    counts: impl Fn(usize) -> c_int,
    (datatype, op): (Handle, Handle),
    comm: Handle,
) -> MpiResult<CollectivePlan> {
    let comm = p.comm(comm)?;
    let given = if in_place(sendbuf) { recvbuf.cast_const() } else { sendbuf };
    let mut total = 0;
    let item = CallBuffer::new(p, given, 0, datatype)?;
    let extent = item.datatype.extent() as isize;
    let block = |block: usize| {
        let count = error::count(counts(block), &format!("count {block}"))?;
        let at = total as isize * extent;
        total += count;
        Ok((count, at))
    };
    let blocks: MpiResult<Rc<[(usize, isize)]>> = (0..comm.size() as usize).map(block).collect();
    let blocks = blocks?;
    let combine = p.combine(op, &item.datatype)?;
    let input = CallBuffer { count: total, ..item };
    let own = blocks[comm.rank() as usize].0;
    let result = CallBuffer { base: recvbuf.cast(), count: own, ..input.clone() };
    if comm.is_inter() {
        return super::intercomm::reduce_scatter(comm, input, result, &blocks, (combine, datatype));
    }
    if !in_place(sendbuf) {
        apart(input.shares(&result), &comm)?;
    }
    p.compare(|| ComparedArguments {
        operator: Some(combine.name()),
        alike: blocks.iter().map(|(count, _)| Signature::new(&input.datatype, *count)).collect(),
        ..ComparedArguments::default()
    });
    let mut from = if in_place(sendbuf) { input.copied() } else { input.region(BufferShape::Absent) };
    from.shape = BufferShape::Varying(blocks.clone());
    let to = result.region(BufferShape::Only(comm.rank(), own));
    let sizes = sizes(&blocks, &input.datatype);
    let mover = DataMover::combining(from, to, combine, total, datatype);
    Ok(CollectivePart { collective: Collective::ReduceScatter, comm, root: 0, sizes, mover }.into())
}

/// Stores the signatures of data that the root sends or receives, if the check of MPI calls is enabled.
fn compare_rooted(p: &MpiProcess, root: c_int, data: impl FnOnce() -> [Option<PeerSignatures>; 2]) {
    p.compare(|| {
        let [sent, received] = data();
        ComparedArguments { root: Some(root), sent, received, ..ComparedArguments::default() }
    });
}

/// Stores the signatures of data that all ranks exchange, if the check of MPI calls is enabled.
fn compare_all(p: &MpiProcess, (sent, to): (&Region, u32), (received, from): (&Region, u32)) {
    p.compare(|| {
        let [sent, received] = [sent.signatures(to), received.signatures(from)].map(Some);
        ComparedArguments { sent, received, ..ComparedArguments::default() }
    });
}

/// A buffer argument as the program passes it to MPI: address, count and datatype handle.
pub type Argument = (*const c_void, c_int, Handle);

unsafe fn gather(
    p: &MpiProcess,
    send: Argument,
    recv: Argument,
    all: &BufferBlocks,
    root_argument: c_int,
    comm: Handle,
) -> MpiResult<CollectivePlan> {
    let comm = p.comm(comm)?;
    let collective = if let BufferBlocks::Same = all { Collective::Gather } else { Collective::Gatherv };
    if comm.is_inter() {
        // SAFETY: the caller guarantees that the arrays have one element per rank of the remote group.
        return unsafe {
            super::intercomm::gather(p, comm, send, recv, |buffer, ranks| all.shape(buffer, ranks), root_argument)
        };
    }
    let (root, me) = (root(&comm, root_argument)?, comm.rank());
    if me != root {
        let mine = CallBuffer::new(p, send.0, send.1, send.2)?.checked()?;
        compare_rooted(p, root_argument, || [Some(mine.signatures()), None]);
        let mover = DataMover::new(mine.block_of(me), Region::absent(mine.datatype.clone()));
        return Ok(CollectivePart { collective, comm, root, sizes: Sizes::Same(mine.size()), mover }.into());
    }
    let result = CallBuffer::new(p, recv.0, recv.1, recv.2)?;
    // SAFETY: the caller guarantees that the arrays of `all` have one element per rank of the communicator.
    let (shape, sizes) = unsafe { all.shape(&result, comm.size())? };
    let output = result.region(shape);
    let input =
        if in_place(send.0) { output.only(me) } else { CallBuffer::new(p, send.0, send.1, send.2)?.block_of(me) };
    if !in_place(send.0) {
        apart(input.shares(&output, me), &comm)?;
    }
    compare_rooted(p, root_argument, || [input.signatures(me), output.signatures(comm.size())].map(Some));
    Ok(CollectivePart { collective, comm, root, sizes, mover: DataMover::new(input, output) }.into())
}

unsafe fn scatter(
    p: &MpiProcess,
    send: Argument,
    recv: Argument,
    all: &BufferBlocks,
    root_argument: c_int,
    comm: Handle,
) -> MpiResult<CollectivePlan> {
    let comm = p.comm(comm)?;
    let collective = if let BufferBlocks::Same = all { Collective::Scatter } else { Collective::Scatterv };
    if comm.is_inter() {
        // SAFETY: the caller guarantees that the arrays have one element per rank of the remote group.
        return unsafe {
            super::intercomm::scatter(p, comm, send, recv, |buffer, ranks| all.shape(buffer, ranks), root_argument)
        };
    }
    let (root, me) = (root(&comm, root_argument)?, comm.rank());
    if me != root {
        let mine = CallBuffer::new(p, recv.0, recv.1, recv.2)?.checked()?;
        compare_rooted(p, root_argument, || [None, Some(mine.signatures())]);
        let mover = DataMover::new(Region::absent(mine.datatype.clone()), mine.block_of(me));
        return Ok(CollectivePart { collective, comm, root, sizes: Sizes::Same(mine.size()), mover }.into());
    }
    let source = CallBuffer::new(p, send.0, send.1, send.2)?;
    // SAFETY: the caller guarantees that the arrays of `all` have one element per rank of the communicator.
    let (shape, sizes) = unsafe { all.shape(&source, comm.size())? };
    let input = source.region(shape);
    let output =
        if in_place(recv.0) { input.only(me) } else { CallBuffer::new(p, recv.0, recv.1, recv.2)?.block_of(me) };
    if !in_place(recv.0) {
        apart(input.shares(&output, me), &comm)?;
    }
    compare_rooted(p, root_argument, || [input.signatures(comm.size()), output.signatures(me)].map(Some));
    Ok(CollectivePart { collective, comm, root, sizes, mover: DataMover::new(input, output) }.into())
}

unsafe fn allgather(
    p: &MpiProcess,
    send: Argument,
    recv: Argument,
    all: &BufferBlocks,
    comm: Handle,
) -> MpiResult<CollectivePlan> {
    let comm = p.comm(comm)?;
    let collective = if let BufferBlocks::Same = all { Collective::Allgather } else { Collective::Allgatherv };
    let result = CallBuffer::new(p, recv.0, recv.1, recv.2)?;
    // SAFETY: the caller guarantees that the arrays of `all` have one element per peer rank.
    let (shape, sizes) = unsafe { all.shape(&result, comm.peers().size())? };
    let output = result.region(shape);
    if comm.is_inter() {
        return super::intercomm::allgather(comm, CallBuffer::new(p, send.0, send.1, send.2)?, output);
    }
    let me = comm.rank();
    let input =
        if in_place(send.0) { output.only(me) } else { CallBuffer::new(p, send.0, send.1, send.2)?.block_of(me) };
    if !in_place(send.0) {
        apart(input.shares(&output, me), &comm)?;
    }
    compare_all(p, (&input, me), (&output, comm.size()));
    Ok(CollectivePart { collective, comm, root: 0, sizes, mover: DataMover::new(input, output) }.into())
}

unsafe fn alltoall(
    p: &MpiProcess,
    send: Argument,
    recv: Argument,
    sent: &BufferBlocks,
    received: &BufferBlocks,
    comm: Handle,
) -> MpiResult<CollectivePlan> {
    let comm = p.comm(comm)?;
    let collective = if let BufferBlocks::Same = sent { Collective::Alltoall } else { Collective::Alltoallv };
    let ranks = comm.peers().size();
    let result = CallBuffer::new(p, recv.0, recv.1, recv.2)?;
    // SAFETY: the caller guarantees that the arrays of `received` have one element per peer rank.
    let (shape, received_sizes) = unsafe { received.shape(&result, ranks)? };
    let output = result.region(shape);
    let (input, sizes) = if in_place(send.0) {
        // The send data is copied, because received data would overwrite data that is not sent yet.
        (output.copy(ranks), received_sizes)
    } else {
        let source = CallBuffer::new(p, send.0, send.1, send.2)?;
        // SAFETY: the caller guarantees that the arrays of `sent` have one element per peer rank.
        let (shape, sizes) = unsafe { sent.shape(&source, ranks)? };
        (source.region(shape), sizes)
    };
    // The datatype of an in-place buffer is the datatype of the output, because a copied buffer consists of bytes.
    compare_all(p, (if in_place(send.0) { &output } else { &input }, ranks), (&output, ranks));
    exchange(comm, collective, input, output, sizes)
}

fn exchange(
    comm: Rc<Comm>,
    collective: Collective,
    input: Region,
    output: Region,
    sizes: Sizes,
) -> MpiResult<CollectivePlan> {
    if comm.is_inter() {
        return super::intercomm::alltoall(comm, input, output);
    }
    if input.base == output.base {
        apart((0..comm.size()).any(|block| input.shares(&output, block)), &comm)?;
    }
    Ok(CollectivePart { collective, comm, root: 0, sizes, mover: DataMover::new(input, output) }.into())
}

type Mixed = (*const c_void, *const c_int, *const c_int, *const Handle);

unsafe fn alltoallw(p: &MpiProcess, send: Mixed, recv: Mixed, comm: Handle) -> MpiResult<CollectivePlan> {
    let comm = p.comm(comm)?;
    let ranks = comm.peers().size();
    let region = |(base, counts, displs, types): Mixed| -> MpiResult<Region> {
        let block = |block: usize| {
            // SAFETY: MPI requires the program to pass arrays with one element per rank.
            let (count, at, datatype) = unsafe { (*counts.add(block), *displs.add(block), *types.add(block)) };
            Ok((error::count(count, &format!("count {block}"))?, at as isize, p.committed(datatype)?))
        };
        let blocks: MpiResult<Rc<[(usize, isize, Type)]>> = (0..ranks as usize).map(block).collect();
        Ok(Region::new(base.cast_mut().cast(), named(abi::MPI_BYTE), BufferShape::Mixed(blocks?)))
    };
    let output = region(recv)?;
    let input = if in_place(send.0) { output.copy(ranks) } else { region(send)? };
    let sizes = (0..ranks).map(|block| {
        let (_, count, datatype) = input.block(&NO_LAYOUT, block);
        bytes(count * datatype.size())
    });
    let sizes = Sizes::Each(sizes.collect());
    compare_all(p, (if in_place(send.0) { &output } else { &input }, ranks), (&output, ranks));
    exchange(comm, Collective::Alltoallv, input, output, sizes)
}

collectives! {
    MPI_Barrier MPI_Ibarrier(p; comm: Handle) { barrier(p, comm) }
    MPI_Bcast MPI_Ibcast(p; buffer: *mut c_void, count: c_int, datatype: Handle, root: c_int, comm: Handle) {
        bcast(p, (buffer, count, datatype), root, comm)
    }
    MPI_Gather MPI_Igather(
        p; sendbuf: *const c_void, sendcount: c_int, sendtype: Handle, recvbuf: *mut c_void, recvcount: c_int,
        recvtype: Handle, root: c_int, comm: Handle,
    ) {
        gather(p, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), &BufferBlocks::Same, root, comm)
    }
    MPI_Gatherv MPI_Igatherv(
        p; sendbuf: *const c_void, sendcount: c_int, sendtype: Handle, recvbuf: *mut c_void,
        recvcounts: *const c_int, displs: *const c_int, recvtype: Handle, root: c_int, comm: Handle,
    ) {
        let all = BufferBlocks::Varying(recvcounts, displs);
        gather(p, (sendbuf, sendcount, sendtype), (recvbuf, 0, recvtype), &all, root, comm)
    }
    MPI_Scatter MPI_Iscatter(
        p; sendbuf: *const c_void, sendcount: c_int, sendtype: Handle, recvbuf: *mut c_void, recvcount: c_int,
        recvtype: Handle, root: c_int, comm: Handle,
    ) {
        scatter(p, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), &BufferBlocks::Same, root, comm)
    }
    MPI_Scatterv MPI_Iscatterv(
        p; sendbuf: *const c_void, sendcounts: *const c_int, displs: *const c_int, sendtype: Handle,
        recvbuf: *mut c_void, recvcount: c_int, recvtype: Handle, root: c_int, comm: Handle,
    ) {
        let all = BufferBlocks::Varying(sendcounts, displs);
        scatter(p, (sendbuf, 0, sendtype), (recvbuf, recvcount, recvtype), &all, root, comm)
    }
    MPI_Allgather MPI_Iallgather(
        p; sendbuf: *const c_void, sendcount: c_int, sendtype: Handle, recvbuf: *mut c_void, recvcount: c_int,
        recvtype: Handle, comm: Handle,
    ) {
        allgather(p, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), &BufferBlocks::Same, comm)
    }
    MPI_Allgatherv MPI_Iallgatherv(
        p; sendbuf: *const c_void, sendcount: c_int, sendtype: Handle, recvbuf: *mut c_void,
        recvcounts: *const c_int, displs: *const c_int, recvtype: Handle, comm: Handle,
    ) {
        let all = BufferBlocks::Varying(recvcounts, displs);
        allgather(p, (sendbuf, sendcount, sendtype), (recvbuf, 0, recvtype), &all, comm)
    }
    MPI_Alltoall MPI_Ialltoall(
        p; sendbuf: *const c_void, sendcount: c_int, sendtype: Handle, recvbuf: *mut c_void, recvcount: c_int,
        recvtype: Handle, comm: Handle,
    ) {
        let (send, recv) = ((sendbuf, sendcount, sendtype), (recvbuf.cast_const(), recvcount, recvtype));
        alltoall(p, send, recv, &BufferBlocks::Same, &BufferBlocks::Same, comm)
    }
    MPI_Alltoallv MPI_Ialltoallv(
        p; sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int, sendtype: Handle,
        recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtype: Handle, comm: Handle,
    ) {
        let (sent, received) = (BufferBlocks::Varying(sendcounts, sdispls), BufferBlocks::Varying(recvcounts, rdispls));
        alltoall(p, (sendbuf, 0, sendtype), (recvbuf, 0, recvtype), &sent, &received, comm)
    }
    MPI_Alltoallw MPI_Ialltoallw(
        p; sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int, sendtypes: *const Handle,
        recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtypes: *const Handle,
        comm: Handle,
    ) {
        alltoallw(p, (sendbuf, sendcounts, sdispls, sendtypes), (recvbuf, recvcounts, rdispls, recvtypes), comm)
    }
    MPI_Reduce MPI_Ireduce(
        p; sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: Handle, op: Handle, root: c_int,
        comm: Handle,
    ) {
        reduction(p, Collective::Reduce, (sendbuf, recvbuf), (count, datatype, op), root, comm)
    }
    MPI_Allreduce MPI_Iallreduce(
        p; sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: Handle, op: Handle, comm: Handle,
    ) {
        reduction(p, Collective::Allreduce, (sendbuf, recvbuf), (count, datatype, op), 0, comm)
    }
    MPI_Scan MPI_Iscan(
        p; sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: Handle, op: Handle, comm: Handle,
    ) {
        reduction(p, Collective::Scan, (sendbuf, recvbuf), (count, datatype, op), 0, comm)
    }
    MPI_Exscan MPI_Iexscan(
        p; sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: Handle, op: Handle, comm: Handle,
    ) {
        reduction(p, Collective::Exscan, (sendbuf, recvbuf), (count, datatype, op), 0, comm)
    }
    MPI_Reduce_scatter MPI_Ireduce_scatter(
        p; sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const c_int, datatype: Handle, op: Handle,
        comm: Handle,
    ) {
        reduce_scatter(p, (sendbuf, recvbuf), |block| *recvcounts.add(block), (datatype, op), comm)
    }
    MPI_Reduce_scatter_block MPI_Ireduce_scatter_block(
        p; sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: c_int, datatype: Handle, op: Handle,
        comm: Handle,
    ) {
        reduce_scatter(p, (sendbuf, recvbuf), |_| recvcount, (datatype, op), comm)
    }
}
