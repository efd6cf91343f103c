//! Waits with a time limit.

use std::ffi::c_int;

use mcpsim_core::rank::{Call, Describe, Program, Reply, RequestId, Requests, thread_wait};
use mcpsim_core::units::{SimSpan, SimTime};

use super::{
    ConditionPointer, LockPointer, MutexPointer, SemaphorePointer, acquire, all, enlist, lock_again, one, own_rank,
    sem_attempt, suspend, units, unless, unlock, withdraw,
};
use crate::as_built::tasks::{in_function, own_turn};
use crate::mpi_api::MpiProcess;
use crate::process::{EPOCH_SECONDS, Function};

/// Longest wait in ps.
const MOST_WAIT: u64 = 1 << 60;

/// A strand that ends after a time.
struct Timeout(Option<SimSpan>);

impl Program for Timeout {
    fn next(&mut self, _: Reply<'_>) -> Call {
        self.0.take().map_or(Call::Finish, Call::Compute)
    }
}

impl Describe for Timeout {}

/// Returns a time of the C library, which is at most [`MOST_WAIT`]; 0 for a negative time.
pub(super) fn span(time: &libc::timespec) -> SimSpan {
    let nanoseconds = time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec).max(0);
    SimSpan::from_ps((nanoseconds as u64).saturating_mul(1000).min(MOST_WAIT))
}

/// Returns the time from now to the point in time `until` of a clock of the C library.
pub(super) fn time_left(p: &MpiProcess, until: &libc::timespec) -> SimSpan {
    // Clocks other than those of real time show the time since the start of the run.
    let seconds = if until.tv_sec >= EPOCH_SECONDS { until.tv_sec - EPOCH_SECONDS } else { until.tv_sec };
    span(&libc::timespec { tv_sec: seconds, ..*until }).saturating_sub(p.clock.get().since(SimTime::ZERO))
}

/// Waits for the object at `address` by the request of [`enlist`], at most until the point in time `until`. Returns true
/// if this point is reached first.
pub(super) fn times_out(p: &MpiProcess, address: usize, request: RequestId, until: &libc::timespec) -> bool {
    times_out_after(p, address, request, time_left(p, until))
}

/// Waits as [`times_out`], at most for the time `longest`.
pub(super) fn times_out_after(p: &MpiProcess, address: usize, request: RequestId, longest: SimSpan) -> bool {
    let timer = p.call_start(Call::Start(Box::new(Timeout(Some(longest)))));
    let both = Requests::from_slice(&[request, timer]);
    let first = p.call_completed(Call::WaitAny(both), |completions| completions[0].index);
    if first == 0 {
        return false;
    }
    let is_over = withdraw(address, request);
    if is_over {
        p.call_done(Call::Cancel(request));
    }
    suspend(p, request);
    is_over
}

/// Waits for the request `request` at most until the point in time `until`. Returns true if the request completes first.
/// Otherwise the request remains.
pub fn ends_before(p: &MpiProcess, request: RequestId, until: &libc::timespec) -> bool {
    let timer = p.call_start(Call::Start(Box::new(Timeout(Some(time_left(p, until))))));
    // A receive that no message matches makes the call a wait for a thread, also in a replay.
    let wait = p.call_start(Call::Irecv(thread_wait(p.rank)));
    let all = Requests::from_slice(&[request, timer, wait]);
    let first = p.call_completed(Call::WaitAny(all), |completions| completions[0].index);
    p.call_done(Call::Cancel(wait));
    suspend(p, wait);
    first == 0
}

unsafe extern "C" fn cond_timedwait(
    condition: ConditionPointer,
    mutex: MutexPointer,
    until: *const libc::timespec,
) -> c_int {
    // SAFETY: the program passes a valid time; so in the functions below.
    let until = unsafe { *until };
    in_function(own_rank(), "pthread_cond_timedwait", |p| {
        own_turn(p);
        let address = condition as usize;
        let request = enlist(p, address, p.clock.get());
        unlock(p, mutex);
        let code = if times_out(p, address, request, &until) { libc::ETIMEDOUT } else { 0 };
        match lock_again(p, mutex) {
            0 => code,
            failed => failed,
        }
    })
}

unsafe extern "C" fn cond_clockwait(
    condition: ConditionPointer,
    mutex: MutexPointer,
    _clock: libc::clockid_t,
    until: *const libc::timespec,
) -> c_int {
    // SAFETY: the caller passes valid arguments.
    unsafe { cond_timedwait(condition, mutex, until) }
}

unsafe extern "C" fn mutex_timedlock(mutex: MutexPointer, until: *const libc::timespec) -> c_int {
    // SAFETY: the program passes a valid object; so in the functions below.
    let (attempt, until) = (|| unless(unsafe { libc::pthread_mutex_trylock(mutex) }, libc::EBUSY), unsafe { *until });
    in_function(own_rank(), "pthread_mutex_timedlock", |p| acquire(p, Some(&until), || one(mutex as usize, &attempt)))
}

unsafe extern "C" fn mutex_clocklock(
    mutex: MutexPointer,
    _clock: libc::clockid_t,
    until: *const libc::timespec,
) -> c_int {
    // SAFETY: the caller passes valid arguments.
    unsafe { mutex_timedlock(mutex, until) }
}

unsafe extern "C" fn read_timedlock(lock: LockPointer, until: *const libc::timespec) -> c_int {
    // SAFETY: see `mutex_timedlock`.
    let (attempt, until) = (|| unless(unsafe { libc::pthread_rwlock_tryrdlock(lock) }, libc::EBUSY), unsafe { *until });
    in_function(own_rank(), "pthread_rwlock_timedrdlock", |p| acquire(p, Some(&until), || all(lock as usize, &attempt)))
}

unsafe extern "C" fn write_timedlock(lock: LockPointer, until: *const libc::timespec) -> c_int {
    // SAFETY: see `mutex_timedlock`.
    let (attempt, until) = (|| unless(unsafe { libc::pthread_rwlock_trywrlock(lock) }, libc::EBUSY), unsafe { *until });
    in_function(own_rank(), "pthread_rwlock_timedwrlock", |p| acquire(p, Some(&until), || all(lock as usize, &attempt)))
}

unsafe extern "C" fn read_clocklock(lock: LockPointer, _clock: libc::clockid_t, until: *const libc::timespec) -> c_int {
    // SAFETY: the caller passes valid arguments.
    unsafe { read_timedlock(lock, until) }
}

unsafe extern "C" fn write_clocklock(
    lock: LockPointer,
    _clock: libc::clockid_t,
    until: *const libc::timespec,
) -> c_int {
    // SAFETY: the caller passes valid arguments.
    unsafe { write_timedlock(lock, until) }
}

unsafe extern "C" fn sem_timedwait(semaphore: SemaphorePointer, until: *const libc::timespec) -> c_int {
    // SAFETY: see `mutex_timedlock`.
    let (attempt, until) = (|| sem_attempt(semaphore), unsafe { *until });
    let code = in_function(own_rank(), "sem_timedwait", |p| acquire(p, Some(&until), || units(semaphore, &attempt)));
    if code == libc::ETIMEDOUT {
        // SAFETY: the location belongs to the thread.
        unsafe { *libc::__errno_location() = libc::ETIMEDOUT };
        return -1;
    }
    code
}

unsafe extern "C" fn sem_clockwait(
    semaphore: SemaphorePointer,
    _clock: libc::clockid_t,
    until: *const libc::timespec,
) -> c_int {
    // SAFETY: the caller passes valid arguments.
    unsafe { sem_timedwait(semaphore, until) }
}

/// Functions with a time limit that replace those of the C library.
pub const FUNCTIONS: &[(&str, Function)] = &[
    ("pthread_cond_timedwait", Function(cond_timedwait as *const ())),
    ("pthread_cond_clockwait", Function(cond_clockwait as *const ())),
    ("pthread_mutex_timedlock", Function(mutex_timedlock as *const ())),
    ("pthread_mutex_clocklock", Function(mutex_clocklock as *const ())),
    ("pthread_rwlock_timedrdlock", Function(read_timedlock as *const ())),
    ("pthread_rwlock_timedwrlock", Function(write_timedlock as *const ())),
    ("pthread_rwlock_clockrdlock", Function(read_clocklock as *const ())),
    ("pthread_rwlock_clockwrlock", Function(write_clocklock as *const ())),
    ("sem_timedwait", Function(sem_timedwait as *const ())),
    ("sem_clockwait", Function(sem_clockwait as *const ())),
];
