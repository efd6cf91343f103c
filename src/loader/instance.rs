//! A program with data of its own: what a rank runs.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::{Fault, ImageError};
use super::exits::Exits;
use super::frames;
use super::layout;
use super::loaded;
use super::parts::Parts;
use super::tls::{Descriptor, InstanceId};

type Initialiser = unsafe extern "C" fn(c_int, *const *mut c_char, *const *mut c_char);
type Finaliser = unsafe extern "C" fn();
type Resolver = unsafe extern "C" fn() -> usize;

/// A program with globals, statics and thread-local variables of its own. Dropping it unmaps it: no code of it may run,
/// and no pointer into it may be used, after that.
pub struct Instance {
    base: usize,
    id: InstanceId,
    parts: Arc<Parts>,
    /// What the program's slots point to.
    _descriptors: Box<[Descriptor]>,
    exits: Arc<Exits>,
    has_frames: AtomicBool,
}

impl Instance {
    /// A new one, of which nothing has run but the resolvers of indirect functions.
    pub(super) fn new(parts: &Arc<Parts>, data: &dyn Fn(&str) -> Option<usize>) -> Result<Instance, ImageError> {
        let fixups = &parts.fixups;
        let mut owned = Vec::new();
        for name in &fixups.owned_names {
            let undefined = || Fault::Undefined(vec![name.clone()]).of(&parts.modules[0].path);
            owned.push(data(name).ok_or_else(undefined)?);
        }
        let files: Vec<_> = parts.modules.iter().map(|module| &module.file).collect();
        let base = parts.layout.map(&files).map_err(|error| Fault::Map(error).of(&parts.modules[0].path))?;
        let id = InstanceId::next();
        let modules = fixups.templates.iter().enumerate().map(|(module, template)| match template {
            Some(template) => Descriptor::own(id, module, *template, base),
            None => Descriptor::None,
        });
        let variables = fixups.variables.iter();
        let shared = variables.map(|(library, name)| Descriptor::Shared { library: *library, name: name.clone() });
        let descriptors: Box<[Descriptor]> = match fixups.descriptors.is_empty() {
            true => Box::default(),
            false => modules.chain(shared).collect(),
        };
        let put = |at: usize, value: usize| {
            // SAFETY: the linker has checked that these eight bytes are writable memory of the instance.
            unsafe { ((base + at) as *mut usize).write_unaligned(value) }
        };
        fixups.constants.iter().for_each(|&(at, value)| put(at, value));
        fixups.relative.iter().for_each(|&(at, offset)| put(at, base.wrapping_add(offset)));
        fixups.owned.iter().for_each(|&(at, index, addend)| put(at, owned[index].wrapping_add(addend)));
        fixups.descriptors.iter().for_each(|&(at, index)| put(at, &raw const descriptors[index] as usize));
        let exits = loaded::add(base, id, parts);
        let parts = parts.clone();
        let instance =
            Instance { base, id, parts, _descriptors: descriptors, exits, has_frames: AtomicBool::new(false) };
        for &(at, resolver, addend) in &instance.parts.fixups.resolved {
            put(at, instance.resolve(resolver).wrapping_add(addend));
        }
        Ok(instance)
    }

    /// What tells it from all others; see [`super::set_main`].
    pub fn id(&self) -> InstanceId {
        self.id
    }

    /// Runs the initialisers: those of the program's own libraries before those of what needs them, the program's last.
    ///
    /// # Safety
    /// Runs code of the program, once an instance. `argv` and `envp` are as for `main`. If the rank's thread-local variables
    /// are to be initialised, [`super::set_main`] was told of this instance.
    pub unsafe fn initialise(&self, argc: c_int, argv: *const *mut c_char, envp: *const *mut c_char) {
        if !self.has_frames.swap(true, Ordering::Relaxed) {
            // SAFETY: found there when the file was opened; deregistered before it is unmapped.
            self.frames().for_each(|address| unsafe { frames::register(address) });
        }
        for &module in &self.parts.order {
            let functions = &self.parts.modules[module].initialisers;
            for address in functions.once.into_iter().map(|at| self.base + at).chain(self.array(functions.array)) {
                // SAFETY: the program says that there is such a function; the caller's promise about the arguments.
                unsafe { std::mem::transmute::<usize, Initialiser>(address)(argc, argv, envp) }
            }
        }
    }

    /// Runs what the program has registered with `atexit` and `on_exit`, which are told `code`, destructors, and the
    /// finalisers in the reverse order of the initialisers.
    ///
    /// # Safety
    /// Runs code of the program, once an instance, after [`Instance::initialise`] and with the same [`super::set_main`].
    pub unsafe fn finalise(&self, code: c_int) {
        // SAFETY: the caller's promise.
        unsafe { self.exits.run(code) }
        for &module in self.parts.order.iter().rev() {
            let functions = &self.parts.modules[module].finalisers;
            let array: Vec<usize> = self.array(functions.array).collect();
            for address in array.into_iter().rev().chain(functions.once.map(|at| self.base + at)) {
                // SAFETY: the program says that there is such a function.
                unsafe { std::mem::transmute::<usize, Finaliser>(address)() }
            }
        }
    }

    /// `on_exit`: has `function` called at the end with the exit code and `argument`.
    pub fn on_exit(&self, function: unsafe extern "C" fn(c_int, *mut c_void), argument: *mut c_void) {
        self.exits.on_exit(function, argument);
    }

    /// The functions of an array, given by where it is and how many there are. The places of some are empty.
    fn array(&self, (at, count): (usize, usize)) -> impl Iterator<Item = usize> {
        let array = (self.base + at) as *const usize;
        // SAFETY: it was checked when the file was opened that the array is memory of the module.
        let functions = (0..count).map(move |index| unsafe { array.add(index).read_unaligned() });
        functions.filter(|&function| function != 0 && function != usize::MAX)
    }

    /// The address of a function or variable that the program or, failing that, a library of its own defines.
    pub fn symbol(&self, name: &str) -> Option<usize> {
        let &(offset, resolved) = self.parts.fixups.symbols.get(name)?;
        Some(if resolved { self.resolve(offset) } else { self.base.wrapping_add(offset) })
    }

    fn resolve(&self, resolver: usize) -> usize {
        // SAFETY: it is code of the program, marked as a resolver; the other relocations are done.
        unsafe { std::mem::transmute::<usize, Resolver>(self.base.wrapping_add(resolver))() }
    }

    /// The module that `address` is in and its address there, as in the module's file.
    pub fn contains(&self, address: usize) -> Option<(usize, usize)> {
        let offset = address.checked_sub(self.base)?;
        self.parts.layout.find(offset)
    }

    fn frames(&self) -> impl Iterator<Item = usize> {
        self.parts.modules.iter().filter_map(|module| Some(self.base + module.frames?))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if self.has_frames.load(Ordering::Relaxed) {
            // SAFETY: registered when it was initialised.
            self.frames().for_each(|address| unsafe { frames::deregister(address) });
        }
        loaded::remove(self.base);
        layout::unmap(self.base, self.parts.layout.size);
    }
}
