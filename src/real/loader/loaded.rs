//! The instances that are in memory, by their addresses: for functions that programs call without saying who they are.

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

/// By their first addresses.
static LOADED: RwLock<BTreeMap<usize, Loaded>> = RwLock::new(BTreeMap::new());

/// Makes the files at `base` known.
pub(super) fn add(base: usize, space: &Arc<InstanceMemory>, parts: &Arc<ModuleParts>) {
    let loaded = Loaded { id: space.id, parts: parts.clone(), space: Arc::downgrade(space) };
    LOADED.write().unwrap_or_else(PoisonError::into_inner).insert(base, loaded);
}

/// Forgets the files at `base`.
pub(super) fn remove(base: usize) {
    LOADED.write().unwrap_or_else(PoisonError::into_inner).remove(&base);
}

/// Whether the instance is in memory.
pub(super) fn is_alive(id: InstanceId) -> bool {
    LOADED.read().unwrap_or_else(PoisonError::into_inner).values().any(|loaded| loaded.id == id)
}

/// What `look` finds in the instance that `address` is in; it is given the instance's first address too.
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

/// The instance that `address` is in.
pub(super) fn space(address: usize) -> Option<Arc<InstanceMemory>> {
    find(address, |_, found| found.space.upgrade())
}

/// A module in memory.
pub(super) struct Mapped {
    pub start: usize,
    pub end: usize,
    /// The table by which call frame information is searched.
    pub frame_table: usize,
}

/// The module that `code` is in, if it has call frame information.
pub(super) fn module(code: usize) -> Option<Mapped> {
    find(code, |base, found| mapped(base, found, code))
}

/// As [`module`], for handlers of signals: finds nothing where it would have to wait.
pub(super) fn module_at_once(code: usize) -> Option<Mapped> {
    find_in(&*LOADED.try_read().ok()?, code, |base, found| mapped(base, found, code))
}

/// The instance that `address` is in, for handlers of signals, the module's number and the address in its file.
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
