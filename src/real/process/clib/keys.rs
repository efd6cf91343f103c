//! Keys of thread-specific data (POSIX `pthread_key_create`, C11 `tss_create`): as many for each rank as a process has.
//!
//! A rank's own values follow it from host thread to host thread. Those of threads that the program has started belong
//! to these.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::process::{Function, NamedFunction, Process, current};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("pthread_key_create", Function(mcpsim_key_create as *const ())),
    ("__pthread_key_create", Function(mcpsim_key_create as *const ())),
    ("pthread_key_delete", Function(mcpsim_key_delete as *const ())),
    ("pthread_getspecific", Function(mcpsim_get as *const ())),
    ("__pthread_getspecific", Function(mcpsim_get as *const ())),
    ("pthread_setspecific", Function(mcpsim_set as *const ())),
    ("__pthread_setspecific", Function(mcpsim_set as *const ())),
    ("tss_create", Function(mcpsim_key_create as *const ())),
    ("tss_delete", Function(mcpsim_key_delete as *const ())),
    ("tss_get", Function(mcpsim_get as *const ())),
    ("tss_set", Function(mcpsim_set as *const ())),
];

/// As many keys as a process has (PTHREAD_KEYS_MAX).
const MOST: usize = 1024;
/// How often destructors may set values again (PTHREAD_DESTRUCTOR_ITERATIONS).
const ROUNDS: usize = 4;

type Destructor = Option<unsafe extern "C" fn(*mut c_void)>;
type Values = RefCell<Vec<(c_uint, *mut c_void)>>;

/// A rank's own keys and values.
#[derive(Debug, Default)]
pub struct Keys {
    made: RefCell<Vec<c_uint>>,
    values: Values,
}

/// The keys of all ranks by their numbers; no place is used twice at a time.
static KEYS: Mutex<Vec<Option<Destructor>>> = Mutex::new(Vec::new());

fn keys() -> MutexGuard<'static, Vec<Option<Destructor>>> {
    KEYS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a thread has that the program has started.
struct OfThread(Values);

impl Drop for OfThread {
    fn drop(&mut self) {
        destroy(|| self.0.take());
    }
}

/// Calls the destructors of what `values` takes away.
fn destroy(values: impl Fn() -> Vec<(c_uint, *mut c_void)>) {
    for _ in 0..ROUNDS {
        let values = values();
        if values.is_empty() {
            return;
        }
        for (key, value) in values.into_iter().filter(|(_, value)| !value.is_null()) {
            let destructor = keys().get(key as usize).copied().flatten().flatten();
            if let Some(destructor) = destructor {
                // SAFETY: the program's own function, for a value that it has set.
                unsafe { destructor(value) }
            }
        }
    }
}

/// The rank's main thread ends by itself, not by the end of the program.
pub(super) fn end_of_main_thread(p: &Process) {
    destroy(|| p.variables.keys.values.take());
}

thread_local! {
    static OF_THREAD: OfThread = const { OfThread(RefCell::new(Vec::new())) };
}

/// The values of who calls.
// Not inlined: a fiber may go on in another thread, where the address of a thread-local that a caller kept is wrong.
#[inline(never)]
fn with_values<T>(act: impl FnOnce(&mut Vec<(c_uint, *mut c_void)>) -> T) -> Option<T> {
    match current() {
        Some(p) => Some(act(&mut p.variables.keys.values.borrow_mut())),
        None => OF_THREAD.try_with(|thread| act(&mut thread.0.borrow_mut())).ok(),
    }
}

unsafe extern "C" fn mcpsim_key_create(to: *mut c_uint, destructor: Destructor) -> c_int {
    if current().is_some_and(|p| p.variables.keys.made.borrow().len() >= MOST) {
        return libc::EAGAIN;
    }
    let mut keys = keys();
    let place = keys.iter().position(Option::is_none).unwrap_or(keys.len());
    match keys.get_mut(place) {
        Some(free) => *free = Some(destructor),
        None => keys.push(Some(destructor)),
    }
    drop(keys);
    current().inspect(|p| p.variables.keys.made.borrow_mut().push(place as c_uint));
    // SAFETY: the caller's.
    unsafe { *to = place as c_uint };
    0
}

unsafe extern "C" fn mcpsim_key_delete(key: c_uint) -> c_int {
    let known = keys().get_mut(key as usize).and_then(Option::take).is_some();
    if let Some(p) = current() {
        p.variables.keys.made.borrow_mut().retain(|&made| made != key);
    }
    with_values(|values| values.retain(|&(of, _)| of != key));
    if known { 0 } else { libc::EINVAL }
}

unsafe extern "C" fn mcpsim_get(key: c_uint) -> *mut c_void {
    let find =
        |values: &mut Vec<(c_uint, *mut c_void)>| values.iter().find(|&&(of, _)| of == key).map(|&(_, value)| value);
    with_values(find).flatten().unwrap_or(ptr::null_mut())
}

unsafe extern "C" fn mcpsim_set(key: c_uint, value: *mut c_void) -> c_int {
    if !keys().get(key as usize).is_some_and(Option::is_some) {
        return libc::EINVAL;
    }
    with_values(|values| match values.iter_mut().find(|(of, _)| *of == key) {
        Some((_, old)) => *old = value,
        None => values.push((key, value)),
    });
    0
}

impl Drop for Keys {
    /// Other ranks may use their numbers.
    fn drop(&mut self) {
        let mut keys = keys();
        for key in self.made.take() {
            if let Some(place) = keys.get_mut(key as usize) {
                *place = None;
            }
        }
    }
}
