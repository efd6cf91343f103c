//! Lookup of a module's symbols by name and by address, for `dlsym` and `dladdr` calls of programs. The module's file
//! is read again at the first lookup, once for all ranks.

use std::collections::HashMap;
use std::ffi::CString;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use object::elf;

use super::elf::Elf;
use super::versions::Versions;

/// Value of a symbol that a module exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Export {
    /// The symbol is at the file address in the field.
    Place(u64),
    /// The symbol's address is the return value of the resolver function at the file address in the field.
    Resolved(u64),
    /// The symbol is a thread-local variable at the offset in the field, relative to the module's thread-local block.
    Variable(u64),
    /// The symbol is the constant in the field, independent of the load address.
    Absolute(u64),
}

/// Symbols that a module exports.
#[derive(Debug, Default)]
pub(super) struct Exports(OnceLock<Symbols>);

#[derive(Debug, Default)]
struct Symbols {
    /// Path of the module's file, as a C string.
    path: CString,
    names: HashMap<String, Export>,
    /// Start address, end address and name of each exported symbol, in the order of start addresses.
    places: Vec<(u64, u64, CString)>,
}

impl Exports {
    fn of(&self, path: &Path) -> &Symbols {
        self.0.get_or_init(|| {
            let text = CString::new(path.display().to_string()).unwrap_or_default();
            let read = fs::read(path).unwrap_or_default();
            let symbols = Elf::parse(&read).map(|elf| symbols(&elf)).unwrap_or_default();
            Symbols { path: text, ..symbols }
        })
    }

    /// Returns the exported symbol `name` of the module at `path`.
    pub fn find(&self, path: &Path, name: &str) -> Option<Export> {
        self.of(path).names.get(name).copied()
    }

    /// Returns the path of the module's file as a C string.
    pub fn path(&self, path: &Path) -> &CString {
        &self.of(path).path
    }

    /// Returns the last exported symbol that starts at or before `address`, with the symbol's start address.
    pub fn nearest(&self, path: &Path, address: u64) -> Option<(u64, &CString)> {
        let places = &self.of(path).places;
        let next = places.partition_point(|(start, ..)| *start <= address);
        let (start, end, name) = places.get(next.checked_sub(1)?)?;
        (address < *end).then_some((*start, name))
    }
}

fn symbols(elf: &Elf) -> Symbols {
    let mut found = Symbols::default();
    let all: Vec<_> = elf.symbols().map_while(Result::ok).collect();
    let Ok(versions) = Versions::new(elf, all.len()) else { return found };
    let exported =
        |symbol: &super::elf::Symbol| symbol.defined && symbol.bind != elf::STB_LOCAL && !symbol.name.is_empty();
    for old in [false, true] {
        for (index, symbol) in all.iter().enumerate().filter(|(_, symbol)| exported(symbol)) {
            if versions.is_old(index as u32) != old {
                continue;
            }
            let export = match symbol.kind {
                elf::STT_TLS => Export::Variable(symbol.value),
                elf::STT_GNU_IFUNC => Export::Resolved(symbol.value),
                _ if symbol.absolute => Export::Absolute(symbol.value),
                _ => Export::Place(symbol.value),
            };
            found.names.entry(symbol.name.to_owned()).or_insert(export);
            if let (Export::Place(at) | Export::Resolved(at), Ok(name)) = (export, CString::new(symbol.name)) {
                found.places.push((at, at.wrapping_add(symbol.size.max(1)), name));
            }
        }
    }
    found.places.sort();
    found
}
