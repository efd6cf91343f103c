//! Null checks of result pointers in MPI calls. A null pointer causes an MPI error instead of a crash.

use crate::mpi_api::error::MpiError;
use mcpsim_core::mpi::abi;

/// Names of those pointer arguments of MPI functions that receive a single result.
const RESULTS: &str = " address baseptr class code combiner comm comm_cart comm_dist_graph comm_graph commute count datatype \
                       extent flag group handler indegree info key lb length message name ndims nedges newcomm newgroup \
                       newintercomm newintracomm newrank newtype nkeys nneighbors nnodes op outcount outdegree parent \
                       position rank rank_dest rank_source request result size string subversion ub valuelen version \
                       weighted win ";

/// Returns true if the argument `name` of an MPI function receives a single result.
pub const fn is_result(name: &str) -> bool {
    let (all, name) = (RESULTS.as_bytes(), name.as_bytes());
    let mut start = 1;
    let mut at = start;
    while at < all.len() {
        if all[at] == b' ' {
            if at - start == name.len() {
                let mut same = 0;
                while same < name.len() && all[start + same] == name[same] {
                    same += 1;
                }
                if same == name.len() {
                    return true;
                }
            }
            start = at + 1;
        }
        at += 1;
    }
    false
}

/// An argument of an MPI function. `(&Given(argument)).is_null()` resolves to [`Pointer`] for result pointers and to
/// [`Plain`] for other arguments.
pub struct Given<T>(pub T);

/// Null check for types of arguments that may be null.
pub trait Pointer {
    fn is_null(&self) -> bool;
}

impl<T> Pointer for Given<*mut T> {
    #[inline(always)]
    fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

/// Null check for types of arguments that are never null.
pub trait Plain {
    #[inline(always)]
    fn is_null(&self) -> bool {
        false
    }
}

impl<T> Plain for &Given<T> {}

/// Creates the error for the argument `name`, which is a null pointer.
#[cold]
pub fn no_room(name: &str) -> MpiError {
    MpiError::new(abi::MPI_ERR_ARG, format!("the argument {name} is null: expected room for a result"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_known_by_name_and_pointers_by_type() {
        assert!(is_result("newcomm") && is_result("address") && is_result("win") && is_result("comm"));
        assert!(!is_result("new") && !is_result("") && !is_result("buf") && !is_result("status"));
        assert!(Given(std::ptr::null_mut::<i32>()).is_null() && !Given(&mut 1 as *mut i32).is_null());
        assert!(!(&Given(0usize)).is_null() && !(&Given(std::ptr::null::<i32>())).is_null());
    }
}
