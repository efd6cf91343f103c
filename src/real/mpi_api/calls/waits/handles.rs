//! Requests by their handles: which are active, and what a completed one leaves in handle and status.
#![allow(unsafe_code)]

use super::*;

/// The requests of an array that take part in a wait or test: their places, and what the engine knows them by.
#[derive(Default)]
pub(super) struct ActiveRequests {
    pub(super) places: SmallVec<[u32; 12]>,
    pub(super) engine: Requests,
}

/// The program's request handles.
pub(super) struct Handles {
    pub(super) first: *mut Handle,
    pub(super) count: usize,
}

impl Handles {
    pub(super) fn new(first: *mut Handle, count: c_int) -> MpiResult<Self> {
        Ok(Handles { first, count: error::count(count, "the number of requests")? })
    }

    pub(super) fn at(&self, place: usize) -> *mut Handle {
        debug_assert!(place < self.count);
        // SAFETY: the program gave so many.
        unsafe { self.first.add(place) }
    }

    /// Those that are neither null nor inactive.
    pub(super) fn active(&self, p: &MpiProcess) -> MpiResult<ActiveRequests> {
        let table = p.requests.borrow();
        let mut active = ActiveRequests::default();
        for place in 0..self.count {
            // SAFETY: as above.
            let handle = unsafe { *self.at(place) };
            if handle == abi::MPI_REQUEST_NULL {
                continue;
            }
            let request = table.get(handle).ok_or_else(|| bad_request(handle))?;
            if !request.active {
                continue;
            }
            active.places.push(place as u32);
            active.engine.push(request.engine);
        }
        Ok(active)
    }
}

pub(super) fn bad_request(handle: Handle) -> MpiError {
    MpiError::new(abi::MPI_ERR_REQUEST, format!("{handle:#x} is no handle of a request"))
}

/// What completed a request that the engine knew nothing of.
pub(super) fn nothing() -> Completion {
    Completion { index: 0, source: 0, tag: 0, size: mcpsim_core::units::Bytes::ZERO, payload: None, cancelled: false }
}

/// A request has completed: gives its status and error; the handle becomes null unless it is persistent.
///
/// # Safety
/// `handle` points to the handle of an active request, whose buffers are there; `to` is MPI_STATUS_IGNORE or a status.
pub(super) unsafe fn settle(
    p: &MpiProcess,
    handle: *mut Handle,
    completion: &mut Completion,
    to: *mut Status,
) -> MpiResult {
    let mut table = p.requests.borrow_mut();
    // SAFETY: the caller's promise.
    let name = unsafe { *handle };
    let entry = table.get_mut(name).expect("the request is active");
    if let (None, Operation::Recv(_) | Operation::Send) = (&entry.persistent, &entry.operation) {
        // What happens most is done without moving the request.
        let result = match &entry.operation {
            // SAFETY: the caller's promise.
            Operation::Recv(target) => unsafe { target.store(completion, &entry.comm, to) },
            _ => {
                // SAFETY: the caller's promise.
                unsafe { put_status(to, empty_status()) };
                Ok(())
            }
        };
        table.discard(name);
        // SAFETY: the caller's promise.
        unsafe { *handle = abi::MPI_REQUEST_NULL };
        return result;
    }
    let (operation, comm) = if entry.persistent.is_some() {
        entry.active = false;
        (entry.operation.clone(), entry.comm.clone())
    } else {
        let Request { operation, comm, .. } = table.remove(name).expect("the request is active");
        // SAFETY: the caller's promise.
        unsafe { *handle = abi::MPI_REQUEST_NULL };
        (operation, comm)
    };
    drop(table);
    let (status, result) = match operation {
        // SAFETY: the caller's promise.
        Operation::Recv(target) => return unsafe { target.store(completion, &comm, to) },
        Operation::Send => (empty_status(), Ok(())),
        Operation::Nothing(status) => (status, Ok(())),
        Operation::Strand { result, .. } => (empty_status(), std::mem::replace(&mut *result.borrow_mut(), Ok(()))),
        Operation::Generalised(request) => {
            let mut status = empty_status();
            // SAFETY: functions of the program, called as the standard says.
            let code = unsafe {
                let code = (request.query)(request.state, &mut status);
                (request.free)(request.state);
                code
            };
            let failed = || MpiError::new(code, "a generalised request's query function failed");
            (status, if code == abi::MPI_SUCCESS { Ok(()) } else { Err(failed()) })
        }
    };
    // SAFETY: the caller's promise.
    unsafe { put_status(to, status) };
    result
}

/// The status at `place` of an array, if the program wants any.
///
/// # Safety
/// `first` is MPI_STATUSES_IGNORE or there are so many.
#[inline]
pub(super) unsafe fn status_at(first: *mut Status, place: usize) -> *mut Status {
    // SAFETY: the caller's promise.
    if first as usize == abi::MPI_STATUS_IGNORE { first } else { unsafe { first.add(place) } }
}

/// Completes all of `active`, whose completions are given in their order: the error of an array of requests.
pub(super) unsafe fn settle_all(
    p: &MpiProcess,
    handles: &Handles,
    active: &ActiveRequests,
    completions: &mut [Completion],
    statuses: *mut Status,
) -> MpiResult {
    let mut errors: SmallVec<[(usize, MpiError); 1]> = SmallVec::new();
    for (&place, completion) in active.places.iter().zip(completions) {
        // SAFETY: the caller's promise.
        let status = unsafe { status_at(statuses, place as usize) };
        // SAFETY: as above.
        let result = unsafe { settle(p, handles.at(place as usize), completion, status) };
        if let Err(error) = result {
            errors.push((place as usize, error));
        }
    }
    if errors.is_empty() {
        return Ok(());
    }
    // SAFETY: as above.
    unsafe { in_status(handles, statuses, &errors) }
}

/// The errors of single requests go into the statuses (MPI-3.1, section 3.7.5).
pub(super) unsafe fn in_status(handles: &Handles, statuses: *mut Status, errors: &[(usize, MpiError)]) -> MpiResult {
    if statuses as usize != abi::MPI_STATUS_IGNORE {
        for place in 0..handles.count {
            let error = errors.iter().find(|(at, _)| *at == place).map_or(abi::MPI_SUCCESS, |(_, error)| error.class);
            // SAFETY: the program gave as many statuses as requests.
            unsafe { (*statuses.add(place)).error = error };
        }
    }
    let (place, first) = &errors[0];
    Err(MpiError::new(abi::MPI_ERR_IN_STATUS, format!("request {place}: {}", first.what)).on(first.on))
}
