//! Waits inside GCC's OpenMP library. The library calls the system's futex without the C library, so a filter of the
//! system turns these calls into the signal SIGSYS. Its handler suspends the thread in the engine, or resumes threads.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::sync::futexes::{enlist_while, resume_most};
use super::sync::{own_rank, suspend, waits};
use super::tasks::{in_openmp, own_openmp_turn};
use super::threads;
use crate::process::wall;

/// Time in ns by which a caught call takes longer than a call.
static COST: AtomicU64 = AtomicU64::new(0);

/// Name of the ends of regions and tasks of OpenMP, and of waits that belong to no function of the OpenMP library.
pub const OPENMP: &str = "OpenMP";

/// A library of OpenMP.
pub enum OpenmpLibrary {
    /// The library of GCC, whose code has these addresses.
    Gnu(Range<usize>),
    Other,
}

/// Returns the library of OpenMP that contains the code at `address`.
pub fn library_of(address: usize) -> Option<OpenmpLibrary> {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the result has room, and its texts are valid while the library is loaded.
    let path = unsafe {
        if libc::dladdr(address as *const c_void, found.as_mut_ptr()) == 0 || found.assume_init().dli_fname.is_null() {
            return None;
        }
        CStr::from_ptr(found.assume_init().dli_fname).to_string_lossy()
    };
    if path.contains("libgomp") {
        return Some(code_around(address).map_or(OpenmpLibrary::Other, OpenmpLibrary::Gnu));
    }
    ["libomp", "libiomp"].iter().any(|name| path.contains(name)).then_some(OpenmpLibrary::Other)
}

/// Code of a library that contains an address.
struct FoundCode {
    address: usize,
    code: Option<Range<usize>>,
}

/// Returns the addresses of the code that contains `address`.
pub fn code_around(address: usize) -> Option<Range<usize>> {
    let mut found = FoundCode { address, code: None };
    // SAFETY: the function gets the value that `look` expects.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    found.code
}

unsafe extern "C" fn look(object: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: the dynamic linker passes a valid object, and `found` is from `code_around`.
    let (object, found) = unsafe { (&*object, &mut *found.cast::<FoundCode>()) };
    // SAFETY: the object has this number of headers.
    let headers = unsafe { std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum as usize) };
    for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0) {
        let start = (object.dlpi_addr + header.p_vaddr) as usize;
        let code = start..start + header.p_memsz as usize;
        if code.contains(&found.address) {
            found.code = Some(code);
            return 1;
        }
    }
    0
}

/// Code of signals that a filter causes.
const SYS_SECCOMP: c_int = 1;

/// Position of the upper half of the address of a system call in the data of a filter. The lower half precedes it.
const UPPER: u32 = 12;

/// A filter of system calls.
#[derive(Default)]
struct CallFilter(Vec<libc::sock_filter>);

impl CallFilter {
    fn load(&mut self, position: u32) {
        self.put(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, position, 0, 0);
    }

    /// Compares the loaded value with `value`, and skips `if_true` or `if_false` instructions.
    fn compare(&mut self, how: u32, value: u32, if_true: u8, if_false: u8) {
        self.put(libc::BPF_JMP | how | libc::BPF_K, value, if_true, if_false);
    }

    fn end(&mut self, action: u32) {
        self.put(libc::BPF_RET | libc::BPF_K, action, 0, 0);
    }

    fn put(&mut self, code: u32, value: u32, if_true: u8, if_false: u8) {
        self.0.push(libc::sock_filter { code: code as u16, jt: if_true, jf: if_false, k: value });
    }

    /// Catches calls whose address has the upper half `upper` and a lower half in `first..=last`.
    fn catch(&mut self, upper: u32, first: u32, last: u32) {
        self.load(UPPER);
        self.compare(libc::BPF_JEQ, upper, 0, 4);
        self.load(UPPER - 4);
        self.compare(libc::BPF_JGE, first, 0, 2);
        self.compare(libc::BPF_JGT, last, 1, 0);
        self.end(libc::SECCOMP_RET_TRAP);
    }

    /// Catches calls of futex by the code at the addresses `code`.
    fn of_futex(code: &Range<usize>) -> CallFilter {
        let mut filter = CallFilter::default();
        filter.load(0);
        filter.compare(libc::BPF_JEQ, libc::SYS_futex as u32, 1, 0);
        filter.end(libc::SECCOMP_RET_ALLOW);
        // The address of a call is that of the next instruction.
        let halves = |address: usize| ((address >> 32) as u32, address as u32);
        let (from, to) = (halves(code.start), halves(code.end));
        filter.catch(from.0, from.1, if from.0 == to.0 { to.1 } else { u32::MAX });
        if from.0 != to.0 {
            filter.catch(to.0, 0, to.1);
        }
        filter.end(libc::SECCOMP_RET_ALLOW);
        filter
    }
}

/// Passes waits of the code at the addresses `code` to the engine from now on. Returns false if the system refuses it.
pub fn catch_waits(code: &Range<usize>) -> bool {
    let mut filter = CallFilter::of_futex(code).0;
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    let flags = libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW | libc::SECCOMP_FILTER_FLAG_TSYNC;
    // SAFETY: the handler has the signature of handlers with information, and the filter is valid during the call.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = caught as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_RESTART;
        if libc::sigaction(libc::SIGSYS, &action, std::ptr::null_mut()) != 0 {
            return false;
        }
        COST.store(measured_cost(), Ordering::Relaxed);
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) == 0
    }
}

/// Returns the median time in ns of a signal to the current thread whose handler does nothing.
fn measured_cost() -> u64 {
    let mut times = [0; 31].map(|_: u64| {
        let before = wall();
        // SAFETY: the thread has a handler for the signal.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::gettid(), libc::SIGSYS) };
        wall() - before
    });
    times.sort_unstable();
    times[times.len() / 2]
}

/// Executes a call of futex by the OpenMP library.
extern "C" fn caught(_: c_int, information: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes valid information.
    if unsafe { (*information).si_code } != SYS_SECCOMP {
        return;
    }
    // SAFETY: the system passes the state of the thread at the call, whose arguments are in these registers. The location
    // of the error number belongs to the thread.
    unsafe {
        let error = *libc::__errno_location();
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let arguments = [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX, libc::REG_R10, libc::REG_R8, libc::REG_R9]
            .map(|register| registers[register as usize]);
        registers[libc::REG_RAX as usize] = futex(arguments);
        *libc::__errno_location() = error;
    }
    if threads::runs_program() {
        own_rank().discount(COST.load(Ordering::Relaxed));
    }
}

/// Returns the result of a call of futex, as the system does.
unsafe fn futex([address, operation, value, a, b, c]: [i64; 6]) -> i64 {
    let command = operation as c_int & !libc::FUTEX_PRIVATE_FLAG;
    let is_engine = threads::runs_program();
    match command {
        libc::FUTEX_WAIT if is_engine && a == 0 => wait(address as usize, value as u32),
        libc::FUTEX_WAKE if is_engine => wake(address as usize, value.max(0) as usize),
        _ => {
            // SAFETY: the arguments are those of the library.
            let result = unsafe { libc::syscall(libc::SYS_futex, address, operation, value, a, b, c) };
            // SAFETY: the location belongs to the thread.
            if result < 0 { -i64::from(unsafe { *libc::__errno_location() }) } else { result }
        }
    }
}

/// Waits for the object at `address` if it has the value `value`.
fn wait(address: usize, value: u32) -> i64 {
    in_openmp(own_rank(), |p| {
        own_openmp_turn(p);
        let Some(request) = enlist_while(p, address, value) else { return -i64::from(libc::EAGAIN) };
        suspend(p, request);
        0
    })
}

/// Resumes at most `most` threads that wait for the object at `address`. Returns their number.
fn wake(address: usize, most: usize) -> i64 {
    if !waits(address) {
        return 0;
    }
    in_openmp(own_rank(), |p| {
        own_openmp_turn(p);
        resume_most(p, address, most) as i64
    })
}
