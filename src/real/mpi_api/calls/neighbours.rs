//! Blocking and nonblocking neighbourhood collectives (MPI-3.1, sections 7.6 and 7.7).
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use super::collectives::{Argument, BufferBlocks, CallBuffer};
use super::topologies::wrong_topology;
use crate::mpi_api::collective::{BufferShape, CollectiveMessages, CollectivePlan, Region};
use crate::mpi_api::comm::Comm;
use crate::mpi_api::error::{self, MpiError, MpiResult};
use crate::mpi_api::process::MpiProcess;
use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::mpi::datatype::{Datatype, Type};
use mcpsim_core::mpi::topology::Topology;
use mcpsim_core::rank::Requests;

/// Neighbours of a rank in a topology. The order of the neighbours is the order of the blocks in the rank's buffers.
struct Neighbourhood {
    comm: Rc<Comm>,
    sources: Vec<c_int>,
    destinations: Vec<c_int>,
    /// Order in which the rank receives blocks. Several blocks from one source are received in the order in which the
    /// source sends the blocks.
    order: Vec<usize>,
}

impl Neighbourhood {
    fn of(p: &MpiProcess, comm: Handle) -> MpiResult<Self> {
        let comm = p.comm(comm)?;
        let topology = comm.topology.borrow().clone();
        let topology = topology.ok_or_else(|| wrong_topology(&comm, "virtual"))?;
        let (sources, destinations) = topology.neighbours(comm.rank());
        let mut order: Vec<usize> = (0..sources.len()).collect();
        if let Topology::Cart(_) = *topology {
            // In each dimension of a Cartesian topology, a rank receives from its upper neighbour the message that
            // the neighbour sends downwards. The order matters for rings of two ranks, where the upper and the lower
            // neighbour are the same rank.
            order.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
        }
        Ok(Neighbourhood { comm, sources, destinations, order })
    }

    /// Plans the messages of a neighbourhood collective. Each block of `input` is sent to a destination, and each
    /// block of `output` is received from a source.
    fn exchange(self, input: Region, output: Region) -> CollectivePlan {
        let Neighbourhood { comm, sources, destinations, order } = self;
        let with = comm.clone();
        CollectivePlan::code(&comm, move |p, sequence| {
            let letters = CollectiveMessages::new(p, &with, sequence);
            let there = |rank: c_int| (rank != abi::MPI_PROC_NULL).then_some(rank as u32);
            let receives: Vec<usize> = order.into_iter().filter(|&block| there(sources[block]).is_some()).collect();
            let mut requests: Requests =
                receives.iter().map(|&block| letters.start_recv(sources[block] as u32)).collect();
            for (block, &to) in destinations.iter().enumerate() {
                let Some(to) = there(to) else { continue };
                // SAFETY: MPI requires the program's buffer to remain valid until the collective completes.
                requests.push(letters.start(to, unsafe { input.packed(block as u32) }));
            }
            let came = letters.finish_all(requests, receives.len());
            let mut result = Ok(());
            for (&block, data) in receives.iter().zip(came) {
                // SAFETY: MPI requires the program's buffer to remain valid until the collective completes.
                result = result.and(unsafe { output.store(block as u32, &data) });
            }
            result.map_err(|error: MpiError| error.on_comm(with.handle))
        })
    }
}

unsafe fn allgather(
    p: &MpiProcess,
    send: Argument,
    recv: Argument,
    all: &BufferBlocks,
    comm: Handle,
) -> MpiResult<CollectivePlan> {
    let near = Neighbourhood::of(p, comm)?;
    let (mine, result) = (CallBuffer::new(p, send.0, send.1, send.2)?, CallBuffer::new(p, recv.0, recv.1, recv.2)?);
    // SAFETY: the caller guarantees that the arrays of `all` have one element per source.
    let (shape, _) = unsafe { all.shape(&result, near.sources.len() as u32)? };
    // All destinations receive the same data, so all send blocks are the same memory.
    let same = vec![(mine.count, 0); near.destinations.len()];
    let input = mine.region(BufferShape::Varying(same.into()));
    Ok(near.exchange(input, result.region(shape)))
}

unsafe fn alltoall(
    p: &MpiProcess,
    (send, sent): (Argument, &BufferBlocks),
    (recv, received): (Argument, &BufferBlocks),
    comm: Handle,
) -> MpiResult<CollectivePlan> {
    let near = Neighbourhood::of(p, comm)?;
    let (mine, result) = (CallBuffer::new(p, send.0, send.1, send.2)?, CallBuffer::new(p, recv.0, recv.1, recv.2)?);
    // SAFETY: the caller guarantees arrays of send arguments with one element per destination, and arrays of receive
    // arguments with one element per source.
    let (from, to) = unsafe {
        let (from, _) = sent.shape(&mine, near.destinations.len() as u32)?;
        (from, received.shape(&result, near.sources.len() as u32)?.0)
    };
    Ok(near.exchange(mine.region(from), result.region(to)))
}

type Mixed = (*const c_void, *const c_int, *const abi::Aint, *const Handle);

unsafe fn alltoallw(p: &MpiProcess, send: Mixed, recv: Mixed, comm: Handle) -> MpiResult<CollectivePlan> {
    let near = Neighbourhood::of(p, comm)?;
    let region = |(base, counts, displs, types): Mixed, blocks: usize| -> MpiResult<Region> {
        let block = |block: usize| {
            // SAFETY: MPI requires the program to pass arrays with one element per neighbour.
            let (count, at, datatype) = unsafe { (*counts.add(block), *displs.add(block), *types.add(block)) };
            Ok((error::count(count, &format!("count {block}"))?, at, p.committed(datatype)?))
        };
        let blocks: MpiResult<Rc<[(usize, isize, Type)]>> = (0..blocks).map(block).collect();
        let byte = Datatype::named(abi::MPI_BYTE).expect("a named datatype").clone();
        Ok(Region::new(base.cast_mut().cast(), byte, BufferShape::Mixed(blocks?)))
    };
    let (input, output) = (region(send, near.destinations.len())?, region(recv, near.sources.len())?);
    Ok(near.exchange(input, output))
}

collectives! {
    MPI_Neighbor_allgather MPI_Ineighbor_allgather(
        p; sendbuf: *const c_void, sendcount: c_int, sendtype: Handle, recvbuf: *mut c_void, recvcount: c_int,
        recvtype: Handle, comm: Handle,
    ) {
        allgather(p, (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), &BufferBlocks::Same, comm)
    }
    MPI_Neighbor_allgatherv MPI_Ineighbor_allgatherv(
        p; sendbuf: *const c_void, sendcount: c_int, sendtype: Handle, recvbuf: *mut c_void,
        recvcounts: *const c_int, displs: *const c_int, recvtype: Handle, comm: Handle,
    ) {
        let all = BufferBlocks::Varying(recvcounts, displs);
        allgather(p, (sendbuf, sendcount, sendtype), (recvbuf, 0, recvtype), &all, comm)
    }
    MPI_Neighbor_alltoall MPI_Ineighbor_alltoall(
        p; sendbuf: *const c_void, sendcount: c_int, sendtype: Handle, recvbuf: *mut c_void, recvcount: c_int,
        recvtype: Handle, comm: Handle,
    ) {
        let (send, recv) = ((sendbuf, sendcount, sendtype), (recvbuf.cast_const(), recvcount, recvtype));
        alltoall(p, (send, &BufferBlocks::Same), (recv, &BufferBlocks::Same), comm)
    }
    MPI_Neighbor_alltoallv MPI_Ineighbor_alltoallv(
        p; sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int, sendtype: Handle,
        recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtype: Handle, comm: Handle,
    ) {
        let (sent, received) = (BufferBlocks::Varying(sendcounts, sdispls), BufferBlocks::Varying(recvcounts, rdispls));
        alltoall(p, ((sendbuf, 0, sendtype), &sent), ((recvbuf, 0, recvtype), &received), comm)
    }
    MPI_Neighbor_alltoallw MPI_Ineighbor_alltoallw(
        p; sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const abi::Aint, sendtypes: *const Handle,
        recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const abi::Aint, recvtypes: *const Handle,
        comm: Handle,
    ) {
        alltoallw(p, (sendbuf, sendcounts, sdispls, sendtypes), (recvbuf, recvcounts, rdispls, recvtypes), comm)
    }
}
