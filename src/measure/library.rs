//! Properties of the MPI library: its version text, which selects the algorithms of collectives, and the costs of its
//! datatypes, copies and reductions.
//!
//! | key | from |
//! |---|---|
//! | collectives.library | the result of MPI_Get_library_version, if platforms know the library |
//! | collectives.datatype_overhead, block_overhead | time to create, commit, pack, unpack and free a datatype of separate blocks: the straight line through one and many blocks |
//! | core.in_cache | the lower rate of two operations on 256 KiB: a rank's alltoall with itself (moves 2 bytes per byte), and MPI_Reduce_local (moves 3) |

use std::fmt::Write;

use mcpsim_core::platform::Library;

use super::text::{comment, overhead};

/// Number of blocks of the derived datatype with many blocks.
pub const MANY_BLOCKS: u32 = 32;

/// Size of the timed copies and reductions in a rank's own memory, bytes. Two such buffers fit in the caches of a core.
pub const OWN_BYTES: u64 = 256 << 10;

/// Properties of the MPI library that ran the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeasuredLibrary {
    /// The MPI library, if mcpsim knows the library.
    pub library: Option<Library>,
    /// Times of a derived datatype with one block and of a datatype with [`MANY_BLOCKS`] blocks, seconds.
    pub datatypes: Option<[f64; 2]>,
    /// Times of a copy and of a reduction of [`OWN_BYTES`] bytes in caches, seconds.
    pub own_data: Option<[f64; 2]>,
}

impl MeasuredLibrary {
    /// Creates the properties of an MPI library from the library's version text, and from the times of datatypes,
    /// copies and reductions.
    pub fn new(version: &str, datatypes: [f64; 2], own_data: [f64; 2]) -> MeasuredLibrary {
        MeasuredLibrary { library: known(version), datatypes: Some(datatypes), own_data: Some(own_data) }
    }

    /// Returns the rate at which copies and reductions move data in caches, bytes per second.
    pub(super) fn moves_in_caches(&self) -> Option<f64> {
        let [copied, added] = self.own_data.filter(|times| times.iter().all(|time| *time > 0.0))?;
        let bytes = OWN_BYTES as f64;
        Some((2.0 * bytes / copied).min(3.0 * bytes / added))
    }

    /// Returns the table `collectives` of a platform file; the text is empty without measured properties.
    pub(super) fn text(&self) -> String {
        let mut keys = String::new();
        if let Some(library) = self.library {
            let _ = writeln!(keys, "library = \"{}\"", library.name());
        }
        if let Some([one, many]) = self.datatypes {
            // The datatype test packs and unpacks each block once.
            let block = ((many - one) / f64::from(2 * (MANY_BLOCKS - 1))).max(0.0);
            let datatype = (one - 2.0 * block).max(0.0);
            comment(
                &mut keys,
                &format!("Blocks of 8 B as a datatype, made, packed, unpacked, freed: 1 and {MANY_BLOCKS} of them."),
            );
            let _ = writeln!(
                keys,
                "datatype_overhead = \"{}\"\nblock_overhead = \"{}\"",
                overhead(datatype),
                overhead(block)
            );
        }
        if keys.is_empty() { keys } else { format!("\n[collectives]\n{keys}") }
    }
}

/// Returns the MPI library with the version text `version`, such as "Open MPI v4.1.4, …" or "MPICH Version:\t4.0.2 …".
fn known(version: &str) -> Option<Library> {
    let number = |name: &str| Some(version.trim_start().strip_prefix(name)?.trim_start());
    if let Some(number) = number("Open MPI v") {
        let release =
            |library: &Library| library.name().strip_prefix("openmpi-").is_some_and(|of| number.starts_with(of));
        return Library::ALL.into_iter().find(release);
    }
    number("MPICH Version:")?.starts_with("4.").then_some(Library::Mpich4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_what_they_call_themselves() {
        let of = |version| known(version).map(Library::name);
        assert_eq!(of("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), Some("openmpi-4.1"));
        assert_eq!(of("Open MPI v4.0.5"), Some("openmpi-4.0"));
        assert_eq!(of("Open MPI v5.0.8"), Some("openmpi-5.0"));
        assert_eq!(of("MPICH Version:\t4.0.2"), Some("mpich-4"));
        assert_eq!(of("MPICH Version:      4.3.0\nMPICH Release date: 2025"), Some("mpich-4"));
        for other in ["", "Open MPI v3.1.6", "Open MPI v6.0.0", "MPICH Version:\t3.4.3", "MVAPICH2 Version: 2.3.7"] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn a_datatype_costs_what_one_without_blocks_would() {
        // A datatype takes 500 ns, and per block 20 ns for packing and 20 ns for unpacking.
        let datatypes = [540e-9, (500 + 32 * 40) as f64 * 1e-9];
        let measured = MeasuredLibrary::new("MVAPICH2 Version: 2.3.7", datatypes, [0.0; 2]);
        let text = measured.text();
        assert!(text.starts_with("\n[collectives]\n# "), "{text}");
        assert!(text.ends_with("datatype_overhead = \"500.0 ns\"\nblock_overhead = \"20.00 ns\"\n"), "{text}");
        // If noise makes many blocks faster than one block, the cost per block is zero, not negative.
        let noisy = MeasuredLibrary { datatypes: Some([3e-7, 2e-7]), ..MeasuredLibrary::default() }.text();
        assert!(noisy.ends_with("datatype_overhead = \"300.0 ns\"\nblock_overhead = \"0 s\"\n"), "{noisy}");
        assert_eq!(MeasuredLibrary::default().text(), "");
        let known = MeasuredLibrary { library: Some(Library::Mpich4), ..MeasuredLibrary::default() };
        assert_eq!(known.text(), "\n[collectives]\nlibrary = \"mpich-4\"\n");
    }

    #[test]
    fn in_caches_the_slower_of_copies_and_sums_counts() {
        let moves = |own_data| MeasuredLibrary { own_data, ..MeasuredLibrary::default() }.moves_in_caches();
        // A copy of 256 KiB moves 512 KiB, a reduction 768 KiB.
        assert_eq!(moves(Some([8e-6, 16e-6])), Some(786_432.0 / 16e-6));
        assert_eq!(moves(Some([16e-6, 8e-6])), Some(524_288.0 / 16e-6));
        // A coarse clock may measure times of zero, from which the code derives no rate.
        assert_eq!((moves(Some([0.0, 8e-6])), moves(None)), (None, None));
    }
}
