//! MPI requests of a rank (MPI-3.1, sections 3.7 to 3.9 and 12.2) and the completion of requests.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::rc::Rc;

use crate::mpi_api::comm::Comm;
use crate::mpi_api::compare::{check_received, sign};
use crate::mpi_api::error::{MpiError, MpiResult};
use crate::mpi_api::held::DatatypeRef;
use crate::mpi_api::payloads;
use crate::mpi_api::process::MpiProcess;
use crate::process::folded;
use mcpsim_core::mpi::abi::{self, Status};
use mcpsim_core::mpi::datatype::Datatype;
use mcpsim_core::rank::{Completion, Loan, Message, Pattern, Payload, RequestId, SendMode};

/// An MPI request of a rank.
#[derive(Debug)]
pub struct Request {
    /// Request identifier of the simulation engine, or [`COMPLETE`] if the operation has no request in the engine.
    pub engine: RequestId,
    pub operation: Operation,
    pub comm: Rc<Comm>,
    /// Start arguments of a persistent request.
    pub persistent: Option<Box<Persistent>>,
    /// True if the operation was started and has not completed. Requests that are not persistent are always active.
    pub active: bool,
    /// Loan of the program's buffer to the message of a send.
    pub loan: Option<Loan>,
}

/// Operation that an MPI request represents.
#[derive(Clone, Debug)]
pub enum Operation {
    /// A send whose message the simulation engine already has.
    Send,
    /// A send that the program has asked to cancel. The field is true if the send is complete.
    CancelledSend(Rc<Cell<bool>>),
    /// A receive into the buffer in the field.
    Recv(ReceiveBuffer),
    /// A nonblocking MPI function named `function`, which runs in a strand of the rank. The strand stores the
    /// function's result in `result`.
    Strand { function: &'static str, result: Rc<RefCell<MpiResult<Status>>> },
    /// A generalised request, which the program completes.
    Generalised(Rc<Generalised>),
    /// A communication operation that is complete at its start, with the status in the field.
    Nothing(Status),
}

/// Buffer of the program for received data.
#[derive(Clone, Debug)]
pub struct ReceiveBuffer {
    pub buffer: *mut u8,
    pub count: usize,
    pub datatype: DatatypeRef,
}

/// Start arguments of a persistent request.
#[derive(Clone, Debug)]
pub enum Persistent {
    /// A persistent send, created with MPI_Send_init or the function of another send mode.
    Send { buffer: *const u8, count: usize, datatype: DatatypeRef, to: i32, tag: c_int, mode: SendMode },
    /// A persistent receive, created with MPI_Recv_init.
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

/// Copies all fields of `status` except the error field to the program's status (MPI-3.1, section 3.2.5). The fields
/// are copied one by one, because a wide load of recently written fields would stall on store forwarding.
///
/// # Safety
/// `to` is MPI_STATUS_IGNORE or a valid status.
#[inline(always)]
pub unsafe fn put_status(to: *mut Status, status: Status) {
    if to as usize != abi::MPI_STATUS_IGNORE {
        // SAFETY: the caller guarantees that `to` is valid if `to` is not MPI_STATUS_IGNORE.
        unsafe {
            (*to).source = status.source;
            (*to).tag = status.tag;
            (*to).internal = status.internal;
        }
    }
}

impl Request {
    /// Creates an active request for an operation on the communicator `comm`.
    pub fn new(engine: RequestId, operation: Operation, comm: Rc<Comm>) -> Self {
        Request { engine, operation, comm, persistent: None, active: true, loan: None }
    }
}

impl Request {
    /// Ends the loan of the program's buffer, because the send completes or the program may change the buffer.
    #[inline(always)]
    pub fn end_loan(&mut self) {
        self.loan.take().into_iter().for_each(payloads::end);
    }
}

impl ReceiveBuffer {
    /// Stores the data of a received message in the program's buffer and sets `status`. Returns an error if the
    /// message is longer than the buffer.
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
            // SAFETY: the caller guarantees that `status` is MPI_STATUS_IGNORE or a valid status.
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
            if data.len() < payloads::LEAST_LENT || !is_folded(self.buffer, (&self.datatype, self.count)) {
                // SAFETY: the caller guarantees that the buffer has room for `count` elements, and `data` is limited to
                // `count` elements.
                unsafe { self.datatype.unpack(self.buffer, self.count, data) };
            }
            payloads::done(Some(payload));
        }
        if size > room {
            let what = format!(
                "a message of {size} bytes from rank {source} with tag {tag} arrived for a buffer of {room} bytes"
            );
            result = Err(MpiError::new(abi::MPI_ERR_TRUNCATE, what).on_comm(comm.handle));
        }
        // SAFETY: the caller guarantees that `status` is MPI_STATUS_IGNORE or a valid status.
        unsafe { put_status(status, status_of(size.min(room) as u64, false)) };
        result
    }
}

/// Returns true if the data of a message are in folded memory and too long to be copied, because they are meaningless.
#[inline(always)]
fn is_folded(buffer: *const u8, (datatype, count): (&Datatype, usize)) -> bool {
    datatype.size() * count >= payloads::LEAST_LENT && folded::is_used() && is_within_folded(buffer, (datatype, count))
}

#[cold]
fn is_within_folded(buffer: *const u8, (datatype, count): (&Datatype, usize)) -> bool {
    let (first, end) = datatype.span(count);
    let [first, last] = [first, end - 1].map(|offset| buffer.wrapping_offset(offset as isize) as usize);
    folded::contains(first) && folded::contains(last)
}

/// Packs the data of a message of `count` items of `datatype`. Messages without data are empty messages, and long
/// messages if the options of the run omit their data.
///
/// # Safety
/// `buffer` holds `count` items of the datatype.
#[inline(always)]
pub unsafe fn packed(p: &MpiProcess, buffer: *const u8, (datatype, count): (&Datatype, usize)) -> Payload {
    let size = datatype.size() * count;
    if size == 0 || size as u64 > p.job.options.most_data.get() || is_folded(buffer, (datatype, count)) {
        return None;
    }
    let mut data = payloads::buffer(size);
    // SAFETY: the caller guarantees that the buffer holds `count` items.
    unsafe { datatype.pack(buffer, count, data.bytes_mut()) };
    Some(data)
}

/// Returns the data of a message of `count` items of `datatype`. The message refers to the program's buffer until the
/// returned loan ends, or contains a copy.
///
/// # Safety
/// `buffer` holds `count` items of the datatype, which do not change until the loan ends.
#[inline(always)]
pub unsafe fn offered(
    p: &MpiProcess,
    buffer: *const u8,
    (datatype, count): (&Datatype, usize),
    mode: SendMode,
) -> (Payload, Option<Loan>) {
    let size = datatype.size() * count;
    if size >= payloads::LEAST_LENT && p.job.lends {
        // SAFETY: the caller makes the same guarantees.
        return unsafe { lent(p, buffer, (datatype, count), mode) };
    }
    // SAFETY: the caller guarantees that the buffer holds `count` items.
    (unsafe { packed(p, buffer, (datatype, count)) }, None)
}

#[inline(never)]
unsafe fn lent(
    p: &MpiProcess,
    buffer: *const u8,
    (datatype, count): (&Datatype, usize),
    mode: SendMode,
) -> (Payload, Option<Loan>) {
    let has_data =
        (datatype.size() * count) as u64 <= p.job.options.most_data.get() && !is_folded(buffer, (datatype, count));
    match datatype.in_one_piece(buffer, count) {
        Some(memory) if has_data && mode != SendMode::Buffered => {
            // SAFETY: the caller guarantees that the items do not change during the loan. Jobs lend buffers only if one
            // thread runs all ranks.
            let (data, loan) = unsafe { payloads::lend(memory) };
            (Some(data), Some(loan))
        }
        // SAFETY: the caller guarantees that the buffer holds `count` items.
        _ => (unsafe { packed(p, buffer, (datatype, count)) }, None),
    }
}

/// Creates a message from the rank `p` to the rank `to`. The message contains `count` items of `datatype` from the
/// program's `buffer`, and `payload` has the data of these items.
#[inline(always)]
pub fn message_to(
    p: &MpiProcess,
    to: mcpsim_core::rank::Rank,
    (comm, tag): (&Comm, c_int),
    (mut payload, buffer): (Payload, *const u8),
    (datatype, count): (&Datatype, usize),
    mode: SendMode,
) -> Message {
    let size = datatype.size() * count;
    if p.job.options.checks.calls
        && let Some(data) = &mut payload
    {
        sign(data, datatype, count);
    }
    Message {
        to,
        context: comm.context(),
        tag: tag as u32,
        size: mcpsim_core::units::Bytes::new(size as u64),
        mode: p.sent_as(mode),
        buffer: p.buffer_at(buffer, size),
        payload,
    }
}
