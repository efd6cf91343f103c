//! What a rank must not share of the C library: its end, its time, its standard streams, its environment.

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_int, c_long, c_void};
use std::ptr;

use super::calls;
use super::job::Stream;
use super::process::{AtExit, Process, current};
use super::program::{end, leave};
use super::{image, job};
use crate::units::SimSpan;

/// What programs find in mcpsim before the system's libraries are asked.
pub struct Host;

impl image::Host for Host {
    fn function(&self, name: &str) -> Option<usize> {
        calls::find(name).or_else(|| {
            let found = FUNCTIONS.iter().find(|(known, _)| *known == name);
            found.map(|(_, function)| function.0 as usize)
        })
    }

    fn owned(&self, name: &str) -> bool {
        VARIABLES.contains(&name)
    }
}

/// A rank's variables of the C library.
#[derive(Debug, Default)]
pub struct Variables {
    streams: [Cell<*mut libc::FILE>; 3],
    environ: Cell<*mut *mut c_char>,
    /// What was written to stdout and stderr after the last end of a line.
    partial: [RefCell<Vec<u8>>; 2],
}

/// Variables of the C library of which each rank has its own.
const VARIABLES: [&str; 6] = ["stdin", "stdout", "stderr", "environ", "__environ", "_environ"];

/// The address of the variable `name` that `p` owns.
pub fn data(p: &Process, name: &str) -> Option<usize> {
    let stream = |number: usize| Some(p.variables.streams[number].as_ptr() as usize);
    match name {
        "stdin" => stream(0),
        "stdout" => stream(1),
        "stderr" => stream(2),
        "environ" | "__environ" | "_environ" => Some(p.variables.environ.as_ptr() as usize),
        _ => None,
    }
}

/// Functions that programs use instead of the C library's.
const FUNCTIONS: &[(&str, calls::Function)] = &[
    ("exit", calls::Function(exit as *const ())),
    ("_exit", calls::Function(exit_now as *const ())),
    ("_Exit", calls::Function(exit_now as *const ())),
    ("quick_exit", calls::Function(exit_now as *const ())),
    ("atexit", calls::Function(atexit as *const ())),
    ("on_exit", calls::Function(on_exit as *const ())),
    ("__cxa_atexit", calls::Function(cxa_atexit as *const ())),
    ("__cxa_finalize", calls::Function(cxa_finalize as *const ())),
    ("time", calls::Function(time as *const ())),
    ("gettimeofday", calls::Function(gettimeofday as *const ())),
    ("clock_gettime", calls::Function(clock_gettime as *const ())),
    ("clock", calls::Function(clock as *const ())),
    ("sleep", calls::Function(sleep as *const ())),
    ("usleep", calls::Function(usleep as *const ())),
    ("nanosleep", calls::Function(nanosleep as *const ())),
];

unsafe extern "C" fn exit(code: c_int) {
    let Some(p) = current() else { no_rank("exit") };
    let last = end(p, code);
    p.call_done(last);
}

unsafe extern "C" fn exit_now(code: c_int) {
    let Some(p) = current() else { no_rank("_exit") };
    let last = leave(p, code);
    p.call_done(last);
}

#[cold]
fn no_rank(name: &str) -> ! {
    job::fatal(&format!("{name} was called from a thread that is not its rank's main thread"), 1)
}

unsafe extern "C" fn atexit(function: unsafe extern "C" fn()) -> c_int {
    add_at_exit(AtExit::Plain(function))
}

unsafe extern "C" fn on_exit(function: unsafe extern "C" fn(c_int, *mut c_void), argument: usize) -> c_int {
    add_at_exit(AtExit::Code(function, argument))
}

unsafe extern "C" fn cxa_atexit(
    function: unsafe extern "C" fn(*mut c_void),
    argument: usize,
    _module: *mut c_void,
) -> c_int {
    add_at_exit(AtExit::With(function, argument))
}

unsafe extern "C" fn cxa_finalize(_module: *mut c_void) {}

fn add_at_exit(what: AtExit) -> c_int {
    match current() {
        Some(p) => {
            p.at_exit.borrow_mut().push(what);
            0
        }
        None => -1,
    }
}

/// Calls what the program wants called at its end, the last first; each may add others.
pub fn run_at_exit(p: &Process, code: c_int) {
    loop {
        let Some(last) = p.at_exit.borrow_mut().pop() else { return };
        // SAFETY: the program's own functions.
        unsafe {
            match last {
                AtExit::Plain(function) => function(),
                AtExit::With(function, argument) => function(argument as *mut c_void),
                AtExit::Code(function, argument) => function(code, argument as *mut c_void),
            }
        }
    }
}

/// The time of day at which every run begins, seconds since 1970: the start of the year 2000.
const EPOCH: u64 = 946_684_800;

/// Virtual time since the epoch, ns.
fn time_of_day() -> u64 {
    EPOCH * 1_000_000_000 + since_start()
}

/// Virtual time since the start, ns.
fn since_start() -> u64 {
    current().map_or(0, |p| calls::wtime(p).as_ps() / 1000)
}

unsafe extern "C" fn time(to: *mut libc::time_t) -> libc::time_t {
    let seconds = (time_of_day() / 1_000_000_000) as libc::time_t;
    if !to.is_null() {
        // SAFETY: the caller's.
        unsafe { *to = seconds };
    }
    seconds
}

unsafe extern "C" fn gettimeofday(to: *mut libc::timeval, _zone: *mut c_void) -> c_int {
    let now = time_of_day();
    if !to.is_null() {
        let time = libc::timeval {
            tv_sec: (now / 1_000_000_000) as libc::time_t,
            tv_usec: (now % 1_000_000_000 / 1000) as libc::suseconds_t,
        };
        // SAFETY: the caller's.
        unsafe { *to = time };
    }
    0
}

unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, to: *mut libc::timespec) -> c_int {
    let now = match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => time_of_day(),
        _ => since_start(),
    };
    let time =
        libc::timespec { tv_sec: (now / 1_000_000_000) as libc::time_t, tv_nsec: (now % 1_000_000_000) as c_long };
    // SAFETY: the caller's.
    unsafe { *to = time };
    0
}

unsafe extern "C" fn clock() -> libc::clock_t {
    (since_start() / 1000) as libc::clock_t
}

/// Lets virtual time pass.
fn pass(span: SimSpan) {
    if let Some(p) = current() {
        p.pass(span);
        p.start_timer();
    }
}

unsafe extern "C" fn sleep(seconds: u32) -> u32 {
    pass(SimSpan::from_ns(1_000_000_000) * u64::from(seconds));
    0
}

unsafe extern "C" fn usleep(microseconds: u32) -> c_int {
    pass(SimSpan::from_ns(1000) * u64::from(microseconds));
    0
}

unsafe extern "C" fn nanosleep(time: *const libc::timespec, left: *mut libc::timespec) -> c_int {
    // SAFETY: the caller's.
    let libc::timespec { tv_sec, tv_nsec } = unsafe { *time };
    pass(SimSpan::from_ns(1_000_000_000) * tv_sec.max(0) as u64 + SimSpan::from_ns(tv_nsec.max(0) as u64));
    if !left.is_null() {
        // SAFETY: the caller's.
        unsafe { *left = libc::timespec { tv_sec: 0, tv_nsec: 0 } };
    }
    0
}

/// What a stream does (`cookie_io_functions_t` of the C library).
#[repr(C)]
#[derive(Clone, Copy)]
struct StreamFunctions {
    read: Option<unsafe extern "C" fn(*mut c_void, *mut c_char, usize) -> isize>,
    write: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> isize>,
    seek: usize,
    close: usize,
}

unsafe extern "C" {
    fn fopencookie(cookie: *mut c_void, mode: *const c_char, functions: StreamFunctions) -> *mut libc::FILE;
}

/// Opens the rank's standard streams.
pub fn open_streams(p: &Process) {
    let cookie = ptr::from_ref(p).cast_mut().cast();
    let functions = |read: _, write: _| StreamFunctions { read, write, seek: 0, close: 0 };
    // SAFETY: the process outlives its streams.
    unsafe {
        p.variables.streams[0].set(fopencookie(cookie, c"r".as_ptr(), functions(Some(read), None)));
        p.variables.streams[1].set(fopencookie(cookie, c"w".as_ptr(), functions(None, Some(write_out))));
        p.variables.streams[2].set(fopencookie(cookie, c"w".as_ptr(), functions(None, Some(write_err))));
        libc::setvbuf(p.variables.streams[1].get(), ptr::null_mut(), libc::_IOLBF, 0);
        libc::setvbuf(p.variables.streams[2].get(), ptr::null_mut(), libc::_IONBF, 0);
    }
}

unsafe extern "C" fn read(cookie: *mut c_void, to: *mut c_char, room: usize) -> isize {
    // SAFETY: the cookie is the rank.
    let p = unsafe { &*cookie.cast::<Process>() };
    if p.rank != 0 {
        return 0;
    }
    // SAFETY: the caller's buffer.
    unsafe { libc::read(0, to.cast(), room) }
}

unsafe extern "C" fn write_out(cookie: *mut c_void, from: *const c_char, length: usize) -> isize {
    // SAFETY: the cookie is the rank, and the caller's buffer holds so much.
    unsafe { write(&*cookie.cast::<Process>(), Stream::Out, std::slice::from_raw_parts(from.cast(), length)) }
}

unsafe extern "C" fn write_err(cookie: *mut c_void, from: *const c_char, length: usize) -> isize {
    // SAFETY: as above.
    unsafe { write(&*cookie.cast::<Process>(), Stream::Err, std::slice::from_raw_parts(from.cast(), length)) }
}

/// Longer lines go out in parts.
const LONGEST_LINE: usize = 64 << 10;

/// Passes whole lines on, and keeps the rest.
fn write(p: &Process, stream: Stream, bytes: &[u8]) -> isize {
    let mut partial = p.variables.partial[stream as usize].borrow_mut();
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
    bytes.len() as isize
}

/// Passes on what is left in the rank's streams.
pub fn flush(p: &Process) {
    for stream in &p.variables.streams[1..] {
        if !stream.get().is_null() {
            // SAFETY: the rank's own stream.
            unsafe { libc::fflush(stream.get()) };
        }
    }
    for stream in [Stream::Out, Stream::Err] {
        let rest = p.variables.partial[stream as usize].take();
        if !rest.is_empty() {
            p.job.output.write(p.rank, stream, &rest);
        }
    }
}

/// Sets variables of the whole process, for libraries that look at them when they are loaded.
pub fn set_variables<'a>(variables: impl IntoIterator<Item = (&'a String, &'a String)>) {
    for (name, value) in variables {
        // SAFETY: before a run no other thread of mcpsim reads the environment.
        unsafe { std::env::set_var(name, value) };
    }
}

/// The rank's environment.
pub fn environment(p: &Process) -> *mut *mut c_char {
    p.variables.environ.get()
}

/// Gives the rank an environment.
pub fn set_environment(p: &Process, environment: *mut *mut c_char) {
    p.variables.environ.set(environment);
}
