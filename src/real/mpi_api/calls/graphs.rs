//! Functions for graph topologies and distributed graphs (MPI-3.1, sections 7.5.3 to 7.5.5).
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::rc::Rc;

use super::comms::agree;
use super::groups::{array, put};
use super::topologies::{on, with_topology, wrong_topology};
use crate::mpi_api::collective::CollectivePlan;
use crate::mpi_api::collective::{CollectiveMessages, own};
use crate::mpi_api::comm::Comm;
use crate::mpi_api::error::{MpiError, MpiResult};
use crate::mpi_api::process::MpiProcess;
use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::mpi::fault::Fault;
use mcpsim_core::mpi::topology::{Contribution, Edge, GraphTopology, Neighbours, Topology};
use mcpsim_core::rank::Requests;

/// Reads those arguments of MPI_Graph_create that describe the graph.
unsafe fn read(comm: &Comm, nnodes: c_int, index: *const c_int, edges: *const c_int) -> MpiResult<GraphTopology> {
    // SAFETY: MPI requires the program to pass arrays of the lengths `nnodes` and `index[nnodes - 1]`.
    unsafe {
        let index = array(index, nnodes, "nodes")?;
        let edges = array(edges, index.last().map_or(0, |&end| end.max(0)), "edges")?;
        GraphTopology::new(comm.size(), index, edges).map_err(on(comm))
    }
}

/// Calls `ask` with the graph topology of the communicator and returns the result.
fn graph<R>(p: &MpiProcess, comm: Handle, ask: impl FnOnce(&GraphTopology) -> Result<R, Fault>) -> MpiResult<R> {
    let comm = p.comm(comm)?;
    let topology = comm.topology.borrow().clone();
    match topology.as_deref() {
        Some(Topology::Graph(graph)) => ask(graph).map_err(on(&comm)),
        _ => Err(wrong_topology(&comm, "graph")),
    }
}

fn neighbours(graph: &GraphTopology, rank: c_int) -> Result<Vec<c_int>, Fault> {
    let known = u32::try_from(rank).ok().filter(|&rank| rank < graph.size());
    let rank = known.ok_or_else(|| {
        Fault::new(abi::MPI_ERR_RANK, format!("rank {rank}, expected one of a graph of {} nodes", graph.size()))
    })?;
    Ok(signed(graph.neighbours(rank)))
}

fn signed(numbers: &[u32]) -> Vec<c_int> {
    numbers.iter().map(|&number| number as c_int).collect()
}

/// Calls `ask` with the distributed graph topology of the communicator and returns the result.
fn distributed<R>(p: &MpiProcess, comm: Handle, ask: impl FnOnce(&Neighbours) -> R) -> MpiResult<R> {
    let comm = p.comm(comm)?;
    let topology = comm.topology.borrow().clone();
    match topology.as_deref() {
        Some(Topology::Distributed(near)) => Ok(ask(near)),
        _ => Err(wrong_topology(&comm, "distributed graph")),
    }
}

/// Reads an array of edge weights. The result is `None` if the program passes MPI_UNWEIGHTED.
unsafe fn weights<'a>(weights: *const c_int, count: c_int) -> MpiResult<Option<&'a [c_int]>> {
    match weights as usize {
        abi::MPI_UNWEIGHTED => Ok(None),
        abi::MPI_WEIGHTS_EMPTY => Ok(Some(&[])),
        // SAFETY: MPI requires the program to pass an array with `count` elements.
        _ => Ok(Some(unsafe { array(weights, count, "weights")? })),
    }
}

/// Sends each graph edge in `given` to the source rank and the destination rank of the edge. Receives the graph edges
/// of the calling rank.
fn tell(p: &MpiProcess, comm: &Rc<Comm>, sequence: u32, given: &Contribution) -> Result<Neighbours, MpiError> {
    let mut told: BTreeMap<u32, Vec<u32>> = given.by_end();
    let me = comm.rank();
    let mine = told.remove(&me);
    let mut to_each = vec![0; comm.size() as usize];
    told.keys().for_each(|&end| to_each[end as usize] = 1);
    let expected = own::sum_of_each(p, comm, sequence, &mut to_each)?;
    let letters = CollectiveMessages::new(p, comm, sequence);
    let requests: Requests = told.iter().map(|(&end, edges)| letters.start(end, own::packed(edges))).collect();
    let mut heard: BTreeMap<u32, Vec<u32>> = mine.map(|edges| (me, edges)).into_iter().collect();
    for _ in 0..expected {
        let (from, data) = letters.recv_any();
        heard.insert(from, own::unpacked(&data));
    }
    letters.finish(requests);
    Neighbours::from_messages(given.weighted(), &heard).map_err(on(comm))
}

unsafe fn give(to: (*mut c_int, *mut c_int), room: c_int, edges: &[Edge], weighted: bool) {
    let room = room.max(0) as usize;
    let ranks: Vec<c_int> = edges.iter().map(|edge| edge.rank as c_int).collect();
    // SAFETY: MPI requires the program to pass arrays with room for `room` elements.
    unsafe { put(to.0, room, &ranks) };
    if weighted && ![0, abi::MPI_UNWEIGHTED, abi::MPI_WEIGHTS_EMPTY].contains(&(to.1 as usize)) {
        let weights: Vec<c_int> = edges.iter().map(|edge| edge.weight).collect();
        // SAFETY: MPI requires the program to pass an array with room for `room` weights, or a constant such as
        // MPI_UNWEIGHTED, which is excluded above.
        unsafe { put(to.1, room, &weights) };
    }
}

mpi_functions! {
    fn MPI_Graph_create(
        p; comm_old: Handle, nnodes: c_int, index: *const c_int, edges: *const c_int, _reorder: c_int,
        comm_graph: *mut Handle,
    ) {
        let comm = p.intra_comm(comm_old)?;
        let graph = read(&comm, nnodes, index, edges)?;
        with_topology(&comm, graph.size(), Topology::Graph(graph), comm_graph).block(p)
    }
    fn MPI_Graphdims_get(p; comm: Handle, nnodes: *mut c_int, nedges: *mut c_int) {
        let (nodes, edges) = graph(p, comm, |graph| Ok((graph.size(), graph.edges().len())))?;
        *nnodes = nodes as c_int;
        *nedges = edges as c_int;
        Ok(())
    }
    fn MPI_Graph_get(p; comm: Handle, maxindex: c_int, maxedges: c_int, index: *mut c_int, edges: *mut c_int) {
        graph(p, comm, |graph| {
            put(index, maxindex.max(0) as usize, &signed(graph.index()));
            put(edges, maxedges.max(0) as usize, &signed(graph.edges()));
            Ok(())
        })
    }
    fn MPI_Graph_neighbors_count(p; comm: Handle, rank: c_int, nneighbors: *mut c_int) {
        *nneighbors = graph(p, comm, |graph| neighbours(graph, rank))?.len() as c_int;
        Ok(())
    }
    fn MPI_Graph_neighbors(p; comm: Handle, rank: c_int, maxneighbors: c_int, neighbors: *mut c_int) {
        let found = graph(p, comm, |graph| neighbours(graph, rank))?;
        put(neighbors, maxneighbors.max(0) as usize, &found);
        Ok(())
    }
    fn MPI_Graph_map(
        p; comm: Handle, nnodes: c_int, index: *const c_int, edges: *const c_int, newrank: *mut c_int,
    ) {
        let comm = p.intra_comm(comm)?;
        *newrank = read(&comm, nnodes, index, edges)?.map(comm.rank());
        Ok(())
    }
    fn MPI_Dist_graph_create_adjacent(
        p; comm_old: Handle, indegree: c_int, sources: *const c_int, sourceweights: *const c_int, outdegree: c_int,
        destinations: *const c_int, destweights: *const c_int, _info: Handle, _reorder: c_int,
        comm_dist_graph: *mut Handle,
    ) {
        let comm = p.intra_comm(comm_old)?;
        let near = Neighbours::adjacent(
            comm.size(),
            (array(sources, indegree, "sources")?, weights(sourceweights, indegree)?),
            (array(destinations, outdegree, "destinations")?, weights(destweights, outdegree)?),
        );
        let near = Topology::Distributed(near.map_err(on(&comm))?);
        with_topology(&comm, comm.size(), near, comm_dist_graph).block(p)
    }
    fn MPI_Dist_graph_create(
        p; comm_old: Handle, n: c_int, sources: *const c_int, degrees: *const c_int, destinations: *const c_int,
        weight: *const c_int, _info: Handle, _reorder: c_int, comm_dist_graph: *mut Handle,
    ) {
        let comm = p.intra_comm(comm_old)?;
        let (sources, degrees) = (array(sources, n, "sources")?, array(degrees, n, "degrees")?);
        let edges = degrees.iter().fold(0, |sum: c_int, degree| sum.saturating_add(*degree.max(&0)));
        let destinations = array(destinations, edges, "destinations")?;
        let given = Contribution::new(comm.size(), sources, degrees, destinations, weights(weight, edges)?);
        let (given, old) = (given.map_err(on(&comm))?, comm.clone());
        let plan = CollectivePlan::code(&comm, move |p, sequence| {
            let near = tell(p, &old, sequence, &given)?;
            let number = agree(p, &old, old.next_sequence())?;
            let handle = p.make_comm(&old, number, old.local.group().clone(), None)?;
            p.comm(handle)?.topology.replace(Some(Rc::new(Topology::Distributed(near))));
            *comm_dist_graph = handle;
            Ok(())
        });
        plan.block(p)
    }
    fn MPI_Dist_graph_neighbors_count(p; comm: Handle, indegree: *mut c_int, outdegree: *mut c_int, weighted: *mut c_int) {
        distributed(p, comm, |near| {
            *indegree = near.sources.len() as c_int;
            *outdegree = near.destinations.len() as c_int;
            *weighted = c_int::from(near.weighted);
        })
    }
    fn MPI_Dist_graph_neighbors(
        p; comm: Handle, maxindegree: c_int, sources: *mut c_int, sourceweights: *mut c_int, maxoutdegree: c_int,
        destinations: *mut c_int, destweights: *mut c_int,
    ) {
        distributed(p, comm, |near| {
            give((sources, sourceweights), maxindegree, &near.sources, near.weighted);
            give((destinations, destweights), maxoutdegree, &near.destinations, near.weighted);
        })
    }
}
