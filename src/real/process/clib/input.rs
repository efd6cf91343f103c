//! Waiting for what another rank is to write into a FIFO or a socket, or for another rank to connect: a rank that would
//! wait in the system would keep its host thread, and with it the ranks that it waits for.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::Duration;

use super::files::{pause, unanswered, wait_is_endless};
use super::output::write_all;
use super::streams::{StreamFunctions, actual, fopencookie};
use super::threads::alone;
use super::time::{length, pass};
use crate::process::{Function, NamedFunction, Process, current};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("readv", Function(readv as *const ())),
    ("eventfd_read", Function(eventfd_read as *const ())),
    ("recv", Function(recv as *const ())),
    ("recvfrom", Function(recvfrom as *const ())),
    ("recvmsg", Function(recvmsg as *const ())),
    ("accept", Function(accept as *const ())),
    ("accept4", Function(accept4 as *const ())),
];

/// What a rank wants to do with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Read,
    Write,
}

/// Whether `descriptor` can be read or written to, or doing so would fail.
pub(super) fn is_ready(descriptor: c_int, side: Side) -> bool {
    let events = if side == Side::Read { libc::POLLIN } else { libc::POLLOUT };
    let mut asked = libc::pollfd { fd: descriptor, events, revents: 0 };
    // SAFETY: one entry.
    unsafe { libc::poll(&mut asked, 1, 0) != 0 }
}

/// Whether reading and writing wait.
pub(super) fn blocks(descriptor: c_int) -> bool {
    // SAFETY: flags are asked for.
    let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFL) };
    flags >= 0 && flags & libc::O_NONBLOCK == 0
}

/// What a rank may wait for at `descriptor` that another rank does; none of files and of pipes to children.
pub(super) fn awaited(descriptor: c_int, side: Side) -> Option<String> {
    let link = format!("/proc/self/fd/{descriptor}");
    let kind = fs::metadata(&link).ok()?.file_type();
    let name = fs::read_link(&link).ok()?;
    match kind {
        _ if kind.is_fifo() && name.is_absolute() => {
            let what = if side == Side::Read { "to write into" } else { "to read from" };
            Some(format!("somebody {what} {}", name.display()))
        }
        _ if kind.is_socket() => {
            let (mut listens, mut size): (c_int, libc::socklen_t) = (0, size_of::<c_int>() as libc::socklen_t);
            let level = libc::SOL_SOCKET;
            // SAFETY: room for a number.
            unsafe {
                libc::getsockopt(descriptor, level, libc::SO_ACCEPTCONN, (&raw mut listens).cast(), &mut size);
            }
            let what = match side {
                Side::Read if listens != 0 => "to connect to",
                Side::Read => "to write into",
                Side::Write => "to read from",
            };
            (!has_timeout(descriptor, side)).then(|| format!("somebody {what} its socket {descriptor}"))
        }
        _ => {
            // A thread of the program or a child may do it too, in the host's time.
            alone().filter(|p| p.variables.pipes.borrow().is_empty())?;
            match name.to_str()? {
                "anon_inode:inotify" => Some(format!("somebody to touch what it watches (inotify {descriptor})")),
                "anon_inode:[eventfd]" if side == Side::Read => {
                    Some(format!("somebody to add to its counter {descriptor} (eventfd)"))
                }
                // Signals are the rank's affair, and no file tells of them.
                "anon_inode:[signalfd]" => Some(format!("a signal from its file {descriptor} (signalfd)")),
                _ => None,
            }
        }
    }
}

/// Whether who uses the socket waits no longer than it has said.
fn has_timeout(socket: c_int, side: Side) -> bool {
    let option = if side == Side::Read { libc::SO_RCVTIMEO } else { libc::SO_SNDTIMEO };
    // SAFETY: room for a time, for which all zeros is valid.
    unsafe {
        let mut time: libc::timeval = std::mem::zeroed();
        let mut size = size_of::<libc::timeval>() as libc::socklen_t;
        let asked = libc::getsockopt(socket, libc::SOL_SOCKET, option, (&raw mut time).cast(), &mut size);
        asked == 0 && (time.tv_sec, time.tv_usec) != (0, 0)
    }
}

/// Whether a process other than this one has the file at `path` open.
fn is_held_elsewhere(path: &Path) -> bool {
    let own = std::process::id().to_string();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let others = processes.filter(|entry| {
        let name = entry.file_name();
        name.as_encoded_bytes().iter().all(u8::is_ascii_digit) && *name != *own
    });
    let mut open = others.flat_map(|entry| fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten());
    open.any(|entry| fs::read_link(entry.path()).is_ok_and(|link| link == path))
}

/// Whether a rank has the FIFO that is open at `descriptor` open for writing.
pub(super) fn has_writer(descriptor: c_int) -> bool {
    let of = |number: c_int| fs::read_link(format!("/proc/self/fd/{number}"));
    let Ok(name) = of(descriptor) else { return false };
    let open = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let mut numbers = open.filter_map(|entry| entry.file_name().to_str()?.parse::<c_int>().ok());
    numbers.any(|number| {
        // SAFETY: flags are asked for.
        let flags = unsafe { libc::fcntl(number, libc::F_GETFL) };
        flags >= 0 && flags & libc::O_ACCMODE != libc::O_RDONLY && of(number).is_ok_and(|other| other == name)
    })
}

/// Lets others go on until `descriptor` is ready; `what` tells what for.
pub(super) fn waits_for(p: &Process, descriptor: c_int, side: Side, what: &str) {
    if is_ready(descriptor, side) {
        return;
    }
    let since = p.now();
    while !is_ready(descriptor, side) {
        if !pause(p, since) {
            let file = fs::read_link(format!("/proc/self/fd/{descriptor}")).unwrap_or_default();
            if file.is_absolute() && is_held_elsewhere(&file) {
                return;
            }
            wait_is_endless(p, what);
        }
    }
}

/// How long it is on the host until a timer (`timerfd`) goes off that the rank would wait for: as long in its own time.
fn timer_left(descriptor: c_int) -> Option<Duration> {
    // SAFETY: room for what is told, for which all zeros is valid; of what is no timer, the system says so.
    let left = unsafe {
        let mut left: libc::itimerspec = std::mem::zeroed();
        if libc::timerfd_gettime(descriptor, &mut left) != 0 {
            return None;
        }
        left.it_value
    };
    length(left).filter(|_| blocks(descriptor))
}

/// To be called before what reads `descriptor`.
pub(super) fn await_input(descriptor: c_int) {
    let Some(p) = current().filter(|_| !is_ready(descriptor, Side::Read)) else { return };
    if let Some(left) = timer_left(descriptor) {
        return pass(left);
    }
    if let Some(what) = awaited(descriptor, Side::Read) {
        if blocks(descriptor) {
            waits_for(p, descriptor, Side::Read, &what);
        } else {
            unanswered(p, what.as_bytes(), &what);
        }
    }
}

/// Whether what reads a socket with `flags` waits for input.
fn waits(flags: c_int) -> bool {
    flags & (libc::MSG_DONTWAIT | libc::MSG_ERRQUEUE) == 0
}

/// A stream of an open FIFO, whose reads let other ranks write meanwhile.
///
/// # Safety
/// The descriptor is the caller's own; `mode` is a string.
pub(super) unsafe fn open_awaited(descriptor: c_int, mode: *const c_char) -> *mut libc::FILE {
    unsafe extern "C" fn read(cookie: *mut c_void, to: *mut c_char, room: usize) -> isize {
        await_input(cookie as usize as c_int);
        // SAFETY: the stream's buffer.
        unsafe { libc::read(cookie as usize as c_int, to.cast(), room) }
    }
    unsafe extern "C" fn write(cookie: *mut c_void, from: *const c_char, length: usize) -> isize {
        // SAFETY: the stream's buffer.
        unsafe { write_all(cookie as usize as c_int, from.cast(), length) }
    }
    unsafe extern "C" fn close(cookie: *mut c_void) -> c_int {
        // SAFETY: the stream's own.
        unsafe { libc::close(cookie as usize as c_int) }
    }
    let functions =
        StreamFunctions { read: Some(read), write: Some(write), seek: 0, close: close as *const () as usize };
    // SAFETY: the functions are of these signatures.
    unsafe { fopencookie(descriptor as usize as *mut c_void, mode, functions) }
}

unsafe extern "C" fn readv(descriptor: c_int, parts: *const libc::iovec, count: c_int) -> isize {
    let descriptor = actual(descriptor);
    await_input(descriptor);
    // SAFETY: the caller's.
    unsafe { libc::readv(descriptor, parts, count) }
}

unsafe extern "C" fn eventfd_read(descriptor: c_int, to: *mut u64) -> c_int {
    await_input(descriptor);
    // SAFETY: the caller's.
    unsafe { libc::eventfd_read(descriptor, to) }
}

unsafe extern "C" fn recv(socket: c_int, to: *mut c_void, room: usize, flags: c_int) -> isize {
    if waits(flags) {
        await_input(socket);
    }
    // SAFETY: the caller's.
    unsafe { libc::recv(socket, to, room, flags) }
}

unsafe extern "C" fn recvfrom(
    socket: c_int,
    to: *mut c_void,
    room: usize,
    flags: c_int,
    from: *mut libc::sockaddr,
    size: *mut libc::socklen_t,
) -> isize {
    if waits(flags) {
        await_input(socket);
    }
    // SAFETY: the caller's.
    unsafe { libc::recvfrom(socket, to, room, flags, from, size) }
}

unsafe extern "C" fn recvmsg(socket: c_int, message: *mut libc::msghdr, flags: c_int) -> isize {
    if waits(flags) {
        await_input(socket);
    }
    // SAFETY: the caller's.
    unsafe { libc::recvmsg(socket, message, flags) }
}

unsafe extern "C" fn accept(socket: c_int, from: *mut libc::sockaddr, size: *mut libc::socklen_t) -> c_int {
    await_input(socket);
    // SAFETY: the caller's.
    unsafe { libc::accept(socket, from, size) }
}

unsafe extern "C" fn accept4(
    socket: c_int,
    from: *mut libc::sockaddr,
    size: *mut libc::socklen_t,
    flags: c_int,
) -> c_int {
    await_input(socket);
    // SAFETY: the caller's.
    unsafe { libc::accept4(socket, from, size, flags) }
}
