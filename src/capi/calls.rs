//! The MPI functions that programs call, by chapters of the standard, and the table by which the loader finds them.

#[macro_use]
mod define;
mod collectives;
mod comms;
mod environment;
mod groups;
mod intercomm;
mod operations;
mod point_to_point;
mod probe;
mod persistent;
mod waits;
mod windows;
mod windows_epochs;
mod windows_operations;

pub use define::Function;
pub use environment::wtime;
pub use probe::Matched;

/// The functions of all chapters, by name without the P of the profiling interface.
const CHAPTERS: &[&[(&str, Function)]] =
    &[
    collectives::TABLE, comms::TABLE, operations::TABLE, environment::TABLE, environment::VALUES, groups::TABLE, persistent::TABLE, point_to_point::TABLE, probe::TABLE, waits::TABLE,
    windows::TABLE, windows_epochs::TABLE, windows_operations::TABLE];

/// The address of the MPI function `name`, which may be a name of the profiling interface (MPI-3.1, section 14.2).
pub fn find(name: &str) -> Option<usize> {
    let name = name.strip_prefix('P').filter(|rest| rest.starts_with("MPI_")).unwrap_or(name);
    let mut all = CHAPTERS.iter().flat_map(|chapter| chapter.iter());
    all.find(|(known, _)| *known == name).map(|(_, function)| function.0 as usize)
}
