//! The standard streams of a rank: stdin is rank 0's, and whole lines of the others go to the run's output.
//!
//! `stdin`, `stdout` and `stderr` are variables of each rank, and the descriptors 0, 1 and 2 stand for the same: a rank
//! may close them or put a file in their place without touching mcpsim's.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::descriptors::{close_own, is_protected};
use super::error;
use super::input::await_input;
use super::output::{in_parts, parts_of, write_all};
use crate::process::job::Stream;
use crate::process::{Function, NamedFunction};
use crate::process::{Process, current};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("read", Function(read as *const ())),
    ("write", Function(write as *const ())),
    ("close", Function(close as *const ())),
    ("dup", Function(dup as *const ())),
    ("dup2", Function(dup2 as *const ())),
    ("dup3", Function(dup3 as *const ())),
    ("writev", Function(writev as *const ())),
    ("isatty", Function(isatty as *const ())),
    ("fileno", Function(fileno as *const ())),
    ("fileno_unlocked", Function(fileno as *const ())),
    ("fdopen", Function(fdopen as *const ())),
    ("fclose", Function(fclose as *const ())),
    ("fcloseall", Function(fcloseall as *const ())),
    ("freopen", Function(freopen as *const ())),
    ("freopen64", Function(freopen as *const ())),
];

/// A rank's standard streams.
#[derive(Debug)]
pub struct Streams {
    /// The variables.
    files: [Cell<*mut libc::FILE>; 3],
    /// What was opened at the start.
    first: [Cell<*mut libc::FILE>; 3],
    cookies: [Cell<*const Cookie>; 3],
    /// Files in the places of the descriptors; [`OWN`] or [`CLOSED`].
    descriptors: [Cell<c_int>; 3],
    /// What was written to stdout and stderr after the last end of a line. Threads of the program write too.
    partial: [Mutex<Vec<u8>>; 2],
}

/// The run's own.
const OWN: c_int = -1;
const CLOSED: c_int = -2;

impl Default for Streams {
    fn default() -> Self {
        Streams {
            files: Default::default(),
            first: Default::default(),
            cookies: Default::default(),
            descriptors: [const { Cell::new(OWN) }; 3],
            partial: Default::default(),
        }
    }
}

impl Streams {
    /// Where the variable of the stream of this number is.
    pub fn address(&self, number: usize) -> usize {
        self.files[number].as_ptr() as usize
    }

    /// The number of `file`, if it is one of these.
    fn number(&self, file: *mut libc::FILE) -> Option<usize> {
        let of = |files: &[Cell<*mut libc::FILE>; 3]| files.iter().position(|known| known.get() == file);
        of(&self.files).or_else(|| of(&self.first)).filter(|_| !file.is_null())
    }
}

/// What an open stream belongs to. Streams may outlive their ranks, and their cookies the streams.
#[derive(Debug)]
struct Cookie {
    /// Null after the rank's end.
    process: AtomicPtr<Process>,
    number: usize,
}

/// What a stream does (`cookie_io_functions_t` of the C library).
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct StreamFunctions {
    pub read: Option<unsafe extern "C" fn(*mut c_void, *mut c_char, usize) -> isize>,
    pub write: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> isize>,
    pub seek: usize,
    pub close: usize,
}

unsafe extern "C" {
    pub(super) fn fopencookie(cookie: *mut c_void, mode: *const c_char, functions: StreamFunctions) -> *mut libc::FILE;
    fn ftrylockfile(file: *mut libc::FILE) -> c_int;
    fn funlockfile(file: *mut libc::FILE);
    #[link_name = "fcloseall"]
    fn close_all() -> c_int;
}

/// Opens the rank's standard streams.
pub fn open_streams(p: &Process) {
    let streams = &p.variables.streams;
    for number in 0..3 {
        let process = AtomicPtr::new(ptr::from_ref(p).cast_mut());
        let cookie = Box::into_raw(Box::new(Cookie { process, number }));
        let (mode, functions) = match number {
            0 => (c"r", StreamFunctions { read: Some(read_stream), write: None, seek: 0, close: 0 }),
            _ => (c"w", StreamFunctions { read: None, write: Some(write_stream), seek: 0, close: 0 }),
        };
        // SAFETY: the functions are of these signatures, and the cookie is not freed before the stream.
        let file = unsafe { fopencookie(cookie.cast(), mode.as_ptr(), functions) };
        streams.cookies[number].set(cookie);
        streams.files[number].set(file);
        streams.first[number].set(file);
        let buffering = match number {
            1 => libc::_IOLBF,
            2 => libc::_IONBF,
            _ => continue,
        };
        if !file.is_null() {
            // SAFETY: just opened.
            unsafe { libc::setvbuf(file, ptr::null_mut(), buffering, 0) };
        }
    }
}

/// The rank behind a cookie.
unsafe fn owner<'a>(cookie: *mut c_void) -> Option<(&'a Process, usize)> {
    // SAFETY: cookies of streams live as long as these; a rank that ends takes its pointer away.
    let cookie = unsafe { &*cookie.cast::<Cookie>() };
    Some((unsafe { cookie.process.load(Ordering::Acquire).as_ref() }?, cookie.number))
}

unsafe extern "C" fn read_stream(cookie: *mut c_void, to: *mut c_char, room: usize) -> isize {
    // SAFETY: the caller's buffer.
    unsafe { owner(cookie).map_or(0, |(p, _)| take(p, to.cast(), room)) }
}

unsafe extern "C" fn write_stream(cookie: *mut c_void, from: *const c_char, length: usize) -> isize {
    // SAFETY: the caller's buffer holds so much.
    unsafe {
        match owner(cookie) {
            Some((p, number)) => give(p, number, from.cast(), length),
            None => length as isize,
        }
    }
}

/// Reads the standard input of `p`: only rank 0 has one.
unsafe fn take(p: &Process, to: *mut c_void, room: usize) -> isize {
    let from = match p.variables.streams.descriptors[0].get() {
        CLOSED => return error(libc::EBADF) as isize,
        OWN if p.rank != 0 => return 0,
        // What asks for the input is to be seen first.
        OWN => {
            flush(p);
            0
        }
        file => file,
    };
    // SAFETY: the caller's buffer.
    unsafe { libc::read(from, to, room) }
}

/// Writes to the standard output or error of `p`.
unsafe fn give(p: &Process, number: usize, from: *const c_void, length: usize) -> isize {
    match p.variables.streams.descriptors[number].get() {
        CLOSED => error(libc::EBADF) as isize,
        OWN => {
            // SAFETY: the caller's buffer.
            let bytes = unsafe { std::slice::from_raw_parts(from.cast(), if from.is_null() { 0 } else { length }) };
            print(p, if number == 1 { Stream::Out } else { Stream::Err }, bytes);
            length as isize
        }
        // SAFETY: as above.
        file => unsafe { libc::write(file, from, length) },
    }
}

/// Longer lines go out in parts.
const LONGEST_LINE: usize = 64 << 10;

/// Passes whole lines on, and keeps the rest.
fn print(p: &Process, stream: Stream, bytes: &[u8]) {
    let mut partial = p.variables.streams.partial[stream as usize].lock().expect("nothing panics with this lock held");
    match bytes.iter().rposition(|&byte| byte == b'\n') {
        Some(end) => {
            let (lines, rest) = bytes.split_at(end + 1);
            if partial.is_empty() {
                p.job.output.write(p.rank, stream, lines);
            } else {
                partial.extend_from_slice(lines);
                p.job.output.write(p.rank, stream, &partial);
                partial.clear();
            }
            partial.extend_from_slice(rest);
        }
        None => partial.extend_from_slice(bytes),
    }
    if partial.len() > LONGEST_LINE {
        p.job.output.write(p.rank, stream, &partial);
        partial.clear();
    }
}

/// Passes on what is left in the rank's streams.
pub fn flush(p: &Process) {
    let streams = &p.variables.streams;
    for file in streams.files[1..].iter().chain(&streams.first[1..]) {
        let file = file.get();
        if !file.is_null() {
            // SAFETY: the rank's own stream; nobody else writes to it for long.
            unsafe {
                if ftrylockfile(file) == 0 {
                    libc::fflush(file);
                    funlockfile(file);
                }
            }
        }
    }
    flush_partial(p);
}

fn flush_partial(p: &Process) {
    for stream in [Stream::Out, Stream::Err] {
        let mut partial =
            p.variables.streams.partial[stream as usize].lock().expect("nothing panics with this lock held");
        let rest = std::mem::take(&mut *partial);
        drop(partial);
        if !rest.is_empty() {
            p.job.output.write(p.rank, stream, &rest);
        }
    }
}

/// Shows what is left and takes the rank away from its streams: at the end of the rank, however it came.
pub fn close_streams(p: &Process) {
    let streams = &p.variables.streams;
    // A crash may have left a stream in any state.
    if !p.crashing.get() {
        flush(p);
    }
    flush_partial(p);
    for number in 0..3 {
        // SAFETY: cookies are made from boxes and never freed.
        unsafe {
            let Some(cookie) = streams.cookies[number].replace(ptr::null()).as_ref() else { continue };
            cookie.process.store(ptr::null_mut(), Ordering::Release);
            let file = streams.first[number].replace(ptr::null_mut());
            // The stream stays, and does nothing any more: to close one, the C library looks through all that are open,
            // of which every rank has three. Who holds the lock of a stream does so for ever.
            if !p.crashing.get() && !file.is_null() && ftrylockfile(file) == 0 {
                funlockfile(file);
                libc::setvbuf(file, ptr::null_mut(), libc::_IONBF, 0);
            }
        }
        if let file @ 0.. = streams.descriptors[number].replace(CLOSED) {
            // SAFETY: the rank's own.
            unsafe { libc::close(file) };
        }
    }
}

/// The rank that calls, and `descriptor` as a number of its streams.
fn standard<'a>(descriptor: c_int) -> Option<(&'a Process, usize)> {
    Some((current()?, usize::try_from(descriptor).ok().filter(|&number| number < 3)?))
}

pub(super) unsafe extern "C" fn read(descriptor: c_int, to: *mut c_void, room: usize) -> isize {
    // SAFETY: the caller's buffer.
    unsafe {
        match standard(descriptor) {
            Some((p, 0)) => take(p, to, room),
            _ => {
                let descriptor = actual(descriptor);
                await_input(descriptor);
                libc::read(descriptor, to, room)
            }
        }
    }
}

pub(super) unsafe extern "C" fn write(descriptor: c_int, from: *const c_void, length: usize) -> isize {
    // SAFETY: the caller's buffer.
    unsafe {
        match standard(descriptor) {
            Some((p, number @ 1..)) => give(p, number, from, length),
            _ => write_all(actual(descriptor), from, length),
        }
    }
}

unsafe extern "C" fn writev(descriptor: c_int, parts: *const libc::iovec, count: c_int) -> isize {
    // SAFETY: the caller's list.
    let Some(parts) = (unsafe { parts_of(parts, count) }) else { return error(libc::EINVAL) as isize };
    // SAFETY: the caller's buffers.
    in_parts(parts, 0, |from, length| unsafe { write(descriptor, from, length) })
}

/// What `descriptor` stands for in the process.
pub(super) fn actual(descriptor: c_int) -> c_int {
    match standard(descriptor).map(|(p, number)| p.variables.streams.descriptors[number].get()) {
        None | Some(OWN) => descriptor,
        Some(other) => other,
    }
}

/// Has a child begin with the streams of the rank that starts it: with files in their places, or without those that
/// are closed. Rank 0 alone has an input.
///
/// # Safety
/// `actions` are initialised.
pub(super) unsafe fn pass_on(actions: *mut libc::posix_spawn_file_actions_t) {
    let Some(p) = current() else { return };
    for (number, file) in p.variables.streams.descriptors.iter().enumerate() {
        let at = number as c_int;
        // SAFETY: the caller's promise; the files are open.
        unsafe {
            match file.get() {
                OWN if number == 0 && p.rank != 0 => {
                    libc::posix_spawn_file_actions_addopen(actions, at, c"/dev/null".as_ptr(), libc::O_RDONLY, 0);
                }
                OWN => {}
                CLOSED => {
                    libc::posix_spawn_file_actions_addclose(actions, at);
                }
                file => {
                    libc::posix_spawn_file_actions_adddup2(actions, file, at);
                }
            }
        }
    }
}

/// A file that was just opened gets the lowest free number, which is that of a stream if the rank has closed one.
pub(super) fn lowest(file: c_int) -> c_int {
    let Some(p) = current().filter(|_| file >= FIRST_FILE) else { return file };
    let closed = p.variables.streams.descriptors.iter().position(|known| known.get() == CLOSED);
    closed.map_or(file, |number| {
        replace(p, number, file);
        number as c_int
    })
}

/// The first number that is no standard stream's.
const FIRST_FILE: c_int = 3;

/// Puts `file` in the place of a descriptor.
fn replace(p: &Process, number: usize, file: c_int) {
    if let old @ 0.. = p.variables.streams.descriptors[number].replace(file) {
        // SAFETY: the rank's own.
        unsafe { libc::close(old) };
    }
}

pub(super) unsafe extern "C" fn close(descriptor: c_int) -> c_int {
    match standard(descriptor) {
        Some((p, number)) => {
            replace(p, number, CLOSED);
            0
        }
        None => close_own(descriptor),
    }
}

pub(super) unsafe extern "C" fn dup(descriptor: c_int) -> c_int {
    // SAFETY: the caller's.
    lowest(unsafe { libc::dup(actual(descriptor)) })
}

pub(super) unsafe extern "C" fn dup2(old: c_int, new: c_int) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some((p, number)) = standard(new) else { return dup3(old, new, 0) };
        if old == new {
            return new;
        }
        let copy = libc::dup(actual(old));
        if copy < 0 {
            return copy;
        }
        replace(p, number, copy);
        new
    }
}

/// Also `dup2` onto what is no standard stream's. What is the simulator's is kept.
pub(super) unsafe extern "C" fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        match standard(new) {
            Some(_) => dup2(old, new),
            None if is_protected(new) => error(libc::EBADF),
            None if flags == 0 => libc::dup2(actual(old), new),
            None => libc::dup3(actual(old), new, flags),
        }
    }
}

/// A rank's streams are no terminals, wherever its output ends.
unsafe extern "C" fn isatty(descriptor: c_int) -> c_int {
    match standard(descriptor) {
        Some(_) => {
            error(libc::ENOTTY);
            0
        }
        // SAFETY: any number may be asked about.
        None => unsafe { libc::isatty(descriptor) },
    }
}

unsafe extern "C" fn fileno(file: *mut libc::FILE) -> c_int {
    match current().and_then(|p| p.variables.streams.number(file)) {
        Some(number) => number as c_int,
        // SAFETY: the caller's.
        None => unsafe { libc::fileno(file) },
    }
}

unsafe extern "C" fn fdopen(descriptor: c_int, mode: *const c_char) -> *mut libc::FILE {
    // SAFETY: the caller's.
    unsafe {
        match standard(descriptor) {
            // Closing it must not close mcpsim's.
            Some(_) => libc::fdopen(libc::dup(actual(descriptor)), mode),
            None => libc::fdopen(descriptor, mode),
        }
    }
}

unsafe extern "C" fn fclose(file: *mut libc::FILE) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        match current().and_then(|p| Some((p, p.variables.streams.number(file)?))) {
            Some((p, number)) => {
                // The end of the rank closes it: others may use it until then, as destructors of C++ do.
                let first = p.variables.streams.first[number].get();
                p.variables.streams.files[number].set(first);
                if number > 0 {
                    libc::fflush(file);
                }
                if file == first { 0 } else { libc::fclose(file) }
            }
            None => libc::fclose(file),
        }
    }
}

unsafe extern "C" fn fcloseall() -> c_int {
    match current() {
        // The streams of other ranks are in the same process.
        Some(p) => {
            flush(p);
            0
        }
        // SAFETY: may be called at any time.
        None => unsafe { close_all() },
    }
}

/// A file in the place of a standard stream is a stream of its own, which the variable then names.
unsafe extern "C" fn freopen(path: *const c_char, mode: *const c_char, file: *mut libc::FILE) -> *mut libc::FILE {
    // SAFETY: the caller's.
    unsafe {
        let Some((p, number)) = current().and_then(|p| Some((p, p.variables.streams.number(file)?))) else {
            return libc::freopen(path, mode, file);
        };
        if path.is_null() {
            return file;
        }
        let new = libc::fopen(path, mode);
        if !new.is_null() {
            let streams = &p.variables.streams;
            if number > 0 {
                libc::fflush(file);
            }
            if file != streams.first[number].get() {
                libc::fclose(file);
            }
            streams.files[number].set(new);
            replace(p, number, libc::dup(libc::fileno(new)));
        }
        new
    }
}
