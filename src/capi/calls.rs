//! The MPI functions that programs call, by chapters of the standard, and the table by which the loader finds them.

#[macro_use]
mod define;
mod attributes;
mod collectives;
mod comms;
mod environment;
mod graphs;
mod groups;
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
    groups::TABLE,
    intercomms::TABLE,
    neighbours::TABLE,
    operations::TABLE,
    packing::TABLE,
    persistent::TABLE,
    point_to_point::TABLE,
    probe::TABLE,
    statuses::TABLE,
    topologies::TABLE,
    graphs::TABLE,
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
