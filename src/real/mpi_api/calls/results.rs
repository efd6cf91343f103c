//! Room for results: what MPI functions give through pointers, for which a null pointer is an error and no crash.

use crate::mpi_api::error::MpiError;
use mcpsim_core::mpi::abi;

/// The names of arguments by which functions give a single result, where they are pointers.
const RESULTS: &str = " address baseptr class code combiner comm comm_cart comm_dist_graph comm_graph commute count datatype \
                       extent flag group handler indegree info key lb length message name ndims nedges newcomm newgroup \
                       newintercomm newintracomm newrank newtype nkeys nneighbors nnodes op outcount outdegree parent \
                       position rank rank_dest rank_source request result size string subversion ub valuelen version \
                       weighted win ";

/// Whether the argument `name` is where a function puts a result.
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

/// An argument of an MPI function. `(&Given(argument)).is_null()` is that of [`Pointer`] if it is a pointer to results,
/// and that of [`Plain`] otherwise.
pub struct Given<T>(pub T);

/// Arguments that can be null.
pub trait Pointer {
    fn is_null(&self) -> bool;
}

impl<T> Pointer for Given<*mut T> {
    #[inline(always)]
    fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

/// Arguments that cannot.
pub trait Plain {
    #[inline(always)]
    fn is_null(&self) -> bool {
        false
    }
}

impl<T> Plain for &Given<T> {}

/// There is no room for the result `name`.
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
