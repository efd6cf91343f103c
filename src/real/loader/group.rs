//! Files in memory for one rank: the program with its libraries, or a library that the rank has opened with those it
//! needed.
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

/// What `main` is given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments {
    pub count: c_int,
    pub values: *const *mut c_char,
    pub environment: *const *mut c_char,
}

/// Files in memory, with globals, statics and thread-local variables of their own.
pub(super) struct LinkGroup {
    pub base: usize,
    pub parts: Arc<ModuleParts>,
    /// What slots of the files point to, one a module, then the variables of libraries that all share.
    descriptors: Box<[Descriptor]>,
    /// What descriptors of thread-local storage point to.
    #[expect(dead_code, reason = "the files point to it")]
    distances: Box<[Index]>,
    /// The groups that it was linked with, which stay as long as it.
    pub scope: Vec<Arc<LinkGroup>>,
    /// How often libraries of it were opened and not closed.
    pub opened: AtomicUsize,
    /// Whether its symbols are found by all that are loaded later.
    pub is_global: AtomicBool,
    /// Whether it stays when nobody has it open any more.
    pub stays: AtomicBool,
    /// The namespace (`dlmopen`) that it was loaded into; 0 is the program's.
    pub namespace: usize,
    has_frames: AtomicBool,
}

impl LinkGroup {
    /// A new one, of which nothing has run but the resolvers of indirect functions. `scope` is what its parts were
    /// linked with.
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
            // SAFETY: the linker has checked that these eight bytes are writable memory of the group.
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

    /// Makes the files known to who handles exceptions.
    pub fn register_frames(&self) {
        if !self.has_frames.swap(true, Ordering::Relaxed) {
            // SAFETY: found there when the file was opened; deregistered before it is unmapped.
            self.frames().for_each(|address| unsafe { frames::register(address) });
        }
    }

    /// Whether exceptions may pass through the files.
    pub fn unwinds(&self) -> bool {
        self.frames().next().is_some()
    }

    /// Runs the initialisers: those of libraries before those of what needs them.
    ///
    /// # Safety
    /// Runs code of the files, once. The arguments are as for `main`. If the rank's thread-local variables are to be
    /// initialised, [`super::set_main`] was told of the instance.
    pub unsafe fn initialise(&self, Arguments { count, values, environment }: Arguments) {
        for &module in &self.parts.order {
            let functions = &self.parts.modules[module].initialisers;
            for address in functions.once.into_iter().map(|at| self.base + at).chain(self.array(functions.array)) {
                // SAFETY: the file says that there is such a function; the caller's promise about the arguments.
                unsafe { std::mem::transmute::<usize, Initialiser>(address)(count, values, environment) }
            }
        }
    }

    /// Runs the finalisers in the reverse order of the initialisers.
    ///
    /// # Safety
    /// As of [`LinkGroup::initialise`], after it.
    pub unsafe fn finalise(&self) {
        for &module in self.parts.order.iter().rev() {
            let functions = &self.parts.modules[module].finalisers;
            let array: Vec<usize> = self.array(functions.array).collect();
            for address in array.into_iter().rev().chain(functions.once.map(|at| self.base + at)) {
                // SAFETY: the file says that there is such a function.
                unsafe { std::mem::transmute::<usize, Finaliser>(address)() }
            }
        }
    }

    /// The functions of an array, given by where it is and how many there are. The places of some are empty.
    fn array(&self, (at, count): (usize, usize)) -> impl Iterator<Item = usize> {
        let array = (self.base + at) as *const usize;
        // SAFETY: it was checked when the file was opened that the array is memory of the module.
        let functions = (0..count).map(move |index| unsafe { array.add(index).read_unaligned() });
        functions.filter(|&function| function != 0 && function != usize::MAX)
    }

    /// The address of a function or variable that one of the files defines, the first of them.
    pub fn symbol(&self, name: &str) -> Option<usize> {
        if let Some(&(offset, resolver)) = self.parts.fixups.symbols.get(name) {
            return Some(if resolver { self.resolve(offset) } else { self.base.wrapping_add(offset) });
        }
        let &(module, offset) = self.parts.fixups.thread_symbols.get(name)?;
        self.variable(module, offset)
    }

    /// What one of the files itself defines.
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

    /// The address of a thread-local variable of the thread that asks.
    fn variable(&self, module: usize, offset: u64) -> Option<usize> {
        let descriptor = self.descriptors.get(module)?;
        Some(tls::address_in(descriptor, offset as usize) as usize)
    }

    fn descriptor(&self, module: usize) -> *const Descriptor {
        &raw const self.descriptors[module]
    }

    fn resolve(&self, resolver: usize) -> usize {
        // SAFETY: it is code of the file, marked as a resolver; the other relocations are done.
        unsafe { std::mem::transmute::<usize, Resolver>(self.base.wrapping_add(resolver))() }
    }

    /// The addresses.
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
            // SAFETY: registered when it was initialised.
            self.frames().for_each(|address| unsafe { frames::deregister(address) });
        }
        loaded::remove(self.base);
        layout::unmap(self.base, self.parts.layout.size);
    }
}
