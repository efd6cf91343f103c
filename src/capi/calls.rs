//! The MPI functions that programs call, by chapters of the standard, and the table by which the loader finds them.

#[macro_use]
mod define;
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
mod statuses;
mod topologies;
mod type_contents;
mod types;
mod waits;

pub use define::Function;
pub use environment::wtime;
pub use point_to_point::TAG_UB;
pub use probe::Matched;

/// The functions of all chapters, by name without the P of the profiling interface.
const CHAPTERS: &[&[(&str, Function)]] = &[
    attributes::TABLE,
    attributes::OLD_NAMES,
    collectives::TABLE,
    comms::TABLE,
    environment::TABLE,
    environment::VALUES,
    errors::TABLE,
    errors::OLD_NAMES,
    external::TABLE,
    fortran::TABLE,
    fortran::HANDLES,
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
    topologies::TABLE,
    type_contents::TABLE,
    type_contents::OTHER_NAMES,
    types::TABLE,
    types::OLD_NAMES,
    waits::TABLE,
];

/// The address of the MPI function `name`, which may be a name of the profiling interface (MPI-3.1, section 14.2).
pub fn find(name: &str) -> Option<usize> {
    let name = name.strip_prefix('P').filter(|rest| rest.starts_with("MPI_")).unwrap_or(name);
    let mut all = CHAPTERS.iter().flat_map(|chapter| chapter.iter());
    all.find(|(known, _)| *known == name).map(|(_, function)| function.0 as usize)
}

#[cfg(test)]
mod tests {
    use super::super::cc;
    use super::*;

    /// Functions of the header that no chapter has yet.
    const MISSING: &[&str] = &[
        "MPI_Accumulate",
        "MPI_Compare_and_swap",
        "MPI_Fetch_and_op",
        "MPI_Get",
        "MPI_Get_accumulate",
        "MPI_Put",
        "MPI_Raccumulate",
        "MPI_Rget",
        "MPI_Rget_accumulate",
        "MPI_Rput",
        "MPI_Win_allocate",
        "MPI_Win_allocate_shared",
        "MPI_Win_attach",
        "MPI_Win_complete",
        "MPI_Win_create",
        "MPI_Win_create_dynamic",
        "MPI_Win_detach",
        "MPI_Win_fence",
        "MPI_Win_flush",
        "MPI_Win_flush_all",
        "MPI_Win_flush_local",
        "MPI_Win_flush_local_all",
        "MPI_Win_free",
        "MPI_Win_get_group",
        "MPI_Win_get_info",
        "MPI_Win_get_name",
        "MPI_Win_lock",
        "MPI_Win_lock_all",
        "MPI_Win_post",
        "MPI_Win_set_info",
        "MPI_Win_set_name",
        "MPI_Win_shared_query",
        "MPI_Win_start",
        "MPI_Win_sync",
        "MPI_Win_test",
        "MPI_Win_unlock",
        "MPI_Win_unlock_all",
        "MPI_Win_wait",
    ];

    #[test]
    fn every_function_of_the_header_is_there() {
        let missing: Vec<String> = cc::functions().into_iter().filter(|name| find(name).is_none()).collect();
        let unknown: Vec<&String> = missing.iter().filter(|name| !MISSING.contains(&name.as_str())).collect();
        assert!(unknown.is_empty(), "no chapter has {unknown:?}");
        let stale: Vec<&&str> = MISSING.iter().filter(|name| !missing.iter().any(|found| found == **name)).collect();
        assert!(stale.is_empty(), "to be taken out of MISSING: {stale:?}");
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
