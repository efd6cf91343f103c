//! Code of windows at the origin rank. An origin sends operations to targets and waits for the targets' answers.
#![allow(unsafe_code)]

use std::collections::BTreeSet;
use std::rc::Rc;

use super::conflicts::NO_FENCE;
use super::epoch::FIRST_ANSWER;
use super::wire::{self, CallOrigin, TargetOperation, TargetRange};
use super::{Access, Window};
use crate::mpi_api::error::{MpiError, MpiResult};
use crate::mpi_api::held::DatatypeRef;
use crate::mpi_api::process::MpiProcess;
use crate::mpi_api::request::{Operation, ReceiveBuffer, Request, empty_status, proc_null};
use crate::process::bytes;
use mcpsim_core::mpi::abi::{self, Handle, Status};
use mcpsim_core::mpi::datatype::Type;
use mcpsim_core::rank::{
    COMPLETE, Call, Completion, Message, Pattern, Rank, RequestId, Requests, SERVICE, SendMode, Source, Tag, TagPattern,
};
use mcpsim_core::units::Bytes;

/// State of a rank as the origin of operations on a window.
#[derive(Debug, Default)]
pub struct Origin {
    pub access: Access,
    /// Number of MPI_Win_fence calls on the window so far.
    pub fences: u32,
    /// Number of times that the rank has waited for results of operations.
    waits: u32,
    /// Receive request that completes when the last origin has called MPI_Win_complete. The receive request exists
    /// between MPI_Win_post and MPI_Win_wait.
    pub posted: Option<RequestId>,
    /// Target ranks that have not confirmed the completion of all operations.
    pub unacknowledged: BTreeSet<u32>,
    /// One-sided operations whose results have not arrived.
    pending: Vec<Pending>,
    answers: Tag,
}

impl Origin {
    /// Returns true if all operations of this origin on the window are complete.
    pub fn is_quiet(&self) -> bool {
        self.pending.is_empty() && self.unacknowledged.is_empty()
    }
}

/// A one-sided operation whose result has not arrived.
#[derive(Debug)]
struct Pending {
    engine: RequestId,
    target: u32,
    /// Buffer for the operation's result. The buffer is `None` here if the program's request contains the buffer.
    room: Option<ReceiveBuffer>,
    /// Handle of the program's request, for operations such as MPI_Rget.
    request: Handle,
    expected: usize,
}

/// Memory of the program that a one-sided operation reads or writes.
#[derive(Clone, Debug)]
pub struct OriginMemory {
    pub base: *mut u8,
    pub count: usize,
    pub datatype: Type,
}

impl OriginMemory {
    fn bytes(&self) -> usize {
        self.datatype.packed_size(self.count)
    }
}

/// Destination of a one-sided operation's result. The destination is nothing, memory, or a request of the program.
#[derive(Clone, Debug)]
pub enum Back {
    Nothing,
    Into(OriginMemory),
}

/// A one-sided operation whose arguments were checked. The epoch of the window was not checked yet.
pub struct CheckedOperation {
    pub action: TargetOperation,
    pub target: Option<u32>,
    pub displacement: i64,
    pub count: usize,
    pub datatype: Type,
    /// Reduction operator of an accumulate operation.
    pub op: Option<Handle>,
    /// Packed data that the origin sends to the target.
    pub data: Vec<u8>,
    pub back: Back,
}

impl Window {
    /// Sends a message to the rank `to`. The simulator serves the message without the program of the rank `to`.
    pub fn tell(&self, p: &MpiProcess, to: Rank, tag: Tag, mut data: Vec<u8>) {
        p.no_poll();
        // The call origin that is sent for the comparison of calls takes no virtual time.
        let size = bytes(data.len());
        if p.job.options.checks.calls {
            wire::put_origin(&mut data, &self.call_origin(p));
        }
        let payload = p.payload(data);
        p.call_done(Call::Send(Message {
            to,
            context: SERVICE,
            tag,
            size,
            mode: SendMode::Buffered,
            payload,
            buffer: Default::default(),
        }));
    }

    /// Posts the receive of the target's answer and then sends a message to the target. Returns the request of the
    /// receive.
    fn tell_and_listen(&self, p: &MpiProcess, target: u32, data: Vec<u8>) -> RequestId {
        let tag = {
            let mut origin = self.origin.borrow_mut();
            origin.answers = (origin.answers + 1) % (Tag::MAX / 2);
            FIRST_ANSWER + origin.answers
        };
        let to = self.comm.local.world(target);
        let (from, tag_pattern) = (Source::Rank(to), TagPattern::Tag(tag));
        let pattern = Pattern {
            from,
            context: self.context(),
            tag: tag_pattern,
            capacity: Bytes::MAX,
            buffer: Default::default(),
        };
        let answer = p.call_start(Call::Irecv(pattern));
        self.tell(p, to, tag, data);
        answer
    }

    /// Sends an action without arguments to a target rank. Returns the receive request of the target's answer.
    pub fn ask(&self, p: &MpiProcess, target: u32, action: TargetOperation) -> RequestId {
        self.tell_and_listen(p, target, wire::header(self.number(), action))
    }

    /// Checks that the operation's byte range is within the target's window memory, if the origin knows the size of
    /// that memory.
    fn check_range(&self, work: &CheckedOperation, target: u32) -> MpiResult {
        let Some(shape) = &self.everywhere else { return Ok(()) };
        let span = work.datatype.span(work.count);
        match shape.place(work.displacement, span) {
            Ok(_) => Ok(()),
            Err(found) => {
                let what =
                    format!("displacement {} at rank {target} of {}: {found}", work.displacement, self.describe());
                Err(self.error(abi::MPI_ERR_RMA_RANGE, what))
            }
        }
    }

    /// Sends a one-sided operation to its target. Returns the program's request, or MPI_REQUEST_NULL if the operation
    /// has no request.
    ///
    /// # Errors
    /// MPI_ERR_RMA_SYNC if the epoch does not permit the operation, and MPI_ERR_RMA_RANGE if the byte range is
    /// outside the target's window memory.
    pub fn carry_out(&self, p: &MpiProcess, work: CheckedOperation, requested: bool) -> MpiResult<Handle> {
        p.no_poll();
        let add = |engine, operation| match requested {
            true => p.add_request(Request::new(engine, operation, self.comm.clone())),
            false => abi::MPI_REQUEST_NULL,
        };
        let Some(target) = work.target else { return Ok(add(COMPLETE, Operation::Nothing(proc_null()))) };
        self.reach(p, target)?;
        self.check_range(&work, target)?;
        let CheckedOperation { action, displacement, count, datatype, op, data, back, .. } = work;
        let span = TargetRange { displacement, count, datatype };
        // If the origin cannot check the byte range, the target also reports an error of the request at the next
        // flush.
        let told = requested && self.everywhere.is_none() && !action.is_silent();
        let mut message = wire::operation(self.number(), action, told, op, &span);
        message.extend(data);
        if told || action.is_silent() {
            self.origin.borrow_mut().unacknowledged.insert(target);
        }
        let Back::Into(place) = back else {
            self.tell(p, self.comm.local.world(target), 0, message);
            return Ok(add(COMPLETE, Operation::Nothing(empty_status())));
        };
        let engine = self.tell_and_listen(p, target, message);
        let expected = span.datatype.packed_size(count).min(place.bytes());
        let room =
            ReceiveBuffer { buffer: place.base, count: place.count, datatype: DatatypeRef::Derived(place.datatype) };
        let (request, room) = match requested {
            true => (add(engine, Operation::Recv(room)), None),
            false => (abi::MPI_REQUEST_NULL, Some(room)),
        };
        let mut origin = self.origin.borrow_mut();
        if requested {
            // The handle of the new request may be equal to the handle of an earlier request that has completed.
            origin.pending.retain(|pending| pending.request != request);
        }
        origin.pending.push(Pending { engine, target, room, request, expected });
        Ok(request)
    }

    /// Returns the position of the running MPI call, for the comparison of accesses.
    #[cold]
    fn call_origin(&self, p: &MpiProcess) -> CallOrigin {
        let origin = self.origin.borrow();
        let fence = if origin.access == Access::Fence { origin.fences } else { NO_FENCE };
        CallOrigin { fence, waits: origin.waits, position: p.position().unwrap_or_default() }
    }

    /// Waits for pending results from the rank `target`, or from all targets if `target` is `None`. Then waits for
    /// the answers of the receive requests `others`.
    fn collect(&self, p: &MpiProcess, target: Option<u32>, others: &[RequestId]) -> MpiResult {
        let mut taken: Vec<Pending> = Vec::new();
        {
            let mut origin = self.origin.borrow_mut();
            origin.waits = origin.waits.wrapping_add(1);
            let is_taken = |pending: &mut Pending| target.is_none_or(|target| target == pending.target);
            taken.extend(origin.pending.extract_if(.., is_taken));
        }
        taken.retain(|pending| pending.room.is_some() || self.is_alive(p, pending));
        let requests: Requests = taken.iter().map(|pending| pending.engine).chain(others.iter().copied()).collect();
        if requests.is_empty() {
            return Ok(());
        }
        p.call_completed(Call::WaitAll(requests), |completions| {
            let (back, answers) = completions.split_at_mut(taken.len());
            let mut result = Ok(());
            for (pending, completion) in taken.iter().zip(back) {
                result = result.and(self.take(p, pending, completion));
            }
            for answer in answers {
                let error = answer.payload.as_ref().and_then(|payload| wire::read_error(payload));
                result = result.and(error.map_or(Ok(()), |error| Err(error.on_win(self.handle))));
            }
            result
        })
    }

    /// Returns true if the program has not completed the request of the one-sided operation.
    fn is_alive(&self, p: &MpiProcess, pending: &Pending) -> bool {
        let table = p.requests.borrow();
        let entry = table.get(pending.request).filter(|entry| Rc::ptr_eq(&entry.comm, &self.comm));
        entry.is_some_and(|entry| entry.engine == pending.engine && matches!(entry.operation, Operation::Recv(_)))
            || p.abandoned.borrow().iter().any(|request| request.engine == pending.engine)
    }

    /// Stores the result of a one-sided operation in the operation's destination.
    fn take(&self, p: &MpiProcess, pending: &Pending, completion: &mut Completion) -> MpiResult {
        if (completion.size.get() as usize) < pending.expected {
            let what = format!(
                "rank {} of {} has less memory at this displacement than the {} bytes of the call",
                pending.target,
                self.describe(),
                pending.expected
            );
            return Err(self.error(abi::MPI_ERR_RMA_RANGE, what));
        }
        let mut table = p.requests.borrow_mut();
        let entry = table.get_mut(pending.request).filter(|entry| entry.engine == pending.engine);
        let mut status = Status::default();
        // SAFETY: MPI requires the program's buffers to remain valid until the operation completes.
        let mut store = |room: &ReceiveBuffer| unsafe { room.store(completion, &self.comm, &mut status) };
        match (&pending.room, entry) {
            (Some(room), _) => store(room),
            (None, Some(entry)) => {
                let Operation::Recv(room) = &entry.operation else { return Ok(()) };
                let result = store(room);
                // The program has not completed the request yet. The request is marked as complete without a request
                // in the simulation engine.
                (entry.engine, entry.operation) = (COMPLETE, Operation::Nothing(status));
                result
            }
            (None, None) => {
                let mut abandoned = p.abandoned.borrow_mut();
                let at = abandoned.iter().position(|request| request.engine == pending.engine);
                match at.map(|at| abandoned.swap_remove(at).operation) {
                    Some(Operation::Recv(room)) => store(&room),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Waits until all operations on the rank `target` are complete at the target. If `target` is `None`, the
    /// function waits for the operations on all targets.
    ///
    /// # Errors
    /// MPI errors of the completed one-sided operations.
    pub fn flush(&self, p: &MpiProcess, target: Option<u32>) -> MpiResult {
        let targets = {
            let mut origin = self.origin.borrow_mut();
            match target {
                Some(target) => Vec::from_iter(origin.unacknowledged.take(&target)),
                None => Vec::from_iter(std::mem::take(&mut origin.unacknowledged)),
            }
        };
        let answers: Vec<RequestId> =
            targets.iter().map(|&target| self.ask(p, target, TargetOperation::Flush)).collect();
        self.collect(p, target, &answers)
    }

    /// Waits until no operation on the rank `target` needs the program's buffers any more. If `target` is `None`, the
    /// function waits for the operations on all targets.
    ///
    /// # Errors
    /// MPI errors of the completed one-sided operations.
    pub fn flush_local(&self, p: &MpiProcess, target: Option<u32>) -> MpiResult {
        self.collect(p, target, &[])
    }

    /// Completes the operations on the ranks `targets` as [`Window::flush`] does, and releases the window locks of
    /// the ranks.
    pub fn give_back(&self, p: &MpiProcess, targets: &[u32]) -> MpiResult {
        let answers: Vec<RequestId> =
            targets.iter().map(|&target| self.ask(p, target, TargetOperation::Unlock)).collect();
        targets.iter().for_each(|target| _ = self.origin.borrow_mut().unacknowledged.remove(target));
        match targets {
            [target] => self.collect(p, Some(*target), &answers),
            _ => self.collect(p, None, &answers),
        }
    }

    /// Synchronises all ranks of the window.
    ///
    /// # Errors
    /// Errors of the schedule of the barrier.
    pub fn barrier(&self, p: &MpiProcess) -> MpiResult {
        super::make::barrier(p, &self.comm)
    }

    /// Assigns the error of a one-sided operation to the window.
    pub fn on(&self, error: MpiError) -> MpiError {
        error.on_win(self.handle)
    }
}
