//! Request handles of MPI wait and test functions. The module selects the active requests and updates handles and
//! statuses after completion.
#![allow(unsafe_code)]

use super::*;
use crate::mpi_api::request_handles::RequestHandles;

/// Active requests in the array of a wait or test function: the indices of the requests in the array and the
/// identifiers of the requests in the simulation engine.
#[derive(Default)]
pub(super) struct ActiveRequests {
    pub(super) places: SmallVec<[u32; 12]>,
    pub(super) engine: Requests,
    /// Whether some of the requests are generalised requests that the program has not completed.
    pub(super) has_incomplete: bool,
    /// Whether some of the requests are complete without a request in the simulation engine.
    pub(super) has_complete: bool,
}

impl ActiveRequests {
    /// Returns an error if a wait includes an incomplete generalised request, because the simulation engine cannot
    /// wait for generalised requests.
    pub(super) fn check_waitable(&self) -> MpiResult {
        if !self.has_incomplete {
            return Ok(());
        }
        let what = "waits for a generalised request that nothing completes: expected MPI_Grequest_complete before";
        Err(MpiError::new(abi::MPI_ERR_REQUEST, what))
    }
}

/// Charges a poll of generalised requests that are not complete. Other threads of the rank may complete them meanwhile.
pub(super) fn poll_generalised(p: &MpiProcess) {
    p.failed_poll();
    if p.threads.provided.get() == abi::MPI_THREAD_MULTIPLE {
        let polls = p.before_poll();
        p.wait_for_own_time();
        p.after_poll(polls, false);
    }
}

/// Returns whether a request is a generalised request that the program has not completed.
#[inline]
pub(super) fn is_incomplete(request: &Request) -> bool {
    matches!(&request.operation, Operation::Generalised(request) if !request.complete.get())
}

/// Array of request handles that the program passes to a wait or test function.
pub(super) struct Handles {
    pub(super) first: *mut Handle,
    pub(super) count: usize,
}

impl Handles {
    pub(super) fn new(first: *mut Handle, count: c_int) -> MpiResult<Self> {
        Ok(Handles { first, count: error::count(count, "the number of requests")? })
    }

    /// Returns the active requests, after other threads of the rank have completed the generalised requests.
    pub(super) fn waitable(&self, p: &MpiProcess) -> MpiResult<ActiveRequests> {
        loop {
            let active = self.active(p)?;
            if !active.has_incomplete || p.threads.provided.get() != abi::MPI_THREAD_MULTIPLE {
                return active.check_waitable().map(|()| active);
            }
            poll_generalised(p);
        }
    }

    /// Returns the requests of `active` without generalised requests that are not complete.
    pub(super) fn testable(&self, p: &MpiProcess, active: ActiveRequests) -> ActiveRequests {
        if !active.has_incomplete {
            return active;
        }
        let mut keep = ActiveRequests::default();
        let table = p.requests.borrow();
        for (&place, &engine) in active.places.iter().zip(&active.engine) {
            // SAFETY: MPI requires the program to pass `count` handles, and indices of active requests are below
            // `count`.
            if !is_incomplete(table.get(unsafe { *self.at(place as usize) }).expect("the request is active")) {
                keep.places.push(place);
                keep.engine.push(engine);
                keep.has_complete |= engine == COMPLETE;
            }
        }
        keep
    }

    pub(super) fn at(&self, place: usize) -> *mut Handle {
        debug_assert!(place < self.count);
        // SAFETY: `place` is below `count`, and MPI requires the program to pass an array with `count` handles.
        unsafe { self.first.add(place) }
    }

    /// Returns the active requests of the array. Null handles and inactive persistent requests are skipped.
    pub(super) fn active(&self, p: &MpiProcess) -> MpiResult<ActiveRequests> {
        let table = p.requests.borrow();
        let mut active = ActiveRequests::default();
        active.places.reserve(self.count);
        active.engine.reserve(self.count);
        for place in 0..self.count {
            // SAFETY: `place` is below `count`, and MPI requires the program to pass an array with `count` handles.
            let handle = unsafe { *self.at(place) };
            if let HandleState::Active { engine, is_incomplete } = HandleState::of(&table, handle)? {
                active.has_incomplete |= is_incomplete;
                active.has_complete |= engine == COMPLETE;
                active.places.push(place as u32);
                active.engine.push(engine);
            }
        }
        Ok(active)
    }
}

/// State of the request of a handle.
#[derive(Clone, Copy)]
pub(super) enum HandleState {
    /// The handle is null, or a persistent request is not started.
    Inactive,
    Active {
        /// Identifier of the request in the simulation engine, or [`COMPLETE`].
        engine: RequestId,
        /// Whether the request is a generalised request that the program has not completed.
        is_incomplete: bool,
    },
}

impl HandleState {
    /// Returns the state of the request `handle`, or an error if no request has this handle.
    #[inline(always)]
    pub(super) fn of(table: &RequestHandles, handle: Handle) -> MpiResult<HandleState> {
        if handle == abi::MPI_REQUEST_NULL {
            return Ok(HandleState::Inactive);
        }
        if let Some(engine) = table.engine(handle) {
            return Ok(HandleState::Active { engine, is_incomplete: false });
        }
        let request = table.get(handle).ok_or_else(|| bad_request(handle))?;
        Ok(match request.active {
            true => HandleState::Active { engine: request.engine, is_incomplete: is_incomplete(request) },
            false => HandleState::Inactive,
        })
    }
}

pub(super) fn bad_request(handle: Handle) -> MpiError {
    MpiError::new(abi::MPI_ERR_REQUEST, format!("{handle:#x} is no handle of a request"))
}

/// Returns the completion of a request that has no request in the simulation engine.
pub(super) fn nothing() -> Completion {
    Completion { index: 0, source: 0, tag: 0, size: mcpsim_core::units::Bytes::ZERO, payload: None, cancelled: false }
}

/// Settles a completed request: stores the status of the request and returns the error of the request. The request
/// handle becomes MPI_REQUEST_NULL unless the request is persistent.
///
/// # Safety
/// `handle` points to the handle of an active request whose buffer is valid. `to` is MPI_STATUS_IGNORE or a valid
/// status.
pub(super) unsafe fn settle(
    p: &MpiProcess,
    handle: *mut Handle,
    completion: &mut Completion,
    to: *mut Status,
) -> MpiResult {
    let mut table = p.requests.borrow_mut();
    // SAFETY: the caller guarantees that `handle` is a valid pointer.
    let name = unsafe { *handle };
    let entry = table.get_mut(name).expect("the request is active");
    entry.end_loan();
    if let (None, Operation::Recv(_) | Operation::Send) = (&entry.persistent, &entry.operation) {
        // The most frequent requests are settled without moving the request out of the table.
        let result = match &entry.operation {
            // SAFETY: the caller guarantees that the request's buffer and `to` are valid.
            Operation::Recv(target) => unsafe { target.store(completion, &entry.comm, to) },
            _ => {
                // SAFETY: the caller guarantees that `to` is MPI_STATUS_IGNORE or a valid status.
                unsafe { put_status(to, empty_status()) };
                Ok(())
            }
        };
        table.discard(name);
        // SAFETY: the caller guarantees that `handle` is a valid pointer.
        unsafe { *handle = abi::MPI_REQUEST_NULL };
        return result;
    }
    let (operation, comm) = if entry.persistent.is_some() {
        entry.active = false;
        (entry.operation.clone(), entry.comm.clone())
    } else {
        let Request { operation, comm, .. } = table.remove(name).expect("the request is active");
        // SAFETY: the caller guarantees that `handle` is a valid pointer.
        unsafe { *handle = abi::MPI_REQUEST_NULL };
        (operation, comm)
    };
    drop(table);
    let (status, result) = match operation {
        // SAFETY: the caller guarantees that the request's buffer and `to` are valid.
        Operation::Recv(target) => return unsafe { target.store(completion, &comm, to) },
        Operation::Send | Operation::CancelledSend(_) => (empty_status(), Ok(())),
        Operation::Nothing(status) => (status, Ok(())),
        Operation::Strand { result, .. } => match std::mem::replace(&mut *result.borrow_mut(), Ok(empty_status())) {
            Ok(status) => (status, Ok(())),
            Err(error) => (empty_status(), Err(error)),
        },
        Operation::Generalised(request) => {
            let mut status = empty_status();
            // SAFETY: the program registered the two functions together with the extra state, and MPI permits the
            // calls at the completion of the request.
            let code = unsafe {
                let code = (request.query)(request.state, &mut status);
                let freed = (request.free)(request.state);
                if code == abi::MPI_SUCCESS { freed } else { code }
            };
            let failed = || MpiError::new(code, "a generalised request's query or free function failed");
            (status, if code == abi::MPI_SUCCESS { Ok(()) } else { Err(failed()) })
        }
    };
    // SAFETY: the caller guarantees that `to` is MPI_STATUS_IGNORE or a valid status.
    unsafe { put_status(to, status) };
    result
}

/// Returns the status with the index `place` in an array of statuses. The status is MPI_STATUS_IGNORE if the array is
/// MPI_STATUSES_IGNORE.
///
/// # Safety
/// `first` is MPI_STATUSES_IGNORE or points to an array with more than `place` elements.
#[inline]
pub(super) unsafe fn status_at(first: *mut Status, place: usize) -> *mut Status {
    // SAFETY: the caller guarantees that the array has more than `place` elements.
    if first as usize == abi::MPI_STATUS_IGNORE { first } else { unsafe { first.add(place) } }
}

/// Stores the statuses and errors of all completed requests of `active`. `completions` contains the completions of
/// the requests in the same order. Returns the error of the whole array of requests.
pub(super) unsafe fn settle_all(
    p: &MpiProcess,
    handles: &Handles,
    active: &ActiveRequests,
    completions: &mut [Completion],
    statuses: *mut Status,
) -> MpiResult {
    let mut errors: SmallVec<[(usize, MpiError); 1]> = SmallVec::new();
    for (&place, completion) in active.places.iter().zip(completions) {
        // SAFETY: the caller guarantees one status per request or MPI_STATUSES_IGNORE.
        let status = unsafe { status_at(statuses, place as usize) };
        // SAFETY: the caller guarantees valid buffers. The request of the handle is active, and `status_at` returned
        // the status.
        let result = unsafe { settle(p, handles.at(place as usize), completion, status) };
        if let Err(error) = result {
            errors.push((place as usize, error));
        }
    }
    if errors.is_empty() {
        return Ok(());
    }
    // SAFETY: the caller guarantees one status per request or MPI_STATUSES_IGNORE.
    unsafe { in_status(handles, statuses, &errors) }
}

/// Stores the error of each request in the request's status (MPI-3.1, section 3.7.5).
pub(super) unsafe fn in_status(handles: &Handles, statuses: *mut Status, errors: &[(usize, MpiError)]) -> MpiResult {
    if statuses as usize != abi::MPI_STATUS_IGNORE {
        for place in 0..handles.count {
            let error = errors.iter().find(|(at, _)| *at == place).map_or(abi::MPI_SUCCESS, |(_, error)| error.class);
            // SAFETY: `statuses` is not MPI_STATUSES_IGNORE, so MPI requires the program to pass one status per
            // request.
            unsafe { (*statuses.add(place)).error = error };
        }
    }
    let (place, first) = &errors[0];
    Err(MpiError::new(abi::MPI_ERR_IN_STATUS, format!("request {place}: {}", first.what)).on(first.on))
}
