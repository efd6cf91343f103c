//! Files in memory for one rank: the program with its libraries, or an opened library with its dependencies.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::error::{FileFault, ImageError};
use super::exports::Export;
use super::frames;
use super::layout;
use super::link::Storage;
use super::loaded;
use super::parts::ModuleParts;
use super::space::InstanceMemory;
use super::tls::{self, Descriptor, Index};

type Initialiser = unsafe extern "C" fn(c_int, *const *mut c_char, *const *mut c_char);
type Finaliser = unsafe extern "C" fn();
type Resolver = unsafe extern "C" fn() -> usize;

/// Arguments of `main`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments {
    pub count: c_int,
    pub values: *const *mut c_char,
    pub environment: *const *mut c_char,
}

/// Files in memory with their own globals, statics and thread-local variables.
pub(super) struct LinkGroup {
    pub base: usize,
    pub parts: Arc<ModuleParts>,
    /// Targets of slots in the files: one descriptor per module, then the variables of shared libraries.
    descriptors: Box<[Descriptor]>,
    /// Targets of descriptors of thread-local storage.
    #[expect(dead_code, reason = "the files point to it")]
    distances: Box<[Index]>,
    /// Groups with which this group was linked. They are alive as long as this group is.
    pub scope: Vec<Arc<LinkGroup>>,
    /// Number of opens of its libraries without a close.
    pub opened: AtomicUsize,
    /// True if later files can use its symbols.
    pub is_global: AtomicBool,
    /// True if the group remains loaded after the last close.
    pub stays: AtomicBool,
    /// Namespace (`dlmopen`) of the group; 0 is the program's.
    pub namespace: usize,
    has_frames: AtomicBool,
}

impl LinkGroup {
    /// Creates a group and runs only the resolvers of indirect functions. `scope` contains the groups with which its
    /// parts were linked.
    pub fn new(
        parts: &Arc<ModuleParts>,
        space: &Arc<InstanceMemory>,
        scope: Vec<Arc<LinkGroup>>,
        namespace: usize,
    ) -> Result<Arc<LinkGroup>, ImageError> {
        let fixups = &parts.fixups;
        let mut owned = Vec::new();
        for name in &fixups.owned_names {
            let undefined = || FileFault::Undefined(vec![name.clone()]).of(&parts.modules[0].path);
            owned.push(space.owned(name).ok_or_else(undefined)?);
        }
        let files: Vec<_> = parts.modules.iter().map(|module| &module.file).collect();
        let base = parts.layout.map(&files).map_err(|error| FileFault::Map(error).of(&parts.modules[0].path))?;
        let modules = fixups.templates.iter().enumerate().map(|(module, template)| match template {
            Some(template) => Descriptor::own(space.id, parts.first + module, *template, base),
            None => Descriptor::None,
        });
        let variables = fixups.variables.iter();
        let shared = variables.map(|(library, name)| Descriptor::Shared { library: *library, name: name.clone() });
        let has_variables = fixups.templates.iter().any(Option::is_some) || !fixups.variables.is_empty();
        let descriptors: Box<[Descriptor]> =
            if has_variables { modules.chain(shared).collect() } else { Box::default() };
        let put = |at: usize, value: usize| {
            // SAFETY: the linker checked that these 8 bytes are writable memory of the group.
            unsafe { ((base + at) as *mut usize).write_unaligned(value) }
        };
        fixups.constants.iter().for_each(|&(at, value)| put(at, value));
        fixups.relative.iter().for_each(|&(at, offset)| put(at, base.wrapping_add(offset)));
        fixups.owned.iter().for_each(|&(at, index, addend)| put(at, owned[index].wrapping_add(addend)));
        fixups.descriptors.iter().for_each(|&(at, index)| put(at, &raw const descriptors[index] as usize));
        for &(at, group, module) in &fixups.outer_descriptors {
            put(at, scope[group].descriptor(module) as usize);
        }
        let distances = fixups.distances.iter().map(|&(_, storage, offset)| match storage {
            Storage::Own(descriptor) => Index::new(&raw const descriptors[descriptor], offset),
            Storage::Outer(group, module) => Index::new(scope[group].descriptor(module), offset),
        });
        let distances: Box<[Index]> = distances.collect();
        for (&(at, ..), index) in fixups.distances.iter().zip(&distances) {
            put(at, tls::mcpsim_tls_distance as *const () as usize);
            put(at + 8, &raw const *index as usize);
        }
        for &(at, outer, addend) in fixups.outer.iter().filter(|(_, outer, _)| !outer.resolver) {
            put(at, scope[outer.group].base.wrapping_add(outer.offset).wrapping_add(addend));
        }
        loaded::add(base, space, parts);
        let (opened, is_global, stays, has_frames) = Default::default();
        let group = LinkGroup {
            base,
            parts: parts.clone(),
            descriptors,
            distances,
            scope,
            opened,
            is_global,
            stays,
            namespace,
            has_frames,
        };
        for &(at, outer, addend) in fixups.outer.iter().filter(|(_, outer, _)| outer.resolver) {
            put(at, group.scope[outer.group].resolve(outer.offset).wrapping_add(addend));
        }
        for &(at, resolver, addend) in &fixups.resolved {
            put(at, group.resolve(resolver).wrapping_add(addend));
        }
        Ok(Arc::new(group))
    }

    /// Registers the files with the unwinder.
    pub fn register_frames(&self) {
        if !self.has_frames.swap(true, Ordering::Relaxed) {
            // SAFETY: the information was found when the file was opened, and it is deregistered before the file is
            // unmapped.
            self.frames().for_each(|address| unsafe { frames::register(address) });
        }
    }

    /// Returns true if exceptions may pass through the files.
    pub fn unwinds(&self) -> bool {
        self.frames().next().is_some()
    }

    /// Runs the initialisers of each library before those of its dependents.
    ///
    /// # Safety
    /// Runs code of the files, once. The arguments are those of `main`. [`super::set_main`] was called for the instance
    /// if the rank's thread-local variables must be initialised.
    pub unsafe fn initialise(&self, Arguments { count, values, environment }: Arguments) {
        for &module in &self.parts.order {
            let functions = &self.parts.modules[module].initialisers;
            for address in functions.once.into_iter().map(|at| self.base + at).chain(self.array(functions.array)) {
                // SAFETY: the file declares an initialiser at this address, and the arguments are valid by the contract
                // of this function.
                unsafe { std::mem::transmute::<usize, Initialiser>(address)(count, values, environment) }
            }
        }
    }

    /// Runs the finalisers in the reverse order of the initialisers.
    ///
    /// # Safety
    /// As for [`LinkGroup::initialise`], after it.
    pub unsafe fn finalise(&self) {
        for &module in self.parts.order.iter().rev() {
            let functions = &self.parts.modules[module].finalisers;
            let array: Vec<usize> = self.array(functions.array).collect();
            for address in array.into_iter().rev().chain(functions.once.map(|at| self.base + at)) {
                // SAFETY: the file declares a finaliser at this address.
                unsafe { std::mem::transmute::<usize, Finaliser>(address)() }
            }
        }
    }

    /// Iterates over the functions of an array with this offset and length. Empty entries are skipped.
    fn array(&self, (at, count): (usize, usize)) -> impl Iterator<Item = usize> {
        let array = (self.base + at) as *const usize;
        // SAFETY: the array was checked to be within the module when the file was opened.
        let functions = (0..count).map(move |index| unsafe { array.add(index).read_unaligned() });
        functions.filter(|&function| function != 0 && function != usize::MAX)
    }

    /// Returns the address of the first definition of a function or variable in the files.
    pub fn symbol(&self, name: &str) -> Option<usize> {
        if let Some(&(offset, resolver)) = self.parts.fixups.symbols.get(name) {
            return Some(if resolver { self.resolve(offset) } else { self.base.wrapping_add(offset) });
        }
        let &(module, offset) = self.parts.fixups.thread_symbols.get(name)?;
        self.variable(module, offset)
    }

    /// Returns the address of a definition in one of the files.
    pub fn export(&self, module: usize, name: &str) -> Option<usize> {
        let found = &self.parts.modules[module];
        let place = self.parts.layout.places[module];
        match found.exports.find(&found.path, name)? {
            Export::Place(address) => Some(self.base.wrapping_add(place.offset(address))),
            Export::Resolved(address) => Some(self.resolve(place.offset(address))),
            Export::Variable(offset) => self.variable(module, offset),
            Export::Absolute(value) => Some(value as usize),
        }
    }

    /// Returns the address of a thread-local variable for the calling thread.
    fn variable(&self, module: usize, offset: u64) -> Option<usize> {
        let descriptor = self.descriptors.get(module)?;
        Some(tls::address_in(descriptor, offset as usize) as usize)
    }

    fn descriptor(&self, module: usize) -> *const Descriptor {
        &raw const self.descriptors[module]
    }

    fn resolve(&self, resolver: usize) -> usize {
        // SAFETY: the file marks the code at this address as a resolver, and all other relocations are complete.
        unsafe { std::mem::transmute::<usize, Resolver>(self.base.wrapping_add(resolver))() }
    }

    /// Returns the address range.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.base..self.base + self.parts.layout.size
    }

    fn frames(&self) -> impl Iterator<Item = usize> {
        self.parts.modules.iter().filter_map(|module| Some(self.base + module.frames?))
    }
}

impl Drop for LinkGroup {
    fn drop(&mut self) {
        if self.has_frames.load(Ordering::Relaxed) {
            // SAFETY: the information was registered at initialisation and is still mapped.
            self.frames().for_each(|address| unsafe { frames::deregister(address) });
        }
        loaded::remove(self.base);
        layout::unmap(self.base, self.parts.layout.size);
    }
}
