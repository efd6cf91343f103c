//! Requests of a rank by handle. Waits for many requests read the engine's identifiers of the requests from a dense
//! list.

use crate::mpi_api::handles::{HandleKind, HandleTable};
use crate::mpi_api::request::{Operation, Request};
use mcpsim_core::mpi::abi::Handle;
use mcpsim_core::rank::{COMPLETE, RequestId};

/// Index from which requests are in the dense list. Ranks with fewer requests have no list.
const FIRST_LISTED: usize = 64;

/// Entry of the dense list for a request whose state must be read from the table.
const IN_TABLE: RequestId = COMPLETE - 1;

/// The requests of a rank.
#[derive(Debug)]
pub struct RequestHandles {
    table: HandleTable<Request>,
    /// Engine's identifier of each active request from the index [`FIRST_LISTED`] on, or [`IN_TABLE`].
    engine: Vec<RequestId>,
    changes: u64,
}

impl Default for RequestHandles {
    fn default() -> Self {
        RequestHandles { table: HandleTable::new(HandleKind::Request), engine: Vec::new(), changes: 0 }
    }
}

impl RequestHandles {
    /// Inserts a request and returns the handle of the request.
    #[inline(always)]
    pub fn insert(&mut self, request: Request) -> Handle {
        let plain = request.active && !matches!(request.operation, Operation::Generalised(_));
        let listed = if plain && request.engine != COMPLETE { request.engine } else { IN_TABLE };
        let handle = self.table.insert(request);
        if let Some(at) = self.listed_at(handle) {
            self.list(at, listed);
        }
        handle
    }

    #[cold]
    fn list(&mut self, at: usize, engine: RequestId) {
        if at >= self.engine.len() {
            self.engine.resize(at + 1, IN_TABLE);
        }
        self.engine[at] = engine;
    }

    /// Returns the place of the request in the dense list.
    #[inline]
    fn listed_at(&self, handle: Handle) -> Option<usize> {
        self.table.index(handle)?.checked_sub(FIRST_LISTED)
    }

    /// Returns the engine's identifier of the request, if the request is active, has a request in the engine and is in
    /// the dense list.
    #[inline(always)]
    pub fn engine(&self, handle: Handle) -> Option<RequestId> {
        self.engine.get(self.listed_at(handle)?).copied().filter(|&engine| engine != IN_TABLE)
    }

    /// Lets waits read the state of a request from the table from now on.
    #[inline]
    fn unlist(&mut self, handle: Handle) {
        self.changes += 1;
        if let Some(at) = self.listed_at(handle)
            && let Some(entry) = self.engine.get_mut(at)
        {
            *entry = IN_TABLE;
        }
    }

    /// Returns the number of changes of requests in the table. An insertion of a request is not a change.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns the request of `handle`, if the request is in the table.
    #[inline]
    pub fn get(&self, handle: Handle) -> Option<&Request> {
        self.table.get(handle)
    }

    /// Variant of [`RequestHandles::get`] that returns a mutable reference to the request.
    #[inline]
    pub fn get_mut(&mut self, handle: Handle) -> Option<&mut Request> {
        self.unlist(handle);
        self.table.get_mut(handle)
    }

    /// Removes and drops the request of `handle`.
    #[inline]
    pub fn discard(&mut self, handle: Handle) {
        self.unlist(handle);
        self.table.discard(handle);
    }

    /// Removes and returns the request of `handle`.
    pub fn remove(&mut self, handle: Handle) -> Option<Request> {
        self.unlist(handle);
        self.table.remove(handle)
    }

    /// Iterates over all requests for changes that do not concern their state or identifier.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Request> {
        self.table.values_mut()
    }

    /// Iterates over all requests with their handles.
    pub fn iter(&self) -> impl Iterator<Item = (Handle, &Request)> {
        self.table.iter()
    }
}
