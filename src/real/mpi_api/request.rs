//! Requests of a rank (MPI-3.1, sections 3.7 to 3.9 and 12.2): what is done when they complete.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::rc::Rc;

use crate::mpi_api::comm::Comm;
use crate::mpi_api::compare::{check_received, sign};
use crate::mpi_api::error::{MpiError, MpiResult};
use crate::mpi_api::held::DatatypeRef;
use crate::mpi_api::payloads;
use crate::mpi_api::process::MpiProcess;
use mcpsim_core::mpi::abi::{self, Status};
use mcpsim_core::mpi::datatype::Datatype;
use mcpsim_core::rank::{Completion, Data, Message, Pattern, RequestId};

/// A request.
#[derive(Debug)]
pub struct Request {
    /// The engine's request; [`COMPLETE`] if there is none to wait for.
    pub engine: RequestId,
    pub operation: Operation,
    pub comm: Rc<Comm>,
    /// Of a persistent request, how it is started.
    pub persistent: Option<Box<Persistent>>,
    /// Started and not completed; always true of requests that are not persistent.
    pub active: bool,
}

/// What a request is for.
#[derive(Clone, Debug)]
pub enum Operation {
    /// A send; its data is on its way.
    Send,
    /// A receive.
    Recv(ReceiveBuffer),
    /// A strand of the MPI function `function`, which leaves its result here.
    Strand { function: &'static str, result: Rc<RefCell<MpiResult>> },
    /// What the program completes itself.
    Generalised(Rc<Generalised>),
    /// Nothing: complete from the start, with this status.
    Nothing(Status),
}

/// Where a receive puts what comes.
#[derive(Clone, Debug)]
pub struct ReceiveBuffer {
    pub buffer: *mut u8,
    pub count: usize,
    pub datatype: DatatypeRef,
}

/// How a persistent request is started.
#[derive(Clone, Debug)]
pub enum Persistent {
    /// MPI_Send_init and its like.
    Send {
        buffer: *const u8,
        count: usize,
        datatype: DatatypeRef,
        to: i32,
        tag: c_int,
        mode: mcpsim_core::rank::SendMode,
    },
    /// MPI_Recv_init.
    Recv { target: ReceiveBuffer, pattern: Option<Pattern> },
}

/// A generalised request (MPI-3.1, section 12.2).
#[derive(Debug)]
pub struct Generalised {
    pub query: unsafe extern "C" fn(*mut c_void, *mut Status) -> c_int,
    pub free: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub cancel: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
    pub state: *mut c_void,
    pub complete: std::cell::Cell<bool>,
}

/// The status of an operation with nobody (MPI-3.1, section 3.11).
pub fn proc_null() -> Status {
    Status { source: abi::MPI_PROC_NULL, tag: abi::MPI_ANY_TAG, ..Status::default() }
}

/// The empty status (MPI-3.1, section 3.7.3).
pub fn empty_status() -> Status {
    Status { source: abi::MPI_ANY_SOURCE, tag: abi::MPI_ANY_TAG, ..Status::default() }
}

/// Gives the status to the program if it wants it; the error field stays as it is (MPI-3.1, section 3.2.5). Field by
/// field: what is read as a whole right after it was written in parts makes the processor wait for all that is still to
/// be written.
///
/// # Safety
/// `to` is MPI_STATUS_IGNORE or a status.
#[inline(always)]
pub unsafe fn put_status(to: *mut Status, status: Status) {
    if to as usize != abi::MPI_STATUS_IGNORE {
        // SAFETY: the caller's promise.
        unsafe {
            (*to).source = status.source;
            (*to).tag = status.tag;
            (*to).internal = status.internal;
        }
    }
}

impl Request {
    /// A request that is active from now on.
    pub fn new(engine: RequestId, operation: Operation, comm: Rc<Comm>) -> Self {
        Request { engine, operation, comm, persistent: None, active: true }
    }
}

impl ReceiveBuffer {
    /// Stores what came, and tells `status` of it; the error if it is more than there is room for.
    ///
    /// # Safety
    /// The buffer has room for `count` elements of the datatype, and `status` is MPI_STATUS_IGNORE or a status.
    #[inline]
    pub unsafe fn store(&self, completion: &mut Completion, comm: &Comm, status: *mut Status) -> MpiResult {
        let (source, tag) = (comm.peer_number(completion.source), completion.tag as c_int);
        let status_of = |bytes: u64, cancelled: bool| {
            let [low, high] = [bytes as u32, (bytes >> 32) as u32].map(|half| half as c_int);
            Status { source, tag, internal: [low, high, c_int::from(cancelled), 0, 0], ..Status::default() }
        };
        if completion.cancelled {
            // SAFETY: the caller's promise.
            unsafe { put_status(status, status_of(0, true)) };
            return Ok(());
        }
        let room = self.datatype.size() * self.count;
        let size = completion.size.get() as usize;
        let mut result = Ok(());
        if let Some(payload) = completion.payload.take() {
            if payload.len() > size {
                check_received(&payload, completion, comm, &self.datatype, self.count);
            }
            let data = &payload[..room.min(size)];
            // SAFETY: the caller's promise.
            unsafe { self.datatype.unpack(self.buffer, self.count, data) };
            payloads::done(Some(payload));
        }
        if size > room {
            let what = format!(
                "a message of {size} bytes from rank {source} with tag {tag} came for a buffer of {room} bytes"
            );
            result = Err(MpiError::new(abi::MPI_ERR_TRUNCATE, what).on_comm(comm.handle));
        }
        // SAFETY: the caller's promise.
        unsafe { put_status(status, status_of(size.min(room) as u64, false)) };
        result
    }
}

/// A message of `p` to `to`, whose data are `count` items of `datatype` in the program's `buffer`.
#[inline(always)]
pub fn message_to(
    p: &MpiProcess,
    to: mcpsim_core::rank::Rank,
    (comm, tag): (&Comm, c_int),
    (mut data, buffer): (Data, *const u8),
    (datatype, count): (&Datatype, usize),
    mode: mcpsim_core::rank::SendMode,
) -> Message {
    let size = data.len();
    if p.job.options.checks.calls && size > 0 {
        sign(&mut data, datatype, count);
    }
    Message {
        to,
        context: comm.context(),
        tag: tag as u32,
        size: mcpsim_core::units::Bytes::new(size as u64),
        mode: p.sent_as(mode),
        buffer: p.buffer_at(buffer, size),
        payload: (size > 0).then_some(data),
    }
}
