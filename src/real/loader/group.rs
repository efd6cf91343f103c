//! Link group: files that are mapped together for one rank. A link group is the program with its libraries, or a
//! library opened with `dlopen` together with its dependencies.
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

/// Arguments of `main`, which initialisers of libraries also receive.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments {
    pub count: c_int,
    pub values: *const *mut c_char,
    pub environment: *const *mut c_char,
}

/// Files that are mapped together for one rank, with global, static and thread-local variables of that rank.
pub(super) struct LinkGroup {
    pub base: usize,
    pub parts: Arc<ModuleParts>,
    /// Descriptors of thread-local storage, to which the mapped files point. One descriptor per module precedes one
    /// descriptor per thread-local variable of a shared library.
    descriptors: Box<[Descriptor]>,
    /// Arguments of `__tls_get_addr` to which descriptors of thread-local storage (`-mtls-dialect=gnu2`) point.
    #[expect(dead_code, reason = "the files point to it")]
    distances: Box<[Index]>,
    /// Link groups with which this link group was linked. The references keep the other link groups mapped as long as
    /// this link group.
    pub scope: Vec<Arc<LinkGroup>>,
    /// Number of `dlopen` calls for libraries of the link group minus the number of `dlclose` calls.
    pub opened: AtomicUsize,
    /// True if files that a rank loads later can use symbols of the link group (`RTLD_GLOBAL`).
    pub is_global: AtomicBool,
    /// True if the link group remains loaded after the last `dlclose`.
    pub stays: AtomicBool,
    /// Namespace (`dlmopen`) of the link group. Namespace 0 contains the program.
    pub namespace: usize,
    has_frames: AtomicBool,
}

impl LinkGroup {
    /// Maps the files of `parts` as a new link group. Of the code in the files, only resolvers of indirect functions
    /// run. `scope` contains the link groups with which `parts` was linked.
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
            // SAFETY: the linker checked that the 8 bytes at `at` are writable memory of the link group.
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

    /// Registers the call frame information of the link group's files with the unwinder.
    pub fn register_frames(&self) {
        if !self.has_frames.swap(true, Ordering::Relaxed) {
            // SAFETY: `frames::find` checked the call frame information when the file was opened, and `drop`
            // deregisters the information before the file is unmapped.
            self.frames().for_each(|address| unsafe { frames::register(address) });
        }
    }

    /// Returns true if C++ exceptions may pass through code of the link group.
    pub fn unwinds(&self) -> bool {
        self.frames().next().is_some()
    }

    /// Runs the initialisers of the link group's libraries. Initialisers of a library run before the initialisers of
    /// its dependents.
    ///
    /// # Safety
    /// The function runs code of the link group and must be called once. The function arguments are valid arguments
    /// of `main`. If the initialisers use the rank's thread-local variables, [`super::set_main`] was called for the
    /// instance.
    pub unsafe fn initialise(&self, Arguments { count, values, environment }: Arguments) {
        for &module in &self.parts.order {
            let functions = &self.parts.modules[module].initialisers;
            for address in functions.once.into_iter().map(|at| self.base + at).chain(self.array(functions.array)) {
                // SAFETY: the file declares an initialiser function at the address, and the caller guarantees valid
                // arguments of `main`.
                unsafe { std::mem::transmute::<usize, Initialiser>(address)(count, values, environment) }
            }
        }
    }

    /// Runs the finalisers of the link group in the reverse order of the initialisers.
    ///
    /// # Safety
    /// [`LinkGroup::initialise`] was called, and its requirements also hold for `finalise`.
    pub unsafe fn finalise(&self) {
        for &module in self.parts.order.iter().rev() {
            let functions = &self.parts.modules[module].finalisers;
            let array: Vec<usize> = self.array(functions.array).collect();
            for address in array.into_iter().rev().chain(functions.once.map(|at| self.base + at)) {
                // SAFETY: the file declares a finaliser function at the address.
                unsafe { std::mem::transmute::<usize, Finaliser>(address)() }
            }
        }
    }

    /// Iterates over the addresses in an array of `count` functions at offset `at` of the link group. Addresses 0 and
    /// -1 are skipped.
    fn array(&self, (at, count): (usize, usize)) -> impl Iterator<Item = usize> {
        let array = (self.base + at) as *const usize;
        // SAFETY: the array is within the mapped module, as was checked when the file was opened.
        let functions = (0..count).map(move |index| unsafe { array.add(index).read_unaligned() });
        functions.filter(|&function| function != 0 && function != usize::MAX)
    }

    /// Returns the address of the first definition of the function or variable `name` in the link group.
    pub fn symbol(&self, name: &str) -> Option<usize> {
        if let Some(&(offset, resolver)) = self.parts.fixups.symbols.get(name) {
            return Some(if resolver { self.resolve(offset) } else { self.base.wrapping_add(offset) });
        }
        let &(module, offset) = self.parts.fixups.thread_symbols.get(name)?;
        self.variable(module, offset)
    }

    /// Returns the address of the symbol `name` that the module with the index `module` exports.
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

    /// Returns the calling thread's address of the thread-local variable at `offset` of `module`.
    fn variable(&self, module: usize, offset: u64) -> Option<usize> {
        let descriptor = self.descriptors.get(module)?;
        Some(tls::address_in(descriptor, offset as usize) as usize)
    }

    fn descriptor(&self, module: usize) -> *const Descriptor {
        &raw const self.descriptors[module]
    }

    fn resolve(&self, resolver: usize) -> usize {
        // SAFETY: the file marks the code at the address as a resolver function, and all other relocations are
        // complete.
        unsafe { std::mem::transmute::<usize, Resolver>(self.base.wrapping_add(resolver))() }
    }

    /// Returns the address range of the link group's files.
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
            // SAFETY: `register_frames` registered the call frame information, and the files are still mapped.
            self.frames().for_each(|address| unsafe { frames::deregister(address) });
        }
        loaded::remove(self.base);
        layout::unmap(self.base, self.parts.layout.size);
    }
}
