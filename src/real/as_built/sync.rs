//! Locks, conditions, barriers and semaphores of threads with clocks of their own. A thread that must wait suspends
//! itself in the engine, and the thread that ends the wait resumes it at its own virtual time.
//!
//! The objects of the C library have their true state at any time. Waiting threads are listed here by the address of the
//! object. An object is granted in the order of the virtual times of the requests, then of the numbers of threads.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcpsim_core::rank::{Call, ObjectUse, RequestId, Requests, TagPattern, lock_wait, thread_wait};
use mcpsim_core::units::SimTime;

use super::gate::own_task;
use super::tasks::{self, in_function, own_turn};
use crate::mpi_api::MpiProcess;
use crate::process::{Function, current_as};

/// Objects for which threads wait, by address.
static OBJECTS: Mutex<Option<HashMap<usize, SyncObject>>> = Mutex::new(None);

/// A thread that waits for an object.
#[derive(Clone, Copy)]
pub(super) struct WaitingThread {
    since: SimTime,
    task: u32,
    request: RequestId,
}

#[derive(Default)]
struct SyncObject {
    waiting: Vec<WaitingThread>,
    /// Threads to which the object is granted and that have not continued yet.
    granted: Vec<u32>,
}

fn objects() -> MutexGuard<'static, Option<HashMap<usize, SyncObject>>> {
    OBJECTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `body` with the state of the object at `address`.
fn with<T>(address: usize, body: impl FnOnce(&mut SyncObject) -> T) -> T {
    let mut all = objects();
    let all = all.get_or_insert_default();
    let result = body(all.entry(address).or_default());
    if all.get(&address).is_some_and(|object| object.waiting.is_empty() && object.granted.is_empty()) {
        all.remove(&address);
    }
    result
}

pub(super) fn own_rank() -> &'static MpiProcess {
    // SAFETY: the preloaded library calls these functions only in threads of the rank, whose state is an `MpiProcess`.
    unsafe { current_as::<MpiProcess>() }.expect("the thread runs code of the rank")
}

/// Lists the current thread as waiting for the object at `address`, since the virtual time `since`. Returns the request
/// whose cancellation ends the wait: a receive in the service context, which no message matches.
pub(super) fn enlist(p: &MpiProcess, address: usize, since: SimTime) -> RequestId {
    enlist_for(p, address, since, None)
}

/// Lists the current thread as [`enlist`]. The object is a lock of the thread `holder`, if known.
fn enlist_for(p: &MpiProcess, address: usize, since: SimTime, holder: Option<u32>) -> RequestId {
    let mut pattern = thread_wait(p.rank);
    if let Some(holder) = holder {
        pattern.tag = TagPattern::Tag(lock_wait(holder));
    }
    let request = p.call_start(Call::Irecv(pattern));
    with(address, |object| object.waiting.push(WaitingThread { since, task: own_task(), request }));
    request
}

pub(super) fn suspend(p: &MpiProcess, request: RequestId) {
    p.complete(Requests::from_slice(&[request]));
}

/// Removes and returns the thread that has waited longest for the object at `address`.
pub(super) fn first(address: usize) -> Option<WaitingThread> {
    with(address, |object| {
        let order = |&index: &usize| (object.waiting[index].since, object.waiting[index].task);
        let index = (0..object.waiting.len()).min_by_key(order)?;
        Some(object.waiting.remove(index))
    })
}

pub(super) fn resume(p: &MpiProcess, thread: WaitingThread) {
    p.call_done(Call::Cancel(thread.request));
}

/// Returns true if a thread waits for the object at `address`.
pub(super) fn waits(address: usize) -> bool {
    with(address, |object| !object.waiting.is_empty())
}

/// Removes the thread whose wait the request `request` ends. Returns false if another thread has resumed it.
pub(super) fn withdraw(address: usize, request: RequestId) -> bool {
    with(address, |object| {
        let before = object.waiting.len();
        object.waiting.retain(|thread| thread.request != request);
        object.waiting.len() < before
    })
}

/// An object that several threads acquire.
struct Acquired<'a> {
    address: usize,
    /// Acquires the object. Returns `None` if the object is not free.
    attempt: &'a dyn Fn() -> Option<c_int>,
    /// Number of threads that could acquire the object now.
    free: usize,
    /// True if the object is a mutex.
    is_mutex: bool,
    /// Order in which threads acquire the object.
    how: ObjectUse,
}

impl Acquired<'_> {
    /// Returns the thread that has the mutex; `None` for other objects.
    fn holder(&self) -> Option<u32> {
        // SAFETY: the object is a mutex, whose third number is the number of its holder in the system.
        let number = self.is_mutex.then(|| unsafe { *(self.address as *const i32).add(HOLDER) })?;
        tasks::of_number(number)
    }

    /// Acquires the object, unless it is granted to other threads.
    fn try_now(&self, p: &MpiProcess) -> Option<c_int> {
        let is_free =
            with(self.address, |object| object.granted.contains(&own_task()) || object.granted.len() < self.free);
        let code = if is_free { (self.attempt)() } else { None };
        with(self.address, |object| object.granted.retain(|&task| task != own_task()));
        if code == Some(0) {
            p.uses_object(self.address, self.how);
        }
        code
    }
}

/// Acquires an object, at most until the point in time `until`. `of` returns the present state of the object.
fn acquire<'a>(p: &MpiProcess, until: Option<&libc::timespec>, of: impl Fn() -> Acquired<'a>) -> c_int {
    own_turn(p);
    let since = p.clock.get();
    loop {
        let object = of();
        if let Some(code) = object.try_now(p) {
            return code;
        }
        let request = enlist_for(p, object.address, since, object.holder());
        match until {
            None => suspend(p, request),
            Some(until) if timed::times_out(p, object.address, request, until) => return libc::ETIMEDOUT,
            Some(_) => {}
        }
    }
}

/// Acquires an object, if it is free. A failure costs one poll.
fn try_acquire(p: &MpiProcess, busy: c_int, object: &Acquired<'_>) -> c_int {
    own_turn(p);
    object.try_now(p).unwrap_or_else(|| {
        p.failed_poll();
        busy
    })
}

/// Grants the object at `address`, which has become free, to the first waiting thread.
fn grant(p: &MpiProcess, address: usize) {
    if let Some(thread) = first(address) {
        with(address, |object| object.granted.push(thread.task));
        resume(p, thread);
    }
}

/// Resumes the threads that wait now. A resumed thread may wait for the same object again before this function ends.
fn resume_all(p: &MpiProcess, address: usize) {
    let mut all = with(address, |object| std::mem::take(&mut object.waiting));
    all.sort_unstable_by_key(|thread| (thread.since, thread.task));
    all.into_iter().for_each(|thread| resume(p, thread));
}

/// Position of the number of the holder in a mutex of the GNU C library.
const HOLDER: usize = 2;

/// A mutex.
fn one(address: usize, attempt: &dyn Fn() -> Option<c_int>) -> Acquired<'_> {
    Acquired { address, attempt, free: 1, is_mutex: true, how: ObjectUse::Acquire }
}

/// An object that any number of threads can have.
fn all(address: usize, attempt: &dyn Fn() -> Option<c_int>) -> Acquired<'_> {
    Acquired { address, attempt, free: usize::MAX, is_mutex: false, how: ObjectUse::Next }
}

fn unless(code: c_int, busy: c_int) -> Option<c_int> {
    Some(code).filter(|&code| code != busy)
}

pub mod futexes;
mod timed;

pub use timed::ends_before;

type MutexPointer = *mut libc::pthread_mutex_t;
type ConditionPointer = *mut libc::pthread_cond_t;
type LockPointer = *mut libc::pthread_rwlock_t;
type SemaphorePointer = *mut libc::sem_t;
type SpinPointer = *mut libc::pthread_spinlock_t;

/// Position of the kind in a mutex of the GNU C library, and the bits that contain the kind.
const KIND: usize = 4;
const KIND_BITS: i32 = 3;

/// Tries to lock a mutex. Returns `None` if the mutex is not free. A mutex that checks errors returns one if the current
/// thread has locked it.
fn try_lock(mutex: MutexPointer) -> Option<c_int> {
    // SAFETY: the program passes a valid object, which has these numbers.
    let (code, holder, kind) = unsafe {
        let numbers = mutex.cast::<i32>();
        (libc::pthread_mutex_trylock(mutex), *numbers.add(HOLDER), *numbers.add(KIND) & KIND_BITS)
    };
    // SAFETY: the call has no requirement.
    if code == libc::EBUSY && kind == libc::PTHREAD_MUTEX_ERRORCHECK && holder == unsafe { libc::gettid() } {
        return Some(libc::EDEADLK);
    }
    unless(code, libc::EBUSY)
}

unsafe extern "C" fn mutex_lock(mutex: MutexPointer) -> c_int {
    let attempt = || try_lock(mutex);
    in_function(own_rank(), "pthread_mutex_lock", |p| acquire(p, None, || one(mutex as usize, &attempt)))
}

unsafe extern "C" fn mutex_trylock(mutex: MutexPointer) -> c_int {
    // SAFETY: the program passes a valid object; so in the functions below.
    let attempt = || unless(unsafe { libc::pthread_mutex_trylock(mutex) }, libc::EBUSY);
    in_function(own_rank(), "pthread_mutex_trylock", |p| try_acquire(p, libc::EBUSY, &one(mutex as usize, &attempt)))
}

fn unlock(p: &MpiProcess, mutex: MutexPointer) -> c_int {
    // SAFETY: see `mutex_trylock`.
    let code = unsafe { libc::pthread_mutex_unlock(mutex) };
    if code == 0 {
        p.uses_object(mutex as usize, ObjectUse::Release);
        grant(p, mutex as usize);
    }
    code
}

unsafe extern "C" fn mutex_unlock(mutex: MutexPointer) -> c_int {
    in_function(own_rank(), "pthread_mutex_unlock", |p| {
        own_turn(p);
        unlock(p, mutex)
    })
}

unsafe extern "C" fn cond_wait(condition: ConditionPointer, mutex: MutexPointer) -> c_int {
    in_function(own_rank(), "pthread_cond_wait", |p| {
        own_turn(p);
        let request = enlist(p, condition as usize, p.clock.get());
        unlock(p, mutex);
        suspend(p, request);
        lock_again(p, mutex)
    })
}

fn lock_again(p: &MpiProcess, mutex: MutexPointer) -> c_int {
    // SAFETY: see `mutex_trylock`.
    let attempt = || unless(unsafe { libc::pthread_mutex_trylock(mutex) }, libc::EBUSY);
    acquire(p, None, || one(mutex as usize, &attempt))
}

unsafe extern "C" fn cond_signal(condition: ConditionPointer) -> c_int {
    in_function(own_rank(), "pthread_cond_signal", |p| {
        own_turn(p);
        if let Some(thread) = first(condition as usize) {
            resume(p, thread);
        }
        0
    })
}

unsafe extern "C" fn cond_broadcast(condition: ConditionPointer) -> c_int {
    in_function(own_rank(), "pthread_cond_broadcast", |p| {
        own_turn(p);
        resume_all(p, condition as usize);
        0
    })
}

/// Position of the number of threads in a barrier of the GNU C library.
const COUNT: usize = 2;

unsafe extern "C" fn barrier_wait(barrier: *mut libc::pthread_barrier_t) -> c_int {
    // SAFETY: the program passes a barrier, which has this number.
    let count = unsafe { *barrier.cast::<u32>().add(COUNT) } as usize;
    in_function(own_rank(), "pthread_barrier_wait", |p| {
        own_turn(p);
        p.uses_object(barrier as usize, ObjectUse::Next);
        if with(barrier as usize, |object| object.waiting.len()) + 1 < count {
            let request = enlist(p, barrier as usize, p.clock.get());
            suspend(p, request);
            return 0;
        }
        resume_all(p, barrier as usize);
        libc::PTHREAD_BARRIER_SERIAL_THREAD
    })
}

fn sem_attempt(semaphore: SemaphorePointer) -> Option<c_int> {
    // SAFETY: see `mutex_trylock`. The location of the error number belongs to the thread.
    unsafe {
        let code = libc::sem_trywait(semaphore);
        Some(code).filter(|&code| code == 0 || *libc::__errno_location() != libc::EAGAIN)
    }
}

fn units(semaphore: SemaphorePointer, attempt: &dyn Fn() -> Option<c_int>) -> Acquired<'_> {
    let mut free = 0;
    // SAFETY: see `mutex_trylock`. The result has room.
    unsafe { libc::sem_getvalue(semaphore, &mut free) };
    let (address, free) = (semaphore as usize, free.max(0) as usize);
    Acquired { address, attempt, free, is_mutex: false, how: ObjectUse::Acquire }
}

unsafe extern "C" fn sem_wait(semaphore: SemaphorePointer) -> c_int {
    let attempt = || sem_attempt(semaphore);
    in_function(own_rank(), "sem_wait", |p| acquire(p, None, || units(semaphore, &attempt)))
}

unsafe extern "C" fn sem_trywait(semaphore: SemaphorePointer) -> c_int {
    let attempt = || sem_attempt(semaphore);
    let code = in_function(own_rank(), "sem_trywait", |p| try_acquire(p, -libc::EAGAIN, &units(semaphore, &attempt)));
    if code == -libc::EAGAIN {
        // SAFETY: the location belongs to the thread.
        unsafe { *libc::__errno_location() = libc::EAGAIN };
        return -1;
    }
    code
}

unsafe extern "C" fn sem_post(semaphore: SemaphorePointer) -> c_int {
    in_function(own_rank(), "sem_post", |p| {
        own_turn(p);
        // SAFETY: see `mutex_trylock`.
        let code = unsafe { libc::sem_post(semaphore) };
        p.uses_object(semaphore as usize, ObjectUse::Release);
        grant(p, semaphore as usize);
        code
    })
}

unsafe extern "C" fn read_lock(lock: LockPointer) -> c_int {
    // SAFETY: see `mutex_trylock`.
    let attempt = || unless(unsafe { libc::pthread_rwlock_tryrdlock(lock) }, libc::EBUSY);
    in_function(own_rank(), "pthread_rwlock_rdlock", |p| acquire(p, None, || all(lock as usize, &attempt)))
}

unsafe extern "C" fn write_lock(lock: LockPointer) -> c_int {
    // SAFETY: see `mutex_trylock`.
    let attempt = || unless(unsafe { libc::pthread_rwlock_trywrlock(lock) }, libc::EBUSY);
    in_function(own_rank(), "pthread_rwlock_wrlock", |p| acquire(p, None, || all(lock as usize, &attempt)))
}

unsafe extern "C" fn release_lock(lock: LockPointer) -> c_int {
    in_function(own_rank(), "pthread_rwlock_unlock", |p| {
        own_turn(p);
        // SAFETY: see `mutex_trylock`.
        let code = unsafe { libc::pthread_rwlock_unlock(lock) };
        p.uses_object(lock as usize, ObjectUse::Next);
        // Several readers may continue. Those that do not get the lock wait again, in their former order.
        resume_all(p, lock as usize);
        code
    })
}

/// Value of a `pthread_once_t` of the GNU C library whose function has returned.
const ONCE_DONE: c_int = 2;

/// Returns 1 if the caller executes the function of `control`, and then calls [`once_end`]. Otherwise waits until another
/// thread has executed it.
unsafe extern "C" fn once_begin(control: *mut libc::pthread_once_t) -> c_int {
    let control = control.cast::<c_int>();
    in_function(own_rank(), "pthread_once", |p| {
        own_turn(p);
        loop {
            // SAFETY: the program passes a valid object.
            if unsafe { *control } == ONCE_DONE {
                p.uses_object(control as usize, ObjectUse::Acquire);
                return 0;
            }
            let is_first = with(control as usize, |object| {
                let is_first = object.granted.is_empty();
                if is_first {
                    object.granted.push(own_task());
                }
                is_first
            });
            if is_first {
                return 1;
            }
            let request = enlist(p, control as usize, p.clock.get());
            suspend(p, request);
        }
    })
}

unsafe extern "C" fn once_end(control: *mut libc::pthread_once_t) -> c_int {
    in_function(own_rank(), "pthread_once", |p| {
        own_turn(p);
        // SAFETY: the program passes a valid object.
        unsafe { *control.cast::<c_int>() = ONCE_DONE };
        p.uses_object(control as usize, ObjectUse::Release);
        with(control as usize, |object| object.granted.clear());
        resume_all(p, control as usize);
        0
    })
}

/// Ends the execution of the function of `control` by an exception. The next caller executes the function again.
unsafe extern "C" fn once_fail(control: *mut libc::pthread_once_t) -> c_int {
    in_function(own_rank(), "pthread_once", |p| {
        own_turn(p);
        with(control as usize, |object| object.granted.clear());
        resume_all(p, control as usize);
        0
    })
}

unsafe extern "C" fn sched_yield() -> c_int {
    in_function(own_rank(), "sched_yield", |p| {
        p.failed_poll();
        own_turn(p);
        0
    })
}

/// A spin lock, which does not contain its holder.
fn spin(address: usize, attempt: &dyn Fn() -> Option<c_int>) -> Acquired<'_> {
    Acquired { is_mutex: false, ..one(address, attempt) }
}

unsafe extern "C" fn spin_lock(lock: SpinPointer) -> c_int {
    // SAFETY: see `mutex_trylock`.
    let attempt = || unless(unsafe { libc::pthread_spin_trylock(lock) }, libc::EBUSY);
    in_function(own_rank(), "pthread_spin_lock", |p| acquire(p, None, || spin(lock as usize, &attempt)))
}

unsafe extern "C" fn spin_trylock(lock: SpinPointer) -> c_int {
    // SAFETY: see `mutex_trylock`.
    let attempt = || unless(unsafe { libc::pthread_spin_trylock(lock) }, libc::EBUSY);
    in_function(own_rank(), "pthread_spin_trylock", |p| try_acquire(p, libc::EBUSY, &spin(lock as usize, &attempt)))
}

unsafe extern "C" fn spin_unlock(lock: SpinPointer) -> c_int {
    in_function(own_rank(), "pthread_spin_unlock", |p| {
        own_turn(p);
        // SAFETY: see `mutex_trylock`.
        let code = unsafe { libc::pthread_spin_unlock(lock) };
        p.uses_object(lock as usize, ObjectUse::Release);
        grant(p, lock as usize);
        code
    })
}

/// Functions that replace those of the C library in threads with clocks of their own.
const FUNCTIONS: [(&str, Function); 21] = [
    ("futex", Function(futexes::futex as *const ())),
    ("pthread_mutex_lock", Function(mutex_lock as *const ())),
    ("pthread_mutex_trylock", Function(mutex_trylock as *const ())),
    ("pthread_mutex_unlock", Function(mutex_unlock as *const ())),
    ("pthread_cond_wait", Function(cond_wait as *const ())),
    ("pthread_cond_signal", Function(cond_signal as *const ())),
    ("pthread_cond_broadcast", Function(cond_broadcast as *const ())),
    ("pthread_barrier_wait", Function(barrier_wait as *const ())),
    ("sem_wait", Function(sem_wait as *const ())),
    ("sem_trywait", Function(sem_trywait as *const ())),
    ("sem_post", Function(sem_post as *const ())),
    ("pthread_rwlock_rdlock", Function(read_lock as *const ())),
    ("pthread_rwlock_wrlock", Function(write_lock as *const ())),
    ("pthread_rwlock_unlock", Function(release_lock as *const ())),
    ("sched_yield", Function(sched_yield as *const ())),
    ("pthread_spin_lock", Function(spin_lock as *const ())),
    ("pthread_spin_trylock", Function(spin_trylock as *const ())),
    ("pthread_spin_unlock", Function(spin_unlock as *const ())),
    ("mcpsim_once_begin", Function(once_begin as *const ())),
    ("mcpsim_once_end", Function(once_end as *const ())),
    ("mcpsim_once_fail", Function(once_fail as *const ())),
];

/// Returns the address of the function that replaces the function `name` of the C library.
pub fn find(name: &str) -> Option<usize> {
    let all = FUNCTIONS.iter().chain(timed::FUNCTIONS);
    all.into_iter().find(|(known, _)| *known == name).map(|(_, function)| function.0 as usize)
}
