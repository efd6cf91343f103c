//! Writing into FIFOs and sockets that are full: a rank that would wait in the system would keep its host thread, and
//! with it the rank that is to read.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use super::input::{Side, awaited, blocks, is_ready, waits_for};
use super::pending::write_failed;
use crate::process::{Function, NamedFunction, current};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("send", Function(send as *const ())),
    ("sendto", Function(sendto as *const ())),
    ("sendmsg", Function(sendmsg as *const ())),
];

/// What a FIFO that can be written to takes without waiting (PIPE_BUF).
const PART: usize = 4096;

/// Writes to `descriptor`, part by part where another rank has to read meanwhile.
///
/// # Safety
/// There are `length` bytes at `from`.
pub(super) unsafe fn write_all(descriptor: c_int, from: *const c_void, length: usize) -> isize {
    // SAFETY: as the caller's.
    told(unsafe { write_parts(descriptor, from, length) })
}

/// `result` of writing; a rank that has written where nobody reads gets SIGPIPE, and one past the limit of file sizes
/// SIGXFSZ: the process gets neither.
fn told(result: isize) -> isize {
    // SAFETY: the location is the thread's own.
    match unsafe { *libc::__errno_location() } {
        _ if result >= 0 => {}
        libc::EPIPE => write_failed(libc::SIGPIPE, libc::EPIPE),
        libc::EFBIG => write_failed(libc::SIGXFSZ, libc::EFBIG),
        _ => {}
    }
    result
}

/// From now on a write past the limit of file sizes (`RLIMIT_FSIZE`) is an error: its signal does not end the process.
/// Children have what the process had before.
pub fn survive_size_limit() {
    extern "C" fn ignore(_: c_int) {}
    // SAFETY: an action of zeros is one, and the handler does nothing.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGXFSZ, std::ptr::null(), &mut action);
        if action.sa_sigaction == libc::SIG_DFL {
            action.sa_sigaction = ignore as *const () as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(libc::SIGXFSZ, &action, std::ptr::null_mut());
        }
    }
}

/// As [`write_all`], without a signal.
unsafe fn write_parts(descriptor: c_int, from: *const c_void, length: usize) -> isize {
    let Some(p) = current() else {
        // SAFETY: the caller's.
        return unsafe { libc::write(descriptor, from, length) };
    };
    // Files are the usual case, and always ready: only what is not is looked at.
    if length <= PART && is_ready(descriptor, Side::Write) {
        // SAFETY: as above.
        return unsafe { libc::write(descriptor, from, length) };
    }
    let Some(what) = awaited(descriptor, Side::Write).filter(|_| blocks(descriptor)) else {
        // SAFETY: as above.
        return unsafe { libc::write(descriptor, from, length) };
    };
    let mut done = 0;
    while done < length {
        waits_for(p, descriptor, Side::Write, &what);
        // SAFETY: within the caller's bytes.
        let part = unsafe {
            let (from, length) = (from.byte_add(done), (length - done).min(PART));
            match libc::send(descriptor, from, length, libc::MSG_DONTWAIT) {
                -1 if *libc::__errno_location() == libc::ENOTSOCK => libc::write(descriptor, from, length),
                -1 if *libc::__errno_location() == libc::EAGAIN => continue,
                sent => sent,
            }
        };
        if part < 0 {
            return if done > 0 { done as isize } else { part };
        }
        done += part as usize;
    }
    done as isize
}

unsafe extern "C" fn send(socket: c_int, from: *const c_void, length: usize, flags: c_int) -> isize {
    // SAFETY: the caller's.
    unsafe {
        match flags & !libc::MSG_NOSIGNAL {
            0 if is_stream(socket) && flags == 0 => write_all(socket, from, length),
            0 if is_stream(socket) => write_parts(socket, from, length),
            _ => {
                await_room(socket, flags);
                libc::send(socket, from, length, flags)
            }
        }
    }
}

unsafe extern "C" fn sendto(
    socket: c_int,
    from: *const c_void,
    length: usize,
    flags: c_int,
    to: *const libc::sockaddr,
    size: libc::socklen_t,
) -> isize {
    // SAFETY: the caller's.
    unsafe {
        if to.is_null() {
            return send(socket, from, length, flags);
        }
        await_room(socket, flags);
        libc::sendto(socket, from, length, flags, to, size)
    }
}

unsafe extern "C" fn sendmsg(socket: c_int, message: *const libc::msghdr, flags: c_int) -> isize {
    // SAFETY: the caller's message and its parts.
    unsafe {
        await_room(socket, flags);
        let told = &*message;
        if flags & !libc::MSG_NOSIGNAL != 0 || !is_stream(socket) || !blocks(socket) {
            return libc::sendmsg(socket, message, flags);
        }
        // What there is room for goes with what belongs to the message, descriptors say; the rest in parts.
        let first = libc::sendmsg(socket, message, flags | libc::MSG_DONTWAIT);
        match parts_of(told.msg_iov, told.msg_iovlen as c_int) {
            Some(parts) if first >= 0 => {
                in_parts(parts, first as usize, |from, length| write_all(socket, from, length))
            }
            _ => first,
        }
    }
}

/// Lets others go on until there is room in the socket, if who sends with `flags` waits for it.
fn await_room(socket: c_int, flags: c_int) {
    if let Some(p) = current()
        && flags & libc::MSG_DONTWAIT == 0
        && !is_ready(socket, Side::Write)
        && let Some(what) = awaited(socket, Side::Write).filter(|_| blocks(socket))
    {
        waits_for(p, socket, Side::Write, &what);
    }
}

/// The parts of what is to be written; none if there cannot be so many.
pub(super) unsafe fn parts_of<'a>(parts: *const libc::iovec, count: c_int) -> Option<&'a [libc::iovec]> {
    let count = usize::try_from(count).ok()?;
    // SAFETY: the caller's list.
    Some(if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(parts, count) } })
}

/// Writes parts one after another by `write`, without the first `done` bytes, which were written. How many bytes were
/// in all.
pub(super) fn in_parts(parts: &[libc::iovec], done: usize, write: impl Fn(*const c_void, usize) -> isize) -> isize {
    let (mut skipped, mut all) = (done, done);
    for part in parts {
        let skip = skipped.min(part.iov_len);
        skipped -= skip;
        if skip == part.iov_len {
            continue;
        }
        let length = part.iov_len - skip;
        // SAFETY: within the part.
        let written = write(unsafe { part.iov_base.byte_add(skip) }, length);
        if written < 0 {
            return if all > 0 { all as isize } else { written };
        }
        all += written as usize;
        if (written as usize) < length {
            break;
        }
    }
    all as isize
}

/// Whether what is sent has no ends of messages that must stay.
fn is_stream(socket: c_int) -> bool {
    let (mut kind, mut size): (c_int, libc::socklen_t) = (0, size_of::<c_int>() as libc::socklen_t);
    // SAFETY: room for a number.
    let asked = unsafe { libc::getsockopt(socket, libc::SOL_SOCKET, libc::SO_TYPE, (&raw mut kind).cast(), &mut size) };
    asked == 0 && kind == libc::SOCK_STREAM
}
