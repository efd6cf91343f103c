//! Ends of children: a rank that waits for any of them gets one of its own. The kernel knows the children of the
//! process, which are those of all ranks.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_long, c_uint};
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

use super::error;
use crate::process::{Function, NamedFunction, Process, current};
use mcpsim_core::units::SimTime;

pub const FUNCTIONS: &[NamedFunction] = &[
    ("wait", Function(wait as *const ())),
    ("waitpid", Function(waitpid as *const ())),
    ("__waitpid", Function(waitpid as *const ())),
    ("wait3", Function(wait3 as *const ())),
    ("wait4", Function(wait4 as *const ())),
    ("waitid", Function(waitid as *const ())),
];

/// The children that a rank has started and not waited for.
#[derive(Debug, Default)]
pub struct Children {
    known: RefCell<Vec<libc::pid_t>>,
    /// Those of them whose end the rank was sent a signal for.
    told: RefCell<Vec<libc::pid_t>>,
    /// When it last started one, or asked about them in vain.
    asked: Cell<SimTime>,
}

/// The longest wait of a rank that asks whether a child has ended.
const LONGEST: Duration = Duration::from_secs(1);
/// How long a rank sleeps between two looks at several children.
const TURN: Duration = Duration::from_micros(200);

/// The rank that runs has started a child.
pub(super) fn started(child: libc::pid_t) {
    if let Some(p) = current() {
        p.variables.children.known.borrow_mut().push(child);
        p.variables.children.asked.set(p.now());
    }
}

/// Whether the rank has started a child that it has not waited for.
pub(super) fn has_children(p: &Process) -> bool {
    !p.variables.children.known.borrow().is_empty()
}

/// A child has been waited for.
fn ended(p: Option<&Process>, child: libc::pid_t) {
    let Some(p) = p else { return };
    let children = &p.variables.children;
    children.known.borrow_mut().retain(|&known| known != child);
    children.told.borrow_mut().retain(|&told| told != child);
}

/// Waits for a child's end: its status.
pub(super) fn until_end(child: libc::pid_t) -> c_int {
    let mut status = 0;
    // SAFETY: the status is written to.
    while unsafe { wait4(child, &mut status, 0, ptr::null_mut()) } < 0 {
        // SAFETY: the location is the thread's own.
        if unsafe { *libc::__errno_location() } != libc::EINTR {
            return -1;
        }
    }
    status
}

/// Of the rank's children, those that `which` means: all (-1), those of its process group (0) or of another's.
fn meant(p: &Process, which: libc::pid_t) -> Vec<libc::pid_t> {
    // SAFETY: any number may be asked for.
    let group = |child: libc::pid_t| unsafe { libc::getpgid(child) };
    let wanted = if which == 0 { group(0) } else { -which };
    let children = p.variables.children.known.borrow();
    children.iter().copied().filter(|&child| which == -1 || group(child) == wanted).collect()
}

/// Asks by `ask`, which does not wait and gives what has happened to a child, about one child after another: the first
/// that something has happened to; none of `without_waiting`; an error number if there is no child left.
fn any<T>(
    p: &Process,
    which: libc::pid_t,
    without_waiting: bool,
    ask: impl Fn(libc::pid_t) -> Result<Option<T>, c_int>,
) -> Result<Option<T>, c_int> {
    loop {
        let children = meant(p, which);
        for child in children.iter().copied() {
            match ask(child) {
                Ok(None) => {}
                // Somebody else has waited for it.
                Err(libc::ECHILD) => ended(Some(p), child),
                other => return other,
            }
        }
        if meant(p, which).is_empty() {
            return Err(libc::ECHILD);
        }
        if without_waiting {
            return Ok(None);
        }
        match children[..] {
            [child] => wait_for(child, None),
            _ => std::thread::sleep(TURN),
        }
    }
}

/// Waits on the host until a child has ended, or for so long.
pub(super) fn wait_for(child: libc::pid_t, longest: Option<Duration>) {
    // SAFETY: what the calls write to is there; the descriptor is closed.
    unsafe {
        let file = libc::syscall(libc::SYS_pidfd_open, child as c_long, 0 as c_long) as c_int;
        if file < 0 {
            return std::thread::sleep(TURN);
        }
        let mut asked = libc::pollfd { fd: file, events: libc::POLLIN, revents: 0 };
        let limit = longest.map_or(-1, |time| c_int::try_from(time.as_millis()).unwrap_or(c_int::MAX));
        libc::poll(&mut asked, 1, limit);
        libc::close(file);
    }
}

impl Children {
    /// The children for whose end the rank was not sent a signal.
    pub(super) fn untold(&self) -> Vec<libc::pid_t> {
        let told = self.told.borrow();
        self.known.borrow().iter().copied().filter(|child| !told.contains(child)).collect()
    }

    /// A signal tells the rank of all that have ended by now.
    pub(super) fn tell_all(&self) {
        let ended = self.untold().into_iter().filter(|&child| has_ended(child));
        self.told.borrow_mut().extend(ended.collect::<Vec<_>>());
    }
}

/// Whether one of the rank's children has ended, and nobody has waited for it.
pub(super) fn has_ended(child: libc::pid_t) -> bool {
    // SAFETY: room for the answer, for which zeros are valid.
    unsafe {
        let mut found: libc::siginfo_t = MaybeUninit::zeroed().assume_init();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        libc::waitid(libc::P_PID, child as libc::id_t, &mut found, options) == 0 && found.si_pid() != 0
    }
}

unsafe extern "C" fn wait(status: *mut c_int) -> libc::pid_t {
    // SAFETY: the caller's.
    unsafe { wait4(-1, status, 0, ptr::null_mut()) }
}

unsafe extern "C" fn waitpid(which: libc::pid_t, status: *mut c_int, options: c_int) -> libc::pid_t {
    // SAFETY: the caller's.
    unsafe { wait4(which, status, options, ptr::null_mut()) }
}

unsafe extern "C" fn wait3(status: *mut c_int, options: c_int, usage: *mut libc::rusage) -> libc::pid_t {
    // SAFETY: the caller's.
    unsafe { wait4(-1, status, options, usage) }
}

unsafe extern "C" fn wait4(
    which: libc::pid_t,
    status: *mut c_int,
    options: c_int,
    usage: *mut libc::rusage,
) -> libc::pid_t {
    let p = current();
    let ask = |child: libc::pid_t, options: c_int| {
        let mut found = 0;
        // SAFETY: the caller's structure, if any; the location is the thread's own.
        let child = unsafe {
            match libc::wait4(child, &mut found, options, usage) {
                child if child < 0 => return Err(*libc::__errno_location()),
                0 => return Ok(None),
                child => child,
            }
        };
        if libc::WIFEXITED(found) || libc::WIFSIGNALED(found) {
            ended(p, child);
        }
        Ok(Some((child, found)))
    };
    let quick = options & libc::WNOHANG != 0;
    let asked = || match p.filter(|_| which <= 0) {
        Some(p) => any(p, which, quick, |child| ask(child, options | libc::WNOHANG)),
        None => ask(which, options),
    };
    let mut result = asked();
    if let (Ok(None), Some(p)) = (&result, p)
        && let Some(child) = if which > 0 { Some(which) } else { meant(p, which).first().copied() }
    {
        // The child has as long on the host as passed for the rank since it asked before.
        let now = p.now();
        let passed = now.since(p.variables.children.asked.replace(now).min(now));
        wait_for(child, Some(Duration::from_nanos(passed.as_ps() / 1000).min(LONGEST)));
        result = asked();
    }
    match result {
        Ok(Some((child, found))) => {
            if !status.is_null() {
                // SAFETY: the caller's.
                unsafe { *status = found };
            }
            child
        }
        Ok(None) => 0,
        Err(number) => error(number),
    }
}

unsafe extern "C" fn waitid(kind: c_uint, which: libc::id_t, to: *mut libc::siginfo_t, options: c_int) -> c_int {
    let p = current();
    let ask = |kind: c_uint, which: libc::id_t, options: c_int| {
        // SAFETY: room for the answer, for which zeros are valid; the location is the thread's own.
        unsafe {
            let mut found: libc::siginfo_t = MaybeUninit::zeroed().assume_init();
            if libc::waitid(kind, which, &mut found, options) != 0 {
                return Err(*libc::__errno_location());
            }
            let child = found.si_pid();
            let over = [libc::CLD_EXITED, libc::CLD_KILLED, libc::CLD_DUMPED].contains(&found.si_code);
            if over && options & libc::WNOWAIT == 0 {
                ended(p, child);
            }
            Ok((child != 0).then_some(found))
        }
    };
    let several = match kind {
        libc::P_ALL => Some(-1),
        libc::P_PGID => Some(-(which as libc::pid_t)),
        _ => None,
    };
    let result = match (p, several) {
        (Some(p), Some(several)) => {
            let quick = options & libc::WNOHANG != 0;
            any(p, several, quick, |child| ask(libc::P_PID, child as libc::id_t, options | libc::WNOHANG))
        }
        _ => ask(kind, which, options),
    };
    match result {
        Ok(found) => {
            if !to.is_null() {
                // SAFETY: the caller's; zeros mean that nothing has happened.
                unsafe { *to = found.unwrap_or_else(|| MaybeUninit::zeroed().assume_init()) };
            }
            0
        }
        Err(number) => error(number),
    }
}
