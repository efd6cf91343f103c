//! Signals that a rank sends to itself. A blocked signal (`sigprocmask`) is delivered once it is unblocked.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::{c_int, c_uint};
use std::mem::MaybeUninit;
use std::ptr;

use super::signals::deliver;
use super::{error, identity};
use crate::process::{Function, NamedFunction, Process, crash, current, job};
use mcpsim_core::rank::FailureKind;

pub const FUNCTIONS: &[NamedFunction] = &[
    ("raise", Function(raise as *const ())),
    ("gsignal", Function(raise as *const ())),
    ("kill", Function(kill as *const ())),
    ("tgkill", Function(tgkill as *const ())),
    ("pthread_kill", Function(pthread_kill as *const ())),
];

/// A signal that has been sent: its number, how it was sent (`si_code`) and what with.
type Sent = (c_int, c_int, usize);

/// What a rank has been sent and not been given.
#[derive(Debug, Default)]
pub struct HeldSignals {
    sent: RefCell<Vec<Sent>>,
}

/// The signals of a set, a bit each.
pub(super) unsafe fn bits(set: *const libc::sigset_t) -> u64 {
    // SAFETY: the caller's set, whose first word has all 64.
    unsafe { set.cast::<u64>().read() }
}

pub(super) fn set_of(bits: u64) -> libc::sigset_t {
    // SAFETY: no signals are all zeros; the first word has all there are.
    unsafe {
        let mut set: libc::sigset_t = MaybeUninit::zeroed().assume_init();
        ptr::from_mut(&mut set).cast::<u64>().write(bits);
        set
    }
}

fn bit(number: c_int) -> u64 {
    1 << (number - 1)
}

/// What a handler is told of a signal.
pub(super) fn information(p: &Process, number: c_int, code: c_int, value: usize) -> libc::siginfo_t {
    // SAFETY: all zeros are valid; number and value of the sender stand where Linux has them.
    unsafe {
        let mut info: libc::siginfo_t = MaybeUninit::zeroed().assume_init();
        info.si_signo = number;
        info.si_code = code;
        let words = ptr::from_mut(&mut info).cast::<u8>();
        words.add(16).cast::<c_int>().write(identity::number(p));
        words.add(20).cast::<c_uint>().write(libc::getuid());
        words.add(24).cast::<usize>().write(value);
        info
    }
}

/// Whether a signal ends a process that does not handle it.
fn ends(number: c_int) -> bool {
    let harmless = [
        libc::SIGCHLD,
        libc::SIGURG,
        libc::SIGWINCH,
        libc::SIGCONT,
        libc::SIGSTOP,
        libc::SIGTSTP,
        libc::SIGTTIN,
        libc::SIGTTOU,
    ];
    !harmless.contains(&number)
}

/// Gives the rank a signal, or keeps it until it is let through.
fn send(p: &Process, number: c_int, code: c_int, value: usize) -> c_int {
    if !(0..=64).contains(&number) {
        return error(libc::EINVAL);
    }
    if number == 0 {
        return 0;
    }
    let signals = &p.variables.signals;
    let blockable = number != libc::SIGKILL && number != libc::SIGSTOP;
    if blockable && signals.mask.get() & bit(number) != 0 {
        let mut sent = signals.pending.sent.borrow_mut();
        // Only real-time signals are counted.
        if number >= libc::SIGRTMIN() || sent.iter().all(|known| known.0 != number) {
            sent.push((number, code, value));
        }
    } else if !deliver(p, number, code, value) && ends(number) {
        crash::called(p, number);
    }
    0
}

/// Takes the first of the signals `wanted` that wait.
fn take(p: &Process, wanted: u64) -> Option<Sent> {
    let mut sent = p.variables.signals.pending.sent.borrow_mut();
    let found = (0..sent.len()).filter(|&at| wanted & bit(sent[at].0) != 0).min_by_key(|&at| sent[at].0)?;
    Some(sent.remove(found))
}

/// Gives the rank what it holds back no longer; whether there was something.
pub(super) fn deliver_open(p: &Process) -> bool {
    let mut any = false;
    while let Some((number, code, value)) = take(p, !p.variables.signals.mask.get()) {
        any = true;
        if !deliver(p, number, code, value) && ends(number) {
            crash::called(p, number);
        }
    }
    any
}

/// A write of the rank has failed with this error, for which the system has a signal.
pub(super) fn write_failed(signal: c_int, number: c_int) {
    if let Some(p) = current() {
        send(p, signal, libc::SI_KERNEL, 0);
        error(number);
    }
}

unsafe extern "C" fn raise(number: c_int) -> c_int {
    match current() {
        Some(p) => send(p, number, libc::SI_TKILL, 0),
        // SAFETY: a thread of the program's own, whose crash is reported.
        None => unsafe { libc::raise(number) },
    }
}

/// Sends a signal to a process by `beyond`, unless it is a rank's.
unsafe fn to_process(pid: c_int, number: c_int, code: c_int, value: usize, beyond: impl FnOnce() -> c_int) -> c_int {
    let Some(p) = current() else { return error(libc::ESRCH) };
    match pid {
        0 => send(p, number, code, value),
        pid if pid == identity::number(p) => send(p, number, code, value),
        pid if identity::is_ours(p, pid) && number == 0 => 0,
        pid if identity::is_ours(p, pid) && pid != identity::parent(pid) => {
            let other = pid - identity::parent(pid) - 1;
            let text = format!(
                "signal {number} to process {pid}, which is rank {other}: ranks are no processes of the system and \
                 cannot send each other signals; use a message or MPI_Abort"
            );
            p.fail_at("kill".to_owned(), FailureKind::Error, text)
        }
        // SAFETY: always succeeds.
        pid if pid < 0 || identity::is_ours(p, pid) || pid == unsafe { libc::getpid() } => error(libc::EPERM),
        _ => beyond(),
    }
}

pub(super) unsafe extern "C" fn kill(pid: c_int, number: c_int) -> c_int {
    // SAFETY: a process that the program has started, or no process at all.
    unsafe { to_process(pid, number, libc::SI_USER, 0, || libc::kill(pid, number)) }
}

unsafe extern "C" fn tgkill(group: c_int, thread: c_int, number: c_int) -> c_int {
    match current() {
        // SAFETY: as for `kill`.
        Some(p) if identity::is_ours(p, group) => unsafe { kill(group, number) },
        _ => thread_is_refused(thread as usize, number),
    }
}

/// The kernel's signals go to threads of the process, where they would meet the simulator's handlers.
fn thread_is_refused(thread: usize, number: c_int) -> c_int {
    let text = format!(
        "signal {number} to thread {thread:#x} of the program: a rank can send signals to its main thread only, and from it"
    );
    match current() {
        Some(p) => p.fail_at("pthread_kill".to_owned(), FailureKind::Error, text),
        None => job::fatal(&text, None),
    }
}

unsafe extern "C" fn pthread_kill(thread: libc::pthread_t, number: c_int) -> c_int {
    // SAFETY: may be asked for always; the thread is the caller's.
    unsafe {
        match current() {
            Some(p) if thread == libc::pthread_self() => match send(p, number, libc::SI_TKILL, 0) {
                0 => 0,
                _ => libc::EINVAL,
            },
            _ if number == 0 => libc::pthread_kill(thread, 0),
            _ => thread_is_refused(thread as usize, number),
        }
    }
}
