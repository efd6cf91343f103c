//! Origin side of windows: operations sent to targets, and pending answers.
#![allow(unsafe_code)]

use std::collections::BTreeSet;
use std::rc::Rc;

use super::conflicts::NO_FENCE;
use super::epoch::FIRST_ANSWER;
use super::wire::{self, TargetOperation, TargetRange};
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

/// State of a rank as an origin.
#[derive(Debug, Default)]
pub struct Origin {
    pub access: Access,
    /// Number of calls of MPI_Win_fence.
    pub fences: Tag,
    /// Receive that completes with the last origin, between MPI_Win_post and MPI_Win_wait.
    pub posted: Option<RequestId>,
    /// Targets with operations whose completion is not confirmed.
    pub unacknowledged: BTreeSet<u32>,
    /// Operations with pending results.
    pending: Vec<Pending>,
    answers: Tag,
}

impl Origin {
    /// Returns true if all operations are complete.
    pub fn is_quiet(&self) -> bool {
        self.pending.is_empty() && self.unacknowledged.is_empty()
    }
}

/// The pending result of an operation.
#[derive(Debug)]
struct Pending {
    engine: RequestId,
    target: u32,
    /// Destination of the result; `None` if the request has the destination.
    room: Option<ReceiveBuffer>,
    /// The program's request.
    request: Handle,
    expected: usize,
}

/// Memory of the program used by an operation.
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

/// Destination of an operation's result: none, memory, or a request of the program.
#[derive(Clone, Debug)]
pub enum Back {
    Nothing,
    Into(OriginMemory),
}

/// An operation whose arguments, except the epoch, are checked.
pub struct CheckedOperation {
    pub action: TargetOperation,
    pub target: Option<u32>,
    pub displacement: i64,
    pub count: usize,
    pub datatype: Type,
    /// Operator of an accumulation.
    pub op: Option<Handle>,
    /// Packed data for the target.
    pub data: Vec<u8>,
    pub back: Back,
}

impl Window {
    /// Sends a message to the target's service.
    pub fn tell(&self, p: &MpiProcess, to: Rank, tag: Tag, data: Vec<u8>) {
        p.no_poll();
        let size = bytes(data.len());
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

    /// Sends a message to the target's service and returns the receive of the answer, which was posted before.
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

    /// Sends a request without arguments to a target and returns the receive of the answer.
    pub fn ask(&self, p: &MpiProcess, target: u32, action: TargetOperation) -> RequestId {
        self.tell_and_listen(p, target, wire::header(self.number(), action))
    }

    /// Checks that a range is within the target's window, if the size is known on this rank.
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

    /// Sends an operation and returns the request of the program, if it has one.
    ///
    /// # Errors
    /// MPI_ERR_RMA_SYNC, MPI_ERR_RMA_RANGE.
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
        // The error of a request without a local range check is reported later.
        let told = requested && self.everywhere.is_none() && !action.is_silent();
        let mut message = wire::operation(self.number(), action, told, op, &span);
        message.extend(data);
        if told || action.is_silent() {
            self.origin.borrow_mut().unacknowledged.insert(target);
        }
        let Back::Into(place) = back else {
            self.tell(p, self.comm.local.world(target), self.fence_tag(p), message);
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
            // The handle may be reused from a completed request.
            origin.pending.retain(|pending| pending.request != request);
        }
        origin.pending.push(Pending { engine, target, room, request, expected });
        Ok(request)
    }

    /// Tag of an operation without an answer: the number of the fence, if accesses are compared.
    fn fence_tag(&self, p: &MpiProcess) -> Tag {
        let origin = self.origin.borrow();
        match p.job.options.checks.calls && origin.access == Access::Fence {
            true => origin.fences,
            false => NO_FENCE,
        }
    }

    /// Waits for the results from `target`, or from all targets, and then for the answers of `others`.
    fn collect(&self, p: &MpiProcess, target: Option<u32>, others: &[RequestId]) -> MpiResult {
        let mut taken: Vec<Pending> = Vec::new();
        {
            let mut origin = self.origin.borrow_mut();
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

    /// Returns true if the request of the program is not complete.
    fn is_alive(&self, p: &MpiProcess, pending: &Pending) -> bool {
        let table = p.requests.borrow();
        let entry = table.get(pending.request).filter(|entry| Rc::ptr_eq(&entry.comm, &self.comm));
        entry.is_some_and(|entry| entry.engine == pending.engine && matches!(entry.operation, Operation::Recv(_)))
            || p.abandoned.borrow().iter().any(|request| request.engine == pending.engine)
    }

    /// Stores a result in its destination.
    fn take(&self, p: &MpiProcess, pending: &Pending, completion: &mut Completion) -> MpiResult {
        if (completion.size.get() as usize) < pending.expected {
            let what = format!(
                "rank {} of {} has no memory where {} bytes were asked for",
                pending.target,
                self.describe(),
                pending.expected
            );
            return Err(self.error(abi::MPI_ERR_RMA_RANGE, what));
        }
        let mut table = p.requests.borrow_mut();
        let entry = table.get_mut(pending.request).filter(|entry| entry.engine == pending.engine);
        let mut status = Status::default();
        // SAFETY: MPI requires buffers that are valid until the operation completes.
        let mut store = |room: &ReceiveBuffer| unsafe { room.store(completion, &self.comm, &mut status) };
        match (&pending.room, entry) {
            (Some(room), _) => store(room),
            (None, Some(entry)) => {
                let Operation::Recv(room) = &entry.operation else { return Ok(()) };
                let result = store(room);
                // The program has not completed the request yet, so it is marked complete without the engine.
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

    /// Waits until all operations on `target`, or on all targets, are complete at the target.
    ///
    /// # Errors
    /// Errors of the operations.
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

    /// Waits until all operations on `target`, or on all targets, no longer need the program's buffers.
    ///
    /// # Errors
    /// Errors of the operations.
    pub fn flush_local(&self, p: &MpiProcess, target: Option<u32>) -> MpiResult {
        self.collect(p, target, &[])
    }

    /// Flushes these targets as [`Window::flush`] does, and releases their locks.
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
    /// Errors in the machine's choice of algorithms.
    pub fn barrier(&self, p: &MpiProcess) -> MpiResult {
        super::make::barrier(p, &self.comm)
    }

    /// Assigns the error of an operation to this window.
    pub fn on(&self, error: MpiError) -> MpiError {
        error.on_win(self.handle)
    }
}
