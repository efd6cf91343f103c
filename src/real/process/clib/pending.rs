//! How signals come to a rank: it sends them to itself, its alarm or a child's end does. One that is held back
//! (`sigprocmask`) waits until it is let through or taken (`sigwait`). Nobody else can send a rank a signal, so one that
//! waits for what cannot come is told.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_uint};
use std::mem::MaybeUninit;
use std::ptr;
use std::time::{Duration, Instant};

use super::signals::{deliver, is_handled};
use super::{error, identity, reap, time};
use crate::process::{Function, NamedFunction, Process, crash, current, job};
use mcpsim_core::rank::FailureKind;
use mcpsim_core::units::{SimSpan, SimTime};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("raise", Function(raise as *const ())),
    ("gsignal", Function(raise as *const ())),
    ("kill", Function(kill as *const ())),
    ("killpg", Function(killpg as *const ())),
    ("tgkill", Function(tgkill as *const ())),
    ("pthread_kill", Function(pthread_kill as *const ())),
    ("sigqueue", Function(sigqueue as *const ())),
    ("pthread_sigqueue", Function(pthread_sigqueue as *const ())),
    ("sigpending", Function(sigpending as *const ())),
    ("sigwait", Function(sigwait as *const ())),
    ("sigwaitinfo", Function(sigwaitinfo as *const ())),
    ("sigtimedwait", Function(sigtimedwait as *const ())),
    ("sigsuspend", Function(sigsuspend as *const ())),
    ("pause", Function(pause as *const ())),
];

/// For so long a rank waits for a child before it looks for others.
const MOST_AT_ONCE: Duration = Duration::from_millis(5);

/// For so long a rank that sleeps waits for a child on the host.
const MOST_IN_SLEEP: SimSpan = SimSpan::from_ns(1_000_000_000);

/// A signal that has been sent: its number, how it was sent (`si_code`) and what with.
type Sent = (c_int, c_int, usize);

/// What a rank has been sent and not been given.
#[derive(Debug, Default)]
pub struct HeldSignals {
    sent: RefCell<Vec<Sent>>,
    /// When the alarm goes off, and after what time again.
    pub(super) alarm: Cell<Option<(SimTime, SimSpan)>>,
    /// Timers of `timer_create`.
    pub(super) timers: RefCell<Vec<SignalTimer>>,
}

/// A timer that sends a signal.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignalTimer {
    /// What the program knows it by.
    pub id: usize,
    /// The clock that its times are of.
    pub clock: libc::clockid_t,
    /// When it goes off, and after what time again; none while it is not set.
    pub due: Option<(SimTime, SimSpan)>,
    /// What it sends, if anything, and what with.
    pub signal: Option<(c_int, usize)>,
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

/// The alarm or the timer that is due first goes off, and the next time is set: whether the rank notices.
fn rings(p: &Process) -> bool {
    let pending = &p.variables.signals.pending;
    let again = |(due, interval): (SimTime, SimSpan)| {
        (interval != SimSpan::ZERO).then(|| (due.max(p.now()) + interval, interval))
    };
    let mut timers = pending.timers.borrow_mut();
    let first = timers.iter_mut().filter(|timer| timer.due.is_some()).min_by_key(|timer| timer.due);
    let sent = match (first, pending.alarm.get()) {
        (Some(timer), alarm) if alarm.is_none_or(|alarm| timer.due.is_some_and(|due| due.0 < alarm.0)) => {
            timer.due = timer.due.and_then(again);
            timer.signal.map(|(number, value)| (number, libc::SI_TIMER, value))
        }
        (_, alarm) => {
            pending.alarm.set(alarm.and_then(again));
            Some((libc::SIGALRM, libc::SI_KERNEL, 0))
        }
    };
    drop(timers);
    let Some((number, code, value)) = sent else { return false };
    let noticed = is_handled(p, number) && p.variables.signals.mask.get() & bit(number) == 0;
    send(p, number, code, value);
    noticed
}

/// When the alarm or a timer goes off next.
fn next_alarm(p: &Process) -> Option<SimTime> {
    let pending = &p.variables.signals.pending;
    let timers = pending.timers.borrow();
    let dues = timers.iter().filter_map(|timer| timer.due).chain(pending.alarm.get());
    dues.map(|(due, _)| due).min()
}

/// The time until the alarm or a timer goes off, if that is sooner than `longest`.
fn until_alarm(p: &Process, longest: SimSpan) -> Option<SimSpan> {
    let due = next_alarm(p)?;
    let now = p.now();
    Some(due.since(now.min(due))).filter(|&span| span < longest)
}

/// Sleeps for `longest`, or until the rank's alarm goes off or a child ends: what is left.
pub(super) fn sleep_of(p: &Process, mut longest: SimSpan) -> SimSpan {
    let first = until_alarm(p, longest).unwrap_or(longest).min(MOST_IN_SLEEP);
    if notices_children(p) && child_ends(p, Some(first)) {
        // When in between the child ended is the host's affair: for the rank it was at once.
        p.variables.children.tell_all();
        send(p, libc::SIGCHLD, libc::CLD_EXITED, 0);
        return longest;
    }
    while let Some(span) = until_alarm(p, longest) {
        p.pass(span);
        longest = longest.saturating_sub(span);
        if rings(p) {
            return longest;
        }
    }
    p.pass(longest);
    SimSpan::ZERO
}

/// Whether something may interrupt the rank's sleep: its alarm or a child's end.
pub(super) fn may_wake(p: &Process) -> bool {
    next_alarm(p).is_some() || notices_children(p)
}

/// Whether the end of a child interrupts the rank, which has one that it was not told of.
fn notices_children(p: &Process) -> bool {
    is_handled(p, libc::SIGCHLD)
        && p.variables.signals.mask.get() & bit(libc::SIGCHLD) == 0
        && !p.variables.children.untold().is_empty()
}

/// Whether one of the rank's children ends within `span`, or at all: they have the host's time.
fn child_ends(p: &Process, span: Option<SimSpan>) -> bool {
    let limit = span.map(|span| Duration::from_nanos(span.as_ps() / 1000));
    let begin = Instant::now();
    loop {
        let started = p.variables.children.untold();
        let Some(&child) = started.first() else { return false };
        if started.into_iter().any(reap::has_ended) {
            return true;
        }
        let turn = limit.map_or(MOST_AT_ONCE, |limit| limit.saturating_sub(begin.elapsed()).min(MOST_AT_ONCE));
        if turn.is_zero() {
            return false;
        }
        reap::wait_for(child, Some(turn.max(Duration::from_millis(1))));
    }
}

/// Waits until `over`: for the alarm, or for a child's end. `limit` is the longest wait, if there is one; false if it
/// is over.
fn wait_until(p: &Process, limit: Option<SimSpan>, children: bool, over: impl Fn() -> bool) -> bool {
    let mut left = limit;
    while !over() {
        let longest = left.unwrap_or(SimSpan::from_ps(u64::MAX));
        let next = until_alarm(p, longest).or(left);
        if children && child_ends(p, next) {
            p.variables.children.tell_all();
            send(p, libc::SIGCHLD, libc::CLD_EXITED, 0);
            continue;
        }
        let Some(span) = next else {
            let text = "it waits for a signal for ever: nobody can send one to a rank but itself, its alarm or a child's \
                        end; use a message, a file or a pipe";
            p.fail_at("outside of MPI".to_owned(), FailureKind::Error, text.to_owned());
        };
        p.pass(span);
        p.start_timer();
        left = left.map(|left| left.saturating_sub(span));
        if until_alarm(p, SimSpan::from_ps(1)).is_some() {
            rings(p);
        } else if left == Some(SimSpan::ZERO) {
            return over();
        }
    }
    true
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

/// To a group of processes: that of the rank is the rank alone, another is one that the program has made of children.
unsafe extern "C" fn killpg(group: c_int, number: c_int) -> c_int {
    // SAFETY: any group may be named; that of the simulator is not.
    unsafe {
        if group != 0 && group == libc::getpgrp() || group < 0 {
            return error(libc::EPERM);
        }
        to_process(group, number, libc::SI_USER, 0, || libc::kill(-group, number))
    }
}

unsafe extern "C" fn tgkill(group: c_int, thread: c_int, number: c_int) -> c_int {
    match current() {
        // SAFETY: as for `kill`.
        Some(p) if identity::is_ours(p, group) => unsafe { kill(group, number) },
        _ => thread_is_refused(thread as usize, number),
    }
}

unsafe extern "C" fn sigqueue(pid: c_int, number: c_int, value: usize) -> c_int {
    // SAFETY: as for `kill`.
    unsafe {
        to_process(pid, number, libc::SI_QUEUE, value, || {
            let value = libc::sigval { sival_ptr: value as *mut _ };
            libc::sigqueue(pid, number, value)
        })
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

unsafe extern "C" fn pthread_sigqueue(thread: libc::pthread_t, number: c_int, value: usize) -> c_int {
    // SAFETY: may be asked for always; the thread is the caller's.
    unsafe {
        match current() {
            Some(p) if thread == libc::pthread_self() => match send(p, number, libc::SI_QUEUE, value) {
                0 => 0,
                _ => libc::EINVAL,
            },
            _ if number == 0 => libc::pthread_kill(thread, 0),
            _ => thread_is_refused(thread as usize, number),
        }
    }
}

unsafe extern "C" fn pthread_kill(thread: libc::pthread_t, number: c_int) -> c_int {
    // SAFETY: the caller's.
    unsafe { pthread_sigqueue(thread, number, 0) }
}

unsafe extern "C" fn sigpending(to: *mut libc::sigset_t) -> c_int {
    // SAFETY: the caller's set.
    unsafe {
        let Some(p) = current() else { return libc::sigpending(to) };
        let sent = p.variables.signals.pending.sent.borrow();
        *to = set_of(sent.iter().fold(0, |all, sent| all | bit(sent.0)));
    }
    0
}

/// Waits for one of a set, which are held back; none if the time is over.
unsafe fn one_of(p: &Process, set: *const libc::sigset_t, limit: Option<SimSpan>) -> Option<Sent> {
    // SAFETY: the caller's set.
    let wanted = unsafe { bits(set) };
    let mask = &p.variables.signals.mask;
    let before = mask.replace(mask.get() | wanted);
    let there = || p.variables.signals.pending.sent.borrow().iter().any(|sent| wanted & bit(sent.0) != 0);
    let children = wanted & bit(libc::SIGCHLD) != 0 || is_handled(p, libc::SIGCHLD);
    let found = wait_until(p, limit, children, there);
    mask.set(before);
    if found { take(p, wanted) } else { None }
}

unsafe extern "C" fn sigwait(set: *const libc::sigset_t, to: *mut c_int) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(p) = current() else { return libc::sigwait(set, to) };
        if let Some((number, _, _)) = one_of(p, set, None) {
            *to = number;
        }
    }
    0
}

unsafe extern "C" fn sigwaitinfo(set: *const libc::sigset_t, to: *mut libc::siginfo_t) -> c_int {
    // SAFETY: the caller's.
    unsafe { sigtimedwait(set, to, ptr::null()) }
}

unsafe extern "C" fn sigtimedwait(
    set: *const libc::sigset_t,
    to: *mut libc::siginfo_t,
    longest: *const libc::timespec,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(p) = current() else { return libc::sigtimedwait(set, to, longest) };
        let limit = match longest.as_ref().map(|longest| time::length(*longest)) {
            Some(None) => return error(libc::EINVAL),
            Some(Some(length)) => Some(time::span(length)),
            None => None,
        };
        let Some((number, code, value)) = one_of(p, set, limit) else { return error(libc::EAGAIN) };
        if !to.is_null() {
            *to = information(p, number, code, value);
        }
        number
    }
}

/// Waits for a signal that has a handler, while those of `mask` are held back.
fn suspend(p: &Process, mask: u64) -> c_int {
    let signals = &p.variables.signals;
    let before = signals.mask.replace(!0);
    // All are kept until the wait is over, so that one is enough.
    let handled = |number: c_int| mask & bit(number) == 0 && (is_handled(p, number) || ends(number));
    let there = || signals.pending.sent.borrow().iter().any(|sent| handled(sent.0));
    wait_until(p, None, mask & bit(libc::SIGCHLD) == 0 && is_handled(p, libc::SIGCHLD), there);
    signals.mask.set(mask);
    deliver_open(p);
    signals.mask.set(before);
    deliver_open(p);
    error(libc::EINTR)
}

unsafe extern "C" fn sigsuspend(mask: *const libc::sigset_t) -> c_int {
    // SAFETY: the caller's set.
    unsafe {
        match current() {
            Some(p) => suspend(p, bits(mask)),
            None => libc::sigsuspend(mask),
        }
    }
}

unsafe extern "C" fn pause() -> c_int {
    match current() {
        Some(p) => suspend(p, p.variables.signals.mask.get()),
        // SAFETY: a thread of the program's own.
        None => unsafe { libc::pause() },
    }
}
