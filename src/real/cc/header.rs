//! Headers such as `mpi.h` for programs, and the names of the functions that the headers declare.

/// Names and contents of the files in the include directory.
pub(super) const HEADERS: [(&str, &str); 4] = [
    ("mpi.h", include_str!("include/mpi.h")),
    ("mcpsim_functions.h", FUNCTIONS),
    ("mcpsim.h", include_str!("include/mcpsim.h")),
    ("mpi-ext.h", include_str!("include/mpi-ext.h")),
];

const FUNCTIONS: &str = include_str!("include/mcpsim_functions.h");

/// Names of the functions that `mcpsim.h` declares.
pub const HOST_FUNCTIONS: [&str; 5] =
    ["mcpsim_sample_begin", "mcpsim_sample_end", "mcpsim_compute", "mcpsim_shared_malloc", "mcpsim_shared_free"];

/// Names of the simulator's functions that support files call: `dlopen` and related functions (`opens.c`), and BLAS
/// functions that compute nothing (`blas.c`).
pub(super) const SUPPORT_FUNCTIONS: [&str; 6] =
    ["mcpsim_dlopen", "mcpsim_dlmopen", "mcpsim_dlsym", "mcpsim_dlvsym", "mcpsim_kernel", "mcpsim_kernel_index"];

/// Returns the names of the functions in `mpi.h`, such as `MPI_Init`. Each MPI function also has a profiling name such
/// as `PMPI_Init`.
pub fn functions() -> Vec<String> {
    let names = FUNCTIONS.split("MPI_FN(").skip(1);
    names.filter_map(|rest| Some(format!("MPI_{}", rest.split_once(')')?.0))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_are_found_once_each() {
        let mut names = functions();
        for name in
            ["MPI_Init", "MPI_Wtime", "MPI_Comm_f2c", "MPI_Type_struct", "MPI_Win_sync", "MPI_Ineighbor_alltoallw"]
        {
            assert!(names.iter().any(|found| found == name), "{name}");
        }
        assert!(names.len() > 300, "{}", names.len());
        assert!(names.iter().all(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')), "{names:?}");
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn the_simulators_own_functions_are_declared() {
        for name in HOST_FUNCTIONS {
            assert!([" ", "*"].iter().any(|before| HEADERS[2].1.contains(&format!("{before}{name}("))), "{name}");
        }
    }
}
