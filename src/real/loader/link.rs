//! Resolves symbols and computes relocations, once for all instances of a program.
//!
//! Modules have the same offsets in every instance. An internal address is therefore the base address of the instance
//! plus a known offset, and an external address is the same for all instances. [`Fixups`] contains the values that
//! the loader must still write per instance.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Arc;

use object::elf;

use super::elf::{Elf, Relocation, Symbol};
use super::error::{FileFault, ImageError, malformed};
use super::exits;
use super::frames;
use super::layout::InstanceLayout;
use super::library::{Libraries, Shared};
use super::parts::ModuleParts;
use super::tls::{self, Template};
use super::versions::Versions;
use super::{Host, OWN_PREFIX};
use super::{backtrace, dl};

/// Maximum size in bytes of a module's block of thread-local variables.
const VARIABLES: u64 = 1 << 32;

/// Link groups (files that are mapped together) that the linker searches for symbols, in search order.
#[derive(Clone, Copy, Default)]
pub(super) struct SearchScope<'a> {
    pub groups: &'a [Arc<ModuleParts>],
    /// Number of link groups that the linker searches before the files being linked.
    pub first: usize,
    /// True if the linker permits undefined functions (`RTLD_LAZY`). A call of an undefined function ends the program
    /// with an error.
    pub lazy: bool,
    /// True if the linker searches the files being linked before all link groups (`RTLD_DEEPBIND`).
    pub deep: bool,
    /// True if the first link group, which is the program, is in another namespace. The program then provides only
    /// replacements of C library functions.
    pub apart: bool,
}

/// Location in another link group: the link group's index in the scope, and the offset in the link group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outer {
    pub group: usize,
    pub offset: usize,
    /// True if the offset is the offset of a resolver function, which returns the symbol's address.
    pub resolver: bool,
}

/// Descriptor of thread-local variables. An index identifies a descriptor of the files being linked. The link group's
/// index in the scope and the module's index in the link group identify a descriptor of another link group.
#[derive(Debug, Clone, Copy)]
pub(super) enum Storage {
    Own(usize),
    Outer(usize, usize),
}

/// Values that the loader writes to the data of each new instance. Positions of values are offsets in the instance.
/// Each tuple of a list starts with the position of the value.
#[derive(Debug, Default)]
pub(super) struct Fixups {
    /// The written value is the base address of the instance plus the offset in the tuple.
    pub relative: Vec<(usize, usize)>,
    /// The written value is an address outside the instance. The list contains only positions outside the copied
    /// data.
    pub constants: Vec<(usize, usize)>,
    /// The written value is the address of a variable that exists once per rank, plus an addend. The second number of
    /// the tuple is the variable's index in `owned_names`.
    pub owned: Vec<(usize, usize, usize)>,
    /// The written value is an address in another link group plus an addend.
    pub outer: Vec<(usize, Outer, usize)>,
    /// The written value is the address of another link group's descriptor. The tuple contains the link group's index
    /// in the scope and the module's index in the link group.
    pub outer_descriptors: Vec<(usize, usize, usize)>,
    /// The written value is the return value of the resolver function at an offset, plus an addend.
    pub resolved: Vec<(usize, usize, usize)>,
    /// The written value is the address of the thread-local storage descriptor whose index the tuple contains.
    /// Descriptors of modules precede descriptors of the shared variables `variables`.
    pub descriptors: Vec<(usize, usize)>,
    /// The written value is a pair of words: the address of `mcpsim_tls_distance` and a pointer to the argument of
    /// that function.
    pub distances: Vec<(usize, Storage, usize)>,
    pub owned_names: Vec<String>,
    /// Thread-local variables of shared libraries to which the linked files refer.
    pub variables: Vec<(Shared, CString)>,
    /// Initial values and size of each module's thread-local variables.
    pub templates: Vec<Option<Template>>,
    /// Offsets of defined symbols for [`super::Instance::symbol`]. The flag next to an offset is true if the offset
    /// is the address of a resolver function.
    pub symbols: HashMap<String, (usize, bool)>,
    /// Defined thread-local variables: the module's index and the variable's offset in the module's thread-local
    /// block.
    pub thread_symbols: HashMap<String, (usize, u64)>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:p}", self.0)
    }
}

#[derive(Debug, Clone, Copy)]
enum SymbolValue {
    Inside(usize),
    Resolved(usize),
    Outer(Outer),
    Outside(usize),
    Owned(usize),
}

/// Links the modules `modules` with each other. The linker writes values that are equal for all instances to the
/// initial bytes in `layout`.
pub(super) fn link(
    elfs: &[Elf],
    libraries: &Libraries,
    layout: &mut InstanceLayout,
    host: &dyn Host,
    scope: SearchScope,
) -> Result<Fixups, ImageError> {
    let (defined, fixups) = Default::default();
    let needs = |group| libraries.sources.iter().any(|source| source.known.iter().any(|known| known.group == group));
    let searches = |group| (group < scope.first || needs(group)) && !(scope.apart && group == 0);
    let searched = (0..scope.groups.len()).map(searches).collect();
    let mut linker = Linker { elfs, libraries, layout, host, scope, searched, defined, fixups };
    let fault = |module: usize, fault: FileFault| fault.of(&libraries.sources[module].path);
    let mut versions = Vec::new();
    for (module, elf) in elfs.iter().enumerate() {
        let found = linker.define(module, elf).map_err(|found| fault(module, found))?;
        versions.push(found);
    }
    for (module, elf) in elfs.iter().enumerate() {
        linker.module(module, elf, &versions[module]).map_err(|found| fault(module, found))?;
    }
    let Linker { fixups, .. } = linker;
    Ok(fixups)
}

struct Linker<'a> {
    elfs: &'a [Elf<'a>],
    libraries: &'a Libraries,
    layout: &'a mut InstanceLayout,
    host: &'a dyn Host,
    scope: SearchScope<'a>,
    /// True for each link group of the scope that the linker searches. Link groups that the linker searches after the
    /// files being linked are limited to dependencies of the files being linked.
    searched: Vec<bool>,
    /// First definition of each symbol name in the order of modules: the module's index and the symbol.
    defined: HashMap<&'a str, (usize, Symbol<'a>)>,
    fixups: Fixups,
}

impl<'a> Linker<'a> {
    fn define(&mut self, module: usize, elf: &Elf<'a>) -> Result<Versions<'a>, FileFault> {
        let symbols: Vec<Symbol> = elf.symbols().collect::<Result<_, _>>()?;
        let versions = Versions::new(elf, symbols.len())?;
        let exported = |symbol: &Symbol| symbol.defined && symbol.bind != elf::STB_LOCAL && !symbol.name.is_empty();
        for old in [false, true] {
            for (index, &symbol) in symbols.iter().enumerate().filter(|(_, symbol)| exported(symbol)) {
                if versions.is_old(index as u32) == old {
                    self.defined.entry(symbol.name).or_insert((module, symbol));
                    if symbol.kind == elf::STT_TLS {
                        let variables = &mut self.fixups.thread_symbols;
                        variables.entry(symbol.name.to_owned()).or_insert((module, symbol.value));
                    } else if !symbol.absolute && !self.fixups.symbols.contains_key(symbol.name) {
                        let place =
                            (self.layout.places[module].offset(symbol.value), symbol.kind == elf::STT_GNU_IFUNC);
                        self.fixups.symbols.insert(symbol.name.to_owned(), place);
                    }
                }
            }
        }
        let template = elf.tls.map(|segment| {
            if segment.size > VARIABLES {
                return malformed("its thread-local variables are too large");
            }
            Ok(Template {
                size: segment.size as usize,
                align: segment.align as usize,
                skew: (segment.address % segment.align) as usize,
                at: self.layout.places[module].offset(segment.address),
                filled: segment.filled as usize,
            })
        });
        self.fixups.templates.push(template.transpose()?);
        Ok(versions)
    }

    fn module(&mut self, module: usize, elf: &Elf<'a>, versions: &Versions) -> Result<(), FileFault> {
        if elf.entry(elf::DT_REL).is_some()
            || elf.entry(elf::DT_PLTREL).is_some_and(|kind| kind != elf::DT_RELA.0 as u64)
        {
            return Err(FileFault::Unsupported("has relocations without addends, which x86-64 does not use".into()));
        }
        for at in elf.packed_relocations()? {
            let addend = elf.at(at, 8).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()));
            let value = self.layout.places[module].offset(addend);
            self.put(module, at, SymbolValue::Inside(value), 0)?;
        }
        let mut known: HashMap<u32, SymbolValue> = HashMap::new();
        let mut undefined = Vec::new();
        for relocation in elf.relocations()? {
            let symbol = elf.symbol(relocation.symbol).ok().filter(|_| relocation.symbol > 0);
            if relocation.symbol > 0 && symbol.is_none() {
                return malformed(format!("a relocation refers to symbol {}, which does not exist", relocation.symbol));
            }
            let place = self.layout.places[module];
            match relocation.kind {
                elf::R_X86_64_NONE => {}
                elf::R_X86_64_RELATIVE | elf::R_X86_64_RELATIVE64 => {
                    self.put(module, relocation.at, SymbolValue::Inside(place.offset(relocation.addend)), 0)?;
                }
                elf::R_X86_64_IRELATIVE => {
                    let value = self.resolver(module, relocation.addend)?;
                    self.put(module, relocation.at, value, 0)?;
                }
                elf::R_X86_64_GLOB_DAT | elf::R_X86_64_JUMP_SLOT | elf::R_X86_64_64 => {
                    let value = match known.get(&relocation.symbol) {
                        Some(&value) => value,
                        None => match self.value(module, symbol, versions.needed(relocation.symbol))? {
                            Some(value) => value,
                            None if self.scope.lazy && relocation.kind == elf::R_X86_64_JUMP_SLOT => {
                                SymbolValue::Outside(dl::undefined as *const () as usize)
                            }
                            None => {
                                undefined.extend(symbol.map(|symbol| symbol.name.to_owned()));
                                SymbolValue::Outside(0)
                            }
                        },
                    };
                    known.insert(relocation.symbol, value);
                    let addend = if relocation.kind == elf::R_X86_64_64 { relocation.addend } else { 0 };
                    self.put(module, relocation.at, value, addend)?;
                }
                elf::R_X86_64_DTPMOD64 | elf::R_X86_64_DTPOFF64 | elf::R_X86_64_TLSDESC => {
                    if !self.variable(module, relocation, symbol)? {
                        undefined.extend(symbol.map(|symbol| symbol.name.to_owned()));
                    }
                }
                _ => return Err(unsupported(relocation, symbol)),
            }
        }
        undefined.dedup();
        if undefined.is_empty() { Ok(()) } else { Err(FileFault::Undefined(undefined)) }
    }

    /// Returns true if references to `symbol` in `module` always use the definition in `module`.
    fn is_bound(&self, module: usize, symbol: Symbol<'a>) -> bool {
        let elf = &self.elfs[module];
        let symbolic = elf.entry(elf::DT_SYMBOLIC).is_some()
            || elf.entry(elf::DT_FLAGS).is_some_and(|flags| flags & elf::DF_SYMBOLIC.0 != 0);
        symbol.defined && (symbol.hidden || symbolic)
    }

    /// Calls `look` for the link groups in the range `groups` of the scope and returns the first result, with the
    /// link group's index.
    fn find_outer<T>(&self, groups: std::ops::Range<usize>, look: impl Fn(&Fixups) -> Option<T>) -> Option<(usize, T)> {
        let mut searched = groups.filter(|&group| self.searched[group]);
        searched.find_map(|group| Some((group, look(&self.scope.groups[group].fixups)?)))
    }

    fn outer(&self, groups: std::ops::Range<usize>, name: &str) -> Option<SymbolValue> {
        let (group, (offset, resolver)) = self.find_outer(groups, |fixups| fixups.symbols.get(name).copied())?;
        Some(SymbolValue::Outer(Outer { group, offset, resolver }))
    }

    /// Returns the program's replacement of the C library function `name`.
    fn outer_own(&self, name: &str) -> Option<SymbolValue> {
        let mut groups = self.scope.groups.iter().take(self.scope.first).enumerate();
        groups.find_map(|(group, parts)| {
            let &(offset, resolver) = parts.fixups.symbols.get(name)?;
            Some(SymbolValue::Outer(Outer { group, offset, resolver }))
        })
    }

    /// Returns the value of the symbol `found`, which `module` defines.
    fn inside(&self, module: usize, found: Symbol<'a>) -> Result<SymbolValue, FileFault> {
        Ok(match found.kind {
            elf::STT_TLS => return malformed(format!("{} is thread-local and used as if it were not", found.name)),
            elf::STT_GNU_IFUNC => self.resolver(module, found.value)?,
            _ if found.absolute => SymbolValue::Outside(found.value as usize),
            _ => SymbolValue::Inside(self.layout.places[module].offset(found.value)),
        })
    }

    /// Returns the value of `symbol`, or `None` if a required symbol is undefined.
    fn value(
        &mut self,
        module: usize,
        symbol: Option<Symbol<'a>>,
        version: Option<&str>,
    ) -> Result<Option<SymbolValue>, FileFault> {
        let Some(symbol) = symbol else { return Ok(Some(SymbolValue::Outside(0))) };
        if self.is_bound(module, symbol) {
            return self.inside(module, symbol).map(Some);
        }
        let SearchScope { groups, first, deep, .. } = self.scope;
        if let Some(&(owner, found)) = self.defined.get(symbol.name).filter(|_| deep) {
            return self.inside(owner, found).map(Some);
        }
        if let Some(found) = self.outer(0..first, symbol.name) {
            return Ok(Some(found));
        }
        if let Some(&(owner, found)) = self.defined.get(symbol.name) {
            return self.inside(owner, found).map(Some);
        }
        let own = format!("{OWN_PREFIX}{}", symbol.name);
        if let Some(found) = self.outer(first..groups.len(), symbol.name).or_else(|| self.outer_own(&own)) {
            return Ok(Some(found));
        }
        if let Some(&(owner, found)) = self.defined.get(own.as_str()) {
            return self.inside(owner, found).map(Some);
        }
        if self.host.owned(symbol.name) {
            let names = &mut self.fixups.owned_names;
            let known = names.iter().position(|name| name == symbol.name);
            return Ok(Some(SymbolValue::Owned(known.unwrap_or_else(|| {
                names.push(symbol.name.to_owned());
                names.len() - 1
            }))));
        }
        let found = self.host.function(symbol.name).or_else(|| own_function(symbol.name));
        let found = found.or_else(|| self.shared(symbol.name, version).map(|(_, address)| address));
        let weak = symbol.bind == elf::STB_WEAK;
        Ok(found.or(weak.then_some(0)).map(SymbolValue::Outside))
    }

    fn shared(&self, name: &str, version: Option<&str>) -> Option<(Shared, usize)> {
        let name = CString::new(name).ok()?;
        let version = version.and_then(|version| CString::new(version).ok());
        let outer = self.scope.groups.iter().flat_map(|parts| &parts.shared);
        let mut shared = self.libraries.shared.iter().chain(outer);
        shared.find_map(|&library| Some((library, library.symbol(&name, version.as_deref())?)))
    }

    fn resolver(&self, module: usize, address: u64) -> Result<SymbolValue, FileFault> {
        match self.elfs[module].is_code(address) {
            true => Ok(SymbolValue::Resolved(self.layout.places[module].offset(address))),
            false => malformed(format!("the resolver at {address:#x} is no code")),
        }
    }

    /// Computes the value of the relocation `slot` that refers to a thread-local variable. Returns false if the
    /// variable does not exist.
    fn variable(&mut self, module: usize, slot: Relocation, symbol: Option<Symbol<'a>>) -> Result<bool, FileFault> {
        let SearchScope { groups, first, deep, .. } = self.scope;
        let outer = |name: &str, range| self.find_outer(range, |fixups| fixups.thread_symbols.get(name).copied());
        enum Place {
            Own(usize, u64),
            Outer(usize, usize, u64),
        }
        let found = match symbol {
            None => Some(Place::Own(module, 0)),
            Some(symbol) if self.is_bound(module, symbol) => Some(Place::Own(module, symbol.value)),
            Some(symbol) => {
                let of_group = |(group, (module, value))| Place::Outer(group, module, value);
                let own = || self.defined.get(symbol.name).map(|&(owner, found)| Place::Own(owner, found.value));
                let before = outer(symbol.name, 0..first).map(of_group);
                let found = if deep { own().or(before) } else { before.or_else(own) };
                found.or_else(|| outer(symbol.name, first..groups.len()).map(of_group))
            }
        };
        let offset = match (&found, symbol) {
            (Some(Place::Own(owner, _)), _) if self.fixups.templates[*owner].is_none() => {
                return malformed("a thread-local variable refers to a module without thread-local storage");
            }
            (Some(Place::Own(_, value) | Place::Outer(_, _, value)), _) => *value,
            (None, None) => return Ok(false),
            (None, Some(_)) => 0,
        };
        if slot.kind == elf::R_X86_64_DTPOFF64 {
            if let (None, Some(symbol)) = (&found, symbol)
                && self.shared_variable(symbol.name).is_none()
            {
                return Ok(false);
            }
            self.put(module, slot.at, SymbolValue::Outside(offset as usize), slot.addend)?;
            return Ok(true);
        }
        let at = self.slot(module, slot.at)?;
        let storage = match found {
            Some(Place::Own(owner, _)) => Storage::Own(owner),
            Some(Place::Outer(group, owner, _)) => Storage::Outer(group, owner),
            None => match symbol.and_then(|symbol| self.shared_variable(symbol.name)) {
                Some(descriptor) => Storage::Own(descriptor),
                None => return Ok(false),
            },
        };
        match storage {
            _ if slot.kind == elf::R_X86_64_TLSDESC => {
                self.slot(module, slot.at.wrapping_add(8))?;
                self.fixups.distances.push((at, storage, offset.wrapping_add(slot.addend) as usize));
            }
            Storage::Own(descriptor) => self.fixups.descriptors.push((at, descriptor)),
            Storage::Outer(group, owner) => self.fixups.outer_descriptors.push((at, group, owner)),
        }
        Ok(true)
    }

    fn shared_variable(&mut self, name: &str) -> Option<usize> {
        let (library, _) = self.shared(name, None)?;
        let variables = &mut self.fixups.variables;
        let known = variables.iter().position(|(_, known)| known.as_bytes() == name.as_bytes());
        let index = match known {
            Some(index) => index,
            None => {
                variables.push((library, CString::new(name).ok()?));
                variables.len() - 1
            }
        };
        Some(self.elfs.len() + index)
    }

    /// Converts the address of a relocated 8-byte word in the module's file to an offset in an instance.
    fn slot(&self, module: usize, address: u64) -> Result<usize, FileFault> {
        match self.elfs[module].is_writable(address, 8) {
            true => Ok(self.layout.places[module].offset(address)),
            false => Err(FileFault::Unsupported(format!(
                "needs its code or constants changed when loaded (at {address:#x}); compile with -fPIC"
            ))),
        }
    }

    fn put(&mut self, module: usize, address: u64, value: SymbolValue, addend: u64) -> Result<(), FileFault> {
        let at = self.slot(module, address)?;
        let addend = addend as usize;
        match value {
            SymbolValue::Inside(offset) => self.fixups.relative.push((at, offset.wrapping_add(addend))),
            SymbolValue::Resolved(offset) => self.fixups.resolved.push((at, offset, addend)),
            SymbolValue::Outer(outer) => self.fixups.outer.push((at, outer, addend)),
            SymbolValue::Owned(index) => self.fixups.owned.push((at, index, addend)),
            SymbolValue::Outside(value) => {
                let value = value.wrapping_add(addend);
                let mut copies = self.layout.copies.iter_mut();
                let place = copies.find_map(|copy| copy.bytes.get_mut(at.checked_sub(copy.at)?..)?.get_mut(..8));
                match place {
                    Some(place) => place.copy_from_slice(&value.to_le_bytes()),
                    None => self.fixups.constants.push((at, value)),
                }
            }
        }
        Ok(())
    }
}

/// Returns the address of the function `name`, such as `dlopen`, if only the loader can provide the function.
pub(super) fn own_function(name: &str) -> Option<usize> {
    Some(match name {
        "__tls_get_addr" => tls::address as *const () as usize,
        "__cxa_atexit" => exits::at_exit as *const () as usize,
        "__cxa_finalize" => exits::finalize as *const () as usize,
        "__cxa_thread_atexit" | "__cxa_thread_atexit_impl" => exits::at_thread_exit as *const () as usize,
        "_dl_find_object" => frames::find_object as *const () as usize,
        _ => return dl::function(name).or_else(|| backtrace::function(name)),
    })
}

fn unsupported(relocation: Relocation, symbol: Option<Symbol>) -> FileFault {
    let name = symbol.map_or("", |symbol| symbol.name);
    let of = if name.is_empty() { String::new() } else { format!(" of {name}") };
    match relocation.kind {
        elf::R_X86_64_TPOFF64 | elf::R_X86_64_TPOFF32 => FileFault::StaticTls(name.to_owned()),
        elf::R_X86_64_COPY => {
            FileFault::Unsupported(format!("wants a copy{of}, as only executables do; link it with -shared"))
        }
        elf::R_X86_64_PC32 | elf::R_X86_64_PLT32 | elf::R_X86_64_32 | elf::R_X86_64_32S | elf::R_X86_64_PC64 => {
            FileFault::Unsupported(format!("has code that is not position-independent{of}; compile with -fPIC"))
        }
        other => FileFault::Unsupported(format!("has a relocation of the unknown type {}{of}", other.0)),
    }
}
