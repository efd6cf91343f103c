//! Memory of one rank: the rank's instance of the program and the libraries that the rank opened.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::ffi::{CString, c_int};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::common::Common;
use super::error::ImageError;
use super::exits::Exits;
use super::group::{Arguments, LinkGroup};
use super::library::{LinkMap, Shared};
use super::link::{SearchScope, own_function};
use super::tls::InstanceId;
use super::{Host, OWN_PREFIX};

/// Memory of one rank's instance of the program.
pub(super) struct InstanceMemory {
    pub id: InstanceId,
    pub exits: Exits,
    pub common: Arc<Common>,
    /// Addresses of the rank's copies of C library variables, in the order of `Host::owned_names`.
    owned: Vec<usize>,
    state: Mutex<State>,
    is_closed: AtomicBool,
}

/// State of [`InstanceMemory`] that changes while the simulated program runs.
#[derive(Default)]
struct State {
    /// Mapped link groups of the rank with their identifiers. The link group of the program is first.
    groups: Vec<Arc<LinkGroup>>,
    #[expect(clippy::vec_box, reason = "programs keep the handles' addresses")]
    handles: Vec<Box<Handle>>,
    /// Number of namespaces that `dlmopen` has created.
    namespaces: usize,
    arguments: Option<Arguments>,
    /// Message that the next `dlerror` returns.
    error: Option<CString>,
    said: Option<CString>,
}

// SAFETY: the pointers point to memory of the simulated program, and mcpsim only returns the pointers to the program.
unsafe impl Send for State {}

/// Object to which a `dlopen` handle points.
#[repr(C)]
pub(super) struct Handle {
    /// Link map of the file. Programs may read the fields of the link map.
    map: LinkMap,
    pub what: Opened,
}

/// Object that a `dlopen` handle represents.
#[derive(Clone)]
pub(super) enum Opened {
    /// The program and all global symbols.
    Program,
    /// A module, given by a link group and the index of the module in the link group.
    Own(Arc<LinkGroup>, usize),
    /// A library that all ranks share.
    Shared(Shared),
}

impl InstanceMemory {
    pub fn new(common: &Arc<Common>, data: &dyn Fn(&str) -> Option<usize>) -> Result<Arc<InstanceMemory>, ImageError> {
        let owned = common.host.owned_names().iter().map(|name| data(name).unwrap_or(0)).collect();
        let (id, exits, state, is_closed) =
            (InstanceId::next(), Exits::default(), Mutex::default(), AtomicBool::new(false));
        let space = Arc::new(InstanceMemory { id, exits, common: common.clone(), owned, state, is_closed });
        let program = LinkGroup::new(&common.program, &space, Vec::new(), 0)?;
        program.is_global.store(true, Ordering::Relaxed);
        space.state().groups.push(program);
        Ok(space)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the link group of the program, or `None` after the program has ended.
    pub fn program(&self) -> Option<Arc<LinkGroup>> {
        self.state().groups.first().cloned()
    }

    /// Returns all link groups of the rank. The link group of the program is first.
    pub fn groups(&self) -> Vec<Arc<LinkGroup>> {
        self.state().groups.clone()
    }

    /// Returns the address of the rank's copy of the C library variable `name`.
    pub fn owned(&self, name: &str) -> Option<usize> {
        let at = self.common.host.owned_names().iter().position(|known| *known == name)?;
        self.owned.get(at).copied().filter(|&address| address != 0)
    }

    /// Runs the initialisers of all link groups.
    ///
    /// # Safety
    /// The conditions of [`LinkGroup::initialise`] hold for every link group.
    pub unsafe fn initialise(&self, arguments: Arguments) {
        self.state().arguments = Some(arguments);
        for group in self.groups() {
            group.register_frames();
            // SAFETY: the caller guarantees the conditions of [`LinkGroup::initialise`] for every link group.
            unsafe { group.initialise(arguments) }
        }
    }

    /// Runs the exit handlers, then the finalisers of all link groups.
    ///
    /// # Safety
    /// The conditions of [`super::Instance::finalise`] hold.
    pub unsafe fn finalise(&self, code: c_int) {
        // SAFETY: the caller guarantees the conditions of [`super::Instance::finalise`], which the called functions
        // also require.
        unsafe {
            self.exits.run(code);
            self.groups().iter().rev().for_each(|group| group.finalise());
        }
    }

    /// Unmaps the program and all libraries that the rank opened.
    pub fn clear(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        let state = std::mem::take(&mut *self.state());
        drop(state.handles);
        // Link groups are dropped in reverse order, because a link group depends only on earlier link groups.
        state.groups.into_iter().rev().for_each(drop);
    }

    /// Returns the identifier of the module that contains `address`, and the corresponding address in the module's
    /// file.
    pub fn contains(&self, address: usize) -> Option<(usize, usize)> {
        let (group, module, at) = self.place(address)?;
        Some((group.parts.first + module, at))
    }

    /// Returns the link group and the index of the module that contain `address`, and the corresponding address in
    /// the module's file.
    pub fn place(&self, address: usize) -> Option<(Arc<LinkGroup>, usize, usize)> {
        // Crash reports call `place` and must not wait for the lock.
        let state = self.state.try_lock().ok()?;
        let group = state.groups.iter().find(|group| group.range().contains(&address))?;
        let (module, at) = group.parts.layout.find(address - group.base)?;
        Some((group.clone(), module, at))
    }

    /// Stores a message for `dlerror`.
    pub fn fail(&self, text: String) {
        self.state().error = Some(CString::new(text.replace('\0', "?")).unwrap_or_default());
    }

    /// `dlerror`: returns the stored message. The message remains valid until the next call of `dlerror`.
    pub fn take_error(&self) -> *const std::ffi::c_char {
        let mut state = self.state();
        state.said = state.error.take();
        state.said.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
    }

    /// Returns the `dlopen` handle of the object `what`. Equal objects have equal `dlopen` handles.
    pub fn handle(&self, what: Opened) -> *mut Handle {
        let mut state = self.state();
        let same = |known: &Opened| match (known, &what) {
            (Opened::Program, Opened::Program) => true,
            (Opened::Own(group, module), Opened::Own(other, at)) => Arc::ptr_eq(group, other) && module == at,
            (Opened::Shared(library), Opened::Shared(other)) => library.0 == other.0,
            _ => false,
        };
        let known = state.handles.iter().position(|handle| same(&handle.what));
        let index = known.unwrap_or_else(|| {
            let null = std::ptr::null_mut();
            let mut map = LinkMap { address: 0, name: c"".as_ptr(), dynamic: 0, next: null, previous: null };
            let group = match &what {
                Opened::Own(group, module) => Some((group.clone(), *module)),
                _ => state.groups.first().map(|group| (group.clone(), 0)),
            };
            if let Some((group, module)) = group {
                let found = &group.parts.modules[module];
                let place = group.parts.layout.places[module];
                map.address = group.base.wrapping_add(place.offset(0));
                map.dynamic = group.base + found.dynamic;
                if matches!(what, Opened::Own(..)) {
                    map.name = found.exports.path(&found.path).as_ptr();
                }
            }
            state.handles.push(Box::new(Handle { map, what }));
            state.handles.len() - 1
        });
        &raw mut *state.handles[index]
    }

    /// Returns the object that the `dlopen` handle represents.
    pub fn opened(&self, handle: *const Handle) -> Option<Opened> {
        let state = self.state();
        let found = state.handles.iter().find(|known| std::ptr::eq(&raw const ***known, handle))?;
        Some(found.what.clone())
    }

    /// Creates a namespace of link groups (`dlmopen`) and returns the identifier of the namespace.
    pub fn new_namespace(&self) -> usize {
        let mut state = self.state();
        state.namespaces += 1;
        state.namespaces
    }

    /// Returns true if the namespace `namespace` contains link groups.
    pub fn is_namespace(&self, namespace: usize) -> bool {
        self.state().groups.iter().any(|group| group.namespace == namespace)
    }

    /// Returns the namespace of the file that contains the code at `address`.
    pub fn namespace(&self, address: usize) -> usize {
        self.place(address).map_or(0, |(group, _, _)| group.namespace)
    }

    /// Returns the module with the file `path` or the name `path`, if such a module is loaded in the namespace
    /// `namespace`.
    pub fn find(&self, path: &Path, namespace: usize) -> Option<(Arc<LinkGroup>, usize)> {
        let state = self.state();
        state.groups.iter().filter(|group| group.namespace == namespace).find_map(|group| {
            let same = |module: &super::parts::Module| {
                module.path == path || module.name.as_deref().is_some_and(|name| Path::new(name) == path)
            };
            Some((group.clone(), group.parts.modules.iter().position(same)?))
        })
    }

    /// Loads the library at `path` into a namespace, together with all dependencies that are not loaded yet.
    ///
    /// # Safety
    /// `load` runs initialisers of the library. The program must have called `dlopen` for the library.
    pub unsafe fn load(
        self: &Arc<InstanceMemory>,
        path: &Path,
        flags: c_int,
        namespace: usize,
    ) -> Result<Arc<LinkGroup>, ImageError> {
        let (lazy, deep) = (flags & libc::RTLD_NOW == 0, flags & libc::RTLD_DEEPBIND != 0);
        // The link group of the program is always included, because the program provides replacements of C library
        // functions.
        let of_namespace = |(place, group): &(usize, Arc<LinkGroup>)| *place == 0 || group.namespace == namespace;
        let groups: Vec<Arc<LinkGroup>> =
            self.groups().into_iter().enumerate().filter(of_namespace).map(|(_, group)| group).collect();
        let is_global = |group: &&Arc<LinkGroup>| group.is_global.load(Ordering::Relaxed);
        let scope: Vec<Arc<LinkGroup>> =
            groups.iter().filter(is_global).chain(groups.iter().filter(|group| !is_global(group))).cloned().collect();
        let first = scope.iter().filter(is_global).count();
        let parts: Vec<_> = scope.iter().map(|group| group.parts.clone()).collect();
        let parts = self.common.open(path, SearchScope { groups: &parts, first, lazy, deep, apart: namespace != 0 })?;
        let group = LinkGroup::new(&parts, self, scope, namespace)?;
        group.is_global.store(flags & libc::RTLD_GLOBAL != 0, Ordering::Relaxed);
        let arguments = {
            let mut state = self.state();
            state.groups.push(group.clone());
            state.arguments
        };
        if group.unwinds() {
            groups.iter().for_each(|group| group.register_frames());
        }
        group.register_frames();
        let null = std::ptr::null();
        // SAFETY: the caller guarantees that the program requested the library. The initialisers receive the arguments
        // of `main`.
        unsafe { group.initialise(arguments.unwrap_or(Arguments { count: 0, values: null, environment: null })) }
        Ok(group)
    }

    /// Closes the link group `group` once. The last close unloads the link group, unless another link group needs it.
    ///
    /// # Safety
    /// The function may run finalisers of the link group. After an unload, no pointer into the link group may be
    /// used.
    pub unsafe fn close(&self, group: &Arc<LinkGroup>) {
        let stays = group.stays.load(Ordering::Relaxed) || group.parts.modules.iter().any(|module| module.stays);
        let needed = {
            let state = self.state();
            let place = state.groups.iter().position(|known| Arc::ptr_eq(known, group));
            let later = &state.groups[place.map_or(state.groups.len(), |place| place + 1)..];
            let needs = |later: &Arc<LinkGroup>| {
                let place = later.scope.iter().position(|known| Arc::ptr_eq(known, group));
                place.is_some_and(|place| later.parts.needs(place))
            };
            place.is_none_or(|place| place == 0) || later.iter().any(needs)
        };
        if stays || needed {
            return;
        }
        // SAFETY: the caller guarantees that the program no longer uses the link group, and the link group is still
        // mapped.
        unsafe {
            self.exits.run_of(&group.range());
            group.finalise();
        }
        let mut state = self.state();
        state.handles.retain(|handle| !matches!(&handle.what, Opened::Own(own, _) if Arc::ptr_eq(own, group)));
        state.groups.retain(|known| !Arc::ptr_eq(known, group));
    }

    /// Returns the address of the symbol `name` in the global scope. Global link groups are searched before the
    /// replacements of C library and MPI functions. A link group that defines `name` remains loaded.
    pub fn global(&self, name: &str) -> Option<usize> {
        let groups = self.groups();
        let is_global = |group: &&Arc<LinkGroup>| group.is_global.load(Ordering::Relaxed) && group.namespace == 0;
        let mut global = groups.iter().filter(is_global);
        let found = global.find_map(|group| Some((group, group.symbol(name)?)));
        let found = found.map(|(group, address)| {
            group.stays.store(true, Ordering::Relaxed);
            address
        });
        found.or_else(|| self.outside(name, None))
    }

    /// Returns the address of the symbol `name` in system libraries or mcpsim, outside the rank's own files.
    pub fn outside(&self, name: &str, version: Option<&str>) -> Option<usize> {
        let program = self.program()?;
        let host: &dyn Host = self.common.host;
        let known = program.symbol(&format!("{OWN_PREFIX}{name}")).or_else(|| self.owned(name));
        let known = known.or_else(|| host.function(name)).or_else(|| own_function(name));
        known.or_else(|| {
            let (name, version) = (CString::new(name).ok()?, version.and_then(|version| CString::new(version).ok()));
            let groups = self.groups();
            let mut shared = groups.iter().flat_map(|group| &group.parts.shared);
            shared.find_map(|library| library.symbol(&name, version.as_deref()))
        })
    }

    /// Returns the address of the symbol `name` in an opened module or in the module's dependencies, in breadth-first
    /// order.
    pub fn of_module(&self, group: &Arc<LinkGroup>, module: usize, name: &str) -> Option<usize> {
        let mut seen: Vec<(usize, usize)> = Vec::new();
        let mut open = VecDeque::from([(group.clone(), module)]);
        while let Some((group, module)) = open.pop_front() {
            if seen.contains(&(group.base, module)) {
                continue;
            }
            seen.push((group.base, module));
            if let Some(found) = group.export(module, name) {
                return Some(found);
            }
            let found = &group.parts.modules[module];
            open.extend(found.needs.iter().map(|&need| (group.clone(), need)));
            open.extend(found.known.iter().map(|known| (group.scope[known.group].clone(), known.module)));
        }
        None
    }

    /// Returns the address of the next definition of `name` after the module with the index `module`, in load order
    /// (`RTLD_NEXT`).
    pub fn behind(&self, group: &Arc<LinkGroup>, module: usize, name: &str, version: Option<&str>) -> Option<usize> {
        let groups = self.groups();
        let later = groups.iter().skip_while(|known| !Arc::ptr_eq(known, group));
        let later = later.filter(|known| known.namespace == group.namespace);
        let mut modules = later.flat_map(|group| (0..group.parts.modules.len()).map(move |module| (group, module)));
        modules.by_ref().find(|(known, at)| Arc::ptr_eq(known, group) && *at == module);
        modules.find_map(|(group, module)| group.export(module, name)).or_else(|| self.outside(name, version))
    }

    /// Searches the library `name` that the code at `caller` opens. The function searches directories in the same
    /// order as the system's loader.
    pub fn search(&self, name: &str, caller: usize) -> Result<super::search::Found, ImageError> {
        let program = || Some((self.program()?, 0));
        let asks = self.place(caller).map(|(group, module, _)| (group, module)).or_else(program);
        let search = asks.map(|(group, module)| group.parts.modules[module].search.clone()).unwrap_or_default();
        search.look(name, &self.common.sharing)
    }

    /// Returns the path of a module's file, for messages.
    pub fn path(group: &LinkGroup, module: usize) -> PathBuf {
        group.parts.modules[module].path.clone()
    }
}
