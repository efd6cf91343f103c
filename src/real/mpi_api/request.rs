//! Requests of a rank (MPI-3.1, sections 3.7 to 3.9 and 12.2) and their completion.
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
    /// Request of the engine, or [`COMPLETE`] for an operation without one.
    pub engine: RequestId,
    pub operation: Operation,
    pub comm: Rc<Comm>,
    /// Start parameters of a persistent request.
    pub persistent: Option<Box<Persistent>>,
    /// Started and not completed; always true for requests that are not persistent.
    pub active: bool,
}

/// The operation of a request.
#[derive(Clone, Debug)]
pub enum Operation {
    /// A send, already given to the engine.
    Send,
    /// A receive.
    Recv(ReceiveBuffer),
    /// A strand of the MPI function `function`. It stores its result here.
    Strand { function: &'static str, result: Rc<RefCell<MpiResult>> },
    /// An operation completed by the program.
    Generalised(Rc<Generalised>),
    /// An operation that is complete from the start, with this status.
    Nothing(Status),
}

/// Destination of received data.
#[derive(Clone, Debug)]
pub struct ReceiveBuffer {
    pub buffer: *mut u8,
    pub count: usize,
    pub datatype: DatatypeRef,
}

/// Start parameters of a persistent request.
#[derive(Clone, Debug)]
pub enum Persistent {
    /// MPI_Send_init and the other send modes.
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

/// Returns the status of an operation with MPI_PROC_NULL (MPI-3.1, section 3.11).
pub fn proc_null() -> Status {
    Status { source: abi::MPI_PROC_NULL, tag: abi::MPI_ANY_TAG, ..Status::default() }
}

/// Returns the empty status (MPI-3.1, section 3.7.3).
pub fn empty_status() -> Status {
    Status { source: abi::MPI_ANY_SOURCE, tag: abi::MPI_ANY_TAG, ..Status::default() }
}

/// Stores `status` for the program, except its error field (MPI-3.1, section 3.2.5). Fields are copied one by one: a
/// wide load of recently written fields would stall on store forwarding.
///
/// # Safety
/// `to` is MPI_STATUS_IGNORE or a valid status.
#[inline(always)]
pub unsafe fn put_status(to: *mut Status, status: Status) {
    if to as usize != abi::MPI_STATUS_IGNORE {
        // SAFETY: `to` is not MPI_STATUS_IGNORE, so it is a valid status.
        unsafe {
            (*to).source = status.source;
            (*to).tag = status.tag;
            (*to).internal = status.internal;
        }
    }
}

impl Request {
    /// Creates an active request.
    pub fn new(engine: RequestId, operation: Operation, comm: Rc<Comm>) -> Self {
        Request { engine, operation, comm, persistent: None, active: true }
    }
}

impl ReceiveBuffer {
    /// Stores a received message and sets `status`. Returns an error if the message is longer than the buffer.
    ///
    /// # Safety
    /// The buffer has room for `count` elements of the datatype, and `status` is MPI_STATUS_IGNORE or a valid status.
    #[inline]
    pub unsafe fn store(&self, completion: &mut Completion, comm: &Comm, status: *mut Status) -> MpiResult {
        let (source, tag) = (comm.peer_number(completion.source), completion.tag as c_int);
        let status_of = |bytes: u64, cancelled: bool| {
            let [low, high] = [bytes as u32, (bytes >> 32) as u32].map(|half| half as c_int);
            Status { source, tag, internal: [low, high, c_int::from(cancelled), 0, 0], ..Status::default() }
        };
        if completion.cancelled {
            // SAFETY: `status` is MPI_STATUS_IGNORE or valid by the contract of this function.
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
            // SAFETY: the buffer has room for `count` elements by the contract of this function, and `data` is cut to
            // that size.
            unsafe { self.datatype.unpack(self.buffer, self.count, data) };
            payloads::done(Some(payload));
        }
        if size > room {
            let what = format!(
                "a message of {size} bytes from rank {source} with tag {tag} arrived for a buffer of {room} bytes"
            );
            result = Err(MpiError::new(abi::MPI_ERR_TRUNCATE, what).on_comm(comm.handle));
        }
        // SAFETY: `status` is MPI_STATUS_IGNORE or valid by the contract of this function.
        unsafe { put_status(status, status_of(size.min(room) as u64, false)) };
        result
    }
}

/// Creates a message of `p` to `to` with `count` items of `datatype` from the program's `buffer`.
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
