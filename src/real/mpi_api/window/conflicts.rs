//! Detects conflicting accesses to a window (`--check`). A conflict is a put and another access to the same bytes
//! without synchronisation between the two accesses (MPI-3.1, section 11.7).
//!
//! The tag of an operation between two calls of MPI_Win_fence is the number of the fence. Other operations are
//! synchronised when their origin flushes them.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use super::wire::{TargetOperation, TargetRange};
use mcpsim_core::rank::{Rank, Tag};

/// Tag of operations that do not belong to an epoch of MPI_Win_fence.
pub const NO_FENCE: Tag = 0;
/// Maximum number of accesses that are stored per window, and maximum number of byte ranges per access.
const MOST_ACCESSES: usize = 1024;
const MOST_RUNS: usize = 256;

/// An access to a window that has not been synchronised yet.
#[derive(Debug)]
pub struct OpenAccess {
    pub from: Rank,
    pub action: TargetOperation,
    /// Number of the fence that started the epoch of the access, or [`NO_FENCE`].
    pub fence: Tag,
    /// Accessed byte ranges of the target, as distances in bytes from the base of the target's memory.
    runs: Vec<Range<i64>>,
}

impl OpenAccess {
    /// Creates an access of the rank `from` to `range`. The displacement of the range is `start` bytes from the base of
    /// the target's memory.
    pub fn new(from: Rank, action: TargetOperation, fence: Tag, range: &TargetRange, start: i64) -> Self {
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
        OpenAccess { from, action, fence, runs }
    }

    /// Returns the first byte range that both accesses contain.
    fn overlap(&self, other: &OpenAccess) -> Option<Range<i64>> {
        let pairs = self.runs.iter().flat_map(|run| other.runs.iter().map(move |other| (run, other)));
        let common = |(a, b): (&Range<i64>, &Range<i64>)| a.start.max(b.start)..a.end.min(b.end);
        pairs.map(common).find(|common| !common.is_empty())
    }

    /// Returns true if the result depends on the order of the two accesses.
    fn conflicts(&self, later: &OpenAccess) -> bool {
        let is_put = |access: &OpenAccess| access.action == TargetOperation::Put;
        let is_get = |access: &OpenAccess| access.action == TargetOperation::Get;
        self.fence == later.fence && (is_put(self) || is_put(later) || is_get(later))
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
    /// Adds an access. If the access conflicts with an earlier access, returns the common bytes and the rank and
    /// operation of the earlier access. A conflict is returned once per pair of ranks.
    pub fn add(&mut self, access: OpenAccess) -> Option<(Range<i64>, Rank, TargetOperation)> {
        // All operations of an epoch of MPI_Win_fence are served before the next epoch begins, so accesses of earlier
        // epochs are removed.
        self.open.retain(|open| open.fence == NO_FENCE || open.fence >= access.fence);
        let found = self.open.iter().filter(|open| open.conflicts(&access)).find_map(|open| {
            let bytes = open.overlap(&access)?;
            Some((bytes, open.from, open.action))
        });
        let found = found.filter(|(_, other, _)| self.reported.insert((*other, access.from)));
        if matches!(access.action, TargetOperation::Put | TargetOperation::Accumulate) {
            if self.open.len() == MOST_ACCESSES {
                self.open.pop_front();
            }
            self.open.push_back(access);
        }
        found
    }

    /// Removes the accesses of the rank `from` that do not belong to an epoch of MPI_Win_fence, because they are
    /// complete.
    pub fn complete(&mut self, from: Rank) {
        self.open.retain(|open| open.from != from || open.fence != NO_FENCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpsim_core::mpi::abi;
    use mcpsim_core::mpi::datatype::Datatype;

    fn access(from: Rank, action: TargetOperation, fence: Tag, start: i64) -> OpenAccess {
        let datatype = Datatype::named(abi::MPI_INT).unwrap().clone();
        OpenAccess::new(from, action, fence, &TargetRange { displacement: 0, count: 2, datatype }, start)
    }

    #[test]
    fn a_put_conflicts_with_accesses_to_its_bytes_until_it_is_synchronised() {
        use TargetOperation::{Accumulate, Get, Put};
        let mut open = OpenAccesses::default();
        assert_eq!(open.add(access(1, Put, NO_FENCE, 0)), None);
        assert_eq!(open.add(access(2, Put, NO_FENCE, 8)), None);
        assert_eq!(open.add(access(2, Put, NO_FENCE, 4)), Some((4..8, 1, Put)));
        // The conflict between these ranks was already reported.
        assert_eq!(open.add(access(2, Get, NO_FENCE, 4)), None);
        assert_eq!(open.add(access(3, Get, NO_FENCE, 4)), Some((4..8, 1, Put)));
        open.complete(1);
        open.complete(2);
        assert_eq!(open.add(access(4, Accumulate, NO_FENCE, 0)), None);
        assert_eq!(open.add(access(5, Accumulate, NO_FENCE, 0)), None);
        assert_eq!(open.add(access(6, Put, NO_FENCE, 0)), Some((0..8, 4, Accumulate)));
    }

    #[test]
    fn an_access_without_bytes_conflicts_with_nothing() {
        let datatype = Datatype::named(abi::MPI_INT).unwrap().clone();
        let range = TargetRange { displacement: 0, count: 0, datatype };
        let mut open = OpenAccesses::default();
        for from in [1, 2] {
            assert_eq!(open.add(OpenAccess::new(from, TargetOperation::Put, NO_FENCE, &range, 0)), None);
        }
    }

    #[test]
    fn an_epoch_of_a_fence_ends_at_the_next_one() {
        let mut open = OpenAccesses::default();
        assert_eq!(open.add(access(1, TargetOperation::Put, 1, 0)), None);
        open.complete(1);
        let put = Some((0..8, 1, TargetOperation::Put));
        assert_eq!(open.add(access(2, TargetOperation::Put, 1, 0)), put);
        assert_eq!(open.add(access(1, TargetOperation::Put, 2, 0)), None);
    }
}
