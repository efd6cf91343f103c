//! Paths that mean something else to a rank than to the process, and waiting for what other ranks do to files.
//!
//! What the kernel tells in /proc of the process is told of the rank: by its number, with its program's name. A rank
//! that asks again and again for a file that is not there lets time pass, so that another can make it.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use super::input::{has_writer, open_awaited};
use super::streams::lowest;
use super::{error, identity};
use crate::process::job::Stream;
use crate::process::{Function, NamedFunction, Process, current};
use mcpsim_core::rank::{Call, FailureKind};
use mcpsim_core::units::{SimSpan, SimTime};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("open", Function(open as *const ())),
    ("open64", Function(open as *const ())),
    ("__open", Function(open as *const ())),
    ("__open_2", Function(open as *const ())),
    ("__open64_2", Function(open as *const ())),
    ("openat", Function(openat as *const ())),
    ("openat64", Function(openat as *const ())),
    ("creat", Function(creat as *const ())),
    ("creat64", Function(creat as *const ())),
    ("fopen", Function(fopen as *const ())),
    ("fopen64", Function(fopen as *const ())),
    ("opendir", Function(opendir as *const ())),
    ("access", Function(access as *const ())),
    ("stat", Function(stat as *const ())),
    ("stat64", Function(stat as *const ())),
    ("lstat", Function(lstat as *const ())),
    ("lstat64", Function(lstat as *const ())),
    ("readlink", Function(readlink as *const ())),
    ("__readlink_chk", Function(readlink as *const ())),
    ("realpath", Function(realpath as *const ())),
    ("__realpath_chk", Function(realpath as *const ())),
];

/// What a rank waits for outside of MPI.
#[derive(Debug, Default)]
pub struct Waits {
    /// What was asked for in vain last, and how often in a row.
    path: RefCell<Vec<u8>>,
    count: Cell<u32>,
    /// How long it has idled for it.
    idled: Cell<SimSpan>,
    /// What the rank's own code had cost at the last question.
    computed: Cell<SimSpan>,
}

/// In the place of the MPI function called last, while the rank does nothing but wait.
const WAITING: &str = "waiting outside of MPI";
/// So many questions in a row are no waiting.
const PATIENCE: u32 = 64;
/// After so much virtual time nobody else can be expected to do anything: sooner than the engine takes it for a
/// deadlock.
pub const LONGEST: SimSpan = SimSpan::from_ps(500 * 1_000_000_000_000);
/// A rank whose own code takes longer between two questions does more than to ask.
const LONGEST_TURN: SimSpan = SimSpan::from_ns(50_000);
/// The pause between two questions: at least this, at most a hundredth of what was waited.
const PAUSE: SimSpan = SimSpan::from_ns(1000);

/// Lets time pass after a question that was answered with no since `since`; whether it is to be asked again.
pub fn pause(p: &Process, since: SimTime) -> bool {
    pause_at_most(p, since, None)
}

/// As [`pause`], of a rank that does not wait longer than `left`.
pub fn pause_at_most(p: &Process, since: SimTime, left: Option<SimSpan>) -> bool {
    let waited = p.now().since(since);
    if left.is_none() && waited > LONGEST {
        return false;
    }
    let span = PAUSE.max(SimSpan::from_ps(waited.as_ps() / 100));
    // Idling, unlike computing, lets all others come to that time first.
    p.call_done(Call::Idle(left.map_or(span, |left| span.min(left))));
    p.start_timer();
    true
}

/// The rank has asked for a file that is not there, or wanted to make one that is.
pub(super) unsafe fn absent(path: *const c_char) {
    let Some(p) = current().filter(|_| !path.is_null()) else { return };
    // SAFETY: the caller's string; the location is the thread's own.
    let (text, number) = unsafe { (CStr::from_ptr(path).to_bytes(), *libc::__errno_location()) };
    let state = match number {
        libc::ENOENT => "which is not there",
        libc::EEXIST | libc::ENOTEMPTY => "which is there, to go away",
        _ => return,
    };
    unanswered(p, text, &format!("{}, {state}", OsStr::from_bytes(text).display()));
    error(number);
}

/// The rank has asked for `key` in vain: `what` tells what for. Time passes once it does nothing but ask.
pub(super) fn unanswered(p: &Process, key: &[u8], what: &str) {
    unanswered_until(p, key, what, None);
}

/// As [`unanswered`], of a rank that asks for no longer than `left`.
pub(super) fn unanswered_until(p: &Process, key: &[u8], what: &str, left: Option<SimSpan>) {
    let waits = &p.variables.waits;
    if *waits.path.borrow() != key {
        key.clone_into(&mut waits.path.borrow_mut());
        waits.count.set(0);
    }
    waits.count.set(waits.count.get().saturating_add(1));
    if waits.count.get() < PATIENCE {
        return;
    }
    let computed = p.computed();
    let own = computed.saturating_sub(waits.computed.replace(computed));
    // Anything that the rank has done by MPI in between shows that it does not wait.
    if p.function.replace(WAITING) != WAITING {
        waits.idled.set(SimSpan::ZERO);
        return;
    }
    // So does work between two questions, as of a rank that looks whether it is to stop.
    if own > LONGEST_TURN {
        return;
    }
    let before = p.now();
    let since = SimTime::from_ps(before.as_ps().saturating_sub(waits.idled.get().as_ps()));
    if !pause_at_most(p, since, left) {
        wait_is_endless(p, what);
    }
    waits.idled.set(waits.idled.get() + p.now().since(before));
}

/// The rank has given the processor away. One that does nothing else lets the others go on: it may look at memory that
/// another rank is to write.
pub(super) fn yielded(p: &Process) {
    const KEY: &[u8] = b"sched_yield";
    let waits = &p.variables.waits;
    if *waits.path.borrow() != KEY {
        KEY.clone_into(&mut waits.path.borrow_mut());
        waits.count.set(0);
    }
    waits.count.set(waits.count.get().saturating_add(1));
    if waits.count.get() < PATIENCE || p.function.replace(WAITING) != WAITING {
        return;
    }
    p.call_done(Call::Idle(PAUSE));
    p.start_timer();
}

/// Ends a rank that has waited for too long outside of MPI.
pub fn wait_is_endless(p: &Process, what: &str) -> ! {
    let text = format!(
        "it has waited for {LONGEST} for {what}: expected another rank to bring it about; \
         if that one waits as well, let the ranks wait for each other by MPI"
    );
    p.fail_at("outside of MPI".to_owned(), FailureKind::Error, text)
}

/// What a path of a rank stands for.
enum Meaning {
    Same,
    Other(CString),
    /// A file with these contents.
    Text(Vec<u8>),
    /// A link to this path.
    Link(CString),
}

/// What `path` means to the rank.
unsafe fn meaning(path: *const c_char) -> Meaning {
    if path.is_null() {
        return Meaning::Same;
    }
    // SAFETY: the caller's string.
    let Some(rest) = unsafe { CStr::from_ptr(path) }.to_bytes().strip_prefix(b"/proc/") else { return Meaning::Same };
    let Some(p) = current() else { return Meaning::Same };
    let (first, rest) = rest.split_at(rest.iter().position(|&byte| byte == b'/').unwrap_or(rest.len()));
    let number = identity::number(p).to_string();
    if first != b"self" && first != number.as_bytes() {
        return Meaning::Same;
    }
    let name = || p.program().arguments[0].to_bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let short = || name()[..name().len().min(15)].to_vec();
    match rest {
        b"/exe" => Meaning::Link(program(p)),
        b"/cmdline" => {
            Meaning::Text(p.program().arguments.iter().flat_map(|word| word.to_bytes_with_nul()).copied().collect())
        }
        b"/environ" => {
            Meaning::Text(p.program().environment.iter().flat_map(|entry| entry.to_bytes_with_nul()).copied().collect())
        }
        b"/comm" => Meaning::Text([&short()[..], b"\n"].concat()),
        b"/status" => Meaning::Text(status(&short(), identity::number(p))),
        b"/stat" => Meaning::Text(numbers(&short(), identity::number(p))),
        b"/cwd" => Meaning::Other(c"/proc/thread-self/cwd".to_owned()),
        rest if is_main_task(rest, number.as_bytes()) => {
            let rest = &rest[b"/task/".len() + number.len()..];
            CString::new([b"/proc/thread-self", rest].concat()).map_or(Meaning::Same, Meaning::Other)
        }
        rest => CString::new([b"/proc/self", rest].concat()).map_or(Meaning::Same, Meaning::Other),
    }
}

/// Whether `rest`, of a path in the rank's /proc, begins with its main thread, which has the rank's `number`.
fn is_main_task(rest: &[u8], number: &[u8]) -> bool {
    let after = rest.strip_prefix(b"/task/").and_then(|rest| rest.strip_prefix(number));
    after.is_some_and(|after| after.first().is_none_or(|&byte| byte == b'/'))
}

/// The program's file, absolute.
fn program(p: &Process) -> CString {
    let path = p.program().image.as_ref().map(|image| image.path()).unwrap_or(std::path::Path::new(""));
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    CString::new(path.into_os_string().into_encoded_bytes()).unwrap_or_default()
}

/// /proc/self/status as of the rank.
fn status(name: &[u8], number: c_int) -> Vec<u8> {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut of_rank = Vec::new();
    for line in text.lines() {
        let (key, value) = line.split_once(':').unwrap_or((line, ""));
        let own = match key {
            "Name" => String::from_utf8_lossy(name).into_owned(),
            "Pid" | "Tgid" | "Ngid" if value.trim() != "0" => number.to_string(),
            "PPid" => identity::parent(number).to_string(),
            _ => value.trim_start().to_owned(),
        };
        of_rank.extend(format!("{key}:\t{own}\n").into_bytes());
    }
    of_rank
}

/// /proc/self/stat as of the rank: its number, its name in parentheses, a letter, its parent's number.
fn numbers(name: &[u8], number: c_int) -> Vec<u8> {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest).trim();
    let mut words = rest.splitn(3, ' ');
    let (state, _, rest) = (words.next().unwrap_or("R"), words.next(), words.next().unwrap_or(""));
    let name = String::from_utf8_lossy(name);
    format!("{number} ({name}) {state} {} {rest}\n", identity::parent(number)).into_bytes()
}

/// A descriptor of a file in memory with these contents.
fn in_memory(text: &[u8]) -> c_int {
    // SAFETY: the name is a string, and the bytes are there.
    unsafe {
        let file = libc::memfd_create(c"proc".as_ptr(), libc::MFD_CLOEXEC);
        if file >= 0 {
            libc::write(file, text.as_ptr().cast(), text.len());
            libc::lseek(file, 0, libc::SEEK_SET);
        }
        file
    }
}

/// Tells once that files are short, where that is the limit.
fn tell_limit(result: c_int) {
    static TOLD: AtomicBool = AtomicBool::new(false);
    // SAFETY: the location is the thread's own.
    if result >= 0 || unsafe { *libc::__errno_location() } != libc::EMFILE || TOLD.swap(true, Ordering::Relaxed) {
        return;
    }
    let Some(p) = current() else { return };
    // SAFETY: room for the answer, for which all zeros is valid.
    let limit = unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur
    };
    let text = format!(
        "mcpsim: all ranks together have {limit} files open, and no more are allowed: raise the hard limit (ulimit -Hn)\n"
    );
    p.job.output.write(p.rank, Stream::Err, text.as_bytes());
    error(libc::EMFILE);
}

/// Raises the limit of open files as far as the system allows: it holds for all ranks together.
pub fn raise_limits() {
    // SAFETY: room for the answer.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 && limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

unsafe fn is_fifo(path: *const c_char) -> bool {
    // SAFETY: the caller's string, and room for the answer.
    unsafe {
        let mut found: libc::stat = std::mem::zeroed();
        libc::stat(path, &mut found) == 0 && found.st_mode & libc::S_IFMT == libc::S_IFIFO && current().is_some()
    }
}

/// Opens a file; a FIFO without keeping other ranks from opening its other end.
unsafe fn open_at(directory: c_int, path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: the caller's string.
    unsafe {
        let blocks = flags & (libc::O_NONBLOCK | libc::O_PATH) == 0;
        let mut found: libc::stat = std::mem::zeroed();
        let is_pipe = |found: &libc::stat| found.st_mode & libc::S_IFMT == libc::S_IFIFO;
        if let (true, Some(p)) = (blocks, current())
            && flags & libc::O_CREAT == 0
            && libc::fstatat(directory, path, &mut found, 0) == 0
            && is_pipe(&found)
        {
            return open_pipe(p, directory, path, flags);
        }
        libc::openat(directory, path, flags, mode)
    }
}

/// Opens an end of a FIFO once somebody has the other.
unsafe fn open_pipe(p: &Process, directory: c_int, path: *const c_char, flags: c_int) -> c_int {
    let since = p.now();
    // SAFETY: the caller's string.
    let name = || OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()).display().to_string();
    let mut file = -1;
    let mut ready = || {
        // SAFETY: as above; room for one descriptor.
        unsafe {
            if file < 0 {
                file = libc::openat(directory, path, flags | libc::O_NONBLOCK);
            }
            if file < 0 {
                return *libc::__errno_location() != libc::ENXIO;
            }
            let mut asked = libc::pollfd { fd: file, events: libc::POLLIN, revents: 0 };
            flags & libc::O_ACCMODE != libc::O_RDONLY || libc::poll(&mut asked, 1, 0) != 0 || has_writer(file)
        }
    };
    while !ready() {
        if !pause(p, since) {
            wait_is_endless(p, &format!("somebody to open the other end of {}", name()));
        }
    }
    if file >= 0 {
        // SAFETY: just opened.
        unsafe { libc::fcntl(file, libc::F_SETFL, flags & !(libc::O_NONBLOCK | libc::O_CREAT | libc::O_EXCL)) };
    }
    file
}

unsafe extern "C" fn openat(directory: c_int, path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: the caller's string.
    let file = unsafe {
        match meaning(path) {
            Meaning::Same => open_at(directory, path, flags, mode),
            Meaning::Other(other) | Meaning::Link(other) => libc::open(other.as_ptr(), flags, mode),
            Meaning::Text(text) => in_memory(&text),
        }
    };
    tell_limit(file);
    if file < 0 {
        // SAFETY: as above.
        unsafe { absent(path) };
    }
    lowest(file)
}

unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: as the caller's.
    unsafe { openat(libc::AT_FDCWD, path, flags, mode) }
}

unsafe extern "C" fn creat(path: *const c_char, mode: libc::mode_t) -> c_int {
    // SAFETY: as the caller's.
    unsafe { openat(libc::AT_FDCWD, path, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, mode) }
}

unsafe extern "C" fn fopen(path: *const c_char, mode: *const c_char) -> *mut libc::FILE {
    // SAFETY: the caller's strings.
    let file = unsafe {
        match meaning(path) {
            Meaning::Same if is_fifo(path) => {
                let write = CStr::from_ptr(mode).to_bytes().first() != Some(&b'r');
                let file = open_at(libc::AT_FDCWD, path, if write { libc::O_WRONLY } else { libc::O_RDONLY }, 0);
                if file < 0 { ptr::null_mut() } else { open_awaited(file, mode) }
            }
            Meaning::Same => libc::fopen(path, mode),
            Meaning::Other(other) | Meaning::Link(other) => libc::fopen(other.as_ptr(), mode),
            Meaning::Text(text) => {
                let file = in_memory(&text);
                if file < 0 { ptr::null_mut() } else { libc::fdopen(file, mode) }
            }
        }
    };
    if file.is_null() {
        tell_limit(-1);
        // SAFETY: as above.
        unsafe { absent(path) };
    }
    file
}

unsafe extern "C" fn opendir(path: *const c_char) -> *mut c_void {
    // SAFETY: the caller's string.
    unsafe {
        match meaning(path) {
            Meaning::Other(other) => libc::opendir(other.as_ptr()).cast(),
            _ => libc::opendir(path).cast(),
        }
    }
}

/// Asks about a path by `ask`.
unsafe fn question(path: *const c_char, ask: impl FnOnce(*const c_char) -> c_int) -> c_int {
    // SAFETY: the caller's string.
    let result = match unsafe { meaning(path) } {
        Meaning::Same => ask(path),
        Meaning::Other(other) | Meaning::Link(other) => ask(other.as_ptr()),
        Meaning::Text(_) => ask(c"/proc/self/comm".as_ptr()),
    };
    if result != 0 {
        // SAFETY: as above.
        unsafe { absent(path) };
    }
    result
}

unsafe extern "C" fn access(path: *const c_char, how: c_int) -> c_int {
    // SAFETY: the caller's.
    unsafe { question(path, |path| libc::access(path, how)) }
}

unsafe extern "C" fn stat(path: *const c_char, to: *mut libc::stat) -> c_int {
    // SAFETY: the caller's.
    unsafe { question(path, |path| libc::stat(path, to)) }
}

unsafe extern "C" fn lstat(path: *const c_char, to: *mut libc::stat) -> c_int {
    // SAFETY: the caller's.
    unsafe { question(path, |path| libc::lstat(path, to)) }
}

unsafe extern "C" fn readlink(path: *const c_char, to: *mut c_char, room: usize) -> isize {
    // SAFETY: the caller's.
    unsafe {
        match meaning(path) {
            Meaning::Link(target) => {
                let length = target.as_bytes().len().min(room);
                ptr::copy_nonoverlapping(target.as_ptr(), to, length);
                length as isize
            }
            Meaning::Other(other) if other.as_bytes() == b"/proc/self" => {
                let number = current().map_or(0, identity::number).to_string();
                let length = number.len().min(room);
                ptr::copy_nonoverlapping(number.as_ptr().cast(), to, length);
                length as isize
            }
            Meaning::Other(other) => libc::readlink(other.as_ptr(), to, room),
            _ => libc::readlink(path, to, room),
        }
    }
}

unsafe extern "C" fn realpath(path: *const c_char, to: *mut c_char) -> *mut c_char {
    // SAFETY: the caller's.
    unsafe {
        match meaning(path) {
            Meaning::Link(other) | Meaning::Other(other) => libc::realpath(other.as_ptr(), to),
            _ => libc::realpath(path, to),
        }
    }
}
