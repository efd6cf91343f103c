//! Signals. A process has one handler a signal, and mcpsim has ranks of several programs' lives in one: what a program
//! installs is kept and told to it when it asks, and called when it sends the signal to itself or its code faults. It
//! is not installed: Ctrl-C is mcpsim's. How signals come is the affair of `pending`.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::mem::{self, MaybeUninit};
use std::ptr;

use super::error;
use super::pending;
use crate::process::{Function, NamedFunction};
use crate::process::{Process, current};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("signal", Function(signal as *const ())),
    ("bsd_signal", Function(signal as *const ())),
    ("ssignal", Function(signal as *const ())),
    ("sysv_signal", Function(sysv_signal as *const ())),
    ("__sysv_signal", Function(sysv_signal as *const ())),
    ("sigaction", Function(sigaction as *const ())),
    ("__sigaction", Function(sigaction as *const ())),
    ("sigaltstack", Function(sigaltstack as *const ())),
    ("siginterrupt", Function(siginterrupt as *const ())),
    ("sigprocmask", Function(sigmask as *const ())),
    ("pthread_sigmask", Function(sigmask as *const ())),
];

/// What a rank does about signals, as it believes.
#[derive(Default)]
pub struct Signals {
    actions: RefCell<HashMap<c_int, libc::sigaction>>,
    /// The signals that are held back, a bit each, the first for signal 1.
    pub(super) mask: Cell<u64>,
    /// What waits for them.
    pub(super) pending: super::pending::HeldSignals,
    /// The stack that the rank has named for handlers: its first address and its size.
    stack: Cell<Option<(usize, usize)>>,
}

/// What a rank wants done about a fault of its own.
#[derive(Debug)]
pub struct FaultAction {
    /// The handler, a function of one or three arguments.
    pub handler: usize,
    /// The stack that it is to run on, if that is another one.
    pub alternate: Option<std::ops::Range<usize>>,
}

/// The handler that `p` has for a fault.
pub fn fault_action(p: &Process, number: c_int) -> Option<FaultAction> {
    let signals = &p.variables.signals;
    // A rank that was just changing its handlers has none.
    let action = signals.actions.try_borrow().ok()?.get(&number).copied()?;
    if action.sa_sigaction == libc::SIG_DFL || action.sa_sigaction == libc::SIG_IGN {
        return None;
    }
    if action.sa_flags & libc::SA_RESETHAND != 0 {
        signals.actions.try_borrow_mut().ok()?.remove(&number);
    }
    let alternate = signals.stack.get().filter(|_| action.sa_flags & libc::SA_ONSTACK != 0);
    let alternate = alternate.map(|(start, size)| start..start + size);
    Some(FaultAction { handler: action.sa_sigaction, alternate })
}

impl std::fmt::Debug for Signals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Signals").field(&self.actions.borrow().len()).finish()
    }
}

fn no_action() -> libc::sigaction {
    // SAFETY: all zeros is the default action.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

fn is_settable(number: c_int) -> bool {
    (1..=64).contains(&number) && number != libc::SIGKILL && number != libc::SIGSTOP
}

unsafe extern "C" fn signal(number: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    set(number, handler, libc::SA_RESTART)
}

/// As of System V: a handler is called once.
unsafe extern "C" fn sysv_signal(number: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    set(number, handler, libc::SA_RESETHAND | libc::SA_NODEFER)
}

fn set(number: c_int, handler: libc::sighandler_t, sa_flags: c_int) -> libc::sighandler_t {
    let Some(p) = current() else { return libc::SIG_DFL };
    if !is_settable(number) {
        error(libc::EINVAL);
        return libc::SIG_ERR;
    }
    let action = libc::sigaction { sa_sigaction: handler, sa_flags, ..no_action() };
    p.variables.signals.actions.borrow_mut().insert(number, action).map_or(libc::SIG_DFL, |old| old.sa_sigaction)
}

unsafe extern "C" fn sigaction(number: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    let known = (1..=64).contains(&number);
    if !known || !new.is_null() && !is_settable(number) {
        return error(libc::EINVAL);
    }
    let Some(p) = current() else { return 0 };
    let mut actions = p.variables.signals.actions.borrow_mut();
    // SAFETY: the caller's structures.
    unsafe {
        let before = actions.get(&number).copied().unwrap_or_else(no_action);
        if !new.is_null() {
            actions.insert(number, *new);
        }
        if !old.is_null() {
            *old = before;
        }
    }
    0
}

/// Where handlers of the rank run that want a stack of their own.
unsafe extern "C" fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    // SAFETY: the caller's structures.
    unsafe {
        let Some(p) = current() else { return libc::sigaltstack(new, old) };
        let stack = &p.variables.signals.stack;
        let before = stack.get();
        if !new.is_null() {
            let libc::stack_t { ss_sp, ss_flags, ss_size } = *new;
            if ss_flags & libc::SS_DISABLE != 0 {
                stack.set(None);
            } else if ss_size < libc::MINSIGSTKSZ {
                return error(libc::ENOMEM);
            } else {
                stack.set(Some((ss_sp as usize, ss_size)));
            }
        }
        if !old.is_null() {
            let (start, ss_size) = before.unwrap_or_default();
            let ss_flags = if before.is_none() { libc::SS_DISABLE } else { 0 };
            *old = libc::stack_t { ss_sp: start as *mut c_void, ss_flags, ss_size };
        }
    }
    0
}

unsafe extern "C" fn siginterrupt(number: c_int, _flag: c_int) -> c_int {
    if is_settable(number) { 0 } else { error(libc::EINVAL) }
}

/// `sigprocmask` and `pthread_sigmask`: a blocked crash would end the process without a word.
unsafe extern "C" fn sigmask(how: c_int, new: *const libc::sigset_t, old: *mut libc::sigset_t) -> c_int {
    // SAFETY: the caller's sets.
    unsafe {
        let Some(p) = current() else { return libc::pthread_sigmask(how, new, old) };
        let mask = &p.variables.signals.mask;
        let before = mask.get();
        if !new.is_null() {
            mask.set(match how {
                libc::SIG_BLOCK => before | pending::bits(new),
                libc::SIG_UNBLOCK => before & !pending::bits(new),
                libc::SIG_SETMASK => pending::bits(new),
                _ => return error(libc::EINVAL),
            });
        }
        if !old.is_null() {
            *old = pending::set_of(before);
        }
        pending::deliver_open(p);
    }
    0
}

/// Calls the rank's handler of a signal, which came by `code` with `value`; whether there is one, or the signal is to be
/// ignored.
pub fn deliver(p: &Process, number: c_int, code: c_int, value: usize) -> bool {
    let actions = &p.variables.signals.actions;
    let action = actions.borrow().get(&number).copied().unwrap_or_else(no_action);
    let handled = action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN;
    if handled && action.sa_flags & libc::SA_RESETHAND != 0 {
        actions.borrow_mut().remove(&number);
    }
    match action.sa_sigaction {
        libc::SIG_DFL => return false,
        libc::SIG_IGN => {}
        handler if action.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: the program says that it is such a function; all zeros is a valid structure.
            unsafe {
                let mut info = pending::information(p, number, code, value);
                let mut context: libc::ucontext_t = MaybeUninit::zeroed().assume_init();
                type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
                let handler = mem::transmute::<usize, Handler>(handler);
                handler(number, &mut info, ptr::from_mut(&mut context).cast());
            }
        }
        // SAFETY: as above.
        handler => unsafe { mem::transmute::<usize, unsafe extern "C" fn(c_int)>(handler)(number) },
    }
    true
}
