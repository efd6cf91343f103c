//! Functions for probes and matched receives (MPI-3.1, section 3.8).
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use super::point_to_point::pattern;
use crate::mpi_api::comm::Comm;
use crate::mpi_api::error::{self, MpiError, MpiResult};
use crate::mpi_api::process::MpiProcess;
use crate::mpi_api::request::{Operation, ReceiveBuffer, Request, proc_null, put_status};
use mcpsim_core::mpi::abi::{self, Handle, Status};
use mcpsim_core::rank::{COMPLETE, Call, Completion, Pattern, RequestId, Requests, Source, TagPattern};
use mcpsim_core::units::Bytes;

/// A message that a matched probe has found. The probe has posted a receive that only the found message matches.
#[derive(Debug)]
pub struct Matched {
    pub engine: RequestId,
    pub comm: Rc<Comm>,
}

/// Returns the status of a message that was probed and not received.
fn seen(comm: &Comm, completion: &Completion) -> Status {
    let mut status =
        Status { source: comm.peer_number(completion.source), tag: completion.tag as c_int, ..Status::default() };
    status.set_bytes(completion.size.get());
    status
}

/// Tests whether a matching message has arrived. Returns the status of the found message, and a pattern that only the
/// found message matches.
fn look(p: &MpiProcess, comm: &Comm, pattern: Pattern) -> Option<(Status, Pattern)> {
    let polls = p.before_poll();
    let found =
        p.call_completed(Call::Iprobe(pattern), |found| found.first().map(|one| (seen(comm, one), only(one, comm))));
    p.after_poll(polls, found.is_some());
    found
}

/// Waits until a matching message arrives. Returns the status of the found message, and a pattern that only the found
/// message matches.
fn wait(p: &MpiProcess, comm: &Comm, pattern: Pattern) -> (Status, Pattern) {
    p.call_completed(Call::Probe(pattern), |found| (seen(comm, &found[0]), only(&found[0], comm)))
}

/// Returns a pattern that only the message found by a probe matches. The pattern consists of sender and tag. Sender
/// and tag are sufficient, because the found message is the first message with the sender and the tag, and the
/// receive is posted immediately.
fn only(found: &Completion, comm: &Comm) -> Pattern {
    Pattern {
        from: Source::Rank(found.source),
        context: comm.context(),
        tag: TagPattern::Tag(found.tag),
        capacity: Bytes::MAX,
        buffer: Default::default(),
    }
}

/// Posts a receive for the found message, so that no other receive can match the message. Returns the MPI message
/// handle of the found message.
fn take(p: &MpiProcess, comm: Rc<Comm>, only: Pattern) -> Handle {
    let engine = p.call_start(Call::Irecv(only));
    p.messages.borrow_mut().insert(Matched { engine, comm })
}

/// Returns the message of the message handle and sets the handle to MPI_MESSAGE_NULL. The result is `None` if the
/// handle is MPI_MESSAGE_NO_PROC.
unsafe fn matched(p: &MpiProcess, handle: *mut Handle) -> MpiResult<Option<Matched>> {
    // SAFETY: MPI requires the program to pass a valid pointer to a handle.
    let name = unsafe { std::mem::replace(&mut *handle, abi::MPI_MESSAGE_NULL) };
    if name == abi::MPI_MESSAGE_NO_PROC {
        return Ok(None);
    }
    let found = p.messages.borrow_mut().remove(name);
    found.map(Some).ok_or_else(|| MpiError::new(abi::MPI_ERR_REQUEST, format!("{name:#x} is no handle of a message")))
}

fn target(p: &MpiProcess, buf: *mut c_void, count: c_int, datatype: Handle) -> MpiResult<ReceiveBuffer> {
    Ok(ReceiveBuffer { buffer: buf.cast(), count: error::count(count, "the count")?, datatype: p.held(datatype)? })
}

mpi_functions! {
    fn MPI_Probe(p; source: c_int, tag: c_int, comm: Handle, status: *mut Status) {
        let comm = p.comm(comm)?;
        let found = match pattern(&comm, source, tag)? {
            Some(pattern) => wait(p, &comm, pattern).0,
            None => proc_null(),
        };
        put_status(status, found);
        Ok(())
    }
    fn MPI_Iprobe(p; source: c_int, tag: c_int, comm: Handle, flag: *mut c_int, status: *mut Status) {
        let comm = p.comm(comm)?;
        let found = match pattern(&comm, source, tag)? {
            Some(pattern) => look(p, &comm, pattern).map(|(found, _)| found),
            None => Some(proc_null()),
        };
        *flag = c_int::from(found.is_some());
        if let Some(found) = found {
            put_status(status, found);
        }
        Ok(())
    }
    fn MPI_Mprobe(p; source: c_int, tag: c_int, comm: Handle, message: *mut Handle, status: *mut Status) {
        let comm = p.comm(comm)?;
        let (found, handle) = match pattern(&comm, source, tag)? {
            Some(pattern) => {
                let (found, only) = wait(p, &comm, pattern);
                (found, take(p, comm, only))
            }
            None => (proc_null(), abi::MPI_MESSAGE_NO_PROC),
        };
        *message = handle;
        put_status(status, found);
        Ok(())
    }
    fn MPI_Improbe(
        p; source: c_int, tag: c_int, comm: Handle, flag: *mut c_int, message: *mut Handle, status: *mut Status,
    ) {
        let comm = p.comm(comm)?;
        let found = match pattern(&comm, source, tag)? {
            Some(pattern) => look(p, &comm, pattern).map(|(found, only)| (found, take(p, comm, only))),
            None => Some((proc_null(), abi::MPI_MESSAGE_NO_PROC)),
        };
        *flag = c_int::from(found.is_some());
        *message = abi::MPI_MESSAGE_NULL;
        if let Some((found, handle)) = found {
            *message = handle;
            put_status(status, found);
        }
        Ok(())
    }
    fn MPI_Mrecv(
        p; buf: *mut c_void, count: c_int, datatype: Handle, message: *mut Handle, status: *mut Status,
    ) {
        let target = target(p, buf, count, datatype)?;
        match matched(p, message)? {
            Some(Matched { engine, comm }) => {
                p.call_completed(Call::WaitAll(Requests::from_slice(&[engine])), |completions| {
                    target.store(&mut completions[0], &comm, status)
                })
            }
            None => {
                put_status(status, proc_null());
                Ok(())
            }
        }
    }
    fn MPI_Imrecv(
        p; buf: *mut c_void, count: c_int, datatype: Handle, message: *mut Handle, request: *mut Handle,
    ) {
        let target = target(p, buf, count, datatype)?;
        *request = p.add_request(match matched(p, message)? {
            Some(Matched { engine, comm }) => Request::new(engine, Operation::Recv(target), comm),
            None => Request::new(COMPLETE, Operation::Nothing(proc_null()), p.world.clone()),
        });
        Ok(())
    }
}
