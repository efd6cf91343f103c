//! Functions for Cartesian topologies, and functions that all topologies share (MPI-3.1, section 7.5).
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::rc::Rc;

use super::comms::agree;
use super::groups::{array, put};
use crate::mpi_api::collective::CollectivePlan;
use crate::mpi_api::comm::Comm;
use crate::mpi_api::error::{MpiError, MpiResult};
use crate::mpi_api::process::MpiProcess;
use mcpsim_core::mpi::Group;
use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::mpi::fault::Fault;
use mcpsim_core::mpi::topology::{Cart, Topology, dims_create};

/// Returns a function that converts a fault to an error on the communicator `comm`.
pub fn on(comm: &Comm) -> impl Fn(Fault) -> MpiError {
    let handle = comm.handle;
    move |fault| MpiError::from(fault).on_comm(handle)
}

/// Creates the error for a communicator that does not have the topology `expected`.
pub fn wrong_topology(comm: &Comm, expected: &str) -> MpiError {
    let what = format!("{} has no {expected} topology", comm.describe());
    MpiError::new(abi::MPI_ERR_TOPOLOGY, what).on_comm(comm.handle)
}

/// Plans the creation of a communicator with the topology `topology`, which consists of the first `size` ranks of
/// `comm`.
pub fn with_topology(comm: &Rc<Comm>, size: u32, topology: Topology, newcomm: *mut Handle) -> CollectivePlan {
    let group = comm.local.group();
    let members = if size == group.size() {
        group.clone()
    } else {
        Group::from_ranks((0..size).map(|member| group.world(member)).collect())
    };
    among(comm, members, topology, newcomm)
}

/// Plans the creation of communicators for disjoint subsets of the ranks of `comm`. `members` and `topology` describe
/// the communicator of the calling rank.
fn among(comm: &Rc<Comm>, members: Group, topology: Topology, newcomm: *mut Handle) -> CollectivePlan {
    let old = comm.clone();
    CollectivePlan::code(comm, move |p, sequence| {
        let number = agree(p, &old, sequence)?;
        let handle = p.make_comm(&old, number, members, None)?;
        if handle != abi::MPI_COMM_NULL {
            p.comm(handle)?.topology.replace(Some(Rc::new(topology)));
        }
        // SAFETY: MPI requires the program to pass a result pointer that remains valid until the operation completes.
        unsafe { *newcomm = handle };
        Ok(())
    })
}

/// Calls `ask` with the Cartesian topology of the communicator `comm` and returns the result.
fn cart<R>(p: &MpiProcess, comm: Handle, ask: impl FnOnce(&Cart, &Comm) -> Result<R, Fault>) -> MpiResult<R> {
    let comm = p.comm(comm)?;
    let topology = comm.topology.borrow().clone();
    match topology.as_deref() {
        Some(Topology::Cart(cart)) => ask(cart, &comm).map_err(on(&comm)),
        _ => Err(wrong_topology(&comm, "Cartesian")),
    }
}

/// Reads those arguments of MPI_Cart_create and MPI_Cart_map that describe the grid.
unsafe fn grid(comm: &Comm, ndims: c_int, dims: *const c_int, periods: *const c_int) -> MpiResult<Cart> {
    // SAFETY: MPI requires the program to pass arrays with `ndims` elements.
    let (dims, periods) = unsafe { (array(dims, ndims, "dimensions")?, array(periods, ndims, "dimensions")?) };
    let periods: Vec<bool> = periods.iter().map(|&period| period != 0).collect();
    Cart::new(comm.size(), dims, &periods).map_err(on(comm))
}

fn signed(numbers: &[u32]) -> Vec<c_int> {
    numbers.iter().map(|&number| number as c_int).collect()
}

mpi_functions! {
    fn MPI_Topo_test(p; comm: Handle, status: *mut c_int) {
        let comm = p.comm(comm)?;
        *status = comm.topology.borrow().as_ref().map_or(abi::MPI_UNDEFINED, |topology| topology.kind());
        Ok(())
    }
    fn MPI_Dims_create(_p; nnodes: c_int, ndims: c_int, dims: *mut c_int) {
        let mut found = array(dims.cast_const(), ndims, "dimensions")?.to_vec();
        dims_create(nnodes, &mut found)?;
        put(dims, found.len(), &found);
        Ok(())
    }
    fn MPI_Cart_create(
        p; comm_old: Handle, ndims: c_int, dims: *const c_int, periods: *const c_int, _reorder: c_int,
        comm_cart: *mut Handle,
    ) {
        *comm_cart = abi::MPI_COMM_NULL;
        let comm = p.intra_comm(comm_old)?;
        let grid = grid(&comm, ndims, dims, periods)?;
        with_topology(&comm, grid.size(), Topology::Cart(grid), comm_cart).block(p)
    }
    fn MPI_Cart_sub(p; comm: Handle, remain_dims: *const c_int, newcomm: *mut Handle) {
        let part = cart(p, comm, |grid, comm| {
            let remain: Vec<bool> = (0..grid.dims().len()).map(|dimension| *remain_dims.add(dimension) != 0).collect();
            Ok(grid.sub(comm.rank(), &remain))
        })?;
        let comm = p.comm(comm)?;
        let members = Group::from_ranks(part.members.iter().map(|&member| comm.local.world(member)).collect());
        among(&comm, members, Topology::Cart(part.grid), newcomm).block(p)
    }
    fn MPI_Cartdim_get(p; comm: Handle, ndims: *mut c_int) {
        *ndims = cart(p, comm, |grid, _| Ok(grid.dims().len()))? as c_int;
        Ok(())
    }
    fn MPI_Cart_get(
        p; comm: Handle, maxdims: c_int, dims: *mut c_int, periods: *mut c_int, coords: *mut c_int,
    ) {
        cart(p, comm, |grid, comm| {
            let room = maxdims.max(0) as usize;
            let rings: Vec<c_int> = grid.periods().iter().map(|&ring| c_int::from(ring)).collect();
            put(dims, room, &signed(grid.dims()));
            put(periods, room, &rings);
            put(coords, room, &grid.coords(comm.rank() as c_int)?);
            Ok(())
        })
    }
    fn MPI_Cart_rank(p; comm: Handle, coords: *const c_int, rank: *mut c_int) {
        *rank = cart(p, comm, |grid, _| {
            let coords: Vec<c_int> = (0..grid.dims().len()).map(|dimension| *coords.add(dimension)).collect();
            grid.rank(&coords)
        })? as c_int;
        Ok(())
    }
    fn MPI_Cart_coords(p; comm: Handle, rank: c_int, maxdims: c_int, coords: *mut c_int) {
        let found = cart(p, comm, |grid, _| grid.coords(rank))?;
        put(coords, maxdims.max(0) as usize, &found);
        Ok(())
    }
    fn MPI_Cart_shift(
        p; comm: Handle, direction: c_int, disp: c_int, rank_source: *mut c_int, rank_dest: *mut c_int,
    ) {
        let shift = cart(p, comm, |grid, comm| grid.shift(comm.rank(), direction, disp))?;
        *rank_source = shift.source;
        *rank_dest = shift.destination;
        Ok(())
    }
    fn MPI_Cart_map(
        p; comm: Handle, ndims: c_int, dims: *const c_int, periods: *const c_int, newrank: *mut c_int,
    ) {
        let comm = p.intra_comm(comm)?;
        *newrank = grid(&comm, ndims, dims, periods)?.map(comm.rank());
        Ok(())
    }
}
