//! Waiting for each other at what processes share besides files: semaphores, locks, conditions and barriers in shared
//! memory; until a deadline, see [`super::deadlines`]. A rank that would wait in the system would
//! keep its host thread, and with it the ranks that it waits for. In programs with threads of their own all of this is
//! left to the C library.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::files::{pause, pause_at_most, unanswered_until, wait_is_endless, yielded};
use super::threads::{alone, threads_were_started};
use crate::process::{Function, NamedFunction, Process, current};
use mcpsim_core::units::SimSpan;

pub const FUNCTIONS: &[NamedFunction] = &[
    ("sem_wait", Function(sem_wait as *const ())),
    ("pthread_mutex_lock", Function(pthread_mutex_lock as *const ())),
    ("pthread_rwlock_rdlock", Function(pthread_rwlock_rdlock as *const ())),
    ("pthread_rwlock_wrlock", Function(pthread_rwlock_wrlock as *const ())),
    ("pthread_spin_lock", Function(pthread_spin_lock as *const ())),
    ("pthread_cond_wait", Function(pthread_cond_wait as *const ())),
    ("pthread_barrier_wait", Function(pthread_barrier_wait as *const ())),
    ("pthread_barrier_destroy", Function(pthread_barrier_destroy as *const ())),
    ("sched_yield", Function(sched_yield as *const ())),
    ("thrd_yield", Function(sched_yield as *const ())),
    ("pthread_yield", Function(sched_yield as *const ())),
];

/// The number of the C library's last error.
fn number() -> c_int {
    // SAFETY: the location is the thread's own.
    unsafe { *libc::__errno_location() }
}

/// Asks by `attempt` until it gives something, and lets the other ranks go on in between.
fn until<T>(p: &Process, what: &str, attempt: impl Fn() -> Option<T>) -> T {
    let since = p.now();
    loop {
        if let Some(found) = attempt() {
            return found;
        }
        if !pause(p, since) {
            wait_is_endless(p, what);
        }
    }
}

/// As [`until`], but for no longer than `limit`: none then.
pub(super) fn until_over<T>(p: &Process, limit: SimSpan, attempt: impl Fn() -> Option<T>) -> Option<T> {
    let since = p.now();
    loop {
        let found = attempt();
        let left = limit.saturating_sub(p.now().since(since));
        if found.is_some() || left == SimSpan::ZERO {
            return found;
        }
        pause_at_most(p, since, Some(left));
    }
}

unsafe extern "C" fn sem_wait(semaphore: *mut libc::sem_t) -> c_int {
    // SAFETY: the caller's semaphore.
    unsafe {
        let Some(p) = alone() else { return libc::sem_wait(semaphore) };
        until(p, "a semaphore (sem_wait)", || match libc::sem_trywait(semaphore) {
            0 => Some(0),
            _ if number() == libc::EAGAIN => None,
            failed => Some(failed),
        })
    }
}

/// Objects of POSIX of which some are for several processes.
#[derive(Clone, Copy)]
pub(super) enum Shared {
    Mutex,
    Condition,
    ReadWriteLock,
}

/// Where the C library keeps that: the word of the object, and its bits.
type Mark = Option<(usize, u32)>;

/// What an object for several processes has that one for threads has not.
fn mark<T>(make: impl Fn(&mut T, c_int)) -> Mark {
    // SAFETY: these objects of the C library are plain data, made by `make`; all zeros is valid.
    let [own, shared] = [libc::PTHREAD_PROCESS_PRIVATE, libc::PTHREAD_PROCESS_SHARED].map(|kind| unsafe {
        let mut object: T = std::mem::zeroed();
        make(&mut object, kind);
        let words = std::slice::from_raw_parts((&raw const object).cast::<u32>(), size_of::<T>() / size_of::<u32>());
        words.to_vec()
    });
    let at = own.iter().zip(&shared).position(|(own, shared)| own != shared)?;
    Some((at, own[at] ^ shared[at]))
}

/// The marks of mutexes, conditions and read-write locks: their layouts differ between versions of the C library.
fn marks() -> &'static [Mark; 3] {
    static MARKS: OnceLock<[Mark; 3]> = OnceLock::new();
    // SAFETY: attributes and objects are made before they are used.
    MARKS.get_or_init(|| unsafe {
        let mutex = mark(|object: &mut libc::pthread_mutex_t, kind| {
            let mut attributes = std::mem::zeroed();
            libc::pthread_mutexattr_init(&mut attributes);
            libc::pthread_mutexattr_setpshared(&mut attributes, kind);
            libc::pthread_mutex_init(object, &attributes);
        });
        let condition = mark(|object: &mut libc::pthread_cond_t, kind| {
            let mut attributes = std::mem::zeroed();
            libc::pthread_condattr_init(&mut attributes);
            libc::pthread_condattr_setpshared(&mut attributes, kind);
            libc::pthread_cond_init(object, &attributes);
        });
        let lock = mark(|object: &mut libc::pthread_rwlock_t, kind| {
            let mut attributes = std::mem::zeroed();
            libc::pthread_rwlockattr_init(&mut attributes);
            libc::pthread_rwlockattr_setpshared(&mut attributes, kind);
            libc::pthread_rwlock_init(object, &attributes);
        });
        [mutex, condition, lock]
    })
}

impl Shared {
    /// Whether the object at `object` is one that processes share.
    pub(super) unsafe fn is(self, object: *mut c_void) -> bool {
        let Some((at, bits)) = marks()[self as usize] else { return false };
        // SAFETY: within the caller's object.
        unsafe { object.cast::<u32>().add(at).read() & bits != 0 }
    }
}

/// A lock in shared memory: `attempt` tries to get it, and gives EBUSY if another has it.
unsafe fn lock(kind: Shared, object: *mut c_void, what: &str, attempt: impl Fn() -> c_int) -> Option<c_int> {
    // SAFETY: the caller's object.
    let p = alone().filter(|_| unsafe { kind.is(object) })?;
    Some(until(p, what, || Some(attempt()).filter(|&number| number != libc::EBUSY)))
}

unsafe extern "C" fn pthread_mutex_lock(mutex: *mut libc::pthread_mutex_t) -> c_int {
    // SAFETY: the caller's lock.
    let attempt = || unsafe { libc::pthread_mutex_trylock(mutex) };
    // SAFETY: the caller's lock.
    unsafe {
        lock(Shared::Mutex, mutex.cast(), "a mutex in shared memory", attempt)
            .unwrap_or_else(|| libc::pthread_mutex_lock(mutex))
    }
}

unsafe extern "C" fn pthread_rwlock_rdlock(object: *mut libc::pthread_rwlock_t) -> c_int {
    // SAFETY: the caller's lock.
    let attempt = || unsafe { libc::pthread_rwlock_tryrdlock(object) };
    // SAFETY: the caller's lock.
    unsafe {
        lock(Shared::ReadWriteLock, object.cast(), "a read-write lock in shared memory", attempt)
            .unwrap_or_else(|| libc::pthread_rwlock_rdlock(object))
    }
}

unsafe extern "C" fn pthread_rwlock_wrlock(object: *mut libc::pthread_rwlock_t) -> c_int {
    // SAFETY: the caller's lock.
    let attempt = || unsafe { libc::pthread_rwlock_trywrlock(object) };
    // SAFETY: the caller's lock.
    unsafe {
        lock(Shared::ReadWriteLock, object.cast(), "a read-write lock in shared memory", attempt)
            .unwrap_or_else(|| libc::pthread_rwlock_wrlock(object))
    }
}

unsafe extern "C" fn pthread_spin_lock(object: *mut libc::pthread_spinlock_t) -> c_int {
    // SAFETY: the caller's lock.
    unsafe {
        let Some(p) = alone() else { return libc::pthread_spin_lock(object) };
        until(p, "a spin lock in shared memory", || {
            Some(libc::pthread_spin_trylock(object)).filter(|&number| number != libc::EBUSY)
        })
    }
}

/// A condition in shared memory: the rank lets others go on and then looks for itself, as after a spurious wake-up,
/// which POSIX allows.
unsafe extern "C" fn pthread_cond_wait(
    condition: *mut libc::pthread_cond_t,
    mutex: *mut libc::pthread_mutex_t,
) -> c_int {
    // SAFETY: the caller's objects.
    unsafe {
        let Some(p) = alone().filter(|_| Shared::Condition.is(condition.cast())) else {
            return libc::pthread_cond_wait(condition, mutex);
        };
        look_again(p, condition, mutex, None)
    }
}

/// What [`pthread_cond_wait`] does, of a rank that waits no longer than `left`.
pub(super) unsafe fn look_again(
    p: &Process,
    condition: *mut libc::pthread_cond_t,
    mutex: *mut libc::pthread_mutex_t,
    left: Option<SimSpan>,
) -> c_int {
    // SAFETY: the caller's objects.
    unsafe {
        let failed = libc::pthread_mutex_unlock(mutex);
        if failed != 0 {
            return failed;
        }
        let key = (condition as usize).to_ne_bytes();
        unanswered_until(p, &key, "a condition in shared memory (pthread_cond_wait)", left);
        pthread_mutex_lock(mutex)
    }
}

/// What glibc keeps of a barrier.
#[repr(C)]
struct SharedBarrier {
    /// How many have come.
    come: AtomicU32,
    round: c_uint,
    count: c_uint,
    shared: c_int,
}

/// A barrier in shared memory that ranks alone use: who comes waits until its round is full.
unsafe extern "C" fn pthread_barrier_wait(object: *mut libc::pthread_barrier_t) -> c_int {
    // SAFETY: the caller's barrier, which glibc lays out so.
    let barrier = unsafe { &*object.cast::<SharedBarrier>() };
    let Some(p) = alone().filter(|_| barrier.shared != 0 && barrier.count > 0) else {
        // SAFETY: as above.
        return unsafe { libc::pthread_barrier_wait(object) };
    };
    let place = barrier.come.fetch_add(1, Ordering::AcqRel);
    let last = place / barrier.count * barrier.count + (barrier.count - 1);
    if place == last {
        return libc::PTHREAD_BARRIER_SERIAL_THREAD;
    }
    let is_full = || barrier.come.load(Ordering::Acquire).wrapping_sub(last) as i32 > 0;
    until(p, "other ranks to come to a barrier in shared memory", || is_full().then_some(0))
}

/// The C library's would wait for those to leave that never entered its own.
unsafe extern "C" fn pthread_barrier_destroy(object: *mut libc::pthread_barrier_t) -> c_int {
    // SAFETY: as above.
    unsafe {
        if alone().is_some() && (*object.cast::<SharedBarrier>()).shared != 0 {
            return 0;
        }
        libc::pthread_barrier_destroy(object)
    }
}

/// Other ranks are not on the same core; threads of the program may be. Who does nothing but yield waits for what
/// another rank writes into memory that they share.
pub(super) unsafe extern "C" fn sched_yield() -> c_int {
    match current() {
        None => std::thread::yield_now(),
        Some(_) if threads_were_started() => {}
        Some(p) => yielded(p),
    }
    0
}
