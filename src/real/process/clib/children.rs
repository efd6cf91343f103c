//! Commands that a rank starts with `system` and `popen`. They get its environment, directory and streams.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int};
use std::mem::MaybeUninit;
use std::ptr;

use super::{environment, error, flush, identity, streams};
use crate::process::job::Stream;
use crate::process::{Function, NamedFunction, current};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("system", Function(system as *const ())),
    ("popen", Function(popen as *const ())),
    ("pclose", Function(pclose as *const ())),
];

/// Streams of `popen` with the processes behind them.
pub type Pipes = RefCell<Vec<(*mut libc::FILE, libc::pid_t)>>;

type Words = *const *mut c_char;
type Actions = *const libc::posix_spawn_file_actions_t;

unsafe extern "C" {
    static environ: Words;
}

/// What a child finds in its environment if nothing else is said.
fn inherited() -> Words {
    // SAFETY: the variable of the C library is only read.
    current().map_or_else(|| unsafe { environ }, |p| environment(p).cast_const())
}

/// What a child is to do first: take the rank's streams, and then what `add` adds.
unsafe fn with_streams<T>(
    add: impl FnOnce(*mut libc::posix_spawn_file_actions_t),
    start: impl FnOnce(Actions) -> T,
) -> T {
    let mut actions = MaybeUninit::uninit();
    // SAFETY: initialised before it is used.
    unsafe {
        libc::posix_spawn_file_actions_init(actions.as_mut_ptr());
        streams::pass_on(actions.as_mut_ptr());
        add(actions.as_mut_ptr());
        let result = start(actions.as_ptr());
        libc::posix_spawn_file_actions_destroy(actions.as_mut_ptr());
        result
    }
}

/// Starts `command` by the shell, after what `add` adds.
unsafe fn shell(
    command: *const c_char,
    add: impl FnOnce(*mut libc::posix_spawn_file_actions_t),
) -> Result<libc::pid_t, c_int> {
    // What was printed before comes first.
    current().inspect(|p| flush(p));
    // SAFETY: the caller's string.
    tell_of_ranks(unsafe { CStr::from_ptr(command) }.to_bytes());
    let words = [c"sh".as_ptr().cast_mut(), c"-c".as_ptr().cast_mut(), command.cast_mut(), ptr::null_mut()];
    let mut child = 0;
    // SAFETY: the lists end with null.
    match unsafe {
        with_streams(add, |actions| {
            libc::posix_spawn(&mut child, c"/bin/sh".as_ptr(), actions, ptr::null(), words.as_ptr(), empty(inherited()))
        })
    } {
        0 => Ok(child),
        number => Err(number),
    }
}

/// Tells of a command that names a rank's process number, which is no process of the system.
fn tell_of_ranks(command: &[u8]) {
    let Some(p) = current() else { return };
    let mut numbers =
        command.split(|byte| !byte.is_ascii_digit()).filter_map(|word| str::from_utf8(word).ok()?.parse().ok());
    let named = |verb: &[u8]| command.windows(verb.len()).any(|part| part == verb);
    let Some(number) = numbers.find(|&number| identity::is_ours(p, number)) else { return };
    if !named(b"kill") && !named(b"/proc/") {
        return;
    }
    let text = format!(
        "mcpsim: rank {} starts a command that names process {number}: ranks are no processes of the system, and no \
         signal reaches them from outside; use a file or a pipe\n",
        p.rank
    );
    p.job.output.write(p.rank, Stream::Err, text.as_bytes());
}

/// An environment may be no list at all.
fn empty(list: Words) -> Words {
    struct Nothing([*mut c_char; 1]);
    // SAFETY: the pointer is null.
    unsafe impl Sync for Nothing {}
    static NOTHING: Nothing = Nothing([ptr::null_mut()]);
    if list.is_null() { NOTHING.0.as_ptr() } else { list }
}

/// Waits for the end of a child and returns its status.
fn until_end(child: libc::pid_t) -> c_int {
    let mut status = 0;
    // SAFETY: the status is written to; the location is the thread's own.
    unsafe {
        while libc::waitpid(child, &mut status, 0) < 0 {
            if *libc::__errno_location() != libc::EINTR {
                return -1;
            }
        }
    }
    status
}

unsafe extern "C" fn system(command: *const c_char) -> c_int {
    if command.is_null() {
        return 1;
    }
    // SAFETY: the caller's string.
    match unsafe { shell(command, |_| ()) } {
        Ok(child) => until_end(child),
        Err(number) => error(number),
    }
}

unsafe extern "C" fn popen(command: *const c_char, mode: *const c_char) -> *mut libc::FILE {
    // SAFETY: the caller's strings; the structures are made before they are used.
    unsafe {
        let text = CStr::from_ptr(mode).to_bytes();
        let reads = match text.iter().find(|byte| b"rw".contains(byte)) {
            Some(b'r') => true,
            Some(_) => false,
            None => {
                error(libc::EINVAL);
                return ptr::null_mut();
            }
        };
        let mut ends = [0; 2];
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return ptr::null_mut();
        }
        let (mine, its, place) = if reads { (ends[0], ends[1], 1) } else { (ends[1], ends[0], 0) };
        let child = shell(command, |actions| {
            libc::posix_spawn_file_actions_adddup2(actions, its, place);
        });
        libc::close(its);
        let file = match child {
            Ok(_) => libc::fdopen(mine, if reads { c"r".as_ptr() } else { c"w".as_ptr() }),
            Err(number) => {
                error(number);
                ptr::null_mut()
            }
        };
        match (child, current()) {
            (Ok(child), Some(p)) if !file.is_null() => {
                p.variables.pipes.borrow_mut().push((file, child));
            }
            _ => {
                libc::close(mine);
                return ptr::null_mut();
            }
        }
        file
    }
}

unsafe extern "C" fn pclose(file: *mut libc::FILE) -> c_int {
    let Some(p) = current() else { return error(libc::ECHILD) };
    let child = {
        let mut pipes = p.variables.pipes.borrow_mut();
        let place = pipes.iter().position(|(known, _)| *known == file);
        place.map(|place| pipes.remove(place).1)
    };
    let Some(child) = child else { return error(libc::ECHILD) };
    // SAFETY: the caller's stream.
    unsafe { libc::fclose(file) };
    until_end(child)
}
