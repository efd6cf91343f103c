//! Functions for point-to-point messages (MPI-3.1, sections 3.2 to 3.7 and 3.10).
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::rc::Rc;

use crate::mpi_api::collective::start_strand;
use crate::mpi_api::comm::Comm;
use crate::mpi_api::error::{self, MpiError, MpiResult};
use crate::mpi_api::held::DatatypeRef;
use crate::mpi_api::payloads;
use crate::mpi_api::process::MpiProcess;
use crate::mpi_api::request::{
    Operation, ReceiveBuffer, Request, empty_status, message_to, offered, packed, proc_null, put_status,
};
use crate::mpi_api::types::check_buffer;
use crate::process::ask::{completed, started};
use mcpsim_core::mpi::abi::{self, Handle, Status};
use mcpsim_core::rank::{COMPLETE, Call, Loan, Message, Pattern, Payload, SendMode, TagPattern};
use mcpsim_core::units::Bytes;

/// Greatest message tag (MPI_TAG_UB).
pub const TAG_UB: c_int = i32::MAX;

/// Least value of MPI_BSEND_OVERHEAD in the binary interfaces of programs as built.
const LEAST_OVERHEAD: usize = 96;

/// Checked arguments of an MPI send function.
pub struct Outgoing {
    pub comm: Rc<Comm>,
    pub buffer: *const u8,
    pub count: usize,
    pub datatype: DatatypeRef,
    pub to: c_int,
    pub tag: c_int,
    pub mode: SendMode,
}

/// Returns the datatype of the datatype argument. If the peer is MPI_PROC_NULL, the datatype argument is ignored.
#[inline]
fn for_nobody(datatype: Handle, peer: c_int) -> Handle {
    if peer == abi::MPI_PROC_NULL && datatype == abi::MPI_DATATYPE_NULL { abi::MPI_BYTE } else { datatype }
}

/// Checks the tag argument of a send.
#[inline]
fn check_tag(tag: c_int, comm: &Comm) -> MpiResult {
    if tag < 0 { Err(bad_tag(tag, comm)) } else { Ok(()) }
}

#[cold]
fn bad_tag(tag: c_int, comm: &Comm) -> MpiError {
    let what = format!("tag {tag}: expected 0 to {TAG_UB}");
    MpiError::new(abi::MPI_ERR_TAG, what).on_comm(comm.handle)
}

impl Outgoing {
    /// Checks the arguments of a send.
    #[inline(always)]
    pub fn new(
        p: &MpiProcess,
        (buffer, count, datatype): (*const c_void, c_int, Handle),
        (to, tag): (c_int, c_int),
        comm: Handle,
        mode: SendMode,
    ) -> MpiResult<Self> {
        let comm = p.comm(comm)?;
        let on = |error: MpiError| error.on_comm(comm.handle);
        let count = error::count(count, "the count").map_err(on)?;
        let datatype = p.held(for_nobody(datatype, to)).map_err(on)?;
        check_tag(tag, &comm)?;
        if to != abi::MPI_PROC_NULL {
            comm.peer(to)?;
            check_buffer(buffer.cast(), count, &datatype).map_err(on)?;
        }
        Ok(Outgoing { comm, buffer: buffer.cast(), count, datatype, to, tag, mode })
    }

    /// Packs the data of the message to send.
    ///
    /// # Safety
    /// The program's buffer holds `count` elements of the datatype.
    #[inline(always)]
    unsafe fn data(&self, p: &MpiProcess) -> Payload {
        // SAFETY: the caller guarantees that the buffer holds `count` elements.
        unsafe { packed(p, self.buffer, (&self.datatype, self.count)) }
    }

    /// Returns the data of the message to send, which refer to the program's buffer until the returned loan ends.
    ///
    /// # Safety
    /// The program's buffer holds `count` elements of the datatype, which do not change until the loan ends.
    #[inline(always)]
    unsafe fn offered(&self, p: &MpiProcess) -> (Payload, Option<Loan>) {
        // SAFETY: the caller makes the same guarantees.
        unsafe { offered(p, self.buffer, (&self.datatype, self.count), self.mode) }
    }

    /// Creates the message to send with a copy of the data. The message is `None` if the destination is MPI_PROC_NULL.
    ///
    /// # Safety
    /// The program's buffer holds `count` elements of the datatype, as for [`Outgoing::data`].
    pub unsafe fn message(&self, p: &MpiProcess) -> MpiResult<Option<Message>> {
        // SAFETY: the caller guarantees that the buffer holds `count` elements, which `data` requires.
        self.message_of(p, || unsafe { self.data(p) })
    }

    /// Creates the message to send like [`Outgoing::message`]. The message refers to the program's buffer until the
    /// returned loan ends.
    ///
    /// # Safety
    /// The program's buffer holds `count` elements of the datatype, which do not change until the loan ends.
    #[inline(always)]
    unsafe fn lent_message(&self, p: &MpiProcess) -> MpiResult<(Option<Message>, Option<Loan>)> {
        let mut loan = None;
        let data = || {
            // SAFETY: the caller makes the guarantees that `offered` requires.
            let (data, lent) = unsafe { self.offered(p) };
            loan = lent;
            data
        };
        let message = self.message_of(p, data)?;
        Ok((message, loan))
    }

    #[inline(always)]
    fn message_of(&self, p: &MpiProcess, data: impl FnOnce() -> Payload) -> MpiResult<Option<Message>> {
        if self.to == abi::MPI_PROC_NULL {
            return Ok(None);
        }
        let to = self.comm.peer(self.to)?;
        let (items, address) = ((&*self.datatype, self.count), self.buffer);
        Ok(Some(message_to(p, to, (&self.comm, self.tag), (data(), address), items, self.mode)))
    }

    #[inline(always)]
    unsafe fn send(self, p: &MpiProcess) -> MpiResult {
        if self.to == abi::MPI_PROC_NULL {
            return Ok(());
        }
        let to = self.comm.peer(self.to)?;
        // SAFETY: the callers pass arguments of an MPI send, for which MPI requires a buffer with `count` elements. The
        // buffer does not change before the end of this function.
        let (data, loan) = unsafe { self.offered(p) };
        p.no_poll();
        let call = || {
            ManuallyDrop::new(Call::Send(message_to(
                p,
                to,
                (&self.comm, self.tag),
                (data, self.buffer),
                (&self.datatype, self.count),
                self.mode,
            )))
        };
        p.call_made(call, |_| ());
        loan.into_iter().for_each(payloads::end);
        Ok(())
    }

    #[inline(always)]
    unsafe fn start(self, p: &MpiProcess, request: *mut Handle) -> MpiResult {
        let (engine, operation, loan) = if self.to == abi::MPI_PROC_NULL {
            (COMPLETE, Operation::Nothing(proc_null()), None)
        } else {
            let to = self.comm.peer(self.to)?;
            // SAFETY: the callers pass arguments of an MPI send, for which MPI requires a buffer with `count` elements
            // that does not change before the send completes.
            let (data, loan) = unsafe { self.offered(p) };
            let call = || {
                ManuallyDrop::new(Call::Isend(message_to(
                    p,
                    to,
                    (&self.comm, self.tag),
                    (data, self.buffer),
                    (&self.datatype, self.count),
                    self.mode,
                )))
            };
            (p.call_made(call, started), Operation::Send, loan)
        };
        // SAFETY: MPI requires the program to pass a valid pointer for the request handle.
        unsafe { *request = p.add_request(Request { loan, ..Request::new(engine, operation, self.comm) }) };
        Ok(())
    }
}

/// Checked arguments of an MPI receive function.
pub struct Incoming {
    pub comm: Rc<Comm>,
    pub target: ReceiveBuffer,
    /// Pattern of messages that the receive matches. The pattern is `None` if the source is MPI_PROC_NULL.
    pub pattern: Option<Pattern>,
}

impl Incoming {
    /// Checks the arguments of an MPI receive function.
    #[inline(always)]
    pub fn new(
        p: &MpiProcess,
        (buffer, count, datatype): (*mut c_void, c_int, Handle),
        (from, tag): (c_int, c_int),
        comm: Handle,
    ) -> MpiResult<Self> {
        let comm = p.comm(comm)?;
        let on = |error: MpiError| error.on_comm(comm.handle);
        let count = error::count(count, "the count").map_err(on)?;
        let datatype = p.held(for_nobody(datatype, from)).map_err(on)?;
        let mut pattern = pattern(&comm, from, tag)?;
        if let Some(pattern) = &mut pattern {
            check_buffer(buffer.cast(), count, &datatype).map_err(on)?;
            pattern.buffer = p.buffer_at(buffer.cast(), datatype.size() * count);
        }
        Ok(Incoming { target: ReceiveBuffer { buffer: buffer.cast(), count, datatype }, pattern, comm })
    }

    #[inline(always)]
    unsafe fn recv(self, p: &MpiProcess, status: *mut Status) -> MpiResult {
        let Some(pattern) = self.pattern else {
            // SAFETY: MPI requires the program to pass MPI_STATUS_IGNORE or a valid status.
            unsafe { put_status(status, proc_null()) };
            return Ok(());
        };
        p.no_poll();
        p.call_made(
            || ManuallyDrop::new(Call::Recv(pattern)),
            // SAFETY: MPI requires the program to pass a buffer with room for `count` elements, and MPI_STATUS_IGNORE
            // or a valid status.
            |reply| unsafe { self.target.store(&mut completed(reply)[0], &self.comm, status) },
        )
    }

    #[inline(always)]
    unsafe fn start(self, p: &MpiProcess) -> Handle {
        let (engine, operation) = match self.pattern {
            Some(pattern) => {
                let engine = p.call_made(|| ManuallyDrop::new(Call::Irecv(pattern)), started);
                (engine, Operation::Recv(self.target))
            }
            None => (COMPLETE, Operation::Nothing(proc_null())),
        };
        p.add_request(Request::new(engine, operation, self.comm))
    }
}

/// Creates the pattern of messages that a receive or probe matches. The pattern is `None` if the source is
/// MPI_PROC_NULL. The pattern matches messages of any size, because truncation is detected when the received data is
/// stored.
///
/// # Errors
/// MPI_ERR_RANK if the source is outside the communicator, and MPI_ERR_TAG if the tag is invalid.
#[inline(always)]
pub fn pattern(comm: &Comm, from: c_int, tag: c_int) -> MpiResult<Option<Pattern>> {
    let tag = if tag == abi::MPI_ANY_TAG {
        TagPattern::Any
    } else {
        check_tag(tag, comm)?;
        TagPattern::Tag(tag as u32)
    };
    if from == abi::MPI_PROC_NULL {
        return Ok(None);
    }
    Ok(Some(Pattern {
        from: comm.source(from)?,
        context: comm.context(),
        tag,
        capacity: Bytes::MAX,
        buffer: Default::default(),
    }))
}

/// Stores the empty status, whose error field is MPI_SUCCESS (MPI-3.1, section 3.7.3). No status is stored if `to` is
/// MPI_STATUS_IGNORE.
///
/// # Safety
/// `to` is MPI_STATUS_IGNORE or a valid status, as for [`put_status`].
pub unsafe fn put_empty(to: *mut Status) {
    if to as usize != abi::MPI_STATUS_IGNORE {
        // SAFETY: `to` is not MPI_STATUS_IGNORE, so the caller guarantees a valid status.
        unsafe { *to = empty_status() };
    }
}

impl MpiProcess {
    /// Adds a request to the rank's request table and returns the handle of the request.
    #[inline(always)]
    pub fn add_request(&self, request: Request) -> Handle {
        self.no_poll();
        let handle = self.requests.borrow_mut().insert(request);
        self.note_maker(handle);
        handle
    }

    /// Checks that the data of a buffered send, which has `size` bytes, fits in the attached buffer.
    fn check_buffer(&self, size: usize, comm: &Comm) -> MpiResult {
        let (_, room) = self.buffer.get();
        // The constants of the binary interfaces of programs as built are smaller.
        let overhead = if self.program().image.is_some() { abi::MPI_BSEND_OVERHEAD } else { LEAST_OVERHEAD };
        error::expect(size + overhead <= room, abi::MPI_ERR_BUFFER, || {
            format!("a buffered send of {size} bytes and MPI_BSEND_OVERHEAD: the buffer attached has {room} bytes")
        })
        .map_err(|error| error.on_comm(comm.handle))
    }
}

mpi_functions! {
    fn MPI_Send(p; buf: *const c_void, count: c_int, datatype: Handle, dest: c_int, tag: c_int, comm: Handle) {
        Outgoing::new(p, (buf, count, datatype), (dest, tag), comm, SendMode::Standard)?.send(p)
    }
    fn MPI_Ssend(p; buf: *const c_void, count: c_int, datatype: Handle, dest: c_int, tag: c_int, comm: Handle) {
        Outgoing::new(p, (buf, count, datatype), (dest, tag), comm, SendMode::Synchronous)?.send(p)
    }
    fn MPI_Rsend(p; buf: *const c_void, count: c_int, datatype: Handle, dest: c_int, tag: c_int, comm: Handle) {
        Outgoing::new(p, (buf, count, datatype), (dest, tag), comm, SendMode::Standard)?.send(p)
    }
    fn MPI_Bsend(p; buf: *const c_void, count: c_int, datatype: Handle, dest: c_int, tag: c_int, comm: Handle) {
        let send = Outgoing::new(p, (buf, count, datatype), (dest, tag), comm, SendMode::Buffered)?;
        p.check_buffer(send.datatype.size() * send.count, &send.comm)?;
        send.send(p)
    }
    fn MPI_Isend(
        p; buf: *const c_void, count: c_int, datatype: Handle, dest: c_int, tag: c_int, comm: Handle,
        request: *mut Handle,
    ) {
        Outgoing::new(p, (buf, count, datatype), (dest, tag), comm, SendMode::Standard)?.start(p, request)
    }
    fn MPI_Issend(
        p; buf: *const c_void, count: c_int, datatype: Handle, dest: c_int, tag: c_int, comm: Handle,
        request: *mut Handle,
    ) {
        Outgoing::new(p, (buf, count, datatype), (dest, tag), comm, SendMode::Synchronous)?.start(p, request)
    }
    fn MPI_Irsend(
        p; buf: *const c_void, count: c_int, datatype: Handle, dest: c_int, tag: c_int, comm: Handle,
        request: *mut Handle,
    ) {
        Outgoing::new(p, (buf, count, datatype), (dest, tag), comm, SendMode::Standard)?.start(p, request)
    }
    fn MPI_Ibsend(
        p; buf: *const c_void, count: c_int, datatype: Handle, dest: c_int, tag: c_int, comm: Handle,
        request: *mut Handle,
    ) {
        let send = Outgoing::new(p, (buf, count, datatype), (dest, tag), comm, SendMode::Buffered)?;
        p.check_buffer(send.datatype.size() * send.count, &send.comm)?;
        send.start(p, request)
    }
    fn MPI_Recv(
        p; buf: *mut c_void, count: c_int, datatype: Handle, source: c_int, tag: c_int, comm: Handle,
        status: *mut Status,
    ) {
        Incoming::new(p, (buf, count, datatype), (source, tag), comm)?.recv(p, status)
    }
    fn MPI_Irecv(
        p; buf: *mut c_void, count: c_int, datatype: Handle, source: c_int, tag: c_int, comm: Handle,
        request: *mut Handle,
    ) {
        *request = Incoming::new(p, (buf, count, datatype), (source, tag), comm)?.start(p);
        Ok(())
    }
    fn MPI_Sendrecv(
        p; sendbuf: *const c_void, sendcount: c_int, sendtype: Handle, dest: c_int, sendtag: c_int,
        recvbuf: *mut c_void, recvcount: c_int, recvtype: Handle, source: c_int, recvtag: c_int, comm: Handle,
        status: *mut Status,
    ) {
        let send = Outgoing::new(p, (sendbuf, sendcount, sendtype), (dest, sendtag), comm, SendMode::Standard)?;
        let recv = Incoming::new(p, (recvbuf, recvcount, recvtype), (source, recvtag), comm)?;
        let (message, loan) = send.lent_message(p)?;
        exchange(p, (message, loan), recv, status)
    }
    fn MPI_Sendrecv_replace(
        p; buf: *mut c_void, count: c_int, datatype: Handle, dest: c_int, sendtag: c_int, source: c_int,
        recvtag: c_int, comm: Handle, status: *mut Status,
    ) {
        let send = Outgoing::new(p, (buf.cast_const(), count, datatype), (dest, sendtag), comm, SendMode::Standard)?;
        let recv = Incoming::new(p, (buf, count, datatype), (source, recvtag), comm)?;
        let message = send.message(p)?;
        exchange(p, (message, None), recv, status)
    }
    fn MPI_Isendrecv(
        p; sendbuf: *const c_void, sendcount: c_int, sendtype: Handle, dest: c_int, sendtag: c_int,
        recvbuf: *mut c_void, recvcount: c_int, recvtype: Handle, source: c_int, recvtag: c_int, comm: Handle,
        request: *mut Handle,
    ) {
        let send = Outgoing::new(p, (sendbuf, sendcount, sendtype), (dest, sendtag), comm, SendMode::Standard)?;
        let recv = Incoming::new(p, (recvbuf, recvcount, recvtype), (source, recvtag), comm)?;
        *request = start_exchange(p, send.message(p)?, recv)?;
        Ok(())
    }
    fn MPI_Isendrecv_replace(
        p; buf: *mut c_void, count: c_int, datatype: Handle, dest: c_int, sendtag: c_int, source: c_int,
        recvtag: c_int, comm: Handle, request: *mut Handle,
    ) {
        let send = Outgoing::new(p, (buf.cast_const(), count, datatype), (dest, sendtag), comm, SendMode::Standard)?;
        let recv = Incoming::new(p, (buf, count, datatype), (source, recvtag), comm)?;
        *request = start_exchange(p, send.message(p)?, recv)?;
        Ok(())
    }
    fn MPI_Buffer_attach(p; buffer: *mut c_void, size: c_int) {
        let size = error::count(size, "the buffer's size")?;
        let (_, room) = p.buffer.get();
        error::expect(room == 0, abi::MPI_ERR_BUFFER, || "a buffer is attached already: expected at most one \
                                                          attached buffer".to_owned())?;
        p.buffer.set((buffer.cast(), size));
        Ok(())
    }
    fn MPI_Buffer_detach(p; buffer: *mut *mut c_void, size: *mut c_int) {
        // The data of buffered sends has already been copied, so MPI_Buffer_detach need not wait.
        let (attached, room) = p.buffer.replace((std::ptr::null_mut(), 0));
        // The program passes the address of a pointer of any type. The address of the pointer may be unaligned.
        buffer.write_unaligned(attached.cast());
        *size = room as c_int;
        Ok(())
    }
}

/// Sends and receives at the same time. The loan of the send buffer ends before the received data are stored.
unsafe fn exchange(
    p: &MpiProcess,
    (message, loan): (Option<Message>, Option<Loan>),
    recv: Incoming,
    status: *mut Status,
) -> MpiResult {
    let Incoming { comm, target, pattern } = recv;
    match (message, pattern) {
        (Some(message), Some(pattern)) => p.call_completed(Call::Exchange(message, pattern), |completions| {
            loan.into_iter().for_each(payloads::end);
            // SAFETY: MPI requires the program to pass a buffer with room for `count` elements, and MPI_STATUS_IGNORE
            // or a valid status.
            unsafe { target.store(&mut completions[0], &comm, status) }
        }),
        (message, pattern) => {
            if let Some(message) = message {
                p.call_done(Call::Send(message));
                loan.into_iter().for_each(payloads::end);
            }
            // SAFETY: MPI requires the program to pass a buffer with room for `count` elements, and MPI_STATUS_IGNORE
            // or a valid status.
            unsafe { Incoming { comm, target, pattern }.recv(p, status) }
        }
    }
}

/// Starts a send and a receive that one request represents (MPI-4.0, section 3.10).
unsafe fn start_exchange(p: &MpiProcess, message: Option<Message>, recv: Incoming) -> MpiResult<Handle> {
    let comm = recv.comm.clone();
    if message.is_none() && recv.pattern.is_none() {
        return Ok(p.add_request(Request::new(COMPLETE, Operation::Nothing(proc_null()), comm)));
    }
    start_strand(p, p.function.get(), comm, move |p| {
        let mut status = proc_null();
        // SAFETY: MPI requires the program's receive buffer to remain valid until the request completes.
        unsafe { exchange(p, (message, None), recv, &mut status) }.map(|()| status)
    })
}
