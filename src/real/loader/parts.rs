//! What all instances of a program share, or of a library that ranks open: its files, the layout and the work left for
//! each.

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
use super::search::{Search, Sharing, other_mpi};

/// What all instances of a group of files share: the program with its libraries, or a library that ranks open with
/// those it needs.
pub(super) struct ModuleParts {
    /// The number of the first module among all of the run.
    pub first: usize,
    /// The program first, or the library that is opened.
    pub modules: Vec<Module>,
    /// Libraries that all ranks share.
    pub shared: Vec<Shared>,
    /// The files of these, of those that the user wants shared.
    pub told: Vec<String>,
    pub layout: InstanceLayout,
    pub fixups: Fixups,
    /// The modules in the order in which they are initialised.
    pub order: Vec<usize>,
}

/// A file of which each instance has its own. Places are offsets in an instance.
pub(super) struct Module {
    pub path: PathBuf,
    /// The name by which others need it, if it has one.
    pub name: Option<String>,
    pub file: File,
    /// The modules of the group that it needs, and those of other groups.
    pub needs: Vec<usize>,
    pub known: Vec<Known>,
    /// Where libraries that it opens are looked for.
    pub search: Search,
    /// Its program headers, as an offset, and their number.
    pub headers: (usize, u16),
    /// The dynamic section.
    pub dynamic: usize,
    /// Whether it stays to the end once it is opened.
    pub stays: bool,
    pub exports: Exports,
    pub initialisers: Functions,
    pub finalisers: Functions,
    /// The call frame information, where exceptions may need it.
    pub frames: Option<usize>,
    /// The table by which such information is searched, whether or not exceptions may need it.
    pub frame_table: Option<usize>,
}

/// Functions to run at the beginning or the end.
pub(super) struct Functions {
    pub once: Option<usize>,
    /// Where it is, and its length.
    pub array: (usize, usize),
}

impl ModuleParts {
    /// Those of a program.
    pub fn of_program(program: ModuleSource, host: &dyn Host, sharing: &Sharing) -> Result<ModuleParts, ImageError> {
        match note::is_program(&program.bytes) {
            FileKind::Program => {}
            FileKind::NotElf => return Err(FileFault::NotElf.of(&program.path)),
            FileKind::OtherFormat(format) => return Err(FileFault::OtherFormat(format).of(&program.path)),
            // What else is wrong with it says more.
            FileKind::Unmarked => return Err(unmarked(&program).of(&program.path)),
        }
        ModuleParts::new(program, host, sharing, SearchScope::default(), &|_| None)
    }

    /// Those of a file and what it needs, after what is in `scope`; `loaded` knows the modules there.
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
    /// Whether they use anything of a group of what they were linked with.
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

/// What is wrong with a file that `mcpsim cc` has not marked.
fn unmarked(program: &ModuleSource) -> FileFault {
    let elf = match Elf::parse(&program.bytes) {
        Ok(elf) => elf,
        Err(fault) => return fault,
    };
    let needed = elf.names(elf::DT_NEEDED).unwrap_or_default();
    let other = needed.into_iter().find(|name| other_mpi(name));
    other.map_or(FileFault::NotAProgram, |name| FileFault::OtherMpi(name.to_owned()))
}

/// What a module has besides its source.
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
        // As other loaders have it: objects that are one in the whole process may be used by anybody.
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
