//! Finds the source position of an address in a program file, for crash reports.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use addr2line::{Context, gimli};
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol, SymbolKind};

type File<'a> = ElfFile64<'a, LittleEndian>;
type Reader<'a> = gimli::EndianSlice<'a, gimli::LittleEndian>;

/// Returns the function that contains the address `address` of the file at `path`, with source file and line if debug
/// information exists.
pub(super) fn describe(path: &Path, address: u64) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let unknown = || format!("{name}+{address:#x}");
    let Ok(bytes) = fs::read(path) else { return unknown() };
    let Ok(file) = File::parse(&*bytes) else { return unknown() };
    source(&file, address).or_else(|| symbol(&file, address)).unwrap_or_else(unknown)
}

/// Returns the source position of `address` from the debug information of the program file.
fn source(file: &File, address: u64) -> Option<String> {
    let section = |id: gimli::SectionId| {
        let found = file.section_by_name(id.name()).and_then(|section| section.data().ok()).unwrap_or_default();
        Ok::<_, gimli::Error>(Reader::new(found, gimli::LittleEndian))
    };
    let context = Context::from_dwarf(gimli::Dwarf::load(section).ok()?).ok()?;
    let mut frames = context.find_frames(address).skip_all_loads().ok()?;
    let frame = frames.next().ok()??;
    let location = frame.location?;
    let path = location.file?;
    let source = path.rsplit('/').next().unwrap_or(path);
    let function = frame.function.and_then(|function| function.demangle().ok().map(Cow::into_owned));
    let function = function.or_else(|| containing(file, address).map(|(name, _)| name))?;
    Some(match location.line {
        Some(line) => format!("{function} at {source}:{line}"),
        None => format!("{function} at {source}"),
    })
}

/// Returns the function that contains `address` and the offset in the function, from the symbol table of the program
/// file.
fn symbol(file: &File, address: u64) -> Option<String> {
    let (name, offset) = containing(file, address)?;
    Some(format!("{name}+{offset:#x}"))
}

/// Returns the source name of the function that contains `address`, and the offset of `address` in the function.
fn containing(file: &File, address: u64) -> Option<(String, u64)> {
    let contains = |start: u64, size: u64| start <= address && address - start < size.max(1);
    let functions = file.symbols().chain(file.dynamic_symbols());
    let mut functions = functions.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    let found = functions.find(|symbol| contains(symbol.address(), symbol.size()))?;
    let name = addr2line::demangle_auto(Cow::from(found.name().ok()?), None);
    Some((name.into_owned(), address - found.address()))
}
