//! Functions for groups of ranks (MPI-3.1, section 6.3).
#![allow(unsafe_code)]

use std::ffi::c_int;

use crate::mpi_api::error::{self, MpiError, MpiResult};
use crate::mpi_api::process::MpiProcess;
use mcpsim_core::mpi::Group;
use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::mpi::groups::{self, Range};

impl MpiProcess {
    /// Returns the group of `handle`.
    ///
    /// # Errors
    /// MPI_ERR_GROUP if the handle is not a valid group.
    pub fn group(&self, handle: Handle) -> MpiResult<Group> {
        match handle {
            abi::MPI_GROUP_EMPTY => Ok(Group::EMPTY),
            abi::MPI_GROUP_NULL => Err(MpiError::new(abi::MPI_ERR_GROUP, "the group is MPI_GROUP_NULL")),
            _ => self
                .groups
                .borrow()
                .get(handle)
                .cloned()
                .ok_or_else(|| MpiError::new(abi::MPI_ERR_GROUP, format!("{handle:#x} is no handle of a group"))),
        }
    }

    /// Adds a group to the rank's table and returns the handle of the group.
    pub fn add_group(&self, group: Group) -> Handle {
        if group.size() == 0 { abi::MPI_GROUP_EMPTY } else { self.groups.borrow_mut().insert(group) }
    }
}

/// Reads an array argument of an MPI function with `count` elements. The address of an empty array is ignored.
///
/// # Errors
/// The count is negative, or a null address is passed for an array that is not empty.
///
/// # Safety
/// `address` is null or points to an array with `count` elements.
pub unsafe fn array<'a, T>(address: *const T, count: c_int, name: &str) -> MpiResult<&'a [T]> {
    match error::count(count, &format!("the number of {name}"))? {
        0 => Ok(&[]),
        _ if address.is_null() => Err(MpiError::new(abi::MPI_ERR_ARG, format!("the array of {name} is null"))),
        // SAFETY: the address is not null, so the caller guarantees an array with `count` elements.
        count => Ok(unsafe { std::slice::from_raw_parts(address, count) }),
    }
}

/// Copies at most `room` elements of `values` to an array of the program.
///
/// # Safety
/// The array `to` has room for `room` elements.
pub unsafe fn put<T: Copy>(to: *mut T, room: usize, values: &[T]) {
    // SAFETY: at most `room` elements are copied, and the caller guarantees that The array `to` has room for `room`
    // elements.
    unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), to, room.min(values.len())) };
}

mpi_functions! {
    fn MPI_Comm_group(p; comm: Handle, group: *mut Handle) {
        *group = p.add_group(p.comm(comm)?.local.group().clone());
        Ok(())
    }
    fn MPI_Comm_remote_group(p; comm: Handle, group: *mut Handle) {
        *group = p.add_group(p.inter_comm(comm)?.peers().clone());
        Ok(())
    }
    fn MPI_Group_size(p; group: Handle, size: *mut c_int) {
        *size = p.group(group)?.size() as c_int;
        Ok(())
    }
    fn MPI_Group_rank(p; group: Handle, rank: *mut c_int) {
        *rank = p.group(group)?.member(p.rank).map_or(abi::MPI_UNDEFINED, |rank| rank as c_int);
        Ok(())
    }
    fn MPI_Group_translate_ranks(
        p; group1: Handle, n: c_int, ranks1: *const c_int, group2: Handle, ranks2: *mut c_int,
    ) {
        let (from, to) = (p.group(group1)?, p.group(group2)?);
        let found = groups::translate_ranks(&from, array(ranks1, n, "ranks")?, &to)?;
        array(ranks2, n, "ranks found")?;
        put(ranks2, found.len(), &found);
        Ok(())
    }
    fn MPI_Group_compare(p; group1: Handle, group2: Handle, result: *mut c_int) {
        *result = groups::compare(&p.group(group1)?, &p.group(group2)?);
        Ok(())
    }
    fn MPI_Group_union(p; group1: Handle, group2: Handle, newgroup: *mut Handle) {
        *newgroup = p.add_group(groups::union(&p.group(group1)?, &p.group(group2)?));
        Ok(())
    }
    fn MPI_Group_intersection(p; group1: Handle, group2: Handle, newgroup: *mut Handle) {
        *newgroup = p.add_group(groups::intersection(&p.group(group1)?, &p.group(group2)?));
        Ok(())
    }
    fn MPI_Group_difference(p; group1: Handle, group2: Handle, newgroup: *mut Handle) {
        *newgroup = p.add_group(groups::difference(&p.group(group1)?, &p.group(group2)?));
        Ok(())
    }
    fn MPI_Group_incl(p; group: Handle, n: c_int, ranks: *const c_int, newgroup: *mut Handle) {
        *newgroup = p.add_group(groups::incl(&p.group(group)?, array(ranks, n, "ranks")?)?);
        Ok(())
    }
    fn MPI_Group_excl(p; group: Handle, n: c_int, ranks: *const c_int, newgroup: *mut Handle) {
        *newgroup = p.add_group(groups::excl(&p.group(group)?, array(ranks, n, "ranks")?)?);
        Ok(())
    }
    fn MPI_Group_range_incl(p; group: Handle, n: c_int, ranges: *const Range, newgroup: *mut Handle) {
        *newgroup = p.add_group(groups::range_incl(&p.group(group)?, array(ranges, n, "ranges")?)?);
        Ok(())
    }
    fn MPI_Group_range_excl(p; group: Handle, n: c_int, ranges: *const Range, newgroup: *mut Handle) {
        *newgroup = p.add_group(groups::range_excl(&p.group(group)?, array(ranges, n, "ranges")?)?);
        Ok(())
    }
    fn MPI_Group_free(p; group: *mut Handle) {
        // The program may also free MPI_GROUP_EMPTY, because other functions return MPI_GROUP_EMPTY for empty groups.
        p.group(*group)?;
        p.groups.borrow_mut().remove(*group);
        *group = abi::MPI_GROUP_NULL;
        Ok(())
    }
}
