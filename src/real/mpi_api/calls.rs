//! MPI functions that simulated programs call. The modules follow the chapters of the MPI standard. The loader finds
//! the MPI functions in the table of the module `calls`.

#[macro_use]
mod define;
mod absent;
mod attributes;
mod collectives;
mod comms;
mod environment;
mod errors;
mod external;
mod fortran;
mod graphs;
mod groups;
mod infos;
mod intercomm;
mod intercomms;
mod neighbours;
mod operations;
mod packing;
mod persistent;
mod point_to_point;
mod probe;
mod results;
mod statuses;
mod tools;
mod topologies;
mod type_contents;
mod types;
mod waits;
mod windows;
mod windows_epochs;
mod windows_operations;

pub use point_to_point::TAG_UB;
pub use probe::Matched;
pub use waits::KnownArray;

use std::ffi::c_int;

use mcpsim_core::mpi::abi;

use crate::mpi_api::error::MpiError;
use crate::process::Function;

/// Tables of the MPI functions of all chapters of the MPI standard. Function names in the tables start with MPI_, not
/// PMPI_.
const CHAPTERS: &[&[(&str, Function)]] = &[
    absent::TABLE,
    attributes::OLD_NAMES,
    attributes::TABLE,
    collectives::TABLE,
    comms::TABLE,
    environment::TABLE,
    environment::VALUES,
    errors::OLD_NAMES,
    errors::TABLE,
    external::TABLE,
    fortran::HANDLES,
    fortran::TABLE,
    graphs::TABLE,
    groups::TABLE,
    infos::TABLE,
    intercomms::TABLE,
    neighbours::TABLE,
    operations::TABLE,
    packing::TABLE,
    persistent::TABLE,
    point_to_point::TABLE,
    probe::TABLE,
    statuses::TABLE,
    tools::TABLE,
    topologies::TABLE,
    type_contents::OTHER_NAMES,
    type_contents::TABLE,
    types::OLD_NAMES,
    types::TABLE,
    waits::TABLE,
    windows::TABLE,
    windows_epochs::TABLE,
    windows_operations::TABLE,
];

pub use comms::group_sizes;

/// Reports to the error handler of the world communicator that the program has called the MPI function `name`, which
/// mcpsim lacks. Returns the error code.
pub fn unsupported(name: &'static str) -> c_int {
    define::run(name, |_| {
        Err(MpiError::new(abi::MPI_ERR_UNSUPPORTED_OPERATION, "mcpsim does not simulate this function"))
    })
}

/// Ends the run, because mcpsim does not simulate `call`.
pub fn end_unsupported(call: &str) -> ! {
    let what = format!("{call}: mcpsim does not simulate this function");
    match crate::process::current() {
        Some(p) => p.fail(mcpsim_core::rank::FailureKind::Error, what),
        None => crate::process::job::fatal(&what, None),
    }
}

/// Returns the address of the MPI function `name`, which may be a name of the profiling interface (MPI-3.1, section
/// 14.2).
pub fn find(name: &str) -> Option<usize> {
    let name = name.strip_prefix('P').filter(|rest| rest.starts_with("MPI_")).unwrap_or(name);
    let mut all = CHAPTERS.iter().flat_map(|chapter| chapter.iter());
    all.find(|(known, _)| *known == name).map(|(_, function)| function.0 as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc;

    #[test]
    fn every_function_of_the_header_is_there() {
        let missing: Vec<String> = cc::functions().into_iter().filter(|name| find(name).is_none()).collect();
        assert!(missing.is_empty(), "no chapter has {missing:?}");
    }

    #[test]
    fn no_chapter_has_what_another_has_or_the_header_has_not() {
        let header = cc::functions();
        let mut names: Vec<&str> = CHAPTERS.iter().flat_map(|chapter| chapter.iter()).map(|(name, _)| *name).collect();
        let strange: Vec<&&str> = names.iter().filter(|name| !header.iter().any(|known| known == **name)).collect();
        assert!(strange.is_empty(), "the header has no {strange:?}");
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        assert_eq!(find("PMPI_Type_struct"), find("MPI_Type_create_struct"));
    }
}
