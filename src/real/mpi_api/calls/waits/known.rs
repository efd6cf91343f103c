//! MPI_Waitany for long arrays. A further call with the same array reads only the handles that have changed since the
//! last call.
#![allow(unsafe_code)]

use super::handles::{HandleState, Handles};
use super::*;
use crate::mpi_api::request_handles::RequestHandles;

/// Least length of an array whose state is kept between calls.
const LEAST: usize = 256;

/// Greatest number of changed handles that are looked up one by one.
const MOST_CHANGED: usize = 16;

/// Number of handles that are compared at once.
const BLOCK: usize = 512;

/// Requests of the array of the last call.
#[derive(Debug)]
pub struct KnownArray {
    /// Copy of the array at the end of the call.
    handles: Vec<Handle>,
    /// Indices in the array of the active requests, in ascending order.
    places: Vec<u32>,
    /// Identifiers of the active requests in the simulation engine.
    engine: Vec<RequestId>,
    /// [`RequestHandles::changes`] at the end of the call.
    changes: u64,
}

impl KnownArray {
    /// Updates the state for the array `now`. Returns `None` if all handles must be read.
    fn updated(mut self: Box<Self>, requests: &RequestHandles, now: &[Handle]) -> Option<Box<KnownArray>> {
        if self.handles.len() != now.len() || self.changes != requests.changes() {
            return None;
        }
        let mut changed = 0;
        for start in (0..now.len()).step_by(BLOCK) {
            let block = start..(start + BLOCK).min(now.len());
            if self.handles[block.clone()] == now[block.clone()] {
                continue;
            }
            for place in block.filter(|&place| self.handles[place] != now[place]).collect::<SmallVec<[usize; 4]>>() {
                changed += 1;
                if changed > MOST_CHANGED {
                    return None;
                }
                self.change(requests, place, now[place])?;
            }
        }
        Some(self)
    }

    /// Replaces the handle with the index `place`. Returns `None` if the new request cannot be waited for in the
    /// simulation engine.
    fn change(&mut self, requests: &RequestHandles, place: usize, handle: Handle) -> Option<()> {
        self.handles[place] = handle;
        let at = match self.places.binary_search(&(place as u32)) {
            Ok(at) => {
                self.remove(at);
                at
            }
            Err(at) => at,
        };
        match HandleState::of(requests, handle).ok()? {
            HandleState::Inactive => {}
            HandleState::Active { engine, is_incomplete: false } if engine != COMPLETE => {
                self.places.insert(at, place as u32);
                self.engine.insert(at, engine);
            }
            HandleState::Active { .. } => return None,
        }
        Some(())
    }

    fn remove(&mut self, at: usize) {
        self.places.remove(at);
        self.engine.remove(at);
    }
}

/// Waits until one of the active requests is complete, as [`wait_any`] does.
pub(super) unsafe fn wait_any_of_array(
    p: &MpiProcess,
    handles: &Handles,
    status: *mut Status,
) -> MpiResult<(Option<usize>, MpiResult)> {
    if handles.count < LEAST {
        // SAFETY: the caller makes the same guarantees.
        return handles.waitable(p).map(|active| unsafe { wait_any(p, handles, active, status) });
    }
    // SAFETY: MPI requires the program to pass `count` handles, which do not change during the function.
    let array = || unsafe { std::slice::from_raw_parts(handles.first, handles.count) };
    let known = p.known_array.take().and_then(|known| known.updated(&p.requests.borrow(), array()));
    let mut known = match known {
        Some(known) => known,
        None => {
            let active = handles.waitable(p)?;
            if active.has_complete {
                // SAFETY: the caller makes the same guarantees.
                return Ok(unsafe { wait_any(p, handles, active, status) });
            }
            Box::new(KnownArray {
                handles: array().to_vec(),
                places: active.places.into_vec(),
                engine: active.engine.into_vec(),
                changes: p.requests.borrow().changes(),
            })
        }
    };
    if known.places.is_empty() {
        // SAFETY: MPI requires the program to pass MPI_STATUS_IGNORE or a valid status.
        unsafe { put_empty(status) };
        return Ok((None, Ok(())));
    }
    let call = Call::WaitAny(Requests::from_slice(&known.engine));
    p.call_completed(call, |completions| {
        let at = completions[0].index as usize;
        let place = known.places[at] as usize;
        let is_current = p.requests.borrow().changes() == known.changes;
        // SAFETY: the request of the handle is active. MPI requires the request's buffer to remain valid until
        // completion, and requires MPI_STATUS_IGNORE or a valid status.
        let result = unsafe { settle(p, handles.at(place), &mut completions[0], status) };
        if is_current {
            known.remove(at);
            known.handles[place] = array()[place];
            known.changes = p.requests.borrow().changes();
            p.known_array.replace(Some(known));
        }
        Ok((Some(place), result))
    })
}
