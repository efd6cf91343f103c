//! Writing into FIFOs and sockets that are full: a rank that would wait in the system would keep its host thread, and
//! with it the rank that is to read.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use super::input::{Side, awaited, blocks, is_ready, waits_for};
use crate::process::{Function, NamedFunction, current};

pub const FUNCTIONS: &[NamedFunction] = &[("send", Function(send as *const ()))];

/// What a FIFO that can be written to takes without waiting (PIPE_BUF).
const PART: usize = 4096;

/// Writes to `descriptor`, part by part where another rank has to read meanwhile.
///
/// # Safety
/// There are `length` bytes at `from`.
pub(super) unsafe fn write_all(descriptor: c_int, from: *const c_void, length: usize) -> isize {
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
        // Whoever has closed the other end sends a signal, unless the flags say no.
        match flags {
            0 if is_stream(socket) => write_all(socket, from, length),
            _ => libc::send(socket, from, length, flags),
        }
    }
}

/// Whether what is sent has no ends of messages that must stay.
fn is_stream(socket: c_int) -> bool {
    let (mut kind, mut size): (c_int, libc::socklen_t) = (0, size_of::<c_int>() as libc::socklen_t);
    // SAFETY: room for a number.
    let asked = unsafe { libc::getsockopt(socket, libc::SOL_SOCKET, libc::SO_TYPE, (&raw mut kind).cast(), &mut size) };
    asked == 0 && kind == libc::SOCK_STREAM
}
