//! Programs that `mcpsim cc` has not built: their MPI library and their execution.

use crate::loader::STUB;

/// An MPI library that mcpsim can replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MpiLibrary {
    /// Open MPI 4.
    OpenMpi,
    /// MPICH and libraries with its binary interface.
    Mpich,
    /// Libraries with the standard binary interface of MPI 5.
    Standard,
}

impl MpiLibrary {
    /// All libraries, in the order of mcpsim's files.
    pub const ALL: [MpiLibrary; 3] = [MpiLibrary::OpenMpi, MpiLibrary::Mpich, MpiLibrary::Standard];

    /// Returns the name of the library in results.
    pub fn name(self) -> &'static str {
        match self {
            MpiLibrary::OpenMpi => "Open MPI 4",
            MpiLibrary::Mpich => "MPICH",
            MpiLibrary::Standard => "the MPI 5 ABI",
        }
    }

    /// File name of mcpsim's library that replaces the library.
    pub fn file(self) -> &'static str {
        match self {
            MpiLibrary::OpenMpi => "libmcpsim_openmpi.so",
            MpiLibrary::Mpich => "libmcpsim_mpich.so",
            MpiLibrary::Standard => "libmcpsim_mpi_abi.so",
        }
    }

    /// Returns the library with the file name `name`, if mcpsim can replace it.
    pub fn named(name: &str) -> Option<MpiLibrary> {
        match name {
            "libmpi.so.40" => Some(MpiLibrary::OpenMpi),
            "libmpi.so.12" | "libmpich.so.12" => Some(MpiLibrary::Mpich),
            "libmpi_abi.so.0" | "libmpi_abi.so.1" => Some(MpiLibrary::Standard),
            _ => None,
        }
    }
}

/// Returns the names of the libraries that the program with the content `data` needs.
fn needed(data: &[u8]) -> Option<Vec<String>> {
    use object::read::elf::{Dyn, FileHeader};
    let header = object::elf::FileHeader64::<object::Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    if header.e_machine(endian) != object::elf::EM_X86_64 {
        return None;
    }
    let sections = header.sections(endian, data).ok()?;
    let (entries, link) = sections.dynamic(endian, data).ok()??;
    let strings = sections.strings(endian, data, link).ok()?;
    let is_name = |entry: &&object::elf::Dyn64<object::Endianness>| entry.d_tag(endian) == object::elf::DT_NEEDED;
    let names = entries.iter().filter(is_name);
    let text = |entry: &object::elf::Dyn64<object::Endianness>| {
        Some(String::from_utf8_lossy(entry.string(endian, strings).ok()?).into_owned())
    };
    Some(names.filter_map(text).collect())
}

/// Execution of a program file that `mcpsim cc` has not built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignProgram {
    /// The program is linked with an MPI library that mcpsim can replace.
    Linked(MpiLibrary),
    /// The program may load an MPI library or start a program that does: a script, an interpreter or a launcher.
    Launcher,
    /// The program cannot run as processes.
    Unsupported,
}

impl ForeignProgram {
    /// Returns the execution of a program file with the content `data`.
    pub fn of(data: &[u8]) -> ForeignProgram {
        if data.starts_with(b"#!") {
            return ForeignProgram::Launcher;
        }
        let Some(names) = needed(data) else { return ForeignProgram::Unsupported };
        if let Some(library) = names.iter().find_map(|name| MpiLibrary::named(name)) {
            return ForeignProgram::Linked(library);
        }
        if names.is_empty() {
            return ForeignProgram::Unsupported;
        }
        // The Fortran libraries of an MPI library have names of their own and need that library.
        let is_other = |name: &String| ["libmpi.so", "libmpi_abi.so", STUB].iter().any(|start| name.starts_with(start));
        if names.iter().any(is_other) { ForeignProgram::Unsupported } else { ForeignProgram::Launcher }
    }
}
