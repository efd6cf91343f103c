//! Functions for persistent requests (MPI-3.1, section 3.9) and generalised requests (section 12.2).
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::rc::Rc;

use super::point_to_point::{Incoming, Outgoing};
use crate::mpi_api::error::{self, MpiError, MpiResult};
use crate::mpi_api::process::MpiProcess;
use crate::mpi_api::request::{Generalised, Operation, Persistent, Request, message_to, offered, proc_null};
use mcpsim_core::mpi::abi::{self, Handle, Status};
use mcpsim_core::rank::{COMPLETE, Call, SendMode};

/// Adds an inactive persistent send request and returns the handle of the request.
fn send_init(p: &MpiProcess, send: Outgoing) -> Handle {
    let Outgoing { comm, buffer, count, datatype, to, tag, mode } = send;
    let persistent = Persistent::Send { buffer, count, datatype, to, tag, mode };
    p.add_request(inactive(persistent, Operation::Send, comm))
}

fn inactive(persistent: Persistent, operation: Operation, comm: Rc<crate::mpi_api::comm::Comm>) -> Request {
    Request { persistent: Some(Box::new(persistent)), active: false, ..Request::new(COMPLETE, operation, comm) }
}

/// Starts the operation of a persistent request.
unsafe fn start(p: &MpiProcess, handle: Handle) -> MpiResult {
    let bad = |what: &str| MpiError::new(abi::MPI_ERR_REQUEST, format!("request {handle:#x} {what}"));
    let (persistent, comm) = {
        let table = p.requests.borrow();
        let entry = table.get(handle).ok_or_else(|| bad("is no request"))?;
        let persistent = entry.persistent.clone().ok_or_else(|| bad("is not persistent"))?;
        error::expect(!entry.active, abi::MPI_ERR_REQUEST, || format!("request {handle:#x} is active already"))?;
        (persistent, entry.comm.clone())
    };
    let (engine, operation, loan) = match *persistent {
        Persistent::Send { to: abi::MPI_PROC_NULL, .. } => (COMPLETE, Operation::Nothing(proc_null()), None),
        Persistent::Send { buffer, count, datatype, to, tag, mode } => {
            // SAFETY: MPI requires the program's buffer to remain valid as long as the persistent request exists, and not
            // to change while the request is active.
            let (data, loan) = unsafe { offered(p, buffer, (&datatype, count), mode) };
            let message = message_to(p, comm.peer(to)?, (&comm, tag), (data, buffer), (&datatype, count), mode);
            (p.call_start(Call::Isend(message)), Operation::Send, loan)
        }
        Persistent::Recv { target, pattern: Some(pattern) } => {
            (p.call_start(Call::Irecv(pattern)), Operation::Recv(target), None)
        }
        Persistent::Recv { pattern: None, .. } => (COMPLETE, Operation::Nothing(proc_null()), None),
    };
    let mut table = p.requests.borrow_mut();
    let entry = table.get_mut(handle).expect("the request is still there");
    (entry.engine, entry.operation, entry.active, entry.loan) = (engine, operation, true, loan);
    Ok(())
}

mpi_functions! {
    fn MPI_Send_init(
        p; buf: *const c_void, count: c_int, datatype: Handle, dest: c_int, tag: c_int, comm: Handle,
        request: *mut Handle,
    ) {
        *request = send_init(p, Outgoing::new(p, (buf, count, datatype), (dest, tag), comm, SendMode::Standard)?);
        Ok(())
    }
    fn MPI_Ssend_init(
        p; buf: *const c_void, count: c_int, datatype: Handle, dest: c_int, tag: c_int, comm: Handle,
        request: *mut Handle,
    ) {
        *request = send_init(p, Outgoing::new(p, (buf, count, datatype), (dest, tag), comm, SendMode::Synchronous)?);
        Ok(())
    }
    fn MPI_Rsend_init(
        p; buf: *const c_void, count: c_int, datatype: Handle, dest: c_int, tag: c_int, comm: Handle,
        request: *mut Handle,
    ) {
        *request = send_init(p, Outgoing::new(p, (buf, count, datatype), (dest, tag), comm, SendMode::Standard)?);
        Ok(())
    }
    fn MPI_Bsend_init(
        p; buf: *const c_void, count: c_int, datatype: Handle, dest: c_int, tag: c_int, comm: Handle,
        request: *mut Handle,
    ) {
        *request = send_init(p, Outgoing::new(p, (buf, count, datatype), (dest, tag), comm, SendMode::Buffered)?);
        Ok(())
    }
    fn MPI_Recv_init(
        p; buf: *mut c_void, count: c_int, datatype: Handle, source: c_int, tag: c_int, comm: Handle,
        request: *mut Handle,
    ) {
        let Incoming { comm, target, pattern } = Incoming::new(p, (buf, count, datatype), (source, tag), comm)?;
        let operation = Operation::Recv(target.clone());
        *request = p.add_request(inactive(Persistent::Recv { target, pattern }, operation, comm));
        Ok(())
    }
    fn MPI_Start(p; request: *mut Handle) {
        start(p, *request)
    }
    fn MPI_Startall(p; count: c_int, requests: *mut Handle) {
        for place in 0..error::count(count, "the number of requests")? {
            start(p, *requests.add(place))?;
        }
        Ok(())
    }
    fn MPI_Grequest_start(
        p; query: Option<unsafe extern "C" fn(*mut c_void, *mut Status) -> c_int>,
        free: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
        cancel: Option<unsafe extern "C" fn(*mut c_void, c_int) -> c_int>, extra_state: *mut c_void,
        request: *mut Handle,
    ) {
        let missing = |name: &str| MpiError::new(abi::MPI_ERR_ARG, format!("the {name} function is null"));
        let generalised = Generalised {
            query: query.ok_or_else(|| missing("query"))?,
            free: free.ok_or_else(|| missing("free"))?,
            cancel: cancel.ok_or_else(|| missing("cancel"))?,
            state: extra_state,
            complete: Cell::new(false),
        };
        let operation = Operation::Generalised(Rc::new(generalised));
        *request = p.add_request(Request::new(COMPLETE, operation, p.world.clone()));
        Ok(())
    }
    fn MPI_Grequest_complete(p; request: Handle) {
        if p.threads.provided.get() == abi::MPI_THREAD_MULTIPLE {
            // Another thread may wait for the request.
            p.wait_for_own_time();
        }
        let table = p.requests.borrow();
        match table.get(request).map(|entry| &entry.operation) {
            Some(Operation::Generalised(generalised)) => generalised.complete.set(true),
            _ => {
                let what = format!("{request:#x} is no handle of a generalised request");
                return Err(MpiError::new(abi::MPI_ERR_REQUEST, what));
            }
        }
        Ok(())
    }
}
