//! Creates the text of crash reports, which contain the cause and the position of a crash.
#![allow(unsafe_code)]

use std::ffi::CStr;

use super::{CALLED, Crash, MEMORY, Overflow};
use crate::loader;
use crate::process::Process;
use crate::process::heap;
use crate::process::job;
use crate::process::unwind::{Registers, StackTrace, UnwindFrame, first};
use mcpsim_core::rank::{FailureKind, ProgramError};
use mcpsim_core::units::Bytes;

/// Maximum number of stack frames in a crash report.
const SHOWN: usize = 16;

/// Text of a crash report if the stack is overwritten and the callers are therefore unknown.
const OVERWRITTEN: &str = "; the stack is overwritten up to its top, as by a local array that is too short";

/// Text of a crash report if another rank may have caused the crash by damaging the heap.
const SHARED_HEAP: &str =
    "\n  (all ranks share one heap: --check-heap finds a rank that writes past a block or to a freed one)";
/// Upper bound of addresses that count as accesses through a null pointer.
const NULL_AREA: usize = 1 << 16;

/// Returns the error with which the crashed rank ends.
pub fn error(p: &Process, crash: &Crash) -> ProgramError {
    let function = p.function.get();
    let when = match (function, p.in_call()) {
        ("", _) => "before any MPI call".to_owned(),
        (_, true) => format!("in {function}"),
        (_, false) => format!("after {function}"),
    };
    let describe = |frame: &UnwindFrame| {
        let instance = p.instance.try_borrow().ok()?;
        let (module, offset) = instance.as_ref()?.contains(frame.at)?;
        Some(p.job.describe(module, offset))
    };
    let place = format!("{}{}, {when}", reason_in(p, crash), if crash.overwritten { OVERWRITTEN } else { "" });
    let mut what = lines(&crash.trace, describe);
    if !p.job.options.checks.heap && may_be_of_heap(crash) {
        what.push_str(SHARED_HEAP);
    }
    ProgramError { kind: FailureKind::Crashed { signal: crash.signal }, place, what }
}

/// Returns the error of a rank whose exposed memory was inaccessible when another rank accessed the memory.
pub fn of_remote(p: &Process, crash: &Crash) -> ProgramError {
    let access = p.remote.get().map(|access| format!(": {}", access.describe(p, crash.address)));
    let place = format!("{}{}", reason_in(p, crash), access.unwrap_or_default());
    ProgramError { kind: FailureKind::Crashed { signal: crash.signal }, place, what: String::new() }
}

/// Returns the message for a crash in the memory management while mcpsim itself allocates or frees memory.
pub fn of_heap(crash: &Crash) -> String {
    format!(
        "the program crashed with signal {} ({}): a rank has damaged the heap, by a write past the end of a block or to \
         a block that it had freed{SHARED_HEAP}",
        crash.signal,
        signal_name(crash.signal)
    )
}

fn signal_name(signal: std::ffi::c_int) -> String {
    // SAFETY: `strsignal` returns a zero-terminated string, which is copied before the next call of `strsignal`.
    unsafe { CStr::from_ptr(libc::strsignal(signal)) }.to_string_lossy().into_owned()
}

/// Returns the report for a crash of a thread that the program created.
pub fn of_thread(crash: &Crash) -> String {
    let name = signal_name(crash.signal);
    let describe = |frame: &UnwindFrame| {
        let (_, module, offset) = loader::place_at_once(frame.at)?;
        Some(job::latest().map_or_else(|| format!("{offset:#x}"), |job| job.describe(module, offset)))
    };
    let lines = lines(&crash.trace, describe);
    let what = reason(crash);
    format!("a thread of the program crashed with signal {} ({name}): {what}\n{lines}", crash.signal)
}

/// Returns the innermost function of the program in a stack trace, such as "main at ring.c:42".
pub fn innermost(trace: &StackTrace) -> Option<String> {
    let (_, module, offset) = trace.frames().iter().find_map(|frame| loader::place_at_once(frame.at))?;
    Some(job::latest().map_or_else(|| format!("{offset:#x}"), |job| job.describe(module, offset)))
}

/// Returns one line of text per stack frame of the program.
fn lines(trace: &StackTrace, describe: impl Fn(&UnwindFrame) -> Option<String>) -> String {
    let mut lines: Vec<String> = Vec::new();
    for frame in trace.frames() {
        match describe(frame) {
            // Functions of the support archive, such as the caller of `main`, are not part of the program.
            Some(place) if place.starts_with("mcpsim_") => {}
            Some(place) => lines.push(format!("  {place}")),
            None if lines.is_empty() => lines.extend(system_function(frame).map(|name| format!("  {name}"))),
            None => {}
        }
    }
    let more = lines.len() > SHOWN || trace.cut;
    lines.truncate(SHOWN);
    if more {
        lines.push("  and so on".to_owned());
    }
    lines.join("\n")
}

/// Returns the name of a function in a system library.
fn system_function(frame: &UnwindFrame) -> Option<String> {
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `found` has room for the result. The strings that `dladdr` returns are valid while the library is
    // loaded.
    unsafe {
        if frame.function == 0 || libc::dladdr(frame.function as *const _, found.as_mut_ptr()) == 0 {
            return None;
        }
        let found = found.assume_init();
        if found.dli_saddr as usize != frame.function || found.dli_sname.is_null() || found.dli_fname.is_null() {
            return None;
        }
        let file = CStr::from_ptr(found.dli_fname).to_string_lossy().into_owned();
        let file = file.rsplit('/').next().unwrap_or_default();
        // Names of mcpsim's own functions are omitted, because the names do not help users.
        file.contains(".so").then(|| format!("{} in {file}", CStr::from_ptr(found.dli_sname).to_string_lossy()))
    }
}

/// Returns true if another rank may have caused the crash by damaging the heap.
fn may_be_of_heap(crash: &Crash) -> bool {
    let is_access = matches!(crash.signal, libc::SIGSEGV | libc::SIGBUS) && crash.code > 0;
    in_memory_management(&crash.trace)
        || is_access && crash.overflow.is_none() && !crash.overwritten && crash.address >= NULL_AREA
}

/// Returns the cause of a crash of the rank `p`, and describes the heap block next to the failed access.
fn reason_in(p: &Process, crash: &Crash) -> String {
    let is_access = crash.signal == libc::SIGSEGV && crash.code > 0 && p.job.options.checks.heap;
    match is_access.then(|| heap::describe(&p.job, crash.address)).flatten() {
        Some(block) if crash.error & 2 != 0 => format!("a write to {:#x}, {block}", crash.address),
        Some(block) => format!("a read of {:#x}, {block}", crash.address),
        None => reason(crash),
    }
}

/// Returns the cause of a crash as text.
fn reason(crash: &Crash) -> String {
    let at = format!("{:#x}", crash.address);
    if let Some(overflow) = crash.overflow {
        let (size, setting) = match overflow {
            Overflow::Rank(size) => (size, "--stack-size"),
            Overflow::Thread(size) => (size, "OMP_STACKSIZE, pthread_attr_setstacksize or ulimit -s"),
        };
        return format!("stack overflow: the stack has {}, see {setting}", Bytes::new(size as u64));
    }
    if crash.code <= 0 {
        return match (crash.signal, crash.code) {
            (libc::SIGABRT, CALLED) => "abort was called".to_owned(),
            (libc::SIGABRT, _) => "the C library has ended the program".to_owned(),
            (_, CALLED) => "the program sent this signal to itself".to_owned(),
            _ => "another process sent this signal".to_owned(),
        };
    }
    match (crash.signal, crash.code) {
        (libc::SIGSEGV, 1) if crash.error & 16 != 0 => format!("no code at {at}"),
        (libc::SIGSEGV, 1) => format!("nothing is mapped at {at}"),
        (libc::SIGSEGV, 2) if crash.error & 16 != 0 => format!("no code at {at}"),
        (libc::SIGSEGV, 2) if crash.error & 2 != 0 => format!("memory at {at} must not be written"),
        (libc::SIGSEGV, 2) => format!("memory at {at} must not be read"),
        (libc::SIGSEGV, _) => "an address that no memory can have, or an instruction that is not allowed".to_owned(),
        (libc::SIGBUS, 1) => format!("misaligned access to {at}"),
        (libc::SIGBUS, 2) => format!("the file mapped at {at} is shorter than its mapping"),
        (libc::SIGBUS, _) => format!("no access to {at}"),
        (libc::SIGFPE, 1) => "integer division by zero or with too large a result".to_owned(),
        (libc::SIGFPE, 3) => "floating-point division by zero".to_owned(),
        (libc::SIGFPE, 4) => "floating-point overflow".to_owned(),
        (libc::SIGFPE, 5) => "floating-point underflow".to_owned(),
        (libc::SIGFPE, 6) => "inexact floating-point result".to_owned(),
        (libc::SIGFPE, 7) => "invalid floating-point operation".to_owned(),
        (libc::SIGFPE, _) => "arithmetic error".to_owned(),
        (libc::SIGILL, _) => "an instruction that the processor does not have, or __builtin_trap".to_owned(),
        (libc::SIGTRAP, _) => "a breakpoint".to_owned(),
        _ => "the reason is unknown".to_owned(),
    }
}

/// Returns the addresses of the memory management functions that the C library has.
pub fn memory_functions() -> Vec<usize> {
    let names = [
        c"malloc",
        c"free",
        c"calloc",
        c"realloc",
        c"memalign",
        c"aligned_alloc",
        c"posix_memalign",
        c"valloc",
        c"pvalloc",
        c"malloc_trim",
        c"mallinfo2",
        c"malloc_usable_size",
    ];
    // SAFETY: a `CStr` is zero-terminated.
    let find = |name: &CStr| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
    names.into_iter().map(find).filter(|&address| address != 0).collect()
}

/// Returns true if the current thread may hold a lock of the memory management. A thread that holds such a lock must
/// not allocate memory.
pub fn in_memory_management(trace: &StackTrace) -> bool {
    let functions = MEMORY.get().map_or(&[][..], Vec::as_slice);
    trace.frames().iter().any(|frame| functions.contains(&frame.function))
}

/// Returns the source file and line at which the program called the code at `here`, such as "ring.c:42". `stack` is
/// the address range of the call's stack.
pub fn caller(p: &Process, here: [usize; 3], stack: &std::ops::Range<usize>) -> Option<String> {
    let (module, offset) = calling_code(p, here, stack)?;
    let place = p.job.describe(module, offset);
    place.rsplit_once(" at ").map(|(_, line)| line.to_owned())
}

/// Returns the module identifier and the address in the module's file of the program's call that led to the code at
/// `here`. `stack` is the address range of the call's stack. See [`Job::describe`].
///
/// [`Job::describe`]: crate::process::Job::describe
pub fn calling_code(p: &Process, here: [usize; 3], stack: &std::ops::Range<usize>) -> Option<(usize, usize)> {
    let instance = p.instance.try_borrow().ok()?;
    let instance = instance.as_ref()?;
    first(Registers::at(here), stack, |frame| instance.contains(frame.at))
}

/// Returns up to `N` positions of calls in the program and its libraries that led to the code at `here`, innermost
/// first. `stack` is the address range of the calls' stack.
pub fn calling_codes<const N: usize>(
    p: &Process,
    here: [usize; 3],
    stack: &std::ops::Range<usize>,
) -> [Option<(u32, u32)>; N] {
    let (mut places, mut count) = ([None; N], 0);
    let instance = p.instance.try_borrow();
    if let Some(instance) = instance.as_ref().ok().and_then(|instance| instance.as_ref()) {
        first(Registers::at(here), stack, |frame| {
            if let Some((module, offset)) = instance.contains(frame.at) {
                places[count] = u32::try_from(module).ok().zip(u32::try_from(offset).ok());
                count += 1;
            }
            (count == N).then_some(())
        });
    }
    places
}
