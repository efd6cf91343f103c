//! Index of mapped instances by address. Functions such as `dlopen` identify the calling instance by the address of the
//! call.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use super::parts::ModuleParts;
use super::space::InstanceMemory;
use super::tls::InstanceId;

struct Loaded {
    id: InstanceId,
    parts: Arc<ModuleParts>,
    space: Weak<InstanceMemory>,
}

/// Mapped link groups by their first address.
static LOADED: RwLock<BTreeMap<usize, Loaded>> = RwLock::new(BTreeMap::new());

/// Adds the link group that is mapped at `base`.
pub(super) fn add(base: usize, space: &Arc<InstanceMemory>, parts: &Arc<ModuleParts>) {
    let loaded = Loaded { id: space.id, parts: parts.clone(), space: Arc::downgrade(space) };
    LOADED.write().unwrap_or_else(PoisonError::into_inner).insert(base, loaded);
}

/// Removes the link group that is mapped at `base`.
pub(super) fn remove(base: usize) {
    LOADED.write().unwrap_or_else(PoisonError::into_inner).remove(&base);
}

/// Returns true if the program instance `id` is mapped.
pub(super) fn is_alive(id: InstanceId) -> bool {
    LOADED.read().unwrap_or_else(PoisonError::into_inner).values().any(|loaded| loaded.id == id)
}

/// Calls `look` for the mapped link group that contains `address`, and returns the result. `look` receives the first
/// address of the link group and the link group.
fn find<T>(address: usize, look: impl FnOnce(usize, &Loaded) -> Option<T>) -> Option<T> {
    find_in(&LOADED.read().unwrap_or_else(PoisonError::into_inner), address, look)
}

fn find_in<T>(
    loaded: &BTreeMap<usize, Loaded>,
    address: usize,
    look: impl FnOnce(usize, &Loaded) -> Option<T>,
) -> Option<T> {
    let (&base, found) = loaded.range(..=address).next_back()?;
    if address - base < found.parts.layout.size { look(base, found) } else { None }
}

/// Returns the memory of the program instance that contains `address`.
pub(super) fn space(address: usize) -> Option<Arc<InstanceMemory>> {
    find(address, |_, found| found.space.upgrade())
}

/// A module that a rank has mapped.
pub(super) struct Mapped {
    pub start: usize,
    pub end: usize,
    /// Address of the search table of call frame information (`.eh_frame_hdr`).
    pub frame_table: usize,
}

/// Returns the module that contains the address `code`, if the module has call frame information.
pub(super) fn module(code: usize) -> Option<Mapped> {
    find(code, |base, found| mapped(base, found, code))
}

/// Variant of [`module`] for signal handlers. The result is `None` if another thread holds the lock of the index.
pub(super) fn module_at_once(code: usize) -> Option<Mapped> {
    find_in(&*LOADED.try_read().ok()?, code, |base, found| mapped(base, found, code))
}

/// Returns the instance that contains `address`, the module's identifier, and the address in the module's file.
/// Signal handlers may call the function, which returns `None` if another thread holds the lock of the index.
pub fn place_at_once(address: usize) -> Option<(InstanceId, usize, usize)> {
    find_in(&*LOADED.try_read().ok()?, address, |base, found| {
        let (module, offset) = found.parts.layout.find(address - base)?;
        Some((found.id, found.parts.first + module, offset))
    })
}

fn mapped(base: usize, found: &Loaded, code: usize) -> Option<Mapped> {
    let places = found.parts.layout.places.iter().zip(&found.parts.modules);
    let (place, module) = places.rev().find(|(place, _)| base + place.start <= code)?;
    Some(Mapped { start: base + place.start, end: base + place.end, frame_table: base + module.frame_table? })
}
