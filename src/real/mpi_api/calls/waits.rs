//! Functions that complete requests: wait, test, free and cancel (MPI-3.1, sections 3.7.3 to 3.8.4).
#![allow(unsafe_code)]

mod handles;
mod known;

pub use known::KnownArray;

use std::cell::Cell;
use std::ffi::c_int;
use std::rc::Rc;

use smallvec::SmallVec;

use super::point_to_point::put_empty;
use crate::mpi_api::error::{self, MpiError, MpiResult};
use crate::mpi_api::process::MpiProcess;
use crate::mpi_api::request::{Operation, Request, empty_status, put_status};
use handles::{
    ActiveRequests, Handles, bad_request, in_status, nothing, poll_generalised, settle, settle_all, status_at,
};
use mcpsim_core::mpi::abi::{self, Handle, Status};
use mcpsim_core::rank::{COMPLETE, Call, Completion, RequestId, Requests, Which};

impl MpiProcess {
    /// Returns true if operations whose requests the program has freed are pending.
    #[inline]
    pub fn has_abandoned(&self) -> bool {
        !self.abandoned.borrow().is_empty()
    }

    /// Completes operations that are done and whose requests the program has freed, and stores received data of the
    /// operations.
    #[cold]
    pub fn store_abandoned(&self) {
        let engine: Requests = self.abandoned.borrow().iter().map(|request| request.engine).collect();
        let call = Call::Test { requests: engine, which: Which::Some, poll: false };
        self.call_completed(call, |completions| {
            let mut abandoned = self.abandoned.borrow_mut();
            for completion in completions.iter_mut().rev() {
                let Request { operation, comm, .. } = abandoned.remove(completion.index as usize);
                match operation {
                    Operation::Recv(target) => {
                        // SAFETY: MPI requires the program's buffer to remain valid until the receive completes. An
                        // error of the receive is ignored, because the program has freed the request.
                        let _ = unsafe { target.store(completion, &comm, abi::MPI_STATUS_IGNORE as *mut Status) };
                    }
                    Operation::CancelledSend(is_complete) => is_complete.set(true),
                    _ => {}
                }
            }
        });
    }

    /// Tests requests for completion. An unsuccessful test costs the time of one poll. The simulator lets a rank that
    /// polls in a loop idle instead of simulating each poll.
    fn test(&self, requests: Requests, which: Which, take: &mut dyn FnMut(&mut [Completion])) -> bool {
        let polls = self.before_poll();
        let found = self.call_completed(Call::Test { requests, which, poll: true }, |completions| {
            take(completions);
            !completions.is_empty()
        });
        self.after_poll(polls, found);
        found
    }
}

unsafe fn wait_all(p: &MpiProcess, handles: Handles, statuses: *mut Status) -> MpiResult {
    let mut active = handles.waitable(p)?;
    if active.places.len() < handles.count && statuses as usize != abi::MPI_STATUS_IGNORE {
        for place in 0..handles.count {
            // SAFETY: MPI requires the program to pass one status per request.
            unsafe { put_status(status_at(statuses, place), empty_status()) };
        }
    }
    if active.engine.iter().all(|&id| id == COMPLETE) {
        let mut completions: SmallVec<[Completion; 4]> = active.places.iter().map(|_| nothing()).collect();
        // SAFETY: the requests of the handles are active. MPI requires the requests' buffers to remain valid until
        // completion, and requires one status per request or MPI_STATUSES_IGNORE.
        return unsafe { settle_all(p, &handles, &active, &mut completions, statuses) };
    }
    let engine = std::mem::take(&mut active.engine);
    // SAFETY: the requests of the handles are active. MPI requires the requests' buffers to remain valid until
    // completion, and requires one status per request or MPI_STATUSES_IGNORE. Only generalised requests call
    // functions of the program, and generalised requests do not reach this branch.
    p.call_completed(Call::WaitAll(engine), |completions| unsafe {
        settle_all(p, &handles, &active, completions, statuses)
    })
}

/// Waits until one of the active requests is complete. Returns the index of the completed request in the array.
unsafe fn wait_any(
    p: &MpiProcess,
    handles: &Handles,
    active: ActiveRequests,
    status: *mut Status,
) -> (Option<usize>, MpiResult) {
    if active.places.is_empty() {
        // SAFETY: MPI requires the program to pass MPI_STATUS_IGNORE or a valid status.
        unsafe { put_empty(status) };
        return (None, Ok(()));
    }
    let ActiveRequests { places, engine, has_complete, .. } = active;
    // A request that is complete without a request in the simulation engine is settled directly.
    let (place, result) = match has_complete.then(|| engine.iter().position(|&id| id == COMPLETE)).flatten() {
        Some(at) => {
            let place = places[at] as usize;
            // SAFETY: the request of the handle is active. MPI requires the request's buffer to remain valid until
            // completion, and requires MPI_STATUS_IGNORE or a valid status.
            (place, unsafe { settle(p, handles.at(place), &mut nothing(), status) })
        }
        None => p.call_completed(Call::WaitAny(engine), |completions| {
            let place = places[completions[0].index as usize] as usize;
            // SAFETY: the request of the handle is active. MPI requires the request's buffer to remain valid until
            // completion, and requires MPI_STATUS_IGNORE or a valid status.
            (place, unsafe { settle(p, handles.at(place), &mut completions[0], status) })
        }),
    };
    (Some(place), result)
}

/// Completes the finished requests of an array. `some` stores the number of completed requests, the indices of the
/// completed requests in `indices`, and the statuses one after another.
unsafe fn some(
    p: &MpiProcess,
    handles: &Handles,
    (indices, statuses): (*mut c_int, *mut Status),
    (outcount, wait): (*mut c_int, bool),
) -> MpiResult {
    let active = if wait { handles.waitable(p)? } else { handles.active(p)? };
    if active.places.is_empty() {
        // SAFETY: MPI requires the program to pass a valid pointer for the result.
        unsafe { *outcount = abi::MPI_UNDEFINED };
        return Ok(());
    }
    let mut active = handles.testable(p, active);
    if active.places.is_empty() {
        poll_generalised(p);
    }
    let mut done = 0;
    let mut errors: SmallVec<[(usize, MpiError); 1]> = SmallVec::new();
    let mut take = |places: &[u32], completions: &mut [Completion]| {
        for completion in completions {
            let place = places[completion.index as usize] as usize;
            // SAFETY: the request of the handle is active. `done` is below the number of requests, and MPI requires the
            // program to pass as many indices and statuses as requests.
            unsafe {
                let status = status_at(statuses, done);
                *indices.add(done) = place as c_int;
                if let Err(error) = settle(p, handles.at(place), completion, status) {
                    errors.push((done, error));
                }
            }
            done += 1;
        }
    };
    if wait {
        let engine = std::mem::take(&mut active.engine);
        p.call_completed(Call::WaitAny(engine), |completions| take(&active.places, completions));
        let mut others = handles.active(p)?;
        if !others.places.is_empty() {
            let requests = std::mem::take(&mut others.engine);
            let call = Call::Test { requests, which: Which::Some, poll: false };
            p.call_completed(call, |completions| take(&others.places, completions));
        }
    } else if !active.places.is_empty() {
        let engine = std::mem::take(&mut active.engine);
        p.test(engine, Which::Some, &mut |completions| take(&active.places, completions));
    }
    // SAFETY: MPI requires the program to pass a valid pointer for the result.
    unsafe { *outcount = done as c_int };
    if errors.is_empty() {
        return Ok(());
    }
    // SAFETY: `done` statuses were written, and MPI requires the program to pass as many statuses as requests, or
    // MPI_STATUSES_IGNORE.
    unsafe { in_status(&Handles { first: handles.first, count: done }, statuses, &errors) }
}

unsafe fn test_all(p: &MpiProcess, handles: Handles, flag: *mut c_int, statuses: *mut Status) -> MpiResult {
    let mut active = handles.active(p)?;
    let mut result = Ok(());
    let waits = active.has_incomplete;
    let engine = if waits { Requests::new() } else { std::mem::take(&mut active.engine) };
    let found = if active.places.is_empty() {
        true
    } else if waits {
        poll_generalised(p);
        false
    } else {
        // SAFETY: the requests of the handles are active. MPI requires the requests' buffers to remain valid until
        // completion, and requires one status per request or MPI_STATUSES_IGNORE.
        p.test(engine, Which::All, &mut |completions| unsafe {
            if completions.len() == active.places.len() {
                result = settle_all(p, &handles, &active, completions, statuses);
            }
        })
    };
    if found && active.places.len() < handles.count {
        let inactive = (0..handles.count).filter(|place| active.places.binary_search(&(*place as u32)).is_err());
        for place in inactive {
            // SAFETY: MPI requires the program to pass one status per request.
            unsafe { put_status(status_at(statuses, place), empty_status()) };
        }
    }
    // SAFETY: MPI requires the program to pass a valid pointer for the result.
    unsafe { *flag = c_int::from(found) };
    result
}

/// Tests whether one of the active requests is complete. Returns true if a request is complete or if no request is
/// active, and the index of the completed request.
unsafe fn test_any(p: &MpiProcess, handles: &Handles, status: *mut Status) -> (bool, Option<usize>, MpiResult) {
    let active = match handles.active(p) {
        Ok(active) => active,
        Err(error) => return (true, None, Err(error)),
    };
    if active.places.is_empty() {
        // SAFETY: MPI requires the program to pass MPI_STATUS_IGNORE or a valid status.
        unsafe { put_status(status, empty_status()) };
        return (true, None, Ok(()));
    }
    let mut active = handles.testable(p, active);
    if active.places.is_empty() {
        poll_generalised(p);
        return (false, None, Ok(()));
    }
    let mut taken = (false, None, Ok(()));
    let engine = std::mem::take(&mut active.engine);
    p.test(engine, Which::First, &mut |completions| {
        if let Some(completion) = completions.first_mut() {
            let place = active.places[completion.index as usize] as usize;
            // SAFETY: the request of the handle is active. MPI requires the request's buffer to remain valid until
            // completion, and requires MPI_STATUS_IGNORE or a valid status.
            let result = unsafe { settle(p, handles.at(place), completion, status) };
            taken = (true, Some(place), result);
        }
    });
    taken
}

fn index(place: Option<usize>) -> c_int {
    place.map_or(abi::MPI_UNDEFINED, |place| place as c_int)
}

mpi_functions! {
    fn MPI_Wait(p; request: *mut Handle, status: *mut Status) {
        let handles = Handles { first: request, count: 1 };
        let active = handles.waitable(p)?;
        match active.engine.first() {
            None => {
                put_empty(status);
                Ok(())
            }
            Some(&COMPLETE) => settle(p, request, &mut nothing(), status),
            Some(_) => p.call_completed(Call::WaitAll(active.engine), |completions| {
                settle(p, request, &mut completions[0], status)
            }),
        }
    }
    fn MPI_Waitall(p; count: c_int, requests: *mut Handle, statuses: *mut Status) {
        wait_all(p, Handles::new(requests, count)?, statuses)
    }
    fn MPI_Waitany(p; count: c_int, requests: *mut Handle, place: *mut c_int, status: *mut Status) {
        let handles = Handles::new(requests, count)?;
        let (found, result) = known::wait_any_of_array(p, &handles, status)?;
        *place = index(found);
        result
    }
    fn MPI_Waitsome(
        p; incount: c_int, requests: *mut Handle, outcount: *mut c_int, indices: *mut c_int, statuses: *mut Status,
    ) {
        some(p, &Handles::new(requests, incount)?, (indices, statuses), (outcount, true))
    }
    fn MPI_Test(p; request: *mut Handle, flag: *mut c_int, status: *mut Status) {
        let (done, _, result) = test_any(p, &Handles { first: request, count: 1 }, status);
        *flag = c_int::from(done);
        result
    }
    fn MPI_Testall(p; count: c_int, requests: *mut Handle, flag: *mut c_int, statuses: *mut Status) {
        test_all(p, Handles::new(requests, count)?, flag, statuses)
    }
    fn MPI_Testany(p; count: c_int, requests: *mut Handle, place: *mut c_int, flag: *mut c_int, status: *mut Status) {
        let (done, at, result) = test_any(p, &Handles::new(requests, count)?, status);
        *flag = c_int::from(done);
        *place = index(at);
        result
    }
    fn MPI_Testsome(
        p; incount: c_int, requests: *mut Handle, outcount: *mut c_int, indices: *mut c_int, statuses: *mut Status,
    ) {
        some(p, &Handles::new(requests, incount)?, (indices, statuses), (outcount, false))
    }
    fn MPI_Request_free(p; request: *mut Handle) {
        let taken = p.requests.borrow_mut().remove(*request);
        let mut taken = taken.ok_or_else(|| bad_request(*request))?;
        taken.end_loan();
        if taken.active {
            p.abandoned.borrow_mut().push(Request { persistent: None, ..taken });
        }
        *request = abi::MPI_REQUEST_NULL;
        Ok(())
    }
    fn MPI_Request_get_status(p; request: Handle, flag: *mut c_int, status: *mut Status) {
        // The request remains in the rank's table after MPI_Request_get_status. The request is removed from the
        // simulation engine and marked as complete.
        let mut handle = request;
        let handles = Handles { first: &mut handle, count: 1 };
        let active = handles.active(p)?;
        let Some(&engine) = active.engine.first() else {
            *flag = 1;
            put_empty(status);
            return Ok(());
        };
        if active.has_incomplete {
            poll_generalised(p);
            *flag = 0;
            return Ok(());
        }
        if engine != COMPLETE {
            let mut known = None;
            p.test(active.engine, Which::All, &mut |completions| {
                if let Some(completion) = completions.first_mut() {
                    let mut table = p.requests.borrow_mut();
                    let entry = table.get_mut(request).expect("the request is active");
                    let mut found = empty_status();
                    if let Operation::Recv(target) = &entry.operation {
                        let _ = target.store(completion, &entry.comm, &mut found);
                    }
                    if !matches!(entry.operation, Operation::Strand { .. }) {
                        entry.operation = Operation::Nothing(found);
                    }
                    entry.end_loan();
                    entry.engine = COMPLETE;
                    known = Some(found);
                }
            });
            *flag = c_int::from(known.is_some());
            if let Some(found) = known {
                put_status(status, found);
            }
            return Ok(());
        }
        *flag = 1;
        let operation = p.requests.borrow_mut().get_mut(request).map(|entry| {
            entry.end_loan();
            entry.operation.clone()
        });
        match operation {
            Some(Operation::Nothing(found)) => put_status(status, found),
            Some(Operation::CancelledSend(is_complete)) if !is_complete.get() => {
                p.failed_poll();
                *flag = 0;
                put_empty(status);
            }
            Some(Operation::Generalised(generalised)) => {
                let mut found = empty_status();
                (generalised.query)(generalised.state, &mut found);
                put_status(status, found);
            }
            _ => put_empty(status),
        }
        Ok(())
    }
    fn MPI_Cancel(p; request: *mut Handle) {
        let (engine, operation, active) = {
            let table = p.requests.borrow();
            let entry = table.get(*request).ok_or_else(|| bad_request(*request))?;
            (entry.engine, entry.operation.clone(), entry.active)
        };
        error::expect(active, abi::MPI_ERR_REQUEST, || "the request is not active".to_owned())?;
        match operation {
            Operation::Recv(_) if engine != COMPLETE => p.call_done(Call::Cancel(engine)),
            Operation::Send if engine != COMPLETE => {
                // A send cannot be cancelled, because the data of the send is already sent. A wait for the send must
                // become local (MPI-3.1, section 3.8.4).
                let mut table = p.requests.borrow_mut();
                let entry = table.get_mut(*request).expect("the request is active");
                entry.end_loan();
                let operation = Operation::CancelledSend(Rc::new(Cell::new(false)));
                (entry.engine, entry.operation) = (COMPLETE, operation.clone());
                p.abandoned.borrow_mut().push(Request::new(engine, operation, entry.comm.clone()));
            }
            Operation::Generalised(generalised) => {
                let code = (generalised.cancel)(generalised.state, c_int::from(generalised.complete.get()));
                if code != abi::MPI_SUCCESS {
                    let what = "a generalised request's cancel function failed";
                    return Err(MpiError::new(code, what));
                }
            }
            _ => {}
        }
        Ok(())
    }
    fn MPI_Test_cancelled(_p; status: *const Status, flag: *mut c_int) {
        *flag = c_int::from((*status).cancelled());
        Ok(())
    }
    fn MPI_Status_set_cancelled(_p; status: *mut Status, flag: c_int) {
        (*status).set_cancelled(flag != 0);
        Ok(())
    }
}
