//! Threads of a rank: the MPI library learns when they start and end.
//!
//! The MPI library registers its functions when the process becomes a rank.

use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use crate::clocks::{BUSY, interposed, own, runs_rank_code};
use crate::next::{call_next, next};

/// Functions of the MPI library, as in `src/real/as_built/threads.rs`.
#[repr(C)]
pub struct RegisteredHooks {
    created: extern "C" fn(usize) -> ThreadValue,
    started: extern "C" fn(ThreadValue, usize, c_int),
    begun: extern "C" fn(ThreadValue, usize),
    finishes: extern "C" fn(),
    ended: extern "C" fn(),
    joins: extern "C" fn(usize),
    joined: extern "C" fn(usize),
    joins_until: extern "C" fn(usize, *const libc::timespec) -> c_int,
    region: extern "C" fn(),
    order: extern "C" fn(*const c_char) -> bool,
}

/// Value that the MPI library gives a thread.
#[derive(Clone, Copy)]
#[repr(C)]
struct ThreadValue([u64; 2]);

static HOOKS: AtomicPtr<RegisteredHooks> = AtomicPtr::new(std::ptr::null_mut());
/// Key whose destructor reports the end of a thread, plus one.
static KEY: AtomicU32 = AtomicU32::new(0);

fn hooks() -> Option<&'static RegisteredHooks> {
    // SAFETY: the MPI library registers functions that it never unloads.
    unsafe { HOOKS.load(Ordering::Acquire).as_ref() }
}

/// Registers the functions of the MPI library. It calls this function when the process becomes a rank.
#[unsafe(no_mangle)]
pub extern "C" fn mcpsim_register_threads(hooks: *mut RegisteredHooks) {
    let mut key = 0;
    // SAFETY: the result has room.
    if unsafe { libc::pthread_key_create(&mut key, Some(ended)) } == 0 {
        KEY.store(key + 1, Ordering::Release);
    }
    HOOKS.store(hooks, Ordering::Release);
}

/// Code and argument of a thread, and the value that the MPI library gives it.
struct StartedThread {
    routine: usize,
    argument: *mut c_void,
    value: ThreadValue,
}

/// Code and argument of a thread in the registers in which [`enter`] finds them.
#[repr(C)]
struct FirstCall {
    routine: usize,
    argument: *mut c_void,
}

/// First function of each thread. It calls the code of the thread.
#[unsafe(naked)]
unsafe extern "C" fn enter(start: *mut c_void) -> *mut c_void {
    naked_asm!(
        ".cfi_startproc",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "call {open}",
        "mov rdi, rdx",
        "call rax",
        "mov [rsp], rax",
        "call {finishes}",
        "pop rax",
        ".cfi_adjust_cfa_offset -8",
        "ret",
        ".cfi_endproc",
        open = sym open,
        finishes = sym finishes,
    )
}

/// Reports that the code of the current thread ends.
extern "C" fn finishes() {
    if let Some(hooks) = hooks() {
        (hooks.finishes)();
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_exit(result: *mut c_void) -> ! {
    finishes();
    // SAFETY: the function has this signature, and does not return.
    unsafe {
        call_next!(c"pthread_exit"(result => *mut c_void) -> ());
        std::hint::unreachable_unchecked()
    }
}

unsafe extern "C" fn open(start: *mut c_void) -> FirstCall {
    // SAFETY: `pthread_create` passes a value of this type, which the thread owns.
    let StartedThread { routine, argument, value } = *unsafe { Box::from_raw(start.cast::<StartedThread>()) };
    if let (Some(hooks), key @ 1..) = (hooks(), KEY.load(Ordering::Acquire)) {
        // SAFETY: the key exists.
        unsafe {
            (hooks.begun)(value, libc::pthread_self() as usize);
            libc::pthread_setspecific(key - 1, std::ptr::without_provenance::<c_void>(1));
        }
    }
    FirstCall { routine, argument }
}

/// Number of destructor rounds before the end of a thread is reported. The C library has at least four rounds.
const ROUNDS: usize = 2;

/// Reports the end of a thread. Destructors of other keys may release locks, so they run first, in earlier rounds. `round`
/// is the number of the round.
unsafe extern "C" fn ended(round: *mut c_void) {
    let key = KEY.load(Ordering::Acquire);
    let round = round as usize;
    // SAFETY: the key exists.
    if round <= ROUNDS
        && unsafe { libc::pthread_setspecific(key - 1, std::ptr::without_provenance::<c_void>(round + 1)) } == 0
    {
        return;
    }
    if let Some(hooks) = hooks() {
        (hooks.ended)();
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    routine: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> c_int {
    type Routine = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
    let mut call: (Routine, *mut c_void) = (routine, argument);
    let mut value = None;
    if let Some(hooks) = hooks() {
        let own = (hooks.created)(routine as *const () as usize);
        let start = Box::new(StartedThread { routine: routine as *const () as usize, argument, value: own });
        call = (enter, Box::into_raw(start).cast());
        value = Some((hooks, own));
    }
    // SAFETY: the function has this signature, and the caller passes valid arguments.
    unsafe {
        let large = value.and(with_large_stack(attributes));
        let attributes = large.as_ref().map_or(attributes, std::ptr::from_ref);
        let code = call_next!(c"pthread_create"(
            thread => *mut libc::pthread_t, attributes => *const libc::pthread_attr_t,
            call.0 => Routine, call.1 => *mut c_void) -> c_int);
        if let Some((hooks, own)) = value {
            (hooks.started)(own, if code == 0 { *thread as usize } else { 0 }, code);
        }
        code
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_join(thread: libc::pthread_t, result: *mut *mut c_void) -> c_int {
    if let Some(hooks) = hooks() {
        (hooks.joins)(thread as usize);
    }
    // SAFETY: as in `pthread_create`.
    let code = unsafe { call_next!(c"pthread_join"(thread => libc::pthread_t, result => *mut *mut c_void) -> c_int) };
    if let (0, Some(hooks)) = (code, hooks()) {
        (hooks.joined)(thread as usize);
    }
    code
}

/// Joins the thread if it ends before `until`, or has ended if `until` is null. Otherwise returns an error number. Returns
/// `None` if the thread has no clock of its own.
unsafe fn join_until(thread: libc::pthread_t, result: *mut *mut c_void, until: *const libc::timespec) -> Option<c_int> {
    match (hooks()?.joins_until)(thread as usize, until) {
        // SAFETY: as in `pthread_join`. The thread ends without a further wait.
        0 => Some(unsafe { pthread_join(thread, result) }),
        code => Some(code).filter(|&code| code > 0),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_tryjoin_np(thread: libc::pthread_t, result: *mut *mut c_void) -> c_int {
    // SAFETY: the function has this signature, and the caller passes valid arguments; so in the functions below.
    unsafe {
        join_until(thread, result, std::ptr::null()).unwrap_or_else(
            || call_next!(c"pthread_tryjoin_np"(thread => libc::pthread_t, result => *mut *mut c_void) -> c_int),
        )
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_timedjoin_np(
    thread: libc::pthread_t,
    result: *mut *mut c_void,
    until: *const libc::timespec,
) -> c_int {
    if until.is_null() {
        // SAFETY: see `pthread_tryjoin_np`.
        return unsafe { pthread_join(thread, result) };
    }
    // SAFETY: see `pthread_tryjoin_np`.
    unsafe {
        join_until(thread, result, until).unwrap_or_else(|| {
            call_next!(c"pthread_timedjoin_np"(
                thread => libc::pthread_t, result => *mut *mut c_void, until => *const libc::timespec) -> c_int)
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_clockjoin_np(
    thread: libc::pthread_t,
    result: *mut *mut c_void,
    clock: c_int,
    until: *const libc::timespec,
) -> c_int {
    if until.is_null() {
        // SAFETY: see `pthread_tryjoin_np`.
        return unsafe { pthread_join(thread, result) };
    }
    // SAFETY: see `pthread_tryjoin_np`.
    unsafe {
        join_until(thread, result, until).unwrap_or_else(|| {
            call_next!(c"pthread_clockjoin_np"(
                thread => libc::pthread_t, result => *mut *mut c_void, clock => c_int,
                until => *const libc::timespec) -> c_int)
        })
    }
}

/// Least stack in bytes of a thread, which the MPI library uses, too.
const LEAST_STACK: usize = 1 << 20;

/// Returns attributes with a larger stack, if the stack of `attributes` is small and not memory of the program.
unsafe fn with_large_stack(attributes: *const libc::pthread_attr_t) -> Option<libc::pthread_attr_t> {
    // SAFETY: the caller passes null or valid attributes. A copy shares what they refer to, which is only read.
    unsafe {
        let mut large = *attributes.as_ref()?;
        let (mut start, mut size) = (std::ptr::null_mut(), 0);
        let is_known = libc::pthread_attr_getstack(attributes, &mut start, &mut size) == 0;
        // Without memory of the program, the stack ends at address 0.
        let is_own = is_known && size < LEAST_STACK && (start as usize).wrapping_add(size) == 0;
        (is_own && libc::pthread_attr_setstacksize(&mut large, size + LEAST_STACK) == 0).then_some(large)
    }
}

/// True if threads have clocks of their own, so that the MPI library replaces locks and waits.
static IS_MANAGED: AtomicBool = AtomicBool::new(false);

/// Returns true if threads have clocks of their own.
pub fn is_managed() -> bool {
    IS_MANAGED.load(Ordering::Acquire)
}

/// Makes the MPI library replace locks and waits.
#[unsafe(no_mangle)]
pub extern "C" fn mcpsim_manage_threads() {
    IS_MANAGED.store(true, Ordering::Release);
}

interposed! {
    if is_managed();
    pthread_mutex_lock(mutex: *mut c_void) -> c_int;
    pthread_mutex_trylock(mutex: *mut c_void) -> c_int;
    pthread_mutex_unlock(mutex: *mut c_void) -> c_int;
    pthread_cond_wait(condition: *mut c_void, mutex: *mut c_void) -> c_int;
    pthread_cond_timedwait(condition: *mut c_void, mutex: *mut c_void, until: *const libc::timespec) -> c_int;
    pthread_cond_clockwait(condition: *mut c_void, mutex: *mut c_void, clock: c_int, until: *const libc::timespec) -> c_int;
    pthread_cond_signal(condition: *mut c_void) -> c_int;
    pthread_cond_broadcast(condition: *mut c_void) -> c_int;
    pthread_barrier_wait(barrier: *mut c_void) -> c_int;
    pthread_rwlock_rdlock(lock: *mut c_void) -> c_int;
    pthread_rwlock_wrlock(lock: *mut c_void) -> c_int;
    pthread_rwlock_unlock(lock: *mut c_void) -> c_int;
    sem_wait(semaphore: *mut c_void) -> c_int;
    sem_trywait(semaphore: *mut c_void) -> c_int;
    sem_post(semaphore: *mut c_void) -> c_int;
    pthread_mutex_timedlock(mutex: *mut c_void, until: *const libc::timespec) -> c_int;
    pthread_mutex_clocklock(mutex: *mut c_void, clock: c_int, until: *const libc::timespec) -> c_int;
    pthread_rwlock_timedrdlock(lock: *mut c_void, until: *const libc::timespec) -> c_int;
    pthread_rwlock_timedwrlock(lock: *mut c_void, until: *const libc::timespec) -> c_int;
    pthread_rwlock_clockrdlock(lock: *mut c_void, clock: c_int, until: *const libc::timespec) -> c_int;
    pthread_rwlock_clockwrlock(lock: *mut c_void, clock: c_int, until: *const libc::timespec) -> c_int;
    sem_timedwait(semaphore: *mut c_void, until: *const libc::timespec) -> c_int;
    sem_clockwait(semaphore: *mut c_void, clock: c_int, until: *const libc::timespec) -> c_int;
    mcpsim_once_begin(control: *mut c_void) -> c_int;
    mcpsim_once_end(control: *mut c_void) -> c_int;
    mcpsim_once_fail(control: *mut c_void) -> c_int;
    sched_yield() -> c_int;
    pthread_spin_lock(lock: *mut c_void) -> c_int;
    pthread_spin_trylock(lock: *mut c_void) -> c_int;
    pthread_spin_unlock(lock: *mut c_void) -> c_int;
}

/// Handles the start or end of a parallel region of OpenMP.
pub fn at_region() {
    if let Some(hooks) = hooks() {
        (hooks.region)();
    }
}

/// Waits in the function `name` until no other thread of the rank is at an earlier virtual time, if threads have clocks
/// of their own. Returns false if other threads cannot run, because the thread is in an MPI function.
pub fn keep_order(name: &'static CStr) -> bool {
    hooks().is_none_or(|hooks| (hooks.order)(name.as_ptr()))
}
