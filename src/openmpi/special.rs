//! Functions whose conversion does not follow from the names of their arguments.

use std::ffi::{c_char, c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcpsim_core::mpi::abi as standard;
use mcpsim_real::as_built::needs_rank;

use crate::abi::*;
use crate::callbacks::*;
use crate::convert::*;

macro_rules! special {
    ($($name:ident $profiling:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
                // SAFETY: the program passes valid arguments, as the MPI standard requires.
                unsafe { $body }
            }

            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $profiling($($argument: $type),*) -> c_int {
                // SAFETY: as above.
                unsafe { $name($($argument),*) }
            }
        )*
    };
}

/// Locations of the library's handle and of the program's handle.
struct Duplicate(*mut usize, *mut Raw);

// SAFETY: one thread of a rank at a time is in an MPI function.
unsafe impl Send for Duplicate {}

/// Communicators of nonblocking duplications that have not completed.
static DUPLICATES: Mutex<Vec<Duplicate>> = Mutex::new(Vec::new());

fn duplicates() -> MutexGuard<'static, Vec<Duplicate>> {
    DUPLICATES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stores the communicators of completed nonblocking duplications.
pub fn settle() {
    let mut all = duplicates();
    if !all.is_empty() {
        // SAFETY: the program's location is valid until the duplication completes, and the library's is leaked.
        all.retain(|&Duplicate(from, to)| unsafe {
            let is_done = *from >= standard::FIRST_USER;
            if is_done {
                *to = handle_out(HandleClass::Comm, *from);
            }
            !is_done
        });
    }
}

fn duplicate(to: *mut Raw) -> *mut usize {
    let from: *mut usize = Box::leak(Box::new(0));
    duplicates().push(Duplicate(from, to));
    from
}

/// Converts constants in the integers from which `datatype` was created.
pub unsafe fn contents_out(datatype: usize, integers: *mut c_int) {
    // SAFETY: the results have room, and the integers are those of the datatype.
    unsafe {
        let (mut count, mut addresses, mut types, mut combiner) = (0, 0, 0, 0);
        call!("MPI_Type_get_envelope"(
            datatype => usize, &mut count => *mut c_int, &mut addresses => *mut c_int, &mut types => *mut c_int,
            &mut combiner => *mut c_int
        ));
        match combiner {
            standard::MPI_COMBINER_SUBARRAY => {
                let order = integers.add(3 * *integers as usize + 1);
                *order = order_out(*order);
            }
            standard::MPI_COMBINER_DARRAY => {
                let dimensions = *integers.add(2) as usize;
                for index in 3 + dimensions..3 + 2 * dimensions {
                    *integers.add(index) = distribution_out(*integers.add(index));
                    let argument = integers.add(index + dimensions);
                    *argument = distribution_argument_out(*argument);
                }
                let order = integers.add(3 + 4 * dimensions);
                *order = order_out(*order);
            }
            _ => {}
        }
    }
}

/// Number of ranks with which a collective of `comm` exchanges data.
pub unsafe fn peers(comm: usize) -> c_int {
    // SAFETY: the results have room.
    unsafe {
        let (mut inter, mut size) = (0, 0);
        call!("MPI_Comm_test_inter"(comm => usize, &mut inter => *mut c_int));
        if inter != 0 {
            call!("MPI_Comm_remote_size"(comm => usize, &mut size => *mut c_int));
        } else {
            call!("MPI_Comm_size"(comm => usize, &mut size => *mut c_int));
        }
        size
    }
}

/// Number of neighbours from which a rank of `comm` receives, and number of neighbours to which it sends.
pub unsafe fn neighbours(comm: usize) -> (c_int, c_int) {
    // SAFETY: the results have room.
    unsafe {
        let (mut topology, mut from, mut to, mut weighted) = (0, 0, 0, 0);
        call!("MPI_Topo_test"(comm => usize, &mut topology => *mut c_int));
        match topology {
            standard::MPI_CART => {
                call!("MPI_Cartdim_get"(comm => usize, &mut from => *mut c_int));
                (2 * from, 2 * from)
            }
            standard::MPI_GRAPH => {
                let mut rank = 0;
                call!("MPI_Comm_rank"(comm => usize, &mut rank => *mut c_int));
                call!("MPI_Graph_neighbors_count"(comm => usize, rank => c_int, &mut from => *mut c_int));
                (from, from)
            }
            _ => {
                call!("MPI_Dist_graph_neighbors_count"(
                    comm => usize, &mut from => *mut c_int, &mut to => *mut c_int, &mut weighted => *mut c_int
                ));
                (from, to)
            }
        }
    }
}

/// Returns true if the rank is the root of a collective of the communicator `comm`.
pub unsafe fn is_root(comm: Raw, root: c_int) -> bool {
    let (comm, mut inter, mut rank) = (handle_in(HandleClass::Comm, comm), 0, 0);
    // SAFETY: the results have room.
    unsafe {
        call!("MPI_Comm_test_inter"(comm => usize, &mut inter => *mut c_int));
        call!("MPI_Comm_rank"(comm => usize, &mut rank => *mut c_int));
    }
    if inter != 0 { rank_in(root) == standard::MPI_ROOT } else { rank == root }
}

macro_rules! alltoallw {
    ($name:literal, $counts:expr, ($sb:ident $sc:ident $sd:ident $st:ident $rb:ident $rc:ident $rd:ident $rt:ident $comm:ident) $($request:ident)?) => {{
        needs_rank();
        let comm = handle_in(HandleClass::Comm, $comm);
        let (from, to) = $counts(comm);
        let is_in_place = buffer_in($sb) as usize == standard::MPI_IN_PLACE;
        let mut sent = handles_in(HandleClass::Type, $st, if is_in_place { 0 } else { to }, true);
        let mut received = handles_in(HandleClass::Type, $rt, from, true);
        $(let mut started = 0; let $request = ($request, &mut started);)?
        let code = call!($name(
            buffer_in($sb) => *mut c_void, $sc => *mut c_int, $sd => *mut c_void, sent.as_mut_ptr() => *mut usize,
            buffer_in($rb) => *mut c_void, $rc => *mut c_int, $rd => *mut c_void, received.as_mut_ptr() => *mut usize,
            comm => usize, $($request.1 => *mut usize)?
        ));
        $(if code == 0 { *$request.0 = handle_out(HandleClass::Request, *$request.1); })?
        error_out(code)
    }};
}

special! {
    MPI_Alltoallw PMPI_Alltoallw(sb: *mut c_void, sc: *mut c_int, sd: *mut c_void, st: *mut Raw, rb: *mut c_void,
        rc: *mut c_int, rd: *mut c_void, rt: *mut Raw, comm: Raw) {
        alltoallw!("MPI_Alltoallw", |comm| { let all = peers(comm); (all, all) }, (sb sc sd st rb rc rd rt comm))
    }
    MPI_Ialltoallw PMPI_Ialltoallw(sb: *mut c_void, sc: *mut c_int, sd: *mut c_void, st: *mut Raw, rb: *mut c_void,
        rc: *mut c_int, rd: *mut c_void, rt: *mut Raw, comm: Raw, request: *mut Raw) {
        alltoallw!("MPI_Ialltoallw", |comm| { let all = peers(comm); (all, all) }, (sb sc sd st rb rc rd rt comm) request)
    }
    MPI_Neighbor_alltoallw PMPI_Neighbor_alltoallw(sb: *mut c_void, sc: *mut c_int, sd: *mut c_void, st: *mut Raw,
        rb: *mut c_void, rc: *mut c_int, rd: *mut c_void, rt: *mut Raw, comm: Raw) {
        alltoallw!("MPI_Neighbor_alltoallw", |comm| neighbours(comm), (sb sc sd st rb rc rd rt comm))
    }
    MPI_Ineighbor_alltoallw PMPI_Ineighbor_alltoallw(sb: *mut c_void, sc: *mut c_int, sd: *mut c_void, st: *mut Raw,
        rb: *mut c_void, rc: *mut c_int, rd: *mut c_void, rt: *mut Raw, comm: Raw, request: *mut Raw) {
        alltoallw!("MPI_Ineighbor_alltoallw", |comm| neighbours(comm), (sb sc sd st rb rc rd rt comm) request)
    }
    MPI_Comm_create_keyval PMPI_Comm_create_keyval(copy: usize, delete: usize, key: *mut c_int, extra: *mut c_void) {
        create_keyval("MPI_Comm_create_keyval", HandleClass::Comm, (copy, delete), key, extra)
    }
    MPI_Keyval_create PMPI_Keyval_create(copy: usize, delete: usize, key: *mut c_int, extra: *mut c_void) {
        create_keyval("MPI_Comm_create_keyval", HandleClass::Comm, (copy, delete), key, extra)
    }
    MPI_Type_create_keyval PMPI_Type_create_keyval(copy: usize, delete: usize, key: *mut c_int, extra: *mut c_void) {
        create_keyval("MPI_Type_create_keyval", HandleClass::Type, (copy, delete), key, extra)
    }
    MPI_Win_create_keyval PMPI_Win_create_keyval(copy: usize, delete: usize, key: *mut c_int, extra: *mut c_void) {
        create_keyval("MPI_Win_create_keyval", HandleClass::Win, (copy, delete), key, extra)
    }
    MPI_Op_create PMPI_Op_create(function: usize, commute: c_int, op: *mut Raw) {
        let mut created = 0;
        let code = call!("MPI_Op_create"(operation_in(function) => usize, commute => c_int, &mut created => *mut usize));
        if code == 0 {
            *op = handle_out(HandleClass::Op, created);
            created_operation(function, *op);
        }
        error_out(code)
    }
    MPI_Op_create_c PMPI_Op_create_c(function: usize, commute: c_int, op: *mut Raw) {
        let mut created = 0;
        let function_in = operation_of(function, CountType::Large);
        let code = call!("MPI_Op_create"(function_in => usize, commute => c_int, &mut created => *mut usize));
        if code == 0 {
            *op = handle_out(HandleClass::Op, created);
            new_operation(*op);
        }
        error_out(code)
    }
    // Datatypes are created with counts in the range of `int`, so they have no large counts.
    MPI_Type_get_envelope_c PMPI_Type_get_envelope_c(datatype: Raw, integers: *mut i64, addresses: *mut i64,
        large: *mut i64, types: *mut i64, combiner: *mut c_int) {
        let mut counts = [0; 4];
        let [all_integers, all_addresses, all_types, by] = counts.each_mut().map(|count| count as *mut c_int);
        let code = call!("MPI_Type_get_envelope"(
            handle_in(HandleClass::Type, datatype) => usize, all_integers => *mut c_int, all_addresses => *mut c_int,
            all_types => *mut c_int, by => *mut c_int
        ));
        if code == 0 {
            (*integers, *addresses, *large) = (counts[0].into(), counts[1].into(), 0);
            (*types, *combiner) = (counts[2].into(), combiner_out(counts[3]));
        }
        error_out(code)
    }
    MPI_Type_get_contents_c PMPI_Type_get_contents_c(datatype: Raw, max_integers: i64, max_addresses: i64, _large: i64,
        max_types: i64, integers: *mut c_int, addresses: *mut isize, _counts: *mut i64, types: *mut Raw) {
        let name = "MPI_Type_get_contents_c";
        let [most_integers, most_addresses, most_types] =
            [max_integers, max_addresses, max_types].map(|count| small(name, count));
        crate::functions::MPI_Type_get_contents(
            datatype, most_integers, most_addresses, most_types, integers, addresses, types
        )
    }
    MPI_Get_version PMPI_Get_version(version: *mut c_int, subversion: *mut c_int) {
        (*version, *subversion) = VERSION;
        0
    }
    MPI_Comm_free PMPI_Comm_free(comm: *mut Raw) {
        forget_comm(*comm);
        let mut handle = handle_in(HandleClass::Comm, *comm);
        let code = call!("MPI_Comm_free"(&mut handle => *mut usize));
        *comm = handle_out(HandleClass::Comm, handle);
        error_out(code)
    }
    MPI_Comm_disconnect PMPI_Comm_disconnect(comm: *mut Raw) {
        forget_comm(*comm);
        let mut handle = handle_in(HandleClass::Comm, *comm);
        let code = call!("MPI_Comm_disconnect"(&mut handle => *mut usize));
        *comm = handle_out(HandleClass::Comm, handle);
        error_out(code)
    }
    MPI_Grequest_start PMPI_Grequest_start(query: usize, free: usize, cancel: usize, extra: *mut c_void,
        request: *mut Raw) {
        let of = GeneralisedCallbacks {
            query: std::mem::transmute::<usize, unsafe extern "C" fn(*mut c_void, *mut RawStatus) -> c_int>(query),
            free: std::mem::transmute::<usize, unsafe extern "C" fn(*mut c_void) -> c_int>(free),
            cancel: std::mem::transmute::<usize, unsafe extern "C" fn(*mut c_void, c_int) -> c_int>(cancel),
            extra,
            request: 0,
        };
        let of: *mut GeneralisedCallbacks = Box::leak(Box::new(of));
        let mut started = 0;
        let code = call!("MPI_Grequest_start"(
            query_request as *const () as usize => usize, free_request as *const () as usize => usize,
            cancel_request as *const () as usize => usize, of.cast() => *mut c_void, &mut started => *mut usize
        ));
        if code == 0 {
            *request = handle_out(HandleClass::Request, started);
            (*of).request = *request;
            set_fortran_request(*request, false);
        }
        error_out(code)
    }
    MPI_Comm_idup PMPI_Comm_idup(comm: Raw, newcomm: *mut Raw, request: *mut Raw) {
        let mut started = 0;
        let code = call!("MPI_Comm_idup"(
            handle_in(HandleClass::Comm, comm) => usize, duplicate(newcomm) => *mut usize, &mut started => *mut usize
        ));
        if code == 0 {
            *request = handle_out(HandleClass::Request, started);
        }
        settle();
        error_out(code)
    }
    MPI_Comm_idup_with_info PMPI_Comm_idup_with_info(comm: Raw, info: Raw, newcomm: *mut Raw, request: *mut Raw) {
        let mut started = 0;
        let code = call!("MPI_Comm_idup_with_info"(
            handle_in(HandleClass::Comm, comm) => usize, handle_in(HandleClass::Info, info) => usize,
            duplicate(newcomm) => *mut usize, &mut started => *mut usize
        ));
        if code == 0 {
            *request = handle_out(HandleClass::Request, started);
        }
        settle();
        error_out(code)
    }
    // A status of Fortran has the layout of the structure in C.
    MPI_Status_c2f PMPI_Status_c2f(from: *const RawStatus, to: *mut RawStatus) {
        std::ptr::copy_nonoverlapping(from, to, 1);
        0
    }
    MPI_Status_f2c PMPI_Status_f2c(from: *const RawStatus, to: *mut RawStatus) {
        std::ptr::copy_nonoverlapping(from, to, 1);
        0
    }
    MPI_Get_library_version PMPI_Get_library_version(version: *mut c_char, length: *mut c_int) {
        let text: Vec<c_char> = LIBRARY_VERSION.bytes().map(|byte| byte as c_char).chain([0]).collect();
        text_out(&text, version, length, 256);
        0
    }
}

/// Charges `seconds` of the simulated machine to the current thread, see `mcpsim.h`.
#[unsafe(no_mangle)]
pub extern "C" fn mcpsim_compute(seconds: f64) {
    mcpsim_real::as_built::charge(seconds);
}
