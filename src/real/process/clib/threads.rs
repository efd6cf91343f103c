//! Threads that a program starts: a stack for handlers, so that an overflow of theirs is reported, and a guard that
//! large frames do not step over. And the stack of the rank's main thread, as the program is told of it.
#![allow(unsafe_code)]

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::process::{Function, NamedFunction, Process, crash, current};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("pthread_create", Function(pthread_create as *const ())),
    ("thrd_create", Function(thrd_create as *const ())),
    ("pthread_getattr_np", Function(pthread_getattr_np as *const ())),
];

/// The addresses below a thread's stack that trap, so that a frame of an array is seen to be too large. They take no
/// memory.
const THREAD_GUARD: usize = 64 << 20;

static STARTED: AtomicBool = AtomicBool::new(false);

/// Whether programs have started threads, which nobody ends with a rank.
pub fn threads_were_started() -> bool {
    STARTED.load(Ordering::Relaxed)
}

/// The rank, if nobody but another rank can end its wait.
pub(super) fn alone<'a>() -> Option<&'a Process> {
    current().filter(|_| !threads_were_started())
}

/// What a thread runs.
type Routine = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// What a new thread is given.
#[repr(C)]
struct Beginning {
    routine: Routine,
    argument: *mut c_void,
}

unsafe extern "C-unwind" {
    /// The C library's, with a first function that may be unwound.
    #[link_name = "pthread_create"]
    fn start_thread(
        thread: *mut libc::pthread_t,
        attributes: *const libc::pthread_attr_t,
        routine: Routine,
        argument: *mut c_void,
    ) -> c_int;
}

type SmallRoutine = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

unsafe extern "C" {
    #[link_name = "thrd_create"]
    fn start_small_thread(thread: *mut libc::pthread_t, routine: SmallRoutine, argument: *mut c_void) -> c_int;
}

/// Starts a thread as C11 `thrd_create` does.
unsafe extern "C" fn thrd_create(thread: *mut libc::pthread_t, routine: SmallRoutine, argument: *mut c_void) -> c_int {
    STARTED.store(true, Ordering::Relaxed);
    // SAFETY: the caller's.
    unsafe { start_small_thread(thread, routine, argument) }
}

/// Starts a thread as POSIX `pthread_create` does.
unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
) -> c_int {
    STARTED.store(true, Ordering::Relaxed);
    let beginning = Box::into_raw(Box::new(Beginning { routine, argument }));
    let create = |attributes: *const libc::pthread_attr_t| {
        // SAFETY: the caller's arguments; the new thread takes the beginning over.
        unsafe { start_thread(thread, attributes, begin, beginning.cast()) }
    };
    let mut guarded = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: the attributes are the caller's, or made here. A copy of them shares what they point to, which is only
    // read.
    let mut result = unsafe {
        match attributes.as_ref() {
            Some(attributes) => ptr::copy_nonoverlapping(attributes, guarded.as_mut_ptr(), 1),
            None => assert_eq!(libc::pthread_attr_init(guarded.as_mut_ptr()), 0, "glibc has no reason to fail"),
        }
        libc::pthread_attr_setguardsize(guarded.as_mut_ptr(), THREAD_GUARD);
        create(guarded.as_ptr())
    };
    if attributes.is_null() {
        // SAFETY: made above.
        unsafe { libc::pthread_attr_destroy(guarded.as_mut_ptr()) };
    }
    if result == libc::EAGAIN {
        // There may be room for a thread without such a guard.
        result = create(attributes);
    }
    if result != 0 {
        // SAFETY: no thread has taken it over.
        drop(unsafe { Box::from_raw(beginning) });
    }
    result
}

/// The first function of a thread. The routine may end the thread (`pthread_exit`, `pthread_cancel`), which unwinds
/// its stack: this function leaves it to the routine.
#[unsafe(naked)]
unsafe extern "C-unwind" fn begin(beginning: *mut c_void) -> *mut c_void {
    naked_asm!("push rdi", "call {open}", "pop rdi", "mov rdi, rdx", "jmp rax", open = sym open)
}

/// What the thread runs is in the registers in which [`begin`] finds it.
unsafe extern "C" fn open(beginning: *mut c_void) -> Beginning {
    crash::ready_for_thread();
    // SAFETY: made by `pthread_create` for this thread.
    *unsafe { Box::from_raw(beginning.cast::<Beginning>()) }
}

unsafe extern "C" {
    fn pthread_attr_setstack(attributes: *mut libc::pthread_attr_t, start: *mut c_void, size: usize) -> c_int;
}

/// Of the rank's main thread, the stack is its own and not that of the host's thread.
unsafe extern "C" fn pthread_getattr_np(thread: libc::pthread_t, to: *mut libc::pthread_attr_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let result = libc::pthread_getattr_np(thread, to);
        let main = current().filter(|_| result == 0 && thread == libc::pthread_self());
        match main.map(|p| p.stack()) {
            Some(stack) => pthread_attr_setstack(to, stack.start as *mut c_void, stack.len()),
            None => result,
        }
    }
}
