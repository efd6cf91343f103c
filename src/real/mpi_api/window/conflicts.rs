//! Detects conflicting accesses to a window (`--check`). A conflict is a put and another access to the same bytes
//! without synchronisation between the two accesses (MPI-3.1, section 11.7).
//!
//! Operations between two calls of MPI_Win_fence are labelled with the count of fences. Operations outside fence
//! epochs are synchronised when the origin flushes the operations. An operation with a result is complete when the
//! origin has waited for the result, without a message to the target. Outside of fence epochs, an operation with a
//! result is therefore compared only with later operations of the same origin.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use super::wire::{CallOrigin, TargetOperation, TargetRange};
use mcpsim_core::rank::Rank;

/// Fence count of operations that do not belong to an epoch of MPI_Win_fence.
pub const NO_FENCE: u32 = 0;
/// Maximum number of stored accesses per window, and maximum number of byte ranges per access.
const MOST_ACCESSES: usize = 1024;
const MOST_RUNS: usize = 256;

/// An access to window memory that has not been synchronised yet.
#[derive(Debug)]
pub struct OpenAccess {
    pub from: Rank,
    pub action: TargetOperation,
    pub origin: CallOrigin,
    /// Accessed byte ranges of the target, as distances in bytes from the base of the target's memory.
    runs: Vec<Range<i64>>,
}

impl OpenAccess {
    /// Creates an access of the rank `from` to `range`. The displacement of the range is `start` bytes from the base
    /// of the target's window memory.
    pub fn new(from: Rank, action: TargetOperation, origin: CallOrigin, range: &TargetRange, start: i64) -> Self {
        let mut runs: Vec<Range<i64>> = Vec::new();
        range.datatype.for_each_run(range.count, |kind, first, count| {
            if count == 0 {
                return;
            }
            let first = start + first as i64;
            let end = first + ((count - 1) * kind.extent() + kind.size()) as i64;
            if let Some(last) = runs.last_mut().filter(|last| last.end == first) {
                last.end = end;
            } else if runs.len() < MOST_RUNS {
                runs.push(first..end);
            }
        });
        OpenAccess { from, action, origin, runs }
    }

    /// Returns the first byte range that the access and the access `other` have in common.
    fn overlap(&self, other: &OpenAccess) -> Option<Range<i64>> {
        let pairs = self.runs.iter().flat_map(|run| other.runs.iter().map(move |other| (run, other)));
        let common = |(a, b): (&Range<i64>, &Range<i64>)| a.start.max(b.start)..a.end.min(b.end);
        pairs.map(common).find(|common| !common.is_empty())
    }

    /// Returns true if the result of the operations depends on the order of the access and the access `later`.
    fn conflicts(&self, later: &OpenAccess) -> bool {
        use TargetOperation::{Accumulate, Get, Put};
        let matters =
            matches!((self.action, later.action), (Put, _) | (_, Put) | (Accumulate, Get) | (Get, Accumulate));
        let own = self.from == later.from && self.origin.waits == later.origin.waits;
        let is_open = self.action.is_silent() || self.origin.fence != NO_FENCE || own;
        matters && is_open && self.origin.fence == later.origin.fence
    }

    /// Returns true if the target rank can learn that the access is complete. An operation with a request is complete
    /// when the program has waited for the request, without a message to the target.
    fn has_known_end(&self) -> bool {
        self.action.is_silent() || self.origin.fence != NO_FENCE || !self.origin.position.starts_with("MPI_R")
    }
}

/// Accesses to one rank's memory in a window that have not been synchronised yet.
#[derive(Debug, Default)]
pub struct OpenAccesses {
    open: VecDeque<OpenAccess>,
    /// Pairs of origin ranks for which a conflict was already reported.
    reported: BTreeSet<(Rank, Rank)>,
}

impl OpenAccesses {
    /// Adds an access to window memory. If the access conflicts with an earlier access, returns the common bytes, and
    /// the rank and MPI call of the earlier access. A conflict is returned once per pair of ranks.
    pub fn add(&mut self, access: OpenAccess) -> Option<(Range<i64>, Rank, String)> {
        // All operations of an epoch of MPI_Win_fence are served before the next epoch begins, so accesses of earlier
        // epochs are removed.
        self.open.retain(|open| open.origin.fence == NO_FENCE || open.origin.fence >= access.origin.fence);
        let found = self.open.iter().filter(|open| open.conflicts(&access)).find_map(|open| {
            let bytes = open.overlap(&access)?;
            Some((bytes, open.from, open.origin.position.clone()))
        });
        let found = found.filter(|(_, other, _)| self.reported.insert((*other, access.from)));
        if access.has_known_end() {
            if self.open.len() == MOST_ACCESSES {
                self.open.pop_front();
            }
            self.open.push_back(access);
        }
        found
    }

    /// Removes the accesses of the rank `from` outside fence epochs, because a flush has completed the accesses.
    pub fn complete(&mut self, from: Rank) {
        self.open.retain(|open| open.from != from || open.origin.fence != NO_FENCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpsim_core::mpi::abi;
    use mcpsim_core::mpi::datatype::Datatype;

    fn origin(function: &str, fence: u32, waits: u32) -> CallOrigin {
        CallOrigin { fence, waits, position: format!("{function} at a.c:7") }
    }

    fn access_of(from: Rank, action: TargetOperation, origin: CallOrigin, start: i64) -> OpenAccess {
        let datatype = Datatype::named(abi::MPI_INT).unwrap().clone();
        OpenAccess::new(from, action, origin, &TargetRange { displacement: 0, count: 2, datatype }, start)
    }

    fn access(from: Rank, action: TargetOperation, fence: u32, start: i64) -> OpenAccess {
        access_of(from, action, origin(action.function(), fence, 0), start)
    }

    fn found(bytes: Range<i64>, rank: Rank, function: &str) -> Option<(Range<i64>, Rank, String)> {
        Some((bytes, rank, format!("{function} at a.c:7")))
    }

    #[test]
    fn a_put_conflicts_with_accesses_to_its_bytes_until_it_is_synchronised() {
        use TargetOperation::{Accumulate, Get, Put};
        let mut open = OpenAccesses::default();
        assert_eq!(open.add(access(1, Put, NO_FENCE, 0)), None);
        assert_eq!(open.add(access(2, Put, NO_FENCE, 8)), None);
        assert_eq!(open.add(access(2, Put, NO_FENCE, 4)), found(4..8, 1, "MPI_Put"));
        // The conflict between the same two ranks was already reported.
        assert_eq!(open.add(access(2, Get, NO_FENCE, 4)), None);
        assert_eq!(open.add(access(3, Get, NO_FENCE, 4)), found(4..8, 1, "MPI_Put"));
        open.complete(1);
        open.complete(2);
        assert_eq!(open.add(access(4, Accumulate, NO_FENCE, 0)), None);
        assert_eq!(open.add(access(5, Accumulate, NO_FENCE, 0)), None);
        assert_eq!(open.add(access(6, Put, NO_FENCE, 0)), found(0..8, 4, "MPI_Accumulate"));
    }

    #[test]
    fn an_update_conflicts_with_a_get_whose_result_is_awaited() {
        use TargetOperation::{Accumulate, Get, GetAccumulate, Put};
        let mut open = OpenAccesses::default();
        let get = |waits| access_of(1, Get, origin("MPI_Get", NO_FENCE, waits), 0);
        let put = |waits| access_of(1, Put, origin("MPI_Put", NO_FENCE, waits), 0);
        assert_eq!(open.add(get(0)), None);
        // The origin has waited for the result of the get, so the get is complete.
        assert_eq!(open.add(put(1)), None);
        open.complete(1);
        assert_eq!(open.add(get(1)), None);
        // The target does not know whether the get of rank 1 is complete.
        assert_eq!(open.add(access(2, Accumulate, NO_FENCE, 0)), None);
        open.complete(2);
        assert_eq!(open.add(put(1)), found(0..8, 1, "MPI_Get"));
        // In an epoch of MPI_Win_fence all accesses are concurrent.
        let mut open = OpenAccesses::default();
        assert_eq!(open.add(access(1, Get, 1, 0)), None);
        assert_eq!(open.add(access(3, Get, 1, 0)), None);
        assert_eq!(open.add(access(3, GetAccumulate, 1, 0)), None);
        assert_eq!(open.add(access(2, Put, 1, 0)), found(0..8, 1, "MPI_Get"));
        assert_eq!(open.add(access(4, Put, 2, 0)), None);
        // An operation with a request may be complete without a message to the target.
        let mut open = OpenAccesses::default();
        assert_eq!(open.add(access_of(1, Get, origin("MPI_Rget", NO_FENCE, 0), 0)), None);
        assert_eq!(open.add(put(0)), None);
    }

    #[test]
    fn an_access_without_bytes_conflicts_with_nothing() {
        let datatype = Datatype::named(abi::MPI_INT).unwrap().clone();
        let range = TargetRange { displacement: 0, count: 0, datatype };
        let mut open = OpenAccesses::default();
        for from in [1, 2] {
            let origin = origin("MPI_Put", NO_FENCE, 0);
            assert_eq!(open.add(OpenAccess::new(from, TargetOperation::Put, origin, &range, 0)), None);
        }
    }

    #[test]
    fn an_epoch_of_a_fence_ends_at_the_next_one() {
        let mut open = OpenAccesses::default();
        assert_eq!(open.add(access(1, TargetOperation::Put, 1, 0)), None);
        open.complete(1);
        assert_eq!(open.add(access(2, TargetOperation::Put, 1, 0)), found(0..8, 1, "MPI_Put"));
        assert_eq!(open.add(access(1, TargetOperation::Put, 2, 0)), None);
    }
}
