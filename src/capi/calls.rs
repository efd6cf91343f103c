//! The MPI functions that programs call, by chapters of the standard, and the table by which the loader finds them.

#[macro_use]
mod define;
mod attributes;
mod collectives;
mod comms;
mod environment;
mod groups;
mod errors;
mod external;
mod fortran;
mod infos;
mod intercomm;
mod operations;
mod packing;
mod persistent;
mod point_to_point;
mod probe;
mod statuses;
mod type_contents;
mod types;
mod waits;
mod windows;
mod windows_epochs;
mod windows_operations;

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
    groups::TABLE,
    infos::TABLE,
    operations::TABLE,
    packing::TABLE,
    persistent::TABLE,
    point_to_point::TABLE,
    probe::TABLE,
    statuses::TABLE,
    type_contents::TABLE,
    type_contents::OTHER_NAMES,
    types::TABLE,
    types::OLD_NAMES,
    waits::TABLE,
    windows::TABLE,
    windows_epochs::TABLE,
    windows_operations::TABLE,
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
        "MPI_Cart_coords",
        "MPI_Cart_create",
        "MPI_Cart_get",
        "MPI_Cart_map",
        "MPI_Cart_rank",
        "MPI_Cart_shift",
        "MPI_Cart_sub",
        "MPI_Cartdim_get",
        "MPI_Comm_compare",
        "MPI_Comm_create",
        "MPI_Comm_create_group",
        "MPI_Comm_disconnect",
        "MPI_Comm_dup",
        "MPI_Comm_dup_with_info",
        "MPI_Comm_free",
        "MPI_Comm_get_name",
        "MPI_Comm_get_parent",
        "MPI_Comm_group",
        "MPI_Comm_idup",
        "MPI_Comm_idup_with_info",
        "MPI_Comm_remote_group",
        "MPI_Comm_remote_size",
        "MPI_Comm_set_name",
        "MPI_Comm_split",
        "MPI_Comm_split_type",
        "MPI_Comm_test_inter",
        "MPI_Compare_and_swap",
        "MPI_Dims_create",
        "MPI_Dist_graph_create",
        "MPI_Dist_graph_create_adjacent",
        "MPI_Dist_graph_neighbors",
        "MPI_Dist_graph_neighbors_count",
        "MPI_Fetch_and_op",
        "MPI_Get",
        "MPI_Get_accumulate",
        "MPI_Graph_create",
        "MPI_Graph_get",
        "MPI_Graph_map",
        "MPI_Graph_neighbors",
        "MPI_Graph_neighbors_count",
        "MPI_Graphdims_get",
        "MPI_Group_compare",
        "MPI_Group_difference",
        "MPI_Group_excl",
        "MPI_Group_free",
        "MPI_Group_incl",
        "MPI_Group_intersection",
        "MPI_Group_range_excl",
        "MPI_Group_range_incl",
        "MPI_Group_rank",
        "MPI_Group_size",
        "MPI_Group_translate_ranks",
        "MPI_Group_union",
        "MPI_Ineighbor_allgather",
        "MPI_Ineighbor_allgatherv",
        "MPI_Ineighbor_alltoall",
        "MPI_Ineighbor_alltoallv",
        "MPI_Ineighbor_alltoallw",
        "MPI_Intercomm_create",
        "MPI_Intercomm_merge",
        "MPI_Neighbor_allgather",
        "MPI_Neighbor_allgatherv",
        "MPI_Neighbor_alltoall",
        "MPI_Neighbor_alltoallv",
        "MPI_Neighbor_alltoallw",
        "MPI_Put",
        "MPI_Raccumulate",
        "MPI_Rget",
        "MPI_Rget_accumulate",
        "MPI_Rput",
        "MPI_Topo_test",
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
