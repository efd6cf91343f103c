//! Set operations on groups (MPI-3.1, section 6.3). An operation looks up each member once.

use std::ffi::c_int;

use crate::Group;
use crate::abi::{MPI_ERR_ARG, MPI_ERR_RANK, MPI_IDENT, MPI_PROC_NULL, MPI_SIMILAR, MPI_UNDEFINED, MPI_UNEQUAL};
use crate::fault::Fault;

/// Range of ranks: first rank, last rank and stride, as in the argument `ranges` of MPI_Group_range_incl.
pub type Range = [c_int; 3];

/// Returns the group of the members of `a`, followed by the members of `b` that are not in `a`.
pub fn union(a: &Group, b: &Group) -> Group {
    if b.size() == 0 || a == b {
        return a.clone();
    }
    let added = b.ranks().filter(|&rank| a.member(rank).is_none());
    Group::from_ranks(a.ranks().chain(added).collect())
}

/// Returns the group of the members of `a` that are also in `b`, in the order of `a`.
pub fn intersection(a: &Group, b: &Group) -> Group {
    if a == b {
        return a.clone();
    }
    Group::from_ranks(a.ranks().filter(|&rank| b.member(rank).is_some()).collect())
}

/// Returns the group of the members of `a` that are not in `b`, in the order of `a`.
pub fn difference(a: &Group, b: &Group) -> Group {
    if b.size() == 0 {
        return a.clone();
    }
    Group::from_ranks(a.ranks().filter(|&rank| b.member(rank).is_none()).collect())
}

/// Compares two groups. Returns MPI_IDENT (same members in the same order), MPI_SIMILAR (same members) or MPI_UNEQUAL.
pub fn compare(a: &Group, b: &Group) -> c_int {
    if a.size() != b.size() {
        MPI_UNEQUAL
    } else if a == b || a.ranks().eq(b.ranks()) {
        MPI_IDENT
    } else if a.ranks().all(|rank| b.member(rank).is_some()) {
        MPI_SIMILAR
    } else {
        MPI_UNEQUAL
    }
}

/// Translates ranks of `from` to ranks of `to`. The result is MPI_UNDEFINED for a rank that is not in `to`, and
/// MPI_PROC_NULL for MPI_PROC_NULL.
///
/// # Errors
/// A rank of `ranks` is not in the group `from`.
pub fn translate_ranks(from: &Group, ranks: &[c_int], to: &Group) -> Result<Vec<c_int>, Fault> {
    let translate = |(place, &rank): (usize, &c_int)| {
        if rank == MPI_PROC_NULL {
            return Ok(MPI_PROC_NULL);
        }
        let world = from.world(member(from, place, rank)?);
        Ok(to.member(world).map_or(MPI_UNDEFINED, |found| found as c_int))
    };
    ranks.iter().enumerate().map(translate).collect()
}

/// Returns the group of the members with the given ranks, in the given order.
///
/// # Errors
/// A rank is not in the group, or occurs twice.
pub fn incl(group: &Group, ranks: &[c_int]) -> Result<Group, Fault> {
    let members = distinct(group, ranks)?;
    Ok(Group::from_ranks(members.into_iter().map(|member| group.world(member)).collect()))
}

/// Returns `group` without the members with the given ranks.
///
/// # Errors
/// The errors of [`incl`].
pub fn excl(group: &Group, ranks: &[c_int]) -> Result<Group, Fault> {
    if ranks.is_empty() {
        return Ok(group.clone());
    }
    let mut out = distinct(group, ranks)?;
    out.sort_unstable();
    let mut out = out.into_iter().peekable();
    let kept = (0..group.size()).filter(|&member| out.next_if_eq(&member).is_none());
    Ok(Group::from_ranks(kept.map(|member| group.world(member)).collect()))
}

/// Returns the group of the members whose ranks are in `ranges`.
///
/// # Errors
/// The errors of [`incl`]; or the stride of a range is 0 or leads away from the last rank of the range.
pub fn range_incl(group: &Group, ranges: &[Range]) -> Result<Group, Fault> {
    if let ([[0, last, 1]], size @ 1..) = (ranges, group.size())
        && *last as u32 == size - 1
    {
        return Ok(group.clone());
    }
    incl(group, &expand(group, ranges)?)
}

/// Returns `group` without the members whose ranks are in `ranges`.
///
/// # Errors
/// The errors of [`range_incl`].
pub fn range_excl(group: &Group, ranges: &[Range]) -> Result<Group, Fault> {
    excl(group, &expand(group, ranges)?)
}

/// Returns the ranks in `ranges`. Stops when the list of ranks is longer than the group, because a longer list must
/// contain an error.
fn expand(group: &Group, ranges: &[Range]) -> Result<Vec<c_int>, Fault> {
    let mut ranks = Vec::new();
    for (place, &[first, last, stride]) in ranges.iter().enumerate() {
        if stride == 0 {
            return Err(Fault::new(MPI_ERR_ARG, format!("range {place} has stride 0, expected a stride other than 0")));
        }
        let (distance, step) = (i64::from(last) - i64::from(first), i64::from(stride));
        if distance != 0 && (distance < 0) != (step < 0) {
            let what = format!("range {place} goes from {first} to {last}, but its stride {stride} has the wrong sign");
            return Err(Fault::new(MPI_ERR_ARG, what));
        }
        let left = group.size() as usize + 1 - ranks.len();
        let expanded = (0..=distance / step).map(|step_number| (i64::from(first) + step_number * step) as c_int);
        ranks.extend(expanded.take(left));
    }
    Ok(ranks)
}

/// Returns the ranks as member indices if all ranks exist in the group and no rank occurs twice.
fn distinct(group: &Group, ranks: &[c_int]) -> Result<Vec<u32>, Fault> {
    let mut seen = vec![false; group.size() as usize];
    let mut check = |(place, &rank): (usize, &c_int)| {
        let member = member(group, place, rank)?;
        if std::mem::replace(&mut seen[member as usize], true) {
            return Err(Fault::new(MPI_ERR_RANK, format!("rank {rank} is given twice")));
        }
        Ok(member)
    };
    ranks.iter().enumerate().map(&mut check).collect()
}

fn member(group: &Group, place: usize, rank: c_int) -> Result<u32, Fault> {
    u32::try_from(rank).ok().filter(|&member| member < group.size()).ok_or_else(|| {
        Fault::new(
            MPI_ERR_RANK,
            format!("rank {rank} at index {place}, expected a rank of a group of {} members", group.size()),
        )
    })
}

#[cfg(test)]
mod tests;
