//! Linked files of a program or of a library opened by a rank: files, memory layout and the values to write into each
//! instance. All instances share the linked files.

use std::fs::File;
use std::path::{Path, PathBuf};

use object::elf::{self, DynamicTag};

use super::Host;
use super::elf::Elf;
use super::error::{FileFault, ImageError, malformed};
use super::exports::Exports;
use super::frames;
use super::layout::{InstanceLayout, Place};
use super::library::{Known, Libraries, ModuleSource, Shared};
use super::link::{self, Fixups, SearchScope, Storage};
use super::note::{self, FileKind};
use super::search::{Search, Sharing, is_stub, other_mpi};

/// Linked files of a link group, which all instances share. The files are a program with its libraries, or a library
/// opened by a rank with the library's dependencies.
pub(super) struct ModuleParts {
    /// Identifier of the first module of the link group. Module identifiers are unique in a run.
    pub first: usize,
    /// Modules of the link group. The first module is the program or the opened library.
    pub modules: Vec<Module>,
    /// Libraries that the modules need and that all ranks share.
    pub shared: Vec<Shared>,
    /// Files of shared libraries that are reported to the user.
    pub told: Vec<String>,
    pub layout: InstanceLayout,
    pub fixups: Fixups,
    /// Indices of the modules in the order in which their initialisers run.
    pub order: Vec<usize>,
}

/// A program or library file of which each instance has a separate copy. Positions in the fields are offsets in an
/// instance.
pub(super) struct Module {
    pub path: PathBuf,
    /// Name by which other files refer to the module (`DT_SONAME`), if the module has a name.
    pub name: Option<String>,
    pub file: File,
    /// Indices of those needed modules that are in the same link group. The next field lists needed modules of other
    /// link groups.
    pub needs: Vec<usize>,
    pub known: Vec<Known>,
    /// Search path for libraries that code of the module opens.
    pub search: Search,
    /// Offset and number of the module's ELF program headers.
    pub headers: (usize, u16),
    /// Offset of the module's dynamic section.
    pub dynamic: usize,
    /// True if the module remains loaded after `dlclose`.
    pub stays: bool,
    pub exports: Exports,
    pub initialisers: Functions,
    pub finalisers: Functions,
    /// Offset of the call frame information, if the module throws exceptions or walks the stack.
    pub frames: Option<usize>,
    /// Offset of the search table of call frame information, whether or not the module uses exceptions.
    pub frame_table: Option<usize>,
}

/// Initialisers or finalisers of a module.
pub(super) struct Functions {
    pub once: Option<usize>,
    /// Offset of the array of functions, and number of functions in the array.
    pub array: (usize, usize),
}

impl ModuleParts {
    /// Links the program with its libraries.
    pub fn of_program(program: ModuleSource, host: &dyn Host, sharing: &Sharing) -> Result<ModuleParts, ImageError> {
        match note::is_program(&program.bytes) {
            FileKind::Program => {}
            FileKind::NotElf => return Err(FileFault::NotElf.of(&program.path)),
            FileKind::OtherFormat(format) => return Err(FileFault::OtherFormat(format).of(&program.path)),
            // Other faults of the file are checked before a missing marker, because messages about other faults are
            // more specific.
            FileKind::Unmarked => return Err(unmarked(&program).of(&program.path)),
        }
        ModuleParts::new(program, host, sharing, SearchScope::default(), &|_| None)
    }

    /// Links a library file with its dependencies and with the link groups in `scope`. `loaded` returns the module
    /// with a path if one of the link groups contains such a module.
    pub fn new(
        file: ModuleSource,
        host: &dyn Host,
        sharing: &Sharing,
        scope: SearchScope,
        loaded: &dyn Fn(&Path) -> Option<Known>,
    ) -> Result<ModuleParts, ImageError> {
        let first = file.path.clone();
        ModuleParts::linked(file, host, sharing, scope, loaded).map_err(|error| {
            match error.path == first && scope.groups.is_empty() {
                true => error,
                false => error.of_library(),
            }
        })
    }

    fn linked(
        file: ModuleSource,
        host: &dyn Host,
        sharing: &Sharing,
        scope: SearchScope,
        loaded: &dyn Fn(&Path) -> Option<Known>,
    ) -> Result<ModuleParts, ImageError> {
        let mut libraries = Libraries::find(file, sharing, loaded)?;
        let (layout, fixups, rests) = {
            let sources = libraries.sources.iter();
            let parse = sources.map(|source| Elf::parse(&source.bytes).map_err(|fault| fault.of(&source.path)));
            let elfs = parse.collect::<Result<Vec<_>, _>>()?;
            let mut layout = InstanceLayout::new(&elfs).map_err(|fault| fault.of(&libraries.sources[0].path))?;
            let fixups = link::link(&elfs, &libraries, &mut layout, host, scope)?;
            let unwinds = elfs.iter().any(frames::unwinds);
            let rests = elfs.iter().zip(&layout.places).zip(&libraries.sources).map(|((elf, &place), source)| {
                Remainder::new(elf, place, &source.path, unwinds).map_err(|fault| fault.of(&source.path))
            });
            let rests = rests.collect::<Result<Vec<_>, ImageError>>()?;
            (layout, fixups, rests)
        };
        let order = libraries.order();
        let modules = libraries.sources.drain(..).zip(rests).map(|(source, rest)| {
            let ModuleSource { path, file, needs, known, .. } = source;
            let Remainder { name, search, headers, dynamic, stays, initialisers, finalisers, frames, frame_table } =
                rest;
            let exports = Exports::default();
            Module {
                path,
                name,
                file,
                needs,
                known,
                search,
                headers,
                dynamic,
                stays,
                exports,
                initialisers,
                finalisers,
                frames,
                frame_table,
            }
        });
        let Libraries { shared, told, .. } = libraries;
        Ok(ModuleParts { first: 0, modules: modules.collect(), shared, told, layout, fixups, order })
    }
}

impl ModuleParts {
    /// Returns true if a module or a relocation refers to the link group with the index `group` in the scope.
    pub fn needs(&self, group: usize) -> bool {
        let fixups = &self.fixups;
        fixups.outer.iter().any(|(_, outer, _)| outer.group == group)
            || fixups.outer_descriptors.iter().any(|&(_, outer, _)| outer == group)
            || fixups
                .distances
                .iter()
                .any(|(_, storage, _)| matches!(storage, Storage::Outer(outer, _) if *outer == group))
            || self.modules.iter().any(|module| module.known.iter().any(|known| known.group == group))
    }
}

/// Returns the fault to report for a program file without the marker of `mcpsim cc`.
fn unmarked(program: &ModuleSource) -> FileFault {
    let elf = match Elf::parse(&program.bytes) {
        Ok(elf) => elf,
        Err(fault) => return fault,
    };
    let needed = elf.names(elf::DT_NEEDED).unwrap_or_default();
    let is_executable = elf.entry(elf::DT_FLAGS_1).unwrap_or(0) & elf::DF_1_PIE.0 != 0;
    if is_executable && needed.is_empty() {
        return FileFault::OtherKind(super::error::STATIC.into());
    }
    if is_executable && needed.iter().any(|name| is_stub(name)) {
        return FileFault::OtherLinker;
    }
    let other = needed.into_iter().find(|name| other_mpi(name));
    other.map_or(FileFault::NotAProgram, |name| FileFault::OtherMpi(name.to_owned()))
}

/// Fields of [`Module`] that are computed from the ELF file.
struct Remainder {
    name: Option<String>,
    search: Search,
    headers: (usize, u16),
    dynamic: usize,
    stays: bool,
    initialisers: Functions,
    finalisers: Functions,
    frames: Option<usize>,
    frame_table: Option<usize>,
}

impl Remainder {
    fn new(elf: &Elf, place: Place, path: &Path, unwinds: bool) -> Result<Remainder, FileFault> {
        let found = frames::find(elf);
        let functions = |once, array, size| functions(elf, place, once, array, size);
        let initialisers = functions(elf::DT_INIT, elf::DT_INIT_ARRAY, elf::DT_INIT_ARRAYSZ)?;
        let finalisers = functions(elf::DT_FINI, elf::DT_FINI_ARRAY, elf::DT_FINI_ARRAYSZ)?;
        // A module that defines `STB_GNU_UNIQUE` symbols remains loaded after `dlclose`, as with the system's loader.
        let unique = || elf.symbols().flatten().any(|symbol| symbol.defined && symbol.bind == elf::STB_GNU_UNIQUE);
        let flags = elf.entry(elf::DT_FLAGS_1).unwrap_or(0);
        Ok(Remainder {
            name: elf.names(elf::DT_SONAME)?.first().map(|&name| name.to_owned()),
            search: Search::new(elf, path)?,
            headers: (place.offset(place.first.wrapping_add(elf.headers.0)), elf.headers.1),
            dynamic: place.offset(elf.dynamic_address),
            stays: flags & elf::DF_1_NODELETE.0 != 0 || elf.tls.is_some() || unique(),
            initialisers,
            finalisers,
            frames: found.filter(|_| unwinds).map(|address| place.offset(address)),
            frame_table: elf.frame_header.filter(|_| found.is_some()).map(|address| place.offset(address)),
        })
    }
}

fn functions(
    elf: &Elf,
    place: Place,
    once: DynamicTag,
    array: DynamicTag,
    size: DynamicTag,
) -> Result<Functions, FileFault> {
    let once = elf.entry(once).filter(|&address| address != 0);
    if let Some(address) = once.filter(|&address| !elf.is_code(address)) {
        return malformed(format!("the function at {address:#x} is no code"));
    }
    let length = elf.entry(size).unwrap_or(0);
    let array = elf.entry(array).filter(|_| length > 0);
    if let Some(address) = array.filter(|&address| !elf.is_writable(address, length)) {
        return malformed(format!("the array of functions at {address:#x} is not in its data"));
    }
    Ok(Functions {
        once: once.map(|address| place.offset(address)),
        array: array.map_or((0, 0), |address| (place.offset(address), (length / 8) as usize)),
    })
}
