//! What all instances of a program share: its files, the layout and the work that is left for each.

use std::fs::File;
use std::path::PathBuf;

use object::elf::{self, DynamicTag};

use super::Host;
use super::elf::Elf;
use super::error::{Fault, ImageError, malformed};
use super::frames;
use super::layout::{Layout, Place};
use super::library::{Libraries, Source};
use super::link::{self, Fixups};
use super::note::{self, Kind};

/// What all instances of a program share.
pub(super) struct Parts {
    /// The program first.
    pub modules: Vec<Module>,
    pub layout: Layout,
    pub fixups: Fixups,
    /// The modules in the order in which they are initialised.
    pub order: Vec<usize>,
}

/// A file of which each instance has its own. Places are offsets in an instance.
pub(super) struct Module {
    pub path: PathBuf,
    pub file: File,
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

impl Parts {
    /// Those of a program.
    pub fn new(program: Source, host: &dyn Host) -> Result<Parts, ImageError> {
        match note::is_program(&program.bytes) {
            Kind::Program => {}
            Kind::NotElf => return Err(Fault::NotElf.of(&program.path)),
            Kind::OtherFormat(format) => return Err(Fault::OtherFormat(format).of(&program.path)),
            // What else is wrong with it says more.
            Kind::Unmarked => {
                let fault = Elf::parse(&program.bytes).err();
                return Err(fault.unwrap_or(Fault::NotAProgram).of(&program.path));
            }
        }
        let mut libraries = Libraries::find(program)?;
        let (layout, fixups, modules) = {
            let sources = libraries.sources.iter();
            let parse = sources.map(|source| Elf::parse(&source.bytes).map_err(|fault| fault.of(&source.path)));
            let elfs = parse.collect::<Result<Vec<_>, _>>()?;
            let mut layout = Layout::new(&elfs).map_err(|fault| fault.of(&libraries.sources[0].path))?;
            let fixups = link::link(&elfs, &libraries, &mut layout, host)?;
            let unwinds = elfs.iter().any(frames::unwinds);
            let modules = elfs.iter().zip(&layout.places).zip(&libraries.sources).map(|((elf, &place), source)| {
                let found = frames::find(elf);
                let frames = found.filter(|_| unwinds).map(|address| place.offset(address));
                let frame_table = elf.frame_header.filter(|_| found.is_some()).map(|address| place.offset(address));
                let functions = |once, array, size| functions(elf, place, once, array, size);
                let initialisers = functions(elf::DT_INIT, elf::DT_INIT_ARRAY, elf::DT_INIT_ARRAYSZ);
                let finalisers = functions(elf::DT_FINI, elf::DT_FINI_ARRAY, elf::DT_FINI_ARRAYSZ);
                let fault = |fault: Fault| fault.of(&source.path);
                Ok((initialisers.map_err(fault)?, finalisers.map_err(fault)?, frames, frame_table))
            });
            let modules = modules.collect::<Result<Vec<_>, ImageError>>()?;
            (layout, fixups, modules)
        };
        let order = libraries.order();
        let modules = libraries.sources.drain(..).zip(modules).map(|(source, module)| {
            let (initialisers, finalisers, frames, frame_table) = module;
            Module { path: source.path, file: source.file, initialisers, finalisers, frames, frame_table }
        });
        Ok(Parts { modules: modules.collect(), layout, fixups, order })
    }
}

fn functions(
    elf: &Elf,
    place: Place,
    once: DynamicTag,
    array: DynamicTag,
    size: DynamicTag,
) -> Result<Functions, Fault> {
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
